"""One task for each of some agents, and their results as they come; and a barrier where agents meet."""

from __future__ import annotations

import asyncio

import pytest
from seats import bodies, until

from redischat.errors import KeyReused, RecipientLeft, TimedOut, UnknownRecipient, Usage
from redischat.errors.claims import ClaimTaken
from redischat.errors.tasks import TaskInvalidId

LONG = 20  # seconds; what is waited for comes much earlier
WORK = {"bob": "Review src/a.py", "carl": "Review src/b.py"}


async def parts(gathering, count=None):
    """What a gather gives: all of it, or so much."""
    found = []
    async for part in gathering:
        found.append(part)
        if len(found) == count:
            break
    await gathering.aclose()
    return found


def told(found):
    return [(part.agent, part.how, part.result or part.reason) for part in found]


async def made(chat, count=2):
    """Come back when the tasks of a gather are there, and its letter."""

    async def stands():
        return len(await chat.task_list("dock")) == count and (await chat.history("dock")).last_seq

    await until(stands, "the tasks are made and told")


async def test_each_agent_gets_a_task_and_its_result_comes_as_it_is_done(sit):
    amy, bob, carl = await sit.trio()
    gathering = asyncio.create_task(parts(amy.channel("dock").gather("round-1", WORK, brief="Only the parser.", timeout=LONG)))
    (letter,) = await bob.wait("dock", timeout=LONG)
    assert (letter.to, letter.title, letter.body.splitlines()[-1]) == (["bob", "carl"], "round-1", "Only the parser.")
    assert "round-1.bob" in letter.body
    async with carl.claim_task("dock") as task:
        assert (task.id, task.title) == ("round-1.carl", "Review src/b.py")
        await task.done("two findings")
    await bob.task_claim("dock", "round-1.bob")
    await bob.task_done("dock", "round-1.bob", result="clean")
    found = await gathering
    assert told(found) == [("carl", "done", "two findings"), ("bob", "done", "clean")]
    assert found[0].task.finished_by == "carl"


async def test_who_refuses_who_died_and_who_is_late_is_told(sit):
    amy, bob, carl = await sit.trio()
    dora = sit("dora")
    await dora.join("dock")
    work = {**WORK, "dora": "Review src/c.py", "Amy": "Review src/d.py"}
    gathering = amy.gather("dock", "round-1", work, timeout=LONG)
    first = asyncio.create_task(parts(gathering, 2))
    await made(bob, 4)
    await bob.task_block("dock", "round-1.bob", "I wrote it")
    await carl.task_claim("dock", "round-1.carl", ttl=0.2)
    done, _ = await asyncio.wait([first], timeout=LONG / 2)
    assert done, "a lapse is told when it happens, not at the end"
    assert sorted(told(await first)) == [("bob", "refused", "I wrote it"), ("carl", "died", None)]
    rest = asyncio.create_task(parts(amy.gather("dock", "round-1", work, timeout=2)))
    await amy.task_cancel("dock", "round-1.Amy", "not needed")
    await dora.task_recover("dock", "round-1.carl", "carl is gone")
    await dora.task_done("dock", "round-1.carl", result="done for carl")
    found = await rest
    assert {one for one in told(found) if one[1] != "died"} == {
        ("bob", "refused", "I wrote it"), ("Amy", "refused", "not needed"), ("carl", "done", "done for carl"), ("dora", "late", None),
    }  # fmt: skip
    assert (found[-1].how, found[-1].task.status) == ("late", "open")
    assert next(one for one in found if one.how == "done").task.finished_by == "dora"


async def test_a_gather_of_the_same_name_goes_on_where_one_ended(sit):
    amy, bob, _ = await sit.trio()
    first = asyncio.create_task(parts(amy.gather("dock", "round-1", WORK, timeout=LONG), 1))
    await made(bob)
    await finished(bob, "round-1.bob", "clean")
    assert told(await first) == [("bob", "done", "clean")]
    again = sit("Amy")  # the program was started anew
    found = asyncio.create_task(parts(again.gather("dock", "round-1", WORK, timeout=LONG)))

    async def rung():
        return len(bodies(await amy.history("dock"))) == 2

    await until(rung, "whoever has not begun is rung again")
    await finished(sit("carl"), "round-1.carl", "two findings")
    assert told(await found) == [("bob", "done", "clean"), ("carl", "done", "two findings")]
    assert [(one.id, one.created_by) for one in await amy.task_list("dock")] == [("round-1.bob", "Amy"), ("round-1.carl", "Amy")]
    assert told(await parts(sit("Amy").gather("dock", "round-1", WORK, timeout=0))) == [("bob", "done", "clean"), ("carl", "done", "two findings")]
    letters = [one.to for one in await amy.history("dock") if one.kind == "message"]
    assert letters == [["bob", "carl"], ["carl"]]


async def finished(chat, task, result):
    await chat.task_claim("dock", task)
    await chat.task_done("dock", task, result=result)


