"""budget."""

from __future__ import annotations

from .. import names
from ..calls.budgets import Bound
from ..errors import Usage
from ..flows import budgets as flows
from ..text import when
from .seat import once
from .show import put, record, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat

_PER = "1h"
_SAYS = {
    "within": "",
    "warned": "; nearly used up",
    "pointed": "; OVER IT: hooks only point at messages",
    "silent": "; OVER IT: hooks only point at messages, and nobody is woken",
}


def budget(
    seat: Seat,
    *,
    channel: str,
    agent: str | None = None,
    messages: int | None = None,
    characters: int | None = None,
    per: str | None = None,
    off: bool = False,
    idem: str | None = None,
) -> int:
    """Set a budget, take it off, or say how much is used."""
    room, whose, bounds = names.room(channel), names.agent(agent) if agent else "", (messages, characters)
    asked = [one for one in bounds if one is not None]
    if per and not asked and not off:
        raise Usage(message=f"--per says in how long, not how much: redischat budget {room} --messages 50 --per {per}")
    if (off and (asked or per)) or any(one <= 0 for one in asked):
        raise Usage(message=f"a budget is a number above 0, or --off: redischat budget {room} --messages 50 --per {_PER}; redischat budget {room} --off")
    if not off and not asked:
        return _show(seat, room, whose.lower())
    bound = Bound(messages=messages or 0, characters=characters or 0, per_ms=0 if off else 1000 * flows.seconds(per or _PER), whose=whose)
    got = seat.drive(flows.put(seat.caller(), room, bound, once(idem)))
    if seat.json:
        put(record(got))
    elif got["budget"] is None:
        put(f"{_of(got['channel'], whose)} has no budget{' any more' if got['how'] == 'off' else ''}\n")
    else:
        told = "its members are told when they next read; nobody was woken" if got["how"] == "set" else "as it was before"
        put(f"{line(got['budget'])}\n  {told}. Take it off: redischat budget {got['channel']}{f' --agent {whose}' if whose else ''} --off\n")
    return 0


def _show(seat: Seat, room: str, whose: str) -> int:
    found = [one for one in seat.drive(flows.every(seat.onlooker(), room)) if not whose or (one["agent"] or "").lower() == whose]
    if seat.json:
        records(found)
    elif found:
        put("".join(f"{line(one)}\n" for one in found))
    else:
        put(f"{_of(room, whose)} has no budget. Set one: redischat budget {room}{f' --agent {whose}' if whose else ''} --messages 50 --per {_PER}\n")
    return 0


def _of(channel: str, whose: str) -> str:
    return f"{whose} in #{channel}" if whose else f"#{channel}"


def line(one: dict[str, Any]) -> str:
    """A budget, and how much of it is used."""
    return f"budget of {_of(one['channel'], one['agent'])}: {used(one)}{_SAYS[one['level']]} (set by {one['by']})"


def used(one: dict[str, Any]) -> str:
    """How much of a budget is used, and until when that counts."""
    parts = [(one["used_messages"], one["messages"], "messages"), (one["used_characters"], one["characters"], "characters")]
    said = " and ".join(f"{count:,} of {most:,} {unit}" for count, most, unit in parts if most)
    return f"{said} in {flows.span(one['per_s'])}" + (f", until {when(one['until'])}" if one["until"] else "")


def more(one: dict[str, Any]) -> str:
    """The command that doubles a budget, or what was used of it."""
    whose = [f"--agent {one['agent']}"] if one["agent"] else []
    bounds = [f"--{unit} {2 * max(one[unit], one[f'used_{unit}'])}" for unit in ("messages", "characters") if one[unit]]
    return " ".join([f"redischat budget {one['channel']} --per {flows.span(one['per_s'])}", *whose, *bounds])


def told(one: dict[str, Any] | None) -> list[str]:
    """What the author of a message is told of the budget that it is over, or nearly."""
    if one is None:
        return []
    what = {
        "warned": "over it hooks only point at messages, then wake nobody",
        "pointed": "over it: hooks only point at this message, it stays unread",
        "silent": "far over it: hooks only point at this message, and nobody is woken for it",
    }[one["level"]]
    return [f"budget of {_of(one['channel'], one['agent'])}: {used(one)}; {what}. More: {more(one)}"]
