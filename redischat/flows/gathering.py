"""One task for each of some agents, and what becomes of them as it comes; the board is the state, so that a gather of the same name goes on where one ended."""

from __future__ import annotations

from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib costs 3 ms
from contextlib import suppress

from .. import names
from ..calls import channels, messages, tasks
from ..calls.call import SETTLE_S, Listen, Once, Show, ms_of
from ..errors import KeyReused, RecipientLeft, UnknownRecipient
from ..errors.broker import NotDurable
from ..errors.tasks import TaskAlreadyExists, TaskInvalidRecord
from . import budgets, fields
from .messages import helped
from .tasks import looked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

HOW = {"done": "done", "blocked": "refused", "cancelled": "refused"}


class Wanted:
    """What is asked of whom: ``titles`` by agent, kept as tasks ``<name>.<agent>``; ``brief`` is said to all of them; for how long."""

    __slots__ = ("brief", "epoch", "ids", "name", "priority", "seconds", "titles")

    def __init__(self, name: str, titles: Mapping[str, str], *, brief: str, priority: int | None, seconds: float) -> None:
        self.name, self.titles, self.brief, self.priority, self.seconds = fields.task(name), dict(titles), brief, priority, seconds
        self.epoch = ""
        self.ids = {agent: fields.task(f"{name}.{fields.agent(agent)}") for agent in self.titles}

    def record(self, agent: str) -> dict[str, Any]:
        """One agent's task as the broker keeps it."""
        return fields.wanted(
            self.ids[agent], title=self.titles[agent], owner=agent, depends_on=(), files_hint=(), acceptance=(), branch=None, priority=self.priority
        )

    def once(self, what: str) -> Once:
        """The key of one of its steps: the same whoever goes on with it, another one in a channel that was opened anew under the same name."""
        return Once(f"gather {self.epoch} {what}")

    def letter(self, channel: str) -> str:
        """What all of them are told. Of the same gather it is always the same."""
        rows = [f"- {agent}: {self.ids[agent]}" for agent in self.titles]
        ways = f"Take yours: redischat task claim {channel} ID. End it: redischat task done {channel} ID --result TEXT. Decline it: redischat task block {channel} ID --reason WHY"
        return "\n".join([f"gather {self.name}: a task for each of you.", *rows, ways, *([self.brief] if self.brief else [])])


def gather(who: Caller, channel: str, wanted: Wanted, now: Callable[[], float]) -> Flow:
    """Make the tasks that are not there, tell whoever has not begun, and show what becomes of each: rows ``agent how result reason task``.

    ``how``: done, refused (blocked or cancelled), died (its lease ran out; it may be done yet), late (at the end: not over in time).
    """
    until = now() + wanted.seconds
    begun = {agent: one["status"] != "open" for agent, one in (yield from _made(who, channel, wanted)).items()}
    unwoken = yield from _tell(who, channel, wanted, [agent for agent, is_begun in begun.items() if not is_begun])
    over: set[str] = set()
    died: dict[str, Any] = {}
    heard: str | None = yield from _begun(who, channel, until)
    look_at = until
    ours = {"audit " + id_.lower() for id_ in wanted.ids.values()}
    while True:
        if heard in {None, "again", "deleted", *ours}:
            found, now_ms = yield from _found(who, channel, wanted)
            yield from _shown(found, over, died)
            if len(over) == len(wanted.ids):
                return
            if heard is None and now() >= until:
                yield from _late({agent: one for agent, one in found.items() if agent not in over}, unwoken)
                return
            ends = [ms_of(one["lease_expires_at"]) - now_ms for one in found.values() if one["lease_expires_at"] and not one["stale"]]
            look_at = now() + min(ends) / 1000 + SETTLE_S if ends else until
        heard = yield Listen([who.keys.live(channel)], min(until, look_at))


