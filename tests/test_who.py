"""Who is there, and what a sender is told of it: nothing is worded like a delivery that reached nobody."""

from __future__ import annotations

import asyncio
import time
import uuid
from typing import Any

import pytest
from waiting import wait_until

from redischat.calls.call import packed
from redischat.settings import host

MINUTE, HOUR, DAY = 60, 3_600, 86_400
PRESENCE, AGENTS = "rc1:{default}:presence", "rc1:{default}:agents"


def seat(session, agent, state="idle", *, active=0, beat=0, way="file", landed=None, missed=None, where=None, project="/home/dev/p", harness="claude"):
    """A session's record, as its hooks and its waker would have left it so many seconds ago."""
    now = int(time.time() * 1000)
    ago = {
        name: 0 if seconds is None else now - seconds * 1000 for name, seconds in (("active", active), ("beat", beat), ("landed", landed), ("missed", missed))
    }
    words = (agent, harness, packed(where or host()), 4711, state, ago["active"], ago["beat"], now, way, 0, ago["landed"], ago["missed"], 0, 0, packed(project))
    return {session: " ".join(map(str, words))}


class Quay:
    """bob, carl and dora, each in a session of a harness, and amy, who speaks to them in #dock."""

    def __init__(self, sit):
        self.sit = sit

    async def come(self, *names):
        self.amy = self.sit("amy")
        await self.amy.open("dock", members=list(names))
        for name in names:
            await self.sit(name).identify(session="s-" + name)
        return self

    def set(self, agent, state="idle", **facts):
        self.sit.store.hset(PRESENCE, mapping=seat("s-" + agent, agent, state, **facts))
        if facts.get("active"):
            self.sit.unseen_for(agent, facts["active"])

    async def found(self, agent, to=None):
        """How a message found an agent."""
        got = await self.amy.post("dock", "x", to=to or agent, receipt=True)
        lists = {"listening", "working", "proved", "unproved", "failed", "absent"}
        assert {how for how in lists if agent in getattr(got, how)} == {one.how for one in got.reach if one.agent == agent}
        return next(one for one in got.reach if one.agent == agent)


@pytest.fixture
async def quay(sit):
    return await Quay(sit).come("bob", "carl")


async def present(chat, **options):
    """Agent -> its sessions."""
    return {one.agent: one.sessions for one in await chat.who(**options)}


async def test_a_session_is_shown_with_what_it_does_and_where(quay):
    quay.set("bob", "working", active=12, beat=3, landed=300)
    found = await present(quay.amy)
    assert list(found) == ["amy", "bob", "carl"]
    (bob,) = found["bob"]
    assert (bob.session, bob.pid, bob.host, bob.here, bob.dir, bob.harness, bob.state) == ("s-bob", 4711, host(), True, "/home/dev/p", "claude", "working")
    assert (bob.connected, bob.how, bob.holds, bob.inferred) == (True, ["hooks", "waker"], True, False)
    assert 12 <= bob.silent_s < 60
    assert (bob.wake.way, bob.wake.proof) == ("file", "proved")
    assert 300 <= bob.wake.age_s < 360
    assert bob.last_active.tzinfo is not None


async def test_nobody_is_there_where_nobody_ever_was(sit):
    assert await sit("amy").who() == []
    assert await sit().who(ended=True) == []


async def test_one_without_hooks_is_known_by_its_acts_until_it_did_nothing_for_a_day(sit):
    amy, bob = await sit.pair()
    await bob.identify()
    await bob.post("dock", "x")
    for seconds, state in ((5, "live"), (5 * MINUTE, "quiet"), (2 * DAY, "gone")):
        sit.unseen_for("bob", seconds)
        (shown,) = (await present(amy, ended=True))["bob"]
        assert (shown.state, shown.inferred, shown.how, shown.harness, shown.wake, shown.holds) == (state, True, ["acts"], None, None, True)
        assert ("bob" in await present(amy)) == (state != "gone")


async def test_a_name_that_nobody_holds_is_shown_once_it_did_something(sit):
    amy, bob = await sit.pair()
    assert (await present(amy)).keys() == {"Amy"}
    assert (await present(amy, ended=True))["bob"] == []
    await bob.post("dock", "x")
    (shown,) = (await present(amy))["bob"]
    assert (shown.session, shown.host, shown.state, shown.holds) == (None, None, "live", False)


