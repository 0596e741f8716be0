"""One broker and workspace as a waker sees it: the sessions of this host there, their doorbells, and who must be rung."""

from __future__ import annotations

import time

from ..calls import agents, sessions
from ..calls.call import Caller
from ..errors import ChatError
from ..hook import deliver
from ..keys import Keys
from ..wire import Wire
from . import ring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Card = dict[str, str]

GRACE_S = 90.0  # a wake that has not landed by then is missed


class World:
    """Its sessions by id, what each was last asked, and the doorbells to hear for them."""

    def __init__(self, url: str, workspace: str, state_dir: str, host: str) -> None:
        self.url, self.state_dir, self.host = url, state_dir, host
        self.keys = Keys(workspace)
        self.wire = Wire(url)
        self.cards: dict[str, Card] = {}
        self.bells: set[str] = set()
        self._records: dict[str, dict[str, Any]] = {}
        self._tried: dict[str, int] = {}
        self._rooms: dict[str, tuple[str, ...]] = {}

    def beat(self) -> None:
        """Say of all sessions that they are there, one call; and learn what they do."""
        names = sorted(self.cards)
        if not names:
            return
        _, found = self.wire.run(sessions.beat(self.keys, self.host, names))
        self._records = dict(zip(names, found, strict=True))

    def listen_to(self) -> set[str]:
        """The doorbells of all its sessions: each agent's own, and those of the rooms that any of them is in."""
        me = sorted({card["agent"].lower() for card in self.cards.values()})
        found = self.wire.pipe([agents.rooms(self.keys, one) for one in me]) if me else []
        self._rooms = {one: tuple(rooms) for one, rooms in zip(me, found, strict=True)}
        self.bells = {self.keys.bell(one) for one in me} | {self.keys.room(room) for rooms in self._rooms.values() for room in rooms}
        return self.bells

    def concerned(self, bell: str) -> list[str]:
        """The sessions that a ring may be for."""
        return [
            session for session, card in self.cards.items()
            if bell == self.keys.bell(card["agent"].lower()) or any(bell == self.keys.room(room) for room in self._rooms.get(card["agent"].lower(), ()))
        ]  # fmt: skip

    def look(self, session: str) -> None:
        """Ring a session that is idle and has something that wakes it. It is asked for once, until it landed or was given up."""
        card = self.cards[session]
        rows = self.wire.drive(deliver.waiting(Caller(self.keys, card["agent"])))
        if not rows:
            return
        ways = ring.ways(card)
        way = ways[self._tried.get(session, 0) % len(ways)] if ways else "none"
        asked = self.wire.run(sessions.wake(self.keys, session, "ask", way))
        if asked["done"] and ways:
            ring.ring(way, self.state_dir, card, deliver.call_in(rows, card["agent"]))

    def overdue(self) -> None:
        """Give up wakes that did not land in time, and try the next way."""
        now_ms = time.time() * 1000
        for session, record in self._records.items():
            if record.get("asked_ms") and record["state"] == "idle" and now_ms - record["asked_ms"] > GRACE_S * 1000 and session in self.cards:
                self.wire.run(sessions.wake(self.keys, session, "miss", record["way"]))
                self._tried[session] = self._tried.get(session, 0) + 1
                self.look(session)

    def close(self) -> None:
        """Give the connections back."""
        try:
            self.wire.close()
        except ChatError:
            return
