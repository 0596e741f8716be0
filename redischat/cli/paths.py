"""lock, check, unlock, renew, locks, recover."""

from __future__ import annotations

import time

from ..calls import paths as calls
from ..calls.call import fresh
from ..errors import ChatError, Usage
from ..flows import path_fields as fields
from ..flows import paths as flows
from ..settings import cwd
from ..text import INDENT, few, field, inert, quoted, when
from .seat import once
from .show import circle, put, record, records, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ..calls.call import Show
    from ..repository import Repository
    from .seat import Seat

TAKEN = 3  # exit code: somebody else has it
SHOWN = 5  # paths in a line, as many as audits name


def lock(
    seat: Seat,
    *,
    channel: str,
    paths: tuple[str, ...] = (),
    lease: float | None = None,
    wait: float | None = None,
    shared: bool = False,
    reason: str | None = None,
    glob: bool = False,
    steal_expired: bool = False,
    repo: str | None = None,
) -> int:
    """Lock paths: all of them or none."""
    room, lease_ms, why = fields.room(channel), fields.lease_ms(lease), fields.reason(reason or "")
    who = fields.owner(seat.caller)
    place = seat.repository(repo)
    typed = _normal(place, fields.some(list(paths)), glob=glob)
    asked = calls.Wanted(list(typed), fresh(16), lease_ms=lease_ms, reason=why, shared=shared, wait=wait, steal_expired=steal_expired)
    got = _drive(seat, flows.lock(who, room, place, asked, time.monotonic), typed, repo)
    put(record(got) if seat.json else _locked(got, lease_ms))
    return 0


def check(seat: Seat, *, channel: str, paths: tuple[str, ...] = (), glob: bool = False, fence: int | None = None, repo: str | None = None) -> int:
    """Who holds these paths?"""
    room = fields.room(channel)
    who = fields.owner(seat.onlooker)
    place = seat.repository(repo)
    typed = _normal(place, fields.some(list(paths)), glob=glob)
    got = _drive(seat, flows.check(who, room, place, list(typed), token=fence), typed, repo)
    put(record(got) if seat.json else _checked(got))
    return 0 if got["free"] else TAKEN


def unlock(seat: Seat, *, channel: str, targets: tuple[str, ...] = (), all_: bool = False, repo: str | None = None, idem: str | None = None) -> int:
    """Let go of locks."""
    room = fields.room(channel)
    who = fields.owner(seat.caller)
    place, named, typed = _targets(seat, targets, repo, every=all_)
    got = _drive(seat, flows.unlock(who, room, place, list(named), once(idem), all_=all_), typed, repo)
    if seat.json:
        put(record(got))
        return 0
    put("".join(f"unlocked {inert(one['path'])}{'' if place else '  in ' + inert(one['repository'])}\n" for one in got["unlocked"]))
    if not got["unlocked"]:
        put(f"nothing was locked by {got['owner']}\n")
    return 0


def renew(
    seat: Seat,
    *,
    channel: str,
    targets: tuple[str, ...] = (),
    lease: float | None = None,
    all_: bool = False,
    fence: int | None = None,
    repo: str | None = None,
    idem: str | None = None,
) -> int:
    """Keep locks."""
    room, lease_ms = fields.room(channel), fields.lease_ms(lease)
    who = fields.owner(seat.caller)
    place, named, typed = _targets(seat, targets, repo, every=all_)
    got = _drive(seat, flows.renew(who, room, place, list(named), lease_ms, once(idem), fence=fence, all_=all_), typed, repo)
    put(record(got) if seat.json else _locked(got, lease_ms, every=all_))
    return 0


def recover(seat: Seat, *, channel: str, target: str, reason: str, lease: float | None = None, repo: str | None = None, idem: str | None = None) -> int:
    """Take over a lock that ran out."""
    room, lease_ms, why = fields.room(channel), fields.lease_ms(lease), fields.reason(reason, needed=True)
    who = fields.owner(seat.caller)
    place, named, typed = _targets(seat, (target,), repo, every=False)
    got = _drive(seat, flows.recover(who, room, place, named[0], lease_ms, why, once(idem)), typed, repo)
    put(record(got) if seat.json else _locked(got, lease_ms))
    return 0


def locks(seat: Seat, *, channel: str | None = None, mine: bool = False, all_: bool = False, repo: str | None = None) -> int:
    """Who holds what, and who waits."""
    room = fields.room(channel) if channel is not None else None
    who = fields.owner(seat.caller if mine else seat.onlooker)
    place = None if all_ else seat.repository(repo)
    got = seat.drive(flows.listing(who, room, place, mine=mine))
    if seat.json:
        records({"kind": kind, "how": got["how"], **one} for kind, rows in (("lock", got["locks"]), ("waiting", got["waiting"])) for one in rows)
        return 0
    put("".join(_row(one, who.me, everywhere=all_) for one in got["locks"]))
    for number, one in enumerate(got["waiting"], 1):
        where = f" in {inert(one['repository'])}" if all_ else ""
        put(f"in line {number}: {one['owner']} for {_few(one['paths'])}{where}, since {when(one['since'])}{_why(one['reason'])}\n")
    if not got["locks"] and not got["waiting"]:
        put(f"{'nothing of yours' if mine else 'nothing'} is locked{'' if place else ' in any repository'}\n")
    if place:
        put(f"{INDENT}{_where(got)}; of every repository: redischat locks --all\n")
    return 0


