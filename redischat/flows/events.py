"""Posting events, and reading them: whole or from a number on, only what is new, or as they come.

One entry that is no event never stands in the way: it is named and passed over; a stranger's raw XADD that ended the numbering is put aside by the next post.
"""

from __future__ import annotations

from ..calls import agents, channels, events
from ..calls.call import Listen, Show
from ..errors import ChannelDamaged, NoChannel
from .reading import acked, not_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..calls.call import Call, Caller, Once

    Flow = Generator[Any, Any, Any]


def post(who: Caller, channel: str, event: dict[str, Any], once: Once) -> Flow:
    """Post an event that :func:`redischat.calls.event_form.draft` made. Gives ``channel n event dropped warning``.

    ``dropped``: how many entries of a stranger were put aside for it. ``warning``: what to say to a caller whose name nobody knew before.
    """
    (known,) = yield agents.records(who.keys, [who.me])
    dropped = 0
    try:
        try:
            sent = yield events.post(who, channel, event, once=once)
        except ChannelDamaged:
            dropped = (yield events.repair(who, channel))["dropped"]
            sent = yield events.post(who, channel, event, once=once)
    except NoChannel:
        yield from not_there(who, channel)
    warning = None
    if not known:
        from .tasks import unknown

        warning = yield from unknown(who)
    return {**sent, "dropped": dropped, "warning": warning}


class Wanted:
    """Which events: of one ``type_``, from number ``since`` on, only ``new`` ones (and then the caller's mark rises), and until when (monotonic) those to come."""

    __slots__ = ("follow", "new", "since", "type_")

    def __init__(self, *, type_: str | None = None, since: int | None = None, new: bool = False, follow: float | None = None) -> None:
        self.type_, self.since, self.new, self.follow = type_, since, new, follow


class _Reading:
    """Where one reader stands: above ``at``, with ``marked`` as far as its mark reaches; ``named`` are the strangers' entries that were told already."""

    __slots__ = ("at", "channel", "epoch", "events", "marked", "name", "named", "wanted", "who")

    def __init__(self, who: Caller, channel: str, wanted: Wanted, place: tuple[int, str, str], marked: int) -> None:
        self.who, self.channel, self.wanted, (_, self.epoch, self.name), self.marked = who, channel, wanted, place, marked
        self.at = max(0, wanted.since - 1) if wanted.since is not None else marked if wanted.new else 0
        self.named = set[str]()
        self.events: list[dict[str, Any]] = []

    def ack(self, to: int) -> Call | None:
        """The Call that raises the mark, where nothing between it and what was shown was left out."""
        if not self.wanted.new or self.at > self.marked or to <= self.marked:
            return None
        return events.ack(self.who, self.channel, self.epoch, events.mark_field(self.who, self.wanted.type_), to)


def read(who: Caller, channel: str, wanted: Wanted) -> Flow:
    """Show events, page by page: Shows of ``{"channel", "n", "event"}``, with an error's record for each entry that is none as notes.

    Gives ``channel events ended``: all that was shown (unless it follows), and how following ended: time, deleted, interrupted (whatever ^C met: it is how a
    person ends this). A mark is raised after what it covers was shown, and by an interrupted page not at all.
    """
    place = yield channels.place(who.keys, channel)
    if place is None:
        yield from not_there(who, channel)
    marked = 0
    if wanted.new:
        found = yield events.marks(who, channel, wanted.type_)
        marked = max((n for n, epoch in found if epoch == place[1]), default=0)
    reading = _Reading(who, channel, wanted, place, marked)
    ended = None
    try:
        yield from _look(reading)
        if wanted.follow is not None:
            ended = yield from _follow(reading, wanted.follow)
    except KeyboardInterrupt:
        if wanted.follow is None:
            raise
        ended = "interrupted"
    return {"channel": reading.name, "events": reading.events, "ended": ended}


def _look(reading: _Reading) -> Flow:
    """Show what there is above where the reader stands. False: there is no such channel any more."""
    who, channel, name = reading.who, reading.channel, reading.name
    while True:
        place, page, beyond = yield [
            channels.place(who.keys, channel), events.page(who.keys, channel, name, above=reading.at), events.strangers(who.keys, channel, name),
        ]  # fmt: skip
        if place is None or place[1] != reading.epoch:
            return False
        odd = [one for one in beyond if one["id"] not in reading.named]
        reading.named.update(one["id"] for one in odd)
        if not page and not odd:
            return True
        yield from _show(reading, page, odd)
        if len(page) < events.PAGE:
            return True


def _show(reading: _Reading, page: list[dict[str, Any]], odd: list[dict[str, Any]]) -> Flow:
    """One page, shown; then the mark rises to its end."""
    wanted, to = reading.wanted, page[-1]["n"] if page else reading.at
    shown = [
        {"channel": reading.name, "n": one["n"], "event": one["event"]} for one in page if "event" in one and wanted.type_ in (None, one["event"]["event"])
    ]
    ack = reading.ack(to)
    yield Show(shown, [one["error"] for one in (*page, *odd) if "error" in one], (lambda _: ack) if ack else None)
    if ack is not None:
        reading.marked = yield from acked(ack)
    reading.at = to
    if wanted.follow is None:
        reading.events += shown


def _follow(reading: _Reading, until: float) -> Flow:
    """Subscribe, look, wait."""
    while True:
        heard = yield Listen([reading.who.keys.live(reading.channel)], until)
        if heard is None:
            return "time"
        if heard == "deleted" or not (yield from _look(reading)):
            return "deleted"
