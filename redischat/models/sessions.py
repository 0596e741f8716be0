"""Sessions: who is there, and where a message found whom it is for."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it

from pydantic import Field

from .channels import Budget  # noqa: TC001 - pydantic reads it
from .record import Record


class Wake(Record):
    """What is known of waking a session. ``proof``: unproved, proved or failed, seen ``at``, ``age_s`` seconds ago; ``way``: file, queue, http or none."""

    way: str
    proof: str
    at: datetime | None
    age_s: int | None


class Session(Record):
    """One running harness that is an agent.

    ``state``: working, idle, waiting or gone, as its hooks tell; ``inferred`` from what it did where no hook tells (then also live: seen within 2 minutes,
    or quiet: within a day).
    ``connected``: it or its waker gave a sign within a minute. ``silent_s``: seconds since its last act, at the broker's clock. ``how`` it is known: hooks,
    waker, wait, acts. ``here``: on this host. ``holds``: the name is bound to it; False: another session took the name.
    """

    session: str | None
    pid: int | None
    host: str | None
    here: bool
    dir: str | None
    harness: str | None
    state: str
    connected: bool
    last_active: datetime | None
    silent_s: int
    wake: Wake | None
    how: list[str]
    holds: bool
    inferred: bool


class Present(Record):
    """One agent and its sessions, this host's first; the budgets that are its own."""

    agent: str
    sessions: list[Session]
    budgets: list[Budget] = Field(default_factory=list)


class Reach(Record):
    """Where a message found one agent.

    ``how``: listening, working, proved, unproved, failed or absent, as in a receipt; ``state``: idle or working, None where no hook tells; ``silent_s``:
    seconds since its last act.
    """

    agent: str
    how: str
    state: str | None
    last_active: datetime | None
    silent_s: int | None
    wake: Wake | None
