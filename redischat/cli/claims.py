"""claim, claims, unclaim."""

from __future__ import annotations

from .. import names
from ..flows import claims as flows
from ..flows import fields
from ..text import INDENT, field, when
from .seat import once
from .show import put, record, records, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .seat import Seat


def claim(seat: Seat, *, channel: str, name: str, note: str | None = None, lease: float | None = None, steal_expired: bool = False) -> int:
    """Claim a name first."""
    ttl_ms = 0 if lease is None else fields.milliseconds(lease)
    room = names.room(channel)
    got = seat.drive(flows.claim(seat.caller(), room, fields.claim(name), note=fields.note(note), ttl_ms=ttl_ms, steal=steal_expired))
    if got["warning"]:
        say(got["warning"])
    if seat.json:
        put(record(got))
        return 0
    until = f" until {when(got['lease_expires_at'])}" if got["lease_expires_at"] else ""
    kept = " for good: a lease does not end it" if lease is not None and not until else until
    said = {
        "claimed": f"{got['name']} is yours{until}", "renewed": f"{got['name']} was yours already, since {when(got['claimed_at'])}{kept}",
        "recovered": f"{got['name']} is yours{until}; {got['previous_owner']}'s lease had run out",
    }[got["how"]]  # fmt: skip
    put(f"{said}\n{INDENT}Give it back: redischat unclaim {got['channel']} {got['name']}\n")
    return 0


def unclaim(seat: Seat, *, channel: str, name: str, idem: str | None = None) -> int:
    """Give a claim back."""
    got = seat.drive(flows.unclaim(seat.caller(), names.room(channel), fields.claim(name), once(idem)))
    put(record(got) if seat.json else f"gave back {got['name']}\n")
    return 0


def claims(seat: Seat, *, channel: str) -> int:
    """What is claimed."""
    found = seat.drive(flows.every(seat.onlooker(), names.room(channel)))
    if seat.json:
        records(found)
    elif not found:
        put(f"nothing is claimed in #{names.channel(channel)}\n")
    for one in () if seat.json else found:
        until = f" until {when(one['lease_expires_at'])}" if one["lease_expires_at"] else ""
        lapsed = f"  (its lease ran out: redischat claim {one['channel']} {one['name']} --steal-expired)" if one["lapsed"] else ""
        put(f"{one['name']}  {one['owner']} since {when(one['claimed_at'])}{until}{'  ' + field(one['note']) if one['note'] else ''}{lapsed}\n")
    return 0
