"""waker: the resident process that wakes this host's idle sessions."""

from __future__ import annotations

from ..calls.call import iso
from ..errors import TimedOut, Usage
from ..hook import wake
from ..settings import host
from ..text import inert
from .show import put, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat

ACTIONS = ("status", "start", "stop", "run")
START_S = 5.0
_COUNTS = ("pid", "sessions", "brokers", "deaf", "unreadable", "wakes", "missed")
_TIMES = ("since", "at")
_SAID = {
    "deaf": "brokers that do not answer now", "unreadable": "addresses that are none", "wakes": "rung since it runs", "missed": "wakes that did not land",
    "at": "as of",
}  # fmt: skip


def waker(seat: Seat, *, action: str = "status") -> int:
    """How it is; start, stop or be it."""
    directory = seat.settings.state_dir
    if action not in ACTIONS:
        raise Usage(message=f"{action!r} is none of {', '.join(ACTIONS)}: redischat waker status")
    if action == "run":
        return _run(seat, directory)
    if action == "start":
        wake.start(directory)
        _await(directory)
    if action == "stop" and not wake.stop(directory):
        pid = wake.status(directory).get("pid", "?")
        raise TimedOut(
            what=f"the waker (pid {pid} on {host()}) has not closed; it closes when it goes on. If it is stopped: kill -CONT {pid}", seconds=f"{wake.CLOSE_S:g}"
        )
    _tell(seat, state(directory))
    return 0


def state(directory: str) -> dict[str, Any]:
    """``running version host pid sessions brokers deaf unreadable wakes missed since at``: counts and times are null while none runs."""
    found = wake.status(directory)
    told = {name: found.get(name) for name in (*_COUNTS, *_TIMES)}
    counts = {name: int(value) if value else None for name, value in told.items()}
    return {
        "running": bool(found), "version": found.get("version"), "host": host(), **{name: counts[name] for name in _COUNTS},
        **{name: iso(counts[name] or 0) for name in _TIMES},
    }  # fmt: skip


def _await(directory: str) -> None:
    """Until it has said how it is, or an older one has made room."""
    import time

    end = time.monotonic() + START_S
    while not (found := wake.status(directory)).get("pid") or wake.older(found.get("version", "")):
        if time.monotonic() > end:
            raise TimedOut(what=f"the waker has not started; what it said: {wake.folder(directory)}/log", seconds=f"{START_S:g}")
        time.sleep(wake.POLL_S)


def _run(seat: Seat, directory: str) -> int:
    from ..waker.run import main

    if wake.running(directory) and not wake.older(wake.status(directory).get("version", "")):
        _tell(seat, state(directory))
        return 0
    return main(directory)


def _tell(seat: Seat, found: dict[str, Any]) -> None:
    if seat.json:
        put(record(found))
        return
    if not found["running"]:
        put("no waker runs on this host; the next session starts one, or: redischat waker start\n")
        return
    rows = [(_SAID.get(key, key), value) for key, value in found.items() if key != "running" and value is not None]
    put("".join(f"{key:<30} {inert(str(value))}\n" for key, value in rows))
