"""The harnesses of one project, and the hooks that each of them is to have: what would be done, what is there."""

from __future__ import annotations

import os

from ..errors import Usage
from ..files import folder
from ..settings import CONFIG, read_pairs
from . import CLIENTS, Plan, Status, codex, detect, ignore, installed, others, plans, scopes, targets
from .merge import resolved
from .record import stamp
from .status import plugin_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from ..settings import Settings

WAKE, WAITER, FILE = "wake", "waiter", "file"  # in .redischat/config: how idle sessions of Claude Code are woken


class Wiring:
    """``clients``: those that it is about; ``how`` that is known; ``python`` and ``tick``: what their hooks are to run."""

    def __init__(self, settings: Settings, given: str | None = None, scope: str | None = None) -> None:
        self.settings, self.env = settings, settings.env
        self.home = self.env.get("HOME") or os.path.expanduser("~")
        self.clients, self.how = chosen(given, self.env)
        self.python, self.tick = detect.python(), os.path.join(folder("hooks"), "tick.py")
        known = {one for client in self.clients or CLIENTS for one in scopes(client)}
        if scope and scope not in known:
            raise Usage(message=f"no scope is called {scope!r} there: it is one of {', '.join(sorted(known))}")
        self.scope = scope
        self.waiter = read_pairs(os.path.join(settings.project, CONFIG)).get(WAKE) == WAITER
        self._versions: dict[str, str] = {}

    def lasting(self, then: str) -> None:
        """Refuse to wire an environment that is soon gone (:func:`.detect.lasting`)."""
        if self.clients:
            detect.lasting(self.tick, self.env, then)

    def scope_of(self, client: str) -> str:
        """The scope that is meant for a client."""
        return self.scope if self.scope in scopes(client) else scopes(client)[0]

    def path(self, client: str) -> str:
        """The file that is meant."""
        return self.target(client, self.scope_of(client))

    def target(self, client: str, scope: str) -> str:
        """A client's file of a scope."""
        return targets(self.settings.project, self.home, client, scope, self.env)

    def version(self, client: str) -> str:
        """Of the client: as it tells it now, else as it did when it was wired."""
        if client not in self._versions:
            then = (stamp(self.settings.state_dir, resolved(self.path(client))) or {}).get("version", "")
            self._versions[client] = detect.version(client, self.env) or then
        return self._versions[client]

    def plugged(self) -> list[str]:
        """Those whose plugin of ours is enabled: it brings the hooks."""
        return [client for client in self.clients if plugin_enabled(client, [self.target(client, scope) for scope in scopes(client)])[0]]

    def plans(self, *, remove: bool = False, but: Sequence[str] = ()) -> list[Plan]:
        """What is to be done for all of them, except for those in ``but``; each file once.

        Raises:
            Refused: one of the files cannot be changed; as nothing is done yet, nothing is half done.
        """
        found: list[Plan] = []
        for client in [one for one in self.clients if one not in but]:
            version = None if remove else self.version(client) or None
            found += plans(
                client, self.settings.project, self.home, self.python, self.tick, scope=self.scope_of(client), version=version, remove=remove, **self._common
            )
        return found

    def removals(self, counted: Mapping[str, Sequence[str]], *, all_: bool) -> list[Plan]:
        """The end of our hooks. This user's own file of a client that other projects count on (:attr:`.Project.counted`) stays, unless ``all_``: a plan without changes, which says so."""
        found = [one for one in self.plans(remove=True) if one.changes]
        for one in [one for one in found if one.client in counted and one.path == self.target(one.client, "user")]:
            projects = ", ".join(counted[one.client])
            if all_:
                one.warnings.append(f"{projects} counted on it, too: redischat install --harness {one.client}")
                continue
            one.changes, one.after = [], one.before
            one.warnings = [f"it stays: {projects} counts on it. All the same: redischat uninstall --harness {one.client}"]
        return found

    def status(self, client: str) -> Status:
        """What is registered for a client: in the scope that was asked for, else in the first that has something of ours."""
        found = [self._status(client, scope) for scope in ([self.scope_of(client)] if self.scope else scopes(client))]
        return next((one for one in found if one.registered), found[0])

    def _status(self, client: str, scope: str) -> Status:
        path = self.target(client, scope)
        rest = others(self.settings.project, self.home, client, path, self.env)
        home = codex.home_of(self.home, self.env) if client == "codex" else ""
        return installed(
            client, path, self.python, self.tick, state_dir=self.settings.state_dir, version=self.version(client) or None, elsewhere=rest, codex_home=home,
            text=self._common["text"], waiter=self.waiter,
        )  # fmt: skip

    def ours(self, *, not_home: Collection[str] = ()) -> list[str]:
        """The clients with something of ours in any of the files that they would read here; of those in ``not_home``, this user's own file aside."""
        found = []
        for client in CLIENTS:
            files = [self.target(client, scope) for scope in scopes(client) if scope != "user" or client not in not_home]
            if any(installed(client, file, self.python, self.tick, state_dir=self.settings.state_dir).registered for file in files):
                found.append(client)
        return found

    def patterns(self) -> list[str]:
        """What git shall not see of it."""
        own = {"claude": ignore.LOCAL_SETTINGS, "opencode": ignore.PLUGIN}
        local = {"claude": "local", "opencode": "project"}
        return [ignore.FOLDER, *(own[client] for client in self.clients if client in own and self.scope_of(client) == local[client])]

    def short(self, path: str) -> str:
        """A path as it is shown: below the project, below the home, or whole."""
        for root, mark in ((self.settings.project, ""), (self.home, "~/")):
            if path.startswith(os.path.join(root, "")):
                return mark + os.path.relpath(path, root)
        return path

    @property
    def _common(self) -> dict[str, Any]:
        with open(os.path.join(os.path.dirname(self.tick), "opencode.js"), encoding="utf-8") as file:
            return {"state_dir": self.settings.state_dir, "text": file.read(), "env": self.env, "waiter": self.waiter}


def served(counted: Collection[str]) -> list[str]:
    """The clients whose MCP server may go from here: one for all projects of this user stays where others count on it."""
    return [client for client in CLIENTS if client == "claude" or client not in counted]


def chosen(given: str | None, env: Mapping[str, str]) -> tuple[list[str], str]:
    """The clients that ``given`` (a,b, or none) names; without it those that are found here. And how that is known.

    Raises:
        Usage: one of them is no client.
    """
    if not given:
        return detect.harnesses(env)
    wanted = [one.strip().lower() for one in given.split(",") if one.strip()]
    for one in wanted:
        if one not in CLIENTS and (one != detect.NONE or len(wanted) > 1):
            raise Usage(message=f"no harness is called {one!r}: it is one of {', '.join(CLIENTS)}, or none")
    return [one for one in CLIENTS if one in wanted], "as asked"
