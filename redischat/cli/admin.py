"""server, demo, bench."""

from __future__ import annotations

from ..errors import Usage
from .show import inert, put, record, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .perform import Seat

LOG_LINES = 50
_ACTIONS = ("start", "stop", "status", "logs")


def server(seat: Seat, *, action: str = "status", force: bool = False, lines: int = LOG_LINES) -> int:
    """The embedded broker of this user."""
    from ..broker import admin, start

    directory = seat.settings.state_dir
    if action not in _ACTIONS:
        raise Usage(message=f"{action!r} is none of {', '.join(_ACTIONS)}: redischat server status")
    if action == "logs":
        rows = admin.logs(directory, lines)
        records({"line": row} for row in rows) if seat.json else put("".join(inert(row) + "\n" for row in rows))
        return 0
    if action == "start":
        from .perform import say

        start.ensure(directory, notice=say, fsync=seat.settings.env.get("REDISCHAT_FSYNC") or "everysec")
    if action == "stop":
        got = admin.stop(directory, force=force)
        put(record(got) if seat.json else _stated(got))
        return 0
    got = admin.status(directory)
    put(record(got) if seat.json else _stated(got))
    return 0


def _stated(got: dict[str, Any]) -> str:
    return "".join(f"{key.replace('_', ' '):<16} {inert(str(value))}\n" for key, value in got.items() if value is not None)


def demo(seat: Seat, *, fast: bool = False) -> int:
    """Two real agent processes talk in a scratch workspace."""
    from .demo import run

    return run(seat, fast=fast)


def bench(seat: Seat, *, quick: bool = False, part: str = "") -> int:
    """Measure this machine."""
    from .bench import run

    return run(seat, quick=quick, part=part)
