"""Which rights the user of this connection has at the broker: of one workspace, only to look, or of everything."""

from __future__ import annotations

from contextlib import suppress

from ..calls import users
from ..calls.call import plain
from ..errors import ChatError
from ..flows import users as users_of
from ..keys import SHARED
from .doctor import NOTE, OK, WRONG, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..calls.call import Call
    from ..keys import Keys
    from ..settings import Settings
    from ..wire import Wire

ELSEWHERE = SHARED + "}:meta"  # a key of a workspace that cannot be: nothing is read, whatever the answer


class Rights:
    """What the broker said: ``user`` ("" if it does not tell), ``admin``: it may make users, ``everywhere``: it reaches other workspaces, ``looks``: nothing else.

    ``made``: to an admin, what :func:`flows.users.every` gives.
    """

    __slots__ = ("admin", "everywhere", "looks", "made", "user")

    def __init__(self, wire: Wire, keys: Keys, *, looks: bool) -> None:
        self.user = str(_tried(wire, users.myself()) or "")
        self.admin = _tried(wire, users.names()) is not None
        self.everywhere = _tried(wire, plain("EXISTS", ELSEWHERE)) is not None
        self.looks = looks
        self.made: dict[str, Any] = {"users": [], "missing": {}}
        with suppress(ChatError):
            self.made = wire.drive(users_of.every(keys, everywhere=True)) if self.admin else self.made


def _tried(wire: Wire, call: Call) -> Any:
    """The answer, None where it is refused."""
    try:
        return wire.run(call)
    except ChatError:
        return None


def told(settings: Settings, rights: Rights) -> Check:
    """The claim on it."""
    name, workspace = rights.user or "a user whose name is not told", settings.workspace
    if settings.url == settings.embedded:
        return Check("rights", OK, "whoever reaches the socket of the embedded broker may do everything there")
    if rights.admin:
        said = f"{name}, the admin: may read, change and delete every workspace. Agents and people are better off as users of one"
        return Check("rights", NOTE, said, "redischat admin user add NAME")
    if rights.everywhere:
        return Check("rights", NOTE, f"{name} reaches other workspaces, too", "redischat admin user list")
    may = "may look at" if rights.looks else "may read and write"
    return Check("rights", OK, f"{name} {may} workspace {workspace} and nothing else")


def alike(rights: Rights) -> Iterator[Check]:
    """Whether every server of the broker lets in the same users; told to an admin only."""
    differ = [one["user"] for one in rights.made["users"] if one["lacks"] or one["older"] or one["revoked"]]
    if differ:
        yield Check("users", WRONG, f"not the same on every server of this broker: {', '.join(differ)}", "redischat admin user list --all")
    for server, why in rights.made["missing"].items():
        yield Check("users", WRONG, f"{server} could not be asked whom it lets in ({why})", "redischat admin user list --all")
