"""One broker and workspace as a waker sees it: the sessions of this host there, their doorbells, and who must be rung."""

from __future__ import annotations

import time

from ..calls import agents, sessions
from ..calls.call import Caller
from ..errors import ChatError, CouldNotLook
from ..flows import maintenance
from ..hook import deliver
from ..keys import Keys
from . import anew, ring
from .ear import AGAIN
from .ending import Ending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..wire import Wire

    Card = dict[str, str]

GRACE_MS = 90_000  # a wake that has not landed by then is missed
ROUNDS = 3  # how often a wake is asked for again by each way, before it waits for the next message
AWAY_MS = 30_000  # without a beat for longer than that, this host slept, and its sessions with it
ROOM_S = 0.01  # the end of a lease is looked at just after it


class World:
    """Its sessions by id (``cards``: those that live), what each was last asked, and the doorbells to hear for them."""

    def __init__(self, wire: Wire, workspace: str, state_dir: str, host: str, log: Callable[[str], None]) -> None:
        self.wire, self.state_dir, self.host, self.log = wire, state_dir, host, log
        self.keys = Keys(workspace)
        self.cards: dict[str, Card] = {}
        self.over: dict[str, Card] = {}
        self.later: dict[str, float] = {}  # session -> when to look at it again (monotonic)
        self.missed = self.rung = 0
        self.prune = False
        self._records: dict[str, dict[str, Any]] = {}
        self._rung: dict[str, tuple[int, ring.Rung]] = {}
        self._tried: dict[str, int] = {}
        self._bells: dict[str, list[str]] = {}
        self._declined: list[str] = []  # appended to by threads
        self._now = self._awake = 0
        self._ending = Ending(self)

    def take(self, cards: dict[str, Card]) -> None:
        """These are its sessions from now on: those that live, and those that have ended."""
        before = self.cards.keys()
        self.cards = {session: card for session, card in cards.items() if not card.get("ended")}
        self.over = {session: card for session, card in cards.items() if card.get("ended")}
        for known in (self.later, self._rung, self._tried, self._records):
            for session in known.keys() - self.cards.keys():
                del known[session]
        for session in self.cards.keys() - before:
            self.later[session] = time.monotonic()  # what rang for its agent before its card was here (after /clear) is made good

    def beat(self) -> None:
        """Say of all sessions that they are there, one call; learn what they do; give up wakes that did not land; let go of what ended ones held."""
        while self._declined:  # its window was not reloaded: it is rung again after all
            self.later.setdefault(self._declined.pop(), time.monotonic())
        if self.cards:
            names = sorted(self.cards)
            now, found = self.wire.run(sessions.beat(self.keys, self.host, names))
            self._awake = now if now - self._now > AWAY_MS else self._awake
            self._records, self._now = dict(zip(names, found, strict=True)), now
            for session, record in self._records.items():
                if record and record["settling"]:  # if its hook dies, nobody else looks
                    self.later.setdefault(session, time.monotonic() + (record["active_ms"] + sessions.SETTLE_MS - now) / 1000 + ROOM_S)
            self.each(self._records, self._overdue)
        if self.over:
            self.each(self.over, self._ending.settle)
        if self.prune:
            self.prune = False
            self.wire.drive(maintenance.prune(self.keys, act=True))

    def each(self, names: Iterable[str], act: Callable[[str], None]) -> None:
        """Do something for each of these sessions; what is refused to one is no reason to leave out the others."""
        for session in list(names):
            try:
                act(session)
            except CouldNotLook:
                raise
            except ChatError as error:
                self.log(f"{session}: {error.code}: {error}")

    def bells(self) -> set[str]:
        """The doorbells of all its sessions: each agent's own, and those of the rooms that any of them is in."""
        mine: dict[str, list[str]] = {}
        for session, card in self.cards.items():
            mine.setdefault(card["agent"].lower(), []).append(session)
        found = self.wire.pipe([agents.rooms(self.keys, one) for one in mine]) if mine else []
        self._bells = {self.keys.bell(one): names for one, names in mine.items()}
        for names, rooms in zip(mine.values(), found, strict=True):
            for room in rooms:
                self._bells.setdefault(self.keys.room(room), []).extend(names)
        return set(self._bells)

    def heard(self, rang: Iterable[tuple[str, str]]) -> bool:
        """Look at all sessions that these doorbells are for, each once, however often it rang. Gives whether the rooms of some have changed."""
        concerned: dict[str, None] = {}
        others = False
        for bell, payload in rang:
            names = self._bells.get(bell, ())
            others = others or (bool(names) and payload in {"rooms", "deleted"})
            for session in names:
                concerned[session] = None
                if payload != AGAIN:
                    self._tried.pop(session, None)  # something new: worth another round
        self.look(concerned)
        return others

    def due(self) -> float:
        """When the next session is to be looked at again, on the monotonic clock."""
        return min(self.later.values(), default=float("inf"))

    def look_again(self) -> None:
        """Look at those whose time has come."""
        now = time.monotonic()
        due = [session for session, at in self.later.items() if at <= now]
        for session in due:
            del self.later[session]
        self.look(due)

    def look(self, names: Iterable[str]) -> None:
        """Ring those of these sessions that are idle and have something that wakes them. Of an agent's sessions it is the one that did something last."""
        names = [session for session in names if session in self.cards]
        if not names:
            return
        records = self.wire.run(sessions.some(self.keys, names))
        last: dict[str, tuple[int, str, dict[str, Any]]] = {}
        for session, record in zip(names, records, strict=True):
            agent = self.cards[session]["agent"].lower()
            if record and record["state"] != "ended" and (agent not in last or last[agent][0] < record["active_ms"]):
                last[agent] = (record["active_ms"], session, record)
        self.each((session for _, session, record in last.values() if record["state"] == "idle" or record["settling"]), self._call)

    def _call(self, session: str) -> None:
        """Ask for a wake, and ring. It is asked for once, until it landed or was given up."""
        card = self.cards[session]
        known = ring.ways(card)
        if not known or not self._waiting(session):
            return  # where its product has no way, its mail waits for its next step
        way = known[self._tried.get(session, 0) % len(known)]
        asked = self.wire.run(sessions.wake(self.keys, session, "ask", way))
        if asked["look_ms"]:
            self.later[session] = time.monotonic() + asked["look_ms"] / 1000 + ROOM_S
        before, _ = self._rung.get(session, (0, None))
        if not asked["done"] and (asked["state"] != "idle" or asked["asked_ms"] in {0, before}):
            return  # else the answer to the first try was lost, or another waker died over it
        rows = self._waiting(session)  # from now on nothing is shown to it without its wake being over: what is there now is what to ring for
        if not rows:
            self.wire.run(sessions.wake(self.keys, session, "drop"))
            return
        self._rung[session] = (
            asked["asked_ms"],
            ring.ring(way, self.state_dir, {**card, "asked": str(asked["asked_ms"])}, deliver.call_in(rows, card["agent"])),
        )
        self.rung += 1

    def _waiting(self, session: str) -> list[dict[str, Any]]:
        """What wakes it and waits. What another reader of its agent is showing just now is looked at again."""
        found: tuple[list[dict[str, Any]], int] = self.wire.drive(deliver.glance(Caller(self.keys, self.cards[session]["agent"])))
        rows, busy_ms = found
        if busy_ms:
            self.later[session] = time.monotonic() + busy_ms / 1000 + ROOM_S
        return rows

    def _overdue(self, session: str) -> None:
        """Give up a wake that failed or did not land in time, and try the next way; where nothing waits any more, it is no miss."""
        record = self._records[session]
        if not record or not record["asked_ms"] or record["state"] != "idle":
            return
        asked, rung = self._rung.get(session, (0, None))
        failed = asked == record["asked_ms"] and rung is not None and rung.failed()
        if not failed and self._now - max(record["asked_ms"], self._awake) <= GRACE_MS:
            return
        card = self.cards[session]
        if not self._waiting(session):
            self.wire.run(sessions.wake(self.keys, session, "drop"))
            return
        self._tried[session] = tried = self._tried.get(session, 0) + 1
        known = ring.ways(card)
        given_up = self.wire.run(sessions.wake(self.keys, session, "miss", known[tried % len(known)] if known else record["way"]))
        self.missed += given_up["done"]
        if (
            given_up["done"]
            and tried >= len(known)
            and anew.begun(self.state_dir, card, self.log, self._declined.append if tried < ROUNDS * len(known) else None)
        ):
            return
        if tried < ROUNDS * len(known):
            self._call(session)
