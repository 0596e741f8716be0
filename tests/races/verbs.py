"""Every verb that runs a script, as an act on one furnished room and what must be true after it was done exactly once."""

# ruff: noqa: ARG001 - all checks are called alike

from __future__ import annotations

from board_verbs import BOARD_VERBS, furnish_board
from crowd import KEYS, caller, stored
from other_verbs import OTHER_VERBS, furnish_others
from path_verbs import PATH_VERBS, furnish_paths

from redischat.calls import agents, channels, messages
from redischat.calls.call import Once
from redischat.errors import ChatError
from redischat.flows import channels as channel_flows

AMY, BOB, CARL = caller("amy"), caller("bob"), caller("carl")
LEASE = "l1"


def furnish(wire):
    """A room with two members and five messages, three of them unread by bob; bob holds a lease on another room."""
    for room in ("dock", "quay"):
        wire.drive(channel_flows.enter(AMY, room, channel_flows.Wanted(topic="t", members=["amy", "bob"]), Once()))
        for n in range(5):
            wire.run(messages.post(AMY, room, messages.Draft(f"m{n}", to=["bob"] if n == 4 else ()), once=Once()))
    wire.run(messages.ack(BOB, "-", [("dock", "", "both", 2, 0)]))
    wire.run(messages.take(BOB, ["quay"], LEASE, lease_ms=60_000, count=2))
    furnish_board(wire)
    furnish_paths(wire)
    furnish_others(wire)


class Act:
    """``act(wire)`` does it, ``check(wire, server, answer)`` demands that it was done once; ``settles``: it must work when memory is full."""

    def __init__(self, act, check, *, settles=False):
        self.act, self.check, self.settles = act, check, settles


def talk(server, room="dock"):
    return [entry["b"] for entry in stored(server, room).values() if entry["k"] == "m"]


def notices(server, room="dock"):
    return [entry["s"] for entry in stored(server, room).values() if entry["k"] == "n"]


def fact(wire, name, room="dock"):
    return wire.run(channels.facts(KEYS, room)).get(name)


def mark(wire, who, room="dock"):
    return wire.run(agents.marks(who)).get(room)


def posted(wire, server, answer):
    assert answer["seq"] == 6
    assert talk(server) == ["m0", "m1", "m2", "m3", "m4", "new"]
    assert fact(wire, "talk") == "6"
    assert wire.run(agents.debts(BOB))["dock"] == (5, 6, 2)


def opened(wire, server, answer):
    assert (answer["new"], answer["joined"]) == (True, "new")
    assert fact(wire, "count", "cove") == "2"
    assert sorted(wire.run(channels.members(KEYS, "cove"))) == ["amy", "bob"]


def joined(wire, server, answer):
    assert (answer["new"], answer["joined"], answer["last_seq"]) == (False, "new", 5)
    assert fact(wire, "count") == "3"
    assert mark(wire, CARL)["read"] == 5


def left(wire, server, answer):
    assert (answer["left"], answer["closed"], answer["members"]) == (True, False, 1)
    assert notices(server) == ["left"]
    assert fact(wire, "count") == "1"
    assert mark(wire, BOB) is None


def closed(wire, server, answer):
    assert answer["closed"]
    assert (fact(wire, "state"), notices(server)) == ("closed", ["closed"])


def reopened(wire, server, answer):
    assert (answer["how"], fact(wire, "cap")) == ("raised", "300")
    assert notices(server) == ["raised"]


def moded(wire, server, answer):
    assert (answer["changed"], fact(wire, "mode")) == (True, "broadcast")
    assert notices(server) == ["mode"]
    assert wire.run(agents.broadcasts(KEYS)) == {"dock": "dock"}


def briefed(wire, server, answer):
    assert (fact(wire, "briefing"), notices(server)) == ("be kind", ["briefing"])


def identified(wire, server, answer):
    assert answer["how"] == "new"
    assert server.ask("HGET", KEYS.agents, "bob").split(" ")[1] == answer["token"], "the token that was told is the one that counts"


def deleted(wire, server, answer):
    assert answer["messages"] == 5
    assert (stored(server, "dock"), fact(wire, "state"), mark(wire, AMY), mark(wire, BOB)) == ({}, None, None, None)
    assert sorted(wire.run(channels.heads(KEYS))) == ["quay"]


def retained(wire, server, answer):
    assert (answer["removed"], answer["messages"]) == (3, 2)
    assert sorted(stored(server, "dock")) == [4, 5]


