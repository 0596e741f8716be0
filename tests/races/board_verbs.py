"""The acts of tasks and claims, for the room that verbs.py furnishes: (act, check, whether it must work when memory is full)."""

# ruff: noqa: ARG001 - all checks are called alike

from __future__ import annotations

from crowd import KEYS, caller
from waiting import wait_until

from redischat.calls import claims, imports, tasks
from redischat.calls.call import Once

AMY, BOB, CARL = caller("amy"), caller("bob"), caller("carl")
NEW = {"id": "", "owner": "-", "priority": 2, "deps": "-", "title": "what", "branch": "", "files": "[]", "acceptance": "[]"}
LATER_MS = 4_000_000_000_000
OLD = {
    "id": "OLD", "status": "in_progress", "owner": "dora", "created_by": "eve", "priority": 1, "attempt": 3, "fenced": True, "expires": LATER_MS, "claimed": 5,
    "created": 4, "updated": 6, "depends_on": [], "before": None, "before_expires": 0, "finisher": None, "title": "old", "files_hint": [], "acceptance": ["x"],
    "branch": None, "reason": None,
}  # fmt: skip
CLAIM = {"name": "old", "owner": "dora", "claimed": 5, "expires": 0, "note": "from before"}


def furnish_board(wire):
    """GONE was carl's, and its lease ran out unnoticed; A can be started, B waits for it; HELD is bob's, AFTER waits for it. carl claimed x, bob y."""
    for name, fields in (("GONE", {}), ("A", {"priority": 0}), ("B", {"deps": "a"}), ("HELD", {}), ("AFTER", {"deps": "held"})):
        wire.run(tasks.create(AMY, "dock", {**NEW, **fields, "id": name}, once=Once()))
        if name == "GONE":
            wire.run(tasks.claim(CARL, "dock", "gone", ttl_ms=1))
    wire.run(tasks.claim(BOB, "dock", "held", ttl_ms=600_000))
    wire.run(claims.take(CARL, "dock", "x"))
    wire.run(claims.take(BOB, "dock", "y"))
    wait_until(lambda: wire.run(tasks.look(KEYS, "dock"))["unnoticed"], "carl's lease on GONE runs out")


def task(wire, name):
    return wire.run(tasks.look(KEYS, "dock", [name.lower()]))["tasks"][0]


def audited(server, status, of):
    """How many audits of this kind one task or claim left."""
    found = [dict(zip(fields[::2], fields[1::2], strict=True)) for _, fields in server.ask("XRANGE", KEYS.channel("dock", "audits"), "-", "+")]
    return [(one["s"], one["h"]) for one in found].count((status, of))


def agrees(wire):
    """The board's indexes say what its records say."""
    assert wire.run(tasks.repair(AMY, "dock"))["mended"] == {}


def task_created(wire, server, answer):
    assert (answer["id"], answer["ready"]) == ("T-1", True)
    assert (task(wire, "T-1")["title"], audited(server, "task.created", "T-1")) == ("new", 1)
    assert len(wire.run(tasks.look(KEYS, "dock"))["tasks"]) == 6
    agrees(wire)


def task_updated(wire, server, answer):
    assert answer["changed"] == ["title", "depends_on"]
    assert (task(wire, "B")["title"], task(wire, "B")["depends_on"], audited(server, "task.updated", "B")) == ("new", ["A", "HELD"], 1)
    agrees(wire)


def task_taken(wire, server, answer):
    assert answer["id"] == "A"
    assert (task(wire, "A")["owner"], task(wire, "A")["token"], task(wire, "A")["attempt"]) == ("bob", answer["token"], 1)
    assert audited(server, "lease.claimed", "A") == 1
    agrees(wire)


def task_renewed(wire, server, answer):
    assert (answer["how"], answer["token"]) == ("renewed", task(wire, "HELD")["token"])
    agrees(wire)


def task_recovered(wire, server, answer):
    assert (answer["how"], answer["previous_owner"], answer["attempt"]) == ("recovered", "carl", 2)
    assert (task(wire, "GONE")["owner"], task(wire, "GONE")["token"], audited(server, "lease.recovered", "GONE")) == ("bob", answer["token"], 1)
    agrees(wire)


def task_done(wire, server, answer):
    assert (answer["moved"], answer["freed"]) == (True, ["AFTER"])
    assert (task(wire, "HELD")["status"], task(wire, "HELD")["finished_by"], audited(server, "lease.completed", "HELD")) == ("done", "bob", 1)
    agrees(wire)


def task_failed(wire, server, answer):
    assert (answer["moved"], answer["status"], answer["attempt"]) == (True, "blocked", 2)
    assert (task(wire, "HELD")["owner"], task(wire, "HELD")["reason"], audited(server, "lease.released", "HELD")) == (None, "no", 1)
    agrees(wire)


