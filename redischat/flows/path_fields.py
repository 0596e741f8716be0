"""What requests for locks may hold; each is refused by the code that agent-chat has for it."""

from __future__ import annotations

from math import isfinite

from .. import names
from ..errors import BadName, ChatError, Usage
from ..errors.paths import PathLockInvalidChannel, PathLockInvalidDuration, PathLockInvalidOwner, PathLockInvalidReason, PathLockTooMany

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..calls.call import Caller

LEASE_S = 300.0
LONGEST_S = 366 * 86_400
MOST_PATHS = 64  # in one request
ID_CHARS = 32


def lease_ms(seconds: float | None) -> int:
    """How long a lock is to be held, in ms; None is five minutes.

    Raises:
        PathLockInvalidDuration: not above 0, not finite, or more than 366 days.
    """
    asked = LEASE_S if seconds is None else seconds
    if not isfinite(asked) or not 0 < asked <= LONGEST_S:
        raise PathLockInvalidDuration(seconds=asked, most=LONGEST_S)
    return max(1, round(asked * 1000))


def reason(text: str, *, needed: bool = False) -> str:
    """``text`` if it may be a reason.

    Raises:
        PathLockInvalidReason: it is no line, or it is ``needed`` and blank.
    """
    if needed and not text.strip():
        raise PathLockInvalidReason(why="a recovery needs a reason, for whoever reads the audit: --reason WHY")
    if any(letter < " " or "\x7f" <= letter < "\xa0" for letter in text):
        raise PathLockInvalidReason(why="a reason is one line, without control characters")
    try:
        return names.line("reason", text)
    except ChatError as error:
        raise PathLockInvalidReason(why=error.sentence()) from None


def room(text: str) -> str:
    """A channel's name as keys hold it, or PathLockInvalidChannel."""
    try:
        return names.room(text)
    except BadName as error:
        raise PathLockInvalidChannel(why=error.sentence(), channel=text) from None


def owner(caller: Callable[[], Caller]) -> Caller:
    """Who locks, or PathLockInvalidOwner."""
    try:
        return caller()
    except BadName as error:
        raise PathLockInvalidOwner(why=error.sentence(), owner=error.facts.get("name")) from None


def some(wanted: list[str]) -> list[str]:
    """``wanted``, if these may be the paths of one request.

    Raises:
        Usage: there is none.
        PathLockTooMany: more than 64.
    """
    if not wanted:
        raise Usage(message="which paths? redischat lock CHANNEL PATH ...")
    if len(wanted) > MOST_PATHS:
        raise PathLockTooMany(what=f"{len(wanted)} paths in one request", most=MOST_PATHS)
    return wanted


def is_id(target: str) -> bool:
    """Whether this can only be meant as a lock's id (a file of that name is ``./<name>``)."""
    return len(target) == ID_CHARS and all(letter in "0123456789abcdef" for letter in target)
