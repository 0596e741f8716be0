"""Keeping this user's proof that a session holds a name (settings.Binding reads it)."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

from .settings import host, write_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .settings import Settings


@contextmanager
def alone(directory: str) -> Iterator[None]:
    """One at a time: of two that identify at once, the token kept last must be the one drawn last, or the session is refused as somebody else."""
    try:
        from fcntl import LOCK_EX, flock
    except ImportError:  # native Windows
        yield
        return
    door = os.open(os.path.join(directory, "lock.tmp"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        flock(door, LOCK_EX)
        yield
    finally:
        os.close(door)


def write(settings: Settings, agent: str, token: str) -> None:
    """Keep the token of ``agent``, drawn now for this session, private to this user."""
    facts = {"agent": agent, "token": token, "session": settings.session, "project": settings.home, "host": host()}
    write_pairs(settings.binding(agent.lower()), {**facts, "drawn": str(time.time_ns())})
