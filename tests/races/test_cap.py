"""Eight senders run into the cap: exactly as many messages get in as it says, the last one closes the room once, everybody else is told so."""

from __future__ import annotations

import pytest
from crowd import both_servers, caller, crowd_on, granted, open_rooms, serving, stored, wired

from redischat.calls import channels, messages
from redischat.calls.call import Once
from redischat.errors import ChannelClosed, KeyReused

pytestmark = [pytest.mark.real, pytest.mark.races]
SENDERS = [f"p{i}" for i in range(8)]


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        yield server


@both_servers
@pytest.mark.parametrize("cap", [50, 200])
def test_a_room_closes_at_exactly_its_cap(server, cap):
    open_rooms(server, ["dock"], SENDERS, cap=cap)
    with crowd_on(server) as crowd:
        for sender in SENDERS:
            crowd.add("fill", agent=sender, rooms=["dock"])
        crowd.go()
        crowd.done(crowd.workers)
        told = crowd.told()
    said = {row["seq"]: row for row in told if row["what"] == "said"}
    assert sorted(said) == list(range(1, cap + 1))
    assert [seq for seq, row in said.items() if row["closed"]] == [cap]
    assert [row["code"] for row in told if row["what"] == "refused"] == ["CHANNEL_CLOSED"] * len(SENDERS)
    kept = stored(server, "dock")
    assert [seq for seq, entry in kept.items() if entry["k"] == "m"] == list(range(1, cap + 1))
    assert [(seq, entry["s"]) for seq, entry in kept.items() if entry["k"] == "n"] == [(cap + 1, "closed")]
    closing_post_may_be_retried(server, cap, said[cap])


def closing_post_may_be_retried(server, cap, closing):
    """Its answer may have been lost: under the same key it says its number, not that the room is closed."""
    sender = caller(closing["key"].partition(".")[0])
    with wired(server) as wire:
        with granted("the retry"):
            again = wire.run(messages.post(sender, "dock", messages.Draft(closing["body"]), once=Once(closing["key"])))
        assert (again["seq"], again["closed"]) == (cap, True)
        with pytest.raises(KeyReused):
            wire.run(messages.post(sender, "dock", messages.Draft("something else"), once=Once(closing["key"])))
        with pytest.raises(ChannelClosed):
            wire.run(messages.post(sender, "dock", messages.Draft("one more"), once=Once()))
    assert len(stored(server, "dock")) == cap + 1


@both_servers
def test_a_raised_cap_lets_exactly_so_many_more_in(server):
    open_rooms(server, ["dock"], SENDERS, cap=10)
    for cap in (10, 30):
        with crowd_on(server) as crowd:
            for sender in SENDERS:
                crowd.add("fill", agent=f"{sender}", rooms=["dock"], keys=f"to{cap}")
            crowd.go()
            crowd.done(crowd.workers)
        assert len([entry for entry in stored(server, "dock").values() if entry["k"] == "m"]) == cap
        with wired(server) as wire:
            wire.run(channels.reopen(caller("p0"), "dock", cap=30 if cap == 10 else 40, once=Once()))
    states = [entry["s"] for entry in stored(server, "dock").values() if entry["k"] == "n"]
    assert states == ["closed", "reopened"] * 2