def _normal(place: Repository, paths: Sequence[str], *, glob: bool = False) -> dict[str, str]:
    """Each path in its normal form -> as it was typed."""
    from ..repository import path

    return {path(place, one, cwd(), glob=glob): one for one in paths}


def _targets(seat: Seat, targets: Sequence[str], repo: str | None, *, every: bool) -> tuple[Repository | None, list[tuple[str, str]], dict[str, str]]:
    """What was named: (as typed, as stored) pairs; the repository only where a path needs one."""
    if bool(targets) == every:
        raise Usage(message="which lock? Give its id, a path of it, or --all; what is yours: redischat locks --mine")
    if every or (repo is None and all(fields.is_id(one) for one in targets)):
        return None, [(one, "") for one in targets], {}
    place = seat.repository(repo)
    typed = {one: "" if fields.is_id(one) else next(iter(_normal(place, [one]))) for one in targets}
    return place, [(one, "" if fields.is_id(one) else calls.stored(place, path)) for one, path in typed.items()], {path: one for one, path in typed.items()}


def _drive(seat: Seat, flow: Generator[Any, Any, Any], typed: dict[str, str], repo: str | None) -> Any:
    """Run a flow; a refusal names paths as they were typed, so that the command it gives can be run from here."""
    try:
        got = seat.drive(flow, lambda asked: _circle(seat, asked))
    except ChatError as error:
        asked = error.facts.get("asked")
        if asked is not None:
            error.facts["typed"] = quoted(typed.get("" if asked == calls.WHOLE else asked, asked)) + (f" --repo {quoted(repo)}" if repo else "")
        raise
    if got.get("warning"):
        say(got["warning"])
    return got


def _circle(seat: Seat, asked: Show) -> int:
    for note in asked.notes:
        if seat.json:
            put(record(note))
        else:
            circle(note)
    return 0


def _few(paths: Sequence[str]) -> str:
    return few([inert(one) for one in paths], SHOWN)


def _where(got: dict[str, Any]) -> str:
    return f"in {inert(got['repository'])} ({got['how']})"


def _why(reason: str | None) -> str:
    return f": {field(reason)}" if reason else ""


def _locked(got: dict[str, Any], lease_ms: int, *, every: bool = False) -> str:
    """What the caller holds now, until when, and what to do with it."""
    did = "renewed" if got["renewed"] else "locked"
    read = " to read" if got["mode"] == "shared" else ""
    late = f"; it had run out {got['late_seconds']:.4g} s before, and nobody had taken it" if got["late_seconds"] is not None else ""
    lasts = "" if got["renewed"] else f" ({lease_ms / 1000:.6g} s)"  # a renewal never shortens
    lines = [f"{did} {_few([one['path'] for one in got['paths']])}{read} until {when(got['expires_at'])}{lasts}, token {got['token']}{late}"]
    lines += [f"{INDENT}{inert(one['path'])} was {one['previous_owner']}'s, whose lease ran out {when(one['previous_expires_at'])}" for one in got["recovered"]]
    if got["repository"]:
        lines.append(f"{INDENT}{_where(got)}")
    ids = sorted({one["lock_id"] for one in got["paths"]})
    these = "--all" if every else " ".join(ids)
    lines.append(f"{INDENT}keep it: redischat renew {got['channel']} {these}")
    lines.append(f"{INDENT}let go:  redischat unlock {got['channel']} {these}")
    return "\n".join(lines) + "\n"


def _checked(got: dict[str, Any]) -> str:
    text = "".join(_held(got["channel"], one) for one in got["held"])
    text += "".join(
        f"{inert(one['path'])}  {one['agent']} stands in line for it. Stand behind: redischat lock {got['channel']} {inert(one['path'])} --wait 600\n"
        for one in got["in_line"]
    )
    taken = {one["asked"] for one in got["held"]} | ({*got["paths"]} if got["in_line"] else set())
    free = [one for one in got["paths"] if one not in taken]
    if free:
        text += f"free{': ' + _few(free) if taken else ''}\n"
    return text + f"{INDENT}{_where(got)}\n"


def _held(channel: str, one: dict[str, Any]) -> str:
    """One holder: what, who, until when; and what can be done about it."""
    who = "you" if one["mine"] else one["holder"]
    around = f" (asked: {inert(one['asked'])})" if one["asked"] != one["path"] else ""
    ends = f"ran out {when(one['expires_at'])}" if one["lapsed"] else f"until {when(one['expires_at'])}"
    do = f". Take it over: redischat recover {channel} {one['lock_id']} --reason WHY" if one["lapsed"] and not one["mine"] else ""
    offered = "offered to " if one["offered"] else ""
    return f"{inert(one['path'])}{around}  {offered}{who} ({one['mode']}) {ends}, token {one['token']}, lock {one['lock_id']}{_why(one['reason'])}{do}\n"


def _row(one: dict[str, Any], me: str, *, everywhere: bool) -> str:
    who = "you" if one["owner"].lower() == me else one["owner"]
    ends = f"ran out {when(one['expires_at'])}" if one["lapsed"] else f"until {when(one['expires_at'])}"
    before = f", taken over from {one['previous_owner']}" if one["previous_owner"] else ""
    where = f" in {inert(one['repository'])}" if everywhere else ""
    head = f"{_few(one['paths'])}{where}  {who} ({one['mode']}) {ends}, token {one['token']}, #{one['channel']}{before}{_why(one['reason'])}\n"
    return head + f"{INDENT}lock {one['lock_id']}\n"
