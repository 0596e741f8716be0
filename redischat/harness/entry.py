"""Where tick.py hands over: one event, looked at by the package. It may say something, refuse a tool call, or wake; it never breaks its host."""

from __future__ import annotations

import os
import sys

from ..calls import sessions
from ..calls.call import fresh
from ..errors import ChatError, NotYou
from ..hook import alive, deliver, fired, guard, start, sweep, wake
from ..hook import keep as holding
from ..hook import session as cards
from ..keys import Keys
from ..settings import Settings, host
from ..wire import Wire
from . import claude, codex, gemini, opencode
from .clock import InTime, Late
from .event import Answer, Event
from .notation import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ..calls.call import Caller

CLIENTS = {one.NAME: one for one in (claude, codex, gemini, opencode)}
KINDS = {"prompt": "prompt", "before": "tool", "after": "tool", "stop": "idle", "changed": "other"}
OURS = ("<task-notification>", "redischat (")  # how the prompt begins that a wake of ours makes, as in tick.py


def main(client: str, raw: bytes, deadline: float, answers: Sequence[int], log: Callable[[str], object]) -> int:
    """Look at one event; the exit code. ``deadline`` on the monotonic clock; ``answers``: what tick.py was told by the broker, if it asked; ``log`` its log."""
    product = CLIENTS.get(client)
    event = _read(product, raw) if product else None
    if event is None or not event.role or not event.session:
        return 0
    visit = None
    try:
        with InTime(deadline):
            visit = Visit(product, event, answers, log)
            return visit.run()
    except (Exception, Late) as error:  # noqa: BLE001 - whatever is wrong, a path that is to be closed without an answer is
        why = str(getattr(error, "code", type(error).__name__))
        log(f"{event.name}: {why}: {error}")
        return visit.unasked(why) if visit and event.role == "before" and visit.card.get("closed") else 0


def _read(product: Any, raw: bytes) -> Event | None:
    try:
        found = loads(raw.decode("utf-8", "replace"))
    except ValueError:
        return None
    return product.read(found) if isinstance(found, dict) else None


