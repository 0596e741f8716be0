"""install, uninstall: the hooks alone."""

from __future__ import annotations

from ..install import apply, codex, detect, ignore
from ..install import doctor as checks
from ..install.project import Project
from ..install.wiring import Wiring, served
from .plans import show_plans
from .show import put, records
from .tools import Tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .seat import Seat


def install(seat: Seat, *, harness: str | None = None, scope: str | None = None, check: bool = False, anyway: bool = False, dry_run: bool = False) -> int:
    """Put the hooks in; with ``check`` only say whether they are as they should be."""
    wiring = Wiring(seat.settings, harness, scope)
    if check:
        found = [one for client in wiring.clients for one in checks.hooks(wiring, client)]
        if seat.json:
            records(one.record() for one in found)
        else:
            put("".join(f"{one.about}: {one.said}\n" + (f"  do: {one.remedy}\n" if one.remedy else "") for one in found) or f"nothing to check: {wiring.how}\n")
        return checks.code(found)
    if not anyway:
        wiring.lasting("redischat install")
    plans = wiring.plans()
    done = plans if dry_run else [apply(one) for one in plans]
    if not dry_run:
        ignore.add(seat.settings.project, wiring.patterns()[1:])
    show_plans(seat, wiring, done, dry=dry_run)
    if not seat.json and "codex" in wiring.clients and wiring.status("codex").trust == "untrusted":
        put(f"codex: {codex.APPROVE}\n")
    return 0


def uninstall(seat: Seat, *, harness: str | None = None, scope: str | None = None, dry_run: bool = False) -> int:
    """Take our hooks out: without ``harness`` of all that have some here, but for what other projects count on."""
    wiring, counted = Wiring(seat.settings, harness or detect.NONE, scope), Project(seat.settings).counted
    tools = Tools(wiring, out_of=wiring.clients if harness else served(counted))
    wiring.clients = wiring.clients if harness else wiring.ours()
    plans = wiring.removals(counted, all_=bool(harness))
    done = plans if dry_run else [apply(one) if one.changes else one for one in plans]
    tools.put_in(dry=dry_run)
    if done or not tools:
        show_plans(seat, wiring, done, dry=dry_run)
    put(tools.lines(as_json=seat.json, dry=dry_run))
    return 0