def repaired(wire, server, answer):
    assert (answer["kept"], answer["dropped"]) == (5, 0)
    assert sorted(stored(server, "dock")) == [1, 2, 3, 4, 5]


def imported(wire, server, answer):
    assert (answer["last_seq"], answer["stored"]) == (8, 2)
    assert sorted(stored(server, "dock")) == [1, 2, 3, 4, 5, 7, 8]


def taken(wire, server, answer):
    row = answer["rows"][0]
    assert [(one["seq"], one["repeat"]) for one in row["messages"]] == [(3, False), (4, False), (5, False)]
    assert mark(wire, BOB)["lease"] == "l2"


def acked(wire, server, answer):
    assert answer[0]["word"] == "ok"
    assert (mark(wire, BOB)["read"], mark(wire, BOB)["heard"]) == (4, 4)


def released(wire, server, answer):
    assert mark(wire, BOB, "quay")["lease"] == "-"
    assert mark(wire, BOB, "quay")["read"] == 0


def renewed(wire, server, answer):
    assert answer == 1
    assert mark(wire, BOB, "quay")["lease"] == LEASE


def looked(wire, server, answer):
    assert [(row["channel"], row["word"]) for row in answer["rows"]] == [("dock", "news"), ("quay", "busy")]


def rows():
    record = {"kind": "message", "from": "old", "ts": "2026-01-01T00:00:00.000Z", "body": "x", "to": None, "wakes": "none"}
    more = dict.fromkeys(("reply_to", "thread", "title", "status"))
    return [messages.row({**record, **more, "seq": seq}) for seq in (7, 8)]


VERBS = {
    "post": Act(lambda wire: wire.run(messages.post(AMY, "dock", messages.Draft("new", to=["bob"]), once=Once())), posted),
    "open": Act(lambda wire: wire.run(channels.open(AMY, "cove", members=["bob"], once=Once())), opened),
    "join": Act(lambda wire: wire.run(channels.open(CARL, "dock", once=Once())), joined),
    "leave": Act(lambda wire: wire.run(channels.leave(BOB, "dock", once=Once())), left, settles=True),
    "close": Act(lambda wire: wire.run(channels.close(BOB, "dock", "over", once=Once())), closed, settles=True),
    "reopen": Act(lambda wire: wire.run(channels.reopen(BOB, "dock", cap=300, once=Once())), reopened),
    "mode": Act(lambda wire: wire.run(channels.mode(BOB, "dock", "broadcast", "quiet now", once=Once())), moded),
    "briefing": Act(lambda wire: wire.run(channels.briefing(BOB, "dock", "be kind", "changed it", once=Once())), briefed),
    "identify": Act(lambda wire: wire.run(agents.identify(KEYS, "bob", session="s", host="h", project="/p", rooms=["dock"], once=Once())), identified),
    "delete": Act(lambda wire: wire.run(channels.delete(BOB, "dock", ["amy", "bob"], once=Once())), deleted, settles=True),
    "retain": Act(lambda wire: wire.run(channels.retain(BOB, "dock", 2, once=Once())), retained, settles=True),
    "repair": Act(lambda wire: wire.run(channels.repair(BOB, "dock")), repaired, settles=True),
    "import": Act(lambda wire: wire.run(messages.import_batch(AMY, "dock", rows(), after=5)), imported),
    "take": Act(lambda wire: wire.run(messages.take(BOB, ["dock"], "l2")), taken, settles=True),
    "ack": Act(lambda wire: wire.run(messages.ack(BOB, "-", [("dock", "", "both", 4, 0)])), acked, settles=True),
    "release": Act(lambda wire: wire.run(messages.release(BOB, LEASE)), released, settles=True),
    "renew": Act(lambda wire: wire.run(messages.renew(BOB, LEASE, 60_000)), renewed, settles=True),
    "look": Act(lambda wire: wire.run(messages.look(BOB, {"dock": 0, "quay": 0})), looked, settles=True),
    **{name: Act(act, check, settles=settles) for name, (act, check, settles) in {**BOARD_VERBS, **PATH_VERBS, **OTHER_VERBS}.items()},
}


def refused(act, wire):
    """The error that the act is refused with, or None."""
    try:
        act.act(wire)
    except ChatError as error:
        return error
    return None


class Caught(Exception):
    """The call that an act would send."""


class Catch:
    """Stands for a wire and catches what would be sent."""

    def run(self, call):
        raise Caught(call)


def script_call(act):
    """The Call that an act sends, not sent."""
    try:
        act.act(Catch())
    except Caught as caught:
        return caught.args[0]
    raise AssertionError("it sent nothing")
