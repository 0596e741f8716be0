"""Whatever is cancelled, wherever it waits, loses nothing and leaves nothing behind: no lock, no place in line, no lease, no delivery lease, no second task."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any

import pytest
from seats import Seats, until

from redischat.errors import TimedOut

pytestmark = pytest.mark.real
REPO = "team/parser"
LONG = 20  # seconds; what is waited for comes much earlier
MOST = 400  # await points of one piece of work: it has fewer
ROUNDS = 25
PREFIX = "rc1:{default}:"


class Cancelled(Coroutine):
    """A coroutine that is cancelled at its n-th await point: ``late``, when what it waits for there has just come, else before; or "twice", while it settles, too."""

    def __init__(self, work, at, *, late):
        self.work, self.at, self.late, self.count = work, at, late is True, 0
        self.reached, self.again = False, late == "twice"

    def send(self, value):
        self.count += 1
        waits_for = self.work.send(value)
        if self.count == self.at:
            self.reached = True
            task: Any = asyncio.current_task()
            if self.late and waits_for is not None:
                waits_for.add_done_callback(lambda _: task.cancel())
            else:
                asyncio.get_running_loop().call_soon(task.cancel)
        return waits_for

    def throw(self, *error):
        waits_for = self.work.throw(*error)
        if self.again and waits_for is not None:
            self.again = False
            task: Any = asyncio.current_task()
            asyncio.get_running_loop().call_soon(task.cancel)
        return waits_for

    def close(self):
        self.work.close()

    def __await__(self):
        raise NotImplementedError


@pytest.fixture
async def sit(real):
    seats = Seats("aio", real.url)
    yield seats
    await seats.close()


async def everywhere(work, check, *, late, prepare=None):
    """Do ``work()`` again and again, cancelled at its first await point, its second, ..., until one comes through; ``check`` after each."""
    for at in range(1, MOST):
        if prepare is not None:
            await prepare()
        wrapped = Cancelled(work(), at, late=late)
        with contextlib.suppress(asyncio.CancelledError):
            async with asyncio.timeout(LONG):
                await asyncio.create_task(wrapped)
        await check()
        if not wrapped.reached:
            return at - 1
    pytest.fail(f"more than {MOST} await points")


both_ways = pytest.mark.parametrize("late", [False, True, "twice"], ids=["before", "after", "twice"])


def nothing_is_held(sit):
    return [sit.store.hgetall(PREFIX + key) for key in ("held", "line:requests", "asked")] + [sit.store.zrange(PREFIX + "line", 0, -1)] == [{}, {}, {}, []]


@both_ways
async def test_a_lock_that_is_cancelled_anywhere_is_free(sit, late):
    amy, bob = await sit.pair()

    async def work():
        async with bob.lock("dock", "src/a.py", "src/b.py", ttl=60, repo=REPO):
            await asyncio.sleep(0)

    async def check():
        await until(lambda: nothing_is_held(sit), "nothing is held")

    assert await everywhere(work, check, late=late) > 3
    assert (await amy.lock("dock", "src", repo=REPO)).renewed is False


@both_ways
async def test_whoever_is_cancelled_in_line_leaves_it_and_does_not_keep_what_was_offered(sit, late):
    amy, bob = await sit.pair()

    async def work():
        async with bob.lock("dock", "a", ttl=60, wait=LONG, repo=REPO):
            await asyncio.sleep(0)

    async def held():
        await amy.lock("dock", "a", ttl=60, repo=REPO)
        asyncio.get_running_loop().call_later(0.03, lambda: letting_go.append(asyncio.create_task(amy.unlock("dock", "a", repo=REPO))))

    async def check():
        await until(lambda: letting_go, "the holder lets go")
        await letting_go.pop()
        await until(lambda: nothing_is_held(sit), "nothing is held, nobody stands in line")

    letting_go: list[asyncio.Task] = []
    assert await everywhere(work, check, late=late, prepare=held) > 5


@both_ways
async def test_a_worker_that_is_cancelled_anywhere_gives_its_task_back(sit, late):
    amy, bob = await sit.pair()
    for name in ("A", "B"):
        await amy.task_create("dock", "x", task=name)

    async def work():
        async with bob.claim_task("dock", ttl=60, wait=LONG):
            await asyncio.sleep(0)

    async def check():
        async def free():
            return {one.status for one in await amy.task_list("dock")} <= {"open", "done"}

        await until(free, "no task is under a lease")
        for one in await amy.task_list("dock", status="done"):
            await amy.task_reopen("dock", one.id, "again")

    assert await everywhere(work, check, late=late) > 5
    assert sit.store.hgetall(PREFIX + "leased") == {}
    assert (await amy.task_recover_pending("dock")).mended == {}


@both_ways
async def test_a_listener_that_is_cancelled_anywhere_loses_nothing_and_holds_nothing(sit, late):
    amy, bob = await sit.pair(max_messages=0)
    sent: list[str] = []
    heard: list[tuple[str, bool]] = []

    async def work():
        async with aclosing(bob.listen("dock")) as listening:
            async for message in listening:
                heard.append((message.body, message.repeat))
                if message.body == sent[-1]:
                    await message.ack()
                    return

    async def say():
        for _ in range(3):
            sent.append(f"m{len(sent)}")
            await amy.post("dock", sent[-1])

    async def check():
        await until(lambda: sit.mark("bob")["lease"] == "-", "no delivery lease is left")

    assert await everywhere(work, check, late=late, prepare=say) > 5
    heard.extend((one.body, one.repeat) for one in await bob.read("dock"))
    assert [body for body, repeat in heard if not repeat] == sent  # each one once, in its order; what was in hand came again, and said so
    assert {body for body, repeat in heard if repeat} <= set(sent)


@both_ways
async def test_a_question_that_is_cancelled_anywhere_is_asked_once_and_its_answer_is_not_lost(sit, late):
    amy, bob = await sit.pair(max_messages=0)
    number = 0
    got: list[str] = []

    async def answering():
        async with aclosing(bob.listen("dock")) as listening:
            async for message in listening:
                if number % 2:
                    await amy.post("dock", "noise", to="none")
                await bob.post("dock", f"answer to {message.body}", reply_to=message.seq, to=[message.sender])

    async def work():
        answer = await amy.ask("dock", "bob", f"question {number}", timeout=LONG, idem=f"q-{number}")
        got.append(answer.body)

    async def check():
        nonlocal number
        answer = f"answer to question {number}"
        async with asyncio.timeout(LONG):
            again = await amy.ask("dock", "bob", f"question {number}", timeout=LONG, idem=f"q-{number}")
        assert again.body == answer
        await amy.read("dock")
        assert sit.mark("amy")["lease"] == "-"
        assert sit.store.hlen(PREFIX + "waits") == 0
        number += 1

    answers = asyncio.create_task(answering())
    assert await everywhere(work, check, late=late) > 5
    answers.cancel()
    await asyncio.wait([answers])
    questions = [one.body for one in await amy.history("dock") if one.body.startswith("question")]
    assert questions == [f"question {n}" for n in range(number)]
    assert got[-1] == f"answer to question {number - 1}"


@both_ways
async def test_an_answer_that_was_cancelled_on_its_way_is_read_once(sit, late):
    amy, bob = await sit.pair(max_messages=0)
    number = 0
    got: list[str] = []
    read: list[str] = []

    async def work():
        got.append((await amy.ask("dock", "bob", f"question {number}", timeout=LONG)).body)

    async def answer():
        async with asyncio.timeout(LONG):
            for message in await bob.wait("dock", timeout=LONG):
                await bob.post("dock", f"answer {number}", reply_to=message.seq)

    async def check():
        nonlocal number
        with contextlib.suppress(TimedOut):
            for message in await bob.read("dock"):
                await bob.post("dock", f"answer {number}", reply_to=message.seq)
        read.extend(one.body for one in await amy.read("dock"))
        number += 1

    answers: list[asyncio.Task] = []

    async def no_more_answers():
        while answers:
            answers[0].cancel()
            await asyncio.wait([answers.pop(0)])

    async def prepare():
        await no_more_answers()
        answers.append(asyncio.create_task(answer()))

    assert await everywhere(work, check, late=late, prepare=prepare) > 5
    await no_more_answers()
    read.extend(one.body for one in await amy.read("dock"))
    posted = [one.body for one in await amy.history("dock") if one.body.startswith("answer")]
    assert sorted([*got, *read]) == sorted(posted)


@both_ways
async def test_a_gather_that_is_cancelled_anywhere_goes_on_and_gives_everything(sit, late):
    amy, bob, carl = await sit.trio()
    rounds = 0

    async def work():
        async with aclosing(amy.gather("dock", f"r{rounds}", {"bob": "x", "carl": "y"}, timeout=LONG)) as gathering:
            return [(part.agent, part.result) async for part in gathering]

    async def answer(chat):
        async with chat.claim_task("dock", wait=LONG) as task:
            await task.done("by " + chat.agent)

    workers: list[asyncio.Task] = []

    async def prepare():
        nonlocal rounds
        rounds += 1
        workers.extend(asyncio.create_task(answer(one)) for one in (bob, carl))

    async def check():
        async with asyncio.timeout(LONG):
            assert sorted(await work()) == [("bob", "by bob"), ("carl", "by carl")]
            while workers:
                await workers.pop()

    assert await everywhere(work, check, late=late, prepare=prepare) > 5
    assert len(await amy.task_list("dock")) == 2 * rounds


@both_ways
async def test_whoever_is_cancelled_at_a_barrier_has_come_only_if_all_have_met(sit, late):
    amy, bob = await sit.pair()
    rounds = 0
    coming: list[asyncio.Task] = []

    async def work():
        return await amy.barrier("dock", f"b{rounds}", 2, timeout=LONG)

    async def prepare():
        nonlocal rounds
        rounds += 1
        coming.append(asyncio.create_task(bob.barrier("dock", f"b{rounds}", ["bob", "Amy"], timeout=LONG)))

    async def check():
        here = [one.name for one in await bob.claims("dock")]
        if f"b{rounds}.Amy" in here:
            assert f"b{rounds}" in here
        async with asyncio.timeout(LONG):
            assert (await work()).name == f"b{rounds}"  # coming again, she meets bob: at once where they had met
            assert "bob" in (await coming.pop()).arrived

    assert await everywhere(work, check, late=late, prepare=prepare) > 3


async def test_a_group_that_fails_leaves_nothing_behind(sit):  # noqa: C901 - several agents, each with its work
    """The steps of several agents in one TaskGroup, whose last task fails at any moment."""
    amy, bob, carl = await sit.trio(max_messages=0)
    for n in range(ROUNDS * 2):
        await amy.task_create("dock", f"{n}")
    dice = random.Random(7)

    async def listen():
        async with aclosing(bob.listen("dock")) as listening:
            async for _ in listening:
                await asyncio.sleep(0)

    async def lock(chat):
        while True:
            async with chat.lock("dock", "a", wait=LONG, ttl=60, repo=REPO):
                await asyncio.sleep(0.001)  # its work

    async def claim(chat):
        while True:
            async with chat.claim_task("dock", wait=LONG):
                await asyncio.sleep(0.02)  # its work

    async def ask():
        await amy.ask("dock", "carl", "there?", timeout=LONG)

    async def gather(n):
        async with aclosing(amy.gather("dock", f"g{n}", {"carl": "x"}, timeout=LONG)) as gathering:
            return [part async for part in gathering]

    async def fail():
        await asyncio.sleep(dice.uniform(0, 0.08))  # a random moment is what is tried
        raise ZeroDivisionError

    for n in range(ROUNDS):
        await carl.post("dock", f"talk {n}", to=["bob"])
        with pytest.raises(ExceptionGroup) as failed:  # noqa: PT012 - the group raises at its end
            async with asyncio.TaskGroup() as group:
                for work in (listen(), lock(amy), lock(bob), lock(carl), claim(bob), claim(amy.as_("dora")), ask(), gather(n), fail()):
                    group.create_task(work)
        assert [type(one) for one in failed.value.exceptions] == [ZeroDivisionError], failed.value.exceptions
        await until(lambda: nothing_is_held(sit), "nothing is held, nobody stands in line")
        assert {one.status for one in await amy.task_list("dock")} <= {"open", "done"}
        assert sit.store.hlen(PREFIX + "waits") == 0
        assert sit.mark("bob")["lease"] == sit.mark("amy")["lease"] == "-"
    talk = [one.body for one in await amy.history("dock") if one.body.startswith("talk")]
    assert talk == [f"talk {n}" for n in range(ROUNDS)]
    assert (await amy.task_recover_pending("dock")).mended == {}
