# Made from ../aio by tests/unasync.py; edit that, not this.
"""lock, check, unlock, renew, locks, recover."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from .. import names, repository
from ..calls import paths as calls
from ..calls.call import Once, fresh
from ..errors import Usage
from ..errors.broker import NotDurable
from ..flows import path_fields as fields
from ..flows import paths as flows
from ..models import Locks, PathCheck, PathLock, Unlocked
from ..settings import cwd
from .blocks import Locked, Hold, undone
from .seat import Seat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..repository import Repository


class Paths(Seat):
    """The verbs of files and folders that one agent at a time works on.

    A path is relative to the current directory, or absolute; ``repo`` names another repository than that of the current directory, and then paths are
    relative to its root. A lock belongs to workspace and repository; the channel is only where its audit goes, and its members need not be asked.
    """

    def lock(
        self,
        channel: str,
        *paths: str,
        ttl: float | None = None,
        wait: float | None = None,
        shared: bool = False,
        reason: str = "",
        glob: bool = False,
        steal_expired: bool = False,
        repo: str | None = None,
    ) -> Locked:
        """Lock files or folders: all of them, or none. Locked again by the same agent they are renewed and keep their tokens. Needs no membership.

        As a block, ``with chat.lock("board", "src/a.py", ttl=60) as lock``, they are renewed in the background and let go of at its end; ``lock.lost``
        is an event that is set if they were lost before. A lock is the agent's: blocks of one agent that overlap share it, and the last one lets go.

        ``ttl`` in seconds (300). ``wait``: stand in line for so many seconds, first come first served, at no cost while idle; cancelled, it leaves the line and
        holds nothing. ``shared``: to read; many may hold it, an exclusive lock waits for them. ``glob``: the fixed beginning of a pattern is locked.
        ``steal_expired``: take over what ran out (``wait`` does so, too); the audit names whose it was.

        Raises:
            PathLockConflict: another holds one of them, or stands in line for it: ``path asked holder mode expires_at lock_id reason in_line``.
            PathLockRecoveryRequired: it ran out, and nobody recovered it.
            NotDurable: there are too few copies. What was taken just now was given back (``given_back``).
            TimedOut: not free within ``wait`` seconds. Deadlock: waiting would never end. PathLockLineFull: 50 stand in line already.
            PathLockInvalidPath, PathLockPathOutsideWorkspace, PathLockTooMany, ...: nothing was changed.
        """
        return self._locked(channel, paths, repo, ttl=ttl, wait=wait, shared=shared, reason=reason, glob=glob, steal_expired=steal_expired)

    def _locked(
        self, channel: str, paths: Sequence[str], repo: str | None, *, ttl: float | None, wait: float | None, shared: bool, reason: str, glob: bool,
        steal_expired: bool,
    ) -> Locked:  # fmt: skip
        room, who = fields.room(channel), fields.owner(self._me)
        place = self._checkout(repo)
        asked = calls.Wanted(
            fields.some(_each(place, paths, glob=glob)), fresh(16), lease_ms=fields.lease_ms(ttl), reason=fields.reason(reason), shared=shared,
            wait=None if wait is None else names.seconds("wait", wait), steal_expired=steal_expired,
        )  # fmt: skip
        try:
            got = Locked.model_validate(self._drive(flows.lock(who, room, place, asked, time.monotonic)))
        except NotDurable as error:
            undone(self._connection, error, flows.unlock(who, room, place, [(asked.id, "")], Once()))
            raise
        return got.hand(Hold(self._connection, self._wrapped, who, room, asked.lease_ms), self._blocks)

    def check(self, channel: str, *paths: str, token: int | None = None, glob: bool = False, repo: str | None = None) -> PathCheck:
        """Who holds these paths, what lies in them, or what they lie in? Changes nothing; needs no identity: with one, its own locks are ``mine``.

        Raises:
            PathLockStaleToken: ``token`` is not that of a lock on each of them any more: somebody else may have written since.
            PathLockInvalidPath, PathLockPathOutsideWorkspace, PathLockChannelNotFound: there is nothing to look at.
        """
        room, place = fields.room(channel), self._checkout(repo)
        got = self._drive(flows.check(self._who, room, place, fields.some(_each(place, paths, glob=glob)), token=token))
        return PathCheck.model_validate(got)

    def unlock(self, channel: str, *targets: str, all: bool = False, repo: str | None = None, idem: str | None = None) -> Unlocked:  # noqa: A002
        """Let go of locks: by id, by exactly their path, or ``all`` of the agent's, in every repository. Those that ran out, too.

        Raises:
            PathLockNotFound, PathLockOwnerMismatch: nothing was changed.
        """
        room, who = fields.room(channel), fields.owner(self._me)
        place, named = self._targets(targets, repo, every=all)
        return Unlocked.model_validate(self._drive(flows.unlock(who, room, place, named, Once(idem), all_=all)))

    def renew(
        self,
        channel: str,
        *targets: str,
        ttl: float | None = None,
        all: bool = False,  # noqa: A002
        token: int | None = None,
        repo: str | None = None,
        idem: str | None = None,
    ) -> PathLock:
        """Keep locks for ``ttl`` seconds (300) from now, never for less than they had: by id, by path, or ``all``. ``token``: only if it is still theirs.

        Raises:
            PathLockNotFound, PathLockOwnerMismatch, PathLockStaleToken: nothing was changed.
        """
        room, who, lease = fields.room(channel), fields.owner(self._me), fields.lease_ms(ttl)
        place, named = self._targets(targets, repo, every=all)
        return PathLock.model_validate(self._drive(flows.renew(who, room, place, named, lease, Once(idem), fence=token, all_=all)))

    def locks(self, channel: str | None = None, *, mine: bool = False, all: bool = False, repo: str | None = None) -> Locks:  # noqa: A002
        """Who holds what in this repository, or in ``all``, and who stands in line. Changes nothing; needs no identity, but for ``mine``.

        Raises:
            PathLockChannelNotFound: there is no such channel.
        """
        room, who = fields.room(channel) if channel is not None else None, self._me() if mine else self._who
        place = None if all else self._checkout(repo)
        return Locks.model_validate(self._drive(flows.listing(who, room, place, mine=mine)))

    def recover(self, channel: str, target: str, reason: str, *, ttl: float | None = None, repo: str | None = None, idem: str | None = None) -> PathLock:
        """Take over a lock whose holder's lease ran out, by id or path. It keeps its id and gets a new token; the audit names whose it was, and why.

        Raises:
            PathLockNotStale, PathLockNotFound, PathLockConflict, PathLockInvalidReason: nothing was changed.
        """
        room, who = fields.room(channel), fields.owner(self._me)
        why, lease = fields.reason(reason, needed=True), fields.lease_ms(ttl)
        place, (named,) = self._targets((target,), repo, every=False)
        return PathLock.model_validate(self._drive(flows.recover(who, room, place, named, lease, why, Once(idem))))

    def _checkout(self, repo: str | None) -> Repository:
        """The repository that paths are meant in. Finding it may ask git."""
        if self._settings is None:
            if repo is None:
                raise Usage(message="a client made with redis=... does not look where it runs: say which repository is meant, repo='github.com/team/project'")
            return repository.Repository(names.repository(repo), "repo=", "")
        return partial(repository.find, self._settings, repo)()

    def _targets(self, targets: Sequence[str], repo: str | None, *, every: bool) -> tuple[Repository | None, list[tuple[str, str]]]:
        if every:
            return None, []
        if not targets:
            raise Usage(message="which lock? Give its id, a path of it, or all=True")
        if all(fields.is_id(one) for one in targets) and repo is None:
            return None, [(one, "") for one in targets]
        place = self._checkout(repo)
        return place, [(one, "" if fields.is_id(one) else calls.stored(place, _each(place, (one,))[0])) for one in targets]


def _each(place: Repository, paths: Sequence[str], *, glob: bool = False) -> list[str]:
    return [repository.path(place, one, cwd(), glob=glob) for one in paths]
