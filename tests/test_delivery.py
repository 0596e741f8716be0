"""How what was said reaches a reader: once, in order, whole, and marked as read only when it was shown."""

from __future__ import annotations

import asyncio

import pytest
from seats import bodies

from redischat.errors import NoChannel, NoSuchSeq, NotMember, Usage

BIG = 4_001  # hooks only point at what is longer than 4,000 bytes


async def test_a_message_is_read_once_in_order(sit):
    amy, bob = await sit.pair()
    for n in range(3):
        await amy.post("dock", f"{n}")
    assert bodies(await bob.read("dock")) == ["0", "1", "2"]
    assert (await bob.read("dock")).messages == []


async def test_without_a_name_all_channels_are_read(sit):
    amy, bob = await sit.pair()
    await amy.open("kiln", members="bob")
    await amy.post("kiln", "hot")
    await amy.post("dock", "wet")
    assert sorted((one.channel, one.body) for one in await bob.read()) == [("dock", "wet"), ("kiln", "hot")]
    with pytest.raises(NotMember):
        await sit("nobody-yet").read()
    with pytest.raises(NoChannel):
        await bob.read("dock", "quay")


async def test_one_never_hears_ones_own_voice(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "mine")
    await bob.post("dock", "yours")
    await amy.post("dock", "mine again")
    assert bodies(await amy.read("dock")) == ["yours"]
    assert (await amy.read("dock")).messages == []
    assert bodies((await amy.history("dock")).messages) == ["mine", "yours", "mine again"]


async def test_a_limit_hands_out_the_oldest_and_says_how_many_are_left(sit):
    amy, bob = await sit.pair()
    for n in range(4):
        await amy.post("dock", f"{n}")
    first = await bob.read("dock", limit=2)
    assert (bodies(first), first.more, first.notes[0].channel) == (["0", "1"], 2, "dock")
    assert [one.pending for one in await bob.pending()] == [2]
    second = await bob.read("dock", limit=2)
    assert (bodies(second), second.more) == (["2", "3"], 0)
    with pytest.raises(Usage):
        await bob.read("dock", limit=0)


async def test_peeking_at_what_is_unread_leaves_it_unread(sit):
    amy, bob = await sit.pair()
    for n in range(3):
        await amy.post("dock", f"{n}")
    assert bodies(await bob.read("dock", peek=True)) == ["0", "1", "2"]
    assert bodies(await bob.read("dock", peek=True, limit=2)) == ["1", "2"]
    assert bodies(await bob.read("dock")) == ["0", "1", "2"]
    assert (await bob.read("dock", peek=True)).messages == []


async def test_an_ack_by_number_needs_no_reading_and_says_what_was_never_shown(sit):
    amy, bob = await sit.pair()
    for n in range(1, 6):
        await amy.post("dock", f"{n}")
    assert bodies(await bob.peek("dock", limit=5)) == ["1", "2", "3", "4", "5"]
    done = await bob.ack("dock", 3)
    assert (done.read, done.never_shown) == (3, 3)
    assert [[one.seq for one in waiting.messages] for waiting in await bob.pending()] == [[4, 5]]
    assert (await bob.ack("dock", 2)).read == 3
    assert (await bob.ack("dock", 5)).never_shown == 2
    assert await bob.pending() == []
    with pytest.raises(NoSuchSeq):
        await bob.ack("dock", 6)


async def test_acking_all_after_a_look_at_some_says_how_many_were_not_seen(sit):
    amy = sit("amy")
    await amy.open("dock", members="bob", max_messages=0)
    bob = sit("bob")
    for n in range(30):
        await amy.post("dock", f"{n}")
    assert len(await bob.read("dock", limit=20)) == 20
    assert (await bob.ack("dock", 30)).never_shown == 10


async def test_two_marks_what_a_hook_pointed_at_is_read_later_and_nothing_comes_twice(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "for nobody", to="none")
    await amy.post("dock", "for bob", to="bob")
    await amy.post("dock", "b" * BIG, to="bob")
    heard = await bob.read("dock", mine=True)
    assert bodies(heard) == ["for bob"]
    assert (heard.notes[0].passive, heard.notes[0].lo, [one.seq for one in heard.notes[0].previews]) == (2, 1, [1, 3])
    assert (await bob.read("dock", mine=True)).messages == []
    assert [one.seq for one in await bob.read("dock")] == [1, 3]
    assert (await bob.read("dock")).messages == []


async def test_when_nothing_was_pointed_at_hearing_is_reading(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "for bob", to="bob")
    assert bodies(await bob.read("dock", mine=True)) == ["for bob"]
    assert await bob.pending() == []


