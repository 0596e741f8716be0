"""Messages in hand: taken as a batch, listened to one by one, given back when they were not dealt with."""

from __future__ import annotations

import asyncio
import time

import pytest
from seats import ack, bodies, until

from redischat.errors import TimedOut, Usage

LONG = 20  # seconds; less than a lease, and the wait ends much earlier


async def test_a_batch_is_acked_at_the_clean_end_of_its_block(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    async with bob.take("dock") as batch:
        assert bodies(batch) == ["one"]
        assert [one.pending for one in await bob.pending()] == [1]
    assert await bob.pending() == []
    async with bob.take() as nothing:
        assert nothing.messages == []


async def test_a_batch_that_failed_comes_again_at_once_and_marked(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")

    async def fail():
        async with bob.take("dock", limit=5) as batch:
            raise ZeroDivisionError(len(batch))

    with pytest.raises(ZeroDivisionError, match="1"):
        await fail()
    assert [(one.body, one.repeat) for one in await bob.read("dock")] == [("one", True)]


async def test_while_one_reader_shows_a_channel_another_of_its_agent_gets_nothing_of_it(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    twin = sit("bob")
    async with bob.take("dock", lease=0.3) as batch:
        assert bodies(batch) == ["one"]
        reading = asyncio.create_task(twin.read("dock"))
        await sit.asleep("bob")  # it waits: there may be something in a moment
    assert (await reading).messages == []


async def test_what_one_reader_gives_back_the_other_gets(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    take = bob.take("dock", lease=0.3)
    await take.__aenter__()
    reading = asyncio.create_task(sit("bob").read("dock"))
    await sit.asleep("bob")
    await take.__aexit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert [(one.body, one.repeat) for one in await reading] == [("one", True)]


async def test_the_end_of_a_lease_rings_for_the_agents_other_readers(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    take = bob.take("dock")  # for longer than the wait has time
    await take.__aenter__()
    waiting = asyncio.create_task(sit("bob").wait("dock", timeout=2 * LONG))
    await sit.asleep("bob")
    await take.__aexit__(ZeroDivisionError, ZeroDivisionError(), None)
    async with asyncio.timeout(LONG):
        assert [(one.body, one.repeat) for one in await waiting] == [("one", True)]


async def test_a_lease_is_renewed_while_its_holder_is_busy(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    async with bob.take("dock", lease=0.3):
        first = int(sit.mark("bob")["ends"])
        await until(lambda: int(sit.mark("bob")["ends"]) > first + 300, "the lease goes on after its first end")
        assert time.time() * 1000 > first
    assert await bob.pending() == []


async def test_listening_gives_what_is_there_and_what_comes(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "1")
    await amy.post("dock", "2", to="none")
    heard = []
    listening = bob.listen("dock")
    async for message in listening:
        heard.append((message.body, message.repeat))
        if len(heard) == 2:
            await amy.post("dock", "3", to="none")
        if len(heard) == 3:
            break
    await listening.aclose()
    assert heard == [("1", False), ("2", False), ("3", False)]
    assert [(one.body, one.repeat) for one in await bob.read("dock")] == [("3", True)]


async def test_a_message_in_hand_is_acked_when_it_says_so(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "1")
    listening = bob.listen()
    async for message in listening:
        await ack(message)
        await ack(message)
        break
    await listening.aclose()
    assert await bob.pending() == []


async def test_a_listener_that_fails_gets_the_one_in_hand_again(sit):
    amy, bob = await sit.pair()
    for n in range(3):
        await amy.post("dock", f"{n}")
    listening = bob.listen("dock")

    async def fail():
        async for message in listening:
            1 / (1 - int(message.body))

    with pytest.raises(ZeroDivisionError):
        await fail()
    await listening.aclose()
    assert [(one.body, one.repeat) for one in await bob.read("dock")] == [("1", True), ("2", False)]


async def test_listening_sleeps_until_something_comes_and_hears_channels_joined_meanwhile(sit):
    amy, bob = await sit.pair()
    heard = []

    async def listen():
        async for message in bob.listen():
            heard.append((message.channel, message.body))
            if len(heard) == 2:
                return

    task = asyncio.create_task(listen())
    await sit.asleep("bob")
    await amy.post("dock", "1")
    await until(lambda: heard, "the first message")
    await amy.open("kiln", members="bob")
    await amy.post("kiln", "2")
    await task
    assert heard == [("dock", "1"), ("kiln", "2")]


async def test_listening_ends_with_the_last_of_its_channels(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "1")
    await amy.close("dock", "over")
    assert [one.kind async for one in bob.listen("dock")] == ["message", "notice"]


async def test_listening_tells_what_is_missing_in_front_of_a_message(sit):
    amy, bob = await sit.pair()
    for n in range(5):
        await amy.post("dock", f"{n}")
    await amy.retain("dock", 2, yes=True)
    listening = bob.listen("dock")
    first = await anext(listening)
    assert (first.body, first.notes[0].gap) == ("3", 3)
    second = await anext(listening)
    assert (second.body, second.notes) == ("4", [])
    await listening.aclose()


async def test_a_listener_may_give_up_when_nothing_comes_for_so_long(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "1")
    began = time.monotonic()
    heard = []
    listening = bob.listen("dock", timeout=0.4)

    async def hear():
        async for message in listening:
            heard.append(message.body)
            if len(heard) < 4:
                await asyncio.sleep(0.3)  # its own work is not the others' silence
                await amy.post("dock", f"{len(heard) + 1}")

    with pytest.raises(TimedOut):
        await hear()
    await listening.aclose()
    assert heard == ["1", "2", "3", "4"]
    assert time.monotonic() - began > 1.2
    assert await bob.pending() == []
    with pytest.raises(Usage):
        bob.listen("dock", timeout=-1)
