"""The acts of path locks, for the room that verbs.py furnishes: (act, check, whether it must work when memory is full)."""

# ruff: noqa: ARG001 - all checks are called alike

from __future__ import annotations

from crowd import KEYS, caller
from waiting import wait_until

from redischat.calls import paths as calls
from redischat.calls.call import Once, fresh

BOB, CARL, DAN = caller("bob"), caller("carl"), caller("dan")
WAITS = "d" * 32


class Repo:
    key, digest, how = "example.org/team/boat", "0123456789abcdef", "--repo"


def wanted(*paths, request=None, lease_ms=600_000, shared=False):
    return calls.Wanted(paths, request or fresh(16), lease_ms=lease_ms, shared=shared)


def named(path):
    return path, calls.stored(Repo, path)


def furnish_paths(wire):
    """``kept`` is bob's, and dan, who has gone, stood in line for it; ``gone`` was carl's, whose lease ran out."""
    wire.run(calls.lock(BOB, "dock", Repo, wanted("kept", "kept too")))
    wire.run(calls.lock(DAN, "dock", Repo, wanted("kept", request=WAITS), queue=True))
    wire.run(calls.lock(CARL, "dock", Repo, wanted("gone", lease_ms=1)))
    wait_until(lambda: holder(wire, "gone")["lapsed"], "carl's lease on gone runs out")


def holder(wire, path):
    """Who holds exactly this path; None when nobody does."""
    found = wire.run(calls.check(BOB, "dock", Repo, [path]))["held"]
    return next((one for one in found if one["path"] == path), None)


def audited(server, status, of):
    """How many audits of this kind one lock left."""
    found = [dict(zip(fields[::2], fields[1::2], strict=True)) for _, fields in server.ask("XRANGE", KEYS.channel("dock", "audits"), "-", "+")]
    return [(one["s"], one["h"]) for one in found].count((status, of))


def agrees(wire):
    """Locks, line and indexes say the same."""
    found = wire.run(calls.repair(BOB, "dock"))
    assert (found["mended"], found["dropped"]) == (0, 0)


def locked(wire, server, answer):
    assert ([one["path"] for one in answer["paths"]], answer["renewed"]) == (["new"], False)
    assert (holder(wire, "new")["token"], holder(wire, "new")["holder"]) == (answer["token"], "bob")
    assert audited(server, "path.locked", answer["lock_id"]) == 1
    agrees(wire)


def stolen(wire, server, answer):
    assert [one["previous_owner"] for one in answer["recovered"]] == ["carl"]
    assert (holder(wire, "gone")["holder"], holder(wire, "gone")["lapsed"]) == ("bob", False)
    assert audited(server, "path.locked", answer["lock_id"]) == 1
    agrees(wire)


def queued(wire, server, answer):
    assert answer["queued"]
    assert server.ask("ZCARD", KEYS.line) in (1, 2)
    assert int(server.ask("HGET", KEYS.asked, calls.stored(Repo, "kept"))) == server.ask("ZCARD", KEYS.line)


def unlocked(wire, server, answer):
    assert [one["path"] for one in answer["unlocked"]] == ["kept"]
    assert (holder(wire, "kept"), holder(wire, "kept too")["holder"]) == (None, "bob")
    assert audited(server, "path.lock.unlocked", answer["unlocked"][0]["lock_id"]) == 1
    assert server.ask("ZCARD", KEYS.line) == 0, "nobody was at the door"
    agrees(wire)


def renewed(wire, server, answer):
    assert (answer["token"], answer["expires_at"]) == (holder(wire, "kept")["token"], holder(wire, "kept")["expires_at"])
    assert audited(server, "path.lock.renewed", answer["lock_id"]) == 1
    agrees(wire)


def kept(wire, server, answer):
    assert (answer["token"], answer["expires_at"]) == (holder(wire, "kept")["token"], holder(wire, "kept")["expires_at"])
    assert audited(server, "path.lock.renewed", answer["lock_id"]) == 0
    agrees(wire)


def recovered(wire, server, answer):
    assert (holder(wire, "gone")["holder"], holder(wire, "gone")["token"]) == ("bob", answer["token"])
    assert audited(server, "path.lock.recovered", answer["lock_id"]) == 1
    agrees(wire)


def left(wire, server, answer):
    assert server.ask("ZCARD", KEYS.line) == server.ask("HLEN", KEYS.asked) == 0
    agrees(wire)


def stood(wire, server, answer):
    assert answer == {"circle": None, "hard": False}
    assert server.ask("HVALS", KEYS.waits) == ["bob from amy"]


def checked(wire, server, answer):
    assert [(one["path"], one["holder"], one["mine"]) for one in answer["held"]] == [("kept", "bob", True)]


def repaired(wire, server, answer):
    assert (answer["locks"], answer["mended"], answer["dropped"]) == (2, 0, 0)


STEAL = calls.Wanted(["gone"], "e" * 32, lease_ms=600_000, steal_expired=True)
PATH_VERBS = {
    "path_lock": (lambda wire: wire.run(calls.lock(BOB, "dock", Repo, wanted("new"))), locked, False),
    "path_steal": (lambda wire: wire.run(calls.lock(BOB, "dock", Repo, STEAL)), stolen, False),
    "path_queue": (lambda wire: wire.run(calls.lock(CARL, "dock", Repo, wanted("kept"), queue=True)), queued, False),
    "path_unlock": (lambda wire: wire.run(calls.unlock(BOB, "dock", [named("kept")], once=Once())), unlocked, True),
    "path_renew": (lambda wire: wire.run(calls.renew(BOB, "dock", [named("kept")], 900_000, once=Once())), renewed, True),
    "path_keep": (lambda wire: wire.run(calls.renew(BOB, "dock", [named("kept")], 900_000, once=Once(), quiet=True)), kept, True),
    "path_recover": (lambda wire: wire.run(calls.recover(BOB, "dock", named("gone"), 600_000, "gone", once=Once())), recovered, True),
    "path_leave": (lambda wire: wire.run(calls.leave(DAN, Repo, wanted("kept", request=WAITS))), left, True),
    "path_stand": (lambda wire: wire.run(calls.stand(BOB, "f" * 32, "from", "amy")), stood, True),
    "path_check": (lambda wire: wire.run(calls.check(BOB, "dock", Repo, ["kept"])), checked, True),
    "path_repair": (lambda wire: wire.run(calls.repair(BOB, "dock")), repaired, True),
}
