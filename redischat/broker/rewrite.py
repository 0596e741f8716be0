"""The embedded broker's file, written anew without what is over, when that pays."""

from __future__ import annotations

import os
import time

from . import ask
from .place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAYS_FROM = 4 << 20  # bytes that came since the last time: less is not worth a fork
PAYS_SHARE = 0.5  # of what it was then
SECONDS = 60.0
_POLL_S = 0.05
NOT_RUNNING, BUSY = "the embedded broker does not run, and its file is not touched while it does not", "it is being written anew just now"


def rewrite(state_dir: str, *, dry: bool = False, wait: bool = True) -> dict[str, Any]:
    """Write the file anew if that pays. Gives ``done`` (or, dry: would be), ``before`` and ``after`` (bytes on the disk), ``why`` where it is not done.

    Without ``wait`` it is only begun; ``after`` is None then, and where it did not end within a minute.
    """
    place = Place(state_dir)
    report: dict[str, Any] = {"done": False, "before": size(place), "after": None, "why": ""}
    try:
        with ask.Talk(place.socket, ask.PING_SECONDS * 10) as talk:
            info = talk.info("persistence")
            report["why"] = _why_not(info)
            if report["why"] or dry:
                return report | {"done": not report["why"]}
            talk.ask("BGREWRITEAOF")
            report["done"] = True
            if wait and _ended(talk):
                report["after"] = size(place)
    except ask.ServerError as error:
        report["why"] = str(error)
    except OSError as error:
        report["why"] = NOT_RUNNING if not os.path.exists(place.socket) or isinstance(error, ConnectionRefusedError) else f"it does not answer ({error})"
    return report


def _why_not(info: dict[str, str]) -> str:
    """Why it is not written anew; "" if it pays."""
    if info.get("aof_enabled") != "1":
        return "it keeps no file"
    if info.get("aof_rewrite_in_progress") == "1" or info.get("rdb_bgsave_in_progress") == "1":
        return BUSY
    now, base = int(info.get("aof_current_size", 0)), int(info.get("aof_base_size", 0))
    return "" if now - base >= max(PAYS_FROM, PAYS_SHARE * base) else "it would free little"


def _ended(talk: ask.Talk) -> bool:
    end = time.monotonic() + SECONDS
    while True:
        info = talk.info("persistence")
        if info.get("aof_rewrite_in_progress") != "1" and info.get("aof_rewrite_scheduled") != "1":
            return True
        if time.monotonic() > end:
            return False
        time.sleep(_POLL_S)


def size(place: Place) -> int:
    """What the data take on the disk, in bytes."""
    try:
        return sum(os.stat(one.path).st_size for one in os.scandir(place.data))
    except OSError:
        return 0
