"""Blocks for programs: paths and tasks that are held, renewed and given back by ``async with`` (and ``with``)."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from seats import bodies, in_thread, until

from redischat import AsyncClient
from redischat.errors import TimedOut, Usage
from redischat.errors.leases import LeaseConflict, LeaseStaleToken
from redischat.errors.paths import PathLockConflict, PathLockNotFound, PathLockOwnerMismatch
from redischat.errors.tasks import NothingReady

REPO = "team/parser"
SHORT = 0.6  # a lease that is renewed three times while a test looks on
LONG = 20  # seconds; what is waited for comes much earlier


async def audits(chat, *, status=None):
    """What tasks and locks left behind: (what happened, to what)."""
    return [(one.status, one.title) for one in await chat.history("dock", audits=True) if one.kind == "audit" and status in (None, one.status)]


async def held(chat):
    return [(lock.owner, lock.paths) for lock in (await chat.locks("dock", all=True)).locks]


async def ended(event):
    """An event of either API is set."""
    await until(event.is_set, "the holder is told that it lost it")


async def test_a_lock_is_held_for_a_block_and_free_after_it(sit):
    amy, bob = await sit.pair()
    async with amy.lock("dock", "src/a.py", ttl=60, repo=REPO) as lock:
        assert (lock.paths[0].path, lock.token, lock.lost.is_set()) == ("src/a.py", lock.paths[0].token, False)
        with pytest.raises(PathLockConflict):
            await bob.lock("dock", "src/a.py", repo=REPO)
    async with bob.lock("dock", "src/a.py", repo=REPO) as next_:
        assert next_.token > lock.token
    assert await held(amy) == []


async def test_the_plain_call_locks_as_ever_and_a_task_can_be_made_of_it(sit):
    amy, _ = await sit.pair()
    lock = await amy.lock("dock", "src/a.py", repo=REPO)
    assert (lock.owner, lock.renewed) == ("Amy", False)
    assert await held(amy) == [("Amy", ["src/a.py"])]
    if isinstance(amy, AsyncClient):
        assert (await asyncio.create_task(amy.lock("dock", "src/a.py", repo=REPO))).renewed
    assert (await amy.unlock("dock", "src/a.py", repo=REPO)).unlocked


async def test_a_lock_is_renewed_without_a_word_while_its_block_runs(sit):
    amy, bob = await sit.pair()
    async with amy.lock("dock", "a", ttl=SHORT, repo=REPO) as lock:
        end = lock.expires_at

        async def renewed():
            found = (await bob.locks("dock", all=True)).locks[0]
            return found.expires_at > end and not found.lapsed

        for _ in range(3):
            await until(renewed, "the lock goes on after its first end")
            end = (await bob.locks("dock", all=True)).locks[0].expires_at
    assert await audits(amy, status="path.lock.renewed") == []


async def test_a_block_that_fails_lets_go_and_shows_its_own_error(sit):
    amy, _ = await sit.pair()
    with pytest.raises(ZeroDivisionError):
        async with amy.lock("dock", "a", "b", repo=REPO):
            _ = 1 / 0
    assert await held(amy) == []


async def test_whoever_lost_a_lock_is_told_within_and_at_the_clean_end_of_the_block(sit):
    amy, bob = await sit.pair()
    with pytest.raises((PathLockOwnerMismatch, PathLockNotFound)):  # noqa: PT012 - the end of the block raises
        async with amy.lock("dock", "a", ttl=SHORT, repo=REPO) as lock:
            await amy.unlock("dock", all=True)
            await bob.lock("dock", "a", repo=REPO)
            await ended(lock.lost)
    assert await held(amy) == [("bob", ["a"])]


async def test_blocks_of_one_agent_that_overlap_share_the_lock_and_the_last_lets_go(sit):
    amy, _ = await sit.pair()
    async with amy.lock("dock", "a", repo=REPO) as outer:
        async with amy.lock("dock", "a", repo=REPO) as inner:
            assert (inner.renewed, inner.lock_id) == (True, outer.lock_id)
        assert await held(amy) == [("Amy", ["a"])]
    assert await held(amy) == []


async def test_a_block_is_entered_once_so_that_none_runs_without_what_it_stands_for(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "parse")

    async def refused(block):
        with pytest.raises(Usage):
            await (getattr(block, "__aenter__", None) or block.__enter__)()

    async with amy.lock("dock", "a", repo=REPO) as lock, bob.claim_task("dock") as task:
        await refused(lock)
        await refused(task)
        assert await held(bob) == [("Amy", ["a"])]
    await refused(lock)
    await refused(task)
    batch = bob.take("dock")
    async with batch as found:
        assert bodies(found) == []
    await amy.post("dock", "hi")
    await refused(batch)


async def test_a_block_may_stand_in_line(sit):
    amy, bob = await sit.pair()
    got = asyncio.Event()

    async def wait():
        async with bob.lock("dock", "a", wait=LONG, repo=REPO):
            got.set()

    async with amy.lock("dock", "a", repo=REPO):
        waiting = asyncio.create_task(wait())
        await until(lambda: in_line(amy), "bob stands in line")
        assert not got.is_set()
    await waiting
    assert got.is_set()
    with pytest.raises(TimedOut):
        async with amy.lock("dock", "a", repo=REPO), bob.lock("dock", "a", wait=0.1, repo=REPO):
            pass


async def in_line(chat):
    return (await chat.locks("dock", all=True)).waiting


async def test_a_task_is_taken_for_a_block_and_done_at_its_end(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "second")
    await amy.task_create("dock", "first", priority=0, acceptance="green")
    async with bob.claim_task("dock") as task:
        assert (task.id, task.title, task.acceptance, task.status, task.owner) == ("T-2", "first", ["green"], "in_progress", "bob")
        assert task.token
        async with amy.claim_task("dock") as other:
            assert other.id == "T-1"
    assert [(one.status, one.finished_by) for one in await amy.task_list("dock")] == [("done", "bob"), ("done", "Amy")]
    with pytest.raises(NothingReady):
        async with bob.claim_task("dock"):
            pytest.fail("there is none")


async def test_a_result_stays_with_the_task(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    async with bob.claim_task("dock", "A") as task:
        await task.done("all green\nin 3 s")
        assert (await amy.task_show("dock", "A")).status == "done"
    found = await amy.task_show("dock", "A")
    assert (found.result, found.finished_by, found.attempt) == ("all green\nin 3 s", "bob", 1)
    await amy.task_reopen("dock", "A", "again")
    assert (await amy.task_show("dock", "A")).result is None
    await bob.task_claim("dock", "A")
    await bob.task_done("dock", "A", result="green")
    assert (await amy.task_show("dock", "A")).result == "green"


async def test_a_task_whose_block_fails_goes_back_with_the_reason(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    with pytest.raises(ValueError, match="no NaN"):
        async with bob.claim_task("dock"):
            raise ValueError("no NaN\nin the fixtures\x1b[2J")
    found = await amy.task_show("dock", "A")
    assert (found.status, found.owner, found.reason, found.attempt) == ("open", None, "ValueError: no NaN in the fixtures\\x1b[2J", 2)


async def test_a_task_whose_block_fails_can_be_blocked_so_that_nobody_takes_it_again(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    with pytest.raises(Usage):
        async with bob.claim_task("dock", on_error="bloc"):
            pytest.fail("a slip would let it be taken again and again")
    with pytest.raises(ZeroDivisionError):
        async with bob.claim_task("dock", on_error="block"):
            _ = 1 / 0
    found = await amy.task_show("dock", "A")
    assert (found.status, found.owner, found.reason) == ("blocked", None, "ZeroDivisionError: division by zero")
    assert ("lease.released", "A") in await audits(amy)
    with pytest.raises(NothingReady):
        await amy.task_next("dock", claim=True)
    await amy.task_update("dock", "A", status="open")
    async with bob.claim_task("dock") as task:
        await task.block("no access")
    assert (await amy.task_show("dock", "A")).reason == "no access"
    await amy.task_update("dock", "A", status="open")
    async with bob.claim_task("dock") as task:
        await task.release("later")
    assert [(one.status, one.reason) for one in await amy.task_list("dock")] == [("open", "later")]


async def test_a_lease_is_renewed_without_a_word_while_its_block_runs(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    async with bob.claim_task("dock", ttl=SHORT) as task:
        end = task.lease_expires_at

        async def renewed():
            found = await amy.task_show("dock", "A")
            return found.lease_expires_at > end and not found.stale

        for _ in range(3):
            await until(renewed, "the lease goes on after its first end")
            end = (await amy.task_show("dock", "A")).lease_expires_at
        assert not task.lost.is_set()
    assert await audits(amy) == [("task.created", "A"), ("lease.claimed", "A"), ("lease.completed", "A")]


async def test_whoever_lost_a_task_is_told_and_its_result_does_not_count(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    with pytest.raises(LeaseStaleToken):  # noqa: PT012 - the block needs its beginning
        async with bob.claim_task("dock", ttl=SHORT) as task:
            sit.run_out("A")
            await amy.task_recover("dock", "A", "bob is gone")
            await ended(task.lost)
            await task.done("too late")
    found = await amy.task_show("dock", "A")
    assert (found.status, found.owner, found.result) == ("in_progress", "Amy", None)
    with pytest.raises(LeaseConflict):
        async with bob.claim_task("dock", "A", steal_expired=True) as task:
            pytest.fail("Amy holds it")


async def test_a_worker_waits_for_a_task_and_gets_the_one_that_is_made(sit):
    amy, bob = await sit.pair()
    with pytest.raises(NothingReady) as none:
        async with bob.claim_task("dock", wait=0.05):
            pytest.fail("there is none")
    assert none.value.facts["why"] == "the board is empty"

    async def work():
        async with bob.claim_task("dock", wait=LONG) as task:
            return task.id

    working = asyncio.create_task(work())
    await until(lambda: listeners(sit, "live:dock"), "bob listens at the board")
    await amy.post("dock", "nothing yet")
    await amy.task_create("dock", "x", task="A")
    assert await working == "A"


async def test_a_waiting_worker_gets_what_somebodys_lease_leaves(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    await amy.task_claim("dock", "A", ttl=0.3)
    async with bob.claim_task("dock", wait=LONG) as task:
        assert (task.id, task.previous_owner, task.attempt) == ("A", "Amy", 2)


def listeners(sit, bell):
    found = sit.store.execute_command("PUBSUB", "SHARDNUMSUB", f"rc1:{{default}}:{bell}")[-1]
    return (found[1] if isinstance(found, tuple) else found) > 0


async def test_one_program_is_several_agents_over_one_pool(sit):
    amy, bob = await sit.pair()
    lead = amy.as_("lead")
    await lead.join("dock")
    await lead.post("dock", "from the lead", to=["bob"])
    assert (lead.agent, amy.agent) == ("lead", "Amy")
    assert [(one.sender, one.body) for one in await bob.read("dock") if one.kind == "message"] == [("lead", "from the lead")]
    room = bob.channel("dock")
    await room.post("for the lead", to=["lead"])
    listening = room.listen(as_="lead")
    async for message in listening:
        assert (message.sender, message.body) == ("bob", "for the lead")
        break
    await listening.aclose()
    await lead.disconnect()  # gives nothing back that is not its own
    assert (await amy.post("dock", "still here")).seq > 0


async def test_several_agents_of_one_program_can_each_hold_their_name(sit):
    amy, _ = await sit.pair()
    lead, clerk = amy.as_("lead"), amy.as_("clerk")
    first, second = await lead.identify(), await clerk.identify()
    assert first.agent != second.agent
    await lead.join("dock")
    await clerk.join("dock")
    await lead.post("dock", "both names hold")
    await clerk.post("dock", "indeed")
    assert (await amy.as_("lead", token=first.token).post("dock", "with its token")).seq > 0


LOOPS = """
import asyncio, gc, sys
from redischat import AsyncClient, Client
chat = AsyncClient(sys.argv[1], agent="amy")
for _ in range(8):
    asyncio.run(chat.channels())
    gc.collect()
