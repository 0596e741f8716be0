"""The connections of one client: a redis client for each event loop that it is used in, because a connection belongs to the loop that opened it."""

from __future__ import annotations

import asyncio
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redis.asyncio import Redis


class AsyncPool:
    """Redis clients made by ``make``, the first one now: it says at once what is wrong with a URL."""

    def __init__(self, make: Callable[[], Redis]) -> None:
        self._make = make
        self._first: Redis | None = make()
        self._clients: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def here(self) -> Any:
        """The redis client of whoever asks; its own types know half of its methods."""
        at = asyncio.get_running_loop()
        found = self._clients.get(at)
        if found is None:
            for over in [loop for loop in self._clients if loop.is_closed()]:  # what it opened holds it: nothing else would let it go
                del self._clients[over]
            found = self._clients.setdefault(at, self._first or self._make())
            self._first = None
        return found

    async def disconnect(self) -> None:
        """Give back the connections that were opened here."""
        found = self._clients.get(asyncio.get_running_loop())
        if found is not None:
            await found.aclose()
