"""A barrier: so many agents meet before any of them goes on.

Its state are claims: ``<name>.<agent>`` for each that has come, and ``<name>`` once they have met. Nobody goes on before that last one is there, so it does
not matter who is cancelled, or restarts, in between: either all see it, or nobody has gone on.
"""

from __future__ import annotations

from .. import names
from ..calls import claims
from ..calls.call import Listen, Once
from ..errors import NoIdentity, TimedOut, Usage
from ..errors.claims import ClaimTaken
from . import tried
from .claims import claim

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

HERE, MET = "is at the barrier", "all have met"


class Barrier:
    """``name``, and who meets there: so many (``count``), or those who are ``named``; for how long one waits."""

    __slots__ = ("count", "name", "named", "seconds")

    def __init__(self, name: str, parties: int | Sequence[str], seconds: float) -> None:
        self.name, self.seconds = names.name("barrier", name), seconds
        self.named = [] if isinstance(parties, int) else [names.agent(one) for one in parties]
        self.count = parties if isinstance(parties, int) else len({one.lower() for one in self.named})
        if self.count < 1 or isinstance(parties, bool):
            raise Usage(message="a barrier is for 1 or more: how many, or a list of their names")

    def missing(self, arrived: Sequence[str]) -> list[str]:
        """Who is named and has not come."""
        here = {one.lower() for one in arrived}
        return [one for one in self.named if one.lower() not in here]

    def complete(self, arrived: Sequence[str]) -> bool:
        """Have all come?"""
        return not self.missing(arrived) if self.named else len(arrived) >= self.count


def meet(who: Caller, channel: str, barrier: Barrier, now: Callable[[], float]) -> Flow:
    """Come, and wait for the others. Gives ``channel name arrived index``. Interrupted or out of time, the caller has not come.

    Raises:
        TimedOut: with who has ``arrived`` and who is ``missing``.
    """
    if not who.me:
        raise NoIdentity
    if barrier.named and barrier.missing([who.agent]) == barrier.named:
        raise Usage(message=f"{who.agent} is none of those who meet at {barrier.name}: {', '.join(barrier.named)}")
    until = now() + barrier.seconds
    own = names.name("claim", f"{barrier.name}.{who.agent}")
    try:
        came = yield from claim(who, channel, own, note=HERE)
        arrived = yield from _met(who, channel, barrier, until, now)
    except GeneratorExit:
        raise
    except BaseException:
        yield from tried(claims.drop(who, channel, own, once=Once()))  # where they have met by now, that stands
        raise
    order = [one.lower() for one in arrived]
    return {"channel": came["channel"], "name": barrier.name, "arrived": arrived, "index": order.index(who.me) if who.me in order else len(order)}


def _met(who: Caller, channel: str, barrier: Barrier, until: float, now: Callable[[], float]) -> Flow:
    heard: str | None = yield Listen([who.keys.live(channel)], until)
    mark = barrier.name.lower()
    while True:
        if heard in {None, "again", "deleted"} or heard == "audit " + mark or str(heard).startswith(f"audit {mark}."):
            found = yield claims.every(who.keys, channel)
            arrived = _arrived(found, barrier.name)
            if _is_met(found, barrier.name):
                return arrived
            if barrier.complete(arrived):
                yield from _passed(who, channel, barrier.name)
                return arrived
            if heard is None and now() >= until:
                raise _too_few(channel, barrier, arrived)
        heard = yield Listen([who.keys.live(channel)], until)


def _arrived(found: list[dict[str, Any]], name: str) -> list[str]:
    """Who has come, in that order."""
    here = [one for one in found if one["note"] == HERE and one["name"].lower() == f"{name}.{one['owner']}".lower()]
    return [one["owner"] for one in sorted(here, key=lambda one: one["token"])]


def _passed(who: Caller, channel: str, name: str) -> Flow:
    """Say for good that all have met; another one may have said so a moment before."""
    try:
        yield claims.take(who, channel, name, note=MET)
    except ClaimTaken:
        if not _is_met((yield claims.every(who.keys, channel)), name):
            raise


def _is_met(found: list[dict[str, Any]], name: str) -> bool:
    return any(one["name"].lower() == name.lower() and one["note"] == MET for one in found)


def _too_few(channel: str, barrier: Barrier, arrived: list[str]) -> TimedOut:
    missing = barrier.missing(arrived)
    who = f"still missing: {', '.join(missing)}" if missing else f"{barrier.count - len(arrived)} still missing"
    what = f"{len(arrived)} of {barrier.count} have come to {barrier.name} ({', '.join(arrived)}), {who}. Who is there: redischat claims {channel}"
    return TimedOut(what=what, seconds=f"{barrier.seconds:g}", channel=channel, name=barrier.name, arrived=arrived, missing=missing, parties=barrier.count)
