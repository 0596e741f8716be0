"""RESP over one socket (``_socket`` and hiredis): what the CLI rides on, because a process start is paid on every call.

A second socket, opened only to wait, holds the doorbells. Lost replies are asked again with the same idempotency key; LOADING is waited out.
"""

from __future__ import annotations

import _socket
import errno
import os
import time

import hiredis

from .calls.call import ANSWER_S, CONNECT_S, KEEPALIVE, LOADING_S, PAUSE_S, PROBE, RETRY_S, Call, Listen, Show, plain
from .errors import ChatError, Usage
from .errors.broker import PASSING, BrokerTooOld, BrokerUnable, Loading, MaxClients, ReadOnly, Sandboxed, Unreachable, of_server, told_version
from .settings import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

LONGEST_S, _CHUNK = 86_400.0, 1 << 16  # what a socket can be told to wait; what is read at once


class Line:
    """One connection: sends commands, gives replies in order."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.reader = hiredis.Reader(encoding="utf-8", errors="replace")
        self.heard, self.unanswered = set[str](), 0  # unanswered: replies still to come, also to what was interrupted
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
                raise of_server(str(reply).replace(place.password or "\n", "***"), place.shown)  # some servers repeat what they do not understand

    @staticmethod
    def _connect(place: Place) -> Any:
        if place.path and not hasattr(_socket, "AF_UNIX"):
            raise Unreachable(url=place.shown, why="unix sockets do not exist here; on native Windows set REDISCHAT_URL to a redis:// server, or use WSL")
        if place.tls:
            import socket
            import ssl

            return ssl.create_default_context().wrap_socket(_watched(socket.create_connection((place.host, place.port), CONNECT_S)), server_hostname=place.host)
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
            return sock if unix else _watched(sock)
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
        self.unanswered += len(commands)
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
        self.unanswered -= 1
        return found

    def close(self) -> None:
        """Hang up."""
        self.sock.close()


def _watched(sock: Any) -> Any:
    """A TCP connection that the kernel gives up when the other end has gone without a word."""
    sock.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
    sock.setsockopt(_socket.SOL_SOCKET, _socket.SO_KEEPALIVE, 1)
    for option, seconds in KEEPALIVE:
        if hasattr(_socket, option):
            sock.setsockopt(_socket.IPPROTO_TCP, getattr(_socket, option), seconds)
    return sock


class Wire:
    """A broker, by its URL. ``revive`` is called when nobody answers there (it may start it, or raise); ``notice`` says what is waited for."""

    def __init__(self, url: str, *, revive: Callable[[], None] | None = None, notice: Callable[[str], None] | None = None) -> None:
        self._place, self._revive, self._notice = Place(url), revive, notice
        self._patience = RETRY_S
        self._main: Line | None = None
        self._ear: Line | None = None

    def run(self, call: Call) -> Any:
        """Send one call; its answer, or the error that it stands for."""
        return self.pipe([call])[0]

    def pipe(self, calls: list[Call]) -> list[Any]:
        """Send calls in one write; their answers in order. The first refusal is raised, after all were answered."""
        started, pause, tries = time.monotonic(), PAUSE_S[0], -1
        while True:
            tries += 1
            try:
                replies = self._once(calls)
            except (OSError, hiredis.ProtocolError) as error:
                self._lost(error, started)
                if tries:
                    self._say(f"no answer from the broker at {self._place.shown}; trying for {RETRY_S:.0f} s")
            else:
                passing = next((str(one) for one in replies if isinstance(one, hiredis.ReplyError) and str(one).startswith((*PASSING, "READONLY"))), "")
                if not passing:
                    return [self._read(call, reply) for call, reply in zip(calls, replies, strict=True)]
                failure = of_server(passing, self._place.shown)
                if time.monotonic() - started > (LOADING_S if isinstance(failure, Loading) else RETRY_S):
                    raise failure
                if isinstance(failure, Loading):
                    self._say("the broker is loading its data; waiting")
                if isinstance(failure, ReadOnly):
                    self.close()  # a demoted primary: the name may lead elsewhere by now
            time.sleep(pause)
            pause = min(2 * pause, PAUSE_S[1])

    def _say(self, sentence: str) -> None:
        """Once, and only when something is waited for."""
        if self._notice is not None:
            self._notice(sentence)
            self._notice = None

    def _once(self, calls: list[Call]) -> list[Any]:
        """One try. What must be sent in another form (a script that the server does not have, whole) is, and what stood behind it again after it."""
        self._main = self._main or Line(self._place)
        while self._main.unanswered:
            self._main.reply(ANSWER_S)
        done: list[Any] = []
        while len(done) < len(calls):
            left = calls[len(done) :]
            self._main.send([call.words() for call in left])
            replies = [self._main.reply(ANSWER_S) for _ in left]
            again = (i for i, (call, one) in enumerate(zip(left, replies, strict=True)) if isinstance(one, hiredis.ReplyError) and call.otherwise(str(one)))
            done += replies[: next(again, len(left))]
        return done

    def _read(self, call: Call, reply: Any) -> Any:
        if isinstance(reply, hiredis.ReplyError):
            raise self._refusal(str(reply))
        return call.read(reply)

    def _refusal(self, answer: str) -> ChatError:
        """What the server's own words stand for; one that is too old is asked for its version."""
        error = of_server(answer, self._place.shown)
        try:
            return told_version(error, str(self._once([plain("INFO", "server")])[0])) if isinstance(error, BrokerTooOld) else error
        except (OSError, ChatError):
            return error

    def _lost(self, error: Exception, started: float) -> None:
        """The connection broke or never was: let the owner revive the broker, or try again until the time is up."""
        self.close()
        why = "no answer in time" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or str(error)
        barred, path = getattr(error, "errno", None) in (errno.EPERM, errno.EACCES), self._place.path
        if barred and not (os.path.exists(path) and not os.access(path, os.W_OK)):  # else it is another user's socket
            raise Sandboxed(why=why) from error
        if self._revive is not None and self._patience and not barred:
            self._revive()
        if barred or time.monotonic() - started >= self._patience:
            raise Unreachable(url=self._place.shown, why=why) from error

    def listen(self, asked: Listen) -> str | None:
        """Wait for a doorbell on a second connection: no command goes to the broker while nothing happens. Survives a restart of the broker."""
        pause = PAUSE_S[0]
        while True:
            try:
                self._ear = self._ear or Line(self._place)
                new = [bell for bell in asked.bells if bell not in self._ear.heard]
                if new:
                    return self._subscribe(self._ear, new)
                return self._ring(self._ear, asked.until)
            except (OSError, ChatError, hiredis.ProtocolError) as error:
                if isinstance(error, ChatError) and not isinstance(error, (BrokerUnable, Loading, MaxClients)):
                    raise
                self._deafen()
                if time.monotonic() >= asked.until:
                    return None
                if self._revive is not None:
                    self._revive()
                time.sleep(min(pause, max(0.0, asked.until - time.monotonic())))
                pause = min(2 * pause, PAUSE_S[1])

    def _subscribe(self, ear: Line, bells: list[str]) -> str:
        ear.send([("SSUBSCRIBE", *bells)])
        for _ in bells:
            reply = ear.reply(ANSWER_S)
            if isinstance(reply, hiredis.ReplyError):
                raise self._refusal(str(reply))
        ear.heard.update(bells)
        return "again"

    @staticmethod
    def _ring(ear: Line, until: float) -> str | None:
        while True:
            try:
                kind, _, payload = ear.reply(max(0.001, until - time.monotonic()))
            except TimeoutError as error:
                if error.errno is not None or time.monotonic() < until:  # the kernel gave the connection up (keepalive), or a day is over
                    raise
                return None
            if kind == "sunsubscribe":
                raise ConnectionError("the doorbell moved")
            if kind == "smessage" and payload != PROBE:
                return str(payload)

    def drive(self, flow: Generator[Any, Any, Any], show: Callable[[Show], int] | None = None) -> Any:
        """Run a flow to its end. Every error, ^C included, goes in at the yield, so that the flow can settle what it took."""
        answer: Any = None
        failure: BaseException | None = None
        try:
            while True:
                try:
                    asked = flow.throw(failure) if failure is not None else flow.send(answer)
                except StopIteration as end:
                    return end.value
                answer = failure = None
                try:
                    answer = self._do(asked, show)
                except BaseException as error:  # noqa: BLE001 - the flow decides what an error means
                    failure = error
                    self._patience = self._patience if isinstance(error, Exception) else 0  # ^C: one try to settle, no waiting for a broker that is not there
        finally:
            self._deafen()

    def _do(self, asked: Any, show: Callable[[Show], int] | None) -> Any:
        if isinstance(asked, Call):
            return self.run(asked)
        if isinstance(asked, Listen):
            return self.listen(asked)
        if isinstance(asked, Show):
            return show(asked) if show else len(asked.messages)
        return self.pipe(asked)

    def _deafen(self) -> None:
        if self._ear is not None:
            self._ear.close()
            self._ear = None

    def close(self) -> None:
        """Give the connections back."""
        self._deafen()
        if self._main is not None:
            self._main.close()
            self._main = None
