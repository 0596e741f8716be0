# Made from ../aio by tests/unasync.py; edit that, not this.
"""The connections of one client: one redis client, which threads may share."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redis import Redis


class Pool:
    """Redis clients made by ``make``, the first one now: it says at once what is wrong with a URL."""

    def __init__(self, make: Callable[[], Redis]) -> None:
        self._make = make
        self._first: Redis | None = make()
        self._clients: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def here(self) -> Any:
        """The redis client of whoever asks; its own types know half of its methods."""
        at = threading.main_thread()
        found = self._clients.get(at)
        if found is None:
            found = self._clients.setdefault(at, self._first or self._make())
            self._first = None
        return found

    def disconnect(self) -> None:
        """Give back the connections that were opened here."""
        found = self._clients.get(threading.main_thread())
        if found is not None:
            found.close()