async def test_live_07_a_long_silent_step_is_said_and_is_no_end(quay):
    quay.set("bob", "working", active=20 * MINUTE, beat=20 * MINUTE)
    (bob,) = (await present(quay.amy))["bob"]
    assert (bob.state, bob.connected) == ("working", False)
    assert 20 * MINUTE <= bob.silent_s < 21 * MINUTE
    found = await quay.found("bob")
    assert (found.how, found.state) == ("working", "working")
    assert found.silent_s >= 20 * MINUTE


async def test_live_02_a_session_that_is_there_and_did_nothing_for_hours_is_told_from_a_busy_one(quay):
    quay.set("bob", active=2 * HOUR, beat=2)
    (bob,) = (await present(quay.amy))["bob"]
    assert (bob.state, bob.connected, bob.how) == ("idle", True, ["hooks", "waker"])
    found = await quay.found("bob")
    assert (found.how, found.state, found.wake.proof) == ("unproved", "idle", "unproved")
    assert 2 * HOUR <= found.silent_s < 2 * HOUR + 60
    assert [one.seq for one in await quay.amy.history("dock")] == [1]


@pytest.mark.parametrize(
    ("facts", "how"),
    [
        ({"landed": 300}, "proved"), ({}, "unproved"), ({"landed": 300, "missed": 100}, "failed"), ({"missed": 300, "landed": 100}, "proved"), ({"way": "none"}, "failed"),
        ({"state": "working", "missed": 100}, "working"), ({"state": "ended", "active": 5 * MINUTE}, "absent"), ({"active": HOUR, "beat": HOUR}, "absent"),
        ({"state": "working", "active": 2 * DAY, "beat": 2 * DAY}, "absent"), ({"active": 2 * DAY, "beat": 3}, "unproved"),
        ({"landed": 300, "active": 90, "beat": 90}, "absent"),
    ],
)  # fmt: skip
async def test_a_receipt_says_whether_an_idle_session_can_be_woken(quay, facts, how):
    quay.set("bob", **facts)
    assert (await quay.found("bob")).how == how


@pytest.mark.parametrize("api", ["post", "say"])
async def test_a_receipt_tells_how_it_was_before_it_rang_also_on_a_server_that_never_heard_of_receipts(sit, api):
    amy, bob = await sit.pair()
    await amy.post("dock", "no receipt", to="none")
    sit.store.script_flush()
    await amy.post("dock", "no receipt", to="none")  # now the one script is in the server's cache, the other is not
    await bob.read()
    task = asyncio.ensure_future(bob.wait("dock", timeout=30))
    await sit.asleep("bob")
    assert (await getattr(amy, api)("dock", "x", receipt=True)).listening == ["bob"]
    await task


async def test_a_wait_is_told_from_a_waker_that_hears_the_same_doorbell(quay):
    quay.set("bob", active=5 * MINUTE)
    ear = quay.sit.store.pubsub()
    ear.ssubscribe("rc1:{default}:bell:bob", "rc1:{default}:room:dock")
    assert ear.get_message(timeout=5) is not None
    assert (await quay.found("bob")).how == "unproved"
    assert "listening" not in {one.how for one in (await quay.amy.post("dock", "x", receipt=True)).reach}
    ear.close()


async def test_one_that_sleeps_at_a_wait_is_waiting_with_and_without_hooks(sit):
    amy, bob, _ = await sit.trio()
    task = asyncio.ensure_future(bob.wait("dock", timeout=30))
    await sit.asleep("bob")
    (shown,) = (await present(amy))["bob"]
    assert (shown.state, shown.connected, shown.how, shown.inferred) == ("waiting", True, ["acts", "wait"], True)
    await amy.post("dock", "x")
    await task
    holder = sit("carl")
    await holder.identify(session="s-carl")
    await holder.read()
    sit.store.hset(PRESENCE, mapping=seat("s-carl", "carl", "working"))
    task = asyncio.ensure_future(holder.wait("dock", timeout=30))
    await sit.asleep("carl")
    (shown,) = (await present(amy))["carl"]
    assert (shown.state, shown.how, shown.inferred) == ("waiting", ["hooks", "wait"], False)
    got = await amy.post("dock", "y", to="carl", receipt=True)
    assert (got.listening, got.working) == (["carl"], [])
    await task


async def test_a_session_whose_name_another_one_took_is_shown_as_such(quay):
    quay.set("bob", "working")
    other = quay.sit("bob")
    await other.identify(session="s-other", take_over=True, force=True, reason="x")
    sessions = {one.session: one for one in (await present(quay.amy))["bob"]}
    assert {name: (one.holds, one.inferred) for name, one in sessions.items()} == {"s-bob": (False, False), "s-other": (True, True)}


