"""Users of a team's broker: one for each agent or team, of one workspace. Made, changed and removed by whoever may use the servers' ACL commands.

No server takes a user over from another, so each is told: all nodes of a Cluster, a primary and its replicas. What one server misses, the same verb brings there
later: of two that differ, ``since`` says which is the newer (docs/decisions/0019).
"""

from __future__ import annotations

from functools import partial

from ..calls import users
from ..calls.call import Everywhere
from ..errors import BrokerRefused, ChatError
from ..errors.broker import NotAllowed
from ..errors.users import AdminNeeded, NotEverywhere, NoUser, UserExists
from .everywhere import Standing, Told, everyone, silent, summed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Any, TypeVar

    from ..keys import Keys

    Flow = Generator[Any, Any, Any]
    Made = TypeVar("Made")

EVERYBODY = "default"  # whom the server takes a connection for that says no name


def add(keys: Keys, name: str, draw: Callable[[], str], *, observer: bool = False, database: int = 0) -> Flow:
    """Make a user, or bring it to the servers that it is not on. Gives ``user workspace observer new``, and what :func:`everywhere.summed` says.

    ``draw`` gives the password, when a new one is needed (``new``): before anything is changed.

    Raises:
        AdminNeeded, UserExists: nothing was changed.
    """
    stands = yield from _look(name)
    live = stands.newest if stands.newest and not stands.newest["gone"] else None
    same = live and _mine(keys, live) and live["observer"] == observer and not stands.torn and (stands.behind or silent(stands.at.values()))
    taken = stands.strangers() or (None if same else live)
    if taken:
        raise UserExists(**{key: taken[key] for key in ("user", "workspace", "observer")})
    if live and stands.led:
        return (yield from _settled(keys, stands, live, database))
    return (yield from _drawn(keys, stands, draw, observer=observer, database=database))


def revoke(keys: Keys, name: str) -> Flow:
    """Delete a user, which ends its sessions. Gives ``user workspace``, and what :func:`everywhere.summed` says.

    It is switched off everywhere before it is deleted anywhere: a server that was not reached then has the older word, and gives nobody back.

    Raises:
        AdminNeeded, NoUser: nothing was changed.
    """
    stands = yield from _look(name)
    found = _ours(keys, stands, any_=True)
    since = stands.later((yield users.now()))
    off = users.write(name, users.void(keys, since, observer=found["observer"]), ())
    done = yield from _do(stands.at.values(), lambda _: _sent([off, users.end(name)]))
    ended = summed(done)["ended"]
    if all(one.error is None for one in done):
        done = yield from _do((), lambda _: _sent([users.drop(name)]))
    return {"user": name, "workspace": keys.workspace, **summed(done), "ended": ended}


def rotate(keys: Keys, name: str, draw: Callable[[], str], *, database: int = 0) -> Flow:
    """Give a user a new password and end the sessions that used the old one; or, where some servers have the old one still, bring them the new one.

    Gives what :func:`add` does, and ``ended``: how many connections.

    Raises:
        AdminNeeded, NoUser: nothing was changed.
    """
    stands = yield from _look(name)
    newest = _ours(keys, stands)
    if stands.older and not stands.torn:
        return (yield from _settled(keys, stands, newest, database))
    return (yield from _drawn(keys, stands, draw, observer=newest["observer"], database=database))


def update(keys: Keys, names: Sequence[str] = (), *, database: int = 0) -> Flow:
    """Give users the rights that this version needs, on all servers; passwords and sessions stay. Gives ``users``, and what :func:`everywhere.summed` says.

    Raises:
        AdminNeeded, NoUser: nothing was changed.
    """
    told, led = yield from _look_at_all()
    all_ = everyone(told, led)
    names = names or [one.name for one in all_.values() if one.led and _mine(keys, one.newest) and not one.strangers()]
    done = yield from _brought(keys, [all_.get(name) or Standing(name, told=(), led=False) for name in names], told, database)
    return {"users": [*names], **summed(done)}


def every(keys: Keys, *, everywhere: bool = False) -> Flow:
    """``users`` of this workspace, or of all, by name: ``user workspace observer on connections``, and how they stand; ``missing`` as in :func:`everywhere.summed`.

    ``servers`` have it, others ``lacks`` it, or have an ``older`` word of it (``torn``: or a newer one). ``revoked``: but not on all servers; ``stray``: the server
    that the workspace's verbs go to lacks it.

    Raises:
        AdminNeeded: this connection may not ask.
    """
    told, led = yield from _look_at_all()
    rows = [one.row() for one in everyone(told, led).values() if one.newest and one.newest["workspace"]]
    return {"users": [one for one in rows if everywhere or one["workspace"] == keys.workspace.lower()], "missing": silent(told)}


def whole(verb: str, got: dict[str, Any], made: Made, **facts: Any) -> Made:
    """``made`` of what a verb gave, if no server is missing.

    Raises:
        NotEverywhere: with it.
    """
    if got["missing"]:
        error = NotEverywhere(verb=verb, **{key: got[key] for key in ("user", "workspace", "observer", "servers", "missing") if key in got}, **facts)
        error.made = made
        raise error
    return made


def _look_at_all() -> Flow:
    """What each server has, and the names that the first one knows; refused to whoever is no admin there."""
    led = yield from _asked(users.names())
    return (yield Everywhere(lambda server: _at(server, _all_of_one()), replicas=True)), led


