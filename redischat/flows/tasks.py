"""Tasks: making, taking, ending and finding them, and waiting for one."""

from __future__ import annotations

from ..calls import agents, channels, paths, tasks
from ..calls.call import SETTLE_S, Listen, Show, ms_of
from ..errors import ChatError, Deadlock, NoChannel, NoIdentity, TimedOut
from ..errors.tasks import NothingReady, TaskCancelled, TaskChannelNotFound, TaskNotFound, TaskUnknownDependency
from . import left, tried
from .board import why

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Call, Caller, Once

    Flow = Generator[Any, Any, Any]


def create(who: Caller, channel: str, fields: dict[str, Any], once: Once) -> Flow:
    """Put a task on the board. Gives ``channel id status ready waits_for warning``."""
    return (yield from _acted(who, channel, tasks.create(who, channel, fields, once=once), fields["owner"]))


def update(who: Caller, channel: str, task: str, changes: Sequence[tuple[str, Any]], once: Once) -> Flow:
    """Change what a task says. Gives ``channel id status changed freed begun waiting warning``."""
    return (yield from _acted(who, channel, tasks.update(who, channel, task.lower(), changes, once=once), dict(changes).get("owner", "-")))


def move(who: Caller, channel: str, task: str, verb: str, once: Once, *, fence: int | None = None, reason: str = "", result: str = "") -> Flow:
    """done, block, release, fail, cancel, reopen. Gives ``moved channel id status late_ms freed begun waiting attempt warning``."""
    return (yield from _acted(who, channel, tasks.move(who, channel, task.lower(), verb, fence=fence, reason=reason, result=result, once=once)))


def claim(who: Caller, channel: str, task: str, ttl_ms: int, *, steal: bool = False, repository: Callable[[], paths.Repo] | None = None) -> Flow:
    """Take a task under a lease, or renew mine. Gives a grant (:func:`redischat.calls.tasks.grant`) with ``warning`` and ``locked``.

    ``repository`` finds the one where hinted files are looked up; ``locked`` are the locks of others on them: a warning, no refusal.
    """
    return (
        yield from granted(who, channel, tasks.claim(who, channel, task.lower(), ttl_ms=ttl_ms, steal=steal, reason="taken by --steal-expired"), repository)
    )


def renew(who: Caller, channel: str, task: str, ttl_ms: int, *, fence: int | None = None) -> Flow:
    """Keep a task that I hold, also one whose lease ran out, as long as nobody recovered it. Gives a grant."""
    return (yield from _acted(who, channel, tasks.claim(who, channel, task.lower(), want="renew", ttl_ms=ttl_ms, fence=fence)))


def recover(who: Caller, channel: str, task: str, reason: str, ttl_ms: int, *, repository: Callable[[], paths.Repo] | None = None) -> Flow:
    """Take over a task whose lease ran out. Gives a grant with ``previous_owner``."""
    return (yield from granted(who, channel, tasks.claim(who, channel, task.lower(), want="recover", ttl_ms=ttl_ms, reason=reason), repository))


def next_(who: Caller, channel: str, ttl_ms: int, once: Once, *, take: bool, repository: Callable[[], paths.Repo] | None = None) -> Flow:
    """The best task that can be started: taken, a grant; else its record. Refused by name where there is none: the refusal says why."""
    try:
        got = yield from granted(who, channel, tasks.next_(who, channel, take=take, ttl_ms=ttl_ms, once=once), repository)
    except NothingReady as error:
        error.facts["why"] = why((yield tasks.look(who.keys, channel))["tasks"], who.me)
        raise
    return got if take else (yield from show(who, channel, got["id"]))


def board(who: Caller, channel: str) -> Flow:
    """Every task of a channel by priority, then age, in one snapshot. Changes nothing but leaves word of leases that ran out. Gives records."""
    return (yield from looked(who, channel))["tasks"]


def looked(who: Caller, channel: str, wanted: Sequence[str] = ()) -> Flow:
    """As :func:`board`, with ``damaged`` (ids whose record redischat did not write) and ``missing``."""
    found = yield from _asked(who, channel, tasks.look(who.keys, channel, wanted))
    if found["unnoticed"]:
        yield from tried(tasks.notice(who.keys, channel))  # a look needs neither a right to write nor a stream that can be written
    return found


def show(who: Caller, channel: str, task: str) -> Flow:
    """One task's record."""
    return (yield from _shown(who, channel, task))[0]


def _shown(who: Caller, channel: str, task: str) -> Flow:
    """``(its record, the server's time in ms)``."""
    found = yield from looked(who, channel, [task.lower()])
    if found["missing"] or not found["tasks"]:
        yield from _not_there(who, channel, found["channel"], task, damaged=bool(found["damaged"]))
    return found["tasks"][0], found["now"]


def repair(who: Caller, channel: str) -> Flow:
    """Check and mend a board's indexes. Gives ``channel tasks mended damaged warning``."""
    return (yield from _acted(who, channel, tasks.repair(who, channel)))


class Goal:
    """What to wait for: a task's status, for how long; ``request`` is the door that a waiter can be seen at."""

    __slots__ = ("request", "seconds", "status", "stood", "task")

    def __init__(self, task: str, status: str, seconds: float, request: str) -> None:
        self.task, self.status, self.seconds, self.request, self.stood = task, status, seconds, request, False


