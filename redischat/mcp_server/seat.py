"""Where one call stands: its settings, read anew each time, so that a server which outlives a session's id acts as whoever that session is now."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..aio.client import AsyncClient
from ..hook import alive
from ..hook import session as cards
from ..settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

_OF_THE_SESSION = ("CLAUDE_CODE_SESSION_ID", "REDISCHAT_SESSION", "GEMINI_SESSION_ID", "REDISCHAT_AGENT")
_GENERATIONS = 4  # a client may start its servers by way of a shell or a launcher


class Place:
    """What the server was started with, and what it may ask the command for.

    ``flags``: ``as_ url workspace``, where given. ``become``: binds a name to the session of some settings, keeps the proof and gives what came of it.
    ``longest``: how many seconds one wait may take.
    """

    def __init__(self, flags: Mapping[str, Any], become: Callable[..., dict[str, Any]], longest: float) -> None:
        self.flags, self.become, self.longest = flags, become, longest
        self.waits = 0
        self.sits = ""  # which of several agents of the project the client has said that it is

    def settings(self) -> Settings:
        """What environment, project and bindings say now; where they name several agents, the one that the client said it is.

        Raises:
            SpeakAsYourself: the server was started for an agent that this session is not.
        """
        found = self._found()
        return found if found.agent or not self.sits else Settings({**self.flags, "as_": self.sits}, found.env, _here())

    def _found(self) -> Settings:
        env = os.environ
        if not any(env.get(name) for name in _OF_THE_SESSION):
            plain = Settings({}, env, _here())
            session = _told_by_hooks(plain)
            if session:
                return Settings(self.flags, {**env, "REDISCHAT_SESSION": session}, _here())
        return Settings(self.flags, env, _here())

    def client(self) -> AsyncClient:
        """Somebody's seat for one call. Nothing is connected between calls."""
        return AsyncClient(settings=self.settings())


def _told_by_hooks(settings: Settings) -> str:
    """The session of the harness that started this server, as that one's hooks noted it: the only one of that process here. "" where that is not known."""
    ancestors = set(_ancestors())
    found = {
        card["session"]
        for card in cards.cards(settings.state_dir).values()
        if card.get("project") == settings.home and not card.get("ended") and card.get("born") and (card.get("pid"), card["born"]) in ancestors
    }
    return found.pop() if len(found) == 1 else ""


def _ancestors() -> list[tuple[str, str]]:
    """The processes that this one comes from, each with its birth."""
    found, pid = [], os.getppid()
    for _ in range(_GENERATIONS):
        found.append((str(pid), alive.born(pid)))
        pid = alive.parent(pid)
        if pid <= 1:
            break
    return found


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.environ.get("PWD") or os.sep
