"""Tasks: making, taking, ending, looking, and what one task is."""

from __future__ import annotations

from .call import Call, Caller, Once, iso, keyed, maybe, pairs, run, several, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ..keys import Keys

LEASE_S = 300.0  # a lease, where no other length is asked for
OVER = ("done", "cancelled")
STATUSES = ("open", "in_progress", "blocked", *OVER)
_LOST = ("cancelled", "missing")  # what waits for one of these never starts as things stand
PRIORITY = 2  # of 0 (most urgent) to 4
# as scripts/parts/task.lua has them
_WORDS = (
    "id", "status", "owner", "by", "priority", "number", "attempt", "token", "expires", "claimed", "created", "updated", "lapsed", "deps", "before",
    "before_expires", "finisher",
)  # fmt: skip
_NUMBERS = ("priority", "number", "attempt", "token", "expires", "claimed", "created", "updated", "before_expires")


def create(who: Caller, channel: str, fields: dict[str, Any], *, once: Once) -> Call:
    """Put a task on the board (task_create.lua); ``fields``: ``id owner priority deps title branch files acceptance``. Gives ``channel id status ready waits_for``."""
    keys = who.keys
    return run(
        "task_create",
        {
            **keyed(keys, channel, "heads", "agents", "meta", "tasks", "texts", "links", "ready", "audits"),
            "idem": keys.idem("task_create", who.me, once.key, f"{channel}/{fields['id'].lower()}"), "live": keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds, **fields, "bell": keys.bell()},
        lambda words: {"channel": words[0], "id": words[1], "status": words[2], "ready": yes(words[3]), "waits_for": _named(words[4])},
    )  # fmt: skip


def update(who: Caller, channel: str, task: str, changes: Iterable[tuple[str, Any]], *, once: Once) -> Call:
    """Change what a task says (task_update.lua). Gives ``channel id status changed freed begun waiting``."""
    keys = who.keys
    return run(
        "task_update",
        {
            **keyed(keys, channel, "heads", "agents", "tasks", "texts", "links", "ready", "audits"),
            "idem": keys.idem("task_update", who.me, once.key, f"{channel}/{task}"), "live": keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds, "id": task, "bell": keys.bell()},
        lambda words: {"channel": words[0], "id": words[1], "status": words[2], "changed": several(words[3]), **_ripple(words[4:])},
        (), [part for pair in changes for part in pair],
    )  # fmt: skip


def claim(who: Caller, channel: str, task: str, *, want: str = "claim", ttl_ms: int, fence: int | None = None, steal: bool = False, reason: str = "") -> Call:
    """Take, keep or take over a task under a lease (task_claim.lua); ``want``: claim, renew, keep (renew without an audit), recover. Gives a :func:`grant`."""
    keys, once = who.keys, Once()
    return run(
        "task_claim",
        {
            "world": keys.meta, **keyed(keys, channel, "heads", "agents", "tasks", "texts", "ready", "leases", "leased", "audits"),
            "idem": keys.idem("task_" + want, who.me, once.key, f"{channel}/{task}"), "live": keys.live(channel), "scratch": keys.scratch(who.me),
        },
        {
            "channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds, "id": task, "want": want, "ttl": ttl_ms, "fence": maybe(fence),
            "steal": int(steal), "reason": reason,
        },
        grant,
    )  # fmt: skip


def next_(who: Caller, channel: str, *, take: bool, ttl_ms: int, once: Once) -> Call:
    """The best task that can be started, taken or not (task_next.lua). Gives a grant; untaken ``{"how": "next", "channel", "id"}``."""
    keys = who.keys
    return run(
        "task_next",
        {
            "world": keys.meta, **keyed(keys, channel, "heads", "agents", "tasks", "texts", "ready", "leases", "leased", "audits"),
            "idem": keys.idem("task_next", who.me, once.key, channel), "live": keys.live(channel), "scratch": keys.scratch(who.me),
        },
        {
            "channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds, "claim": int(take), "ttl": ttl_ms,
            "reason": "task next found it lapsed",
        },
        grant,
    )  # fmt: skip