def task_kept(wire, server, answer):
    assert (answer["how"], answer["token"], audited(server, "lease.renewed", "HELD")) == ("renewed", task(wire, "HELD")["token"], 0)
    agrees(wire)


def task_cancelled(wire, server, answer):
    assert (answer["moved"], answer["attempt"]) == (True, 1)
    assert (task(wire, "A")["status"], task(wire, "B")["stuck"], audited(server, "task.updated", "A")) == ("cancelled", True, 1)
    agrees(wire)


def task_noticed(wire, server, answer):
    assert audited(server, "lease.lapsed", "GONE") == 1
    agrees(wire)


def task_repaired(wire, server, answer):
    assert (answer["tasks"], answer["mended"], answer["damaged"]) == (5, {}, [])


def task_looked(wire, server, answer):
    assert [one["id"] for one in answer["tasks"]] == ["A", "GONE", "B", "HELD", "AFTER"]
    assert (answer["unnoticed"], answer["damaged"], answer["missing"]) == (True, [], [])


def claim_taken(wire, server, answer):
    assert (answer["name"], audited(server, "claim.claimed", "new")) == ("new", 1)
    assert {one["name"]: one["owner"] for one in wire.run(claims.every(KEYS, "dock"))} == {"new": "bob", "x": "carl", "y": "bob"}


def claim_dropped(wire, server, answer):
    assert (answer["name"], audited(server, "claim.released", "y")) == ("y", 1)
    assert [one["name"] for one in wire.run(claims.every(KEYS, "dock"))] == ["x"]


def task_imported(wire, server, answer):
    assert (answer["stored"], answer["there"]) == (1, [])
    assert (task(wire, "OLD")["owner"], task(wire, "OLD")["attempt"], audited(server, "task.imported", "import")) == ("dora", 3, 1)
    assert task(wire, "OLD")["token"] > task(wire, "HELD")["token"]
    agrees(wire)


def claim_imported(wire, server, answer):
    assert (answer["stored"], answer["there"], audited(server, "claim.imported", "import")) == (1, [], 1)
    assert {one["name"]: one["owner"] for one in wire.run(claims.every(KEYS, "dock"))} == {"old": "dora", "x": "carl", "y": "bob"}


BOARD_VERBS = {
    "task_create": (lambda wire: wire.run(tasks.create(BOB, "dock", {**NEW, "title": "new"}, once=Once())), task_created, False),
    "task_update": (lambda wire: wire.run(tasks.update(BOB, "dock", "b", [("title", "new"), ("depends_on", "a,held")], once=Once())), task_updated, False),
    "task_claim": (lambda wire: wire.run(tasks.claim(BOB, "dock", "a", ttl_ms=60_000)), task_taken, True),
    "task_renew": (lambda wire: wire.run(tasks.claim(BOB, "dock", "held", want="renew", ttl_ms=60_000)), task_renewed, True),
    "task_keep": (lambda wire: wire.run(tasks.claim(BOB, "dock", "held", want="keep", ttl_ms=700_000)), task_kept, True),
    "task_fail": (lambda wire: wire.run(tasks.move(BOB, "dock", "held", "fail", reason="no", once=Once())), task_failed, True),
    "task_recover": (lambda wire: wire.run(tasks.claim(BOB, "dock", "gone", want="recover", ttl_ms=60_000, reason="gone")), task_recovered, True),
    "task_next": (lambda wire: wire.run(tasks.next_(BOB, "dock", take=True, ttl_ms=60_000, once=Once())), task_taken, True),
    "task_done": (lambda wire: wire.run(tasks.move(BOB, "dock", "held", "done", once=Once())), task_done, True),
    "task_cancel": (lambda wire: wire.run(tasks.move(BOB, "dock", "a", "cancel", reason="no", once=Once())), task_cancelled, True),
    "task_notice": (lambda wire: wire.run(tasks.notice(KEYS, "dock")), task_noticed, False),
    "task_repair": (lambda wire: wire.run(tasks.repair(BOB, "dock")), task_repaired, True),
    "task_look": (lambda wire: wire.run(tasks.look(KEYS, "dock")), task_looked, True),
    "claim_take": (lambda wire: wire.run(claims.take(BOB, "dock", "new")), claim_taken, True),
    "claim_drop": (lambda wire: wire.run(claims.drop(BOB, "dock", "y", once=Once())), claim_dropped, True),
    "task_import": (
        lambda wire: wire.run(imports.tasks(BOB, "dock", [imports.task_row(OLD, 1)], base="", total=1, once=Once())), task_imported, False,
    ),
    "claim_import": (lambda wire: wire.run(imports.claims(BOB, "dock", [CLAIM], once=Once())), claim_imported, False),
}  # fmt: skip
