"""Channels: what one is, who is in it, and what became of it."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it

from pydantic import Field

from .record import Record


class Channel(Record):
    """What a channel is. ``members`` are in it, ``done`` have left; ``messages`` counts talk, ``last_seq`` everything; ``max_messages`` 0 is no cap."""

    channel: str
    topic: str | None
    members: list[str]
    done: list[str]
    broadcast: bool
    closed: bool
    closed_reason: str | None
    briefing: str | None
    briefing_by: str | None
    briefing_at: datetime | None
    messages: int
    max_messages: int
    last_seq: int
    joinable: bool
    summary: int | None = None
    created_by: str | None
    created_at: datetime | None


class Opened(Channel):
    """A channel that was opened or joined.

    ``new``: this call created it. ``joined``: new, again, already, or no (nobody to join). ``ignored``: what was asked for and is settled otherwise.
    ``before``: how many messages came before; ``unread``: so many of them wait for the caller. ``nearest``: an older channel of nearly that name, when this one is new.
    """

    new: bool
    joined: str
    ignored: list[str]
    before: int
    unread: int
    nearest: str | None


class Member(Record):
    """One agent's place in a channel: in it or gone (``here``) ``since``; when it was last ``seen``; whether a session holds its name."""

    agent: str
    here: bool
    since: datetime | None
    seen: datetime | None
    held: bool


class Budget(Record):
    """How much may be said in a channel in ``per_s`` seconds: by everybody, or by one ``agent``; and how much was, ``until`` when that counts.

    ``level``: within, warned (from 80 % on), pointed (over it: hooks only point at messages) or silent (over 150 %: and wake nobody for them).
    """

    channel: str
    agent: str | None
    messages: int | None
    characters: int | None
    per_s: int
    used_messages: int
    used_characters: int
    until: datetime | None
    level: str
    by: str


class Roster(Channel):
    """A channel, who is or was in it, and its budgets."""

    roster: list[Member]
    budgets: list[Budget] = Field(default_factory=list)


class Left(Record):
    """The end of a membership. ``left``: False if it had ended before. ``closed``: the last one out closed the channel. ``members``: how many stay."""

    channel: str
    left: bool
    closed: bool
    members: int


class Closed(Record):
    """A channel's end. ``closed``: False if it was closed before, for this ``reason``."""

    channel: str
    closed: bool
    reason: str


class Reopened(Record):
    """A channel that is open again. ``how``: reopened, raised (its cap) or already; ``left`` must come back before it is a conversation."""

    channel: str
    how: str
    max_messages: int
    messages: int
    members: int
    left: list[str]


class Mode(Record):
    """Whom an unaddressed message wakes: ordinary all, broadcast nobody. ``changed``: False if it was so before."""

    channel: str
    changed: bool
    mode: str
    members: int


class Briefing(Record):
    """The house rules of a channel, and whose claim they are."""

    channel: str
    briefing: str | None
    briefing_by: str | None
    briefing_at: datetime | None


class Invitation(Record):
    """A text to hand to another session."""

    channel: str
    topic: str | None
    invitation: str


class Deleted(Record):
    """A channel that was destroyed, or (``deleted`` False) what would go with it."""

    channel: str
    deleted: bool
    messages: int
    tasks: int
    members: list[str]
    broadcast: bool


class Retained(Record):
    """How many of the oldest messages were removed and how many are left, or (``done`` False) would be."""

    channel: str
    removed: int
    messages: int
    done: bool


class Repaired(Record):
    """A channel that was checked. ``kept`` messages; ``*dropped``: entries that redischat did not write. ``tasks``; ``locks`` and ``waiting`` of the workspace.

    ``struck``: who stood in line for a lock and does not listen any more. ``mended``: index -> entries that differed from the records; ``damaged``: records that redischat did not write, left as they are.
    """

    channel: str
    kept: int
    dropped: int
    audits_dropped: int
    events_dropped: int
    tasks: int
    locks: int
    waiting: int
    struck: list[str]
    mended: dict[str, int]
    damaged: list[str]
