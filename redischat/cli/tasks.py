"""task create, list, show, next, claim, renew, done, block, release, cancel, reopen, recover, update, wait, graph, recover-pending."""

from __future__ import annotations

import time

from .. import names
from ..calls.call import fresh
from ..calls.tasks import LEASE_S
from ..errors.leases import LeaseInvalidOwner
from ..errors.tasks import TaskInvalidCreatedBy, TaskInvalidReason, TaskInvalidUpdate
from ..flows import board as board_
from ..flows import fields
from ..flows import tasks as flows
from ..text import INDENT, field, inert, quoted, when
from ..text import block as block_
from .seat import once, text_of
from .show import put, record, records, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..calls.call import Caller, Show
    from .seat import Seat

WAIT_S = 900.0
NONE = "no tasks in #{channel} yet. Make one: redischat task create {channel} --title TITLE\n"


def create(
    seat: Seat, *, channel: str, title: str, task: str | None = None, owner: str | None = None, depends_on: tuple[str, ...] = (),
    files_hint: tuple[str, ...] = (), acceptance: tuple[str, ...] = (), branch: str | None = None, priority: int | None = None, idem: str | None = None,
) -> int:  # fmt: skip
    """Put a task on the board."""
    wanted = fields.wanted(
        task, title=title, owner=owner, depends_on=depends_on, files_hint=files_hint, acceptance=acceptance, branch=branch, priority=priority
    )
    fields.agent(seat.settings.me(), TaskInvalidCreatedBy)
    got = seat.drive(flows.create(seat.caller(), fields.channel(channel), wanted, once(idem)))
    waits = f"; waits for {', '.join(got['waits_for'])}" if got["waits_for"] else ""
    mine = not waits and (owner is None or names.same(owner) == names.same(seat.caller().agent))
    return _told(seat, got, f"created {got['id']} [{got['status']}]{waits}", f"Start it: redischat task claim {got['channel']} {got['id']}" if mine else "")


def board(seat: Seat, *, channel: str, ready: bool = False, mine: bool = False, stale: bool = False, status: str | None = None) -> int:
    """The board, or a part of it."""
    wanted = board_.Wanted(_onlooker(seat, needed=True).me if mine else "", ready=ready, stale=stale, status=None if status is None else fields.state(status))
    got = seat.drive(flows.looked(_onlooker(seat), fields.channel(channel)))
    found = [one for one in got["tasks"] if wanted.has(one)]
    if seat.json:
        records(found)
    elif not got["tasks"]:
        put(NONE.format(channel=got["channel"]))
    else:
        put("".join(row(one) for one in found) or f"none of the {len(got['tasks'])} tasks of #{got['channel']} is like that\n")
    for task in got["damaged"]:
        say(f"TASK_INVALID_RECORD: the record of {task} was not written by redischat. What is wrong: redischat task recover-pending {got['channel']}")
    return 0


def row(one: dict[str, Any]) -> str:
    """One task of a board: what it is, whose, and what keeps it."""
    owner = f"  {one['owner']}" if one["owner"] else ""
    until = f" until {when(one['lease_expires_at'])}" if one["lease_expires_at"] and not one["stale"] else ""
    marks = [f"P{one['priority']}"] if one["priority"] != 2 else []  # noqa: PLR2004 - the usual one
    marks += ["ready"] if one["ready"] else []
    marks += [f"lease ran out {when(one['lease_expires_at'])}: redischat task recover {one['channel']} {one['id']} --reason WHY"] if one["stale"] else []
    marks += [f"stuck, needs {waits(one)}"] if one["stuck"] else [f"waits for {waits(one)}"] if one["waits_for"] and one["status"] != "in_progress" else []
    marks += [f"attempt {one['attempt']}"] if one["attempt"] > 1 else []
    marks += [f"by {one['finished_by']}"] if one["finished_by"] else []
    marks += [field(one["reason"])] if one["reason"] and one["status"] in ("blocked", "cancelled") else []
    return f"{one['id']}  [{one['status']}]{owner}{until}  {field(one['title']) or '(no title)'}" + (f"  ({'; '.join(marks)})" if marks else "") + "\n"


