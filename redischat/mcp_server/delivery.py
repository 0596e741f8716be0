"""What was handed to a client counts as read when the answer has really left; what did not leave comes again."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

import anyio

from ..aio.errand import GivenBack
from ..errors import ChatError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from types import TracebackType
    from typing import Any, Self

    from mcp.shared.message import SessionMessage

    from ..aio.client import AsyncClient
    from ..aio.errand import AsyncErrand

T = TypeVar("T")
SETTLE_S = 3.0  # what settles may take so long when everything else is over


class Held:
    """Messages in an answer on its way: ``shown`` of those that the errand is showing. Settled once, by whoever knows how the answer fared."""

    def __init__(self, chat: AsyncClient, errand: AsyncErrand, shown: int) -> None:
        self._chat, self._errand, self._shown, self._open = chat, errand, shown, True

    async def left(self) -> None:
        """The answer has left: what it showed is read."""
        await self._settled(lambda: self._errand.go(self._shown))

    async def lost(self, *, begun: bool = True) -> None:
        """It did not leave. ``begun``: a part of it may have; then what it showed comes again marked ``repeat``."""
        await self._settled(lambda: self._errand.go(failure=GivenBack(self._shown if begun else 0)))

    async def _settled(self, settle: Callable[[], Awaitable[object]]) -> None:
        if not self._open:
            return
        self._open = False
        try:
            with suppress(GivenBack):
                await settle()
        except ChatError as error:  # the lease lapses by itself: it comes again
            sys.stderr.write(f"redischat mcp: not settled: {error.code}\n")
        finally:
            await self._errand.close()
            await self._chat.disconnect()


class Deliveries:
    """The answers of one connection (or of one HTTP request) that hold messages, by the id of their request."""

    def __init__(self) -> None:
        self._held: dict[str | int | None, Held] = {}
        self._over = False

    async def hold(self, request: str | int | None, held: Held) -> None:
        """Keep what an answer holds until it is known how that fared. An answer that was never written gives way to the next one of that id."""
        if self._over:
            await held.lost(begun=False)
            return
        before, self._held[request] = self._held.get(request), held
        if before is not None:
            await before.lost()

    def take(self, request: str | int | None) -> Held | None:
        """What the answer to ``request`` holds; it is the caller's to settle."""
        return self._held.pop(request, None)

    async def close(self, *, left: bool = False) -> None:
        """Settle all that is still there: nothing more will be written."""
        self._over = True
        while self._held:
            _, held = self._held.popitem()
            await finished(held.left() if left else held.lost(begun=False))


AROUND: ContextVar[Deliveries | None] = ContextVar("AROUND", default=None)  # of the HTTP request or the connection that this is a part of


class Telling:
    """A stream to a client: once an answer was sent, and ``arrived``, what it held is settled."""

    def __init__(self, stream: Any, deliveries: Deliveries, arrived: Callable[[], Awaitable[bool]] | None) -> None:
        self._stream, self._deliveries, self._arrived = stream, deliveries, arrived

    async def send(self, item: SessionMessage) -> None:
        """Send one message on, and settle what it held."""
        held = self._deliveries.take(getattr(item.message, "id", None)) if not hasattr(item.message, "method") else None
        if held is None:
            await self._stream.send(item)
            return
        if not hasattr(item.message, "result"):  # an error went out in its place
            await finished(held.lost(begun=False))
            await self._stream.send(item)
            return
        try:
            await self._stream.send(item)
            came = self._arrived is None or await self._arrived()
        except BaseException:
            await finished(held.lost())
            raise
        await finished(held.left() if came else held.lost())

    async def aclose(self) -> None:
        """Close the stream."""
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._stream.__aexit__(kind, error, trace)


async def finished(doing: Coroutine[Any, Any, Any]) -> None:
    """Do this to its end, also where all around it is cancelled; a cancellation is raised afterwards."""
    task = asyncio.create_task(doing)
    with anyio.CancelScope(shield=True):
        await asyncio.wait([task], timeout=SETTLE_S)
    if not task.done():
        task.cancel()
    elif not task.cancelled() and (error := task.exception()):
        sys.stderr.write(f"redischat mcp: {type(error).__name__} while settling\n")


async def apart(doing: Coroutine[Any, Any, T], undo: Callable[[T], Awaitable[object]] | None = None) -> T:
    """Do this where a cancellation comes once: anyio's comes again at each await, and what gives back would be cut short.

    ``undo``: what is done with the outcome when it came together with the cancellation: nobody will see it.
    """
    task = asyncio.create_task(doing)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            task.cancel()
            await asyncio.wait([task], timeout=SETTLE_S)
            if task.done() and not task.cancelled() and task.exception() is None and undo is not None:
                await undo(task.result())
        raise
