"""The acts of events, imports of a board, repairs and sessions, for the room that verbs.py furnishes: (act, check, whether it must work when memory is full)."""

# ruff: noqa: ARG001 - all checks are called alike

from __future__ import annotations

from crowd import KEYS, caller, stored
from path_verbs import Repo, holder, named

from redischat.calls import agents, budgets, channels, events, imports, paths, sessions
from redischat.calls.call import Once
from redischat.calls.event_form import draft

AMY, BOB, EVE = caller("amy"), caller("bob"), caller("eve")
FAY = caller("fay")  # holds her name: her token is drawn when the room is furnished
STATUS = draft("status", "bob", "codex", status="ready")
SESSION, HOST = "s-1", "vm"


def furnish_others(wire):
    """Bob told that he is ready once, and sits in a session that is idle."""
    wire.run(events.post(BOB, "dock", STATUS, once=Once()))
    wire.run(sessions.begin(KEYS, SESSION, "bob", harness="claude", host=HOST, pid=1, project="/p", way="file"))
    FAY.token = wire.run(agents.identify(KEYS, "fay", session="s-9", host=HOST, project="/p", once=Once()))["token"]


def lengths(server, part):
    return int(server.ask("XLEN", KEYS.channel("dock", part)))


def told(wire, server, answer):
    assert (answer["n"], lengths(server, "events")) == (2, 2)


def marked(wire, server, answer):
    assert server.ask("HGET", KEYS.channel("dock", "event_marks"), "bob").split(" ")[0] == "1"


def whole(part):
    def check(wire, server, answer):
        assert answer["dropped"] == 0
        assert lengths(server, part) == answer["kept"]

    return check


def lock_row(path):
    return {
        "id": "c" * 32, "owner": "eve", "mode": "x", "expires": 4_000_000_000_000, "locked": 1, "updated": 1, "before": "-", "before_expires": 0, "reason": "",
        "why": "", "repo": Repo.digest, "key": Repo.key, "paths": [named(path)[1]],
    }  # fmt: skip


def lock_imported(wire, server, answer):
    assert (answer["stored"], answer["there"]) == (1, [])
    assert holder(wire, "old")["holder"] == "eve"


def cursor_imported(wire, server, answer):
    assert answer["set"] == ["eve"]
    assert wire.run(agents.marks(EVE))["dock"]["read"] == 3
    assert "eve" in wire.run(channels.members(KEYS, "dock"))


def session(wire):
    return wire.run(sessions.some(KEYS, [SESSION]))[0]


def begun(wire, server, answer):
    assert session(wire)["harness"] == "codex"


def ticked(wire, server, answer):
    assert (answer["known"], session(wire)["state"]) == (True, "working")


def ended(wire, server, answer):
    assert (answer, session(wire)["state"]) == (True, "ended")


def beaten(wire, server, answer):
    assert [one.get("agent") for one in answer[1]] == ["bob", None]


def asked(wire, server, answer):
    assert session(wire)["asked_ms"] > 0


def kept(wire, server, answer):
    assert (answer["paths"], answer["tasks"]) == (0, 0), "what bob holds has more than enough time left"


def reached(wire, server, answer):
    assert [(sleepers, one.get("agent")) for _, sleepers, one, _ in answer] == [(0, "bob")]


def followed(wire, server, answer):
    assert answer == ("fay", True)


def given_back(wire, server, answer):
    assert server.ask("HGET", KEYS.agents, "fay").split(" ")[1] == "-"


def overrun(wire, server, answer):
    assert [entry["s"] for entry in stored(server, "dock").values() if entry["k"] == "n"] == ["overrun"]


def pruned(wire, server, answer):
    assert (answer, session(wire)["state"]) == (([], []), "idle"), "it is there"


def bounded(wire, server, answer):
    assert (answer["how"], fact_of(server, "budget").split(" ")[:3]) == ("set", ["50", "0", "1000"])
    assert [entry["s"] for entry in stored(server, "dock").values() if entry["k"] == "n"] == ["budget"]


def fact_of(server, field):
    return server.ask("HGET", KEYS.channel("dock", "meta"), field)


def braked(wire, server, answer):
    assert [entry["s"] for entry in stored(server, "dock").values() if entry["k"] == "n"] == ["brake"]


OTHER_VERBS = {
    "event post": (lambda wire: wire.run(events.post(BOB, "dock", STATUS, once=Once())), told, False),
    "event ack": (lambda wire: wire.run(events.ack(BOB, "dock", epoch_of(wire), "bob", 1)), marked, True),
    "event repair": (lambda wire: wire.run(events.repair(BOB, "dock")), whole("events"), True),
    "audit repair": (lambda wire: wire.run(channels.repair_audits(BOB, "dock")), whole("audits"), True),
    "path import": (lambda wire: wire.run(imports.locks(AMY, "dock", [lock_row("old")], once=Once())), lock_imported, False),
    "cursor import": (lambda wire: wire.run(imports.cursors(AMY, "dock", {"eve": 3})), cursor_imported, False),
    "session begin": (
        lambda wire: wire.run(sessions.begin(KEYS, SESSION, "bob", harness="codex", host=HOST, pid=2, project="/p", way="queue")), begun, False
    ),
    "session tick": (lambda wire: wire.run(sessions.tick(KEYS, SESSION, "bob", "prompt")), ticked, False),
    "session end": (lambda wire: wire.run(sessions.end(KEYS, SESSION, "bob")), ended, True),
    "session beat": (lambda wire: wire.run(sessions.beat(KEYS, HOST, [SESSION, "unknown"])), beaten, True),
    "session keep": (lambda wire: wire.run(sessions.keep(BOB, [])), kept, True),
    "session reach": (lambda wire: wire.run(sessions.reach(KEYS, ["bob"])), reached, True),
    "session follow": (lambda wire: wire.run(sessions.follow(FAY, "s-10", HOST, "s-9")), followed, False),
    "agent release": (lambda wire: wire.run(agents.release(FAY)), given_back, True),
    "channel brake": (lambda wire: wire.run(channels.brake(KEYS, "dock", "amy bob", 1, "amy", "they only talk")), braked, False),
    "channel budget": (lambda wire: wire.run(budgets.put(BOB, "dock", budgets.Bound(messages=50, per_ms=1000), "set it", once=Once())), bounded, False),
    "path overrun": (lambda wire: wire.run(paths.overrun(BOB, "dock", "l-1", "a command of bob changed a.py")), overrun, False),
    "session prune": (lambda wire: wire.run(sessions.prune(KEYS, [SESSION], act=True, ended_ms=0, silent_ms=10**9, id_ms=10**9)), pruned, True),
    "session wake": (lambda wire: wire.run(sessions.wake(KEYS, SESSION, "ask", "file")), asked, True),
}  # fmt: skip


def epoch_of(wire):
    """The epoch of the dock, as its head has it."""
    return wire.run(channels.facts(KEYS, "dock")).get("epoch", "") if hasattr(wire, "pipe") else ""
