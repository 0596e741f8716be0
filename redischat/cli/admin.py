"""server, demo, bench."""

from __future__ import annotations

from ..errors import Usage
from ..text import inert
from .show import put, record, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat

LOG_LINES = 50
_ORDER = (
    "running",
    "stopped",
    "why",
    "version",
    "pid",
    "host",
    "socket",
    "directory",
    "aof",
    "fsync",
    "memory_bytes",
    "memory_limit",
    "messages",
    "clients",
    "uptime_seconds",
    "loading",
)
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
        from .show import say

        start.ensure(directory, notice=say)
    if action == "stop":
        got = admin.stop(directory, force=force)
        put(record(got) if seat.json else _stated(got) + "the next command starts it again; so does a wait that still runs\n")
        return 0
    got = admin.status(directory)
    put(record(got) if seat.json else _stated(got))
    return 0


def _stated(got: dict[str, Any]) -> str:
    """The broker's facts, the one that was asked for first."""
    order = [key for key in _ORDER if key in got] + [key for key in got if key not in _ORDER]
    return "".join(f"{key.replace('_', ' '):<14} {_plain(key, got[key])}\n" for key in order if got[key] not in (None, ""))


def _plain(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if key.startswith("memory") and isinstance(value, int):
        return f"{value / (1 << 20):.1f} MiB" if value else "no limit"
    if key == "uptime_seconds":
        minutes, seconds = divmod(int(value), 60)
        return f"{minutes // 60} h {minutes % 60} min {seconds} s"
    return inert(str(value))


def demo(seat: Seat, *, fast: bool = False) -> int:
    """Two real agent processes talk in a scratch workspace."""
    from .demo import run

    return run(seat, fast=fast)


def bench(seat: Seat, *, quick: bool = False, part: str = "") -> int:
    """Measure this machine."""
    from .bench import run

    return run(seat, quick=quick, part=part)
