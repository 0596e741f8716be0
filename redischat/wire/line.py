"""One connection to one server, RESP over ``_socket`` and hiredis: sends commands, gives replies in order."""

from __future__ import annotations

import _socket
import errno
import time

import hiredis

from ..calls.call import ANSWER_S, CONNECT_S, KEEPALIVE
from ..errors import ChatError, Usage
from ..errors.broker import MaxClients, Unreachable, of_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..calls.call import Call
    from ..settings import Place

LONGEST_S, _CHUNK = 86_400.0, 1 << 16  # what a socket can be told to wait; what is read at once


class Line:
    """One connection: sends commands, gives replies in order."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.reader = hiredis.Reader(encoding="utf-8", errors="replace")
        self.heard = set[str]()
        self.sock: Any = self._connect(place)
        try:
            self._greet(place)
        except BaseException:
            self.close()
            raise

    def _greet(self, place: Place) -> None:
        greeting: list[Any] = [("AUTH", place.user, place.password) if place.user else ("AUTH", place.password)] if place.password else []
        greeting += [("SELECT", place.database)] if place.database else []
        self.send(greeting)
        for _ in greeting:
            reply = self.reply(ANSWER_S)
            if isinstance(reply, Exception):
                raise self.refused(str(reply))

    def refused(self, answer: str) -> ChatError:
        """What the server's words stand for, without the password: some servers repeat what they do not understand."""
        return of_server(answer.replace(self.place.password or "\n", "***"), self.place.shown)

    @staticmethod
    def _connect(place: Place) -> Any:
        if place.path and not hasattr(_socket, "AF_UNIX"):
            raise Unreachable(url=place.shown, why="unix sockets do not exist here; on native Windows set REDISCHAT_URL to a redis:// server, or use WSL")
        if place.tls:
            from .tls import connected

            return connected(place)
        failure: OSError = OSError(errno.EHOSTUNREACH, "no address")
        unix = [(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, "", place.path)] if place.path else []
        try:
            addresses = unix or _socket.getaddrinfo(place.host, place.port, 0, _socket.SOCK_STREAM)
        except UnicodeError:
            raise Usage(message=f"{place.shown} names no host") from None
        for family, kind, protocol, _, address in addresses:
            sock = _socket.socket(family, kind, protocol)
            sock.settimeout(CONNECT_S)
            try:
                sock.connect(address)
            except OSError as error:
                sock.close()
                failure = error
                continue
            return sock if unix else watched(sock)
        raise failure

    def send(self, commands: list[tuple[Any, ...]]) -> None:
        """Send commands in one write."""
        out = []
        for words in commands:
            out.append(b"*%d\r\n" % len(words))
            for word in words:
                data = word.encode() if isinstance(word, str) else str(word).encode()
                out.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self.sock.settimeout(ANSWER_S)
        try:
            self.sock.sendall(b"".join(out))
        except BaseException as error:
            said = self._farewell() if isinstance(error, ConnectionError) else ""
            self.sock.close()  # half a command may have left
            if said:
                raise of_server(said, self.place.shown) from error
            raise

    def _farewell(self) -> str:
        """What a server that turned us away said before it hung up."""
        try:
            found = self.reply(ANSWER_S)
        except OSError:
            return ""
        return str(found) if isinstance(found, hiredis.ReplyError) else ""

    def reply(self, seconds: float) -> Any:
        """The next reply; TimeoutError without an errno when none came in time."""
        end = time.monotonic() + seconds
        while (found := self.reader.gets()) is False:
            self.sock.settimeout(min(max(0.001, end - time.monotonic()), LONGEST_S))
            data = self.sock.recv(_CHUNK)
            if not data:
                raise ConnectionError("closed by the broker")
            self.reader.feed(data)
        return found

    def exchange(self, calls: list[Call], *, asking: bool = False) -> list[Any]:
        """The servers' answers to calls, errors among them.

        What must be sent in another form (a script that it does not have, whole) is, and what stood behind it again after it.

        ``asking``: for keys that are on their way to this node of a Cluster.
        """
        done: list[Any] = []
        while len(done) < len(calls):
            left = calls[len(done) :]
            words = [call.words() for call in left]
            self.send([one for call in words for one in (("ASKING",), call)] if asking else words)
            replies = self._answers(len(left), asking=asking)
            again = (i for i, (call, one) in enumerate(zip(left, replies, strict=True)) if isinstance(one, hiredis.ReplyError) and call.otherwise(str(one)))
            done += replies[: next(again, len(left))]
        return done

    def _answers(self, count: int, *, asking: bool) -> list[Any]:
        """So many replies. A server that has no room says so once, whatever was asked, and hangs up."""
        found: list[Any] = []
        try:
            while len(found) < count:
                found.append(self._answer(asking=asking))
        except ConnectionError:
            said = of_server(str(found[0]), self.place.shown) if found and isinstance(found[0], hiredis.ReplyError) else None
            if isinstance(said, MaxClients):
                raise said from None
            raise
        return found

    def _answer(self, *, asking: bool) -> Any:
        if asking:
            self.reply(ANSWER_S)
        return self.reply(ANSWER_S)

    def close(self) -> None:
        """Hang up."""
        self.sock.close()


def watched(sock: Any) -> Any:
    """A TCP connection that the kernel gives up when the other end has gone without a word."""
    sock.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_KEEPALIVE, 1)
    for option, seconds in KEEPALIVE:
        if hasattr(_socket, option):
            sock.setsockopt(_socket.IPPROTO_TCP, getattr(_socket, option), seconds)
    return sock
