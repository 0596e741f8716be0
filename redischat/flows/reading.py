"""Take, show, ack: how messages are handed out; and waiting for them.

A carrier throws every error in at the yield, cancellation and ^C included: a flow may then yield Calls to settle, and raises again. ``GeneratorExit``
means that nobody drives any more; what was taken lapses by itself. A Call that was cancelled may have happened.
"""

from __future__ import annotations

from ..calls import agents, channels, messages
from ..calls.call import SETTLE_S, Listen, Show, iso
from ..errors import ChannelClosed, ChatError, NoChannel, NoSuchSeq, NotMember, TimedOut, UnknownRecipient

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Call, Caller

    Flow = Generator[Any, Any, Any]

SHOWN = 20  # names in a refusal


class Limits:
    """How much one reader can show (messages, bytes), and for how long its showing keeps the other readers of its agent waiting."""

    __slots__ = ("count", "lease_ms", "size")

    def __init__(self, count: int = messages.TAKE_COUNT, size: int = messages.TAKE_BYTES, lease_ms: int = messages.LEASE_MS) -> None:
        self.count, self.size, self.lease_ms = count, size, lease_ms


class Reading:
    """What a reader was handed: ``messages``, ``notes`` (one a channel: more, gap, passive), where it is not, and whether somebody else is showing."""

    __slots__ = ("absent", "again", "busy", "busy_ms", "messages", "notes")

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.absent: list[str] = []
        self.busy: list[dict[str, Any]] = []
        self.busy_ms = 0
        self.again = False


def hand_out(who: Caller, rooms: Sequence[str], lease: str, limits: Limits, how: str = "read") -> Flow:
    """One take, shown, and acked as far as it was shown. Gives a Reading."""
    taken = None
    try:
        taken = yield messages.take(who, rooms, lease, how=how, lease_ms=limits.lease_ms, count=limits.count, size=limits.size)
        rows, reading = taken["rows"], _reading(taken)
        if not reading.messages and not reading.notes:
            return reading
        shown = yield Show(reading.messages, reading.notes, lambda shown: _ack(who, lease, rows, shown, shown, clean=True))
    except GeneratorExit:
        raise
    except BaseException as error:
        shown, maybe = getattr(error, "shown", 0), getattr(error, "maybe", 0)
        try:
            yield from _given_back(who, lease, taken, error, shown, maybe)
        except ChatError:
            raise error from None  # what cannot be settled lapses by itself; why it came to this is what must be told
        raise
    yield from acked(_ack(who, lease, rows, shown, shown, clean=True))
    return reading


def _given_back(who: Caller, lease: str, taken: dict[str, Any] | None, error: BaseException, shown: int, maybe: int) -> Flow:
    """Settle what an error left open. A refused take took nothing; one whose answer was lost with the broker lapses by itself."""
    if taken is not None:
        yield _ack(who, lease, taken["rows"], shown, maybe, clean=False)
    elif not isinstance(error, ChatError):
        yield messages.release(who, lease)


def acked(ack: Call) -> Flow:
    """An ack; an interrupted one may not have been sent: what was shown must not come again, nor its lease stay."""
    try:
        return (yield ack)
    except (GeneratorExit, ChatError):
        raise
    except BaseException:
        yield ack
        raise


def _reading(taken: dict[str, Any]) -> Reading:
    reading = Reading()
    for row in taken["rows"]:
        reading.messages += row.get("messages", ())
        reading.again = reading.again or row["word"] == "again"
        if row["word"] == "not_member":
            reading.absent.append(row["channel"])
        if row["word"] == "busy":
            reading.busy_ms = max(reading.busy_ms, row["until"] - taken["now"])
            reading.busy.append(_note(row, busy_until=iso(row["until"])))
        seen = {key: row[key] for key in ("more", "gap", "passive", "lo", "previews", "gone_from", "gone_to") if row.get(key)}
        if seen:
            reading.notes.append(_note(row, first=row.get("above", 0) + row.get("gap", 0) + 1, **seen))
    return reading


def _note(row: dict[str, Any], **seen: Any) -> dict[str, Any]:
    """What is to be known of one channel beside its messages: how many more wait, how many were removed, until when another reader shows it."""
    return {"kind": "read", "channel": row["name"], "more": 0, "gap": 0, "busy_until": None, **seen}


