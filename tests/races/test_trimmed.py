"""The stream moves under its readers: it is trimmed while people talk, deleted and opened again, or written to by a stranger."""

from __future__ import annotations

import pytest
from crowd import KEYS, ME, both_servers, caller, crowd_on, granted, marks, open_rooms, serving, shown, stored, wired

from redischat.calls import channels, messages
from redischat.calls.call import Once
from redischat.errors import ChannelDamaged
from redischat.flows import channels as channel_flows
from redischat.flows import messages as flows
from redischat.flows import reading

pytestmark = [pytest.mark.real, pytest.mark.races]
TALKERS = ["p0", "p1", "p2", "p3"]
HERON, AMY = caller(ME), caller("amy")


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        yield server


@pytest.fixture
def wire(server):
    with wired(server) as wire:
        yield wire


def say(wire, text, room="dock"):
    return wire.run(messages.post(AMY, room, messages.Draft(text), once=Once()))["seq"]


def read(wire, room="dock"):
    """One read, shown and acked: (bodies, how many were gone)."""
    got = wire.drive(reading.hand_out(HERON, [room], "reader", reading.Limits()))
    return [one["body"] for one in got.messages], sum(note.get("gap", 0) for note in got.notes)


@both_servers
def test_posting_goes_on_while_the_room_is_trimmed_again_and_again(server, wire):
    open_rooms(server, ["dock"], [ME, *TALKERS])
    with crowd_on(server) as crowd:
        for i, agent in enumerate(TALKERS):
            crowd.add("post", agent=agent, rooms=["dock"], count=100, seed=i)
        reader = crowd.add("read", rooms=["dock"], how="read")
        crowd.go()
        talkers, rounds = crowd.of("post"), 0
        while any(one.poll() is None for one in talkers):
            kept = wire.drive(channel_flows.retain(caller(ME), "dock", 5, yes=True))
            assert kept["messages"] <= 5
            rounds += 1
        crowd.done(talkers)
        crowd.stop([reader])
        told = crowd.told()
    assert sorted(row["seq"] for row in told if row["what"] == "said") == list(range(1, 401))
    seen = shown(told)
    assert rounds > 10
    assert set(map(tuple, seen.values())) == {(False,)}
    assert marks(server)["dock"] == (400, 400)
    wire.drive(channel_flows.retain(caller(ME), "dock", 0, yes=True))
    wire.run(messages.post(caller("p0"), "dock", messages.Draft("next"), once=Once()))
    assert sorted(stored(server, "dock")) == [401]


@both_servers
def test_what_was_trimmed_unread_is_told_once_with_its_number(server, wire):
    open_rooms(server, ["dock"], [ME, "amy"])
    for n in range(10):
        say(wire, f"m{n}")
    wire.drive(channel_flows.retain(AMY, "dock", 3, yes=True))
    assert read(wire) == (["m7", "m8", "m9"], 7)
    assert read(wire) == ([], 0)
    say(wire, "gone too")
    wire.drive(channel_flows.retain(AMY, "dock", 0, yes=True))
    assert read(wire) == ([], 1)
    assert read(wire) == ([], 0)


@both_servers
@pytest.mark.parametrize("how", ["ack", "release", "take again"])
def test_an_old_reader_moves_nothing_in_a_new_channel_of_that_name(server, wire, how):
    open_rooms(server, ["dock"], [ME, "amy"])
    for n in range(5):
        say(wire, f"old{n}")
    taken = wire.run(messages.take(HERON, ["dock"], "l1"))["rows"][0]
    wire.run(channels.delete(AMY, "dock", [ME, "amy"], once=Once()))
    open_rooms(server, ["dock"], [ME, "amy"])
    for n in range(9):
        say(wire, f"new{n}")
    before = server.dump()
    if how == "ack":
        row = wire.run(messages.ack(HERON, "l1", [("dock", taken["epoch"], taken["which"], taken["hi"], taken["hi"])]))[0]
        assert row["word"] in ("stale", "gone")
    elif how == "release":
        assert wire.run(messages.release(HERON, "l1")) == 0
    if how != "take again":
        assert server.dump() == before
    assert read(wire) == ([f"new{n}" for n in range(9)], 0)


@both_servers
def test_an_ack_from_before_the_deletion_does_not_bring_the_channel_back(server, wire):
    open_rooms(server, ["dock"], [ME, "amy"])
    say(wire, "old")
    taken = wire.run(messages.take(HERON, ["dock"], "l1"))["rows"][0]
    wire.run(channels.delete(AMY, "dock", [ME, "amy"], once=Once()))
    row = wire.run(messages.ack(HERON, "l1", [("dock", taken["epoch"], "both", 1, 1)]))[0]
    assert row["word"] == "gone"
    assert marks(server) == {}


STRANGERS = {"low": "5-0", "clock": "*", "highest": "0-18446744073709551615"}


@both_servers
@pytest.mark.parametrize("id_", STRANGERS.values(), ids=STRANGERS)
def test_a_strangers_entry_ends_posting_and_nothing_else(server, wire, id_):
    open_rooms(server, ["dock"], [ME, "amy"])
    for n in range(3):
        say(wire, f"m{n}")
    server.ask("XADD", KEYS.channel("dock", "messages"), id_, "x", "y")
    before = server.dump()
    with pytest.raises(ChannelDamaged):
        say(wire, "more")
    assert server.dump() == before
    assert looks(wire) == "news"
    assert read(wire) == (["m0", "m1", "m2"], 0)
    assert read(wire) == ([], 0)
    assert looks(wire) == "quiet"
    assert marks(server)["dock"] == (3, 3)
    whole = wire.drive(flows.history(HERON, "dock", flows.Span()))
    assert [one["body"] for one in whole["messages"]] == ["m0", "m1", "m2"]
    newest = wire.drive(flows.history(HERON, "dock", flows.Span(newest=2)))
    assert [one["body"] for one in newest["messages"]] == ["m1", "m2"]
    assert wire.drive(flows.pending(HERON)) == []
    assert wire.drive(channel_flows.retain(AMY, "dock", 2, yes=True))["done"]
    assert wire.run(channels.close(AMY, "dock", "damaged", once=Once()))["closed"]
    assert wire.run(channels.leave(AMY, "dock", once=Once()))["left"]


def looks(wire):
    return wire.run(messages.look(HERON, {"dock": 0}))["rows"][0]["word"]


@both_servers
def test_a_strangers_entry_between_ours_is_passed_over(server, wire):
    """It has a number that ours go on behind; a reader sees no hole that it would take for trimming."""
    open_rooms(server, ["dock"], [ME, "amy"])
    say(wire, "m0")
    server.ask("XADD", KEYS.channel("dock", "messages"), "0-*", "x", "y")
    with granted("a post behind it"):
        assert say(wire, "m2") == 3
    assert read(wire) == (["m0", "m2"], 0)
    assert marks(server)["dock"] == (3, 3)


@both_servers
def test_a_repaired_channel_goes_on_where_it_was(server, wire):
    open_rooms(server, ["dock"], [ME, "amy"])
    for n in range(3):
        say(wire, f"m{n}")
    server.ask("XADD", KEYS.channel("dock", "messages"), "5-0", "x", "y")
    wire.drive(channel_flows.retain(AMY, "dock", 1, yes=True))
    repaired = wire.run(channels.repair(AMY, "dock"))
    assert repaired["dropped"] == 1
    assert say(wire, "m3") == 4
    assert read(wire)[0][-1] == "m3"