def wait(who: Caller, channel: str, goal: Goal, now: Callable[[], float]) -> Flow:
    """Until a task has a status. Subscribe, look, wait: a ring about the task, and the end of its lease, are reasons to look again. Gives its record.

    Of each lease that has run out a Show tells, with the record as its one note (``kind`` lapsed, ``task``); the wait goes on: its holder may still finish.

    Raises:
        TaskCancelled: it will not be done.
        Deadlock: its holder waits for the caller.
        TimedOut: not in that time.
    """
    found = yield from left(_reached(who, channel, goal, now), lambda: paths.stand_down(who, goal.request) if goal.stood else None)
    if found["status"] != goal.status:
        raise TaskCancelled(task=found["id"], channel=found["channel"], reason=found["reason"])
    return found


def _reached(who: Caller, channel: str, goal: Goal, now: Callable[[], float]) -> Flow:
    until, key, told = now() + goal.seconds, goal.task.lower(), None
    look_at = until
    bells = [who.keys.live(channel), *([who.keys.door(goal.request)] if who.me else ())]
    while True:
        heard = yield Listen(bells, min(until, look_at))
        over = heard is None and now() >= until
        if heard not in {None, "again", "audit " + key, "deleted"}:
            continue
        found, now_ms = yield from _shown(who, channel, goal.task)
        if found["status"] == goal.status or (goal.status == "done" and found["status"] == "cancelled"):
            return found
        if found["stale"] and found["lease_expires_at"] != told:
            told = found["lease_expires_at"]
            yield Show([], [{"kind": "lapsed", "channel": found["channel"], "task": found}])
        held = found["lease_expires_at"] if not found["stale"] else None
        look_at = now() + (ms_of(held) - now_ms) / 1000 + SETTLE_S if held else until
        if over:
            raise TimedOut(what=_still(found), task=found["id"], channel=found["channel"], status=found["status"], seconds=f"{goal.seconds:g}")
        if who.me and not goal.stood:
            circle = yield paths.stand(who, goal.request, "task", f"{channel}/{key}")
            goal.stood = True
            if circle["hard"]:
                raise Deadlock(circle=circle["circle"])


def _still(found: dict[str, Any]) -> str:
    held = f", held by {found['owner']} until {found['lease_expires_at']}" if found["lease_expires_at"] else ""
    lapsed = f"; its lease ran out: redischat task recover {found['channel']} {found['id']} --reason WHY" if found["stale"] else ""
    return f"{found['id']} is still {found['status']}{held}{lapsed}"


def _acted(who: Caller, channel: str, call: Call, owner: str = "-") -> Flow:
    """Run a mutation. A channel or task that is not there is refused with the nearest name; an agent that nobody knew before is a warning (also ``owner``)."""
    if not who.me:
        raise NoIdentity
    try:
        known, got = yield [agents.records(who.keys, [who.me, owner]), call]
    except NoChannel:
        yield from _no_channel(who, channel)
    except (TaskNotFound, TaskUnknownDependency) as error:
        wanted = str(error.facts.get("task") or error.facts.get("dependency"))
        error.facts["nearest"] = yield from _nearest(who, channel, wanted)
        raise
    strangers = [name for name, record in zip((who.agent, owner), known, strict=True) if not record and name != "-"]
    got["warning"] = (yield from unknown(who, strangers[0])) if strangers else None
    return got


def granted(who: Caller, channel: str, call: Call, repository: Callable[[], paths.Repo] | None) -> Flow:
    """Run the Call of a grant. Gives it with ``warning`` and ``locked``: the locks of others on the files that it names."""
    got = yield from _acted(who, channel, call)
    got["locked"] = []
    if repository and got.get("files_hint"):
        try:
            got["locked"] = yield from _held(who, channel, repository(), got["files_hint"])
        except ChatError:
            return got  # it is taken all the same
    return got


def _held(who: Caller, channel: str, repository: paths.Repo, hints: Sequence[str]) -> Flow:
    """The locks of others on these files."""
    found = yield paths.check(who, channel, repository, ["" if one == paths.WHOLE else one for one in hints])
    return [{"path": one["path"], "holder": one["holder"], "expires_at": one["expires_at"]} for one in found["held"] if not one["mine"]]


def _asked(who: Caller, channel: str, call: Call) -> Flow:
    try:
        return (yield call)
    except NoChannel:
        yield from _no_channel(who, channel)


def _no_channel(who: Caller, channel: str) -> Flow:
    raise TaskChannelNotFound(channel=channel, nearest=channels.near(channel, (yield channels.heads(who.keys))))


def _not_there(who: Caller, channel: str, name: str, task: str, *, damaged: bool) -> Flow:
    from ..errors.tasks import TaskInvalidRecord

    if damaged:
        raise TaskInvalidRecord(channel=name, task=task)
    raise TaskNotFound(channel=name, task=task, nearest=(yield from _nearest(who, channel, task)))


def _nearest(who: Caller, channel: str, task: str) -> Flow:
    from ..names import nearest

    found = yield tasks.look(who.keys, channel)
    return nearest(task, [one["id"] for one in found["tasks"]])


def unknown(who: Caller, agent: str = "") -> Flow:
    """What to say to a caller whose name (or another ``agent``'s) nobody knew before."""
    from ..names import nearest

    agent = agent or who.agent
    everybody = yield agents.everybody(who.keys)
    near = nearest(agent, [one["agent"] for name, one in everybody.items() if name != agent.lower()])
    return f"{agent} was not known in this workspace before" + (f"; did you mean {near}?" if near else "")
