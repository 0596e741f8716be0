"""One pub/sub connection that hears the doorbells of many sessions, and says which one rang."""

from __future__ import annotations

from ..calls.call import ANSWER_S

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..wire import Wire

_CHUNK = 1 << 16
_AT_ONCE = 500  # doorbells in one command
AGAIN = "again"  # said of a doorbell that is heard from now on: what rang there before was not heard


class Ear:
    """Subscribed to ``bells``. Readable by poll through :meth:`fileno`; every error means: make a new one, and look at everything."""

    def __init__(self, wire: Wire) -> None:
        self.bells: set[str] = set()
        self._wire, self._line = wire, wire.line()

    def fileno(self) -> int:
        """What poll waits for."""
        return int(self._line.sock.fileno())

    def tune(self, bells: set[str]) -> None:
        """Hear these and no others. Each new one is told by :meth:`heard`, as soon as nothing that rings there can be missed."""
        for verb, some in (("SSUBSCRIBE", sorted(bells - self.bells)), ("SUNSUBSCRIBE", sorted(self.bells - bells))):
            for i in range(0, len(some), _AT_ONCE):
                self._line.send([(verb, *some[i : i + _AT_ONCE])])
        self.bells = set(bells)

    def heard(self) -> list[tuple[str, str]]:
        """What rang since: (bell, payload)."""
        sock = self._line.sock
        sock.settimeout(ANSWER_S)
        more = True
        while more:
            data = sock.recv(_CHUNK)
            if not data:
                self._wire.astray(self._line)
                raise ConnectionError("closed by the broker")
            self._line.reader.feed(data)
            more = bool(getattr(sock, "pending", int)())  # TLS: poll does not see what was decoded already
        rang = []
        while (found := self._line.reader.gets()) is not False:
            if isinstance(found, Exception):
                self._wire.heed(str(found), self._line)
                raise ConnectionError(str(found))
            kind, bell = found[0], str(found[1])
            if kind == "sunsubscribe" and bell in self.bells:
                raise ConnectionError("the doorbell moved")
            if kind in {"smessage", "ssubscribe"} and bell in self.bells:
                rang.append((bell, str(found[2]) if kind == "smessage" else AGAIN))
        return rang

    def close(self) -> None:
        """Hear nothing more."""
        self._line.close()
