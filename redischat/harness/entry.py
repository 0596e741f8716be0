"""Where tick.py hands over: one event, looked at by the package. It may say something, refuse a tool call, or wake; it never breaks its host."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager

from ..binding import write
from ..calls import sessions
from ..calls.call import fresh
from ..errors import ChatError
from ..hook import deliver, guard, start
from ..hook import session as cards
from ..keys import Keys
from ..settings import Settings, host
from ..wire import Wire
from . import claude, codex, gemini
from .event import Answer, Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..calls.call import Caller

CLIENTS = {one.NAME: one for one in (claude, codex, gemini)}
KINDS = {"prompt": "prompt", "before": "tool", "after": "tool", "stop": "idle", "changed": "other"}
SETTLE_S = 0.3  # after the deadline, to give back what was taken


class Late(BaseException):
    """The host must not be kept waiting any longer."""


def main(client: str, raw: bytes, deadline: float) -> int:
    """Look at one event; the exit code. ``deadline`` on the monotonic clock."""
    product = CLIENTS.get(client)
    event = _read(product, raw) if product else None
    if event is None or not event.role or not event.session:
        return 0
    try:
        with _in_time(deadline):
            return Visit(product, event).run()
    except (ChatError, OSError, Late, BrokenPipeError) as error:
        _log(f"{event.name}: {getattr(error, 'code', type(error).__name__)}: {error}")
        return 0


def _read(product: Any, raw: bytes) -> Event | None:
    from json import loads

    try:
        found = loads(raw.decode("utf-8", "replace"))
    except ValueError:
        return None
    return product.read(found) if isinstance(found, dict) else None


@contextmanager
def _in_time(deadline: float) -> Iterator[None]:
    """Raise Late when the time is up; a little later end the process: whatever hangs, the host goes on."""
    try:
        from signal import ITIMER_REAL, SIGALRM, setitimer, signal
    except ImportError:  # native Windows: the connection's own patience must do
        yield
        return

    def late(*_: object) -> None:
        signal(SIGALRM, lambda *_: os._exit(0))
        setitimer(ITIMER_REAL, SETTLE_S)
        raise Late

    signal(SIGALRM, late)
    setitimer(ITIMER_REAL, max(0.001, deadline - time.monotonic()))
    try:
        yield
    finally:
        setitimer(ITIMER_REAL, 0)


class Visit:
    """One event of one session, and what is asked of the broker for it."""

    def __init__(self, product: Any, event: Event) -> None:
        self.product, self.event = product, event
        env = {**os.environ, "REDISCHAT_SESSION": event.session, "CLAUDE_CODE_SESSION_ID": ""}
        if event.project:
            env["CLAUDE_PROJECT_DIR"] = event.project
        self.settings = Settings({}, env, event.cwd or os.getcwd())
        self.card = cards.known(self.settings.state_dir, event.session)
        self.keys = Keys(self.settings.workspace)
        self.wire = Wire(self.settings.url, revive=self._revive if event.role == "start" else None)

    def _revive(self) -> None:
        """A session that starts may start the embedded broker; nothing later does."""
        if self.settings.url == self.settings.embedded:
            from ..broker.start import ensure

            ensure(self.settings.state_dir)

    def run(self) -> int:
        """Answer the event; the exit code."""
        try:
            role = self.event.role
            if role == "start":
                return self.start()
            if role == "end":
                return self.end()
            return self.step() if self.card or self.concerned() else 0
        finally:
            self.wire.close()

    def concerned(self) -> bool:
        """Is this session somebody, or does the project want it to be?"""
        return bool(self.settings.token or self.settings.wished)

    def start(self) -> int:
        """A session starts, goes on, or was compacted: be somebody, and say so."""
        if not self.card and not self.concerned():
            return 0
        who = self.enter("working" if self.event.detail == "compact" else "idle")
        text = self.wire.drive(start.told(who))
        watch = [cards.bell_of(self.settings.state_dir, self.event.session)] if self.product.WAY == "file" else []
        return self.answer(Answer(context=text, watch=watch))

    def enter(self, state: str) -> Caller:
        """Make the session known to the broker and to tick.py."""
        entrance = start.Entrance(self.product.NAME, self.product.WAY, os.getppid(), state)
        who, bound = self.wire.drive(start.enter(self.keys, self.settings, entrance, host()))
        if bound:
            write(self.settings, bound["agent"], bound["token"])
            self.settings.agent, self.settings.token = bound["agent"], bound["token"]
        self.card = cards.card(self.settings, self.keys, who.agent, harness=self.product.NAME, repository=self._repository())
        cards.keep(self.settings.state_dir, self.event.session, self.card)
        caller: Caller = who
        return caller

    def _repository(self) -> str:
        from ..repository import find

        try:
            return find(self.settings).digest
        except ChatError:
            return ""

    def step(self) -> int:
        """Something happened in a session: say what is new, or refuse."""
        event, session = self.event, self.settings.session
        if event.role == "before":
            return self.judge()
        if event.child:
            return 0
        tick = self.wire.run(sessions.tick(self.keys, session, self.settings.agent.lower(), KINDS[event.role])) if self.card else {"known": False}
        who = self.caller() if tick["known"] else self.enter("working")
        if event.role == "changed":
            rows = self.wire.drive(deliver.waiting(who))
            return self.answer(Answer(wake=deliver.call_in(rows, who.agent)) if rows else Answer())
        self.deliver(who)
        return 0

    def caller(self) -> Caller:
        """Who this session is."""
        from ..calls.call import Caller as Who

        return Who(self.keys, self.settings.agent or self.card["agent"], self.settings.token)

    def judge(self) -> int:
        """Refuse a write to what somebody else holds; in a subagent, what would take its parent's mail."""
        event = self.event
        no = guard.child(event.command) if event.child and event.command else ""
        if not no and (event.paths or event.command):
            targets = guard.targets(self.settings, event.cwd or self.settings.project, event.paths, event.command)
            no = self.wire.drive(guard.judge(self.caller(), targets)) if targets else ""
        return self.answer(Answer(deny=no))

    def deliver(self, who: Caller) -> None:
        """Hand over what is new: shown is what was written and flushed."""
        show = deliver.Text(who.agent, lambda said: self.say(Answer(context=said))).show
        self.wire.drive(deliver.waking(who, fresh()) if self.event.role == "stop" else deliver.all_news(who, fresh()), show)

    def end(self) -> int:
        """The session is over; what it holds is let go later, by the waker, when nobody has taken it up again."""
        if self.card:
            self.wire.run(sessions.end(self.keys, self.settings.session, self.card["agent"].lower()))
            if self.event.detail not in {"clear", "resume"}:
                cards.forget(self.settings.state_dir, self.event.session)
        return 0

    def answer(self, answer: Answer) -> int:
        """Say it; the exit code."""
        return self.say(answer) if answer else 0

    def say(self, answer: Answer) -> int:
        """Write it as the product reads it, flushed: a reader that has gone raises."""
        written = self.product.write(self.event, answer)
        if written.out:
            from json import dumps

            _put(1, dumps(written.out) + "\n")
        if written.err:
            _put(2, written.err + "\n")
        return int(written.code)


def _put(descriptor: int, text: str) -> None:
    left = memoryview(text.encode("utf-8", "backslashreplace"))
    while left:
        left = left[os.write(descriptor, left) :]


def _log(line: str) -> None:
    """One line in this user's log, if it can be written."""
    path = os.path.join(Settings({}, os.environ, os.sep).state_dir, "hook.log")
    try:
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            if file.tell() < 200_000:  # noqa: PLR2004 - as in tick.py
                file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {sys.argv[0]} {line[:300]!r}\n")
    except OSError:
        return
