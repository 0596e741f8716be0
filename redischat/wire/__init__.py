"""RESP over one socket (``_socket`` and hiredis): what the CLI rides on, because a process start is paid on every call.

A second socket, opened only to wait, holds the doorbells. Lost replies are asked again with the same idempotency key; LOADING is waited out. Where a broker
is several servers, ``way.py`` finds the one to ask.
"""

from __future__ import annotations

import errno
import os
import time

import hiredis

from ..calls.call import ANSWER_S, FAILOVER_S, LOADING_S, PAUSE_S, PROBE, RETRY_S, Call, Everywhere, Listen, Show, plain
from ..errors import ChatError
from ..errors.broker import PASSING, BrokerTooOld, BrokerUnable, Loading, MaxClients, ReadOnly, Sandboxed, Unreachable, broke, of_server, of_tls, told_version
from ..settings import Place
from .line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ..route import Route

AT_ONCE = 3  # so many redirections are followed without a pause: nodes that disagree send one back and forth
__all__ = ["Line", "Wire"]


class Wire:
    """A broker, by its URL. ``revive`` is called when nobody answers there (it may start it, or raise); ``notice`` says what is waited for."""

    def __init__(
        self, url: str | Place, *, revive: Callable[[], None] | None = None, notice: Callable[[str], None] | None = None, patience: float | None = None
    ) -> None:
        self._place, self._revive, self._notice = url if isinstance(url, Place) else Place(url), revive, notice
        self._patience, self._failover = (RETRY_S, FAILOVER_S) if patience is None else (patience, patience)
        self._main: Line | None = None
        self._ear: Line | None = None
        self._route: Route | None = None
        if self._place.kind:
            from ..route import Route as Several

            self._route = Several(self._place)

    def line(self) -> Line:
        """A new connection to the server that is to be asked."""
        if self._route is None:
            return Line(self._place)
        from .way import opened

        return opened(self._route)

    def heed(self, said: str, line: Line) -> bool:
        """Take note of what a server said on a connection of :meth:`line`. Gives whether another one is to be asked at once."""
        return self._route is not None and self._route.heed(said, line.place.node)

    def astray(self, line: Line | None) -> None:
        """A connection of :meth:`line` broke."""
        if self._route is not None and line is not None:
            self._route.lost(line.place.node)

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
                    self._say(f"no answer from the broker at {self._place.shown}; trying for {self._limit():.0f} s")
            else:
                passing = next((str(one) for one in replies if isinstance(one, hiredis.ReplyError) and str(one).startswith((*PASSING, "READONLY"))), "")
                if not passing:
                    return [self._read(call, reply) for call, reply in zip(calls, replies, strict=True)]
                if self._passed(passing, started) and tries < AT_ONCE:
                    continue
            time.sleep(pause)
            pause = min(2 * pause, PAUSE_S[1])

    def _passed(self, said: str, started: float) -> bool:
        """The server refused for a while: wait, unless it has taken too long. Gives whether another one is to be asked at once."""
        line, failure = self._main, of_server(said, self._place.shown)
        elsewhere = line is not None and self.heed(said, line)
        if time.monotonic() - started > (LOADING_S if isinstance(failure, Loading) else self._limit()):
            raise failure
        if isinstance(failure, Loading):
            self._say("the broker is loading its data; waiting")
        elif self._route is not None and not said.startswith(("MOVED", "TRYAGAIN")):
            self._say(f"the broker at {self._place.shown} is changing its primary; waiting for {self._limit():.0f} s")
        if isinstance(failure, ReadOnly) or (self._route is not None and not said.startswith("TRYAGAIN")):
            self.close()  # a demoted primary: the name may lead elsewhere by now
        return elsewhere

    def _limit(self) -> float:
        """For how many seconds this is tried."""
        return max(self._patience, self._failover) if self._patience and self._route is not None and self._route.alive else self._patience

    def _say(self, sentence: str) -> None:
        """Once, and only when something is waited for."""
        if self._notice is not None:
            self._notice(sentence)
            self._notice = None

    def _once(self, calls: list[Call]) -> list[Any]:
        """One try. After ^C its connection is not used again: what had come may have been lost between two steps of ours, and what is to come fits no question."""
        try:
            self._main = self._main or self.line()
            replies = self._main.exchange(calls)
            if self._route is None:
                return replies
            from .way import followed

            replies = followed(self._route, self._main, calls, replies)
            if not any(isinstance(one, hiredis.ReplyError) for one in replies):
                self._route.well(self._main.place.node)
        except BaseException as error:
            if not isinstance(error, Exception):
                self.close()
            raise
        return replies

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
        self.astray(self._main)
        self.close()
        untrusted = of_tls(error, self._place.shown) if self._place.tls else None
        if untrusted:
            raise untrusted from error
        why = "no answer in time" if isinstance(error, TimeoutError) else getattr(error, "strerror", None) or str(error)
        barred, path = getattr(error, "errno", None) in (errno.EPERM, errno.EACCES), self._place.path
        if barred and not (os.path.exists(path) and not os.access(path, os.W_OK)):  # else it is another user's socket
            raise Sandboxed(why=why) from error
        if self._revive is not None and self._patience and not barred:
            self._revive()
        if barred or time.monotonic() - started >= self._limit():
            raise Unreachable(url=self._place.shown, why=broke(error, why, tls=self._place.tls)) from error

    def listen(self, asked: Listen) -> str | None:
        """Wait for a doorbell on a second connection: no command goes to the broker while nothing happens. Survives a restart of the broker."""
        pause = PAUSE_S[0]
        while True:
            try:
                self._ear = self._ear or self.line()
                new = [bell for bell in asked.bells if bell not in self._ear.heard]
                if new:
                    return self._subscribe(self._ear, new)
                return self._ring(self._ear, asked.until)
            except (OSError, ChatError, hiredis.ProtocolError) as error:
                if isinstance(error, ChatError) and not isinstance(error, (BrokerUnable, Loading, MaxClients)):
                    raise
                if not isinstance(error, ChatError):
                    self.astray(self._ear)
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
                self.heed(str(reply), ear)
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
        """Run a flow to its end. Every error, and ^C wherever it comes, goes in at the yield, so that the flow can settle what it took."""
        answer: Any = None
        failure: BaseException | None = None
        try:
            while True:
                try:
                    while True:  # inside, so that no step of this loop is a gap for ^C
                        asked = flow.send(answer) if failure is None else flow.throw(failure)
                        failure = None
                        answer = self._do(asked, show)
                except BaseException as error:
                    if flow.gi_frame is None:  # type: ignore[attr-defined] # it has ended, with its result or with this
                        if isinstance(error, StopIteration):
                            return error.value
                        raise
                    failure = error
                    self._patience = self._patience if isinstance(error, Exception) else 0  # ^C: one try to settle, no waiting for a broker that is not there
        finally:
            self._deafen()

    def _do(self, asked: Any, show: Callable[[Show], int] | None) -> Any:
        if isinstance(asked, Call):
            return self.run(asked)
        if isinstance(asked, Listen):
            return self.listen(asked)
        if isinstance(asked, Everywhere):
            return self._everywhere(asked)
        if isinstance(asked, Show):
            return show(asked) if show else len(asked.messages)
        return self.pipe(asked)

    def _everywhere(self, asked: Everywhere) -> list[Any]:
        """Drive it at each of several servers."""
        if not asked.replicas and self._place.kind != "cluster":
            return [self.drive(asked.flow(self._place.name))]
        from ..route import Route as Several
        from .way import servers

        self.run(plain("PING"))  # finds one that answers
        try:
            places = servers(self._route or Several(self._place), self._main or self.line(), replicas=asked.replicas)
        except OSError as error:
            raise Unreachable(url=self._place.shown, why=str(error)) from error
        found = []
        for place in places:
            one = self if place is self._place else Wire(place, notice=self._notice)
            try:
                found.append(one.drive(asked.flow(place.name)))
            finally:
                if one is not self:
                    one.close()
        return found

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
