"""Planned changes of files, as they are told: one record each, or a line and, before they are done, the difference."""

from __future__ import annotations

from ..settings import told
from ..text import block, inert
from .show import put, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..install import Plan
    from ..install.wiring import Wiring
    from .seat import Seat


def brief(plan: Plan) -> str:
    """What became of a file, in a few words."""
    if not plan.changes:
        return "as before"
    if all(change.startswith("add ") for change in plan.changes):
        return f"{len(set(plan.changes))} events registered"
    return plan.changes[0] if len(plan.changes) == 1 else f"{len(plan.changes)} changes"


def row(plan: Plan, *, dry: bool = False) -> dict[str, Any]:
    """A file as one record: ``client path changes warnings dry_run``."""
    return {"client": plan.client, "path": told(plan.path), "changes": plan.changes, "warnings": plan.warnings, "dry_run": dry}


def show_plans(seat: Seat, wiring: Wiring, plans: list[Plan], *, dry: bool) -> None:
    """Each file with its changes; what would change also as a diff."""
    if seat.json:
        records(row(one, dry=dry) for one in plans)
        return
    for one in plans:
        put(f"{one.client}: {told(wiring.short(one.path))}: {', '.join(one.changes) or 'as before'}\n")
        put("".join(f"  note: {inert(warning)}\n" for warning in one.warnings))
        put(block(_diff(one)) if dry and one.changes else "")
    if not plans:
        put(f"nothing to do: {wiring.how if wiring.how != 'as asked' else 'no hook of ours is there'}\n")


def _diff(plan: Plan) -> str:
    from difflib import unified_diff

    before, after = ((text or b"").decode("utf-8", "replace").splitlines() for text in (plan.before, plan.after))
    return "\n".join(unified_diff(before, after, told(plan.path), told(plan.path), lineterm="", n=1))
