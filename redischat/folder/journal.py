"""What agent-chat was in the middle of when it was stopped: its two journals, resolved as its own ``recover-pending`` would. Pure: no file is changed.

A journal's phase is prepared (before the change), applied (after it, perhaps before its audit) or published (after the audit). Prepared is taken back; applied
is taken back unless a message of the channel names the transaction; published stays, if the files are what the journal says.
"""

from __future__ import annotations

import re
from base64 import b64decode

from ..errors.leases import LeaseTransactionInvalid, LeaseTransactionPublicationUnknown
from ..errors.paths import PathLockTransactionInvalid
from . import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..errors import ChatError

LEASES, LOCKS = ".lease-transaction.json", ".path-lock-transaction.json"
PHASES = ("prepared", "applied", "published")
VERSIONS = (1, 2)
_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OPERATIONS = ("lock", "unlock", "recover")


def lease_target(content: bytes) -> str | None:
    """The task that a journal of leases is about, as far as it says."""
    found = (records.loads(content) or {}).get("task_id")
    return found if isinstance(found, str) else None


def lock_target(content: bytes) -> str | None:
    """The lock that a journal of path locks is about, as far as it says."""
    found = (records.loads(content) or {}).get("target")
    return found.replace("\\", "/").rpartition("/")[2].removesuffix(".json") if isinstance(found, str) else None


def leases(content: bytes, tasks: dict[str, bytes], claims: dict[str, bytes], said: Callable[[str], bool]) -> tuple[str, bytes, dict[str, bytes | None]] | None:
    """What to put back: a task's file and its text, the files of claims and theirs (None: no file). None: all is as it should be.

    ``said`` tells whether a message names a transaction.

    Raises:
        LeaseTransactionInvalid, LeaseTransactionPublicationUnknown: it cannot be told; the task is left out.
    """
    refused = LeaseTransactionInvalid
    found = records.loads(content)
    if found is None or found.get("version") not in VERSIONS or any(key not in found for key in ("task_file", "task_before", "claim_changes", "event")):
        raise refused(why="it is no journal of agent-chat's leases")
    id_, phase = found.get("transaction_id"), found.get("phase", "prepared" if found["version"] == 1 else None)
    task = found.get("task_id")
    if phase not in PHASES or (found["version"] == VERSIONS[-1] and not (isinstance(id_, str) and id_)):
        raise refused(why=f"it does not say in which phase of what it is (phase {phase!r})")
    if not isinstance(task, str) or not _SAFE.fullmatch(task) or str(found["task_file"]).replace("\\", "/") != f"tasks/{task}.json":
        raise refused(why=f"it is of the file {found['task_file']!r}, not of its task's")
    before, after = _bytes(found["task_before"], refused), _bytes(found.get("task_after"), refused)
    if before is None or (records.loads(before) or {}).get("id") != task or (after is not None and (records.loads(after) or {}).get("id") != task):
        raise refused(why=f"what it holds of {task} is no record of {task}")
    changes = _changes(found["claim_changes"], task)
    if phase == "applied" and found["version"] == VERSIONS[0] and not id_:
        raise LeaseTransactionPublicationUnknown(
            why="it does not say whether it was published; agent-chat task recover-pending --resolve-publication settles it"
        )
    if phase == "published" or (phase == "applied" and said(str(id_))):
        _published(f"{task}.json", after if after is not None else before, tasks, refused)
        for file, (_, then) in changes.items():
            _published(file, then, claims, refused)
        return None
    return f"{task}.json", before, {file: earlier for file, (earlier, _) in changes.items()}


def _changes(given: Any, task: str) -> dict[str, tuple[bytes | None, bytes | None]]:
    refused = LeaseTransactionInvalid
    found: dict[str, tuple[bytes | None, bytes | None]] = {}
    for one in given if isinstance(given, list) else [None]:
        if not isinstance(one, dict) or any(key not in one for key in ("file", "previous", "next")):
            raise refused(why="a change of a claim in it is none")
        file = one["file"]
        if not isinstance(file, str) or not file.startswith(task + ".") or not file.endswith(".json") or not _SAFE.fullmatch(file):
            raise refused(why=f"{file!r} is no claim of {task}")
        earlier, then = _bytes(one["previous"], refused), _bytes(one["next"], refused)
        if file in found and found[file][0] != earlier:
            raise refused(why=f"it says twice what {file} was")
        found[file] = (earlier, then)
    return found


def locks(content: bytes, files: dict[str, bytes], said: Callable[[str], bool]) -> tuple[str, bytes | None] | None:
    """What to put back: a lock's file and its text (None: no file). None: all is as it should be.

    Raises:
        PathLockTransactionInvalid: it cannot be told; the lock is left out.
    """
    refused = PathLockTransactionInvalid
    found, file = records.loads(content), f"{lock_target(content)}.json"
    if (
        found is None or found.get("version") not in VERSIONS or found.get("phase") not in PHASES or found.get("operation") not in _OPERATIONS
        or "before" not in found or "after" not in found or not _SAFE.fullmatch(str(found.get("transaction_id"))) or not _SAFE.fullmatch(file)
        or str(found.get("target")).replace("\\", "/") not in (file, f"locks/{file}")
    ):  # fmt: skip
        raise refused(why="it is no journal of agent-chat's path locks")
    before, after = _bytes(found["before"], refused), _bytes(found["after"], refused)
    if found["phase"] == "published" or (found["phase"] == "applied" and said(found["transaction_id"])):
        if files.get(file) != after:
            raise refused(why=f"it says that it was published, and {file} is not what it wrote")
        return None
    return file, before


def _published(file: str, then: bytes | None, files: dict[str, bytes], refused: type[ChatError]) -> None:
    there = files.get(file)
    if (then is None) != (there is None) or (then is not None and there is not None and records.loads(then) != records.loads(there)):
        raise refused(why=f"it says that it was published, and {file} is not what it wrote")


def _bytes(given: Any, refused: type[ChatError]) -> bytes | None:
    if given is None:
        return None
    try:
        return b64decode(given, validate=True)
    except (ValueError, TypeError) as error:
        raise refused(why="what it holds is not base64") from error
