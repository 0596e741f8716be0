"""A verb that was called and may be used in two ways: awaited, or as a block."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType


class Block(Protocol):
    """What can be entered with ``async with`` and is itself inside."""

    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


Held = TypeVar("Held", bound=Block)


class AsyncStarted(Coroutine[Any, Any, Held], Generic[Held]):
    """``await`` it for what it gives, or enter it with ``async with``. A coroutine like any other: tasks can be made of it."""

    __slots__ = ("_held", "_work")

    def __init__(self, work: Coroutine[Any, Any, Held]) -> None:
        self._work = work
        self._held: Held | None = None

    def send(self, value: Any) -> Any:
        """As of any coroutine."""
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:
        """As of any coroutine."""
        return self._work.throw(*error)

    def close(self) -> None:
        """As of any coroutine."""
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Held]:
        return self._work.__await__()

    async def __aenter__(self) -> Held:
        held = await self._work
        await held.__aenter__()
        self._held = held
        return held

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._held is not None:
            await self._held.__aexit__(kind, error, trace)
