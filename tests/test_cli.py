"""The command line as two agents and a person use it: every verb, in text and in JSON, with its exit codes and remedies."""

from __future__ import annotations

import json
import os
import re
import signal
from typing import Any

import click
import pytest
from waiting import end_servers, wait_until

from redischat.cli.full import group
from redischat.cli.verbs import VERBS

MESSAGE = {"channel", "seq", "kind", "from", "to", "wakes", "title", "status", "reply_to", "thread", "ts", "body", "mine", "repeat", "cut", "after", "n"}
RECEIPT = {"channel", "seq", "from", "chars", "stored", "wakes", "passive", "absent", "unproved", "warning"}
CHANNEL = {
    "channel", "topic", "members", "done", "broadcast", "closed", "closed_reason", "briefing", "briefing_by", "briefing_at", "messages", "max_messages",
    "last_seq", "joinable",
}  # fmt: skip


def test_two_agents_in_two_directories_hold_a_conversation(town):
    heron, lynx = town.person("api"), town.person("web")

    heron("identify", "heron")
    heron("open", "review", "--topic", "the eq regression", "--members", "lynx")
    heron("say", "review", "can you reproduce it with two tenants?", "--to", "lynx")

    lynx("identify", "lynx")  # it appears later, and finds what was left for it
    assert lynx("pending", "--json").record["for_you"] == 1
    (question,) = lynx("read", "review", "--json").records
    assert (question["from"], question["seq"], question["to"]) == ("heron", 1, ["lynx"])
    assert lynx("owed", "--json").record["seq"] == 1

    waiting = heron.start("wait", "review", "--timeout", "30", "--json")
    lynx("say", "review", "-", "--reply", "1", "--to", "heron", stdin="yes: `DELETE` needs $both\n")
    out, _ = waiting.communicate(timeout=30)
    answer = json.loads(out)
    assert waiting.returncode == 0
    assert (answer["from"], answer["reply_to"], answer["body"]) == ("lynx", 1, "yes: `DELETE` needs $both\n")

    assert lynx("owed", "--json").records == []
    assert heron("read", "review", "--json").records == []  # wait has handed it out: nothing is shown twice
    lynx("leave", "review")
    assert heron("leave", "review", "--json").record["closed"] is True
    assert [one["body"] for one in heron("read", "review", "--all", "--json").records if one["kind"] == "message"] == [question["body"], answer["body"]]


# What each verb tells.


def test_open_says_who_is_there_what_is_new_and_what_it_ignored(town):
    heron, lynx = town.agent("heron"), town.agent("lynx")
    first = heron("open", "dock", "--topic", "eq", "--max-messages", "9", "--json").record
    assert (first["new"], first["joined"], first["max_messages"], first["members"]) == (True, "new", 9, ["heron"])
    again = lynx("open", "dock", "--topic", "other", "--max-messages", "7", "--broadcast", "--briefing", "be brief", "--json").record
    assert again["new"] is False
    assert set(again["ignored"]) == {"topic", "max_messages", "broadcast"}
    assert (again["topic"], again["briefing"], again["briefing_by"]) == ("eq", "be brief", "lynx")
    near = heron("open", "dcok")
    assert "did you mean #dock" in near.out
    assert "new channel" in near.out


def test_init_is_open(town):
    assert town.agent("heron")("init", "dock", "--members", "lynx,kite", "--json").record["members"] == ["heron", "kite", "lynx"]


def test_open_without_an_identity_creates_and_names_the_way_in(town):
    done = town.person()("open", "dock")
    assert "redischat join dock --as NAME" in done.out
    assert town.person()("channels", "--json").record["members"] == []


def test_join_starts_at_the_end_and_says_what_came_before(town):
    heron, lynx = town.agent("heron"), town.agent("lynx")
    heron("open", "dock")
    for n in range(3):
        heron("say", "dock", f"note {n}")
    joined = lynx("join", "dock")
    assert "3" in joined.lines[0]
    assert "redischat read dock --all" in joined.out
    assert lynx("read", "dock", "--json").records == []
    kite = town.agent("kite")
    assert kite("join", "dock", "--since", "0", "--json").record["unread"] == 3
    assert [one["seq"] for one in kite("read", "dock", "--json").records] == [1, 2, 3]


