"""who."""

from __future__ import annotations

from ..flows import presence as flows
from ..settings import host
from ..text import age, field
from .budgets import line
from .receipt import SILENT_S
from .show import put, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat


def who(seat: Seat, *, all_: bool = False) -> int:
    """Who is there."""
    found = seat.drive(flows.who(seat.keys, host(), ended=all_))
    if seat.json:
        records(found)
        return 0
    put("".join(_agent(one) for one in found) or f"nobody{'' if all_ else ' (who was here: redischat who --all)'}\n")
    return 0


def _agent(one: dict[str, Any]) -> str:
    """An agent and its sessions, a line each, under its name."""
    name = field(one["agent"])
    if not one["sessions"]:
        return f"{name}  never seen\n"
    lines = [*(_session(seat) for seat in one["sessions"]), *(line(own) for own in one["budgets"])]
    return "".join(f"{name if n == 0 else ' ' * len(name)}  {said}\n" for n, said in enumerate(lines))


def _session(one: dict[str, Any]) -> str:
    harness = f"{field(one['harness'])} {one['pid']}" if one["harness"] else "no hooks: known by what it did"
    where = f"{'here' if one['here'] else 'on ' + field(one['host'])}" if one["host"] else "anywhere"
    parts = [activity(one), harness, f"{where}: {field(one['dir'])}" if one["dir"] else where]
    if one["wake"] and one["state"] != "gone":
        parts.append(waking(one["wake"]))
    if not one["holds"] and one["session"] and one["state"] != "gone":
        parts.append("the name is another session's now")
    return "  ".join(parts)


def activity(one: dict[str, Any]) -> str:
    """What a session does, and when it last did something; a long silence of a working one is said, and is no end."""
    since, silent = age(one["silent_s"]), one["state"] == "working" and one["silent_s"] >= SILENT_S
    said = f"working, no sign for {since}" if silent else f"{one['state']}, last active {since} ago"
    return said if one["connected"] or one["state"] == "gone" or one["inferred"] else said + ", not connected"


def waking(wake: dict[str, Any]) -> str:
    """What is known of waking a session."""
    if wake["way"] == "none":
        return "nothing can wake it"
    ago = f" {age(wake['age_s'])} ago" if wake["age_s"] is not None else ""
    return {"proved": f"waking proved{ago}", "failed": f"waking failed{ago}", "unproved": "waking unproved"}[wake["proof"]]
