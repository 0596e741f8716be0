"""Where things stand in a channel, and the summary that says so."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it

from pydantic import Field

from .record import Record
from .tasks import Waits  # noqa: TC001 - pydantic reads it


class Decision(Record):
    """What was decided: ``text`` is the beginning of message ``seq``, as one line."""

    seq: int
    sender: str = Field(alias="from")
    ts: datetime | None
    title: str
    text: str


class Blocker(Record):
    """What stands in the way: ``kind`` message, blocked or stuck (tasks); ``source`` is ``#12`` or a task's id."""

    kind: str
    source: str
    sender: str = Field(alias="from")
    ts: datetime | None
    title: str
    text: str


class Evidence(Blocker):
    """What was verified: ``kind`` message or task (one that is done, by whoever finished it)."""

    acceptance: list[str]


class OpenTask(Record):
    """A task that is not over."""

    id: str
    title: str
    status: str
    owner: str | None
    lease_expires_at: datetime | None
    depends_on: list[str]
    waits_for: list[Waits]
    files_hint: list[str]
    acceptance: list[str]
    branch: str | None
    priority: int
    ready: bool
    stuck: bool
    reason: str | None


class Holding(Record):
    """What one agent has: ids of open tasks and of path locks."""

    tasks: list[str]
    path_locks: list[str]


class HeldPaths(Record):
    """A path lock, as a summary names it."""

    lock_id: str
    owner: str
    repository: str
    paths: list[str]
    mode: str
    reason: str | None
    locked_at: datetime | None
    expires_at: datetime | None
    updated_at: datetime | None


class State(Record):
    """Where things stand. ``last_seq``: the last message that it covers (summaries are not counted). ``damaged``: what was written past redischat and left out."""

    channel: str
    topic: str | None
    members: list[str]
    created_at: datetime | None
    last_seq: int
    generated_at: datetime | None
    decisions: list[Decision]
    open_tasks: list[OpenTask]
    blockers: list[Blocker]
    owners: dict[str, Holding]
    path_locks: list[HeldPaths]
    verification: list[Evidence]
    damaged: list[str]


class Compacted(Record):
    """A summary that was said as message ``seq``; ``posted`` False: the last one says the same already, so no second one was made. ``covers``: up to which message."""

    channel: str
    seq: int
    posted: bool
    covers: int
    chars: int
    warning: str | None