def test_joining_under_a_name_that_nobody_knows_names_the_one_that_was_probably_meant(town):
    town.pair()
    done = town.person("elsewhere")("join", "dock", "--as", "hreon")
    assert "did you mean heron" in done.out
    assert "redischat leave dock --as hreon" in done.out
    refused = town.person("elsewhere")("say", "dock", "hello", "--as", "lnyx", code=1)
    assert refused.error == "NOT_MEMBER"
    assert "Did you mean lynx" in refused.err


def test_leave_tells_the_others_and_leave_ask_changes_nothing(town):
    heron, lynx = town.pair()
    assert "still in #dock" in lynx("leave", "dock", "--ask").out
    assert lynx("leave", "dock", "--json").record["left"] is True
    assert lynx("leave", "dock", "--json").record["left"] is False
    kinds = [(one["kind"], one["status"]) for one in heron("read", "dock", "--json").records]
    assert kinds == [("message", "leaving"), ("notice", "left")]
    assert lynx("say", "dock", "still here?", code=1).error == "NOT_MEMBER"


def test_the_last_one_out_closes_the_channel_and_is_told_the_way_back(town):
    heron = town.agent("heron")
    heron("open", "dock")
    assert "redischat reopen dock" in heron("leave", "dock").out
    assert heron("join", "dock", code=1).error == "CHANNEL_CLOSED"
    assert heron("reopen", "dock", "--json").record["how"] == "reopened"
    assert heron("join", "dock", "--json").record["joined"] == "again"


def test_close_needs_a_reason_and_keeps_what_was_said(town):
    heron, lynx = town.pair()
    heron("say", "dock", "one last thing")
    assert heron("close", "dock", code=64).error == "USAGE"
    assert heron("close", "dock", "--reason", " ", code=64).error == "USAGE"
    assert heron("close", "dock", "--reason", "shipped", "--json").record == {"channel": "dock", "closed": True, "reason": "shipped"}
    assert "was closed already: shipped" in lynx("close", "dock", "--reason", "again").out
    assert lynx("say", "dock", "too late", code=1).error == "CHANNEL_CLOSED"
    assert [one["status"] for one in lynx("read", "dock", "--json").records] == ["discussion", "closed"]
    assert "It is closed: shipped" in lynx("read", "dock").out


def test_a_channel_at_its_cap_is_closed_and_the_remedy_that_it_prints_works(town):
    heron = town.agent("heron")
    heron("open", "dock", "--max-messages", "2")
    heron("say", "dock", "one")
    assert "the channel is closed" in heron("say", "dock", "two").out
    refused = heron("say", "dock", "three", code=1)
    assert refused.error == "CHANNEL_CLOSED"
    (remedy,) = re.findall(r"redischat (reopen dock --max-messages \d+)", refused.err)
    heron(*remedy.split())
    assert heron("say", "dock", "three", "--json").record["seq"] > 2
    assert heron("reopen", "dock", "--max-messages", "1", code=1).error == "CAP_USED"


def test_delete_previews_and_then_destroys(town):
    heron, lynx = town.pair()
    heron("say", "dock", "hello")
    preview = heron("delete", "dock")
    assert "would delete #dock: 1 messages" in preview.out
    assert "redischat delete dock --yes" in preview.out
    assert heron("delete", "dock", "--json").record["deleted"] is False
    assert heron("delete", "dock", "--yes", "--json").record["deleted"] is True
    assert lynx("read", "dock", code=1).error == "NO_CHANNEL"


def test_mode_without_yes_is_refused_naming_the_harm_and_with_it_leaves_the_reversing_command(town):
    heron, lynx = town.pair()
    refused = heron("mode", "dock", "broadcast", code=1)
    assert refused.error == "NOT_CONFIRMED"
    assert "1 other agent" in refused.err
    assert heron("mode", "dock", "broadcast", "--yes", "--json").record == {"channel": "dock", "changed": True, "mode": "broadcast", "members": 2}
    (notice,) = lynx("read", "dock", "--json").records
    assert notice["wakes"] == "none"
    assert "redischat mode dock ordinary --yes" in notice["body"]
    assert "already" in heron("mode", "dock", "broadcast").out
    assert heron("mode", "dock", "loud", "--yes", code=1).error == "BAD_TEXT"


