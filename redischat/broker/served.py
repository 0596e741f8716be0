"""server.json: which server last served this directory, started when, on which host."""

from __future__ import annotations

import json
import os
import time

from ..settings import host

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .place import Place

FRESH_SECONDS = 60.0
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def read(place: Place) -> dict[str, Any]:
    """``pid started_at boot_id host version binary``, and ``stopped_at`` after a clean stop; empty when there is no record or it is damaged."""
    try:
        with open(place.record, encoding="utf-8") as file:
            facts = json.load(file)
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def write(place: Place, facts: dict[str, Any]) -> None:
    """Write the record, whole or not at all. Call it with the lock held, or two starters mix their words."""
    draft = place.record + ".tmp"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(facts, file)
    os.replace(draft, place.record)


def new(pid: int, binary: str, version: str) -> dict[str, Any]:
    """The record of a server that this host has just started."""
    return {"pid": pid, "started_at": now(), "boot_id": boot_id(), "host": host(), "version": version, "binary": binary}


def now() -> str:
    """The time, ISO 8601 UTC with milliseconds."""
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


def boot_id() -> str:
    """What tells this run of this kernel from all others; empty where the system has no such thing (macOS)."""
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def elsewhere(facts: dict[str, Any]) -> bool:
    """Whether another machine served last. Containers on one kernel have many names and one boot id: the lock holds among them."""
    other_name = facts.get("host", host()) != host()
    return other_name and not (facts.get("boot_id") and facts["boot_id"] == boot_id())


def fresh(place: Place, facts: dict[str, Any], at: float) -> bool:
    """Whether the last server was stopped by nobody and left a sign of life within a minute of ``at`` (the file system's clock, seconds).

    Signs of life are the times of its files. An idle server leaves none, so this is the second guard only; the first is the lock, which NFS carries
    between hosts. Only where a file system does not carry it, an idle server on another host goes unseen.
    """
    return not facts.get("stopped_at") and at - max(_times(place)) < FRESH_SECONDS


def _times(place: Place) -> Iterator[float]:
    yield 0.0
    try:
        data = [entry.path for entry in os.scandir(place.data)]
    except OSError:
        data = []
    for path in (place.record, place.log, *data):
        try:
            yield os.stat(path).st_mtime
        except OSError:
            continue
