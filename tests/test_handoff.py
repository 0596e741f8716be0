"""Handoff: what one session leaves behind is there for the next one, however much later it comes; and times mean the same to everybody."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
from pathlib import Path

import pytest

from redischat.files import folder
from redischat.keys import Keys

KEYS = Keys("default")
DAY = 86_400
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
SHOWN = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")


def test_a_session_leaves_a_summary_and_one_never_seen_before_is_shown_it(town):
    first = town.person("repo", CLAUDE_CODE_SESSION_ID="0190aaaa-0000-7000-8000-00000000000a")
    first("identify", "heron")
    first("open", "work")
    first("say", "work", "noise before")
    first("say", "work", "-", "--status", "summary", stdin="Done: A, B.\nOpen: C fails on Windows.\n")
    first("say", "work", "one more thing")

    later = town.person("repo", CLAUDE_CODE_SESSION_ID="0190bbbb-0000-7000-8000-00000000000b")  # hours later, in the same project
    joined = later("join", "work")
    assert "the latest summary is #2: redischat read work --since-summary" in joined.out
    told = later("read", "work", "--since-summary", "--json").records
    assert [(one["seq"], one["status"]) for one in told] == [(2, "summary"), (3, "discussion")]
    assert told[0]["body"] == "Done: A, B.\nOpen: C fails on Windows.\n"
    assert "Open: C fails on Windows." in later("read", "work", "--since-summary").out
    assert later("read", "work", "--json").records == []


def test_the_name_of_an_ended_session_and_its_unread_mail_pass_to_the_next_one_in_the_project(town):
    first = town.person("repo", CLAUDE_CODE_SESSION_ID="0190aaaa-0000-7000-8000-00000000000a")
    first("identify", "heron", "--project")
    first("open", "work", "--members", "lynx")
    town.agent("lynx")("say", "work", "are you there?", "--to", "heron")
    town.server.last_seen("heron", 3 * DAY)
    later = town.person("repo", CLAUDE_CODE_SESSION_ID="0190bbbb-0000-7000-8000-00000000000b")
    assert later("whoami", "--json").record["agent"] == "heron"  # what the project wishes
    assert later("identify", "heron", "--json").record["how"] == "succeeded"
    assert later("owed", "--json").record["text"] == "are you there?"
    assert later("read", "--json").record["body"] == "are you there?"


def test_only_the_latest_summary_is_named_and_a_channel_without_one_says_so(town):
    heron, lynx = town.pair()
    done = lynx("read", "dock", "--since-summary")
    assert "no summary yet" in done.out
    assert lynx("read", "dock", "--since-summary", "--json").out == ""
    for n in range(3):
        heron("say", "dock", f"so far {n}", "--status", "summary")
    assert "the latest summary is #3" in lynx("join", "dock").out
    assert lynx("read", "dock", "--since-summary", "--json").record["seq"] == 3
    assert lynx("read", "nowhere", "--since-summary", code=1).error == "NO_CHANNEL"


def test_a_summary_that_was_removed_does_not_hide_what_came_after(town):
    heron, _ = town.pair()
    heron("say", "dock", "so far", "--status", "summary")
    heron("say", "dock", "after")
    heron("retain", "dock", "1", "--yes")
    assert heron("read", "dock", "--since-summary", "--json").record["body"] == "after"


def test_a_note_for_a_member_that_appears_days_later_waits_from_the_first_message_on(town):
    heron = town.agent("heron")
    heron("open", "dock", "--members", "Kite,lynx")
    left = heron("say", "dock", "the port is 8080", "--to", "kite")
    assert "LEFT FOR Kite" in left.out
    heron("say", "dock", "and the host is db1")
    rows = {one["agent"]: one["seen"] for one in heron("roster", "dock", "--json").record["roster"]}
    assert rows["Kite"] is None
    kite = town.agent("kite", "somewhere-else")
    assert kite("whoami", "--json").record["agent"] == "Kite"
    assert [one["seq"] for one in kite("read", "--json").records] == [1, 2]
    assert kite("owed", "--json").record["from"] == "heron"


def test_a_member_that_is_named_twice_or_names_itself_is_one_member(town):
    heron = town.agent("heron")
    assert heron("open", "dock", "--members", "lynx,LYNX,heron,lynx", "--json").record["members"] == ["heron", "lynx"]


# Times.

ZONES = ["UTC", "Pacific/Auckland", "America/New_York", "Asia/Kolkata", "Nowhere/Nothing", "<-07>+07"]


def instants(person, env):
    """Every time that the looking verbs show, in text and in JSON."""
    found = []
    for words in (("read", "dock", "--all"), ("peek", "dock"), ("owed",), ("pending",), ("roster", "dock"), ("briefing", "dock"), ("channels", "--all")):
        text = person(*words, env=env).out
        records = person(*words, "--json", env=env).out
        assert not re.search(r"\d\d:\d\d:\d\d(?!Z|\.\d{3}Z)", text + records), f"a time without Z in {text}{records}"
        found.append((SHOWN.findall(text), ISO.findall(records)))
    return found


def test_times_are_the_brokers_end_in_z_and_do_not_depend_on_the_zone(town):
    heron, lynx = town.pair()
    heron("briefing", "dock", "be kind")
    heron("say", "dock", "what is the time?", "--to", "lynx")
    told = [instants(lynx, {"TZ": zone}) for zone in ZONES]
    assert all(one == told[0] for one in told)
    assert any(shown for shown, _ in told[0])
    assert any(records for _, records in told[0])
    ts = lynx("peek", "dock", "-n", "1", "--json").record["ts"]
    now = int(town.server.ask("TIME")[0])
    assert abs(dt.datetime.fromisoformat(ts).timestamp() - now) < 30


SKEWED = """
import sys, time
real, real_ns = time.time, time.time_ns
time.time, time.time_ns = (lambda: real() + {offset}), (lambda: real_ns() + {offset} * 10**9)
sys.argv = ["redischat", *{words!r}]
from redischat.__main__ import main
main()
"""


@pytest.mark.parametrize("offset", [-300, 300, 40 * DAY])
def test_a_clock_that_is_wrong_on_the_clients_side_changes_nothing(town, offset):
    heron, lynx = town.pair()

    def skewed(*words):
        return subprocess.run(
            [sys.executable, "-c", SKEWED.format(offset=offset, words=words)], cwd=heron.directory, env=town.env, capture_output=True, text=True, check=False
        )

    assert skewed("say", "dock", "hello").returncode == 0
    assert skewed("wait", "dock", "--timeout", "0.1").returncode == 4
    assert skewed("identify", "heron").returncode == 0
    assert lynx("say", "dock", "hello", "--json").record["unproved"] == ["heron"]
    stamps = [dt.datetime.fromisoformat(one["ts"]).timestamp() for one in lynx("read", "dock", "--all", "--json").records]
    assert stamps == sorted(stamps)
    assert stamps[-1] - stamps[0] < 60
    assert heron("whoami", "--json").record["token"] is True


def test_no_script_and_no_call_takes_a_time_from_the_caller():
    """TIME-01 where no faketime is: what decides is written into the scripts, from the server's TIME."""
    taking = []
    for path in Path(folder("scripts")).glob("*.lua"):
        signature = [row for row in path.read_text("utf-8").splitlines() if row.endswith("= unpack(ARGV)")]
        taking += [path.name for row in signature if re.search(r"\b(now|time|ts|at|clock)\b", row)]
    assert taking == [], "a time that its caller chooses"