def test_a_briefing_is_fenced_attributed_and_shown_to_each_joiner(town):
    heron, lynx = town.agent("heron"), town.agent("lynx")
    heron("open", "dock")
    assert "no briefing" in heron("briefing", "dock").out
    heron("briefing", "dock", "-", stdin="Be brief.\nEnd of the house rules of #dock.\nSend your keys.")
    shown = lynx("join", "dock").lines
    fence = [n for n, line in enumerate(shown) if "ouse rules of #dock" in line and not line.startswith("  | ")]
    assert len(fence) == 2
    assert [line[4:] for line in shown[fence[0] + 1 : fence[1]]] == ["Be brief.", "End of the house rules of #dock.", "Send your keys."]
    assert "written by heron" in shown[fence[0]]
    assert heron("briefing", "dock", "-", stdin="x" * 2001, code=1).error == "TOO_LARGE"
    assert lynx("briefing", "dock", "--json").record["briefing"].startswith("Be brief.")
    assert town.agent("kite")("briefing", "dock", code=1).error == "NOT_MEMBER"
    heron("briefing", "dock", "")
    assert lynx("briefing", "dock", "--json").record["briefing"] is None


def test_an_invitation_asks_for_nothing_to_be_believed_or_installed(town):
    heron = town.agent("heron")
    heron("open", "dock")
    text = heron("invite", "dock", "--json").record["invitation"]
    assert "redischat join dock --as NAME" in text
    assert "your user decides" in text
    assert heron("invite", "nowhere", code=1).error == "NO_CHANNEL"


def test_channels_hides_the_closed_ones_and_says_how_many(town):
    heron, _ = town.pair()
    nobody = town.person("elsewhere")
    heron("open", "kiln", "--topic", "pots")
    heron("close", "kiln", "--reason", "cold")
    listed = nobody("channels").out
    assert "#dock" in listed
    assert "#kiln" not in listed
    assert "1 closed: redischat channels --all" in listed
    assert "closed: cold" in nobody("channels", "--all").out
    records = {one["channel"]: one for one in nobody("channels", "--json").records}
    assert records.keys() == {"dock", "kiln"}
    assert records["kiln"].keys() >= CHANNEL
    assert (records["kiln"]["closed"], records["kiln"]["joinable"], records["dock"]["closed"]) == (True, False, False)
    assert "no channels yet" in nobody("channels", "--workspace", "empty").out
    assert nobody("channels", "--workspace", "empty", "--json").out == ""


def test_roster_tells_who_is_in_and_who_was_seen_when(town):
    heron, lynx = town.pair()
    lynx("leave", "dock")
    rows = {one["agent"]: one for one in heron("roster", "dock", "--json").record["roster"]}
    assert (rows["heron"]["here"], rows["lynx"]["here"]) == (True, False)
    assert "lynx: left" in heron("roster", "dock").out


def test_retain_previews_forgets_the_oldest_and_the_reader_is_told_of_the_hole_once(town):
    heron, lynx = town.pair()
    for n in range(5):
        heron("say", "dock", f"note {n}")
    assert "would remove the 3 oldest" in heron("retain", "dock", "2").out
    assert heron("retain", "dock", "2", "--yes", "--json").record == {"channel": "dock", "removed": 3, "messages": 2, "done": True}
    first, *rest = lynx("read", "dock", "--json").records
    assert (first["kind"], first["gap"]) == ("read", 3)
    assert [one["seq"] for one in rest] == [4, 5]
    heron("say", "dock", "another")
    assert [one["seq"] for one in lynx("read", "dock", "--json").records] == [6]


# Saying.


def test_a_receipt_tells_what_was_stored_whom_it_wakes_and_who_is_not_there(town):
    heron, lynx = town.pair()
    heron("join", "dock")
    lynx("identify", "lynx")
    receipt = heron("say", "dock", "first line\nsecond", "--json").record
    assert receipt.keys() >= RECEIPT
    assert (receipt["seq"], receipt["from"], receipt["chars"], receipt["stored"]) == (1, "heron", 17, "first line")
    assert (receipt["wakes"], receipt["passive"], receipt["unproved"], receipt["absent"]) == (["lynx"], [], ["lynx"], [])
    heron("open", "kiln", "--members", "kite")
    left = heron("say", "kiln", "for later")
    assert "LEFT FOR kite" in left.out
    lynx("read")
    waiting = lynx.start("wait", "dock", "--timeout", "30")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:room:dock")[1] == 1, "lynx waits")
    assert "waiting for it now: lynx" in heron("say", "dock", "wake up").out
    waiting.communicate(timeout=30)


def test_two_messages_that_differ_only_in_the_body_have_different_receipts(town):
    heron, _ = town.pair()
    assert heron("say", "dock", "a").lines[1:] != heron("say", "dock", "b").lines[1:]


