"""The host's patience: whatever hangs, a hook is gone in time."""

from __future__ import annotations

import _signal as signals  # type: ignore[import-not-found]  # signal costs enum
import os
import time

TIMER = hasattr(signals, "setitimer")
SETTLE_S = 0.3  # after the deadline, to give back what was taken


class Late(BaseException):
    """The host must not be kept waiting any longer."""


class InTime:
    """Raise Late when the time is up; a little later end the process: whatever hangs, the host goes on. On native Windows the connection's patience must do."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    def __enter__(self) -> None:
        if TIMER:
            signals.signal(signals.SIGALRM, self._late)
            signals.setitimer(signals.ITIMER_REAL, max(0.001, self._deadline - time.monotonic()))

    def __exit__(self, *_: object) -> None:
        if TIMER:
            signals.setitimer(signals.ITIMER_REAL, 0)

    @staticmethod
    def _late(*_: object) -> None:
        signals.signal(signals.SIGALRM, lambda *_: os._exit(0))
        signals.setitimer(signals.ITIMER_REAL, SETTLE_S)
        raise Late
