"""admin user add, revoke, rotate, update, list."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from shlex import quote

from .. import names
from ..calls.call import fresh
from ..calls.users import SECRET_BYTES, handed
from ..errors import CannotKeep
from ..flows import users as flows
from ..settings import Place
from .show import put, record, records, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat

_NEAR = ("127.0.0.1", "localhost", "::1", "")  # where nobody else's machine finds the broker


class _Secret:
    """A password, drawn when the flow knows that one is needed, and the file that it is written to: one that only this user can read, made before that."""

    def __init__(self, out: str | None) -> None:
        self.out, self.password, self._file = out, "", -1

    def __call__(self) -> str:
        if self.out is not None:
            self._file = _opened(self.out)
        self.password = fresh(SECRET_BYTES)
        return self.password

    def keep(self, text: str) -> None:
        if self.out is not None:
            with open(self._file, "w", encoding="utf-8") as opened:
                opened.write(text)

    def forget(self) -> None:
        """Nothing was done: leave no file."""
        if self.out is not None and self.password:
            with suppress(OSError):
                os.unlink(self.out)


def add(seat: Seat, *, name: str, observer: bool = False, out: str | None = None, host: str = "") -> int:
    """Make a user of this workspace."""
    return _with_password(seat, "add", _Secret(out), host, partial(flows.add, seat.keys, _user(name), observer=observer))


def rotate(seat: Seat, *, name: str, out: str | None = None, host: str = "") -> int:
    """Give a user a new password."""
    return _with_password(seat, "rotate", _Secret(out), host, partial(flows.rotate, seat.keys, _user(name)))


def _with_password(seat: Seat, verb: str, secret: _Secret, host: str, flow: Any) -> int:
    """Run a verb that may draw a password, and show it once: on standard output, or into a file."""
    place = Place(seat.settings.url)
    try:
        got = seat.drive(flow(secret, database=place.database))
    except BaseException:
        secret.forget()
        raise
    drawn = got.pop("new")
    url = handed(seat.settings.url, got["user"], secret.password, host)
    if drawn:
        secret.keep(f"REDISCHAT_URL={quote(url)}\nREDISCHAT_WORKSPACE={got['workspace']}\n")
    if seat.json:
        put(record({**got, "out": secret.out if drawn else None, "url": url if drawn and not secret.out else None}))
        return _whole(verb, got)
    where = (
        f"  with the password that was made before: no new one. If nobody has that: {_MEND['rotate'].format_map(got)}\n"
        if not drawn
        else f"  written to {secret.out}: hand that file over\n"
        if secret.out
        else f"  hand over, it is shown only now:\n\n  export REDISCHAT_URL={quote(url)} REDISCHAT_WORKSPACE={got['workspace']}\n\n"
    )
    kind = "may look at" if got["observer"] else "is a user of"
    ended = f"; {got['ended']} connections with an older password were ended" if verb == "rotate" or got["ended"] else ""
    put(f"{got['user']} {kind} workspace {got['workspace']}, and nothing else there is{ended}\n{_on(got)}{where}")
    _tell(got)
    if drawn and not host and place.host in _NEAR:
        say("that address is this machine's: for another one, say with --host under which name it reaches this broker")
    return _whole(verb, got)


def _whole(verb: str, got: dict[str, Any], **facts: Any) -> int:
    return flows.whole(verb, got, 0, **facts)


def _on(got: dict[str, Any]) -> str:
    """Where it is done, of a broker of several servers."""
    count = len(got["servers"]) + len(got["missing"])
    return f"  on {len(got['servers'])} of {count} servers: {', '.join(got['servers'])}\n" if count > 1 else ""


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CannotKeep(path=path, why=error.strerror or str(error), remedy="Name a file that is not there yet, with --out") from error


def _tell(got: dict[str, Any]) -> None:
    """What the one who keeps the broker must know of its users."""
    if not got["kept"]:
        say(f"this is not kept over a restart of the server: {got['why']}. Start it with --aclfile (docs/team.md)")
    if got.get("open"):
        say(
            "whoever says no name to this broker needs no password and may do everything, so this keeps nobody out: switch the user 'default' off (docs/team.md)"
        )
    if got.get("drops"):
        say(
            "the user 'default' may not do everything, and with its rights a Redis 7.0 reads its append-only file: messages would be lost at a restart. Once: ACL SETUSER default off ~* &* +@all"
        )


def revoke(seat: Seat, *, name: str) -> int:
    """Delete a user."""
    got = seat.drive(flows.revoke(seat.keys, _user(name)))
    told = (
        "is no user any more, and its sessions have ended"
        if not got["missing"]
        else "is let in no more where it could be said, and its sessions there have ended"
    )
    put(record(got) if seat.json else f"{got['user']} {told}\n{_on(got)}")
    if not seat.json:
        _tell(got)
    return _whole("revoke", got)


def update(seat: Seat, *, names: tuple[str, ...] = ()) -> int:
    """Give users the rights that this version needs."""
    got = seat.drive(flows.update(seat.keys, [_user(one) for one in names], database=Place(seat.settings.url).database))
    put(record(got) if seat.json else f"{', '.join(got['users']) or 'nobody'}: rights as this version needs them\n{_on(got)}")
    if not seat.json:
        _tell(got)
    return _whole("update", got, workspace=seat.settings.workspace)


def list_(seat: Seat, *, all_: bool = False) -> int:
    """The users of this workspace."""
    got = seat.drive(flows.every(seat.keys, everywhere=all_))
    if seat.json:
        records(got["users"])
        return _whole("list", got)
    for one in got["users"]:
        put(_row(one))
    if not got["users"]:
        say("no users" + ("" if all_ else f" of workspace {seat.settings.workspace}; of every one: redischat admin user list --all"))
    return _whole("list", got)


_MEND = {
    "revoke": "redischat admin user revoke {user} --workspace {workspace}",
    "rotate": "redischat admin user rotate {user} --workspace {workspace}",
    "update": "redischat admin user update {user} --workspace {workspace}",
}


def _row(one: dict[str, Any]) -> str:
    """One user; where servers differ, how, and what makes them alike."""
    kind = "observer" if one["observer"] else "user"
    state = ", revoked, but not every server has confirmed it" if one["revoked"] else "" if one["on"] else ", switched off"
    text = f"{one['user']:<20} {kind} of {one['workspace']}, {one['connections']} connections{state}\n"
    for there, servers in (("not on", one["lacks"]), ("not yet out of" if one["revoked"] else "another password on", one["older"])):
        if servers:
            text += f"{'':<20} {there} {', '.join(servers)}\n"
    verb = "revoke" if one["revoked"] or one["stray"] else "rotate" if one["torn"] else "update" if one["lacks"] or one["older"] else ""
    if verb:
        text += f"{'':<20} to end that: {_MEND[verb].format_map(one)}\n"
    return text


def _user(name: str) -> str:
    """A user's name as the server holds it."""
    return names.same(names.name("user", name))