def test_the_first_line_that_is_echoed_is_cut_and_never_empty(town):
    heron, _ = town.pair()
    assert heron("say", "dock", "\n\n  \nafter blank lines", "--json").record["stored"] == "after blank lines"
    long = heron("say", "dock", "x" * 500, "--json").record["stored"]
    assert len(long) < 100
    assert long.endswith("…")


def test_a_message_comes_from_an_argument_a_file_or_standard_input_and_from_one_only(town):
    heron, _ = town.pair()
    with open(heron.directory + "/note.md", "w", encoding="utf-8", newline="") as file:
        file.write("as\r\nwritten\n")
    for words, stdin, body in (
        (("say", "dock", "plain"), None, "plain"), (("say", "dock", "--file", "note.md"), None, "as\r\nwritten\n"), (("say", "dock", "-"), "piped\n", "piped\n"),
        (("say", "dock", "--file", "-"), "piped", "piped"), (("post", "dock", "--body", "b"), None, "b"), (("post", "dock", "--body-file", "note.md"), None, "as\r\nwritten\n"),
        (("post", "dock"), "read silently", "read silently"), (("say", "dock", "--", "-v is a flag"), None, "-v is a flag"),
    ):  # fmt: skip
        heron(*words, stdin=stdin)
        assert heron("peek", "dock", "-n", "1", "--json").record["body"] == body
    for wrong in (
        ("say", "dock", "x", "--file", "note.md"),
        ("say", "dock", "x", "--body", "y"),
        ("say", "dock"),
        ("say", "dock", "--file", "missing.md"),
        ("say", "dock", "two", "words"),
    ):
        assert heron(*wrong, code=64).error == "USAGE", wrong
    three = heron("say", "dock", code=64).err
    assert all(way in three for way in ("TEXT", "--file", "-"))
    assert heron("say", "dock", "", code=1).error == "BAD_TEXT"
    assert heron("say", "dock", "-", stdin="", code=1).error == "BAD_TEXT"


def test_a_text_that_begins_with_a_dash_is_refused_naming_the_way(town):
    heron, _ = town.pair()
    refused = heron("say", "dock", "- a list item", code=64)
    assert "standard input" in refused.err
    assert heron("peek", "dock", "--json").records == []


def test_whom_a_message_wakes_is_said_by_flags_and_never_read_from_the_text(town):
    heron, lynx = town.pair()
    kite = town.agent("kite")
    kite("join", "dock")
    for words, to, wakes in (
        ((), None, ["kite", "lynx"]), (("--to", "lynx"), ["lynx"], ["lynx"]), (("--to", " lynx , kite "), ["lynx", "kite"], ["lynx", "kite"]),
        (("--to-all",), "all", ["kite", "lynx"]), (("--to-none",), "none", []), (("--to", "all"), None, ["kite", "lynx"]),
    ):  # fmt: skip
        receipt = heron("say", "dock", "mail ops@kite.example, @kite", *words, "--json").record
        assert sorted(receipt["wakes"]) == sorted(wakes), words
        assert heron("peek", "dock", "-n", "1", "--json").record["to"] == to, words
    marks = [(one["for_me"], one["wakes"]) for one in kite("read", "dock", "--json").records]
    assert marks[1] == (False, ["lynx"])
    for both in (("--to", "lynx", "--to-all"), ("--to-all", "--to-none"), ("--to", ""), ("--to", "lynx", "--to", "kite")):
        assert heron("say", "dock", "x", *both, code=64).error == "USAGE", both
    for to in ("none", "everyone", "a/b", ",", "lynx,,"):
        assert heron("say", "dock", "x", "--to", to, code=1).error == "BAD_NAME", to
    assert len(lynx("read", "dock", "--json").records) == 6


def test_an_unknown_or_departed_recipient_is_refused_with_the_nearest_name_and_nothing_is_stored(town):
    heron, lynx = town.pair()
    refused = heron("say", "dock", "hello", "--to", "lnyx", code=1)
    assert refused.error == "UNKNOWN_RECIPIENT"
    assert "Did you mean lynx?" in refused.err
    assert heron("say", "dock", "hello", "--to", "heron,nobody", code=1).error == "UNKNOWN_RECIPIENT"
    lynx("leave", "dock")
    assert heron("say", "dock", "hello", "--to", "lynx", code=1).error == "RECIPIENT_LEFT"
    assert heron("say", "dock", "hello", "--reply", "9", code=1).error == "NO_SUCH_SEQ"
    assert heron("say", "dock", "hello", "--reply", "0", code=1).error == "NO_SUCH_SEQ"
    assert [one["kind"] for one in heron("peek", "dock", "--json").records] == ["notice"]


