"""Agents: who speaks, and from where."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it

from pydantic import Field

from .record import Record


class Identity(Record):
    """A name bound to a session. ``how``: new, mine, succeeded or taken_over; ``joined``: the broadcast channels it is in since."""

    agent: str
    token: str = Field(repr=False)
    how: str
    old_session: str
    old_seen: datetime | None
    joined: list[str]


class WhoAmI(Record):
    """Who and where a client is, and where each value comes from. ``token``: whether it has one; ``url`` without its password."""

    agent: str | None
    agent_from: str
    held: bool
    holder: str | None
    holder_host: str | None
    seen: datetime | None
    token: bool
    session: str
    workspace: str
    workspace_from: str
    url: str
    url_from: str
    project: str | None
    project_from: str | None
