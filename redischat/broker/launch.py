"""Launch one server that outlives us and holds our lock, and say why it ended if it ended at once."""

from __future__ import annotations

import os
import shlex
import subprocess
from contextlib import suppress

from ..errors.broker import BrokerNotStarted
from . import binary, served

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .place import Place

LOG_BYTES = 4 * 1024 * 1024  # a log above this is put aside when the next server starts
OLD = ".1"
FAREWELL = "ready to exit, bye bye"  # the last words of Redis and Valkey after a clean stop
LAUNCH_SECONDS = 10.0
UMASK = 0o077
# sh puts the server into the background and is gone: no zombie stays with a long-lived caller, and nobody waits for it.
_DETACH = '"$@" >&2 & echo $!'
# Not more: the server needs no secrets of the harness that happened to start it, and a wrong LC_ALL ends some versions.
_ENVIRONMENT = ("PATH", "HOME", "TMPDIR", "TZ", "LD_LIBRARY_PATH")


class Launched:
    """A server that was started: its binary, where its words begin in the log, and the record of the one before."""

    __slots__ = ("before", "binary", "log_offset", "version")

    def __init__(self, path: str, version: str, log_offset: int, before: dict[str, Any]) -> None:
        self.binary, self.version, self.log_offset, self.before = path, version, log_offset, before


def launch(place: Place, lock: int, fsync: str) -> Launched:
    """Start a server that inherits the descriptor ``lock``. Close it afterwards: from then on the lock lives exactly as long as the server.

    Raises:
        BrokerTooOld, BrokerNotStarted: there is no binary to start.
        OSError: the log cannot be written.
    """
    before = served.read(place)
    path, version = binary.find(before.get("binary", ""))
    _put_aside(place.log)
    with open(place.log, "ab") as log:
        launched = Launched(path, version, log.tell(), before)
        try:
            pid = _detached(_command(place, path, fsync), lock, log.fileno())
        except subprocess.SubprocessError as error:
            raise BrokerNotStarted(why=f"/bin/sh could not start {path}", remedy=f"More in {place.log}; this machine may be short of processes") from error
    with suppress(OSError):  # a full disk: the server will say so itself, or run
        served.write(place, served.new(pid, path, version))
    return launched


def was_told_to_end(place: Place, launched: Launched) -> bool:
    """Whether the server ended in good order (``server stop``, the end of a login) and not because it cannot run."""
    return FAREWELL in _last_line(place.log, launched.log_offset)


def why_it_ended(place: Place, launched: Launched) -> BrokerNotStarted:
    """The refusal to raise about a server that ended before it answered. Call it with the lock held: the record of the one before comes back."""
    with suppress(OSError):
        served.write(place, launched.before)
    last = _last_line(place.log, launched.log_offset)
    if "No space left on device" in last or place.is_full():
        return place.disk_full()
    return BrokerNotStarted(why=f"{launched.binary} ({launched.version}) ended at once: {last or 'it left no word'}", remedy=_remedy(place, launched))


def _remedy(place: Place, launched: Launched) -> str:
    writer, version = launched.before.get("binary"), launched.before.get("version")
    if writer and (writer, version) != (launched.binary, launched.version):
        return f"Its data was last written by {writer} ({version}), and an older or other server may call that corrupt: do not repair it, set REDISCHAT_SERVER to such a binary"
    aside = f"To begin anew and keep the old data: mv {shlex.quote(place.data)} {shlex.quote(place.data + '.aside')}"
    return f"More in {place.log}" + (f". {aside}" if os.path.isdir(place.data) else "")


def _command(place: Place, path: str, fsync: str) -> list[str]:
    """The server unlinks a stale socket itself before it listens; it only ever runs with the lock held."""
    options = {
        "port": "0",
        "unixsocket": place.socket,
        "unixsocketperm": "700",
        "dir": place.directory,
        "logfile": place.log,
        "appendonly": "yes",
        "appendfsync": fsync,
        "save": "",
        "maxmemory-policy": "noeviction",
        "timeout": "0",
    }
    return [path, *(word for option, value in options.items() for word in ("--" + option, value))]


def _detached(command: list[str], lock: int, log: int) -> int:
    """The pid of ``command``, running in a session of its own; what it says before it has opened its log goes to ``log``."""
    started = subprocess.run(
        ["/bin/sh", "-c", _DETACH, "sh", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        pass_fds=(lock,),
        start_new_session=True,
        cwd="/",
        env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
        umask=UMASK,
        timeout=LAUNCH_SECONDS,
        check=True,
    )
    return int(started.stdout)


def _put_aside(log: str) -> None:
    """Nothing else bounds the log; the server opens it anew for every line, so even a running one would follow."""
    with suppress(FileNotFoundError):
        if os.path.getsize(log) > LOG_BYTES:
            os.replace(log, log + OLD)


def _last_line(log: str, offset: int) -> str:
    with open(log, "rb") as file:
        file.seek(offset)
        lines = file.read(LOG_BYTES).decode(errors="replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
