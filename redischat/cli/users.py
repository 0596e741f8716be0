"""admin user add, revoke, rotate, update, list."""

from __future__ import annotations

import os
from contextlib import suppress
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


def add(seat: Seat, *, name: str, observer: bool = False, out: str | None = None, host: str = "") -> int:
    """Make a user of this workspace."""
    return _with_password(seat, name, out, host, lambda user, secret, database: flows.add(seat.keys, user, secret, observer=observer, database=database))


def rotate(seat: Seat, *, name: str, out: str | None = None, host: str = "") -> int:
    """Give a user a new password."""
    return _with_password(seat, name, out, host, lambda user, secret, database: flows.rotate(seat.keys, user, secret, database=database))


def _with_password(seat: Seat, name: str, out: str | None, host: str, flow: Any) -> int:
    """Run a verb that draws a password, and show it once: on standard output, or into a file that only this user can read."""
    user, secret, place = _user(name), fresh(SECRET_BYTES), Place(seat.settings.url)
    file = _opened(out) if out is not None else None
    try:
        got = seat.drive(flow(user, secret, place.database))
    except BaseException:
        if out is not None:
            with suppress(OSError):
                os.unlink(out)
        raise
    url = handed(seat.settings.url, user, secret, host)
    if file is not None:
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(f"REDISCHAT_URL={quote(url)}\nREDISCHAT_WORKSPACE={got['workspace']}\n")
    if seat.json:
        put(record({**got, "out": out, "url": None if out else url}))
        return 0
    ended = f"; {got['ended']} connections with the old password were ended" if "ended" in got else ""
    where = (
        f"  written to {out}: hand that file over\n"
        if out
        else f"  hand over, it is shown only now:\n\n  export REDISCHAT_URL={quote(url)} REDISCHAT_WORKSPACE={got['workspace']}\n\n"
    )
    kind = "may look at" if got["observer"] else "is a user of"
    put(f"{user} {kind} workspace {got['workspace']}, and nothing else there is{ended}\n{where}")
    _tell(seat, got)
    if not host and place.host in _NEAR:
        say("that address is this machine's: for another one, say with --host under which name it reaches this broker")
    return 0


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CannotKeep(path=path, why=error.strerror or str(error), remedy="Name a file that is not there yet, with --out") from error


def _tell(seat: Seat, got: dict[str, Any]) -> None:
    """What the one who keeps the broker must know of its users."""
    if Place(seat.settings.url).kind:
        say(
            "only the server that was asked knows of this, and no other takes it over: say it to each, replicas too (--url redis://...), or bring them its ACL file (docs/team.md)"
        )
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
    put(record(got) if seat.json else f"{got['user']} is no user any more, and its sessions have ended\n")
    if not seat.json:
        _tell(seat, got)
    return 0


def update(seat: Seat, *, names: tuple[str, ...] = ()) -> int:
    """Give users the rights that this version needs."""
    got = seat.drive(flows.update(seat.keys, [_user(one) for one in names], database=Place(seat.settings.url).database))
    put(record(got) if seat.json else f"{', '.join(got['users']) or 'nobody'}: rights as this version needs them\n")
    if not seat.json:
        _tell(seat, got)
    return 0


def list_(seat: Seat, *, all_: bool = False) -> int:
    """The users of this workspace."""
    found = seat.drive(flows.every(seat.keys, everywhere=all_))
    if seat.json:
        records(found)
        return 0
    for one in found:
        kind = "observer" if one["observer"] else "user"
        put(f"{one['user']:<20} {kind} of {one['workspace']}, {one['connections']} connections{'' if one['on'] else ', switched off'}\n")
    if not found:
        say("no users" + ("" if all_ else f" of workspace {seat.settings.workspace}; of every one: redischat admin user list --all"))
    return 0


def _user(name: str) -> str:
    """A user's name as the server holds it."""
    return names.same(names.name("user", name))
