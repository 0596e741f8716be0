"""watch: what happens in some channels or in all, as it happens: talk, notices and audits in their order. A plain read: no mark, no lease, no token."""

from __future__ import annotations

from ..calls import channels, messages
from ..calls.call import Listen, Show
from .messages import Span, history, page
from .reading import not_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

PAGE = 200  # entries a call
NONE = -1  # no audit: the first one behind a message is number 0
OPENED, DELETED, ANEW, SET_BACK, TRIMMED = "opened", "deleted", "opened anew", "set back", "trimmed"  # what may become of a channel meanwhile


class _Spot:
    """How far one channel was shown: up to message ``at``, and audit ``n`` behind it."""

    __slots__ = ("at", "epoch", "n", "name")

    def __init__(self, name: str, epoch: str, at: int = 0, n: int = NONE) -> None:
        self.name, self.epoch, self.at, self.n = name, epoch, at, n

    def start(self) -> str:
        """From where on the next audit stands."""
        return f"{self.at}-0" if self.n == NONE else f"({self.at}-{self.n}"


def watch(who: Caller, rooms: Sequence[str], *, last: int, until: float, now: Callable[[], float]) -> Flow:
    """Show what is said and changed in these channels (none: in all, those to come included), from the newest ``last`` messages of each on.

    Shows carry the entries of one channel, or one note ``{"kind": "watch", "channel", "what"}`` on what became of it ("trimmed" has ``first``, the number that
    is shown next, and ``gap``, how many before it were not there any more). Costs no command while nothing happens. Gives how it ended: "time" (``until``, by ``now``), "interrupted", "deleted" (all that were named).

    Raises:
        NoChannel: one that was named is none.
    """
    try:
        seen = yield from _begun(who, rooms, last)
        more = () if rooms else (who.keys.opened,)
        while seen or not rooms:
            heard = yield Listen([*more, *(who.keys.live(room) for room in seen)], until)
            if heard is None and now() >= until:
                return "time"
            yield from _looked(who, rooms, seen, audits=heard is None or not heard.startswith(("message ", "notice ")))
    except KeyboardInterrupt:
        return "interrupted"
    return "deleted"


def _begun(who: Caller, rooms: Sequence[str], last: int) -> Flow:
    """Where each channel stands, after its newest ``last`` messages were shown."""
    heads = yield channels.places(who.keys)
    seen = {}
    for room in rooms or sorted(heads):
        if room not in heads:
            yield from not_there(who, room)
        at, epoch, name = heads[room]
        if last:
            found = yield from history(who, room, Span(newest=last, audits=True))
            rows, at = found["messages"], found["last_seq"]
            if rows:
                yield _shown(rows)
        else:
            rows = yield messages.newest_audits(who.keys, room, name, who.me, count=1)
        seen[room] = _Spot(name, epoch, at, max((one["n"] for one in rows if one["after"] == at), default=NONE))
    return seen


def _looked(who: Caller, rooms: Sequence[str], seen: dict[str, _Spot], *, audits: bool) -> Flow:
    """Show what is new: where a head moved; with ``audits``, in every channel. A ring does not say where: it is a hint."""
    heads = yield channels.places(who.keys)
    for room in [room for room in seen if room not in heads]:
        yield _note(seen.pop(room).name, DELETED)
    for room, (head, epoch, name) in sorted(heads.items()):
        spot = seen.get(room)
        if spot is None and rooms:
            continue
        if spot is None or spot.epoch != epoch or head < spot.at:
            yield _note(name, OPENED if spot is None else ANEW if spot.epoch != epoch else SET_BACK)
            spot = seen[room] = _Spot(name, epoch, head if spot is not None and spot.epoch == epoch else 0)
        if audits or head > spot.at:
            yield from _told(who, room, spot, head)


def _told(who: Caller, room: str, spot: _Spot, head: int) -> Flow:
    """Show one channel up to message ``head``, page by page. Messages are read first: an audit behind one that was not read yet waits for its turn."""
    full, told = True, spot.at
    while full or spot.at < head:
        talk, reached = (yield from page(who, room, spot.name, spot.at, head, PAGE)) if spot.at < head else ([], spot.at)
        beside = yield messages.beside(who.keys, room, "audits", spot.name, who.me, start=spot.start(), count=PAGE)
        full = len(beside) == PAGE and beside[-1]["after"] <= reached  # else what follows stands behind what was not read yet
        reached = beside[-1]["after"] if full else reached
        rows = [one for one in (*talk, *beside) if _place(one)[0] <= reached]
        rows.sort(key=_place)
        numbers = [one["seq"] for one in rows if one["seq"] is not None]
        if numbers:
            yield from _hole(spot, told, numbers[0])
            told = numbers[-1]
        if rows:
            yield _shown(rows)
        spot.at, spot.n = reached, max((one["n"] for one in rows if one["after"] == reached), default=spot.n if reached == spot.at else NONE)
    yield from _hole(spot, told, spot.at + 1)


def _hole(spot: _Spot, told: int, first: int) -> Flow:
    """Say that the messages between these two were removed, if there were any."""
    if first > told + 1:
        yield _note(spot.name, TRIMMED, first=first, gap=first - told - 1)


def _place(one: dict[str, Any]) -> tuple[int, int]:
    """Where an entry stands in its channel: messages by number, audits behind the message that they follow."""
    return (one["seq"], NONE) if one["seq"] is not None else (one["after"], one["n"])


def _shown(rows: list[dict[str, Any]]) -> Show:
    return Show(rows, [])


def _note(channel: str, what: str, **more: int) -> Show:
    return Show([], [{"kind": "watch", "channel": channel, "what": what, **more}])