def waits(one: dict[str, Any]) -> str:
    """What a task waits for, each with its status."""
    return ", ".join(f"{other['id']} ({other['status']})" for other in one["waits_for"])


def show(seat: Seat, *, channel: str, task: str) -> int:
    """One task."""
    got = seat.drive(flows.show(_onlooker(seat), fields.channel(channel), fields.task(task)))
    put(record(got) if seat.json else card(got))
    return 0


def card(one: dict[str, Any]) -> str:
    """A task with all that is known of it, one ``key: value`` a line."""
    plain = ("id", "channel", "title", "status", "owner", "created_by", "branch", "priority", "attempt", "token", "lease_expires_at", "updated_at")
    lines = [f"{key}: {field(str(one[key])) if one[key] is not None else '-'}" for key in plain]
    blocked = f"{'stuck' if one['stuck'] else 'blocked'} ({waits(one)})"
    lines += [f"depends_on: {', '.join(one['depends_on']) or '-'}", f"dependencies: {blocked if one['waits_for'] else 'ready'}"]
    lines += [f"files_hint: {field(', '.join(one['files_hint'])) or '-'}", f"needed by: {', '.join(one['dependents']) or '-'}"]
    lines += [f"acceptance: {field(item)}" for item in one["acceptance"]]
    lines += [f"{key}: {field(str(one[key]))}" for key in ("reason", "finished_by", "previous_owner", "previous_lease_expires_at") if one[key]]
    lines += ["result:", block_(one["result"]).rstrip("\n")] if one["result"] else []
    return "\n".join(lines) + "\n" + "".join(f"{INDENT}{line}\n" for line in _ways(one))


def _ways(one: dict[str, Any]) -> list[str]:
    """What can be done with a task as it stands, as commands."""
    room, task = one["channel"], one["id"]
    ways = [f"its lease ran out; take it over: redischat task recover {room} {task} --reason WHY"] if one["stale"] else []
    ways += [f"it can be started: redischat task claim {room} {task}"] if one["ready"] else []
    ways += [f"when it can go on: redischat task update {room} {task} --status open"] if one["status"] == "blocked" else []
    for other in one["waits_for"] if one["stuck"] else ():
        if other["status"] == "cancelled":
            left = ",".join(name for name in one["depends_on"] if name != other["id"]) or '""'
            ways.append(f"{other['id']} was cancelled; bring it back: redischat task reopen {room} {other['id']} --reason WHY")
            ways.append(f"or do without it: redischat task update {room} {task} --depends-on {left}")
    return ways


def next_(seat: Seat, *, channel: str, claim: bool = False, lease: float = LEASE_S, idem: str | None = None) -> int:
    """The best task that can be started now."""
    got = seat.drive(
        flows.next_(
            _owner(seat) if claim else _onlooker(seat, needed=True),
            fields.channel(channel),
            fields.milliseconds(lease),
            once(idem),
            take=claim,
            repository=seat.repository,
        )
    )
    if claim:
        return granted(seat, got)
    way = "" if got["stale"] else f"{INDENT}take it: redischat task claim {got['channel']} {got['id']}\n"  # of a stale one the row says how
    put(record(got) if seat.json else row(got) + way)
    return 0


def claim(seat: Seat, *, channel: str, task: str, lease: float = LEASE_S, steal_expired: bool = False) -> int:
    """Take a task, or renew mine."""
    flow = flows.claim(_owner(seat), fields.channel(channel), fields.task(task), fields.milliseconds(lease), steal=steal_expired, repository=seat.repository)
    return granted(seat, seat.drive(flow))


def renew(seat: Seat, *, channel: str, task: str, lease: float = LEASE_S, fence: int | None = None) -> int:
    """Keep a task that I hold."""
    return granted(seat, seat.drive(flows.renew(_owner(seat), fields.channel(channel), fields.task(task), fields.milliseconds(lease), fence=fence)))


