"""A replica takes over that had not heard the newest acks: what comes again has its number, and nothing is skipped."""

from __future__ import annotations

import time

import pytest
from crowd import KEYS, ME, both_servers, caller, open_rooms, serving, wired
from waiting import wait_until

from redischat.calls import messages
from redischat.calls.call import Once, fresh
from redischat.flows import reading

pytestmark = [pytest.mark.real, pytest.mark.races]
SAID, HEARD_BY_BOTH = 100, 90
HERE = "127.0.0.1"


def read(wire, count):
    """The numbers and texts of the next messages, acked."""
    found = wire.drive(reading.read(caller(ME), ["a"], fresh(), reading.Limits(count), time.monotonic))
    return [(one["seq"], one["body"]) for one in found.messages]


@both_servers
def test_after_a_failover_only_what_was_acked_last_comes_again_under_its_own_number(binary):
    with serving(binary, host=HERE) as primary, serving(binary, host=HERE) as replica:
        open_rooms(primary, ["a"], [ME, "p0"])
        replica.ask("REPLICAOF", HERE, primary.port)
        with wired(primary) as wire:
            for number in range(1, SAID + 1):
                wire.run(messages.post(caller("p0"), "a", messages.Draft(f"m{number}"), once=Once()))
            assert len(read(wire, HEARD_BY_BOTH)) == HEARD_BY_BOTH
            wait_until(lambda: replica.ask("HGET", KEYS.marks(ME), "a") == primary.ask("HGET", KEYS.marks(ME), "a"), "the replica has heard of it")
            replica.ask("REPLICAOF", "NO", "ONE")
            assert len(read(wire, SAID - HEARD_BY_BOTH)) == SAID - HEARD_BY_BOTH, "acked where the replica does not hear it"
        with wired(replica) as wire:
            assert read(wire, SAID) == [(number, f"m{number}") for number in range(HEARD_BY_BOTH + 1, SAID + 1)]
            assert wire.run(messages.post(caller("p0"), "a", messages.Draft("on"), once=Once()))["seq"] == SAID + 1
            assert read(wire, SAID) == [(SAID + 1, "on")]
