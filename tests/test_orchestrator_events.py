"""Watching what happens in channels, for programs that lead agents."""

from __future__ import annotations

import asyncio

import pytest
from seats import until

from redischat.errors import NoChannel, TimedOut, Usage

LONG = 20  # seconds; what is waited for comes much earlier
REPO = "team/parser"


class Watching:
    """Somebody who watches, from the moment on that this is begun; :meth:`until` gives what was seen up to something."""

    def __init__(self, sit, happenings):
        self.sit, self.happenings = sit, happenings
        self.seen = []

    async def begin(self):
        self.task = asyncio.create_task(self.watch())
        await until(lambda: self.listens(), "the watcher listens")  # noqa: PLW0108 - asked again and again
        return self

    def listens(self):
        found = self.sit.store.execute_command("PUBSUB", "SHARDNUMSUB", "rc1:{default}:live:dock")[-1]
        return self.task.done() or (found[1] if isinstance(found, tuple) else found) > 0

    async def watch(self):
        async for happening in self.happenings:
            self.seen.append(happening)
            if happening.kind == "notice.closed":
                break
        await self.happenings.aclose()

    async def until(self, kind):
        await until(lambda: kind in self.kinds() or self.task.done(), f"{kind} is seen")
        assert kind in self.kinds(), await self.task

    def kinds(self):
        return [one.kind for one in self.seen]

    async def close(self, chat):
        await chat.close("dock", "enough")
        await self.task
        return self.seen


async def test_whoever_watches_sees_tasks_locks_claims_notices_and_events_and_no_talk(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "before")
    watching = await Watching(sit, amy.events("dock", timeout=LONG)).begin()
    await bob.post("dock", "talk")
    await bob.task_create("dock", "x", task="A", priority=0)
    async with bob.claim_task("dock", "A"), bob.lock("dock", "src/a.py", repo=REPO):
        pass
    await bob.claim("dock", "deploy")
    await bob.event_post("dock", "status", "claude-code", status="idle", detail="waits")
    await bob.leave("dock")
    await watching.until("notice.left")
    seen = await watching.close(amy)
    assert [(one.kind, one.agent, one.subject) for one in seen if not one.kind.startswith("path.")] == [
        ("task.created", "bob", "A"), ("lease.claimed", "bob", "A"), ("lease.completed", "bob", "A"), ("claim.claimed", "bob", "deploy"),
        ("event.status", "bob", None), ("notice.left", "bob", None), ("notice.closed", "Amy", None),
    ]  # fmt: skip
    assert [one.kind for one in seen if one.kind.startswith("path.")] == ["path.locked", "path.lock.unlocked"]
    assert seen[0].facts["task"] == "A"
    assert next(one for one in seen if one.kind == "event.status").facts == {"harness": "claude-code", "status": "idle", "detail": "waits"}


async def test_leases_and_locks_that_run_out_are_seen_when_they_do(sit):
    amy, bob = await sit.pair()
    await bob.task_create("dock", "x", task="A")
    watching = await Watching(sit, amy.channel("dock").events(timeout=LONG)).begin()
    await bob.task_claim("dock", "A", ttl=0.3)
    lock = await bob.lock("dock", "src/a.py", ttl=0.3, repo=REPO)
    await watching.until("lease.lapsed")
    await watching.until("path.lapsed")
    seen = {one.kind: one for one in watching.seen}
    assert (seen["lease.lapsed"].agent, seen["lease.lapsed"].subject) == ("bob", "A")
    lapsed = seen["path.lapsed"]
    assert (lapsed.agent, lapsed.subject, lapsed.facts["paths"]) == ("bob", lock.lock_id, ["src/a.py"])
    await amy.task_recover("dock", "A", "bob is gone")
    await watching.until("lease.recovered")
    assert sorted({kind for kind in watching.kinds() if watching.kinds().count(kind) > 1}) == []
    await watching.close(amy)


async def test_a_watcher_goes_on_behind_any_position_and_misses_nothing(sit):
    amy, bob = await sit.pair()
    watching = await Watching(sit, amy.events("dock", timeout=LONG)).begin()
    for n in range(4):
        await bob.task_create("dock", f"{n}", task=f"T{n}")
        await bob.post("dock", "between")
        await amy.briefing("dock", f"rules {n}")
    await watching.until("notice.briefing")
    await until(lambda: len(watching.seen) == 8, "all is seen")
    seen = await watching.close(amy)
    for at, one in enumerate(seen[:-1]):
        rest = await Watching(sit, sit("Amy").events("dock", since=one.position, timeout=LONG)).begin()
        await rest.until("notice.closed")
        assert sorted((found.kind, found.text) for found in rest.seen) == sorted((found.kind, found.text) for found in seen[at + 1 :])


async def test_all_channels_are_watched_also_those_to_come(sit):
    amy, bob = await sit.pair()
    await amy.open("quay", members="bob")
    watching = await Watching(sit, sit().events(timeout=LONG)).begin()  # nobody in particular
    await bob.task_create("quay", "x", task="Q")
    await bob.open("pier")
    await bob.task_create("pier", "x", task="P")
    await bob.task_create("dock", "x", task="D")
    await until(lambda: len(watching.seen) >= 3, "three tasks are seen")
    seen = await watching.close(amy)
    assert sorted((one.channel, one.subject) for one in seen if one.kind == "task.created") == [("dock", "D"), ("pier", "P"), ("quay", "Q")]


async def test_what_cannot_be_watched_is_refused(sit):
    amy, _ = await sit.pair()
    for refused, happenings in ((NoChannel, amy.events("dokc")), (TimedOut, amy.events("dock", timeout=0.05))):
        with pytest.raises(refused):
            await Watching(sit, happenings).watch()
    watching = await Watching(sit, amy.events("dock", timeout=LONG)).begin()
    await amy.delete("dock", yes=True)
    with pytest.raises(NoChannel):
        await watching.task


async def test_a_position_or_time_that_is_none_is_refused_at_once(sit):
    amy, _ = await sit.pair()
    for wrong in ({"since": "yesterday"}, {"since": "dock:1:2"}, {"timeout": -1}, {"timeout": float("nan")}):
        with pytest.raises(Usage):
            amy.events("dock", **wrong)
