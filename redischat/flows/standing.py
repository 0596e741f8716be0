"""Waiting for one agent, known to those who wait for each other: a circle is said at once, and the wait goes on."""

from __future__ import annotations

from ..calls import paths
from ..calls.call import Listen
from . import left, reading
from .paths import circle_told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]


def wait(who: Caller, asked: reading.Waiting, lease: str, now: Callable[[], float], request: str) -> Flow:
    """As ``reading.wait``. ``request`` names this wait to others while it is for one agent, at whose door it listens. Gives a Reading."""
    if not asked.sender or asked.sender.lower() == who.me:
        return (yield from reading.wait(who, asked, lease, now))
    asked.door = who.keys.door(request)
    return (yield from left(_stood(who, asked, lease, now, request), lambda: paths.stand_down(who, request)))


def _stood(who: Caller, asked: reading.Waiting, lease: str, now: Callable[[], float], request: str) -> Flow:
    yield Listen([asked.door], now() + asked.seconds)  # first: a wait with nobody at its door is over
    circle = (yield paths.stand(who, request, "from", asked.sender))["circle"]
    told = circle_told(circle, asked.rooms[0] if asked.rooms else "") if circle else None
    if told:
        yield told
    got = yield from reading.wait(who, asked, lease, now)
    got.notes = [*(told.notes if told else ()), *got.notes]
    return got