print(len(Client(sys.argv[1], agent="amy")._connection._pool.here().client_list()))
"""


@pytest.mark.real
def test_a_loop_that_is_over_keeps_no_connection_though_nobody_disconnected(real):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", LOOPS, real.url], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 3, "the connections of the loops that are over are closed"


@pytest.mark.real
async def test_a_client_works_in_one_event_loop_after_another_and_in_two_at_once(real):
    chat = AsyncClient(real.url, agent="amy")

    async def say(text):
        await chat.open("dock")
        sent = await chat.post("dock", text)
        await chat.disconnect()
        return sent.seq

    await say("here")
    found = await asyncio.gather(*(in_thread(asyncio.run, say(f"loop {n}")) for n in range(4)))
    assert len(set(found)) == 4
    assert await in_thread(asyncio.run, say("again")) == max(found) + 1
    await chat.disconnect()


@pytest.mark.real
@pytest.mark.usefixtures("impatient")
async def test_what_runs_out_while_the_broker_cannot_be_asked_counts_as_lost(seated, proxy):
    amy = seated(proxy.url)("amy")
    await amy.open("dock")
    async with amy.lock("dock", "a", ttl=SHORT, repo=REPO) as lock:
        proxy.lose(1_000_000)
        await ended(lock.lost)
        proxy.lose(0)
    assert await held(amy) == []  # nobody had recovered it: it could be let go of
