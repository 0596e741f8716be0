"""What the fields of tasks, claims and leases may hold; each is refused by the code that agent-chat has for it."""

from __future__ import annotations

from .. import names
from ..calls.tasks import PRIORITY, STATUSES, listing
from ..errors import BadName, BadText, ChatError, TooLarge, Usage
from ..errors.leases import LeaseInvalidDuration, LeaseInvalidReason
from ..errors.tasks import (
    TaskDuplicateDependency,
    TaskInvalidAcceptance,
    TaskInvalidArgument,
    TaskInvalidBranch,
    TaskInvalidChannel,
    TaskInvalidDependencyId,
    TaskInvalidId,
    TaskInvalidOwner,
    TaskInvalidPriority,
    TaskInvalidReason,
    TaskInvalidResult,
    TaskInvalidStatus,
    TaskInvalidTitle,
    TaskInvalidUpdate,
    TaskPathOutsideWorkspace,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

RESULT_BYTES = 16_384  # every look at the board carries it
LONGEST_LEASE_S = 366 * 86_400
_LEAST, _MOST = 0, 4  # priorities


def channel(text: str, refused: type[ChatError] = TaskInvalidChannel) -> str:
    """A channel's name as it is compared."""
    try:
        return names.room(text)
    except BadName as error:
        raise refused(why=error.sentence(), **error.facts) from None


def task(text: str, refused: type[ChatError] = TaskInvalidId) -> str:
    """A task's id, as written."""
    try:
        return names.name("task", text)
    except BadName as error:
        raise refused(why=error.sentence(), **error.facts) from None


def agent(text: str, refused: type[ChatError] = TaskInvalidOwner) -> str:
    """An agent's name, as written."""
    try:
        return names.agent(text)
    except BadName as error:
        raise refused(why=error.sentence(), **error.facts) from None


def claim(text: str) -> str:
    """What is claimed, as written."""
    return names.name("claim", text)


def parts(given: Sequence[str]) -> list[str]:
    """Lists of ids or files may be given by commas, and the flag again."""
    return [part.strip() for text in given for part in text.split(",") if part.strip()]


def dependencies(given: Sequence[str]) -> str:
    """Ids of tasks as the broker keeps them: "a,b", or "-"."""
    found: dict[str, str] = {}
    for one in parts(given):
        key = names.same(task(one, TaskInvalidDependencyId))
        if key in found:
            raise TaskDuplicateDependency(dependency=one)
        found[key] = one
    return ",".join(found) or "-"


def hints(given: Sequence[str]) -> list[str]:
    """Files below the repository's root, in their normal form."""
    found = []
    for one in parts(given):
        try:
            found.append(names.path(one) or ".")
        except ChatError as error:
            raise TaskPathOutsideWorkspace(why=f"files hint {error.sentence()}", path=one) from None
    return found


def sentences(given: Sequence[str]) -> list[str]:
    """Sentences, each one line; a single empty one clears the list."""
    if tuple(given) == ("",):
        return []
    return [_line("acceptance item", one, TaskInvalidAcceptance, blank=False) for one in given]


def _title(text: str) -> str:
    """A title; it may be empty."""
    return _line("title", text, TaskInvalidTitle)


def _branch(text: str) -> str:
    """A branch."""
    return _line("branch", text, TaskInvalidBranch, blank=False)


def reason(text: str, refused: type[ChatError] = LeaseInvalidReason) -> str:
    """Why; not blank."""
    return _line("reason", text, refused, blank=False)


def note(text: str | None) -> str:
    """What a claim is for; may be left out."""
    return names.line("note", text or "")


def blocked(text: str | None) -> str:
    """Why a task is blocked; may be left out."""
    return _line("reason", text or "", TaskInvalidReason)


def result(text: str | None) -> str:
    """What came of a task; may be left out, and may have many lines."""
    if not text:
        return ""
    try:
        size = len(names.encoded(text, "result"))
    except (AttributeError, BadText):
        raise TaskInvalidResult(why="a result is text in valid Unicode") from None
    if size > RESULT_BYTES:
        raise TaskInvalidResult(why=f"a result has up to {RESULT_BYTES} bytes, not {size}: put it into a file or a message, and say which one")
    return text


def _priority(number: int | None) -> int:
    """0 (most urgent) to 4."""
    if number is None:
        return PRIORITY
    if isinstance(number, bool) or not isinstance(number, int) or not _LEAST <= number <= _MOST:
        raise TaskInvalidPriority(why=f"{number} is no priority: {_LEAST} (most urgent) to {_MOST}")
    return number


def state(text: str) -> str:
    """One of the five."""
    if text not in STATUSES:
        raise TaskInvalidStatus(status=text)
    return text


def milliseconds(seconds: float, refused: type[ChatError] = LeaseInvalidDuration) -> int:
    """How long a lease lasts. Less than a millisecond is one."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds <= LONGEST_LEASE_S:  # also nan
        raise refused(seconds=str(seconds), most=LONGEST_LEASE_S)  # JSON has no nan
    return max(1, int(seconds * 1000))


def waited(what: str, seconds: float) -> float:
    """How long to wait for a task: 0 (look once) or more."""
    try:
        return names.seconds(what, seconds)
    except Usage as error:
        raise TaskInvalidArgument(message=error.sentence()) from None


def resolution(text: str | None) -> None:
    """--resolve-publication: a word of agent-chat's that changes nothing here."""
    if text not in (None, "rollback", "published"):
        raise Usage(message=f"--resolve-publication is rollback or published, not {text!r}")


def wanted(
    task_: str | None, *, title: str, owner: str | None, depends_on: Sequence[str], files_hint: Sequence[str], acceptance: Sequence[str], branch: str | None,
    priority: int | None,
) -> dict[str, Any]:  # fmt: skip
    """A new task's fields as the broker keeps them; ``task_`` None: the board gives the next id."""
    return {
        "id": task(task_) if task_ is not None else "", "owner": agent(owner) if owner is not None else "-", "priority": _priority(priority),
        "deps": dependencies(depends_on), "title": _title(title), "branch": _branch(branch) if branch is not None else "", "files": listing(hints(files_hint)),
        "acceptance": listing(sentences(acceptance)),
    }  # fmt: skip


def changes(
    *, title: str | None = None, owner: str | None = None, depends_on: Sequence[str] | None = None, files_hint: Sequence[str] | None = None,
    acceptance: Sequence[str] | None = None, branch: str | None = None, priority: int | None = None, status: str | None = None, cleared: bool = False,
    unbranched: bool = False,
) -> list[tuple[str, Any]]:  # fmt: skip
    """What an update changes, field by field, in one order; ``cleared``: meant for nobody, ``unbranched``: on no branch.

    Raises:
        TaskInvalidUpdate: nothing.
    """
    given = [
        ("title", None if title is None else _title(title)), ("owner", "-" if cleared else None if owner is None else agent(owner)),
        ("depends_on", None if depends_on is None else dependencies(depends_on)), ("files_hint", None if files_hint is None else listing(hints(files_hint))),
        ("acceptance", None if acceptance is None else listing(sentences(acceptance))),
        ("branch", "" if unbranched else None if branch is None else _branch(branch)), ("priority", None if priority is None else _priority(priority)),
        ("status", None if status is None else state(status)),
    ]  # fmt: skip
    found = [(field, value) for field, value in given if value is not None]
    if not found:
        raise TaskInvalidUpdate
    return found


def _line(what: str, text: str, refused: type[ChatError], *, blank: bool = True) -> str:
    try:
        found = names.line(what, text)
    except (BadText, TooLarge) as error:
        raise refused(why=error.sentence()) from None
    if "\0" in found or (not blank and not found.strip()):
        raise refused(why=f"a {what} is text of one line" + ("" if blank else ", and not blank"))
    return found