def move(who: Caller, channel: str, task: str, verb: str, *, fence: int | None = None, reason: str = "", result: str = "", once: Once) -> Call:
    """End or change a task's work (task_move.lua); ``verb``: done, block, release, fail, cancel, reopen. Gives ``moved channel id status late_ms freed begun waiting attempt``."""
    keys = who.keys
    return run(
        "task_move",
        {
            **keyed(keys, channel, "heads", "agents", "tasks", "texts", "links", "ready", "leases", "leased", "audits"),
            "idem": keys.idem("task_" + verb, who.me, once.key, f"{channel}/{task}"), "live": keys.live(channel), "scratch": keys.scratch(who.me),
        },
        {
            "channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds, "id": task, "verb": verb, "fence": maybe(fence),
            "reason": reason, "result": result, "bell": keys.bell(),
        },
        lambda words: {
            "moved": words[0] == "moved", "channel": words[1], "id": words[2], "status": words[3], "late_ms": _late(words[4]), **_ripple(words[5:8]),
            "attempt": int(words[8]),
        },
    )  # fmt: skip


def look(keys: Keys, channel: str, tasks: Sequence[str] = ()) -> Call:
    """One snapshot of a board, or of some tasks (task_look.lua). Gives ``{"now", "channel", "tasks": [record], "missing", "damaged", "unnoticed"}``."""

    def read(words: list[Any]) -> dict[str, Any]:
        now, name, records, texts, missing = int(words[0]), words[1], pairs(words[2]), pairs(words[3]), words[4]
        board = Board(name, now, records, texts)
        return {
            "now": now, "channel": name, "tasks": board.tasks(tasks), "missing": list(missing), "damaged": sorted(board.damaged),
            "unnoticed": board.unnoticed(),
        }  # fmt: skip

    return run("task_look", keyed(keys, channel, "heads", "tasks", "texts", "links"), {"channel": channel}, read, (), tasks)


def notice(keys: Keys, channel: str) -> Call:
    """Leave word of the leases that ran out unnoticed (task_notice.lua). Gives how many."""
    return run("task_notice", keyed(keys, channel, "heads", "tasks", "leases", "audits", "live"), {"channel": channel}, lambda words: int(words[0]))


def repair(who: Caller, channel: str) -> Call:
    """Check and mend a board's indexes (task_repair.lua). Gives ``channel tasks mended{index: count} damaged[ids]``."""
    return run(
        "task_repair",
        {
            "world": who.keys.meta, **keyed(who.keys, channel, "heads", "agents", "tasks", "texts", "links", "ready", "leases", "leased", "claims"),
            "scratch": who.keys.scratch(who.me),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent},
        lambda words: {"channel": words[0], "tasks": int(words[1]), "mended": {k: int(v) for k, v in pairs(words[2]).items()}, "damaged": sorted(words[3])},
    )  # fmt: skip


def grant(words: list[Any]) -> dict[str, Any]:
    """What a holder is told: ``how channel id token expires_at expires_ms attempt late_ms previous_owner previous_lease_expires_at files_hint``."""
    if words[0] == "next":
        return {"how": "next", "channel": words[1], "id": words[2]}
    how, name, task, token, expires, attempt, late, before, ended, hints = words
    return {
        "how": how, "channel": name, "id": task, "token": int(token), "lease_expires_at": iso(expires), "attempt": int(attempt), "late_ms": _late(late),
        "previous_owner": before or None, "previous_lease_expires_at": iso(ended), "files_hint": _list(hints),
    }  # fmt: skip