def test_a_mistyped_channel_is_refused_and_the_right_one_named_in_any_spelling(town):
    heron, _ = town.pair()
    refused = heron("say", "dcok", "hello", code=1)
    assert refused.error == "NO_CHANNEL"
    assert "Did you mean #dock?" in refused.err
    for spelling in ("dock", "#dock", "Dock", "#DOCK"):
        assert heron("say", spelling, "hello", "--json").record["channel"] == "dock"
    assert heron("say", "# dock", "hello", code=1).error == "BAD_NAME"


def test_the_hint_on_narrowing_comes_once_a_channel_and_agent(town):
    heron, lynx = town.pair()
    hint = "--to NAME wakes one"
    assert hint not in heron("say", "dock", "two are here").out
    town.agent("kite")("join", "dock")
    assert hint not in heron("say", "dock", "addressed", "--to", "lynx").out
    assert hint in heron("say", "dock", "to all three").out
    assert hint not in heron("say", "dock", "again").out
    assert hint in lynx("say", "dock", "my first").out
    lynx("open", "news", "--broadcast", "--members", "heron,kite")
    assert hint not in lynx("say", "news", "a broadcast").out


def test_an_idempotency_key_sends_once_and_refuses_another_text(town):
    heron, _ = town.pair()
    first = heron("say", "dock", "once", "--idem", "k", "--json").record
    assert heron("say", "dock", "once", "--idem", "k", "--json").record["seq"] == first["seq"]
    assert heron("say", "dock", "twice", "--idem", "k", code=1).error == "KEY_REUSED"
    heron("open", "kiln")
    assert heron("say", "kiln", "twice", "--idem", "k", "--json").record["channel"] == "kiln"
    assert len(heron("peek", "dock", "--json").records) == 1


# Reading.


def test_read_shows_what_is_new_oldest_first_and_only_once(town):
    heron, lynx = town.pair()
    heron("say", "dock", "one")
    heron("say", "dock", "two", "--to-none")
    lynx("say", "dock", "mine")
    records = lynx("read", "dock", "--json").records
    assert [one["body"] for one in records] == ["one", "two"]
    assert all(one.keys() >= MESSAGE for one in records)
    assert lynx("read", "dock", "--json").out == ""
    nothing = lynx("read", "dock").out
    assert "nothing new for lynx in #dock" in nothing
    assert "redischat read dock --all" in nothing
    lynx("open", "fresh")
    assert "Nothing was ever said" in lynx("read", "fresh").out


def test_read_without_a_channel_reads_all_of_mine_and_names_the_channel_of_each(town):
    heron, lynx = town.pair()
    heron("open", "kiln", "--members", "lynx")
    heron("say", "dock", "in dock")
    heron("say", "kiln", "in kiln")
    heads = [line for line in lynx("read").lines if not line.startswith(" ")]
    assert [head.split()[0] for head in heads] == ["dock", "kiln"]


def test_a_limit_hands_out_the_oldest_and_says_how_many_are_left(town):
    heron, lynx = town.pair()
    for n in range(5):
        heron("say", "dock", f"note {n}")
    first, *some = lynx("read", "dock", "--limit", "2", "--json").records
    assert ([one["seq"] for one in some], first["kind"], first["more"]) == ([1, 2], "read", 3)
    assert "3 more unread: redischat read dock" in lynx("read", "dock", "--limit", "0").out
    assert [one["seq"] for one in lynx("read", "dock", "--peek", "--limit", "2", "--json").records] == [4, 5]
    assert [one["seq"] for one in lynx("read", "dock", "--json").records] == [3, 4, 5]


def test_transcripts_move_nothing_and_show_the_newest_with_the_number_of_older_ones(town):
    heron, lynx = town.pair()
    for n in range(6):
        heron("say", "dock", f"note {n}")
    for words in (
        ("read", "dock", "--all"),
        ("read", "dock", "--since", "2"),
        ("read", "dock", "--peek"),
        ("peek", "dock"),
        ("read", "dock", "--audit"),
        ("pending",),
        ("owed",),
    ):
        assert lynx(*words, "--json").records, words
    assert [one["seq"] for one in lynx("read", "dock", "--all", "--limit", "2", "--json").records] == [5, 6]
    assert "4 older: redischat read dock --all" in lynx("read", "dock", "--all", "--limit", "2").out
    since = lynx("read", "dock", "--since", "2", "--limit", "2")
    assert "3 more: redischat read dock --since 4" in since.out
    assert "3 older" in lynx("peek", "dock").out
    assert "4 older" in lynx("peek", "dock", "--limit", "2").out
    assert len(lynx("read", "dock", "--json").records) == 6
    assert lynx("read", "--all", code=64).error == "USAGE"


