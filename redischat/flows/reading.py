"""Take, show, ack: how messages are handed out; and waiting for them.

A carrier throws every error in at the yield, cancellation and ^C included: a flow may then yield Calls to settle, and raises again. ``GeneratorExit``
means that nobody drives any more; what was taken lapses by itself. A Call that was cancelled may have happened.
"""

from __future__ import annotations

from ..calls import agents, channels, messages
from ..calls.call import Listen, Show
from ..errors import ChannelClosed, NoChannel, NotMember, TimedOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

ROOM_TO_SETTLE_S = 0.01  # a lease's end is looked at just after it


class Limits:
    """How much one reader can show: messages and bytes."""

    __slots__ = ("count", "size")

    def __init__(self, count: int = messages.TAKE_COUNT, size: int = messages.TAKE_BYTES) -> None:
        self.count, self.size = count, size


class Reading:
    """What a reader was handed: ``messages``, ``notes`` (one a channel: more, gap, passive), where it is not, and whether somebody else is showing."""

    __slots__ = ("absent", "again", "busy_ms", "messages", "notes")

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.absent: list[str] = []
        self.busy_ms = 0
        self.again = False


def hand_out(who: Caller, rooms: Sequence[str], lease: str, limits: Limits, how: str = "read") -> Flow:
    """One take, shown, and acked as far as it was shown. Gives a Reading."""
    taken = None
    try:
        taken = yield messages.take(who, rooms, lease, how=how, count=limits.count, size=limits.size)
        reading = _reading(taken)
        shown = yield Show(reading.messages, reading.notes) if reading.messages or reading.notes else []
    except GeneratorExit:
        raise
    except BaseException as error:
        if taken is None:
            yield messages.release(who, lease)
        else:
            yield _ack(who, lease, taken["rows"], getattr(error, "shown", 0), getattr(error, "maybe", 0))
        raise
    if reading.messages or reading.notes:
        yield _ack(who, lease, taken["rows"], shown, shown)
    return reading


def _reading(taken: dict[str, Any]) -> Reading:
    reading = Reading()
    for row in taken["rows"]:
        reading.messages += row.get("messages", ())
        reading.again = reading.again or row["word"] == "again"
        if row["word"] == "not_member":
            reading.absent.append(row["channel"])
        if row["word"] == "busy":
            reading.busy_ms = max(reading.busy_ms, row["until"] - taken["now"])
        note = {key: row[key] for key in ("more", "gap", "passive", "lo", "previews", "gone_from", "gone_to") if row.get(key)}
        if note:
            first = next((one["seq"] for one in row.get("messages", ())), row.get("hi", 0) + 1)
            reading.notes.append({"kind": "read", "channel": row["name"], "first": first, **note})
    return reading


def _ack(who: Caller, lease: str, rows: list[dict[str, Any]], shown: int, maybe: int) -> Any:
    """Ack each channel as far as its messages are among the first ``shown``; what may have been seen beyond comes again, marked."""
    items, before = [], 0
    for row in (row for row in rows if row["word"] == "take"):
        seqs = [one["seq"] for one in row["messages"]]
        whole = max(0, min(len(seqs), shown - before))
        seen = max(0, min(len(seqs), maybe - before))
        to = row["hi"] if whole == len(seqs) and shown >= before else (seqs[whole - 1] if whole else 0)
        items.append((row["channel"], row["epoch"], row["which"], to, seqs[seen - 1] if seen else 0))
        before += len(seqs)
    return messages.ack(who, lease, items)


def read(who: Caller, rooms: Sequence[str], lease: str, limits: Limits, now: Callable[[], float], how: str = "read") -> Flow:
    """What is new, oldest first. Waits for another reader of mine to end before it may say that there is nothing. Gives a Reading."""
    if not rooms:
        rooms = yield agents.rooms(who.keys, who.me)
        if not rooms:
            raise NotMember(channel="any channel", agent=who.agent)
    while True:
        reading = yield from hand_out(who, rooms, lease, limits, how)
        if reading.absent:
            yield from not_there(who, reading.absent[0])
        if reading.messages or reading.notes:
            return reading
        if reading.busy_ms > 0:
            yield Listen([who.keys.bell(who.me)], now() + reading.busy_ms / 1000 + ROOM_TO_SETTLE_S)
        elif not reading.again:
            return reading


