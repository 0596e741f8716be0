"""What waits for an agent, and who waits for it."""

from __future__ import annotations

import pytest

from redischat.errors import NoChannel, NotMember


async def test_pending_tells_what_waits_as_often_as_it_is_asked(sit):
    amy, bob, _ = await sit.trio()
    await amy.post("dock", "for all")
    await amy.post("dock", "for carl", to="carl")
    await amy.post("dock", "for both", to="carl,bob")
    await bob.post("dock", "my own")
    for _ in range(2):
        (waiting,) = await bob.pending()
        assert (waiting.channel, waiting.pending, waiting.for_you, waiting.others, waiting.wakes_me, waiting.senders) == ("dock", 3, 2, 1, True, ["Amy"])
        assert [(one.seq, one.for_me) for one in waiting.messages] == [(1, True), (2, False), (3, True)]
    assert len(await bob.read("dock")) == 3
    assert await bob.pending("dock") == []
    with pytest.raises(NotMember):
        await sit("dora").pending("dock")
    with pytest.raises(NoChannel):
        await bob.pending("kiln")


async def test_what_woke_me_and_is_newer_than_my_last_words_is_owed_an_answer(sit):
    amy, bob, carl = await sit.trio()
    assert await bob.owed() == []
    await amy.post("dock", "first?")
    await amy.post("dock", "second?", to="bob")
    await amy.post("dock", "not you", to="carl")
    await amy.post("dock", "nobody", to="none")
    await bob.read("dock")  # reading clears nothing
    (debt,) = await bob.owed()
    assert (debt.channel, debt.sender, debt.seq, debt.first_seq, debt.unanswered, debt.text) == ("dock", "Amy", 2, 1, 2, "second?")
    assert debt.waiting_since.tzinfo is not None
    await bob.post("dock", "answer", to="none")
    assert await bob.owed() == []
    assert [one.seq for one in await carl.owed()] == [3]


async def test_leaving_or_closing_forgives_what_is_owed(sit):
    amy, bob = await sit.pair()
    await amy.open("kiln", members="bob")
    for channel in ("dock", "kiln"):
        await amy.post(channel, "?", to="bob")
    assert [one.channel for one in await bob.owed()] == ["dock", "kiln"]
    await bob.leave("dock")
    await amy.close("kiln", "over")
    assert await bob.owed() == []
    await bob.join("dock")
    assert await bob.owed() == []
