"""A session that has ended: what it held is let go, once it is certain that nobody took it up again."""

from __future__ import annotations

import time

from ..calls import sessions
from ..calls.call import Caller
from ..errors import ChatError
from ..hook import keep
from ..hook import session as cards
from ..settings import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .world import World

GRACE_MS = 60_000
GONE_MS = 86_400_000  # a session of the same agent without any sign for so long holds nothing up
SURE_S = 3.0  # longer than a hook takes that takes the session up again: it tells the broker first, and this host then
KEEPS = ("clear", "resume")  # the same agent goes on under another session: what it holds stays


class Ending:
    """The ended sessions of one world, as far as this host has their cards."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._met: dict[str, tuple[int, float]] = {}  # when it was last active, and since when it is known here that it was over then

    def settle(self, session: str) -> None:
        """End it at the broker, if its own last hook did not; after the grace let go of what it held, and forget it here."""
        world, card = self.world, self.world.over[session]
        now, (record,) = world.wire.run(sessions.beat(world.keys, world.host, ())), world.wire.run(sessions.some(world.keys, [session]))
        if record and record["state"] != "ended":
            active, met = self._met.get(session, (0, 0.0))
            if active != record["active_ms"]:  # it did something since: if it was taken up again, its card will say so
                self._met[session] = record["active_ms"], time.monotonic()
            elif time.monotonic() - met > SURE_S and cards.known(world.state_dir, session).get("ended"):
                world.wire.run(sessions.end(world.keys, session, card["agent"].lower(), active_ms=active))
            return
        self._met.pop(session, None)
        if record and now[0] - record["active_ms"] < GRACE_MS:
            return
        if card["ended"] not in KEEPS and not self._goes_on(session, card["agent"].lower(), now[0]):
            self._let_go(card)
        if cards.known(world.state_dir, session).get("ended"):  # else it was taken up again just now
            cards.forget(world.state_dir, session)

    def _goes_on(self, session: str, me: str, now: int) -> bool:
        """Is another session that agent?"""
        found: dict[str, dict[str, Any]] = self.world.wire.run(sessions.every(self.world.keys))
        return any(
            one != session and record["agent"].lower() == me and record["state"] != "ended" and now - max(record["active_ms"], record["beat_ms"]) < GONE_MS
            for one, record in found.items()
        )

    def _let_go(self, card: dict[str, str]) -> None:
        """Under its own name and token, which lie in this user's state directory. Who is not that agent any more has nothing to give back."""
        env = {"REDISCHAT_STATE": self.world.state_dir, "REDISCHAT_SESSION": card["session"], "CLAUDE_PROJECT_DIR": card["project"]}
        try:
            mine = Settings({"url": card["url"], "workspace": card["workspace"], "as_": card["agent"]}, env, "/")
        except ChatError:
            return
        if mine.token:
            gone = self.world.wire.drive(keep.let_go(Caller(self.world.keys, card["agent"], mine.token)))
            self.world.log(f"{card['session']}: {card['agent']} has ended: {gone['paths']} paths and {gone['tasks']} tasks given back")