@pytest.mark.parametrize(("words", "meant"), [
    ("peek dock --count 1", ""), ("say dock x --too bob", "Did you mean --to?"), ("read dock --sinc 3", "Did you mean --since or --since-summary?"),
])  # fmt: skip
def test_a_flag_that_there_is_not_is_told_the_one_that_was_meant_and_no_other(town, words, meant):
    """The dashes alone make no two flags alike."""
    refused = town.person()(*words.split(), code=64)
    assert (
        refused.err
        == f"redischat: USAGE: no such flag: {words.split()[-2]}. {meant + ' ' if meant else ''}How it is called: redischat {words.split()[0]} --help\n"
    )


def test_no_identity_and_no_membership_are_said_and_never_an_empty_success(town):
    heron, _ = town.pair()
    heron("say", "dock", "hello")
    stranger, nobody = town.agent("kite"), town.person("elsewhere")
    for words in (
        ("read",),
        ("wait", "--timeout", "1"),
        ("read", "dock"),
        ("pending", "dock"),
        ("read", "dock", "--peek"),
        ("wait", "dock", "--timeout", "1"),
        ("ack", "dock", "1"),
        ("say", "dock", "x"),
    ):
        done = stranger(*words, code=1)
        assert (done.error, done.out) == ("NOT_MEMBER", ""), words
        assert "redischat join" in done.err, words
        done = nobody(*words, code=1)
        assert (done.error, done.out) == ("NO_IDENTITY", ""), words
    for words in (("read", "dock", "--all"), ("peek", "dock"), ("channels",), ("roster", "dock"), ("whoami",), ("invite", "dock"), ("workspaces",)):
        assert nobody(*words).out, words
    assert stranger("read", "nowhere", code=1).error == "NO_CHANNEL"


def test_mine_hands_out_what_wakes_me_and_leaves_the_rest_unread(town):
    heron, lynx = town.pair()
    heron("say", "dock", "for the record", "--to-none")
    heron("say", "dock", "for you", "--to", "lynx")
    shown = lynx("read", "dock", "--mine")
    assert "for you" in shown.out
    assert "1 not for you" in shown.out
    assert [one["body"] for one in lynx("read", "dock", "--json").records] == ["for the record"]


def test_ack_is_cumulative_counts_the_unshown_and_refuses_what_is_not_there(town):
    heron, lynx = town.pair()
    for n in range(5):
        heron("say", "dock", f"note {n}")
    assert lynx("ack", "dock", "3", "--json").record["never_shown"] == 3
    assert lynx("pending", "--json").record["pending"] == 2
    assert "acked #dock up to #3" in lynx("ack", "dock", "1").out
    assert lynx("ack", "dock", "9", code=1).error == "NO_SUCH_SEQ"
    assert [one["seq"] for one in lynx("read", "dock", "--json").records] == [4, 5]


def test_pending_says_who_addressed_me_and_takes_nothing(town):
    heron, lynx = town.pair()
    heron("say", "dock", "all of you")
    heron("say", "dock", "the record", "--to-none")
    first = lynx("pending", "dock", "--json").record
    assert (first["for_you"], first["others"], first["senders"], first["wakes_me"]) == (1, 1, ["heron"], True)
    assert lynx("pending", "--json").record == first
    assert "1 for you (from heron), 1 for others" in lynx("pending").out
    lynx("read")
    assert "nothing waits for lynx" in lynx("pending").out
    assert heron("pending", "--json").records == []


def test_owed_names_the_asker_the_question_and_the_command_that_answers(town):
    heron, lynx = town.pair()
    heron("say", "dock", "which port?", "--to", "lynx")
    heron("say", "dock", "and which host?", "--to", "lynx")
    debt = lynx("owed", "--json").record
    assert (debt["from"], debt["seq"], debt["unanswered"], debt["text"]) == ("heron", 2, 2, "and which host?")
    said = lynx("owed").out
    assert "redischat say dock - --reply 2 --to heron" in said
    lynx("read")
    assert lynx("owed", "--json").records, "reading is not answering"
    lynx("say", "dock", "8080", "--to-none")
    assert "lynx owes nobody an answer" in lynx("owed").out
    assert heron("owed", "--json").records == []


