"""What a shell command wrote although somebody else holds it, and the guard could not foresee: the files under foreign locks are looked at before it runs and after.

Size and time of each, no content; at most so many files, for at most so long. It only ever runs where others hold locks in this repository.
"""

from __future__ import annotations

import os
import time

from ..calls import paths, sessions
from ..calls.call import clock, packed, plain, unpacked
from ..errors import ChatError
from ..settings import host, read_pairs, write_pairs
from ..text import field
from .session import SEEN, file_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ..calls.call import Caller
    from ..repository import Repository

    Flow = Generator[Any, Any, Any]

LOCKS, FILES, SECONDS = 200, 2_000, 0.08  # so many locked paths, files below them, and so long for all of them
YOUNG_S = 60.0  # of commands that run at once the first one's look counts
NAMED = 3  # files in what is told
_SKIPPED = frozenset((".git", "__pycache__", "node_modules"))
_ABSENT = "-"


class Hold:
    """A path below the repository's root that another agent holds, by which lock."""

    __slots__ = ("holder", "lock", "path")

    def __init__(self, path: str, holder: str, lock: str) -> None:
        self.path, self.holder, self.lock = path, holder, lock


class Look:
    """The files under some holds as they were: file -> (state, holder, lock); ``whole``: all of them were looked at."""

    __slots__ = ("files", "whole")

    def __init__(self, root: str, holds: Sequence[Hold]) -> None:
        self.files: dict[str, tuple[str, str, str]] = {}
        self.whole, end = True, time.monotonic() + SECONDS
        for hold in holds:
            for name, state in _states(root, hold.path):
                if len(self.files) >= FILES or time.monotonic() > end:
                    self.whole = False
                    return
                self.files.setdefault(name, (state, hold.holder, hold.lock))


def _states(root: str, path: str) -> Generator[tuple[str, str], None, None]:
    """The files at or below a path, and what each looks like; the path itself where there is nothing."""
    at = os.path.join(root, path)
    if not os.path.isdir(at) or os.path.islink(at):
        yield path, _state(at)
        return
    folders = [path]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(os.path.join(root, folder)), key=lambda one: one.name)
        except OSError:
            continue
        for one in entries:
            name = f"{folder}/{one.name}" if folder else one.name
            if one.is_dir(follow_symlinks=False):
                folders += [name] if one.name not in _SKIPPED else []
            else:
                yield name, _state(one.path)


def _state(path: str) -> str:
    try:
        facts = os.lstat(path)
    except OSError:
        return _ABSENT
    return f"{facts.st_mtime_ns}.{facts.st_size}.{facts.st_ino}"


def _file(state_dir: str, session: str) -> str:
    return os.path.join(state_dir, SEEN, file_name(session))


def holds(who: Caller, repo: Repository) -> Flow:
    """What others hold in a repository, as far as it is looked at. Gives ``[Hold]``."""
    digest = repo.digest
    stored = yield plain("ZRANGEBYLEX", who.keys.held_order, "[" + digest, f"({digest}0", "LIMIT", 0, LOCKS)
    texts = (yield plain("HMGET", who.keys.held, *stored)) if stored else []
    found = []
    for path, text in zip(stored, texts, strict=True):
        rows = [row.split(" ") for row in (text or "").split("\n") if row]
        others = [row for row in rows if row[0] != who.me and row[-1] == "-"]
        if others and not any(row[0] == who.me for row in rows):
            found.append(Hold(path.partition("/")[2], others[0][0], others[0][4]))
    return found


def before(who: Caller, repo: Repository, state_dir: str, session: str) -> Flow:
    """A shell command is about to run: note down what the files look like that others hold."""
    path, foreign = _file(state_dir, session), (yield from holds(who, repo))
    if not foreign or not repo.root:
        _forget(path)
        return
    try:
        if time.time() - os.stat(path).st_mtime < YOUNG_S:
            return
    except OSError:
        pass
    look = Look(repo.root, foreign)
    rows = {str(n): " ".join((packed(name), *what)) for n, (name, what) in enumerate(look.files.items())}
    write_pairs(path, {"whole": "1" if look.whole else "", "began": str((yield clock())), **rows})


def after(who: Caller, repo: Repository, state_dir: str, session: str) -> Flow:
    """It has run: what it may have written that others hold, told once to its agent; and to the room of each lock. Gives the text, or ""."""
    path = _file(state_dir, session)
    facts = read_pairs(path)
    _forget(path)
    if not facts or not repo.root:
        return ""
    old = {unpacked(words[0]): (words[1], words[2], words[3]) for key, row in facts.items() if key.isdigit() and len(words := row.split(" ")) == 4}  # noqa: PLR2004
    foreign = yield from holds(who, repo)
    now = Look(repo.root, foreign)
    differ = changed(old, now, whole=bool(facts.get("whole")) and now.whole)
    return (yield from _told(who, repo, differ, int(facts.get("began", "0")))) if differ else ""


def _forget(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def changed(old: dict[str, tuple[str, str, str]], now: Look, *, whole: bool) -> dict[str, tuple[str, str]]:
    """File -> (holder, lock) of those that differ, under a lock that was there all the while. Where not all were looked at, only what was seen both times counts."""
    locks = {lock for _, _, lock in old.values()}
    found = {}
    for name, (state, holder, lock) in now.files.items():
        before_, _, by = old.get(name, (_ABSENT if whole else state, "", lock))
        if state != before_ and by == lock and lock in locks:
            found[name] = (holder, lock)
    if whole:
        held = {lock for _, _, lock in now.files.values()}
        found |= {name: (holder, lock) for name, (state, holder, lock) in old.items() if name not in now.files and state != _ABSENT and lock in held}
    return found


def _told(who: Caller, repo: Repository, differ: dict[str, tuple[str, str]], began_ms: int) -> Flow:
    """What its agent is told. The room is told too, unless the holder itself was at work here meanwhile."""
    names = sorted(differ)
    holders = sorted({holder for holder, _ in differ.values()})
    there = yield sessions.reach(who.keys, holders)
    here = [seat if seat and seat["host"] == host() and seat["project"].startswith(repo.root) else {} for _, _, _, seat in there]
    busy = [name for name, seat in zip(holders, here, strict=True) if seat.get("active_ms", 0) >= began_ms]
    locks = sorted({lock for holder, lock in differ.values() if holder not in busy})
    records = (yield plain("HMGET", who.keys.locks, *locks)) if locks else []
    rooms = {lock: (record or "- -").split("\n")[0].split(" ")[1] for lock, record in zip(locks, records, strict=True)}
    for lock, room in rooms.items():
        files = [name for name in names if differ[name][1] == lock]
        text = f"a command of {who.agent} changed {_few(files)}, which {differ[files[0]][0]} has locked; no hook could foresee it"
        try:
            yield paths.overrun(who, room.lower(), lock, text)
        except ChatError:
            continue  # that channel is gone, or the name is another session's by now
    first = differ[names[0]][0]
    said = "; ".join(f"{field(name)} ({differ[name][0]}'s)" for name in names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    other = f" Or it was {' or '.join(busy)}, at work here meanwhile." if busy else " Its holder is told." if rooms else ""
    channel = next(iter(rooms.values()), "CHANNEL")
    return (
        f"redischat: changed while your command ran, and locked by others: {said}. Nothing foresaw it.{other} "
        f"If it was your command, undo it (git diff shows what), and say so: redischat say {channel} - --to {first}\n"
    )


def _few(files: Sequence[str]) -> str:
    return ", ".join(files[:NAMED]) + (f" and {len(files) - NAMED} more" if len(files) > NAMED else "")