def _ack(who: Caller, lease: str, rows: list[dict[str, Any]], shown: int, maybe: int, *, clean: bool) -> Any:
    """Ack each channel as far as its messages are among the first ``shown``; what may have been seen beyond comes again, marked.

    Unless showing ended ``clean``, a pointer or a hole without a message behind it was not seen for certain: it comes again, too.
    """
    items, before = [], 0
    for row in (row for row in rows if row["word"] == "take"):
        seqs = [one["seq"] for one in row["messages"]]
        whole = max(0, min(len(seqs), shown - before))
        seen = max(0, min(len(seqs), maybe - before))
        passed = clean or (seqs and not row["passive"])
        to = row["hi"] if whole == len(seqs) and shown >= before and passed else (seqs[whole - 1] if whole else 0)
        items.append((row["channel"], row["epoch"], row["which"], to, seqs[seen - 1] if seen > whole else 0))
        before += len(seqs)
    return messages.ack(who, lease, items)


def read(who: Caller, rooms: Sequence[str], lease: str, limits: Limits, now: Callable[[], float], how: str = "read") -> Flow:
    """What is new, oldest first. Waits for another reader of mine to end before it may say that there is nothing. Gives a Reading."""
    if not rooms:
        rooms = yield agents.rooms(who.keys, who.me)
        if not rooms:
            raise NotMember(channel="", agent=who.agent)
    patience = now() + messages.LEASE_MS / 1000
    while True:
        reading = yield from hand_out(who, rooms, lease, limits, how)
        if reading.absent:
            yield from not_there(who, reading.absent[0])
        if reading.messages or reading.notes:
            return reading
        if reading.busy_ms > 0:
            if now() >= patience:  # a reader that renews its lease: say so, do not wait for it for ever
                reading.notes = reading.busy
                yield Show([], reading.notes, lambda _: messages.release(who, lease))
                return reading
            yield Listen([who.keys.bell(who.me)], min(patience, now() + reading.busy_ms / 1000) + SETTLE_S)
        elif not reading.again:
            return reading


def not_there(who: Caller, channel: str) -> Flow:
    """Say why a channel cannot be read: there is none (and which is meant), or the caller is not in it."""
    heads = yield channels.heads(who.keys)
    if channel in heads:
        raise NotMember(channel=heads[channel][1], agent=who.agent)
    raise NoChannel(channel=channel, nearest=channels.near(channel, heads))


class Waiting:
    """What a wait is for: in which channels (none = all mine), which messages, from whom, in answer to which, for how long; ``endless``: not only the first.

    The time of an endless one begins anew after what was ``handed`` out. ``door``: where this wait can be seen (flows/standing.py).
    """

    __slots__ = ("door", "endless", "handed", "limits", "reply_to", "rooms", "seconds", "sender", "which")

    def __init__(
        self,
        rooms: Sequence[str] = (),
        *,
        seconds: float = 900,
        which: str = "wakes",
        sender: str = "",
        reply_to: int | None = None,
        limits: Limits | None = None,
        endless: bool = False,
    ) -> None:
        self.rooms, self.seconds, self.which, self.sender, self.reply_to = tuple(rooms), seconds, which, sender, reply_to
        self.limits, self.endless, self.handed, self.door = limits or Limits(), endless, False, ""


