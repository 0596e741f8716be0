"""Records of agent-chat's board, read one by one: a task, the claim of its lease, a path lock. Each is refused by the code that agent-chat has for it.

Texts and names are given back as they stand there, times as milliseconds since 1970 (0: none). What redischat could not hold is refused, not trimmed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ..errors import BadName, BadText, ChatError, TooLarge
from ..errors import leases as bad_leases
from ..errors import paths as bad_paths
from ..errors import tasks as bad_tasks
from ..names import line, name, path, same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

TASK_KEYS = (
    "id", "channel", "title", "status", "owner", "created_by", "depends_on", "files_hint", "acceptance", "lease_expires_at", "branch", "updated_at",
)  # fmt: skip
LEASE_KEYS = (
    "task_id", "channel", "owner", "lease_expires_at", "claimed_at", "updated_at", "previous_owner", "previous_lease_expires_at", "recovery_reason",
)  # fmt: skip
LOCK_KEYS = (
    "lock_id", "channel", "owner", "paths", "expires_at", "locked_at", "updated_at", "previous_owner", "previous_expires_at", "recovery_reason",
)  # fmt: skip
PATH_KEYS = ("normalized_path", "display_path", "kind")
STATUSES = ("open", "in_progress", "blocked", "done", "cancelled")
LOCKED_PATHS = 64  # of one lock
_NEEDED_LEASE, _NEEDED_LOCK = 6, 7  # the first keys of a claim, of a lock
_ALIASES = {"lease_expires_at": "expires_at", "previous_lease_expires_at": "previous_expires_at"}
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_START = datetime.fromtimestamp(0, UTC)


def task_of(content: bytes, stem: str, channels: Collection[str]) -> dict[str, Any]:
    """A task's file, called ``stem``, in a folder of one of these names: ``id title status owner created_by depends_on files_hint acceptance expires branch updated``.

    Raises:
        TaskRefused: it holds no task; the code says what is wrong.
    """
    found = _object(content, bad_tasks.TaskInvalidRecord)
    _keys(found, TASK_KEYS, TASK_KEYS, bad_tasks.TaskRequiredFieldMissing, bad_tasks.TaskUnknownField)
    id_ = _name(found["id"], bad_tasks.TaskInvalidId)
    if id_ != stem:
        raise bad_tasks.TaskRecordIdMismatch(why=f"its id is {id_}")
    _channel(found["channel"], channels, bad_tasks.TaskInvalidChannel, bad_tasks.TaskChannelMismatch)
    if found["status"] not in STATUSES:
        raise bad_tasks.TaskInvalidStatus(status=found["status"])
    return {
        "id": id_, "title": _line(found["title"], "title", bad_tasks.TaskInvalidTitle, blank=True), "status": found["status"],
        "owner": _maybe(found["owner"], "owner", bad_tasks.TaskInvalidOwner), "created_by": _line(found["created_by"], "created_by", bad_tasks.TaskInvalidCreatedBy),
        "depends_on": _dependencies(found["depends_on"]), "files_hint": [_hint(one) for one in _array(found["files_hint"], bad_tasks.TaskInvalidFilesHint)],
        "acceptance": [_line(one, "acceptance item", bad_tasks.TaskInvalidAcceptance) for one in _array(found["acceptance"], bad_tasks.TaskInvalidAcceptance)],
        "expires": milliseconds(found["lease_expires_at"], bad_tasks.TaskInvalidTimestamp, none=True), "branch": _maybe(found["branch"], "branch", bad_tasks.TaskInvalidBranch),
        "updated": milliseconds(found["updated_at"], bad_tasks.TaskInvalidTimestamp),
    }  # fmt: skip


def lease_of(content: bytes, file: str, channels: Collection[str]) -> dict[str, Any]:
    """The claim of a task's lease in ``file``: ``task owner expires claimed updated before before_expires reason``.

    Raises:
        LeaseRefused: it holds none; the code says what is wrong.
    """
    found = _object(content, bad_leases.LeaseInvalidRecord)
    _keys(found, LEASE_KEYS[:_NEEDED_LEASE], LEASE_KEYS, bad_leases.LeaseRequiredFieldMissing, bad_leases.LeaseUnknownField)
    task, owner = _name(found["task_id"], bad_leases.LeaseInvalidTaskId), _safe(found["owner"], bad_leases.LeaseInvalidOwner)
    _channel(found["channel"], channels, bad_leases.LeaseInvalidChannel, bad_leases.LeaseInvalidChannel)
    if file != f"{task}.{owner}.json":
        raise bad_leases.LeaseRecordIdMismatch(why=f"it is of {task}, claimed by {owner}")
    before, reason = found.get("previous_owner"), found.get("recovery_reason")
    times = [milliseconds(found.get(key), bad_leases.LeaseInvalidTimestamp, none=key.startswith("previous")) for key in (*LEASE_KEYS[3:6], LEASE_KEYS[7])]
    return {
        "task": task, "owner": owner, "expires": times[0], "claimed": times[1], "updated": times[2],
        "before": None if before is None else _safe(before, bad_leases.LeaseInvalidOwner), "before_expires": times[3],
        "reason": _maybe(reason, "recovery reason", bad_leases.LeaseInvalidReason),
    }  # fmt: skip


def lock_of(content: bytes, stem: str, channels: Collection[str]) -> dict[str, Any]:
    """A path lock's file: ``id owner paths expires locked updated before before_expires why``; paths in their normal form, "" all of them.

    Raises:
        PathLockRefused: it holds none; the code says what is wrong.
    """
    bad = bad_paths.PathLockInvalidRecord
    found = _object(content, bad)
    for alias, key in _ALIASES.items():
        if alias in found and found.setdefault(key, found[alias]) != found.pop(alias):
            raise bad(why=f"{key} and {alias} are two times")
    _keys(found, LOCK_KEYS[:_NEEDED_LOCK], LOCK_KEYS, bad, bad)
    id_ = _safe(found["lock_id"], bad_paths.PathLockInvalidLockId)
    if id_ != stem:
        raise bad_paths.PathLockInvalidLockId(why=f"its id is {id_}")
    _channel(found["channel"], channels, bad_paths.PathLockInvalidChannel, bad)
    owner = _safe(found["owner"], bad_paths.PathLockInvalidOwner)
    times = [milliseconds(found[key], bad_paths.PathLockInvalidTimestamp) for key in LOCK_KEYS[4:7]]
    recovery = [found.get(key) for key in LOCK_KEYS[7:]]
    if any(one is None for one in recovery) and any(one is not None for one in recovery):
        raise bad(why=f"{', '.join(LOCK_KEYS[7:])} belong together")
    return {
        "id": id_, "owner": owner, "paths": _paths(found["paths"]), "expires": times[0], "locked": times[1], "updated": times[2],
        "before": None if recovery[0] is None else _safe(recovery[0], bad_paths.PathLockInvalidOwner),
        "before_expires": milliseconds(recovery[1], bad_paths.PathLockInvalidTimestamp, none=True), "why": _maybe(recovery[2], "recovery reason", bad_paths.PathLockInvalidReason),
    }  # fmt: skip


def _paths(given: Any) -> list[str]:
    bad = bad_paths.PathLockInvalidRecord
    rows = _array(given, bad)
    found = []
    for one in rows:
        if not isinstance(one, dict) or sorted(one) != sorted(PATH_KEYS) or not isinstance(one["normalized_path"], str):
            raise bad(why=f"a path of it has not the keys {', '.join(PATH_KEYS)}")
        try:
            found.append(path(one["normalized_path"]))
        except ChatError as error:
            raise bad(why=error.sentence()) from None
    if not found or len(found) > LOCKED_PATHS:
        raise bad(why=f"it locks {len(found)} paths, not 1 to {LOCKED_PATHS}")
    return found


def loads(content: str | bytes) -> dict[str, Any] | None:
    """A JSON object, or None. By orjson, because it refuses lone surrogates, which no broker could store."""
    import orjson

    try:
        found = orjson.loads(content)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _object(content: bytes, refused: type[ChatError]) -> dict[str, Any]:
    found = loads(content)
    if found is None:
        raise refused(why="it is no JSON object in UTF-8")
    return found


def _keys(found: dict[str, Any], needed: Collection[str], known: Collection[str], missing: type[ChatError], unknown: type[ChatError]) -> None:
    gone, odd = [key for key in needed if key not in found], sorted(found.keys() - set(known))
    if gone:
        raise missing(why=f"it lacks {', '.join(gone)}")
    if odd:
        raise unknown(why=f"it has {', '.join(repr(key) for key in odd)}, which agent-chat does not know")


def _name(given: Any, refused: type[ChatError]) -> str:
    if not isinstance(given, str):
        raise refused(why=f"{given!r} is no name")
    try:
        return name("task", given)
    except BadName as error:
        raise refused(why=error.sentence()) from None


def _safe(given: Any, refused: type[ChatError]) -> str:
    if not isinstance(given, str) or not _SAFE.fullmatch(given):
        raise refused(why=f"{given!r} is not of letters, digits, '.', '_' and '-', the first a letter or digit")
    return given


def _channel(given: Any, channels: Collection[str], unsafe: type[ChatError], other: type[ChatError]) -> None:
    if same(_safe(given, unsafe)) not in channels:
        raise other(why=f"it is of #{given}")


def _line(given: Any, what: str, refused: type[ChatError], *, blank: bool = False) -> str:
    try:
        found = line(what, given) if isinstance(given, str) else None
    except (BadText, TooLarge) as error:
        raise refused(why=error.sentence()) from None
    if found is None or "\0" in found or (not blank and not found.strip()):
        raise refused(why=f"its {what} is no text of one line" + ("" if blank else ", or blank"))
    return found


def _maybe(given: Any, what: str, refused: type[ChatError]) -> str | None:
    return None if given is None else _line(given, what, refused)


def _array(given: Any, refused: type[ChatError]) -> list[Any]:
    if not isinstance(given, list):
        raise refused(why=f"{given!r} is no list")
    return given


def _dependencies(given: Any) -> list[str]:
    found: dict[str, str] = {}
    for one in _array(given, bad_tasks.TaskInvalidDependsOn):
        id_ = _name(one, bad_tasks.TaskInvalidDependencyId)
        if same(id_) in found:
            raise bad_tasks.TaskDuplicateDependency(dependency=id_, why=f"it depends twice on {id_}")
        found[same(id_)] = id_
    return list(found.values())


def _hint(given: Any) -> str:
    """A file hint in its normal form. A pattern, which agent-chat takes and no path is, stays as it is."""
    text = _line(given, "files hint", bad_tasks.TaskPathOutsideWorkspace).replace("\\", "/")
    try:
        return path(text) or "."
    except ChatError as error:
        if text.startswith("/") or ":" in text or ".." in text.split("/"):
            raise bad_tasks.TaskPathOutsideWorkspace(why=error.sentence()) from None
        return text


def milliseconds(given: Any, refused: type[ChatError], *, none: bool = False) -> int:
    """A time with an offset as milliseconds since 1970; with ``none``, 0 where there is none."""
    if given is None and none:
        return 0
    try:
        at = datetime.fromisoformat(given.strip().upper())
        ms = (at - _START) // timedelta(milliseconds=1) if at.tzinfo else 0
    except (ValueError, TypeError, AttributeError, OverflowError):
        ms = 0
    if ms <= 0:
        raise refused(why=f"{given!r} is no ISO 8601 time with an offset, after 1970")
    return ms
