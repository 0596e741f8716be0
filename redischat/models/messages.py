"""Messages: what was said, what a post cost, what waits and what is owed."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003 - pydantic reads it
from typing import TYPE_CHECKING, overload

from pydantic import Field

from .channels import Budget  # noqa: TC001 - pydantic reads it
from .record import Audience, Record
from .sessions import Reach  # noqa: TC001 - pydantic reads it

if TYPE_CHECKING:
    from collections.abc import Iterator


class Message(Record):
    """One entry of a channel's transcript.

    ``kind`` is message, notice or audit; ``seq`` counts from 1 without gaps (None for an audit: it follows message ``after`` as its ``n``-th). ``to`` is
    whom the author named (None: nobody in particular), ``wakes`` whom that woke. ``repeat``: a reader of mine may have shown it before. ``cut``: its size
    in bytes, when ``body`` is only its beginning. ``facts``: what an audit says, for programs (``task owner token lease_expires_at ...``). ``hooks``: handed out
    by them whole, only pointed at, or silent (pointed at, and waking nobody: over a budget).
    """

    channel: str
    seq: int | None
    kind: str
    sender: str = Field(alias="from")
    to: Audience | None
    wakes: Audience
    title: str | None
    status: str | None
    reply_to: int | None
    thread: str | None
    ts: datetime | None
    body: str
    mine: bool
    for_me: bool
    repeat: bool
    cut: int | None
    after: int | None
    n: int | None
    facts: dict[str, str | None] | None = None
    hooks: str = "whole"


class Preview(Record):
    """The beginning of a message that was only pointed at."""

    seq: int
    sender: str = Field(alias="from")
    start: str


class Note(Record):
    """What a reader must know beside the messages of one channel, before message ``first``.

    ``busy_until``: another reader of the agent shows this channel until then. ``more``: so many are left unread. ``gap``: so many were removed unread. ``gone_from .. gone_to``: the broker lost these, which were shown before.
    ``passive``, from ``lo`` on: so many were only pointed at. ``circle``: this wait closed a circle of agents that wait for each other.
    """

    kind: str
    channel: str
    first: int | None = None
    more: int = 0
    gap: int = 0
    busy_until: datetime | None = None
    passive: int = 0
    lo: int = 0
    previews: list[Preview] = Field(default_factory=list)
    gone_from: int | None = None
    gone_to: int | None = None
    circle: str | None = None


class Messages(Record):
    """A sequence of messages, oldest first in each channel."""

    messages: list[Message]

    def __iter__(self) -> Iterator[Message]:  # type: ignore[override]
        return iter(self.messages)

    def __len__(self) -> int:
        return len(self.messages)

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> list[Message]: ...
    def __getitem__(self, at: int | slice) -> Message | list[Message]:
        return self.messages[at]


class Reading(Messages):
    """What one reader was handed: a sequence of messages, oldest first in each channel, and the notes beside them."""

    notes: list[Note]

    @property
    def more(self) -> int:
        """How many messages are left unread because they were over the limit."""
        return sum(note.more for note in self.notes)

    @property
    def gap(self) -> int:
        """How many unread messages were removed by retention."""
        return sum(note.gap for note in self.notes)


class History(Messages):
    """A transcript or a part of it: a sequence of messages, and how many older ones are still there."""

    channel: str
    last_seq: int
    older: int


class Receipt(Record):
    """What a post cost: its number and time, whom it wakes (``audience``), how many members the channel has, whether it closed it, and a hint on narrowing.

    ``budget``: the one that this message is over, or has nearly used up.
    """

    channel: str
    seq: int
    sender: str = Field(alias="from")
    ts: datetime
    audience: Audience
    members: int
    closed: bool
    hint: bool
    budget: Budget | None = None


class FullReceipt(Receipt):
    """A receipt that also says whether the message reaches anyone; names up to 20, counts beyond.

    ``wakes`` are woken, ``passive`` see it when working. Of the woken: ``listening`` wait for it now, ``working`` see it at their next step, ``proved`` are
    idle and ringing is known to wake them, ``unproved`` are idle and it is not (or have no hooks and were seen in the last 2 minutes), ``failed`` are idle and
    the last ring woke nobody or nothing can ring them, ``absent`` have no live session. ``reach`` tells of each when it was last active. ``braked``: not woken, because
    the two have only talked for twelve messages. ``silenced``: not woken, because of a budget.
    """

    chars: int
    stored: str
    wakes: list[str]
    wakes_count: int
    passive: list[str]
    passive_count: int
    listening: list[str]
    working: list[str]
    proved: list[str]
    unproved: list[str]
    failed: list[str]
    absent: list[str]
    reach: list[Reach]
    braked: list[str] = Field(default_factory=list)
    silenced: list[str] = Field(default_factory=list)
    warning: str | None
    durable: bool | None = None
    replicas: int | None = None


class PendingMessage(Record):
    """One message that waits, without its text."""

    seq: int
    kind: str
    sender: str = Field(alias="from")
    to: Audience | None
    wakes: Audience
    for_me: bool
    ts: datetime | None


class Pending(Record):
    """What waits for an agent in one channel. ``more``: there may be more than were counted."""

    channel: str
    agent: str
    pending: int
    for_you: int
    others: int
    wakes_me: bool
    senders: list[str]
    oldest: datetime | None
    more: bool
    messages: list[PendingMessage]


class Owed(Record):
    """Who waits for an agent's answer in one channel: the newest question, and how many since ``first_seq``."""

    channel: str
    agent: str
    sender: str = Field(alias="from")
    seq: int
    first_seq: int
    unanswered: int
    waiting_since: datetime
    text: str


class Ack(Record):
    """Up to where a channel is read; how many of the acked were never shown."""

    channel: str
    agent: str
    read: int
    never_shown: int
