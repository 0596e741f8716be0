"""A channel's board as files beside its messages, as agent-chat lays them out.

::

    dock/tasks/T-1.json              a task: agent-chat's 12 keys, no other (it refuses any other)
    dock/claims/T-1.amy.json         the lease that a task is under
    dock/locks/<id>.json             a path lock that was made through the channel
    dock/task-12.CLAIMED-amy.md      a claim whose name is a marker's (task-12.md); its note is the text
    dock/.cursors/amy.txt            up to where a member has read; agent-chat's own is never lowered
    dock/state.md                    where things stood
    dock/redischat.json              what those have no word for (see ours.py)

Pure: what is on the disk is shelf.py's business.
"""

from __future__ import annotations

import json
import re

from ..errors.leases import LeaseInconsistent
from ..errors.tasks import TaskDependencyCycle, TaskDuplicateId, TaskUnknownDependency
from ..names import same
from . import ours
from .form import slug
from .records import TASK_KEYS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from ..errors import ChatError

TASKS, CLAIMS, LOCKS, CURSORS, STATE = "tasks", "claims", "locks", ".cursors", "state.md"
MARKER = re.compile(r"task-[A-Za-z0-9][A-Za-z0-9_-]*\.md")
CLAIMED = re.compile(r"(task-[A-Za-z0-9][A-Za-z0-9_-]*)\.CLAIMED-([a-z0-9-]+)\.md")
_WRITTEN = re.compile(r"(?:tasks|claims|locks)/[A-Za-z0-9][A-Za-z0-9._-]*\.json|" + CLAIMED.pattern)


def is_written(file: str) -> bool:
    """Is it the name of a file that an export of a board writes?"""
    return _WRITTEN.fullmatch(file) is not None


