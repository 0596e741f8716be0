"""For verbs that make something only for a while: it is taken away again however they end."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_POLITE = (signal.SIGTERM, signal.SIGHUP) if os.name == "posix" else (signal.SIGTERM,)


@contextmanager
def tidied(tidy: Callable[[], object]) -> Iterator[None]:
    """Call ``tidy`` at the end. TERM and HUP end the block as ^C does; while it is tidied no second one is heard."""
    before = {one: signal.signal(one, _interrupt) for one in _POLITE}
    before[signal.SIGINT] = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        for one in before:
            signal.signal(one, signal.SIG_IGN)
        try:
            tidy()
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt
