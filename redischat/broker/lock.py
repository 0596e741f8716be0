"""The lock of a broker's directory: whoever holds it may start the server, and the server holds it as long as it lives."""

from __future__ import annotations

import os
import subprocess

try:
    import fcntl
except ImportError:  # native Windows; Place.check has refused it before anything here is called
    fcntl = None  # type: ignore[assignment]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .place import Place

PRIVATE_FILE = 0o600
PS_SECONDS = 5.0
PROC = "/proc"


def take(place: Place, flags: int = os.O_CREAT) -> int | None:
    """A descriptor that holds the lock, or None while a server (or who is about to start one) holds it.

    Give it back by closing it. Never LOCK_UN: that would free it for the server too, which holds the same open file.

    Raises:
        OSError: the lock file cannot be made or opened.
    """
    descriptor = os.open(place.lock, os.O_RDWR | flags, PRIVATE_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def held(place: Place) -> bool:
    """Whether a server (or who is about to start one) holds the lock."""
    try:
        descriptor = take(place, flags=0)
    except FileNotFoundError:
        return False
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


def disk_clock(descriptor: int) -> float:
    """The time by the clock that stamps the lock's file system (seconds): a file server's clock may differ from ours."""
    os.utime(descriptor)
    return os.fstat(descriptor).st_mtime


def holder(place: Place, recorded: int | None) -> int | None:
    """The process that is the server and holds the lock, proved; None when that cannot be proved from here.

    A pid alone proves nothing: it may have passed to another process, or mean something else in this container. Linux shows who has the lock (and the
    server's fork that rewrites its log has it too: the parent is meant). Elsewhere the ``recorded`` pid must be running with our socket as its address.
    """
    if os.path.isdir(os.path.join(PROC, "self", "fdinfo")):
        found = [pid for pid in _processes() if _has_lock(pid, place.lock) and place.socket in _command(pid)]
        return next((pid for pid in found if _parent(pid) not in found), None)
    return recorded if recorded and place.socket in _told_by_ps(recorded) else None


def _processes() -> Iterator[int]:
    return (int(name) for name in os.listdir(PROC) if name.isdigit())


def _has_lock(pid: int, path: str) -> bool:
    """Whether ``pid`` has the lock and not only the file, as those have who wait for it."""
    try:
        numbers = os.listdir(os.path.join(PROC, str(pid), "fd"))
    except OSError:  # another user's, or gone meanwhile
        return False
    return any(_is_lock(pid, number, path) for number in numbers)


def _is_lock(pid: int, number: str, path: str) -> bool:
    file = os.path.join(PROC, str(pid), "fd", number)
    try:
        if os.path.basename(os.readlink(file)) != os.path.basename(path) or not os.path.samefile(file, path):
            return False
        with open(os.path.join(PROC, str(pid), "fdinfo", number), encoding="ascii") as facts:
            return any(line.startswith("lock:") and "FLOCK" in line for line in facts)
    except OSError:  # closed meanwhile: the process goes on while we look
        return False


def _command(pid: int) -> str:
    try:
        with open(os.path.join(PROC, str(pid), "cmdline"), "rb") as file:
            return os.fsdecode(file.read())
    except OSError:
        return ""


def _parent(pid: int) -> int:
    try:
        with open(os.path.join(PROC, str(pid), "stat"), encoding="utf-8", errors="replace") as file:
            return int(file.read().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def _told_by_ps(pid: int) -> str:
    try:
        return subprocess.run(["/bin/ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, timeout=PS_SECONDS, check=False).stdout.decode(
            errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
