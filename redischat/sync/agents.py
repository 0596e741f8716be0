# Made from ../aio by tests/unasync.py; edit that, not this.
"""identify, whoami, sync, workspaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import names
from ..calls import agents as calls
from ..calls.call import Once
from ..errors import NoIdentity
from ..flows import agents as flows
from ..flows import channels
from ..models import Identity, WhoAmI
from ..settings import host
from .errand import drive
from .seat import THE_PROGRAM, Seat

if TYPE_CHECKING:
    from typing import Any


class Agents(Seat):
    """The verbs of who speaks."""

    def identify(
        self, name: str | None = None, *, session: str | None = None, take_over: bool = False, force: bool = False, reason: str = "", idem: str | None = None
    ) -> Identity:
        """Bind a name (default: the client's) to a session (default: this process's) and join the open broadcast channels at their end.

        The token that proves it is drawn anew, kept in this object and written nowhere; the one before it is refused from then on. ``take_over`` takes a
        name whose holder was not seen for 2 minutes; with ``force`` and a ``reason`` a live one's, which is for people.

        Raises:
            NameHeld: another session holds the name, and is not over.
            BadName: it breaks the rule for names.
        """
        wanted = name or self.agent
        if not wanted:
            raise NoIdentity
        project = self._settings.home if self._settings is not None else ""
        claim = flows.Claim(session or self._session, host(), project, take_over=take_over, force=force, reason=names.line("reason", reason))
        got = self._drive(flows.identify(self._keys, names.agent(wanted), claim, Once(idem)))
        self._sit(got["agent"], got["token"])
        return Identity.model_validate(got)

    def whoami(self) -> WhoAmI:
        """Who and where this client is, where each value comes from, and who holds its name. Changes nothing; needs no identity."""
        found: dict[str, Any] = (self._run(calls.records(self._keys, [self._who.agent])))[0] if self._who.agent else {}
        settings = self._settings
        sources = settings.sources if settings is not None else dict.fromkeys(("agent", "url", "workspace", "project"), THE_PROGRAM)
        got = {
            "agent": self.agent, "agent_from": sources["agent"], "held": found.get("held", False), "holder": found.get("session") or None,
            "holder_host": found.get("host") or None, "seen": found.get("seen"), "token": bool(self._who.token), "session": self._session,
            "workspace": self.workspace, "workspace_from": sources["workspace"], "url": self.url, "url_from": sources["url"],
            "project": settings.project if settings is not None else None, "project_from": sources["project"],
        }  # fmt: skip
        return WhoAmI.model_validate(got)

    def sync(self) -> list[str]:
        """Join every open broadcast channel that the agent is not in, at its end; their names. Again joins nothing twice."""
        joined: list[str] = self._drive(channels.sync(self._me()))
        return joined

    def workspaces(self) -> list[str]:
        """The names of all workspaces of this broker, sorted; for users who may see all keys. Needs no identity."""
        found: list[str] = drive(self._connection, flows.workspaces(self._keys))
        return found
