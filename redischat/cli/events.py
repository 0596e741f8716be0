"""event post, event read, event schema."""

from __future__ import annotations

import errno
import os

from .. import names
from ..calls.call import FOREVER
from ..calls.event_form import KIND, TYPES, draft, of_type
from ..errors import BadName
from ..flows import events as flows
from ..text import inert
from .seat import once
from .show import aside, drained, put, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..calls.call import Caller, Show
    from .seat import Seat

SCHEMA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "models", "event.schema.json")


def post(
    seat: Seat,
    *,
    channel: str,
    type_: str,
    harness: str,
    status: str | None = None,
    detail: str | None = None,
    primitives: tuple[str, ...] | None = None,
    idem: str | None = None,
) -> int:
    """Post a capability or status event."""
    who, room = _author(seat), names.room(channel)
    parts = None if primitives is None else [part.strip() for text in primitives for part in text.split(",") if part.strip()]
    event = draft(type_, who.agent, harness, status=status, detail=detail, primitives=parts)
    got = seat.drive(flows.post(who, room, event, once(idem)))
    if got["warning"]:
        say(got["warning"])
    if got["dropped"]:
        say(f"{got['dropped']} entries that redischat did not write stood in the way and were put aside")
    if seat.json:
        put(_record(got))
    else:
        put(f"posted event {got['event'][KIND]} -> {got['channel']} (event {got['n']}; wakes nobody; see it: redischat event read {room} --since {got['n']})\n")
    return 0


def _author(seat: Seat) -> Caller:
    """Who posts; a name that breaks the rule is a text that an event cannot hold."""
    try:
        return seat.caller()
    except BadName as error:
        from ..errors.events import EventInvalidText

        raise EventInvalidText(why=error.sentence().rstrip(".")) from None


def read(seat: Seat, *, channel: str, type_: str | None = None, since: int | None = None, new: bool = False, follow: bool = False) -> int:
    """Show events, one JSON record a line: the same words in both modes, with --json the channel and number around them."""
    own = new or seat.settings.sources.get("agent") == "--as"
    who, room = seat.caller() if own else seat.onlooker(), names.room(channel)
    wanted = flows.Wanted(type_=of_type(type_), since=since, new=own, follow=FOREVER if follow else None)
    if follow:
        say("following; ^C ends it")
    got = seat.drive(flows.read(who, room, wanted), _shower(seat, sure=own))
    if got["ended"] == "deleted":
        say(f"#{got['channel']} was deleted meanwhile")
    elif not got["events"] and not seat.json and not follow:
        what = f"{'new ' if own and since is None else ''}{type_ + ' ' if type_ else ''}event"
        say(
            f"no {what} in #{got['channel']}{f' from {since} on' if since else ''}. Post one: redischat event post {room} --type {type_ or TYPES[1]} --harness NAME ..."
        )
    return 0


def _shower(seat: Seat, *, sure: bool) -> Callable[[Show], int]:
    """Writes a page; what is no event is named on standard error. ``sure``: wait until a pipe's reader took it, because a mark rises with it."""

    def show(asked: Show) -> int:
        put("".join(_record(one if seat.json else one["event"]) for one in asked.messages))
        if sure and asked.messages and not drained():
            raise BrokenPipeError(errno.EPIPE, "the reader has gone")
        for note in asked.notes:
            aside(_record(note).rstrip() if seat.json else f"redischat: {note['error']}: {inert(note['message'])}")
        return len(asked.messages)

    return show


def _record(row: dict[str, Any]) -> str:
    """A record as a line of ASCII with sorted keys, as agent-chat prints events."""
    from json import dumps

    return dumps({key: row[key] for key in row if key not in ("dropped", "warning")}, sort_keys=True) + "\n"


def schema(seat: Seat) -> int:
    """The JSON schema of an event, as it is shipped."""
    with open(SCHEMA, encoding="utf-8") as file:
        text = file.read()
    if seat.json:
        from json import dumps, loads

        text = dumps(loads(text), sort_keys=True) + "\n"
    put(text)
    return 0
