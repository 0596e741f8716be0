"""Where things stand: read from messages, tasks and locks without moving anything; and said as a summary that newcomers read from."""

from __future__ import annotations

import json
import os

import pytest
from seats import bodies

from redischat.errors import ChannelClosed, NotMember
from redischat.errors.events import StateChannelNotFound, StateInvalidChannel, StateMalformedSource
from redischat.flows.summary import fitted, inert, markdown, marked

SECTIONS = ["Topic and members", "Decisions", "Open tasks", "Blockers", "Owners", "Path locks", "Verification"]
KEYS = {
    "channel", "topic", "members", "created_at", "last_seq", "generated_at", "decisions", "open_tasks", "blockers", "owners", "path_locks", "verification",
    "damaged",
}  # fmt: skip
MESSAGES, TASKS = "rc1:{default}:ch:dock:messages", "rc1:{default}:ch:dock:tasks"


async def test_a_decision_is_found_among_what_was_said(sit):
    amy, bob = await sit.pair(topic="boats")
    await amy.post("dock", "We keep JSON.\nIt is everywhere.", title="Decision: JSON it is")
    await bob.post("dock", "fine")
    found = await sit().state("dock")
    assert (found.channel, found.topic, found.members, found.last_seq) == ("dock", "boats", ["Amy", "bob"], 2)
    assert [(one.seq, one.sender, one.title, one.text) for one in found.decisions] == [(1, "Amy", "JSON it is", "We keep JSON. It is everywhere.")]
    assert (found.open_tasks, found.blockers, found.owners, found.path_locks, found.verification, found.damaged) == ([], [], {}, [], [], [])


def said(body="text", title=None, status="discussion", kind="message"):
    return {"body": body, "title": title, "status": status, "seq": 3, "from": "amy", "ts": None, "kind": kind}


MARKED = [
    (said("x", status="decision"), "decisions", "x"),
    (said("x", status="Decision", title="JSON"), "decisions", "JSON"),
    (said("x", title="DECISION: JSON"), "decisions", "JSON"),
    (said("x", title="[decision] JSON"), "decisions", "JSON"),
    (said("# Decision: JSON\nbecause"), "decisions", "JSON"),
    (said("\n## decision\nJSON"), "decisions", "JSON"),
    (said("Decision: JSON"), "decisions", "JSON"),
    (said("x", status="blocked"), "blockers", "x"),
    (said("Blocker: no access"), "blockers", "no access"),
    (said("x", title="Evidence: 12 passed"), "verification", "12 passed"),
    (said("x", title="[verification] 12 passed"), "verification", "12 passed"),
    (said("# Evidence - 12 passed"), "verification", "12 passed"),
    (said("x", status="verified-by"), "verification", "x"),
]
UNMARKED = [
    said("as amy wrote:\n# Decision: JSON"),
    said("> # Decision: JSON"),
    said("a decision: none"),
    said("# Decisions are hard"),
    said("x", title="no decision: yet"),
    said("x", title="decisions: none"),
    said("x", status="decisive"),
]


@pytest.mark.parametrize(("message", "section", "title"), MARKED)
def test_several_marks_make_a_message_count(message, section, title):
    found = marked(message)
    assert found is not None
    assert (found[0], found[1]["title"]) == (section, title)


@pytest.mark.parametrize("message", UNMARKED)
def test_what_is_quoted_or_merely_named_does_not_count(message):
    assert marked(message) is None


async def test_tasks_are_open_blockers_owned_and_verification_by_who_finished_them(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "parser", task="T-1", acceptance=["it parses, all of it"])
    await amy.task_create("dock", "docs", task="T-2", owner="bob")
    await amy.task_create("dock", "sign", task="T-4")
    await amy.task_create("dock", "ship", task="T-5", depends_on=["T-4"])
    await amy.task_create("dock", "host", task="T-6")
    await bob.task_claim("dock", "T-1")
    await bob.task_done("dock", "T-1")
    await amy.task_block("dock", "T-6", reason="no access")
    await amy.task_cancel("dock", "T-4", reason="not needed")
    found = await amy.state("dock")
    assert [(one.id, one.status, one.owner, one.stuck) for one in found.open_tasks] == [
        ("T-2", "open", "bob", False), ("T-5", "open", None, True), ("T-6", "blocked", None, False),
    ]  # fmt: skip
    assert [(one.kind, one.source, one.text) for one in found.blockers] == [("stuck", "T-5", "waits for T-4 (cancelled)"), ("blocked", "T-6", "no access")]
    assert [(one.kind, one.source, one.sender, one.acceptance) for one in found.verification] == [("task", "T-1", "bob", ["it parses, all of it"])]
    assert found.owners["bob"].tasks == ["T-2"]


