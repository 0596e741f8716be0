"""Sleeping until something arrives: what ends a wait, what does not, and what a wait leaves behind."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from seats import Seats, bodies, until

from redischat.errors import ChannelClosed, NoChannel, NotMember, TimedOut

LONG = 20  # seconds; every such wait ends much earlier
SHORT = 0.1


async def waiting(sit, chat, *channels, **asked):
    """A wait that is asleep."""
    task = asyncio.create_task(chat.wait(*channels, timeout=LONG, **asked))
    await sit.asleep((chat.agent or "").lower())
    return task


async def test_a_wait_gives_what_arrives(sit):
    amy, bob = await sit.pair()
    task = await waiting(sit, bob, "dock")
    await amy.post("dock", "wake up")
    assert bodies(await task) == ["wake up"]
    assert await bob.pending() == []


async def test_a_wait_gives_what_was_there_before_it_began(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "early")
    assert bodies(await bob.wait("dock", timeout=LONG)) == ["early"]


async def test_a_wait_that_nothing_ends_says_so_and_has_consumed_nothing(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "passive", to="none")
    for seconds in (SHORT, 0):
        with pytest.raises(TimedOut) as no:
            await bob.wait("dock", timeout=seconds)
        assert no.value.code == "TIMED_OUT"
    assert bodies(await bob.read("dock")) == ["passive"]


@pytest.mark.parametrize("to", ["bob", "all", None, "bob,carl"])
async def test_what_is_for_me_ends_my_wait(sit, to):
    amy = sit("amy")
    await amy.open("dock", members="bob,carl")
    task = await waiting(sit, sit("bob"))
    await amy.post("dock", "x", to=to)
    assert bodies(await task) == ["x"]


@pytest.mark.parametrize("to", ["none", "carl"])
async def test_what_is_for_others_ends_no_wait_and_comes_with_what_does(sit, to):
    amy = sit("amy")
    await amy.open("dock", members="bob,carl")
    task = await waiting(sit, sit("bob"))
    await amy.post("dock", "aside", to=to)
    await amy.post("dock", "bob", to="bob")
    assert bodies(await task) == ["aside", "bob"]


async def test_broadcast_traffic_ends_no_wait_and_an_ordinary_channel_beside_it_does(sit):
    amy, bob = await sit.pair()
    await amy.open("news", members="bob", broadcast=True)
    task = await waiting(sit, bob)
    await amy.post("news", "nothing much")
    await amy.post("dock", "bob?")
    assert bodies(await task) == ["bob?"]
    assert bodies(await bob.read("news")) == ["nothing much"]


async def test_any_message_ends_a_wait_that_asked_for_any(sit):
    amy, bob = await sit.pair()
    task = await waiting(sit, bob, "dock", any=True)
    await bob.post("dock", "my own does not")
    await amy.post("dock", "passive", to="none")
    assert bodies(await task) == ["passive"]


async def test_a_wait_may_be_for_one_sender(sit):
    amy = sit("amy")
    await amy.open("dock", members="bob,carl")
    task = await waiting(sit, sit("bob"), "dock", sender="Carl")
    await amy.post("dock", "not this")
    await sit("carl").post("dock", "this")
    assert bodies(await task) == ["not this", "this"]


async def test_a_wait_may_be_for_the_answer_to_one_message(sit):
    amy, bob = await sit.pair()
    asked = await bob.post("dock", "which?")
    task = await waiting(sit, bob, "dock", reply_to=asked.seq)
    await amy.post("dock", "hm")
    await amy.post("dock", "that one", reply_to=asked.seq)
    assert bodies(await task) == ["hm", "that one"]


async def test_a_channel_that_i_am_brought_into_meanwhile_is_waited_for_too(sit):
    amy, bob = await sit.pair()
    task = await waiting(sit, bob)
    await amy.open("kiln", members="bob")
    await amy.post("kiln", "over here")
    assert bodies(await task) == ["over here"]


async def test_the_end_of_a_channel_ends_the_wait_for_it(sit):
    amy, bob = await sit.pair()
    task = await waiting(sit, bob, "dock")
    await amy.close("dock", "over")
    assert [(one.kind, one.status) for one in await task] == [("notice", "closed")]
    with pytest.raises(ChannelClosed):
        await bob.wait("dock", timeout=LONG)


async def test_the_one_who_closed_it_waits_no_longer_either(sit):
    amy, _ = await sit.pair()
    task = await waiting(sit, sit("amy"), "dock")
    await amy.close("dock", "over")
    with pytest.raises(ChannelClosed):
        await task


async def test_a_channel_that_is_destroyed_ends_the_wait_for_it(sit):
    amy, bob = await sit.pair()
    task = await waiting(sit, bob, "dock")
    await amy.delete("dock", yes=True)
    with pytest.raises(NoChannel):
        await task


async def test_there_must_be_something_to_wait_for(sit):
    await sit.pair()
    with pytest.raises(NotMember):
        await sit("carl").wait(timeout=LONG)
    with pytest.raises(NotMember):
        await sit("carl").wait("dock", timeout=LONG)


async def test_one_message_ends_the_waits_of_all_it_is_for(sit):
    amy = sit("amy")
    names = [f"m{n}" for n in range(6)]
    await amy.open("dock", members=names)
    tasks = [await waiting(sit, sit(name)) for name in names]
    await amy.post("dock", "all of you")
    assert [bodies(one) for one in await asyncio.gather(*tasks)] == [["all of you"]] * 6


async def test_of_two_waits_of_one_agent_one_gets_the_message_and_the_other_the_next(sit):
    amy, bob = await sit.pair()
    tasks = [await waiting(sit, sit("bob"), "dock") for _ in range(2)]
    for text in ("first", "second"):
        await amy.post("dock", text)
        await until(lambda text=text: any(task.done() and bodies(task.result())[-1:] == [text] for task in tasks), f"somebody has {text}")
    assert [bodies(task.result()) for task in sorted(tasks, key=lambda task: bodies(task.result())[-1])] == [["first"], ["second"]]
    assert await bob.pending() == []


async def test_a_wait_looks_again_when_the_lease_of_a_dead_reader_ends(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    await bob.take("dock", lease=SHORT).__aenter__()
    sit.lapse("bob")
    assert [(one.body, one.repeat) for one in await sit("bob").wait("dock", timeout=LONG)] == [("one", True)]


@pytest.mark.parametrize("to", [None, "BOB"])
async def test_a_receipt_says_who_was_waiting_though_it_is_gone_the_next_moment(sit, to):
    amy, bob = await sit.pair()
    task = await waiting(sit, bob, "dock")
    got = await amy.post("dock", "x", to=to, receipt=True)
    await task
    assert (got.listening, got.unproved, got.absent) == (["bob"], [], [])


async def test_rings_that_find_nothing_new_do_not_end_a_wait(sit):
    amy, bob = await sit.pair()
    task = await waiting(sit, bob, "dock")
    for bell in ("bell:bob", "room:dock"):
        sit.store.execute_command("SPUBLISH", "rc1:{default}:" + bell, "message 99")
    await amy.post("dock", "real")
    assert bodies(await task) == ["real"]


@pytest.fixture
async def aio(backend):
    """Seats of the async API alone: only a task can be cancelled."""
    seats = Seats("aio", backend)
    yield seats
    await seats.close()


async def test_a_wait_that_is_cancelled_has_taken_nothing(aio):
    amy, bob = await aio.pair()
    task = await waiting(aio, bob, "dock")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert aio.mark("bob")["lease"] == "-"
    await amy.post("dock", "later")
    assert bodies(await bob.wait("dock", timeout=LONG)) == ["later"]


async def test_wherever_a_read_or_a_wait_is_cancelled_nothing_is_lost_nor_left_held(aio):
    amy, bob = await aio.pair(max_messages=0)
    got = []
    for steps in range(80):
        sent = await amy.post("dock", f"{steps}")
        task = asyncio.create_task(bob.wait("dock", timeout=LONG) if steps % 2 else bob.read("dock"))
        for _ in range(steps // 2):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            got += await task
        assert aio.mark("bob")["lease"] == "-", f"cancelled after {steps} steps at message {sent.seq}"
    got += await bob.read("dock")
    got += await bob.read("dock")
    assert sorted(one.seq for one in got) == list(range(1, 81))
    assert not any(one.repeat for one in got)


async def test_a_verb_that_is_cancelled_says_so_whatever_became_of_it(aio):
    """redis-py over asyncio.wait_for swallows a cancellation before Python 3.12."""
    amy, _ = await aio.pair(max_messages=0)
    for steps in range(40):
        task = asyncio.create_task(amy.post("dock", f"{steps}"))
        for _ in range(steps):
            await asyncio.sleep(0)
        ended = task.done()
        task.cancel()
        with contextlib.nullcontext() if ended else pytest.raises(asyncio.CancelledError):
            await task


async def test_a_batch_whose_block_is_cancelled_is_given_back(aio):
    amy, bob = await aio.pair()
    await amy.post("dock", "one")
    held = asyncio.Event()

    async def hold():
        async with bob.take("dock"):
            held.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(hold())
    await held.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(one.body, one.repeat) for one in await bob.read("dock")] == [("one", True)]


async def test_breaking_out_of_a_listening_gives_back_without_being_told(aio):
    amy, bob = await aio.pair()
    await amy.post("dock", "one")
    async for _ in bob.listen("dock"):
        break
    await until(lambda: aio.mark("bob")["lease"] == "-", "the one in hand is given back")
    assert [(one.body, one.repeat) for one in await bob.read("dock")] == [("one", True)]
