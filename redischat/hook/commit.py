"""May this be committed? What is staged, as git tells it, against the locks of others."""

from __future__ import annotations

import os
from unicodedata import normalize

from .. import names
from ..calls.call import iso, plain
from ..errors import ChatError, Refused
from ..flows import paths as flows
from ..flows.path_fields import MOST_PATHS
from ..repository import path
from ..text import field, inert, when
from .guard import NAMED, foreign, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from typing import Any

    from ..calls.call import Caller
    from ..repository import Repository

    Flow = Generator[Any, Any, Any]

_WORDS = 8  # of a lock's record
_TAKEN, _BEFORE = 4, 6  # the places in it of when it was taken, and of who had it before


class Staged:
    """What the next commit changes, in the checkout at ``top``: paths below it, of a rename both sides."""

    __slots__ = ("names", "top")

    def __init__(self, top: str, names_: Sequence[str]) -> None:
        self.top, self.names = top, names_


def staged(cwd: str) -> Staged:
    """Ask git, in the environment that it gave its hook: it may commit another index than the usual one.

    While a merge is being concluded, only what differs from both sides: what the others have committed already is not this commit's doing.

    Raises:
        Refused: git is not there, or ``cwd`` is in no checkout.
    """
    top, merging, _ = _git(cwd, "rev-parse", "--show-toplevel", "--git-path", "MERGE_HEAD").split("\n", 2)
    found = _changed(top)
    if found and os.path.exists(os.path.join(cwd, merging)):
        theirs = set(_changed(top, "MERGE_HEAD"))
        found = [one for one in found if one in theirs]
    return Staged(top, found)


def typed_in(found: Staged, cwd: str) -> str:
    """Where the commit was typed: git runs its hook at the top, and says in GIT_PREFIX where it was called."""
    return os.path.join(found.top, os.environ.get("GIT_PREFIX", "")) if "GIT_INDEX_FILE" in os.environ else cwd


def _changed(top: str, *against: str) -> list[str]:
    """The paths in which the index differs. Without renames: then both sides are told. NUL between names, so git quotes none."""
    text = _git(top, "diff", "--cached", "--name-only", "-z", "--no-renames", "--no-relative", "--no-ext-diff", "--ignore-submodules=none", *against, "--")
    return text.split("\0")[:-1]


def _git(cwd: str, *words: str) -> str:
    from subprocess import DEVNULL, run

    command = ["git", *words]
    try:
        done = run(command, cwd=cwd, stdin=DEVNULL, capture_output=True, check=False)
    except OSError as error:
        raise Refused(message=f"git cannot be run here: {error.strerror}") from None
    if done.returncode:
        raise Refused(message=f"git says: {inert(os.fsdecode(done.stderr).strip().partition(chr(10))[0]) or 'nothing'}")
    return os.fsdecode(done.stdout)


def targets(repo: Repository, found: Staged) -> list[str]:
    """What is staged, in the form in which it can be locked; what no lock can hold is nobody's.

    A path of the index leads through no link. Where the disk spells it in another case, that spelling counts too, as it does for a lock.
    """
    return list(dict.fromkeys(form for one in found.names for form in _forms(repo, found.top, one)))


def _forms(repo: Repository, top: str, name: str) -> Iterator[str]:
    try:
        own = names.path(name)
    except (ChatError, ValueError):
        return
    yield own
    try:
        there = path(repo, os.path.join(top, name), top)
    except (ChatError, OSError, ValueError):
        return
    if normalize("NFC", there).casefold() == normalize("NFC", own).casefold():
        yield there


def judge(who: Caller, repo: Repository, wanted: Sequence[str], cwd: str) -> Flow:
    """Who else holds what is staged. Gives the refusal, for whoever types in ``cwd``, or ""."""
    held: list[dict[str, Any]] = []
    for first in range(0, len(wanted), MOST_PATHS):
        found = yield from flows.check(who, "", repo, wanted[first : first + MOST_PATHS])
        held += foreign(found["held"], repo, cwd)
    if not held:
        return ""
    lost = yield from _lost(who, held)
    mine = "" if who.agent else ". If one of these locks is yours, say who you are: REDISCHAT_AGENT=NAME git commit"
    return refusal(held, "committed") + lost + mine


def _lost(who: Caller, held: Sequence[dict[str, Any]]) -> Flow:
    """Which of these were the caller's, until they ran out and were taken over: what it wrote since may be over another's work."""
    ids = list(dict.fromkeys(one["lock_id"] for one in held))
    records = dict(zip(ids, (yield plain("HMGET", who.keys.locks, *ids)), strict=True))
    said = []
    for one in held:
        words = str(records[one["lock_id"]] or "").partition("\n")[0].split(" ")
        if who.me and len(words) == _WORDS and words[_BEFORE].lower() == who.me:
            taken, ran_out = when(iso(words[_TAKEN])), when(iso(words[-1]))
            said.append(f". {field(one['path'])} was yours until {ran_out} and lost to {one['holder']} at {taken}: look at what changed since")
    return "".join(said[:NAMED])