async def test_path_locks_are_told_with_their_owner(sit):
    amy, _ = await sit.pair()
    lock = await amy.lock("dock", "src/a.py", reason="the parser", repo="https://example.org/boats")
    found = await sit().state("dock")
    assert [(one.lock_id, one.owner, one.paths, one.reason) for one in found.path_locks] == [(lock.lock_id, "Amy", ["src/a.py"], "the parser")]
    assert found.owners["Amy"].path_locks == [lock.lock_id]
    assert found.generated_at >= found.path_locks[0].locked_at


async def test_the_same_channel_gives_the_same_state_and_nothing_moves(sit):
    amy, _ = await sit.pair()
    await amy.post("dock", "x", status="decision")
    await amy.task_create("dock", "parser", task="T-1", owner="bob")

    def everything():
        kept = [key for key in sorted(sit.store.keys("*")) if ":i:" not in key]
        read = {"hash": sit.store.hgetall, "stream": sit.store.xrange, "zset": lambda key: sit.store.zrange(key, 0, -1, withscores=True)}
        return {key: read[sit.store.type(key)](key) for key in kept}

    before = everything()
    first = await sit().state("dock")
    assert (await sit("bob").state("dock")).model_dump_json() == first.model_dump_json()
    assert everything() == before
    assert first.generated_at == max([*(one.ts for one in (await amy.history("dock")).messages), (await amy.task_show("dock", "T-1")).updated_at])


async def test_compacting_says_it_once_wakes_nobody_and_newcomers_read_from_there(sit):
    amy, bob = await sit.pair()
    for n in range(5):
        await amy.post("dock", f"talk {n}", to="none")
    await amy.post("dock", "x", title="Decision: JSON", to="none")
    await bob.read("dock")
    done = await amy.compact("dock")
    assert (done.seq, done.posted, done.covers) == (7, True, 6)
    again = await bob.compact("dock")
    assert (again.seq, again.posted) == (7, False)
    (summary,) = (await bob.read("dock")).messages
    assert (summary.status, summary.wakes, summary.title) == ("summary", "none", "State of #dock")
    assert ("- #6 Amy" in summary.body, len(summary.body)) == (True, done.chars)
    assert (await sit("zoe").join("dock")).summary == 7
    third = await amy.compact("dock")
    assert (third.posted, third.covers) == (True, 6)  # zoe has come
    await amy.post("dock", "more", to="none")
    assert ((await amy.compact("dock")).covers, (await amy.compact("dock")).posted) == (9, False)


async def test_only_members_of_an_open_channel_compact_it(sit):
    amy, _ = await sit.pair()
    await sit("zoe").open("quay")
    with pytest.raises(NotMember):
        await amy.compact("quay")
    await amy.close("dock", "shipped")
    with pytest.raises(ChannelClosed):
        await amy.compact("dock")
    assert (await amy.state("dock")).last_seq == 1


async def test_a_channel_that_is_not_there_has_a_code_of_its_own(sit):
    amy, _ = await sit.pair()
    for verb in (amy.state, amy.compact):
        with pytest.raises(StateChannelNotFound) as no:
            await verb("dokc")
        assert (no.value.exit, no.value.facts["nearest"]) == (1, "dock")
        with pytest.raises(StateInvalidChannel):
            await verb("../dock")


async def test_what_was_written_past_redischat_is_named_and_strict_refuses_it(sit):
    amy, _ = await sit.pair()
    await amy.post("dock", "x", status="decision")
    await amy.task_create("dock", "parser", task="T-1")
    assert (await amy.state("dock", strict=True)).damaged == []
    sit.store.xadd(MESSAGES, {"some": "thing"}, id="0-7")
    sit.store.xadd(MESSAGES, {"f": "x", "k": "m", "w": "-", "t": "soon", "b": "decision: mine"}, id="0-8")
    sit.store.xadd(MESSAGES, {"some": "thing"}, id="5-1")
    sit.store.hset(TASKS, "t-2", "nonsense")
    found = await amy.state("dock")
    assert (len(found.decisions), found.damaged) == (1, ["entry 0-7", "entry 0-8", "entry 5-1", "task t-2"])
    for verb in (amy.state, amy.compact):
        with pytest.raises(StateMalformedSource) as no:
            await verb("dock", strict=True)
        assert "entry 0-7" in no.value.sentence()


async def test_many_messages_are_all_considered(sit):
    amy, _ = await sit.pair(max_messages=0)
    await amy.post("dock", "first", status="decision")
    fields = dict(sit.store.xrange(MESSAGES)[0][1])
    for _ in range(1200):
        sit.store.xadd(MESSAGES, fields, id="0-*")
    assert len((await amy.state("dock")).decisions) == 1201


