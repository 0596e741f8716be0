"""Keeps a delivery lease alive while its holder is busy with what it was handed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

from ..errors import ChatError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MOST_S = 3_600.0  # a reader that hangs must not keep a message from the others for ever
BEATS = 3  # in one lease: two may be lost


class AsyncRenewal:
    """Calls ``renew`` three times a lease of ``seconds``, from :meth:`hold` to :meth:`rest`, until it is closed."""

    def __init__(self, renew: Callable[[], Awaitable[object]], seconds: float) -> None:
        self._renew, self._every = renew, seconds / BEATS
        self._until = 0.0
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def hold(self) -> None:
        """Something is in hand from now on."""
        self._until = time.monotonic() + MOST_S
        if self._task is None:
            self._task = asyncio.create_task(self._beat())

    def rest(self) -> None:
        """Nothing is in hand."""
        self._until = 0.0

    async def _beat(self) -> None:
        while not await _within(self._every, self._over):
            if time.monotonic() < self._until:
                with contextlib.suppress(ChatError):  # then the lease lapses, and what was in hand comes again, marked
                    await self._renew()

    async def close(self) -> None:
        """No more."""
        self._over.set()
        if self._task is not None:
            await self._task


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether the event happens within so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
