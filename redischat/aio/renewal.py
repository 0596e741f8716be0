"""Keeps a lease alive while its holder is busy: a delivery lease, a lock, a task."""

from __future__ import annotations

import asyncio
import contextlib
import time
from math import inf
from typing import TYPE_CHECKING

from ..errors import ChatError, CouldNotLook, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MOST_S = 3_600.0  # a reader that hangs must not keep a message from the others for ever
BEATS = 3  # in one lease: two may be lost


class AsyncRenewal:
    """Calls ``renew`` three times a lease of ``seconds``, from :meth:`hold` to :meth:`rest`, for ``most`` seconds, until it is closed."""

    def __init__(self, renew: Callable[[], Awaitable[object]], seconds: float, most: float = MOST_S) -> None:
        self._renew, self._every, self._most = renew, seconds / BEATS, most
        self._until = 0.0
        self._over = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def hold(self) -> None:
        """Something is in hand from now on."""
        self._until = time.monotonic() + self._most
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


class AsyncKeeping:
    """Keeps a lock or a task for whoever works under it. ``lost`` is set once it is somebody else's, or ran out while the broker could not be asked."""

    def __init__(self, renew: Callable[[], Awaitable[object]], seconds: float) -> None:
        self.lost = asyncio.Event()
        self._renew, self._seconds = renew, seconds
        self._ends = 0.0
        self._renewal = AsyncRenewal(self._kept, seconds, inf)

    def start(self) -> None:
        """It was taken just now.

        Raises:
            Usage: this was kept before: what was let go of would be worked on without being held.
        """
        if self._ends:
            raise Usage(message="a block is entered once: for another one call lock() or claim_task() again")
        self._ends = time.monotonic() + self._seconds
        self._renewal.hold()

    async def _kept(self) -> None:
        asked = time.monotonic()
        try:
            await self._renew()
        except CouldNotLook:
            if time.monotonic() >= self._ends:
                self._gone()
        except ChatError:
            self._gone()
        else:
            self._ends = asked + self._seconds

    def _gone(self) -> None:
        self.lost.set()
        self._renewal.rest()

    async def close(self) -> None:
        """It is kept no longer."""
        await self._renewal.close()


async def _within(seconds: float, event: asyncio.Event) -> bool:
    """Whether the event happens within so many seconds."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
