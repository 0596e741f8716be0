"""Undoing a setup: a project's sessions end, its agents give everything back and leave, what lies on this machine goes. Each step is told first, or only told."""

from __future__ import annotations

import os
from contextlib import suppress

from ..broker import admin
from ..calls import agents, channels, claims, paths, sessions
from ..calls.call import Caller, Once, pairs, plain
from ..errors import ChatError
from ..flows import channels as rooms_of
from ..hook import fired, keep, reload, wake
from ..hook import session as cards
from ..settings import redacted
from . import ignore
from .project import Project
from .wiring import served

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Any

    from ..keys import Keys
    from ..settings import Binding, Settings
    from . import Plan
    from .wiring import Wiring

    Flow = Generator[Any, Any, Any]


class Takedown:
    """All that a project has in a workspace: ``bindings`` (this user's proofs of its names), ``cards`` (its sessions), ``callers``, one for each agent.

    ``whole``: the project is of this workspace, or of none; then what was written into it goes too.
    """

    def __init__(self, settings: Settings, keys: Keys) -> None:
        self.settings, self.keys, self.project = settings, keys, Project(settings)
        self.bindings: list[Binding] = [one for one in settings.bindings if one.project == settings.home]
        newest = {one.agent.lower(): one for one in sorted(self.bindings, key=lambda one: one.drawn)}
        self.callers = [Caller(keys, one.agent, one.token) for one in newest.values()]
        self.cards: list[dict[str, str]] = [card for card in _cards(settings) if _world(card) == _here(settings)]
        url, workspace = _here(settings)
        self.whole = _world({"url": url, "workspace": workspace, **self.project.facts}) == (url, workspace)
        wish = self.project.facts.get("agent", "")
        if self.whole and wish and wish.lower() not in newest:  # no session has taken it yet: held by nobody, and in its channels all the same
            self.callers.append(Caller(keys, wish, ""))

    def __bool__(self) -> bool:
        return bool(self.bindings or self.cards or (self.whole and (self.project.leftovers() or self.project.noted)))

    def survey(self) -> Flow:
        """What would be given back, as sentences; nothing is changed."""
        said = [f"end the session {card['session']} ({card['agent']})" for card in self.cards]
        for who in self.callers:
            held, rooms = yield from self._held(who)
            said += [f"{who.agent}: give back {held} locked path{'s' * (held != 1)}"] if held else []
            leased = yield plain("HGETALL", self.keys.leased, read=pairs)
            said += [
                f"{who.agent}: give back the task {one.partition(' ')[2]} in #{one.partition(' ')[0]}"
                for one, by in sorted(leased.items())
                if by.split(" ")[0] == who.me
            ]
            said += [f"{who.agent}: leave #{room}" for room in rooms]
            said.append(f"{who.agent}: give the name back")
        return said

    def farewell(self) -> Flow:
        """Give back leases, locks and claims, leave every channel, give the names back: in that order. Gives sentences of what was done.

        The name goes last: whoever took it in between would refuse its own leaving.
        """
        said = []
        for card in self.cards:
            yield sessions.end(self.keys, card["session"], card["agent"].lower())
            said.append(f"ended the session {card['session']} ({card['agent']})")
        for who in self.callers:
            try:
                said += yield from self._left(who)
            except ChatError as error:
                said.append(f"{who.agent}: {error.sentence()}")
        return said

    def _left(self, who: Caller) -> Flow:
        count = yield from keep.let_go(who)
        heads = yield channels.heads(self.keys)
        rooms = [room for room in sorted((yield agents.rooms(self.keys, who.me))) if room in heads]
        claimed = 0
        for room in heads:
            for one in (yield claims.every(self.keys, room)):
                if one["owner"].lower() == who.me:
                    yield claims.drop(who, room, one["name"], once=Once())
                    claimed += 1
        given = [f"{number} {what}{'s' * (number != 1)}" for number, what in ((count["paths"], "lock"), (count["tasks"], "task"), (claimed, "claim")) if number]
        said = [f"{who.agent}: gave back {', '.join(given)}"] if given else []
        for room in rooms:
            got = yield from rooms_of.leave(who, room, Once())
            said.append(f"{who.agent}: left #{got['channel']}" + (", which is closed now: nobody else was in it" if got["closed"] else ""))
        yield agents.release(who)
        return [*said, f"{who.agent}: gave the name back"]

    def _held(self, who: Caller) -> Flow:
        held, *_ = yield paths.book(self.keys)
        mine = [row for text in held.values() for row in text.split("\n") if row.split(" ")[0] == who.me and row.endswith(" -")]
        heads = yield channels.heads(self.keys)
        return len(mine), [heads[room][1] for room in sorted((yield agents.rooms(self.keys, who.me))) if room in heads]

    def plans(self, wiring: Wiring) -> list[Plan]:
        """The end of our hooks; a file of this user that other projects count on stays."""
        if not self.whole:
            return []
        wiring.clients = wiring.ours()
        return wiring.removals(self.project.counted, all_=False)

    def served(self) -> list[str]:
        """The clients whose MCP server goes, too."""
        return served(self.project.counted) if self.whole else []

    def lies(self) -> list[str]:
        """What else would go, as sentences."""
        said = [f"forget the proof of {who.agent}" for who in self.callers]
        return said + ([f"take {', '.join(self.project.leftovers())} out of {self.project.path}"] if self.whole and self.project.leftovers() else [])

    def clear(self) -> list[str]:
        """Remove what lies on this machine of these sessions, names and settings; git's exclude lines where no other worktree needs them. Gives sentences."""
        for card in self.cards:
            cards.forget(self.settings.state_dir, card["session"])
        for one in self.bindings:
            with suppress(FileNotFoundError):
                os.unlink(one.path)
        if not self.whole:
            return []
        unwired(self.settings)
        fired.forget(self.settings.state_dir, self.settings.home)
        reload.forget(self.settings.state_dir, self.settings.home)
        left, siblings = self.project.leftovers(), self.project.siblings()
        said = [f"took {', '.join(left)} out of {self.project.path}"] if left else []
        self.project.erase()
        if not siblings and not os.path.exists(os.path.dirname(self.project.path)):
            ignore.remove(self.settings.project)
        return said

    def reachable(self) -> bool:
        """Whether the broker can be asked without starting it."""
        return self.settings.url != self.settings.embedded or bool(admin.status(self.settings.state_dir)["running"])

    def still(self) -> bool:
        """Stop the waker, when no session is left that it could ring. Gives whether it was stopped."""
        state_dir = self.settings.state_dir
        return not cards.cards(state_dir) and wake.running(state_dir) and wake.stop(state_dir)

    def quiet(self) -> bool:
        """Stop the embedded broker, when nothing of this user's is left that needs it: no name, no other project, no client. Gives whether it was stopped."""
        state_dir = self.settings.state_dir
        if self.settings.url != self.settings.embedded or self.project.others():
            return False
        kept = [name for _, _, names in os.walk(os.path.join(state_dir, "bindings")) for name in names if not name.endswith(".tmp")]
        found = admin.status(state_dir)
        return bool(not kept and found["running"] and not found["clients"] and admin.stop(state_dir)["stopped"])


def unwired(settings: Settings) -> None:
    """This project's sessions of other workspaces hear nothing more, until they start anew."""
    for card in _cards(settings):
        if _world(card) != _here(settings):
            cards.forget(settings.state_dir, card["session"])


def _cards(settings: Settings) -> list[dict[str, str]]:
    return [card for card in cards.cards(settings.state_dir).values() if card.get("project") == settings.home]


def _world(facts: Mapping[str, str]) -> tuple[str, str]:
    return redacted(facts["url"]), facts["workspace"].lower()


def _here(settings: Settings) -> tuple[str, str]:
    return redacted(settings.url), settings.workspace.lower()
