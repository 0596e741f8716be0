"""What happens in channels, as it happens: changes of tasks, claims and locks, leases that run out, notices, events of harnesses. Marks nothing."""

from __future__ import annotations

from math import inf

from ..calls import channels, events, messages, tasks
from ..calls.call import SETTLE_S, Listen, Show, clock, ms_of, pairs, plain
from ..errors import TimedOut, Usage
from . import tried
from .paths import locks
from .reading import not_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

PARTS = {"audit": "audit", "event": "event", "notice": "seq"}  # what rings -> which part of a position it moves


class Position:
    """How far one channel was watched: the last audit (its id), event and message."""

    __slots__ = ("audit", "event", "name", "seq")

    def __init__(self, name: str, audit: str = "0-0", event: int = 0, seq: int = 0) -> None:
        self.name, self.audit, self.event, self.seq = name, audit, event, seq

    def copy(self) -> Position:
        """The same, to be moved on its own."""
        return Position(self.name, self.audit, self.event, self.seq)

    def __str__(self) -> str:
        return f"{self.name}:{self.audit}:{self.event}:{self.seq}"


class Watch:
    """One watcher: of which channels (none: all of the workspace, those to come too), from where on, and how long it waits for the next thing."""

    __slots__ = ("at", "every", "lapsed", "look_at", "rooms", "seconds", "told", "who")

    def __init__(self, who: Caller, rooms: Sequence[str], since: str | None, seconds: float) -> None:
        self.who, self.rooms, self.every, self.seconds = who, list(rooms), not rooms, seconds
        self.at = {one.name.lower(): one for one in map(_position, (since or "").split())}
        self.told = {room: one.copy() for room, one in self.at.items()}
        self.lapsed: set[tuple[str, str]] = set()
        self.look_at = inf

    def position(self) -> str:
        """Up to where things were told, for one that goes on behind it."""
        return " ".join(str(one) for one in self.told.values())


def _position(text: str) -> Position:
    try:
        name, audit, event, seq = text.split(":")
        after, _, n = audit.partition("-")
        return Position(name, f"{int(after)}-{int(n)}", int(event), int(seq))
    except ValueError:
        raise Usage(message=f"{text!r} is no position: give the one of a happening") from None


def watch(watcher: Watch, now: Callable[[], float]) -> Flow:
    """Show what happens, for ever: rows ``channel kind agent subject text ts facts position``, one by one.

    Raises:
        NoChannel: there is none of that name, or not any more.
        TimedOut: nothing happened for so long.
    """
    who = watcher.who
    until = now() + watcher.seconds
    more = (who.keys.opened,) if watcher.every else ()
    yield from _placed(watcher, first=True)
    heard: str | None = "again"
    while True:
        word = (heard or "again").partition(" ")[0]
        if word in ("deleted", "again") or watcher.every:
            yield from _placed(watcher)
        rows = yield from _news(watcher, tuple(PARTS) if word in ("again", "import", "deleted") else (word,))
        if word in ("again", "audit"):
            rows += yield from _lapses(watcher, now)
        for row in rows:
            yield Show([row], [])
            until = now() + watcher.seconds
        if heard is None and now() >= until:
            raise TimedOut(what="nothing happened there", seconds=f"{watcher.seconds:g}", channels=[one.name for one in watcher.at.values()])
        heard = yield Listen([*more, *(who.keys.live(room) for room in watcher.at)], min(until, watcher.look_at))


def _placed(watcher: Watch, *, first: bool = False) -> Flow:
    """See which channels there are. Who begins without a position begins at the end of each; a channel that comes later is watched from its beginning."""
    keys = watcher.who.keys
    heads = yield channels.heads(keys)
    for room in watcher.rooms:
        if room not in heads:
            yield from not_there(watcher.who, room)
    wanted, known = list(heads) if watcher.every else watcher.rooms, watcher.at
    watcher.at = {room: known.get(room) or Position(heads[room][1]) for room in wanted}
    new = [one for room, one in watcher.at.items() if first and room not in known]
    if new:
        yield from _at_the_end(watcher, new)
    watcher.told = {room: one.copy() for room, one in watcher.at.items()}


def _at_the_end(watcher: Watch, new: list[Position]) -> Flow:
    keys = watcher.who.keys
    yield Listen([keys.live(room) for room in watcher.at], 0)  # before looking where the ends are: what comes behind them rings
    ends = yield [
        plain("XREVRANGE", keys.channel(one.name.lower(), part), "+", "-", "COUNT", 1, read=_last) for one in new for part in ("audits", "events", "messages")
    ]
    for at, one in enumerate(new):
        audit, event, message = ends[3 * at : 3 * at + 3]
        one.audit, one.event, one.seq = audit, int(event.partition("-")[2]), int(message.partition("-")[2])


def _last(found: Any) -> str:
    return str(found[0][0]) if found else "0-0"


