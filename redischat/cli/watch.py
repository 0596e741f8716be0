"""watch: a person reads along."""

from __future__ import annotations

import time

from .. import names
from ..calls.call import FOREVER
from ..flows import watching
from ..flows.channels import known
from ..text import before, message
from .show import put, records, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..calls.call import Show
    from .seat import Seat

LAST = 10  # messages of each channel that was named; of all channels none


def watch(seat: Seat, *, channels: tuple[str, ...] = (), last: int | None = None, timeout: float | None = None) -> int:
    """Show what is said and changed as it happens, until ^C. Moves no mark, and needs no identity."""
    who = seat.onlooker()
    rooms = list(dict.fromkeys(names.room(one) for one in channels))
    for room in rooms:
        seat.drive(known(who, room))  # refused before anything is said
    say(f"watching {', '.join('#' + one for one in rooms) or 'all channels'}; ^C ends it. Nothing counts as read; an agent's way is: redischat wait")
    last = last if last is not None else LAST if rooms else 0
    until = time.monotonic() + (FOREVER if timeout is None else timeout)
    ended = seat.drive(watching.watch(who, rooms, last=last, until=until, now=time.monotonic), _shower(seat, who.me, several=len(rooms) != 1))
    if ended == "deleted":
        say("there is nothing left to watch")
    return 0


def _shower(seat: Seat, me: str, *, several: bool) -> Callable[[Show], int]:
    def show(asked: Show) -> int:
        if seat.json:
            records([*asked.notes, *asked.messages])
        else:
            put(
                "".join(before(note) or f"#{note['channel']} was {note['what']}\n" for note in asked.notes)
                + "".join(message(one, me, rooms=several) for one in asked.messages)
            )
        return len(asked.messages)

    return show
