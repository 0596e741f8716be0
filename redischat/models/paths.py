"""Path locks: what was locked, who holds what, and who waits for it. Paths are below their repository's root, "." is all of it."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it

from .record import Record


class LockedPath(Record):
    """One path under a lock. ``token`` rises for ever: whoever shows an older one has lost it since. ``mode``: exclusive or shared."""

    path: str
    token: int
    mode: str
    lock_id: str
    expires_at: datetime


class TakenOver(Record):
    """A path whose holder's lease had run out, and whose it was."""

    path: str
    previous_owner: str
    previous_expires_at: datetime


class PathLock(Record):
    """Paths that the caller holds now. ``token``: the newest of them; ``expires_at``: the soonest.

    ``repository`` and ``how`` it was found (None: locks of several). ``renewed``: all of them were the caller's before; ``late_seconds``: one had run out so
    long ago. ``recovered``: what was taken over from others. ``warning``: nobody had heard of the caller before.
    """

    channel: str
    owner: str
    repository: str | None
    how: str | None
    lock_id: str
    token: int
    mode: str
    expires_at: datetime
    paths: list[LockedPath]
    renewed: bool
    late_seconds: float | None
    recovered: list[TakenOver]
    warning: str | None


class PathHolder(Record):
    """One lock in the way of ``asked``: on ``path``, by ``holder``. ``lapsed``: its lease has run out. ``offered``: to one in line, who has yet to take it."""

    path: str
    asked: str
    holder: str
    mine: bool
    mode: str
    expires_at: datetime
    lapsed: bool
    token: int
    lock_id: str
    offered: bool
    channel: str | None
    reason: str | None


class PathWaiter(Record):
    """An agent that stands in line for a path, before the caller."""

    agent: str
    path: str


class PathCheck(Record):
    """Who holds what overlaps ``paths``. ``free``: nobody but the caller, and nobody stands in line for it before the caller."""

    channel: str
    repository: str
    how: str
    paths: list[str]
    free: bool
    held: list[PathHolder]
    in_line: list[PathWaiter]


class UnlockedPath(Record):
    """A path that was let go of."""

    path: str
    lock_id: str
    repository: str


class Unlocked(Record):
    """What was let go of."""

    channel: str
    owner: str
    unlocked: list[UnlockedPath]


class HeldLock(Record):
    """One lock as it is listed. ``previous_*`` and ``recovery_reason``: of the one whose lease had run out."""

    lock_id: str
    owner: str
    channel: str
    repository: str
    paths: list[str]
    mode: str
    token: int
    expires_at: datetime
    lapsed: bool
    locked_at: datetime | None
    updated_at: datetime | None
    reason: str | None
    previous_owner: str | None
    previous_expires_at: datetime | None
    recovery_reason: str | None


class InLine(Record):
    """One request that waits for paths."""

    request: str
    owner: str
    channel: str
    repository: str
    paths: list[str]
    mode: str
    since: datetime
    reason: str | None


class Locks(Record):
    """Who holds what, by path, and who waits, in order; of one repository, or (``repository`` None) of all."""

    repository: str | None
    how: str | None
    locks: list[HeldLock]
    waiting: list[InLine]
