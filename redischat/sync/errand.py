# Made from ../aio by tests/unasync.py; edit that, not this.
"""Drives a flow: answers what it asks for, throws what goes wrong in at the yield, and lets it settle what it took."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from ..calls.call import Call, Everywhere, Listen, Show
from .doorbell import Doorbell
from .servers import servers

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from .connection import Connection


class GivenBack(BaseException):
    """Thrown into a flow whose reader went away with messages in hand: ``maybe`` of them may have been seen, they come again, marked."""

    def __init__(self, maybe: int) -> None:
        self.shown, self.maybe = 0, maybe
        super().__init__(maybe)


class Errand:
    """One flow on its way over one connection, with its own doorbell. :meth:`close` it whatever happens."""

    def __init__(self, connection: Connection, flow: Generator[Any, Any, Any]) -> None:
        self.result: Any = None
        self._connection, self._flow, self._doorbell = connection, flow, Doorbell(connection)
        self._showing: Show | None = None
        self._interrupted: BaseException | None = None

    @property
    def showing(self) -> bool:
        """Whether it waits to hear how much was shown."""
        return self._showing is not None

    def go(self, answer: Any = None, failure: BaseException | None = None) -> Show | None:
        """Send ``answer`` in, or throw ``failure``, and go on to the next Show; None at the end of the flow, with its ``result``."""
        self._showing = None
        while True:
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
                answer = self._do(asked)
            except BaseException as error:  # noqa: BLE001 - the flow decides what an error means
                failure = error

    def _do(self, asked: Call | Listen | Everywhere | list[Call]) -> Any:
        if isinstance(asked, Listen):
            return self._doorbell.listen(asked)
        if isinstance(asked, Everywhere):
            return self._everywhere(asked)
        if not isinstance(asked, Call):
            return self._connection.pipe(asked) if asked else []
        return self._connection.run(asked)

    def _everywhere(self, asked: Everywhere) -> list[Any]:
        found = []
        for name, one in servers(self._connection, replicas=asked.replicas):
            try:
                found.append(drive(one, asked.flow(name)))
            finally:
                if one is not self._connection:
                    one.disconnect()
        return found

    def close(self) -> None:
        """Give back what is being shown, end the flow, let go of its doorbell."""
        try:
            if self._showing is not None:
                with suppress(GivenBack):
                    self.go(failure=GivenBack(len(self._showing.messages)))
        finally:
            self._flow.close()
            self._doorbell.close()


def _interruption(failure: BaseException | None) -> BaseException | None:
    return None if failure is None or isinstance(failure, Exception) else failure


def drive(connection: Connection, flow: Generator[Any, Any, Any], show: Callable[[Show], int] | None = None) -> Any:
    """Run a flow to its end; its result. ``show`` hands messages to whoever reads and says how many left whole; an error of its may carry ``shown``."""
    errand = Errand(connection, flow)
    try:
        shown = errand.go()
        while shown is not None:
            answer, failure = 0, None
            try:
                answer = show(shown) if show is not None else len(shown.messages)
            except BaseException as error:  # noqa: BLE001 - the flow settles and raises it again
                failure = error
            shown = errand.go(answer, failure)
        return errand.result
    finally:
        errand.close()
