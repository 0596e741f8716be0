"""The MCP server in the settings of harnesses, as setup, uninstall and teardown put it in, take it out, and tell of it."""

from __future__ import annotations

import shlex

from ..hook import wake
from ..install import apply, ignore, servers
from ..text import inert
from .show import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from ..install import Plan
    from ..install.wiring import Wiring


class Tools:
    """What is to be done; ``out_of``: the clients that it is taken out of, instead of being put in."""

    def __init__(self, wiring: Wiring, *, no_mcp: bool = False, out_of: Collection[str] | None = None) -> None:
        self.wiring = wiring
        planned = ([], []) if no_mcp else servers.adding(wiring) if out_of is None else servers.removing(wiring, out_of)
        self._steps, self._notes = planned
        self._failed: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._steps or self._notes)

    def wired(self, plans: list[Plan]) -> list[Plan]:
        """Put in the hooks that were planned, the server, and the waker for them. Gives the plans that were done."""
        ignore.add(self.wiring.settings.project, self.wiring.patterns())
        done = [apply(one) for one in plans]
        self.put_in()
        if self.wiring.clients:
            wake.start(self.wiring.settings.state_dir)
        return done

    def put_in(self, *, dry: bool = False) -> None:
        """Do it, unless it is only to be told."""
        self._failed = [] if dry else servers.done(self.wiring, self._steps)

    def lines(self, *, as_json: bool, dry: bool) -> str:
        """What was done, or would be, for standard output."""
        if as_json:
            return "".join(map(record, self.records()))
        return "".join(f"would {inert(one)}\n" for one in self.steps()) if dry else "".join(f"{one.strip()}\n" for one in self.said())

    def steps(self) -> list[str]:
        """What would be done."""
        return [f"{one.said}: {shlex.join(one.words)}" if one.words else f"{one.client}: {one.said}" for one in self._steps]

    def said(self) -> Iterator[str]:
        """What was done, and what not, a line each."""
        failed = {one.partition(" ")[0] for one in self._failed}
        how = {"register": "MCP server registered: its tools are the verbs", "take": "MCP server taken out"}
        last = {one.client: one for one in self._steps if one.client not in failed}
        yield from (f"  {client}: {how[one.said.partition(' ')[0]]}" for client, one in last.items())
        yield from (f"  note: {inert(one)}" for one in (*self._failed, *self._notes))

    def noted(self) -> str:
        """What must be said before anything is done."""
        return "".join(f"note: {inert(one)}\n" for one in self._notes)

    def records(self) -> list[dict[str, Any]]:
        """The same as JSON records."""
        return [*(one.record() for one in self._steps), *({"note": one} for one in (*self._failed, *self._notes))]
