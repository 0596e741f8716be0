"""Users of a team's broker: one for each agent or team, of one workspace. Made, changed and removed by whoever may use the server's ACL commands.

A server's users lie beside its data: on its own disk in its ACL file, and on none of its replicas.
"""

from __future__ import annotations

from ..calls import users
from ..errors import BrokerRefused
from ..errors.broker import NotAllowed
from ..errors.users import AdminNeeded, NoUser, UserExists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ..keys import Keys

    Flow = Generator[Any, Any, Any]

EVERYBODY = "default"  # whom the server takes a connection for that says no name


def add(keys: Keys, name: str, password: str, *, observer: bool = False, database: int = 0) -> Flow:
    """Make a user. Gives ``user workspace observer kept why open drops``: ``kept`` in the ACL file, else ``why`` not; what :func:`_everybody` says.

    Raises:
        AdminNeeded, UserExists: nothing was changed.
    """
    before = yield from _asked(users.find(name))
    if before is not None:
        raise UserExists(**{key: before[key] for key in ("user", "workspace", "observer")})
    yield from _written(keys, name, password, observer=observer, database=database)
    return {"user": name, "workspace": keys.workspace, "observer": observer, **(yield from _kept()), **(yield from _everybody())}


def revoke(keys: Keys, name: str) -> Flow:
    """Delete a user, which ends its sessions. Gives ``user workspace kept why``.

    Raises:
        AdminNeeded, NoUser: nothing was changed.
    """
    yield from _ours(keys, name)
    yield from _asked(users.drop(name))
    return {"user": name, "workspace": keys.workspace, **(yield from _kept())}


def rotate(keys: Keys, name: str, password: str, *, database: int = 0) -> Flow:
    """Give a user a new password and end the sessions that used the old one. Gives what :func:`add` does, and ``ended``: how many connections.

    Raises:
        AdminNeeded, NoUser: nothing was changed.
    """
    before = yield from _ours(keys, name)
    yield from _written(keys, name, password, observer=before["observer"], database=database)
    ended = yield from _asked(users.end(name))
    return {"user": name, "workspace": keys.workspace, "observer": before["observer"], **(yield from _kept()), **(yield from _everybody()), "ended": ended}


def update(keys: Keys, names: Sequence[str] = (), *, database: int = 0) -> Flow:
    """Give users the rights that this version needs; passwords and sessions stay. Gives ``users kept why``.

    Raises:
        AdminNeeded, NoUser: of a name; those before it are changed.
    """
    names = names or [one["user"] for one in (yield from every(keys))]
    for name in names:
        before = yield from _ours(keys, name)
        yield from _written(keys, name, None, observer=before["observer"], database=database)
    return {"users": [*names], **(yield from _kept())}


def every(keys: Keys, *, everywhere: bool = False) -> Flow:
    """The users of this workspace, or of all: ``user workspace observer on connections``, by name.

    Raises:
        AdminNeeded: this connection may not ask.
    """
    found = yield from _asked(users.names())
    now, *rows = yield from _asked([users.connected(), *map(users.find, found)])
    shown = [one for one in rows if one and one["workspace"] and (everywhere or one["workspace"] == keys.workspace.lower())]
    return [{**{key: one[key] for key in ("user", "workspace", "observer", "on")}, "connections": now.get(one["user"], 0)} for one in shown]


def _ours(keys: Keys, name: str) -> Flow:
    """A user of this workspace that redischat made."""
    found = yield from _asked(users.find(name))
    if found is None or found["workspace"] != keys.workspace.lower():
        raise NoUser(user=name, workspace=(found or {}).get("workspace"))
    return found


def _written(keys: Keys, name: str, password: str | None, *, observer: bool, database: int) -> Flow:
    try:
        yield from _asked(users.write(name, users.rules(keys, observer=observer, database=database), password))
    except BrokerRefused as error:  # Redis 7.0 knows fewer commands, and refuses the whole line
        if "Unknown command" not in str(error.facts.get("answer")):
            raise
        yield from _asked(users.write(name, users.rules(keys, observer=observer, database=database, newer=False), password))


def _asked(call: Any) -> Flow:
    """The answer to an admin's question."""
    try:
        return (yield call)
    except NotAllowed as error:
        raise AdminNeeded(**error.facts) from error


def _kept() -> Flow:
    try:
        yield users.save()
    except (BrokerRefused, NotAllowed) as error:
        return {"kept": False, "why": error.facts.get("answer")}
    return {"kept": True, "why": None}


def _everybody() -> Flow:
    """``open``: whoever says no name needs no password. ``drops``: that user may not do everything, and Redis 7.0 drops at its start what it may not do."""
    found = yield from _asked(users.find(EVERYBODY))
    return {"open": bool(found and found["open"]), "drops": bool(found and not found["whole"])}