def _news(watcher: Watch, parts: Sequence[str]) -> Flow:
    """What these streams have behind the watcher's positions, by time."""
    found: list[tuple[str, str, Any, dict[str, Any]]] = []
    asked = [(room, at, part) for room, at in watcher.at.items() for part in parts if part in PARTS]
    pages = yield [_page(watcher, *one) for one in asked]
    for (room, at, part), first in zip(asked, pages, strict=True):
        page = first
        while page:
            for one in page:
                row = _row(at, part, one)
                found += [(room, PARTS[part], getattr(at, PARTS[part]), row)] if row else []
            page = yield _page(watcher, room, at, part)
    found.sort(key=_when)
    rows = []
    for room, part, to, row in found:
        setattr(watcher.told[room], part, to)
        rows.append({**row, "position": watcher.position()})
    watcher.told = {room: one.copy() for room, one in watcher.at.items()}
    return rows


def _when(found: tuple[str, str, Any, dict[str, Any]]) -> tuple[Any, ...]:
    """By time; of one millisecond, as a transcript has it: an audit behind the message that it follows."""
    room, part, to, row = found
    after, _, n = to.partition("-") if part == "audit" else (to if part == "seq" else 1 << 62, "", 0)
    return row["ts"] or "", room, int(after), int(n)


def _page(watcher: Watch, room: str, at: Position, part: str) -> Any:
    keys, me = watcher.who.keys, watcher.who.me
    if part == "audit":
        return messages.beside(keys, room, "audits", at.name, me, start=f"({at.audit}")
    if part == "event":
        return events.page(keys, room, at.name, above=at.event, count=messages.TAKE_COUNT)
    return messages.entries(keys, room, at.name, me, above=at.seq)


def _row(at: Position, part: str, one: dict[str, Any]) -> dict[str, Any] | None:
    """One entry as a happening, the position moved behind it; None for what nobody watches for."""
    if part == "event":
        at.event = one["n"]
        event = one.get("event")
        if event is None:
            return None
        more = {key: value for key, value in event.items() if key not in ("schema_version", "agent", "ts", "event")}
        text = f"{event.get('status') or ', '.join(event.get('primitives', ()))}" + (f": {event['detail']}" if event.get("detail") else "")
        return _happened(at, f"event.{event['event']}", event["agent"], None, text, event["ts"], more)
    if part == "audit":
        at.audit = f"{one['after']}-{one['n']}"
        return _happened(at, one["status"], one["from"], one["title"], one["body"], one["ts"], one["facts"])
    at.seq = one["seq"]
    return None if one["kind"] != "notice" else _happened(at, f"notice.{one['status']}", one["from"], None, one["body"], one["ts"], {"seq": one["seq"]})


def _happened(at: Position, kind: str, agent: str, subject: str | None, text: str, ts: str | None, facts: dict[str, Any]) -> dict[str, Any]:
    return {"channel": at.name, "kind": kind, "agent": agent, "subject": subject, "text": text, "ts": ts, "facts": facts}


def _lapses(watcher: Watch, now: Callable[[], float]) -> Flow:
    """Leave word of the leases that ran out, which rings; show the locks that did, of which nobody leaves word; note when the next one ends."""
    keys = watcher.who.keys
    leased, now_ms = yield [plain("HGETALL", keys.leased, read=pairs), clock()]
    mine = {what: int(text.split(" ")[-1]) for what, text in leased.items() if what.split(" ")[0] in watcher.at}
    for room in dict.fromkeys(what.split(" ")[0] for what, end in mine.items() if end <= now_ms and (what, str(end)) not in watcher.lapsed):
        yield from tried(tasks.notice(keys, room))  # a look needs no right to write
    watcher.lapsed |= {(what, str(end)) for what, end in mine.items() if end <= now_ms}
    held = [one for one in (yield from locks(watcher.who)) if one["channel"].lower() in watcher.at]
    rows = [_lock_lapsed(watcher, one) for one in held if one["lapsed"] and (one["lock_id"], one["expires_at"]) not in watcher.lapsed]
    watcher.lapsed |= {(one["lock_id"], one["expires_at"]) for one in held if one["lapsed"]}
    ends = [end for end in (*mine.values(), *(ms_of(one["expires_at"]) for one in held)) if end > now_ms]
    watcher.look_at = now() + (min(ends) - now_ms) / 1000 + SETTLE_S if ends else inf
    return rows


def _lock_lapsed(watcher: Watch, one: dict[str, Any]) -> dict[str, Any]:
    at = watcher.at[one["channel"].lower()]
    text = f"the lock of {one['owner']} on {', '.join(one['paths'])} ran out"
    facts = {key: one[key] for key in ("lock_id", "repository", "paths", "mode", "token", "expires_at", "reason")}
    return {**_happened(at, "path.lapsed", one["owner"], one["lock_id"], text, one["expires_at"], facts), "position": watcher.position()}
