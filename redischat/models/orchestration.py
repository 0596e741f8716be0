"""What programs that lead agents get back: results of a gather, a meeting at a barrier, what happened in a channel."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it
from typing import Any, Literal

from .record import Record
from .tasks import Task  # noqa: TC001 - pydantic reads it


class Gathered(Record):
    """What became of one agent's part in a gather.

    ``how``: done (``result``: what it left with the task), refused (blocked or cancelled, ``reason``), died (its lease ran out: whoever recovers the task may
    finish it, and that comes then), late (not over when the time was up: ``task.status`` open was never begun, perhaps because a budget kept everybody from
    being woken: ``reason`` says so).
    """

    agent: str
    how: Literal["done", "refused", "died", "late"]
    result: str | None
    reason: str | None
    task: Task


class Meeting(Record):
    """Agents that met at a barrier: who had ``arrived``, in that order, and as which one the caller had (``index`` 0: it was the first)."""

    channel: str
    name: str
    arrived: list[str]
    index: int


class Happening(Record):
    """Something that happened in a channel, for whoever watches.

    ``kind``: task.created, task.updated, lease.claimed, lease.lapsed, path.locked, claim.claimed, ... (an audit's status), notice.left, notice.closed, ...,
    event.status, event.capability, or path.lapsed (a lock that ran out). ``subject``: the task, lock or claim that it is about. ``facts``: for programs; ``text``: for people.
    ``position``: give it as ``since`` to go on behind it.
    """

    channel: str
    kind: str
    agent: str
    subject: str | None
    text: str
    ts: datetime | None
    facts: dict[str, Any]
    position: str
