"""One pub/sub connection that hears the doorbells of many sessions, and says which one rang."""

from __future__ import annotations

import time

import hiredis

from ..calls.call import ANSWER_S
from ..wire import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settings import Place

_CHUNK = 1 << 16


class Ear:
    """Subscribed to ``bells``. Readable by select through :meth:`fileno`; every error means: make a new one, and look at everything."""

    def __init__(self, place: Place) -> None:
        self.bells: set[str] = set()
        self._line = Line(place)

    def fileno(self) -> int:
        """What select waits for."""
        return int(self._line.sock.fileno())

    def tune(self, bells: set[str]) -> bool:
        """Hear these and no others. Gives whether there are new ones: what rang there before was not heard."""
        new, gone = sorted(bells - self.bells), sorted(self.bells - bells)
        if new:
            self._line.send([("SSUBSCRIBE", *new)])
        if gone:
            self._line.send([("SUNSUBSCRIBE", *gone)])
        self.bells = set(bells)
        return bool(new)

    def heard(self) -> list[tuple[str, str]]:
        """What rang since: (bell, payload)."""
        sock = self._line.sock
        sock.settimeout(ANSWER_S)
        data = sock.recv(_CHUNK)
        if not data:
            raise ConnectionError("closed by the broker")
        self._line.reader.feed(data)
        rang = []
        while (found := self._line.reader.gets()) is not False:
            if isinstance(found, hiredis.ReplyError):
                raise ConnectionError(str(found))
            if found[0] == "smessage":
                rang.append((str(found[1]), str(found[2])))
        return rang

    def close(self) -> None:
        """Hear nothing more."""
        self._line.close()


def pause(tries: int) -> float:
    """How long to leave a broker alone that does not answer."""
    return float(min(0.05 * 2**tries, 5.0))


def now() -> float:
    """The monotonic clock."""
    return time.monotonic()