async def test_what_was_removed_unread_is_told_once_with_its_number(sit):
    amy = sit("amy")
    await amy.open("dock", members="bob", max_messages=0)
    bob = sit("bob")
    for n in range(1, 31):
        await amy.post("dock", f"{n}")
    await bob.ack("dock", 10)
    preview = await amy.retain("dock", 10)
    assert (preview.removed, preview.messages, preview.done) == (20, 10, False)
    assert (await amy.retain("dock", 10, yes=True)).removed == 20
    got = await bob.read("dock")
    assert (got.gap, got.notes[0].first, [one.seq for one in got]) == (10, 21, list(range(21, 31)))
    assert (await amy.post("dock", "goes on")).seq == 31
    assert (await bob.read("dock")).gap == 0
    assert (await amy.history("dock")).older == 0


async def test_when_everything_unread_was_removed_that_is_told_too(sit):
    amy, bob = await sit.pair()
    for n in range(3):
        await amy.post("dock", f"{n}")
    await amy.retain("dock", 0, yes=True)
    got = await bob.read("dock")
    assert (got.messages, got.gap) == ([], 3)
    assert not (await bob.read("dock")).notes


async def test_a_reader_that_dies_loses_nothing_and_the_repeat_is_marked(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    take = bob.take("dock")
    assert bodies(await take.__aenter__()) == ["one"]  # and never comes back
    await amy.post("dock", "two")
    sit.lapse("bob")
    assert [(one.body, one.repeat) for one in await sit("bob").read("dock")] == [("one", True), ("two", False)]
    await take.__aexit__(None, None, None)  # an ack that is late counts, and changes nothing now
    assert await bob.pending() == []


async def test_what_a_loop_was_left_with_comes_again_at_once_when_its_client_disconnected(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "hi")
    listening = bob.listen("dock")  # whoever breaks out of it, or fails in its body, closes nothing
    assert (await anext(listening)).body == "hi"
    await bob.disconnect()
    assert [(one.body, one.repeat) for one in await sit("bob").read("dock")] == [("hi", True)]
    await listening.aclose()


async def test_more_than_one_page_is_read_page_by_page_whole(sit):
    amy = sit("amy")
    await amy.open("dock", members="bob", max_messages=0)
    bob = sit("bob")
    text = "x" * (200 * 1024)
    for _ in range(7):
        await amy.post("dock", text)
    pages = [await bob.read("dock") for _ in range(3)]
    assert [(len(page), page.more) for page in pages] == [(5, 2), (2, 0), (0, 0)]
    assert all(one.body == text and one.cut is None for page in pages for one in page)


async def test_what_a_newer_version_wrote_is_read_as_far_as_it_is_understood(sit):
    amy, bob = await sit.pair()
    fields = {"f": "Zoe", "k": "z", "w": "*", "t": "1700000000000000", "x": "0", "b": "from the future", "zz": "who knows"}
    assert sit.store.xadd("rc1:{default}:ch:dock:messages", fields, id="0-*") == "0-1"
    _, epoch, name = sit.store.hget("rc1:{default}:heads", "dock").split()
    sit.store.hset("rc1:{default}:heads", "dock", f"1 {epoch} {name}")
    await amy.post("dock", "from now")
    assert [(one.kind, one.sender, one.body) for one in await bob.read("dock")] == [("z", "Zoe", "from the future"), ("message", "Amy", "from now")]


async def test_a_broker_that_was_set_back_says_so_and_goes_on(sit):
    amy, bob = await sit.pair()
    for n in range(3):
        await amy.post("dock", f"{n}")
    await bob.read("dock")
    sit.store.xdel("rc1:{default}:ch:dock:messages", "0-2", "0-3")
    _, epoch, name = sit.store.hget("rc1:{default}:heads", "dock").split()
    sit.store.hset("rc1:{default}:heads", "dock", f"1 {epoch} {name}")
    (note,) = (await bob.read("dock")).notes
    assert (note.gone_from, note.gone_to) == (2, 3)
    await amy.post("dock", "on we go")
    assert bodies(await bob.read("dock")) == ["on we go"]


async def test_losing_a_registration_or_a_membership_is_not_an_empty_answer(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    sit.store.hdel("rc1:{default}:agents", "bob")
    assert bodies(await bob.read("dock")) == ["one"]
    await amy.post("dock", "two")
    sit.store.delete("rc1:{default}:marks:bob")
    for verb in (bob.read("dock"), bob.read(), bob.pending("dock"), bob.wait("dock"), bob.ack("dock", 1)):
        with pytest.raises(NotMember):
            await verb


async def test_writers_and_readers_at_once_lose_and_double_nothing(sit):
    amy, _ = await sit.pair(max_messages=0)
    twins = [sit("bob") for _ in range(2)]
    got: list[tuple[int, bool]] = []

    async def write(n):
        for i in range(25):
            await amy.post("dock", f"{n}-{i}")

    async def read(twin):
        while len(got) < 100:
            got.extend((one.seq, one.repeat) for one in await twin.read("dock"))

    async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
        for n in range(4):
            tasks.create_task(write(n))
        for twin in twins:
            tasks.create_task(read(twin))
    assert sorted(got) == [(seq, False) for seq in range(1, 101)]
