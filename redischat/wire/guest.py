"""One who asks us, over a unix socket, in RESP: reads a command, writes an answer."""

from __future__ import annotations

import hiredis

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

_CHUNK = 1 << 16
ANSWER_S = 0.3  # whoever does not take its answer within that has gone


class Guest:
    """Readable by poll through :meth:`fileno`."""

    def __init__(self, sock: socket.socket) -> None:
        sock.settimeout(ANSWER_S)
        self._sock, self._reader = sock, hiredis.Reader(encoding="utf-8", errors="replace")

    def fileno(self) -> int:
        """What poll waits for."""
        return self._sock.fileno()

    def asked(self) -> list[list[str]] | None:
        """The whole commands that have come, as far as they have; None when no more will."""
        try:
            data = self._sock.recv(_CHUNK)
            self._reader.feed(data)
            found = []
            while data and (words := self._reader.gets()) is not False:
                if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
                    return None
                found.append(words)
        except (OSError, hiredis.ProtocolError):
            return None
        return found if data else None

    def answer(self, reply: Any) -> None:
        """Words and whole numbers, lists of them, or nothing."""
        self._sock.sendall(_packed(reply))

    def refuse(self, why: str) -> None:
        """An error, in one line."""
        self._sock.sendall(f"-{' '.join(why.split())}\r\n".encode())

    def close(self) -> None:
        """Hang up."""
        self._sock.close()


def _packed(reply: Any) -> bytes:
    if isinstance(reply, list):
        return b"*%d\r\n%s" % (len(reply), b"".join(_packed(one) for one in reply))
    if reply is None:
        return b"$-1\r\n"
    if isinstance(reply, int):
        return b":%d\r\n" % reply
    data = str(reply).encode()
    return b"$%d\r\n%s\r\n" % (len(data), data)
