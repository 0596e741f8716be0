"""The waker's door: is one running on this host, let one start, ask it to close. Nobody is signalled, and whoever starts one does not wait for it.

Its lock lies in a folder of this host, so that hosts which share a home each have their own.
"""

from __future__ import annotations

import os
import sys
import time

from .. import __version__
from ..errors import Refused
from ..settings import host, read_pairs, write_pairs

FOLDER = "waker"
POLL_S = 0.02
CLOSE_S = 5.0
# Not more: what it runs (codex) needs no secrets of the harness that happened to start it.
_ENVIRONMENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "CODEX_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
_CODE = "import sys; sys.path[:0] = sys.argv[2:4]; from redischat.waker.run import started; sys.exit(started(*sys.argv[4:]))"
NAME = "redischat-waker"  # as `ps` shows it


def folder(state_dir: str) -> str:
    """Where the waker of this host keeps its lock, its status and its log."""
    return os.path.join(state_dir, FOLDER, host())


def lock(state_dir: str, *, shared: bool = False, make: bool = True) -> int | None:
    """A descriptor that holds the waker's lock; None while a waker has it. ``shared``: only to look, in nobody's way who looks too; nothing is written.

    ``shared``, or without ``make``, what it needs must be there: FileNotFoundError.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, flock
    except ImportError:
        raise Refused(message="there is no waker on native Windows: use WSL") from None
    if make and not shared:
        os.makedirs(folder(state_dir), mode=0o700, exist_ok=True)
    path = os.path.join(folder(state_dir), "lock")
    descriptor = os.open(path, os.O_RDONLY) if shared else os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        flock(descriptor, (LOCK_SH if shared else LOCK_EX) | LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def running(state_dir: str) -> bool:
    """Does a waker hold the lock?"""
    try:
        held = lock(state_dir, shared=True)
    except FileNotFoundError:
        return False
    if held is None:
        return True
    os.close(held)
    return False


def status(state_dir: str) -> dict[str, str]:
    """What the running waker last said of itself; {} when none runs."""
    if not running(state_dir):
        return {}
    return read_pairs(os.path.join(folder(state_dir), "status")) or {"version": __version__, "state": "starting"}


def older(version: str) -> bool:
    """Is that an older version than ours? What cannot be read is not."""
    return bool(_numbers(version)) and _numbers(version) < _numbers(__version__)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())


def start(state_dir: str) -> bool:
    """Let one start, detached, if none runs or an older one does (which it asks to make room). Gives whether one was started. Waits for nothing.

    It is given the lock: from now on one runs, and who asks it to close now is heard.
    """
    found = status(state_dir)
    if found and not older(found.get("version", "")):
        return False
    import subprocess  # 7 ms, paid by the one session that finds no waker

    held = lock(state_dir)
    given = () if held is None else (held,)
    if given:
        _gone(os.path.join(folder(state_dir), "status"))  # of one that did not end in good order
    words = [sys.executable, "-I", "-c", _CODE, NAME, *_places(), state_dir, *map(str, given)]
    env = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        subprocess.run(["/bin/sh", "-c", '"$@" &', "sh", *words], **nothing, pass_fds=given, start_new_session=True, cwd="/", env=env, check=False)  # type: ignore[call-overload]
    finally:
        if held is not None:
            os.close(held)
    return True


def _places() -> list[str]:
    """Where this redischat lies, and what it needs: a waker that is started by a checkout runs that checkout."""
    from importlib.util import find_spec

    hiredis = find_spec("hiredis")
    ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [ours, os.path.dirname(os.path.dirname(hiredis.origin)) if hiredis and hiredis.origin else ours]


def ask_to_close(state_dir: str) -> None:
    """The running one closes when it sees this."""
    write_pairs(os.path.join(folder(state_dir), "close"), {"by": __version__})


def stop(state_dir: str, seconds: float = CLOSE_S) -> bool:
    """Ask the running one to close, and wait until it has. Gives whether none runs any more.

    One that was just starting takes the place of the one that closed, and its request with it: it is asked, too.
    """
    path, end = os.path.join(folder(state_dir), "close"), time.monotonic() + seconds
    while running(state_dir):
        if time.monotonic() > end:
            return False  # it is still to be heard
        if not os.path.exists(path):
            ask_to_close(state_dir)
        time.sleep(POLL_S)
    _gone(path)  # there only if nobody heard it
    return True


def _gone(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
