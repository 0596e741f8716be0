"""Drives a flow: answers what it asks for, throws what goes wrong in at the yield, and lets it settle what it took."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from ..calls.call import Call, Everywhere, Listen, Show
from .connection import heeding
from .doorbell import AsyncDoorbell
from .servers import servers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Generator
    from typing import Any

    from .connection import AsyncConnection

SETTLE_S = 2.0  # a cancelled flow may spend so long on each Call that gives back what it took


async def settled(work: Coroutine[Any, Any, Any]) -> Any:
    """Give something back even if the caller is cancelled meanwhile, who hears of that when it is done, or after 2 s."""
    doing = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        doing.add_done_callback(lambda one: one.cancelled() or one.exception())  # nobody else asks how it went
        await asyncio.wait([doing], timeout=SETTLE_S)
        raise


class GivenBack(BaseException):
    """Thrown into a flow whose reader went away with messages in hand: ``maybe`` of them may have been seen, they come again, marked."""

    def __init__(self, maybe: int) -> None:
        self.shown, self.maybe = 0, maybe
        super().__init__(maybe)


class AsyncErrand:
    """One flow on its way over one connection, with its own doorbell. :meth:`close` it whatever happens."""

    def __init__(self, connection: AsyncConnection, flow: Generator[Any, Any, Any]) -> None:
        self.result: Any = None
        self._connection, self._flow, self._doorbell = connection, flow, AsyncDoorbell(connection)
        self._showing: Show | None = None
        self._interrupted: BaseException | None = None

    @property
    def showing(self) -> bool:
        """Whether it waits to hear how much was shown."""
        return self._showing is not None

    async def go(self, answer: Any = None, failure: BaseException | None = None) -> Show | None:
        """Send ``answer`` in, or throw ``failure``, and go on to the next Show; None at the end of the flow, with its ``result``."""
        self._showing = None
        while True:
            if isinstance(failure, asyncio.CancelledError) and self._interrupted is None:
                self._interrupted = failure
                rest: Show | None = await settled(self.go(failure=failure))  # apart: who is cancelled again must not cut short what gives back
                return rest
            self._interrupted = self._interrupted or _interruption(failure)
            try:
                asked = self._flow.send(answer) if failure is None else self._flow.throw(failure)
            except StopIteration as end:
                self.result = end.value
                return None
            except BaseException as error:
                if self._interrupted is not None and error is not self._interrupted:
                    raise self._interrupted from error  # settling failed as well: the interruption is what the caller asked for
                raise
            if isinstance(asked, Show):
                self._showing = asked
                return asked
            answer = failure = None
            try:
                answer = await self._do(asked)
            except BaseException as error:  # noqa: BLE001 - the flow decides what an error means
                failure = error

    async def _do(self, asked: Call | Listen | Everywhere | list[Call]) -> Any:
        if isinstance(asked, Listen):
            return await self._doorbell.listen(asked)
        if isinstance(asked, Everywhere):
            return await self._everywhere(asked)
        if not isinstance(asked, Call):
            return await self._connection.pipe(asked) if asked else []
        if self._interrupted is not None:
            return await heeding(asyncio.shield(self._connection.run(asked)), SETTLE_S)
        return await self._connection.run(asked)

    async def _everywhere(self, asked: Everywhere) -> list[Any]:
        found = []
        for name, one in await servers(self._connection, replicas=asked.replicas):
            try:
                found.append(await drive(one, asked.flow(name)))
            finally:
                if one is not self._connection:
                    await one.disconnect()
        return found

    async def close(self) -> None:
        """Give back what is being shown, end the flow, let go of its doorbell."""
        try:
            if self._showing is not None:
                with suppress(GivenBack):
                    await self.go(failure=GivenBack(len(self._showing.messages)))
        finally:
            self._flow.close()
            await self._doorbell.close()


def _interruption(failure: BaseException | None) -> BaseException | None:
    return None if failure is None or isinstance(failure, Exception) else failure


async def drive(connection: AsyncConnection, flow: Generator[Any, Any, Any], show: Callable[[Show], Awaitable[int]] | None = None) -> Any:
    """Run a flow to its end; its result. ``show`` hands messages to whoever reads and says how many left whole; an error of its may carry ``shown``."""
    errand = AsyncErrand(connection, flow)
    try:
        shown = await errand.go()
        while shown is not None:
            answer, failure = 0, None
            try:
                answer = await show(shown) if show is not None else len(shown.messages)
            except BaseException as error:  # noqa: BLE001 - the flow settles and raises it again
                failure = error
            shown = await errand.go(answer, failure)
        return errand.result
    finally:
        await errand.close()
