"""The broker's memory is full: what adds is refused whole and leaves no trace, what settles still works, and afterwards the numbers have no hole."""

from __future__ import annotations

import pytest
from crowd import KEYS, ME, both_servers, caller, cli, granted, open_rooms, serving, stored, wired
from verbs import AMY, BOB, VERBS, furnish, refused

from redischat.calls import agents, channels, messages
from redischat.calls.call import Once
from redischat.errors.broker import OutOfMemory
from redischat.flows import channels as channel_flows
from redischat.flows import messages as flows
from redischat.flows import reading

pytestmark = [pytest.mark.real, pytest.mark.races]
ADDS = [name for name, act in VERBS.items() if not act.settles]
SETTLES = [name for name, act in VERBS.items() if act.settles]
SMALL = "3mb"


@pytest.fixture
def server(binary):
    with serving(binary, "--maxmemory-policy", "noeviction") as server:
        yield server


@pytest.fixture
def wire(server):
    with wired(server) as wire:
        yield wire


def fill(server):
    """Any memory is too much from now on."""
    server.ask("CONFIG", "SET", "maxmemory", "1")


def free(server):
    server.ask("CONFIG", "SET", "maxmemory", "0")


def long_ago(server):
    """Nobody was seen for long, so that every act has its presence to write as well."""
    for name in ("amy", "bob"):
        display, held, session, host, since, _, *rest = server.ask("HGET", KEYS.agents, name).split(" ")
        server.ask("HSET", KEYS.agents, name, " ".join((display, held, session, host, since, "1000", *rest)))


@both_servers
@pytest.mark.parametrize("seen", ["lately", "long ago"])
@pytest.mark.parametrize("verb", ADDS)
def test_what_adds_is_refused_whole(server, wire, verb, seen):
    furnish(wire)
    if seen == "long ago":
        long_ago(server)
    before = server.dump()
    fill(server)
    assert isinstance(refused(VERBS[verb], wire), OutOfMemory)
    free(server)
    assert server.dump() == before
    VERBS[verb].check(wire, server, VERBS[verb].act(wire))


@both_servers
@pytest.mark.parametrize("seen", ["lately", "long ago"])
@pytest.mark.parametrize("verb", SETTLES)
def test_what_settles_works_all_the_same(server, wire, verb, seen):
    furnish(wire)
    if seen == "long ago":
        long_ago(server)
    fill(server)
    with granted(f"{verb} in full memory"):
        answer = VERBS[verb].act(wire)
    free(server)
    VERBS[verb].check(wire, server, answer)


@both_servers
def test_the_last_leaver_closes_a_channel_in_full_memory(server, wire):
    open_rooms(server, ["dock"], [ME])
    fill(server)
    with granted("leaving in full memory"):
        left = wire.run(channels.leave(caller(ME), "dock", once=Once()))
    assert (left["left"], left["closed"]) == (True, True)
    free(server)
    assert wire.run(channels.facts(KEYS, "dock"))["state"] == "closed"


@both_servers
def test_memory_that_fills_up_under_talk_leaves_no_hole(server, wire):
    open_rooms(server, ["dock"], ["amy", "bob"])
    server.ask("CONFIG", "SET", "maxmemory", SMALL)
    said = list(until_refused(wire))
    assert said == list(range(1, len(said) + 1))
    got = wire.drive(reading.hand_out(BOB, ["dock"], "l1", reading.Limits()))
    assert [one["seq"] for one in got.messages][:3] == [1, 2, 3]
    assert wire.run(agents.marks(BOB))["dock"]["read"] == got.messages[-1]["seq"], "what was shown is acked"
    removed = wire.drive(channel_flows.retain(BOB, "dock", 1, yes=True))["removed"]
    assert removed == len(said) - 1
    after = wire.run(messages.post(AMY, "dock", messages.Draft("room again"), once=Once()))["seq"]
    assert after == len(said) + 1
    assert sorted(stored(server, "dock")) == [after - 1, after]


def until_refused(wire):
    """The numbers of large messages, said until memory is full."""
    for n in range(2_000):
        try:
            yield wire.run(messages.post(AMY, "dock", messages.Draft(f"{n} ".ljust(3_000, "x")), once=Once()))["seq"]
        except OutOfMemory:
            return
    raise AssertionError("memory never was full")


@both_servers
def test_commands_say_what_is_full_and_what_works(server, wire):
    furnish(wire)
    fill(server)
    said = cli(server, "say", "dock", "more", agent="amy", check=False)
    assert (said.returncode, said.stderr.split(":")[1].strip()) == (5, "BROKER_OUT_OF_MEMORY")
    assert "m4" in cli(server, "read", "dock", agent="bob").stdout
    assert "nothing new" in cli(server, "read", "dock", agent="bob").stdout
    assert cli(server, "ack", "quay", "5", agent="bob").returncode == 0
    assert cli(server, "leave", "quay", agent="bob").returncode == 0
    assert cli(server, "close", "dock", "--reason", "full", agent="bob").returncode == 0
    assert cli(server, "retain", "dock", "1", "--yes", agent="bob").returncode == 0
    assert cli(server, "delete", "dock", "--yes", agent="bob").returncode == 0
    free(server)
    with wired(server) as after:
        assert after.drive(flows.history(AMY, "quay", flows.Span()))["last_seq"] == 6
