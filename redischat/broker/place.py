"""Where the embedded broker of one state directory keeps its files, and whether this user may use them."""

from __future__ import annotations

import errno
import os
from contextlib import contextmanager

from ..errors.broker import BrokerNotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SOCKET_BYTES = 104  # macOS: sun_path with its closing zero (Linux has 108)
PRIVATE = 0o700
OTHERS = 0o077
FULL_BYTES = 64 * 1024  # less free than this: what failed did so because the disk is full
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Place:
    """The paths of one embedded broker: ``directory`` and in it ``lock socket record log data``; ``url`` is its address."""

    __slots__ = ("data", "directory", "lock", "log", "record", "socket", "state_dir", "url")

    def __init__(self, state_dir: str) -> None:
        self.state_dir = os.path.abspath(state_dir)
        self.directory = os.path.join(self.state_dir, "broker")
        self.lock = os.path.join(self.directory, "lock")
        self.socket = os.path.join(self.directory, "s")
        self.record = os.path.join(self.directory, "server.json")
        self.log = os.path.join(self.directory, "server.log")
        self.data = os.path.join(self.directory, "appendonlydir")
        self.url = "unix://" + self.socket

    def check(self) -> None:
        """Refuse a place that can never work, before anything is touched.

        Raises:
            BrokerNotStarted: native Windows, a socket path that no kernel takes, a directory of another user.
        """
        if os.name != "posix":
            raise BrokerNotStarted(why="there is no embedded broker on native Windows", remedy="Use WSL, or set REDISCHAT_URL to a Redis or Valkey server")
        size = len(os.fsencode(self.socket))
        if size >= SOCKET_BYTES:
            raise BrokerNotStarted(
                why=f"the socket's path {self.socket} has {size} bytes, and systems take less than {SOCKET_BYTES}",
                remedy="Set REDISCHAT_STATE to a directory with a shorter path",
            )
        with self.writing():
            self._refuse_foreign()

    def _refuse_foreign(self) -> None:
        """Both the name and what it leads to must be ours: a link planted by another in an open directory is foreign too."""
        for look in (os.lstat, os.stat):
            try:
                owner = look(self.directory).st_uid
            except FileNotFoundError:
                return
            if owner != os.geteuid():
                raise BrokerNotStarted(
                    why=f"{self.directory} belongs to user {owner}, and you are user {os.geteuid()}",
                    remedy="Run redischat as that user, or set REDISCHAT_STATE to a directory of your own",
                )

    def prepare(self) -> None:
        """Make the directory, for this user alone.

        Raises:
            BrokerNotStarted: it cannot be made or belongs to another user.
        """
        with self.writing():
            os.makedirs(self.state_dir, mode=PRIVATE, exist_ok=True)
            os.makedirs(self.directory, mode=PRIVATE, exist_ok=True)
            self._refuse_foreign()
            if os.stat(self.directory).st_mode & OTHERS:
                os.chmod(self.directory, PRIVATE)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turns a failure to write here into BrokerNotStarted."""
        try:
            yield
        except OSError as error:
            if error.errno in _FULL:
                raise self.disk_full() from error
            why = f"{error.filename or self.directory} cannot be used ({error.strerror})"
            remedy = "Set REDISCHAT_STATE to a directory that you may write, or REDISCHAT_URL to a running Redis or Valkey server"
            raise BrokerNotStarted(why=why, remedy=remedy) from error

    def is_full(self) -> bool:
        """Whether the disk below the directory has no room for data."""
        disk = os.statvfs(self.directory)
        return disk.f_bavail * disk.f_frsize < FULL_BYTES

    def disk_full(self) -> BrokerNotStarted:
        """The refusal to raise when there is no room."""
        return BrokerNotStarted(
            why=f"the disk that holds {self.directory} is full",
            remedy="Free space on it, or set REDISCHAT_STATE to a directory on another disk",
        )