def _begun(who: Caller, channel: str, until: float) -> Flow:
    """The first wait, with all of it made and told: what is not safe enough is refused here."""
    try:
        return (yield Listen([who.keys.live(channel)], until))
    except NotDurable as error:
        error.facts["idem"] = None  # the same gather draws the same keys
        raise


def _made(who: Caller, channel: str, wanted: Wanted) -> Flow:
    """The tasks, those that were not there made; members only, or nobody would hear of them."""
    members, place = yield [channels.members(who.keys, channel), channels.place(who.keys, channel)]
    wanted.epoch = place[1] if place else ""
    for agent in wanted.titles if members else ():
        if not members.get(agent.lower(), {"here": False})["here"]:
            kind = RecipientLeft if agent.lower() in members else UnknownRecipient
            error = kind(channel=channel, agent=agent, done="no task was made")
            yield from helped(who, channel, error)
            raise error
    found, _ = yield from _found(who, channel, wanted, whole=False)
    new = [agent for agent in wanted.titles if agent not in found]
    if not new:
        return found
    with suppress(TaskAlreadyExists):  # another program runs the same gather at the same moment
        yield [tasks.create(who, channel, wanted.record(agent), once=wanted.once(wanted.ids[agent])) for agent in new]
    return (yield from _found(who, channel, wanted))[0]


def _found(who: Caller, channel: str, wanted: Wanted, *, whole: bool = True) -> Flow:
    """``({agent: its task's record}, the server's time in ms)``."""
    got = yield from looked(who, channel, [id_.lower() for id_ in wanted.ids.values()])
    by_id = {one["id"].lower(): one for one in got["tasks"]}
    found = {agent: by_id[id_.lower()] for agent, id_ in wanted.ids.items() if id_.lower() in by_id}
    for agent, one in found.items():
        if one["title"] != wanted.titles[agent]:
            raise KeyReused(task=one["id"], title=one["title"])
    lost = [id_ for agent, id_ in wanted.ids.items() if agent not in found and (whole or id_.lower() in got["damaged"])]
    if lost:
        raise TaskInvalidRecord(channel=got["channel"], task=lost[0])
    return found, got["now"]


def _tell(who: Caller, channel: str, wanted: Wanted, waiting: list[str]) -> Flow:
    """Ring those who have not begun. The same letter to the same ones is stored once a day, however often the gather goes on.

    Gives why it wakes nobody, if a budget keeps it from that; else "".
    """
    why = ""
    for at in range(0, len(waiting), names.NAMED):
        some = waiting[at : at + names.NAMED]
        draft = messages.Draft(wanted.letter(channel), to=some, title=wanted.name, status="task")
        key = sha1(" ".join(sorted(one.lower() for one in some)).encode()).hexdigest()
        with suppress(KeyReused):  # told today, with another brief
            why = budgets.unwoken((yield messages.post(who, channel, draft, once=wanted.once(f"{wanted.name} {key}")))) or why
    return why


def _shown(found: dict[str, dict[str, Any]], over: set[str], died: dict[str, Any]) -> Flow:
    """Show what is news: what is over, and each lease that ran out, once."""
    rows = []
    for agent, one in found.items():
        if agent not in over and one["status"] in HOW:
            over.add(agent)
            rows.append(_row(agent, HOW[one["status"]], one))
        elif one["stale"] and died.get(agent) != one["lease_expires_at"]:
            died[agent] = one["lease_expires_at"]
            rows.append(_row(agent, "died", one))
    for row in sorted(rows, key=lambda row: row["task"]["updated_at"]):
        yield Show([row], [])


def _late(left: dict[str, dict[str, Any]], unwoken: str) -> Flow:
    for agent, one in left.items():
        row = _row(agent, "late", one)
        yield Show([{**row, "reason": unwoken or None} if one["status"] == "open" else row], [])


def _row(agent: str, how: str, one: dict[str, Any]) -> dict[str, Any]:
    return {"agent": agent, "how": how, "result": one["result"], "reason": one["reason"] if how == "refused" else None, "task": one}
