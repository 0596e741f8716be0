"""Becoming an agent, and finding the workspaces of a broker."""

from __future__ import annotations

from ..calls import agents
from ..calls.call import Caller, Everywhere, Once, plain
from ..errors.broker import NotAllowed
from .channels import sync

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..keys import Keys

    Flow = Generator[Any, Any, Any]

WANTS = {(False, False): "take", (True, False): "over", (True, True): "force", (False, True): "force"}


class Claim:
    """Who wants to be an agent: session key, host, project; and how far it may go to get the name."""

    __slots__ = ("host", "project", "reason", "session", "want")

    def __init__(self, session: str, host: str, project: str, *, take_over: bool = False, force: bool = False, reason: str = "") -> None:
        self.session, self.host, self.project, self.reason = session, host, project, reason
        self.want = WANTS[take_over, force]


def identify(keys: Keys, name: str, claim: Claim, once: Once) -> Flow:
    """Bind a name to a session and join the open broadcast channels. Gives ``agent token how old_session old_seen joined``."""
    rooms = yield agents.rooms(keys, name.lower())
    bound = yield agents.identify(
        keys, name, session=claim.session, host=claim.host, project=claim.project, want=claim.want, reason=claim.reason, rooms=rooms, once=once
    )
    joined = yield from sync(Caller(keys, bound["agent"], bound["token"]))
    return {**bound, "joined": joined}


def workspaces(keys: Keys) -> Flow:
    """The names of all workspaces of this broker that the user may see, sorted: for a user who may list no keys, the one that it is in, if there is anything."""
    try:
        found = yield Everywhere(_workspaces_of_one)
    except NotAllowed:
        return [keys.workspace.lower()] if (yield plain("EXISTS", keys.meta)) else []
    return sorted(set[str]().union(*found))


def _workspaces_of_one(_server: str) -> Flow:
    """Those of one server."""
    cursor, found = "0", set[str]()
    while True:
        cursor, some = yield agents.workspaces(cursor)
        found.update(some)
        if cursor == "0":
            return found
