"""What the verbs of a team's users give back."""

from __future__ import annotations

from .record import Record


class UserAdded(Record):
    """A user with a password that is told only here: ``url`` is what to hand over. ``kept``: it outlives a restart of the server; else ``why`` not.

    ``open``: whoever says no name to this server needs no password, so users keep nobody out. ``drops``: the user ``default`` may not do everything, and at
    its next start a Redis 7.0 drops from its append-only file what that user may not do. ``ended``: connections that the old password held (rotate).
    """

    user: str
    workspace: str
    observer: bool
    url: str
    kept: bool
    why: str | None
    open: bool
    drops: bool
    ended: int = 0


class UserRevoked(Record):
    """A user that is none any more. ``kept``, ``why``: as for :class:`UserAdded`."""

    user: str
    workspace: str
    kept: bool
    why: str | None


class UsersUpdated(Record):
    """Users who have the rights of this version now. ``kept``, ``why``: as for :class:`UserAdded`."""

    users: list[str]
    kept: bool
    why: str | None


class User(Record):
    """A user of the broker that redischat made; ``connections`` it has now."""

    user: str
    workspace: str
    observer: bool
    on: bool
    connections: int
