"""What the verbs of a team's users give back."""

from __future__ import annotations

from .record import Record


class UserAdded(Record):
    """A user with a password that is told only here: ``url`` is what to hand over; None when the user has kept the password that it has.

    ``servers``: where it is now. ``kept``: it outlives a restart of them; else ``why`` not. ``open``: whoever says no name to this server needs no password, so
    users keep nobody out. ``drops``: the user ``default`` may not do everything, and at its next start a Redis 7.0 drops from its append-only file what that user
    may not do. ``ended``: connections that an old password held.
    """

    user: str
    workspace: str
    observer: bool
    url: str | None
    servers: list[str]
    kept: bool
    why: str | None
    open: bool
    drops: bool
    ended: int = 0


class UserRevoked(Record):
    """A user that is none any more. ``servers``, ``kept``, ``why``: as for :class:`UserAdded`."""

    user: str
    workspace: str
    servers: list[str]
    kept: bool
    why: str | None


class UsersUpdated(Record):
    """Users who have the rights of this version now. ``servers``, ``kept``, ``why``: as for :class:`UserAdded`."""

    users: list[str]
    servers: list[str]
    kept: bool
    why: str | None


class User(Record):
    """A user of the broker that redischat made; ``connections`` it has now.

    Of the broker's servers, ``servers`` have it, ``lacks`` do not, ``older`` have an older password (``torn``: another one, nobody knows which is the newer) or have
    not heard that it is ``revoked``. ``stray``: the server that the workspace's verbs go to lacks it.
    """

    user: str
    workspace: str
    observer: bool
    on: bool
    connections: int
    servers: list[str]
    lacks: list[str]
    older: list[str]
    torn: bool
    revoked: bool
    stray: bool