async def test_a_gather_in_a_channel_that_was_deleted_and_opened_anew_is_a_new_one(sit):
    for _ in range(2):
        amy, bob, carl = await sit.trio()
        gathering = asyncio.create_task(parts(amy.gather("dock", "daily", WORK, timeout=LONG)))
        for worker in (bob, carl):
            assert (await worker.wait("dock", timeout=LONG))[0].title == "daily"
            async with worker.claim_task("dock", wait=LONG):
                pass
        assert [how for _, how, _ in told(await gathering)] == ["done", "done"]
        await amy.delete("dock", yes=True)


async def test_two_programs_that_gather_the_same_make_each_task_once(sit):
    amy, bob, carl = await sit.trio()
    both = [asyncio.create_task(parts(one.gather("dock", "round-1", WORK, timeout=LONG))) for one in (amy, sit("Amy"))]
    await made(bob)
    await finished(bob, "round-1.bob", "clean")
    await finished(carl, "round-1.carl", "clean")
    assert [told(await one) for one in both] == 2 * [[("bob", "done", "clean"), ("carl", "done", "clean")]]
    assert len(await amy.task_list("dock")) == 2


async def test_a_gather_that_cannot_begin_makes_nothing(sit):
    amy, _, carl = await sit.trio()
    await carl.leave("dock")
    for refused, name, work in (
        (UnknownRecipient, "r", {"bob": "x", "bobb": "y"}), (RecipientLeft, "r", {"carl": "x"}), (TaskInvalidId, "r/1", {"bob": "x"}), (Usage, "r", {}),
        (Usage, "r", {"bob": "x", "Bob": "y"}),
    ):  # fmt: skip
        with pytest.raises(refused):
            await parts(amy.gather("dock", name, work))
    assert await amy.task_list("dock") == []
    assert bodies(await amy.history("dock")) == []
    await parts(amy.gather("dock", "r", {"bob": "x"}, timeout=0))
    with pytest.raises(KeyReused):
        await parts(amy.gather("dock", "r", {"bob": "another"}, timeout=0))


async def test_agents_meet_at_a_barrier(sit):
    amy, bob, carl = await sit.trio()
    waiting = [asyncio.create_task(amy.barrier("dock", "ready", 3, timeout=LONG))]
    await came(amy, "ready.amy")
    waiting.append(asyncio.create_task(bob.channel("dock").barrier("ready", 3, timeout=LONG)))
    await came(amy, "ready.bob")
    assert not any(one.done() for one in waiting)
    met = await carl.barrier("dock", "ready", "amy, bob,carl", timeout=LONG)
    assert (met.arrived, met.index) == (["Amy", "bob", "carl"], 2)
    assert [(await one).index for one in waiting] == [0, 1]
    assert (await sit("bob").barrier("dock", "ready", 3, timeout=0)).index == 1  # one that restarts does not wait again


async def came(chat, name):
    async def there():
        return name in [one.name.lower() for one in await chat.claims("dock")]

    await until(there, f"{name} is there")


async def test_whoever_gives_up_at_a_barrier_has_not_come(sit):
    amy, bob, carl = await sit.trio()
    with pytest.raises(TimedOut) as alone:
        await amy.barrier("dock", "ready", ["Amy", "bob", "carl"], timeout=0.05)
    assert (alone.value.facts["arrived"], alone.value.facts["missing"]) == (["Amy"], ["bob", "carl"])
    assert await amy.claims("dock") == []
    if sit.kind == "aio":
        waiting = asyncio.create_task(amy.barrier("dock", "ready", 2, timeout=LONG))
        await came(amy, "ready.amy")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    with pytest.raises(TimedOut):
        await bob.barrier("dock", "ready", 2, timeout=0)
    waiting = asyncio.create_task(carl.barrier("dock", "ready", ["bob", "carl"], timeout=LONG))
    assert (await bob.barrier("dock", "ready", ["bob", "carl"], timeout=LONG)).arrived
    assert sorted((await waiting).arrived) == ["bob", "carl"]


async def test_a_barrier_that_cannot_be_is_refused(sit):
    amy, bob = await sit.pair()
    for parties in (0, [], True, ["bob"]):
        with pytest.raises(Usage):
            await amy.barrier("dock", "ready", parties)
    with pytest.raises(Usage):
        await amy.barrier("dock", "ready", 2, timeout=-1)
    await bob.claim("dock", "taken")  # a claim that is no barrier
    with pytest.raises(ClaimTaken):
        await amy.barrier("dock", "taken", 1, timeout=LONG)
    assert [one.name for one in await amy.claims("dock")] == ["taken"]


async def test_who_is_late_because_a_budget_let_nobody_be_woken_is_told_so(sit):
    amy, bob, _ = await sit.trio()
    (late, other) = await parts(amy.gather("dock", "calm", WORK, timeout=0))
    assert (late.how, late.reason, other.reason) == ("late", None, None)
    await bob.budget("dock", messages=1)
    await bob.post("dock", "one", to="none")
    (late, other) = await parts(amy.gather("dock", "loud", WORK, timeout=0))
    assert late.how == other.how == "late"
    assert late.reason == other.reason == "nobody was woken: #dock is far over its budget (see: redischat budget dock)"