def recover(seat: Seat, *, channel: str, task: str, reason: str, lease: float = LEASE_S) -> int:
    """Take over a task whose lease ran out."""
    flow = flows.recover(
        _owner(seat), fields.channel(channel), fields.task(task), fields.reason(reason), fields.milliseconds(lease), repository=seat.repository
    )
    return granted(seat, seat.drive(flow))


def granted(seat: Seat, got: dict[str, Any]) -> int:
    """Say what a holder must know: until when, and what to end it with."""
    late = f"; its lease had run out {got['late_ms'] / 1000:.3g} s before, and nobody had recovered it" if got["how"] == "renewed" and got["late_ms"] else ""
    before = f" from {got['previous_owner']} (lease ended {when(got['previous_lease_expires_at'])})" if got["previous_owner"] else ""
    done = f"{got['how']} {got['id']}{before} until {when(got['lease_expires_at'])}, token {got['token']}, attempt {got['attempt']}{late}"
    for one in got.get("locked", ()):
        say(
            f"{one['path']}, which {got['id']} will touch, is locked by {one['holder']} until {when(one['expires_at'])}: redischat check {got['channel']} {quoted(one['path'])}"
        )
    hinted = f"It names files; lock what you write: redischat lock {got['channel']} PATH. " if got.get("files_hint") and got["how"] != "renewed" else ""
    return _told(
        seat,
        got,
        done,
        f"{hinted}Read it: redischat task show {got['channel']} {got['id']}. Keep it: redischat task renew {got['channel']} {got['id']}. End it: redischat task done {got['channel']} {got['id']}",
    )


def done(
    seat: Seat, *, channel: str, task: str, result: str | None = None, result_file: str | None = None, fence: int | None = None, idem: str | None = None
) -> int:
    """It is done."""
    return _moved(seat, "done", channel, task, fence=fence, idem=idem, result=fields.result(text_of(result, result_file, "result")))


def release(seat: Seat, *, channel: str, task: str, reason: str | None = None, fence: int | None = None, idem: str | None = None) -> int:
    """Give it back, undone."""
    return _moved(seat, "release", channel, task, fence=fence, idem=idem, reason=fields.blocked(reason))


def block(seat: Seat, *, channel: str, task: str, reason: str | None = None, idem: str | None = None) -> int:
    """It cannot go on."""
    return _moved(seat, "block", channel, task, reason=fields.blocked(reason), idem=idem)


def cancel(seat: Seat, *, channel: str, task: str, reason: str, idem: str | None = None) -> int:
    """It will not be done."""
    return _moved(seat, "cancel", channel, task, reason=fields.reason(reason, TaskInvalidReason), idem=idem)


def reopen(seat: Seat, *, channel: str, task: str, reason: str, idem: str | None = None) -> int:
    """Bring it back."""
    return _moved(seat, "reopen", channel, task, reason=fields.reason(reason, TaskInvalidReason), idem=idem)


def _moved(seat: Seat, verb: str, channel: str, task: str, *, idem: str | None, fence: int | None = None, reason: str = "", result: str = "") -> int:
    got = seat.drive(flows.move(_owner(seat), fields.channel(channel), fields.task(task), verb, once(idem), fence=fence, reason=reason, result=result))
    late = f" ({got['late_ms'] / 1000:.3g} s after the lease had run out)" if got["late_ms"] else ""
    said = f"{got['id']} is {got['status']}{late}" if got["moved"] else f"{got['id']} was {got['status']} already"
    more = [f"can be started now: {', '.join(got['freed'])}"] if got["freed"] else []
    if verb == "block" and got["moved"]:
        more.append(f"When it can go on: redischat task update {got['channel']} {got['id']} --status open")
    if verb == "reopen" and got["begun"]:
        more.append(f"begun on its result: {', '.join(got['begun'])}: tell whoever works on them")
    if verb == "cancel" and got["waiting"]:
        more.append(f"stuck now: {', '.join(got['waiting'])}. See the way out: redischat task show {got['channel']} {got['waiting'][0]}")
    return _told(seat, got, said, "; ".join(more))