def _all_of_one() -> Flow:
    """User -> what one server has of it, with its ``connections``."""
    found = yield users.names()
    now, *rows = yield [users.connected(), *map(users.find, found)]
    return {one["user"]: {**one, "connections": now.get(one["user"], 0)} for one in rows if one}


def _look(name: str) -> Flow:
    """How a user stands at each server; refused to whoever is no admin of the first."""
    led = yield from _asked(users.find(name))
    return Standing(name, (yield Everywhere(lambda server: _at(server, _asked(users.find(name))), replicas=True)), led=bool(led))


def _mine(keys: Keys, found: dict[str, Any] | None) -> bool:
    return found is not None and found["workspace"] == keys.workspace.lower() and not found["gone"]


def _ours(keys: Keys, stands: Standing, *, any_: bool = False) -> dict[str, Any]:
    """A user of this workspace that redischat made; with ``any_`` also what is left of one on some servers."""
    found = stands.newest
    mine = found and found["workspace"] == keys.workspace.lower() if any_ else stands.led and _mine(keys, found)
    if found is None or not mine or stands.strangers():
        elsewhere = found["workspace"] if found and found["workspace"] != keys.workspace.lower() else None
        raise NoUser(user=stands.name, workspace=elsewhere)
    return found


def _drawn(keys: Keys, stands: Standing, draw: Callable[[], str], *, observer: bool, database: int) -> Flow:
    """A new password, on each server that answers."""
    since, password = stands.later((yield users.now())), draw()
    given = partial(_given, keys, stands.name, [f">{password}"], since, observer=observer, database=database, ends=True)
    done = yield from _do(stands.at.values(), lambda _: _finished([given()]))
    return {"user": stands.name, "workspace": keys.workspace, "observer": observer, "new": True, **summed(done)}


def _settled(keys: Keys, stands: Standing, newest: dict[str, Any], database: int) -> Flow:
    """The password that the user has, on each server that answers."""
    done = yield from _brought(keys, [stands], stands.at.values(), database)
    return {"user": stands.name, "workspace": keys.workspace, "observer": newest["observer"], "new": False, **summed(done)}


def _brought(keys: Keys, all_: Sequence[Standing], told: Iterable[Told], database: int) -> Flow:
    """The last word on these users, on each server that answers."""
    newest = [_ours(keys, one) for one in all_]
    return (yield from _do(told, lambda server: _finished([_caught_up(keys, *one, server, database) for one in zip(all_, newest, strict=True)])))


def _caught_up(keys: Keys, stands: Standing, newest: dict[str, Any], server: str, database: int) -> Flow:
    before: dict[str, Any] | None = stands.at[server].got if server in stands.at else None
    mine = before if before and stands.torn else newest  # where nobody knows which password is the newer, each server keeps its own
    ends = before is not None and before["passwords"] != mine["passwords"]
    digests = [f"#{one}" for one in mine["passwords"]]
    return (yield from _given(keys, stands.name, digests or None, mine["since"], observer=newest["observer"], database=database, ends=ends))


def _do(told: Iterable[Told], steps: Callable[[str], Flow]) -> Flow:
    """Take these steps at each server but those that gave no answer before; what came of it.

    Raises:
        ChatError: of the first, when no server did.
    """
    before = {one.server: one for one in told if one.error is not None}

    def at(server: str) -> Flow:
        return before[server] if server in before else (yield from _at(server, steps(server)))

    done = yield Everywhere(at, replicas=True)
    if all(one.error for one in done):
        raise done[0].error
    return done


def _at(server: str, steps: Flow) -> Flow:
    """What these steps gave at one server, or why not: one that is down is no reason to leave out the others."""
    try:
        return Told(server, (yield from steps))
    except ChatError as error:
        return Told(server, None, error)


def _given(keys: Keys, name: str, passwords: Sequence[str] | None, since: str, *, observer: bool, database: int, ends: bool) -> Flow:
    """A user with these passwords, at one server; with ``ends`` its connections are ended. How many."""

    def written(*, newer: bool) -> Any:
        return users.write(name, users.rules(keys, observer=observer, since=since, database=database, newer=newer), passwords)

    try:
        yield from _asked(written(newer=True))
    except BrokerRefused as error:  # Redis 7.0 knows fewer commands, and refuses the whole line
        if "Unknown command" not in str(error.facts.get("answer")):
            raise
        yield from _asked(written(newer=False))
    return (yield from _asked(users.end(name))) if ends else 0


def _finished(steps: Iterable[Flow]) -> Flow:
    """These steps at one server; ``ended``: the sum of what they give. What they change is kept."""
    ended = 0
    for one in steps:
        ended += yield from one
    return {"ended": ended, **(yield from _kept()), **(yield from _everybody())}


def _sent(calls: list[Any]) -> Flow:
    """These calls at one server; ``ended``: what the last one gives. What they change is kept."""
    ended = (yield from _asked(calls))[-1]
    return {"ended": ended, **(yield from _kept())}


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
        return {"kept": False, "why": str(error.facts.get("answer") or error.sentence()).rstrip(".")}
    return {"kept": True, "why": None}


def _everybody() -> Flow:
    """``open``: whoever says no name needs no password. ``drops``: that user may not do everything, and Redis 7.0 drops at its start what it may not do."""
    found = yield from _asked(users.find(EVERYBODY))
    return {"open": bool(found and found["open"]), "drops": bool(found and not found["whole"])}