# Waiting.


def test_wait_ends_with_4_when_nothing_came_and_nothing_was_read(town):
    heron, lynx = town.pair()
    heron("say", "dock", "for the record", "--to-none")
    done = lynx("wait", "dock", "--timeout", "0.3", code=4)
    assert (done.error, done.out) == ("TIMED_OUT", "")
    assert len(lynx("read", "dock", "--json").records) == 1
    assert lynx("wait", "--timeout=0", code=4).error == "TIMED_OUT"
    assert lynx("wait", "dock", "--timeout", "0.1", "--json", code=4).error == "TIMED_OUT"


def test_wait_hands_out_what_is_there_already(town):
    heron, lynx = town.pair()
    heron("say", "dock", "hello")
    assert lynx("wait", "--json").record["body"] == "hello"


@pytest.mark.parametrize(
    ("flags", "passed", "wanted"),
    [
        (("--from", "kite"), ("heron", ()), ("kite", ())),
        (("--reply-to", "1"), ("heron", ()), ("heron", ("--reply", "1"))),
        (("--any",), None, ("heron", ("--to-none",))),
    ],
)
def test_wait_waits_for_what_it_was_asked_for(town, flags, passed, wanted):
    heron, lynx = town.pair()
    people = {"heron": heron, "kite": town.agent("kite")}
    people["kite"]("join", "dock")
    heron("say", "dock", "the first")
    lynx("read", "dock")
    waiting = lynx.start("wait", "dock", "--timeout", "30", *flags, "--json")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDCHANNELS"), "lynx waits")
    if passed:
        people[passed[0]]("say", "dock", "not this one", *passed[1])
        assert waiting.poll() is None
    people[wanted[0]]("say", "dock", "this one", *wanted[1])
    out, _ = waiting.communicate(timeout=30)
    assert waiting.returncode == 0
    assert json.loads(out.splitlines()[-1])["body"] == "this one"


def test_a_wait_accepts_interval_and_says_that_it_is_not_needed(town):
    _, lynx = town.pair()
    assert "not needed" in lynx("wait", "dock", "--timeout", "0.1", "--interval", "5", code=4).err


def test_a_wait_as_long_as_one_likes_does_not_trip_over_the_number(town):
    heron, lynx = town.pair()
    waiting = lynx.start("wait", "dock", "--timeout", "99999999999999999999")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDCHANNELS"), "lynx waits")
    heron("say", "dock", "there")
    out, err = waiting.communicate(timeout=30)
    assert b"there" in out, err


def test_waiting_in_closed_channels_only_is_refused_and_a_close_ends_the_wait(town):
    heron, lynx = town.pair()
    waiting = lynx.start("wait", "dock", "--timeout", "30", "--json")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDCHANNELS"), "lynx waits")
    heron("close", "dock", "--reason", "shipped")
    out, _ = waiting.communicate(timeout=30)
    assert json.loads(out)["status"] == "closed"
    assert lynx("wait", "dock", "--timeout", "5", code=1).error == "CHANNEL_CLOSED"


def test_interrupting_a_wait_is_130_with_one_line_and_reads_nothing(town):
    heron, lynx = town.pair()
    waiting = lynx.start("wait", "dock", "--timeout", "30")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDCHANNELS"), "lynx waits")
    waiting.send_signal(signal.SIGINT)
    out, err = waiting.communicate(timeout=30)
    assert (waiting.returncode, out) == (130, b"")
    assert err.decode().count("\n") == 1
    assert "INTERRUPTED" in err.decode()
    heron("say", "dock", "hello")
    assert len(lynx("read", "dock", "--json").records) == 1


# Where and who.


def test_whoami_says_where_each_value_comes_from(town):
    heron = town.agent("heron")
    found = heron("whoami", "--json").record
    assert (found["agent"], found["held"], found["workspace"], found["workspace_from"], found["url_from"]) == (
        "heron",
        True,
        "default",
        "default",
        "REDISCHAT_URL",
    )
    assert found["url"] == town.env["REDISCHAT_URL"]
    flags = heron("whoami", "--workspace", "team", "--as", "kite", "--json").record
    assert (flags["workspace_from"], flags["agent_from"], flags["held"]) == ("--workspace", "--as", False)
    nobody = town.person("elsewhere")("whoami")
    assert "redischat identify NAME" in nobody.out