def update(
    seat: Seat, *, channel: str, task: str, title: str | None = None, owner: str | None = None, depends_on: tuple[str, ...] | None = None,
    files_hint: tuple[str, ...] | None = None, acceptance: tuple[str, ...] | None = None, branch: str | None = None, priority: int | None = None,
    status: str | None = None, clear_owner: bool = False, clear_branch: bool = False, idem: str | None = None,
) -> int:  # fmt: skip
    """Change what a task says."""
    if (clear_owner and owner is not None) or (clear_branch and branch is not None):
        raise TaskInvalidUpdate(message="a field is set or cleared, not both")
    changes = fields.changes(
        title=title, owner=owner, depends_on=depends_on, files_hint=files_hint, acceptance=acceptance, branch=branch, priority=priority, status=status,
        cleared=clear_owner, unbranched=clear_branch,
    )  # fmt: skip
    got = seat.drive(flows.update(_owner(seat), fields.channel(channel), fields.task(task), changes, once(idem)))
    freed = f"can be started now: {', '.join(got['freed'])}" if got["freed"] else ""
    return _told(seat, got, f"updated {got['id']} [{got['status']}]: {', '.join(got['changed'])}", freed)


def wait(seat: Seat, *, channel: str, task: str, status: str = "done", timeout: float = WAIT_S) -> int:
    """Return when a task has a status."""
    goal = flows.Goal(fields.task(task), fields.state(status), timeout, fresh(16))
    flow = flows.wait(_onlooker(seat), fields.channel(channel), goal, time.monotonic)
    got = seat.drive(flow, _lapsed)
    put(record(got) if seat.json else row(got))
    return 0


def _lapsed(told: Show) -> int:
    """Whoever waits is told that the holder may be gone, and waits on."""
    one = told.notes[0]["task"]
    say(
        f"the lease of {one['owner']} on {one['id']} ran out {when(one['lease_expires_at'])}; waiting on. Take it over: redischat task recover {one['channel']} {one['id']} --reason WHY"
    )
    return 0


def graph(seat: Seat, *, channel: str, mermaid: bool = False) -> int:
    """What waits for what."""
    got = seat.drive(flows.looked(_onlooker(seat), fields.channel(channel)))
    if seat.json:
        records({"id": one["id"], "status": one["status"], "depends_on": one["depends_on"], "stuck": one["stuck"]} for one in got["tasks"])
    elif not got["tasks"]:
        put(NONE.format(channel=got["channel"]))
    else:
        put(board_.mermaid(got["tasks"]) if mermaid else "".join(f"{INDENT * depth}{row(one)}" for depth, one in board_.tree(got["tasks"])))
    return 0


def recover_pending(seat: Seat, *, channel: str, resolve_publication: str | None = None) -> int:
    """Check a board's indexes, and mend them."""
    fields.resolution(resolve_publication)
    got = seat.drive(flows.repair(_owner(seat), fields.channel(channel)))
    mended = ", ".join(f"{count} in {index}" for index, count in got["mended"].items())
    said = f"the board of #{got['channel']} holds {got['tasks']} tasks; " + (f"mended: {mended}" if mended else "nothing to mend")
    _told(seat, got, said, f"not written by redischat, left as they are: {inert(', '.join(got['damaged']))}" if got["damaged"] else "")
    return 2 if got["damaged"] else 0


def _onlooker(seat: Seat, *, needed: bool = False) -> Caller:
    """Who looks at the board, if anybody in particular."""
    agent = seat.settings.me() if needed else seat.settings.agent
    if agent:
        fields.agent(agent)
    return seat.onlooker()


def _owner(seat: Seat) -> Any:
    fields.agent(seat.settings.me(), LeaseInvalidOwner)
    return seat.caller()


def _told(seat: Seat, got: dict[str, Any], done: str, more: str) -> int:
    """Say what was done, what can be done now, and what is odd about it."""
    if got.get("warning"):
        say(got["warning"])
    put(record(got) if seat.json else f"{done}\n" + (f"{INDENT}{more}\n" if more else ""))
    return 0