async def test_sessions_of_this_host_stand_before_those_of_others(quay):
    quay.set("bob", "working", active=30)
    quay.sit.store.hset(PRESENCE, mapping=seat("s-far", "bob", "working", active=1, where="far-away"))
    assert [(one.session, one.here) for one in (await present(quay.amy))["bob"]] == [("s-bob", True), ("s-far", False)]


async def test_who_is_over_is_shown_on_demand(quay):
    quay.set("bob", "ended", active=HOUR, beat=HOUR)
    quay.sit.store.hset(AGENTS, "bob", quay.sit.store.hget(AGENTS, "bob").replace(" live ", " ended "))
    assert "bob" not in await present(quay.amy)
    (bob,) = (await present(quay.amy, ended=True))["bob"]
    assert (bob.state, bob.connected) == ("gone", False)


async def test_asking_who_is_there_changes_nothing(quay):
    quay.set("bob", "working")
    before = quay.sit.everything()
    await quay.amy.who()
    await quay.sit().who(ended=True)
    assert quay.sit.everything() == before


# The command.


def seated(town, agent, state="idle", **facts):
    """An agent in a session of Claude Code, as the broker knows it."""
    session = str(uuid.uuid4())
    person = town.agent(agent, CLAUDE_CODE_SESSION_ID=session)
    for name, words in seat(session, agent, state, project=person.directory, **facts).items():
        town.server.ask("HSET", PRESENCE, name, words)
    return person


def test_who_says_nobody_and_that_it_could_not_ask(town):
    assert town.person()("who").out.startswith("nobody")
    assert town.person()("who", "--json").out == ""
    assert town.person()("who", "--url", "unix:///nowhere/s", code=5).out == ""


def test_who_shows_a_line_for_each_session(town):
    heron = seated(town, "heron", "working", active=25 * MINUTE)
    seated(town, "lynx", active=2 * HOUR, missed=7 * MINUTE)
    town.agent("kite")
    text = heron("who").out
    lines = {row.split(" ")[0]: row for row in text.splitlines()}
    assert "working, no sign for 25 min" in lines["heron"]
    assert "waking unproved" in lines["heron"]
    assert f"here: {heron.directory}" in lines["heron"]
    assert "claude 4711" in lines["heron"]
    assert "idle, last active 2 h ago" in lines["lynx"]
    assert "waking failed 7 min ago" in lines["lynx"]
    assert "no hooks" in lines["kite"]
    rows = heron("who", "--json").records
    assert [row["agent"] for row in rows] == ["heron", "kite", "lynx"]
    assert rows[0]["sessions"][0].keys() >= {"session", "pid", "host", "dir", "harness", "state", "last_active", "wake", "how", "inferred"}


def test_a_receipt_names_each_kind_of_reader_once_in_words_that_promise_no_more_than_is_known(town):
    heron = town.agent("heron")
    crew: dict[str, dict[str, Any]] = {
        "idle": {"landed": 60},
        "new": {"active": 2 * HOUR},
        "deaf": {"missed": 7 * MINUTE},
        "mute": {"way": "none"},
        "busy": {"state": "working"},
        "over": {"state": "ended"},
    }
    heron("open", "dock", "--members", ",".join([*crew, "ghost"]))
    for name, facts in crew.items():
        seated(town, name, **facts)
        town.server.last_seen(name, 2 * HOUR)
    waiter = town.agent("wait-er")
    waiter("join", "dock")
    waiting = waiter.start("wait", "dock", "--timeout", "30")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:ear:wait-er")[1] == 1, "it waits")
    said = heron("say", "dock", "hello all").lines
    waiting.communicate(timeout=30)
    assert said[2].startswith("  wakes ")
    assert not {"deaf", "mute", "over", "ghost"} & set(said[2].removeprefix("  wakes ").split(", "))
    assert "  waiting for it now: wait-er" in said
    assert "  at work: busy (sees it at its next step)" in said
    assert "  idle, rung now: idle (that has woken it before)" in said
    assert "  idle, rung now: new (last active 2 h ago) (not proved yet that this wakes it)" in said
    (failed,) = [row for row in said if "NOT WOKEN" in row]
    assert "deaf (the last ring, 7 min ago, woke nobody)" in failed
    assert "mute (nothing can ring it)" in failed
    (left,) = [row for row in said if "LEFT FOR" in row]
    assert "over" in left
    assert "ghost" in left