class Board:
    """Records of tasks as they are kept, read together: what waits for what, and what can never start as it is."""

    __slots__ = ("_channel", "_dependents", "_now", "_records", "_stuck", "_texts", "damaged")

    def __init__(self, channel: str, now: int, records: dict[str, str], texts: dict[str, str]) -> None:
        self._channel, self._now, self._texts = channel, now, texts
        self._records: dict[str, dict[str, Any]] = {}
        self._dependents: dict[str, list[str]] = {}
        self._stuck: dict[str, bool] = {}
        self.damaged: list[str] = []
        for task, record in records.items():
            found = _record(record)
            if found is None or found["id"].lower() != task:
                self.damaged.append(task)
                continue
            self._records[task] = found
        for task, found in sorted(self._records.items(), key=lambda item: int(item[1]["number"])):
            for other in several(found["deps"]):
                self._dependents.setdefault(other, []).append(task)

    def tasks(self, wanted: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The tasks asked for in that order, else all by priority, then age."""
        order = wanted or sorted(self._records, key=lambda task: (self._records[task]["priority"], self._records[task]["number"]))
        return [self._task(task) for task in order if task in self._records]

    def unnoticed(self) -> bool:
        """Did a lease run out that nobody left word of?"""
        return any(0 < one["expires"] <= self._now and one["lapsed"] == "-" for one in self._records.values())

    def _status(self, task: str) -> str:
        found = self._records.get(task)
        return str(found["status"]) if found else "missing"

    def _unmet(self, task: str) -> list[str]:
        return [other for other in several(self._records[task]["deps"]) if self._status(other) != "done"]

    def _never(self, task: str) -> bool:
        """Does it wait, however far, for something that will not be done as things stand?"""
        if task not in self._stuck:
            self._follow(task)
        return self._stuck[task]

    def _follow(self, task: str) -> None:
        """Find out, for a task and all that it waits for: those first that wait for nothing unknown (chains may be longer than Python's stack)."""
        todo = [task]
        while todo:
            at = todo[-1]
            first = at not in self._stuck
            self._stuck.setdefault(at, False)  # a damaged board may hold a circle
            waits = [other for other in self._unmet(at) if self._status(other) not in _LOST]
            ahead = [other for other in waits if other not in self._stuck] if first else []
            todo += ahead
            if not ahead:
                self._stuck[at] = len(waits) < len(self._unmet(at)) or any(self._stuck[other] for other in waits)
                todo.pop()

    def _shown(self, task: str) -> str:
        found = self._records.get(task)
        return str(found["id"]) if found else task

    def _task(self, task: str) -> dict[str, Any]:
        found = self._records[task]
        waits = [{"id": self._shown(other), "status": self._status(other)} for other in self._unmet(task)]
        over = found["status"] in OVER
        return {
            "id": found["id"], "channel": self._channel, "title": self._text(task, "title", ""), "status": found["status"], "owner": _none(found["owner"]),
            "created_by": found["by"], "depends_on": [self._shown(other) for other in several(found["deps"])], "files_hint": _list(self._text(task, "files", "[]")),
            "acceptance": _list(self._text(task, "acceptance", "[]")), "lease_expires_at": iso(found["expires"]), "branch": self._text(task, "branch", "") or None,
            "updated_at": iso(found["updated"]), "priority": found["priority"], "attempt": found["attempt"], "token": found["token"] or None,
            "ready": found["status"] == "open" and not waits, "waits_for": [] if over else waits, "stuck": not over and self._never(task),
            "stale": 0 < found["expires"] <= self._now, "finished_by": _none(found["finisher"]), "reason": self._text(task, "reason", "") or None,
            "created_at": iso(found["created"]), "claimed_at": iso(found["claimed"]), "previous_owner": _none(found["before"]),
            "previous_lease_expires_at": iso(found["before_expires"]), "dependents": [self._shown(other) for other in self._dependents.get(task, ())], "result": self._text(task, "result", "") or None,
        }  # fmt: skip

    def _text(self, task: str, what: str, default: str) -> str:
        return self._texts.get(f"{task} {what}", default)


def _record(text: str) -> dict[str, Any] | None:
    """A task's words by name; None for what redischat did not write."""
    words = text.split(" ")
    if len(words) != len(_WORDS):
        return None
    found: dict[str, Any] = dict(zip(_WORDS, words, strict=True))
    try:
        found.update({name: int(found[name]) for name in _NUMBERS})
    except ValueError:
        return None
    return found if found["status"] in STATUSES else None


def listing(items: Sequence[str]) -> str:
    """A list as it is kept, opaque to the broker."""
    if not items:
        return "[]"
    from json import dumps

    return dumps(list(items), ensure_ascii=False)


def _list(text: str) -> list[str]:
    if text == "[]":
        return []
    from json import loads

    try:
        found = loads(text)
    except ValueError:
        return []  # somebody wrote past redischat
    return [str(one) for one in found] if isinstance(found, list) else []


def _named(text: str) -> list[str]:
    """``T-1 (open), T-2 (cancelled)`` as a list."""
    return [one for one in text.split(", ") if one]


def _ripple(words: Sequence[str]) -> dict[str, list[str]]:
    return {"freed": several(words[0]), "begun": several(words[1]), "waiting": several(words[2])}


def _none(word: str) -> str | None:
    return None if word == "-" else word


def _late(ms: int | str) -> int | None:
    return None if int(ms) < 0 else int(ms)