def wait(who: Caller, asked: Waiting, lease: str, now: Callable[[], float]) -> Flow:
    """Subscribe, look, wait. A ring, a (re)subscription and the end of somebody else's lease are reasons to look again, nothing more. Gives a Reading."""
    mine = yield agents.rooms(who.keys, who.me)  # asked in any case: listening goes on trying where asking soon says that there is no broker
    rooms = asked.rooms or mine
    if not rooms:
        raise NotMember(channel="", agent=who.agent)
    if asked.sender or asked.reply_to is not None:
        yield from _possible(who, rooms, asked)
    until = look_at = now() + asked.seconds
    seen: dict[str, int] = dict.fromkeys(rooms, 0)
    while True:
        heard = yield Listen(_bells(who, seen, asked), min(until, look_at))
        over = heard is None and now() >= until  # one last look: the doorbell may have been deaf until now, or the broker gone
        if heard in ("again", "rooms"):  # I may be in other channels by now, or in another one of the same name, or history was set back
            seen = dict.fromkeys(asked.rooms or (yield agents.rooms(who.keys, who.me)), 0)
        if heard == "taken_over":
            yield messages.take(who, (), lease)  # refused if it was from me
        reading = yield from _handed(who, _told(heard, seen, asked), lease, asked, "wake")
        if reading.messages or reading.notes:
            return reading
        closed = yield from _all_closed(who, tuple(seen) if heard in ("again", "closed") else ())  # asked before looking: what came before the end is news
        found = yield messages.look(who, seen, which=asked.which, sender=asked.sender, reply_to=asked.reply_to)
        news, busy_ms, on = yield from _looked(who, found, seen, asked)
        reading = yield from _handed(who, news, lease, asked)
        if reading.messages or reading.notes:
            return reading
        until, over = _afresh(asked, until, now, over=over)
        if over and not on:
            raise TimedOut(agent=who.agent, seconds=f"{asked.seconds:g}")
        if closed:
            raise closed
        busy_ms = max(busy_ms, reading.busy_ms)
        look_at = now() + busy_ms / 1000 + SETTLE_S if busy_ms > 0 else now() if on else until


def _afresh(asked: Waiting, until: float, now: Callable[[], float], *, over: bool) -> tuple[float, bool]:
    """Until when to wait, and whether that is over: who was handed something has all the time again."""
    if not asked.handed:
        return until, over
    asked.handed = False
    return now() + asked.seconds, False


def _possible(who: Caller, rooms: Sequence[str], asked: Waiting) -> Flow:
    """Refuse to wait for somebody who is in none of these channels, or for an answer to a message that none of them has: a slip would cost the whole time."""
    from ..names import nearest

    heads = yield channels.heads(who.keys)
    there = {room: heads[room] for room in rooms if room in heads}
    head, name = max(there.values(), default=(0, ""))
    if there and asked.reply_to is not None and head < asked.reply_to:
        raise NoSuchSeq(channel=name, seq=asked.reply_to, head=head)
    if asked.sender:
        found = yield [channels.members(who.keys, room) for room in there]
        here = sorted({one["agent"] for members in found for one in members.values() if one["here"]})
        if there and asked.sender.lower() not in {name.lower() for name in here}:
            raise UnknownRecipient(channel=name, agent=asked.sender, members=here[:SHOWN], nearest=nearest(asked.sender, here), done="nobody to wait for")


def _told(heard: str | None, seen: dict[str, int], asked: Waiting) -> list[str]:
    """The channel that a ring says has a message that wakes me: taken at once, if it has, without looking first (a round trip less on each wake)."""
    _, _, channel = (heard or "").partition("message ")
    plain = asked.which == "wakes" and not asked.sender and asked.reply_to is None
    return [channel] if plain and channel in seen else []


def _handed(who: Caller, news: list[str], lease: str, asked: Waiting, how: str = "read") -> Flow:
    """What these channels have; for an endless wait page after page, until there is no more."""
    reading = Reading()
    while news:
        reading = yield from hand_out(who, news, lease, asked.limits, how)
        how = "read"
        some = reading.messages or reading.notes
        asked.handed = asked.handed or bool(some)
        if (some and not asked.endless) or not (some or reading.again):
            break
    return reading


def _bells(who: Caller, rooms: dict[str, int], asked: Waiting) -> list[str]:
    keys = who.keys
    door = keys.live if asked.which == "any" else keys.room
    own = [asked.door] if asked.door else []
    return [keys.bell(who.me), keys.ear(who.me), *own, *(door(room) for room in rooms), *(keys.room(room) for room in rooms if asked.which == "any")]


def _looked(who: Caller, found: dict[str, Any], seen: dict[str, int], asked: Waiting) -> Flow:
    """Note how far each channel was looked at. Gives the channels with news, for how long another reader of mine is showing one, and: look on?"""
    news, busy_ms, on = [], 0, False
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
            on = on or row["word"] == "on"
    return news, busy_ms, on


def _all_closed(who: Caller, rooms: Sequence[str]) -> Flow:
    """What a wait in these channels ends with when all of them are closed."""
    found = (yield [channels.facts(who.keys, room) for room in rooms]) if rooms else ()
    if found and all(facts.get("state") == "closed" for facts in found):
        return ChannelClosed(channel=found[0]["name"], reason=found[0]["reason"])
    return None