def files(channel: str, tasks: Iterable[dict[str, Any]], claims: Iterable[dict[str, Any]], locks: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Name -> text of a board's files, from its records as they are listed."""
    found: dict[str, str] = {}
    for one in tasks:
        found[file_of(one)] = _json({key: one[key] for key in TASK_KEYS})
        if one["lease_expires_at"]:
            found.setdefault(lease_file(one["id"], one["owner"]), _json(_lease(one)))
    for one in locks:
        found[f"{LOCKS}/{one['lock_id']}.json"] = _json(_lock(one, channel))
    for one in claims:
        if MARKER.fullmatch(one["name"]):
            found[marker(one["name"], one["owner"])] = (one["note"] or "").rstrip() + "\n"
    return found


def shared(tasks: Iterable[dict[str, Any]]) -> list[str]:
    """Files that the claims of two leases would have: T of x.y and T.x of y. agent-chat can hold one of them; the first is written."""
    names = [lease_file(one["id"], one["owner"]) for one in tasks if one["lease_expires_at"]]
    return sorted({file for file in names if names.count(file) > 1}) if len(set(names)) < len(names) else []


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def _lease(task: dict[str, Any]) -> dict[str, Any]:
    before = task["previous_owner"]
    return {
        "task_id": task["id"], "channel": task["channel"], "owner": task["owner"], "lease_expires_at": task["lease_expires_at"],
        "claimed_at": task["claimed_at"] or task["updated_at"], "updated_at": task["updated_at"], "previous_owner": before,
        "previous_lease_expires_at": task["previous_lease_expires_at"], "recovery_reason": task["reason"] if before else None,
    }  # fmt: skip


def _lock(lock: dict[str, Any], channel: str) -> dict[str, Any]:
    before = lock["previous_owner"], lock["previous_expires_at"], lock["recovery_reason"]
    before = before if all(before) else (None, None, None)  # together, or agent-chat refuses the record
    return {
        "lock_id": lock["lock_id"], "channel": channel, "owner": lock["owner"],
        "paths": [{"normalized_path": path, "display_path": path, "kind": "file"} for path in lock["paths"]], "expires_at": lock["expires_at"],
        "locked_at": lock["locked_at"] or lock["expires_at"], "updated_at": lock["updated_at"] or lock["expires_at"],
        "previous_owner": before[0], "previous_expires_at": before[1], "recovery_reason": before[2],
    }  # fmt: skip


def marker(claim: str, owner: str) -> str:
    """The file of a claimed marker."""
    return f"{claim.removesuffix('.md')}.CLAIMED-{slug(owner)}.md"


def beside(
    channel: str, tasks: Iterable[dict[str, Any]], numbers: Mapping[str, int], claims: Iterable[dict[str, Any]], locks: Iterable[dict[str, Any]], known: Mapping[str, list[str]]
) -> str:  # fmt: skip
    """The text of ``redischat.json``; ``numbers``: task as compared -> its number, ``known``: file -> digests."""
    order = sorted(tasks, key=lambda one: numbers.get(same(one["id"]), 0))
    return ours.written(
        channel,
        {one["id"]: {"number": numbers.get(same(one["id"]), 0), **{word: one[word] for word in ours.TASK_WORDS if word != "number"}} for one in order},
        [{word: one[word] for word in ours.CLAIM_WORDS} for one in claims],
        {one["lock_id"]: {word: one[word] for word in ours.LOCK_WORDS} for one in locks},
        known,
    )


class Left:
    """What cannot be taken from a folder, and why: file -> error."""

    __slots__ = ("rows",)

    def __init__(self) -> None:
        self.rows: dict[str, ChatError] = {}

    def add(self, file: str, error: ChatError) -> None:
        """The first reason counts."""
        self.rows.setdefault(file, error)

    def report(self) -> list[dict[str, str]]:
        """As rows ``{file, code, why}``, by file."""
        return [{"file": file, "code": error.code, "why": str(error.facts.get("why") or error.sentence())} for file, error in sorted(self.rows.items())]


def file_of(task: dict[str, Any]) -> str:
    """A task's file."""
    return f"{TASKS}/{task['id']}.json"


def lease_file(task: str, owner: str) -> str:
    """The file of the lease that a task is under."""
    return f"{CLAIMS}/{task}.{owner}.json"


def unlike(tasks: list[dict[str, Any]], left: Left) -> dict[str, dict[str, Any]]:
    """Tasks by id as compared, without those of which two files are."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in tasks:
        found.setdefault(same(one["id"]), []).append(one)
    for same_ones in found.values():
        for one in same_ones if len(same_ones) > 1 else ():
            left.add(file_of(one), TaskDuplicateId(why=f"{' and '.join(sorted(other['id'] for other in same_ones))} are one id here"))
    return {key: one for key, (one, *more) in found.items() if not more}


def lease(tasks: dict[str, dict[str, Any]], claims: list[dict[str, Any]], left: Left) -> None:
    """Give each task its lease (``lease``: a claim, or None); one that does not agree with its claim is taken out."""
    of_task: dict[str, list[dict[str, Any]]] = {}
    for one in claims:
        of_task.setdefault(same(one["task"]), []).append(one)
    for key, task in list(tasks.items()):
        mine = of_task.pop(key, [])
        why = _disagree(task, mine)
        task["lease"] = mine[0] if mine else None
        if why:
            left.add(file_of(tasks.pop(key)), LeaseInconsistent(why=why))
    for mine in of_task.values():
        for one in mine:
            left.add(lease_file(one["task"], one["owner"]), LeaseInconsistent(why=f"there is no task {one['task']} that it could be a lease of"))


def _disagree(task: dict[str, Any], mine: list[dict[str, Any]]) -> str:
    if len(mine) > 1:
        return f"{len(mine)} agents claim it: {', '.join(sorted(one['owner'] for one in mine))}"
    if not mine:
        return "it has a lease_expires_at, and no claim" if task["expires"] else ""
    if task["owner"] != mine[0]["owner"]:
        return f"its owner is {task['owner']}, and {mine[0]['owner']} claims it"
    if task["expires"] != mine[0]["expires"]:
        return "its claim runs out at another time"
    return "" if task["status"] == "in_progress" else f"it is {task['status']}, and under a lease"


def ordered(tasks: dict[str, dict[str, Any]], known: Collection[str], left: Left) -> list[dict[str, Any]]:
    """Tasks after what they depend on. Those that depend on what is neither here nor ``known``, or in a circle, are left out, and who depends on them."""
    waits = {key: {other for other in map(same, one["depends_on"]) if other not in known} for key, one in tasks.items()}
    behind: dict[str, list[str]] = {}
    for key, others in waits.items():
        for other in others:
            behind.setdefault(other, []).append(key)
    _without(tasks, waits, behind, [other for other in behind if other not in waits], left)
    order = [key for key, others in waits.items() if not others]
    for key in order:  # grows
        for other in behind.get(key, ()):
            if other in waits:
                waits[other].discard(key)
                if not waits[other]:
                    order.append(other)
    round_ = _round({key: others for key, others in waits.items() if others})
    for key in sorted(round_):
        ids = ", ".join(tasks[one]["id"] for one in sorted(waits.pop(key) & round_))
        left.add(file_of(tasks[key]), TaskDependencyCycle(why=f"it depends on itself, by way of {ids}"))
    _without(tasks, waits, behind, sorted(round_), left)
    return [tasks[key] for key in order]


def _without(tasks: dict[str, dict[str, Any]], waits: dict[str, set[str]], behind: dict[str, list[str]], lost: list[str], left: Left) -> None:
    """Leave out whatever depends on these, however far."""
    for other in lost:  # grows
        for key in behind.get(other, ()):
            if key in waits:
                del waits[key]
                shown = tasks[other]["id"] if other in tasks else other
                left.add(file_of(tasks[key]), TaskUnknownDependency(dependency=shown, why=f"it depends on {shown}, which is not there"))
                lost.append(key)


def _round(waits: dict[str, set[str]]) -> set[str]:
    """Those that wait for each other, without who only waits for them."""
    asked: dict[str, int] = {}
    for others in waits.values():
        for other in others:
            asked[other] = asked.get(other, 0) + 1
    spare = [key for key in waits if not asked.get(key)]
    for key in spare:  # grows
        for other in waits[key]:
            asked[other] -= 1
            if not asked[other]:
                spare.append(other)
    return waits.keys() - set(spare)