def not_there(who: Caller, channel: str) -> Flow:
    """Say why a channel cannot be read: there is none (and which is meant), or the caller is not in it."""
    heads = yield channels.heads(who.keys)
    if channel in heads:
        raise NotMember(channel=heads[channel][1], agent=who.agent)
    from ..names import nearest

    raise NoChannel(channel=channel, nearest=nearest(channel, [name for _, name in heads.values()]))


class Waiting:
    """What a wait is for: in which channels ("" = all mine), which messages, from whom, in answer to which, for how long."""

    __slots__ = ("limits", "reply_to", "rooms", "seconds", "sender", "which")

    def __init__(self, rooms: Sequence[str] = (), *, seconds: float = 900, which: str = "wakes", sender: str = "", reply_to: int | None = None) -> None:
        self.rooms, self.seconds, self.which, self.sender, self.reply_to = tuple(rooms), seconds, which, sender, reply_to
        self.limits = Limits()


def wait(who: Caller, asked: Waiting, lease: str, now: Callable[[], float]) -> Flow:
    """Subscribe, look, wait. A ring, a (re)subscription and the end of somebody else's lease are reasons to look again, nothing more. Gives a Reading."""
    rooms = asked.rooms or (yield agents.rooms(who.keys, who.me))
    if not rooms:
        raise NotMember(channel="any channel", agent=who.agent)
    until = look_at = now() + asked.seconds
    seen: dict[str, int] = dict.fromkeys(rooms, 0)
    ring = "closed"  # the first look asks whether the channels are open at all
    while True:
        heard = yield Listen(_bells(who, seen, asked), min(until, look_at))
        if heard is None and now() >= until:
            raise TimedOut(agent=who.agent, seconds=f"{asked.seconds:g}")
        if heard == "rooms" and not asked.rooms:
            seen = {room: seen.get(room, 0) for room in (yield agents.rooms(who.keys, who.me))}
        if not seen:
            continue
        found = yield messages.look(who, seen, which=asked.which, sender=asked.sender, reply_to=asked.reply_to)
        news, busy_ms = yield from _looked(who, found, seen, asked)
        reading = yield from hand_out(who, news, lease, asked.limits) if news else _nothing()
        if reading.messages or reading.notes:
            return reading
        if asked.rooms and "closed" in (ring, heard):
            yield from _all_closed(who, asked.rooms)
        ring, busy_ms = "", max(busy_ms, reading.busy_ms)
        look_at = now() + busy_ms / 1000 + ROOM_TO_SETTLE_S if busy_ms > 0 else until


def _nothing() -> Flow:
    yield []
    return Reading()


def _bells(who: Caller, rooms: dict[str, int], asked: Waiting) -> list[str]:
    keys = who.keys
    door = keys.live if asked.which == "any" else keys.room
    return [keys.bell(who.me), *(door(room) for room in rooms), *(keys.room(room) for room in rooms if asked.which == "any")]


def _looked(who: Caller, found: dict[str, Any], seen: dict[str, int], asked: Waiting) -> Flow:
    """Note how far each channel was looked at. Gives the channels with news, and for how long another reader of mine is showing one."""
    news, busy_ms = [], 0
    for row in found["rows"]:
        if row["word"] == "not_member":
            if asked.rooms:
                yield from not_there(who, row["channel"])
            seen.pop(row["channel"], None)
        elif row["word"] == "news":
            news.append(row["channel"])
        elif row["word"] == "busy":
            busy_ms = max(busy_ms, row["at"] - found["now"])
        else:
            seen[row["channel"]] = row["at"]
    return news, busy_ms


def _all_closed(who: Caller, rooms: Sequence[str]) -> Flow:
    """Waiting in closed channels only would be waiting for nothing."""
    found = yield [channels.facts(who.keys, room) for room in rooms]
    if all(facts.get("state") == "closed" for facts in found):
        raise ChannelClosed(channel=found[0]["name"], reason=found[0]["reason"])