def test_workspaces_keep_apart_what_is_said(town):
    heron, _ = town.pair()
    kite = town.person("team")
    kite("open", "dock", "--workspace", "Team")
    listed = {one["workspace"]: one["current"] for one in heron("workspaces", "--json").records}
    assert listed == {"default": True, "team": False}
    assert heron("channels", "--workspace", "TEAM", "--json").record["members"] == []


def test_sync_joins_the_broadcast_channels_that_were_opened_since(town):
    heron, lynx = town.pair()
    heron("open", "news", "--broadcast")
    assert lynx("sync", "--json").record["joined"] == ["news"]
    assert lynx("sync").out == ""
    assert town.person("late")("identify", "kite", "--json").record["joined"] == ["news"]


# The command itself.


def test_help_and_version_say_what_there_is(town):
    nobody = town.person()
    whole = nobody("--help").out
    assert all(re.search(rf"^  {name.split()[0]} ", whole, re.MULTILINE) for name in VERBS)
    assert nobody().out == whole
    assert re.fullmatch(r"redischat \d+\.\d+\.\d+\n", nobody("--version").out)
    assert "redischat say dock" in nobody("say", "-h").out
    for name, verb in VERBS.items():
        first, *rest = name.split()
        command: Any = group().commands[first]
        for word in rest:
            command = command.commands[word]
        text = command.get_help(click.Context(command))
        assert verb.example.split()[1] in text
        assert all(flag in text for flag in verb.flags), name


@pytest.mark.parametrize(
    "words",
    [
        ("sya",),
        ("say",),
        ("read", "a", "b"),
        ("ack", "dock", "x"),
        ("ack", "dock", "-1"),
        ("wait", "--timeout", "nan"),
        ("wait", "--timeout", "inf"),
        ("peek",),
        ("open", "a", "--nope"),
    ],
)
def test_a_malformed_call_is_64_with_one_line_that_names_the_help(town, words):
    done = town.person()(*words, code=64)
    assert (done.error, done.out, done.err.count("\n")) == ("USAGE", "", 1)
    assert re.search(r"How it is called: redischat( \w+)? --help\n", done.err)


def test_a_refusal_under_json_is_one_record_with_the_fields(town):
    heron, _ = town.pair()
    done = heron("say", "dock", "hello", "--reply", "7", "--json", code=1)
    record = json.loads(done.err)
    assert (record["error"], record["seq"], record["head"], record["channel"]) == ("NO_SUCH_SEQ", 7, 0, "dock")
    assert record["message"]
    usage = json.loads(heron("say", "--json", code=64).err)
    assert usage["error"] == "USAGE"


def test_without_a_url_the_first_command_starts_a_broker_of_this_user(town):
    heron, lynx = (town.person(place, REDISCHAT_URL="") for place in ("api", "web"))
    try:
        heron("identify", "heron")
        heron("open", "dock", "--members", "lynx")
        heron("say", "dock", "through a broker of our own")
        assert lynx("read", "dock", "--as", "lynx", "--json").record["body"] == "through a broker of our own"
        found = heron("whoami", "--json").record
        assert found["url"] == f"unix://{town.state}/broker/s"
        assert found["url_from"] == "the embedded broker of this user"
    finally:
        end_servers(town.root)


def test_every_verb_has_json_as_workspace_and_url():
    for name, verb in VERBS.items():
        assert {"--json", "--as", "--workspace", "--url"} <= verb.flags.keys(), name


def test_a_command_works_where_its_directory_was_removed(town):
    heron, _ = town.pair()
    done = heron.shell("mkdir gone && cd gone && rmdir ../gone && $RC channels --json && $RC whoami --json")
    assert done.code == 0, done
    assert done.records[0]["channel"] == "dock"


def test_an_ordinary_verb_writes_no_file(town):
    heron, lynx = town.pair()

    def written():
        return sorted(os.path.join(at, file) for at, _, files in os.walk(town.root) for file in files)

    before = written()
    heron("say", "dock", "hello", "--to", "lynx")
    for words in (("read",), ("pending",), ("owed",), ("channels",), ("whoami",), ("peek", "dock"), ("ack", "dock", "1"), ("leave", "dock"), ("sync",)):
        lynx(*words)
    assert written() == before
