"""A board's files on the disk, read without following links; keep.py writes them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from ..errors import BadText
from ..errors import leases as bad_leases
from ..errors import paths as bad_paths
from ..errors import tasks as bad_tasks
from ..keys import LAST_NUMBER
from ..names import same
from . import board, disk, form, journal, ours, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..errors import ChatError

NUMBER_CHARS = len(str(LAST_NUMBER))
_STORES: dict[str, tuple[type[ChatError], type[ChatError], type[ChatError]]] = {  # no folder, a link, unreadable
    board.TASKS: (bad_tasks.TaskStorageInvalid, bad_tasks.TaskPathOutsideWorkspace, bad_tasks.TaskInvalidRecord),
    board.CLAIMS: (bad_leases.LeaseStorageInvalid, bad_leases.LeasePathOutsideWorkspace, bad_leases.LeaseInvalidRecord),
    board.LOCKS: (bad_paths.PathLockStorageInvalid, bad_paths.PathLockPathOutsideWorkspace, bad_paths.PathLockInvalidRecord),
}


class Shelf:
    """A folder's board, looked through once. ``tasks``: id as compared -> record with its ``lease``; ``markers``: (claim, slug, text); ``cursors``: slug -> number.

    ``left`` is what was not taken, ``ours`` its redischat.json, ``same``: the files that are as an export left them, ``members`` those of _meta.json.
    """

    __slots__ = ("claims", "cursors", "left", "locks", "markers", "members", "ours", "place", "same", "tasks", "unclaimed")

    def __init__(self, place: str) -> None:
        self.place, self.left = place, board.Left()
        self.ours = self._ours()
        meta = self._meta()
        named = meta.get("members")
        self.members = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
        channels = {same(disk.shown(os.path.basename(os.path.abspath(place)))), same(str(meta.get("channel", "")))}
        stores = {store: self._store(store) for store in _STORES}
        gone = self._resolved(stores)
        self.same = {f"{store}/{file}" for store, files in stores.items() for file, content in files.items() if self.ours.wrote(f"{store}/{file}", content)}
        tasks = self._parsed(board.TASKS, stores, lambda content, file: records.task_of(content, file.removesuffix(".json"), channels))
        claims = self._parsed(board.CLAIMS, stores, lambda content, file: records.lease_of(content, file, channels))
        locks = self._parsed(board.LOCKS, stores, lambda content, file: records.lock_of(content, file.removesuffix(".json"), channels))
        self.tasks = board.unlike([one for one in tasks if one["id"] not in gone], self.left)
        board.lease(self.tasks, [one for one in claims if one["task"] not in gone], self.left)
        self.locks = [one for one in locks if one["id"] not in gone]
        self.markers, self.unclaimed = self._markers()
        self.cursors = self._cursors()

    def people(self) -> list[str]:
        """Every name on it."""
        found = [
            name for one in self.tasks.values() for name in (one["owner"], one["created_by"], *((one["lease"] or {}).get(key) for key in ("owner", "before")))
        ]
        found += [name for one in self.locks for name in (one["owner"], one["before"])]
        asked = {*self.cursors, *(owner for _, owner, _ in self.markers)}
        found += [one for one in self.members if form.slug(one) in asked]
        return [name for name in (*found, *(one["owner"] for one in self.ours.claims)) if name]

    def _meta(self) -> dict[str, Any]:
        with suppress(BadText):
            return records.loads(disk.content(self.place, form.META)) or {}
        return {}

    def _ours(self) -> ours.Ours:
        try:
            return ours.read(disk.content(self.place, ours.FILE) if os.path.lexists(os.path.join(self.place, ours.FILE)) else None)
        except BadText as error:
            self.left.add(ours.FILE, error)
            return ours.read(None)

    def _store(self, store: str) -> dict[str, bytes]:
        """File -> content of a folder of records, as agent-chat would look at them."""
        path, (no_folder, link, unreadable) = os.path.join(self.place, store), _STORES[store]
        if not os.path.lexists(path):
            return {}
        if os.path.islink(path) or not os.path.isdir(path):
            self.left.add(store, link(why="it is a link", path=store) if os.path.islink(path) else no_folder(why="it is no folder"))
            return {}
        found = {}
        with disk.told(path):
            files = sorted(one for one in os.listdir(path) if one.endswith(".json") and not one.startswith((".", "_")))
        for file in files:
            try:
                found[file] = disk.content(path, file)
            except BadText as error:
                refused = link if os.path.islink(os.path.join(path, file)) else unreadable
                self.left.add(f"{store}/{disk.shown(file)}", refused(why=error.sentence(), path=disk.shown(file)))
        return found

    def _parsed(self, store: str, stores: dict[str, dict[str, bytes]], of: Callable[[bytes, str], dict[str, Any]]) -> list[dict[str, Any]]:
        found = []
        for file, content in sorted(stores[store].items()):
            try:
                found.append(of(content, disk.shown(file)))
            except (bad_tasks.TaskRefused, bad_leases.LeaseRefused, bad_paths.PathLockRefused) as error:
                self.left.add(f"{store}/{disk.shown(file)}", error)
        return found

    def _resolved(self, stores: dict[str, dict[str, bytes]]) -> set[str]:
        """Take back what a journal says must be. Gives the ids, of tasks and locks, that cannot be told."""
        gone = set()
        content = self._journal(board.CLAIMS, journal.LEASES, bad_leases.LeaseTransactionInvalid) if stores[board.TASKS] or stores[board.CLAIMS] else None
        if content is not None:
            try:
                undo = journal.leases(content, stores[board.TASKS], stores[board.CLAIMS], self._said)
                if undo:
                    self._put(board.TASKS, {undo[0]: undo[1]}, stores)
                    self._put(board.CLAIMS, undo[2], stores)
            except bad_leases.LeaseRefused as error:
                self.left.add(f"{board.CLAIMS}/{journal.LEASES}", error)
                gone.add(journal.lease_target(content) or "")
        content = self._journal(board.LOCKS, journal.LOCKS, bad_paths.PathLockTransactionInvalid)
        if content is not None:
            try:
                put = journal.locks(content, stores[board.LOCKS], self._said)
                if put:
                    self._put(board.LOCKS, {put[0]: put[1]}, stores)
            except bad_paths.PathLockRefused as error:
                self.left.add(f"{board.LOCKS}/{journal.LOCKS}", error)
                gone.add(journal.lock_target(content) or "")
        return gone

    def _put(self, store: str, files: dict[str, bytes | None], stores: dict[str, dict[str, bytes]]) -> None:
        for file, content in files.items():
            self.left.rows.pop(f"{store}/{file}", None)
            stores[store].pop(file, None)
            if content is not None:
                stores[store][file] = content

    def _journal(self, store: str, file: str, refused: type[ChatError]) -> bytes | None:
        path = os.path.join(self.place, store)
        if os.path.islink(path) or not os.path.lexists(os.path.join(path, file)):
            return None
        try:
            return disk.content(path, file)
        except BadText as error:
            self.left.add(f"{store}/{file}", refused(why=error.sentence()))
            return None

    def _said(self, transaction: str) -> bool:
        """Does a message name it? The newest first: it was among the last things that happened."""
        mark = f'"transaction_id": "{transaction}"'.encode()
        for _, files in sorted(disk.listed(self.place).items(), reverse=True):
            for file in files:
                with suppress(BadText):
                    if mark in disk.content(self.place, file):
                        return True
        return False

    def _markers(self) -> tuple[list[tuple[str, str, str]], int]:
        """Claimed markers, and how many are not claimed."""
        found, unclaimed = [], 0
        with disk.told(self.place):
            files = sorted(os.listdir(self.place))
        for file in files:
            claimed = board.CLAIMED.fullmatch(file)
            unclaimed += board.MARKER.fullmatch(file) is not None
            if claimed:
                try:
                    found.append((claimed[1] + ".md", claimed[2], disk.content(self.place, file).decode()))
                except UnicodeDecodeError:
                    self.left.add(file, BadText(message="it is not UTF-8"))
                except BadText as error:
                    self.left.add(file, error)
        return found, unclaimed

    def _cursors(self) -> dict[str, int]:
        path, found = os.path.join(self.place, board.CURSORS), {}
        if not os.path.lexists(path):
            return {}
        if os.path.islink(path) or not os.path.isdir(path):
            self.left.add(board.CURSORS, BadText(message="it is no folder"))
            return {}
        with disk.told(path):
            files = sorted(one for one in os.listdir(path) if one.endswith(".txt"))
        for file in files:
            try:
                found[file.removesuffix(".txt")] = cursor(disk.content(path, file))
            except BadText as error:
                self.left.add(f"{board.CURSORS}/{disk.shown(file)}", error)
        return found


def cursor(content: bytes) -> int:
    """A number of a message, or 0.

    Raises:
        BadText: it is none.
    """
    text = content.decode("ascii", "replace").strip()
    if not text.isdecimal() or not text.isascii() or len(text) > NUMBER_CHARS:
        raise BadText(message=f"it says {text[:20]!r}, which is no number of a message")
    return int(text)


def is_room(place: str, part: str) -> bool:
    """A folder in a channel's folder, made where there was none; False for a link or a file of that name."""
    path = os.path.join(place, part)
    with disk.told(path):
        with suppress(FileExistsError):
            os.mkdir(path)
        return stat.S_ISDIR(os.lstat(path).st_mode)