async def test_hostile_text_forges_no_heading_and_no_item(sit):
    amy, _ = await sit.pair(topic="boats <img src=x>")
    nasty = "x\n## Decisions\n- #99 bob: all is lost\r# State\u2028## Owners\x1b[2J\u202e <script>alert(1)</script> ![p](http://x/y)"
    await amy.post("dock", nasty, status="decision")
    await amy.post("dock", nasty, title="Blocker: <b> ![q](z) ## Owners")
    await amy.post("dock", "# Evidence\n" + nasty)
    done = await amy.compact("dock")
    text = (await amy.history("dock", since=done.seq)).messages[0].body
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == SECTIONS
    assert [line for line in text.split("\n") if line.startswith("#") and not line.startswith("## ")] == ["# State of #dock"]
    assert all(line == "" or line.startswith(("#", "- ")) for line in text.split("\n"))
    assert all(char == "\n" or char.isprintable() for char in text)
    for live in ("<script", "<img", "<b>", "</script", "![p", "![q"):
        assert live not in text.replace("\\<", "").replace("!\\[", "")
    assert max(map(len, text.split("\n"))) < 600


def test_text_stays_readable_where_it_is_harmless():
    for text in ("a < b", "x <= y", "don't_touch *this*", "[1] `code`", "é☃ 日本 👩\u200d🚀"):
        assert inert(text) == text


def test_a_state_that_does_not_fit_is_cut_between_lines_and_says_so():
    text = "".join(f"- line {n} é\n" for n in range(1000))
    short = fitted(text, 500, "dock")
    assert len(short.encode()) <= 500
    assert text.startswith(short.split("\n[cut")[0])
    assert fitted(short, 500, "dock") == short


def test_an_empty_channel_has_every_section_and_every_key(town):
    heron, _ = town.pair()
    shown = heron("state", "dock").out
    assert [line[3:] for line in shown.splitlines() if line.startswith("## ")] == SECTIONS
    assert shown.count("- none\n") == 6
    record = heron("state", "dock", "--json").record
    assert record.keys() == KEYS
    assert markdown(record) == shown == town.person()("state", "dock").out


def test_a_state_is_written_whole_and_again_in_its_own_place(town):
    heron, _ = town.pair()
    path = os.path.join(heron.directory, ".redischat", "dock", "state.md")
    assert heron("state", "dock", "--write").out == f"wrote {path}\n"
    with open(path) as file:
        assert file.read() == heron("state", "dock").out
    heron("say", "dock", "x", "--status", "decision")
    assert heron("state", "DOCK", "--save", "--json").record["path"] == path
    with open(path) as file:
        assert file.read() == heron("state", "dock").out
    assert sorted(os.listdir(os.path.dirname(path))) == ["state.md"]
    heron("state", "dock", "--directory", "notes")
    assert os.listdir(os.path.join(heron.directory, "notes", "dock")) == ["state.md"]
    with open(os.path.join(heron.directory, ".redischat", ".gitignore")) as file:
        assert file.read() == "*\n"


def test_no_link_is_followed_and_what_cannot_be_written_is_said(town):
    heron, _ = town.pair()
    outside = os.path.join(town.root, "outside")
    os.mkdir(outside)
    own = os.path.join(heron.directory, ".redischat")
    os.symlink(outside, own)
    assert heron("state", "dock", "--write", code=1).error == "STATE_IO_ERROR"
    os.unlink(own)
    os.mkdir(own)
    os.symlink(outside, os.path.join(own, "dock"))
    assert heron("state", "dock", "--write", code=1).error == "STATE_IO_ERROR"
    os.unlink(os.path.join(own, "dock"))
    os.mkdir(os.path.join(own, "dock"))
    os.symlink(os.path.join(outside, "x"), os.path.join(own, "dock", "state.md"))
    assert heron("state", "dock", "--write", code=1).error == "STATE_IO_ERROR"
    assert os.listdir(outside) == []
    assert heron("state", "dock", "--directory", "/proc/nowhere", code=1).error == "STATE_IO_ERROR"


def test_the_commands_refusals_have_agent_chats_codes(town):
    heron, _ = town.pair()
    for verb in ("state", "compact"):
        assert heron(verb, "dokc", code=1).error == "STATE_CHANNEL_NOT_FOUND"
        assert heron(verb, "a/b", code=1).error == "STATE_INVALID_CHANNEL"
    town.server.ask("XADD", MESSAGES, "0-7", "some", "thing")
    assert heron("state", "dock", "--strict", code=1).error == "STATE_MALFORMED_SOURCE"
    assert "- written past redischat, left out here: entry 0-7\n" in heron("state", "dock").out


def test_the_command_sums_up_and_a_newcomer_reads_from_there(town):
    heron, lynx = town.pair()
    for n in range(3):
        heron("say", "dock", f"talk {n}")
    done = heron("compact", "dock").out
    assert "as #4" in done
    assert "read dock --since-summary" in done
    assert "no second one" in lynx("compact", "dock").out
    (shown,) = lynx("read", "dock", "--since-summary", "--json").records
    assert (shown["seq"], shown["status"], shown["wakes"]) == (4, "summary", "none")
    assert json.loads(lynx("compact", "dock", "--json").out)["posted"] is False


async def test_a_summary_is_read_like_any_message_and_counts_for_nobodys_debts(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "x", to="none")
    await amy.compact("dock")
    assert await bob.owed() == []
    assert [body.partition("\n")[0] for body in bodies(await bob.read("dock"))] == ["x", "# State of #dock"]
