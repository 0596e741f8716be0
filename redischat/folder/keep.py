"""Keeps a board's files current: a file is written, and taken away, only as an export left it. Whatever else has its name is somebody's own, and named.

``redischat.json`` holds a digest of each file that an export wrote. It is written before the files (with the old digests beside the new) and after them, so
that an export that was stopped in between still knows its own.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ..errors import BadFolder, BadText, ChatError
from . import board, disk, ours, records, shelf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FOREIGN = b"\0"  # stands for what is no file: no record and no marker reads like it
_SEEN = frozenset((board.TASKS, board.CLAIMS, board.LOCKS))


def keep(place: str, files: Mapping[str, str], beside: Callable[[Mapping[str, list[str]]], str]) -> tuple[int, list[str]]:
    """Bring a board's files to these. ``beside`` makes the text of redischat.json from the digests. Gives how many were written or taken away, and those not touched."""
    content = _content(place, ours.FILE)
    try:
        before = ours.read(content)
    except BadText:
        before = None  # not ours: then nothing there is
    if not files and (content is None or before is None):
        return 0, []
    known = before or ours.read(None)
    shut = {part for part in _SEEN if any(one.startswith(part + "/") for one in files) and not shelf.is_room(place, part)}
    todo, conflicts = _compared(place, {file: text for file, text in files.items() if file.partition("/")[0] not in shut}, known)
    gone, kept = _gone(place, files, known)
    conflicts = sorted([*shut, *conflicts, *kept, *([ours.FILE] if before is None else [])])
    digests = {file: [ours.digest(text.encode())] for file, text in files.items() if file not in conflicts and file.partition("/")[0] not in shut}
    digests.update({file: known.files[file] for file in conflicts if file in known.files})
    if before is not None and (todo or gone):
        disk.put(place, ours.FILE, beside({file: sorted({*digests.get(file, ()), *known.files.get(file, ())}) for file in {*digests, *known.files}}))
    for file in todo:
        _put(place, file, files[file])
    for file in gone:
        with disk.told(place), suppress(FileNotFoundError):
            os.unlink(os.path.join(place, file))
    if before is not None and content != (text := beside(digests)).encode():
        disk.put(place, ours.FILE, text)
    return len(todo) + len(gone), conflicts


def _put(place: str, file: str, text: str) -> None:
    part, name = os.path.split(file)
    disk.put(os.path.join(place, part) if part else place, name, text)


def _content(place: str, file: str) -> bytes | None:
    """What a file holds; None where there is none, FOREIGN for what is no file."""
    part, name = os.path.split(file)
    path = os.path.join(place, part) if part else place
    if os.path.islink(path):
        return FOREIGN
    if not os.path.lexists(os.path.join(path, name)):
        return None
    try:
        return disk.content(path, name)
    except BadText:
        return FOREIGN


def _compared(place: str, files: Mapping[str, str], known: ours.Ours) -> tuple[list[str], list[str]]:
    """Which of these are to be written, and which are somebody else's and say something else."""
    todo, conflicts = [], []
    for file, text in files.items():
        there = _content(place, file)
        if there is None or (there != text.encode() and known.wrote(file, there)):
            todo.append(file)
        elif there == FOREIGN or not (there == text.encode() or board.CLAIMED.fullmatch(file) or _says(file, there) == _says(file, text.encode())):
            conflicts.append(file)
    return todo, conflicts


def _gone(place: str, files: Mapping[str, str], known: ours.Ours) -> tuple[list[str], list[str]]:
    """Files that exports wrote and the board has no more, and those of them that somebody changed since."""
    gone: list[str] = []
    kept: list[str] = []
    for file in known.files:
        there = _content(place, file) if file not in files and board.is_written(file) else None
        if there is not None:
            (gone if known.wrote(file, there) else kept).append(file)
    return gone, kept


def _says(file: str, content: bytes) -> object:
    """A record as it is read, whoever wrote it; its own bytes for what is none."""
    part, name = os.path.split(file)
    channel = {str((records.loads(content) or {}).get("channel")).lower()}
    try:
        if part == board.TASKS:
            return records.task_of(content, name.removesuffix(".json"), channel)
        if part == board.CLAIMS:
            return records.lease_of(content, name, channel)
        return records.lock_of(content, name.removesuffix(".json"), channel)
    except ChatError:
        return content


def keep_cursors(place: str, cursors: Mapping[str, int]) -> int:
    """Raise agent-chat's cursors to these; never lower one, and touch no file that says something else. Gives how many were written."""
    wanted = {f"{slug}.txt": seq for slug, seq in cursors.items() if seq}
    written = 0
    if not wanted or not shelf.is_room(place, board.CURSORS):
        return 0
    for file, seq in wanted.items():
        there = _content(place, f"{board.CURSORS}/{file}")
        with suppress(BadText, BadFolder):
            if there is None or shelf.cursor(there) < seq:
                _put(place, f"{board.CURSORS}/{file}", str(seq))
                written += 1
    return written