class Visit:
    """One event of one session, and what is asked of the broker for it."""

    def __init__(self, product: Any, event: Event, answers: Sequence[int], log: Callable[[str], object]) -> None:
        self.product, self.event, self.log = product, event, log
        self.asked = sessions.answers(answers) if answers else {}
        env = {**os.environ, "REDISCHAT_SESSION": event.session, "CLAUDE_CODE_SESSION_ID": ""}
        if event.project:
            env["CLAUDE_PROJECT_DIR"] = event.project
        self.settings = Settings({}, env, event.cwd or os.getcwd())
        self.card = cards.sound(self.settings.state_dir, event.session)
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
        except NotYou as error:
            return self.lost(error)
        finally:
            if self.card:
                fired.note(self.settings.state_dir, fired.key(self.settings.home), self.product.NAME, self.event.name, os.path.abspath(sys.argv[0]))
            self.wire.close()

    def concerned(self) -> bool:
        """Is this session somebody, or does the project want it to be?"""
        return bool(self.settings.token or self.settings.wished)

    def start(self) -> int:
        """A session starts, goes on, or was compacted: be somebody, and say so."""
        before = start.earlier(self.settings, {"harness": self.product.NAME, "source": self.event.detail, **alive.harness()})
        if not self.card and not self.concerned() and not before:  # it may become somebody by `redischat identify`: then it can be woken, too
            return self.answer(Answer(watch=[cards.hang(self.settings.state_dir, self.event.session)])) if self.product.WAY == "file" else 0
        settings = self.settings
        try:
            who = self.enter("working" if self.event.detail == "compact" else "idle", before)
        except OSError as error:
            return self.answer(Answer(context=start.unkept(settings.state_dir, error)))
        doubt = fired.doubt(settings.state_dir, settings.home, self.product.NAME)
        text = self.wire.drive(start.told(who, shell_knows=self.product.SHELL_KNOWS, wished=settings.wished, session=settings.session, doubt=doubt))
        bell = cards.bell_of(settings.state_dir, self.event.session)
        code = self.answer(Answer(context=text, watch=[bell] if self.product.WAY in {"file", "http"} else []))
        wake.start(settings.state_dir)
        return code

    def lost(self, error: NotYou) -> int:
        """The name is another session's now: say so, once; tick.py is silent from then on. If only its proof was lost here, it is drawn anew."""
        if error.facts["session"] == self.settings.session and not self.settings.token:
            who = self.enter("working")
            if self.event.role in {"prompt", "after"}:
                self.deliver(who)
            return 0
        cards.nobody(self.settings.state_dir, self.event.session)
        watch = [cards.hang(self.settings.state_dir, self.event.session)] if self.event.role == "start" and self.product.WAY == "file" else []
        return self.answer(Answer(context=f"redischat: {error.sentence()}\n", watch=watch)) if self.event.role in {"start", "prompt", "after"} else 0

    def enter(self, state: str, before: Settings | None = None) -> Caller:
        """Make the session known to the broker and to tick.py; ``before``: the one that goes on in it."""
        process = alive.harness()
        entrance = start.Entrance(self.product.NAME, self.product.WAY, int(process["pid"]), state, before=before, name=self.card.get("agent", ""))
        who, bound = self.wire.drive(start.enter(self.keys, self.settings, entrance, host()))
        try:
            self._keep(who, process, bound=bool(bound))
        except OSError as error:
            if not self.card:
                raise
            self.log(f"not kept: {error}")  # what is there of it serves
        if before:
            cards.forget(self.settings.state_dir, before.session)
        caller: Caller = who
        return caller

    def _keep(self, who: Caller, process: dict[str, str], *, bound: bool) -> None:
        """Keep on this machine who the session is."""
        if bound or os.path.exists(self.settings.binding(who.me)):  # drawn now: of all ids that it had, it goes on under this one
            from ..binding import write

            write(self.settings, who.agent, who.token)
            self.settings.agent, self.settings.token = who.agent, who.token
        server = self.event.server or self.card.get("http", "")
        card = cards.card(self.settings, self.keys, who.agent, harness=self.product.NAME, repository=self._repository()) | process
        card |= {"http": server} if server else {}
        cards.keep(self.settings.state_dir, self.event.session, card)
        self.card = card

    def _repository(self) -> str:
        from ..repository import find

        try:
            return find(self.settings).digest
        except ChatError:
            return ""

    def step(self) -> int:
        """Something happened in a session: say what is new, or refuse."""
        event = self.event
        if event.child or (event.role == "before" and not self.card):
            return self.judge() if event.role == "before" else 0
        asked = self.ask() if self.card and not self.card.get("ended") else {}
        who = self.caller() if asked.get("known") else self.enter("settling" if event.role == "stop" else "working")
        first = self.keep(who) if asked.get("keep") else ""
        if event.role == "before":
            return self.judge(first)
        if event.role == "changed":
            return self.changed(who)
        if event.role == "stop" or self.card.get("door"):  # without a waker each event of such a session takes this long way
            wake.start(self.settings.state_dir)
        first += self.missed() if asked.get("missed") else ""
        self.deliver(who, first + (self.sweep(sweep.after) if asked.get("locks") and event.role == "after" else ""))
        return 0

    def ask(self) -> dict[str, bool]:
        """The broker's four answers, asked for once."""
        me, kind = self.name().lower(), KINDS[self.event.role]
        kind = "woken" if kind == "prompt" and self.event.prompt.lstrip().startswith(OURS) else kind
        self.asked = self.asked or self.wire.run(sessions.tick(self.keys, self.settings.session, me, kind))
        return self.asked

    def keep(self, who: Caller) -> str:
        """Renew what it holds; what it must know of what it lost. A refusal is no reason to say nothing else."""
        try:
            held = self.wire.drive(holding.keep(who))
            before = cards.holding(self.settings.state_dir, self.event.session, held)
            return str(self.wire.drive(holding.lost(who, held, before)))
        except ChatError as error:
            self.log(f"not renewed: {error}")
            return ""

    def sweep(self, look: Any) -> str:
        """Look at what others hold here, before a shell command or after it. What goes wrong is no reason to say nothing else."""
        from ..repository import find

        try:
            return str(self.wire.drive(look(self.caller(), find(self.settings), self.settings.state_dir, self.event.session)) or "")
        except (ChatError, OSError) as error:
            self.log(f"not swept: {error}")
            return ""

    def missed(self) -> str:
        """What it must know of a wake that never came; once."""
        now, found = self.wire.run(sessions.beat(self.keys, host(), [self.settings.session]))
        self.wire.run(sessions.wake(self.keys, self.settings.session, "told"))
        return holding.missed(found[0], now)

    def changed(self, who: Caller) -> int:
        """Its doorbell was touched: say what for, or that nothing waits any more."""
        rows = self.wire.drive(deliver.waiting(who))
        if not rows:
            self.wire.run(sessions.wake(self.keys, self.settings.session, "drop", ring=who.me))
        return self.answer(Answer(wake=deliver.call_in(rows, who.agent)) if rows else Answer())

    def caller(self) -> Caller:
        """Who this session is."""
        from ..calls.call import Caller as Who

        return Who(self.keys, self.name(), self.settings.token)

    def name(self) -> str:
        """What this session is called: as it proves, else as its card says (its proof was lost)."""
        return self.settings.agent if self.settings.token else self.card.get("agent") or self.settings.agent

    def judge(self, first: str = "") -> int:
        """Refuse a write to what somebody else holds; in a subagent, what would take its parent's mail."""
        event = self.event
        no = guard.child(event.command) if event.child and event.command else ""
        if not no and (event.paths or event.command):
            cwd = event.cwd or self.settings.project
            no = self.wire.drive(guard.judge(self.caller(), guard.targets(self.settings, cwd, event.paths, event.command), cwd))
        if event.command and not no:
            self.sweep(sweep.before)
        return self.answer(Answer(deny=no, context=first))

    def unasked(self, why: str) -> int:
        """The broker could not be asked: what the project closes is not written unchecked, anything else passes."""
        targets = guard.targets(self.settings, self.event.cwd or self.settings.project, self.event.paths, self.event.command)
        return self.answer(Answer(deny=guard.shut(self.settings, targets, why)))

    def deliver(self, who: Caller, first: str = "") -> None:
        """Hand over what is new, behind what is to be said first: shown is what was written and flushed. A turn that ends with nothing for it has ended."""
        show, stop = deliver.Text(who.agent, lambda said: self.say(Answer(context=said)), first).show, self.event.role == "stop"
        gave = self.wire.drive(deliver.waking(who, fresh()) if stop else deliver.all_news(who, fresh()), show)
        if stop:
            gave = gave or self.gated(who)
            session = self.settings.session
            self.wire.run(sessions.tick(self.keys, session, who.me, "tool") if gave else sessions.wake(self.keys, session, "rest", ring=who.me))
        elif first and not gave:
            self.answer(Answer(context=first))

    def gated(self, who: Caller) -> bool:
        """Hold the turn up where an answer is owed, if the project wants that (gate=answer). Gives whether it did."""
        if not self.card.get("gate"):
            return False
        from ..hook import gate

        why = self.wire.drive(gate.judge(who, self.settings.state_dir, self.event.session)) if gate.wanted(self.settings.project) else ""
        if why:
            self.say(Answer(block=why))
        return bool(why)

    def end(self) -> int:
        """The session is over; what it holds is let go later, by the waker, when nobody has taken it up again."""
        if self.card:
            cards.ended(self.settings.state_dir, self.event.session, self.event.detail)
            self.wire.run(sessions.end(self.keys, self.settings.session, self.card["agent"].lower()))
        else:
            cards.forget(self.settings.state_dir, self.event.session)  # it never became somebody
        return 0

    def answer(self, answer: Answer) -> int:
        """Say it; the exit code."""
        return self.say(answer) if answer else 0

    def say(self, answer: Answer) -> int:
        """Write it as the product reads it, flushed: a reader that has gone raises."""
        written = self.product.write(self.event, answer)
        if written.out:
            _put(1, dumps(written.out) + "\n")
        if written.err:
            _put(2, written.err + "\n")
        return int(written.code)


def _put(descriptor: int, text: str) -> None:
    left = memoryview(text.encode("utf-8", "backslashreplace"))
    while left:
        left = left[os.write(descriptor, left) :]
