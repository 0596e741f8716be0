# Made from ../aio by tests/unasync.py; edit that, not this.
"""Keeps a delivery lease alive while its holder is busy with what it was handed."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TYPE_CHECKING

from ..errors import ChatError

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_S = 3_600.0  # a reader that hangs must not keep a message from the others for ever
BEATS = 3  # in one lease: two may be lost


class Renewal:
    """Calls ``renew`` three times a lease of ``seconds``, from :meth:`hold` to :meth:`rest`, until it is closed."""

    def __init__(self, renew: Callable[[], object], seconds: float) -> None:
        self._renew, self._every = renew, seconds / BEATS
        self._until = 0.0
        self._over = threading.Event()
        self._task: threading.Thread | None = None

    def hold(self) -> None:
        """Something is in hand from now on."""
        self._until = time.monotonic() + MOST_S
        if self._task is None:
            self._task = threading.Thread(target=self._beat, daemon=True)
            self._task.start()

    def rest(self) -> None:
        """Nothing is in hand."""
        self._until = 0.0

    def _beat(self) -> None:
        while not _within(self._every, self._over):
            if time.monotonic() < self._until:
                with contextlib.suppress(ChatError):  # then the lease lapses, and what was in hand comes again, marked
                    self._renew()

    def close(self) -> None:
        """No more."""
        self._over.set()
        if self._task is not None:
            self._task.join()


def _within(seconds: float, event: threading.Event) -> bool:
    """Whether the event happens within so many seconds."""
    with contextlib.suppress(TimeoutError):
        event.wait(seconds)
    return event.is_set()
