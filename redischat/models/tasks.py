"""Claims and tasks: what one is, and what became of it."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from .record import Record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Status = Literal["open", "in_progress", "blocked", "done", "cancelled"]


class Claim(Record):
    """A name that an agent claimed first. ``lease_expires_at`` None: for good. ``lapsed``: its lease ran out, and nobody took it over."""

    channel: str
    name: str
    owner: str
    token: int
    claimed_at: datetime
    lease_expires_at: datetime | None
    lapsed: bool = False
    note: str | None = None


class Claimed(Claim):
    """A claim that was made. ``how``: claimed, renewed (it was the caller's), recovered (from ``previous_owner``, whose lease had run out)."""

    how: Literal["claimed", "renewed", "recovered"]
    previous_owner: str | None
    warning: str | None = None


class Unclaimed(Record):
    """A claim that was given back."""

    channel: str
    name: str
    warning: str | None = None


class Waits(Record):
    """A task that another one waits for, and its status (``missing`` on a damaged board)."""

    id: str
    status: str


class Task(Record):
    """A task: agent-chat's twelve keys, then ours.

    ``priority`` 0 (most urgent) to 4. ``attempt``: which one is under way or comes next. ``token``: the last fencing token. ``ready``: it can be started now.
    ``stuck``: it waits, however far, for something cancelled. ``stale``: its lease ran out. ``dependents`` wait for it. ``reason``: why it was blocked,
    cancelled, reopened, given back or recovered. ``result``: what whoever finished it left with it.
    """

    id: str
    channel: str
    title: str
    status: Status
    owner: str | None
    created_by: str
    depends_on: list[str]
    files_hint: list[str]
    acceptance: list[str]
    lease_expires_at: datetime | None
    branch: str | None
    updated_at: datetime
    priority: int
    attempt: int
    token: int | None
    ready: bool
    waits_for: list[Waits]
    stuck: bool
    stale: bool
    finished_by: str | None
    reason: str | None
    created_at: datetime
    claimed_at: datetime | None
    previous_owner: str | None
    previous_lease_expires_at: datetime | None
    dependents: list[str]
    result: str | None = None


class TaskList(list[Task]):
    """Tasks of a board. ``damaged``: ids whose record redischat did not write (``task_recover_pending`` tells more); they are left out."""

    def __init__(self, tasks: Iterable[Task] = (), *, damaged: Sequence[str] = ()) -> None:
        super().__init__(tasks)
        self.damaged = list(damaged)


class TaskCreated(Record):
    """A task that was put on the board. ``waits_for``: what it waits for, as ``"T-1 (open)"``."""

    channel: str
    id: str
    status: Status
    ready: bool
    waits_for: list[str]
    warning: str | None = None


class TaskChanged(Record):
    """A task that was changed. ``freed`` became ready by it; ``begun`` depend on it and are under way or done; ``waiting`` still wait."""

    channel: str
    id: str
    status: Status
    changed: list[str]
    freed: list[str]
    begun: list[str]
    waiting: list[str]
    warning: str | None = None


class TaskMoved(Record):
    """A task that was ended, blocked, given back or brought back. ``moved`` is False where it was so already; ``late_ms`` after its lease had run out."""

    channel: str
    id: str
    status: Status
    moved: bool
    attempt: int
    late_ms: int | None
    freed: list[str]
    begun: list[str]
    waiting: list[str]
    warning: str | None = None


class LockedFile(Record):
    """A file that a task will touch and somebody else holds."""

    path: str
    holder: str
    expires_at: datetime | None


class Lease(Record):
    """A task that the caller holds. ``how``: claimed, renewed, recovered (from ``previous_owner``). ``token`` rises with every new holder; ``late_ms``: renewed so long after it ran out.

    ``locked``: files of its hints that somebody else holds.
    """

    channel: str
    id: str
    how: Literal["claimed", "renewed", "recovered"]
    token: int
    lease_expires_at: datetime
    attempt: int
    late_ms: int | None
    previous_owner: str | None
    previous_lease_expires_at: datetime | None
    files_hint: list[str]
    locked: list[LockedFile] = Field(default_factory=list)
    warning: str | None = None


class BoardRepaired(Record):
    """A board that was checked. ``mended``: index -> entries that differed; ``damaged``: ids whose record redischat did not write, left as they are."""

    channel: str
    tasks: int
    mended: dict[str, int]
    damaged: list[str]
    warning: str | None = None
