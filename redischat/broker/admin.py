"""Stop the embedded broker, say how it is, show its log."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from ..errors import Refused
from ..errors.broker import BrokerStuck, of_server
from ..keys import SHARED
from ..settings import host
from . import ask, lock, served
from .place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

ANSWER_SECONDS = 5.0
STOP_SECONDS = 10.0  # a clean stop flushes the data to the disk first
POLL_SECONDS = 0.02
TAIL_BYTES = 256 * 1024
HEADS = SHARED + "*}:heads"  # hash, channel -> "seq epoch name"
SCAN_COUNT = "1000"


def stop(state_dir: str, *, force: bool = False) -> dict[str, Any]:
    """End the server after it has saved; with ``force`` also one that does not answer. Idempotent.

    Returns ``stopped`` (False: none was running), ``pid`` and ``forced``. What a forced server had not yet written to the disk is lost only with SIGKILL,
    which comes 10 s after SIGTERM.

    Raises:
        BrokerStuck: it does not answer or does not end.
        Refused: it does not answer, and which process it is cannot be proved from here; nothing was signalled.
        NotAllowed, BrokerRefused: it answered, and refused to stop.
    """
    place = Place(state_dir)
    place.check()
    state = _met(place)
    if state == ask.ABSENT and not lock.held(place):
        return {"stopped": False, "pid": None, "forced": False}
    facts = served.read(place)
    pid = lock.holder(place, facts.get("pid")) or facts.get("pid")
    ended = state in (ask.ANSWERS, ask.LOADING) and _shut_down(place, facts, may_refuse=force)
    if not ended and not force:
        raise BrokerStuck(pid=pid, host=facts.get("host", host()), directory=place.directory)
    if not ended:
        _end(place, facts)
    _note_stop(place)
    return {"stopped": True, "pid": pid, "forced": not ended}


def _met(place: Place) -> str:
    """The state of the server, after a while in which one that is just starting or ending may have settled."""
    end = time.monotonic() + ANSWER_SECONDS
    while (state := ask.ping(place.socket)) in (ask.ABSENT, ask.SILENT) and time.monotonic() < end:
        if state == ask.ABSENT and not lock.held(place):
            break
        time.sleep(POLL_SECONDS)
    return state


def _shut_down(place: Place, facts: dict[str, Any], *, may_refuse: bool) -> bool:
    """Whether the server has ended by SHUTDOWN, which answers only when it is refused."""
    try:
        with ask.Talk(place.socket, ANSWER_SECONDS) as talk:
            talk.ask("SHUTDOWN")
    except ask.ServerError as error:
        if may_refuse:
            return False
        raise of_server(str(error), place.url) from error
    except OSError:
        pass  # its end, or no end in time: the lock tells
    return _freed(place, facts)


def _freed(place: Place, facts: dict[str, Any]) -> bool:
    """Whether the server of ``facts`` has ended, in time. Another record means that somebody has started the next one already."""
    end = time.monotonic() + STOP_SECONDS
    while lock.held(place) and served.read(place) == facts:
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _end(place: Place, facts: dict[str, Any]) -> None:
    """Signals, first to save and then to kill; before each it is proved anew whose pid that is."""
    for signals in ((signal.SIGCONT, signal.SIGTERM), (signal.SIGKILL,)):
        pid = lock.holder(place, facts.get("pid"))
        if pid is None:
            break
        for one in signals:
            with suppress(ProcessLookupError):
                os.kill(pid, one)
        if _freed(place, facts):
            return
    if not lock.held(place):
        return
    name = facts.get("host", host())
    raise Refused(
        message=f"which process holds {place.lock} cannot be told from here: nothing more was signalled. It was started as pid {facts.get('pid')} on {name}: end it there"
    )


def _note_stop(place: Place) -> None:
    """A stop on purpose lets another host take the directory over at once. Whoever has started a server meanwhile keeps its record."""
    with suppress(OSError):
        descriptor = lock.take(place)
        if descriptor is not None:
            try:
                served.write(place, {**served.read(place), "stopped_at": served.now()})
            finally:
                os.close(descriptor)


def status(state_dir: str) -> dict[str, Any]:
    """How the server is; never starts one.

    Always: ``running why pid socket directory host``. While it runs: ``version aof fsync memory_bytes memory_limit messages clients uptime_seconds loading``
    (bytes; seconds; ``memory_limit`` None: none; ``messages``: all that were ever said in the channels that exist; ``aof``: ok, rewriting, write failed or
    off); any of these is None when it cannot be known. ``why`` is empty while it runs, else ``never started``, ``stopped`` (on purpose), ``ended`` (killed,
    or with its machine) or a sentence that begins with ``stuck``.
    """
    place = Place(state_dir)
    place.check()
    facts = served.read(place)
    report: dict[str, Any] = dict.fromkeys(
        ("version", "pid", "aof", "fsync", "memory_bytes", "memory_limit", "messages", "clients", "uptime_seconds", "loading"),
    )
    report |= {"running": False, "why": "", "socket": place.socket, "directory": place.directory, "host": facts.get("host", host())}
    if ask.ping(place.socket, ANSWER_SECONDS) in (ask.ANSWERS, ask.LOADING):
        return report | {"running": True} | _figures(place)
    if not lock.held(place):
        return report | {"why": "never started" if not facts else "stopped" if facts.get("stopped_at") else "ended"}
    pid = lock.holder(place, facts.get("pid")) or facts.get("pid")
    return report | {"pid": pid, "why": f"stuck: pid {pid} on {report['host']} holds the directory and does not answer"}


def _figures(place: Place) -> dict[str, Any]:
    """What the server tells of itself; what it refuses to tell (LOADING, NOAUTH) is left out."""
    figures: dict[str, Any] = {}
    try:
        with ask.Talk(place.socket, ANSWER_SECONDS) as talk:
            figures |= _from_info(talk.info())
            figures["fsync"] = talk.ask("CONFIG", "GET", "appendfsync")[1]
            figures["messages"] = sum(_heads(talk))
    except ask.ServerError as error:
        figures |= {"loading": True} if str(error).startswith("LOADING") else {"why": str(error)}
    except OSError as error:
        figures["why"] = f"it stopped answering ({error})"
    return figures


def _from_info(info: dict[str, str]) -> dict[str, Any]:
    return {
        "version": info.get("valkey_version") or info.get("redis_version"),
        "pid": int(info["process_id"]),
        "aof": _aof(info),
        "memory_bytes": int(info["used_memory"]),
        "memory_limit": int(info["maxmemory"]) or None,
        "clients": int(info["connected_clients"]) - 1,  # without us
        "uptime_seconds": int(info["uptime_in_seconds"]),
        "loading": info["loading"] == "1",
    }


def _aof(info: dict[str, str]) -> str:
    if info["aof_enabled"] != "1":
        return "off"
    if info["aof_last_write_status"] != "ok":
        return "write failed"
    return "rewriting" if info["aof_rewrite_in_progress"] == "1" else "ok"


def _heads(talk: ask.Talk) -> Iterator[int]:
    """The last number of each channel of each workspace."""
    cursor, keys = "", set()  # a set: SCAN may name a key twice
    while cursor != "0":
        cursor, found = talk.ask("SCAN", cursor or "0", "MATCH", HEADS, "COUNT", SCAN_COUNT, "TYPE", "hash")
        keys.update(found)
    for key in keys:
        for head in talk.ask("HVALS", key):
            seq = head.split(" ")[0]
            yield int(seq) if seq.isdigit() else 0


def logs(state_dir: str, lines: int = 50) -> list[str]:
    """The last ``lines`` lines of the server's log, oldest first; none when it never ran."""
    try:
        with open(Place(state_dir).log, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            found = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return found[-lines:] if lines > 0 else []
