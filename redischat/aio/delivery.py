"""Messages in hand: handed out one by one (listen) or as a batch (take), acked when they are dealt with, given back when they are not."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from ..calls.messages import renew
from ..errors import ChannelClosed, Usage
from ..models import Gathered, Happening, InHand, Message, Note, Reading
from .errand import AsyncErrand
from .renewal import AsyncRenewal

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
    from types import TracebackType
    from typing import Any

    from ..calls.call import Caller, Show
    from .connection import AsyncConnection


Shown = TypeVar("Shown", Gathered, Happening)


class Lease:
    """The delivery lease of one reader: its id, for how many seconds it holds, and whose it is."""

    __slots__ = ("key", "seconds", "who")

    def __init__(self, who: Caller, key: str, seconds: float) -> None:
        if not seconds > 0:  # also nan
            raise Usage(message=f"a lease is more than 0 seconds, not {seconds}")
        self.who, self.key, self.seconds = who, key, seconds

    @property
    def ms(self) -> int:
        """Its length in milliseconds."""
        return int(self.seconds * 1000)


class AsyncHeld(InHand, Message):
    """A message in hand. It is acked when the next one is asked for, or by :meth:`ack`; ``notes`` say what is missing in front of it."""

    notes: list[Note]
    _settle: Callable[[], Awaitable[object]]

    def hand(self, settle: Callable[[], Awaitable[object]]) -> AsyncHeld:
        """This message, in the hand of whoever may ``settle`` it."""
        self._settle = settle
        return self

    async def ack(self) -> None:
        """It is dealt with: it does not come again. Acking twice changes nothing."""
        await self._settle()


class AsyncHand:
    """What one reader has in hand, under a lease that is renewed. It is given back once: when the reader ends, or when its client disconnects before."""

    def __init__(self, connection: AsyncConnection, flow: Generator[Any, Any, Any], lease: Lease) -> None:
        self.errand = AsyncErrand(connection, flow)
        self._connection = connection
        self._renewal = AsyncRenewal(lambda: connection.run(renew(lease.who, lease.key, lease.ms)), lease.seconds)
        self._closing: asyncio.Future[None] | None = None

    def hold(self) -> None:
        """Something is in hand from now on: whoever breaks out of a loop, or fails in its body, leaves it to the client to give it back."""
        self._renewal.hold()
        self._connection.lend(self.close)

    def rest(self) -> None:
        """Nothing is in hand."""
        self._renewal.rest()
        self._connection.returned(self.close)

    async def close(self) -> None:
        """Give back what is in hand; whoever else asks for that waits for the same."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._closed())
        await asyncio.shield(self._closing)

    async def _closed(self) -> None:
        try:
            await self._renewal.close()
        finally:
            await self.errand.close()
            self._connection.returned(self.close)


async def listening(connection: AsyncConnection, flow: Generator[Any, Any, Any], lease: Lease) -> AsyncGenerator[AsyncHeld]:
    """Message by message of an endless wait, which hands out one at a time; ends when all its channels are closed."""
    hand = AsyncHand(connection, flow, lease)
    notes: list[dict[str, Any]] = []
    try:
        show = await hand.errand.go()
        while show is not None:
            notes += [note for note in show.notes if note["gap"] or note.get("gone_from")]
            if show.messages:
                hand.hold()
                yield _held(connection, show, notes)
                hand.rest()
                notes = []
            show = await hand.errand.go(len(show.messages))
    except ChannelClosed:
        return
    finally:
        await hand.close()


async def streaming(connection: AsyncConnection, flow: Generator[Any, Any, Any], kind: type[Shown]) -> AsyncGenerator[Shown]:
    """What a flow (wrapped as its client's seat does it) shows, one by one, as models of one kind."""
    errand = AsyncErrand(connection, flow)
    try:
        show = await errand.go()
        while show is not None:
            for one in show.messages:
                yield kind.model_validate(one)
            show = await errand.go(len(show.messages))
    finally:
        await errand.close()


def _held(connection: AsyncConnection, show: Show, notes: list[dict[str, Any]]) -> AsyncHeld:
    made = AsyncHeld.model_validate({**show.messages[0], "notes": notes})
    return made.hand(lambda: connection.run(show.acking(1)))


class AsyncTake:
    """A batch of messages in hand, for one ``async with``: acked at its clean end, given back when it fails (they come again, marked ``repeat``)."""

    def __init__(self, connection: AsyncConnection, flow: Generator[Any, Any, Any], lease: Lease) -> None:
        self._hand, self._count, self._entered = AsyncHand(connection, flow, lease), 0, False

    async def __aenter__(self) -> Reading:
        if self._entered:
            raise Usage(message="a block is entered once: for another one call take() again")
        self._entered = True
        try:
            show = await self._hand.errand.go()
        except BaseException:
            await self._hand.close()
            raise
        if show is None:
            return Reading(messages=[], notes=[])
        self._hand.hold()
        self._count = len(show.messages)
        return Reading.model_validate({"messages": show.messages, "notes": show.notes})

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._hand.rest()
            if error is None and self._hand.errand.showing:
                await self._hand.errand.go(self._count)
        finally:
            await self._hand.close()


class Kept:
    """What a read had acked, or was about to, when it was interrupted: only this client has it, so its next read gives it."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._notes: list[dict[str, Any]] = []

    def keep(self, show: Show) -> None:
        """Remember what was handed to a caller that was not there any more."""
        self._messages += show.messages
        self._notes += show.notes

    def give(self, rooms: list[str]) -> Reading | None:
        """What is kept of these channels (none named: of all)."""
        if not self._messages and not self._notes:
            return None
        mine = [_of(one, rooms) for one in (self._messages, self._notes)]
        self._messages = [one for one in self._messages if one not in mine[0]]
        self._notes = [one for one in self._notes if one not in mine[1]]
        return Reading.model_validate({"messages": mine[0], "notes": mine[1]}) if any(mine) else None


def _of(rows: list[dict[str, Any]], rooms: list[str]) -> list[dict[str, Any]]:
    return [row for row in rows if not rooms or row["channel"].lower() in rooms]
