"""What path locks refuse: PATH_LOCK_*, agent-chat's names with agent-chat's triggers, and a few of our own.

Exit status 1, as there; 3 where somebody else holds the path, live or lapsed, or stands in line for it.
"""

from __future__ import annotations

from . import LostRace, Refused, _Facts, no_channel


class PathLockRefused(Refused):
    """A path lock's verb was asked and said no. Nothing was changed."""

    code = "PATH_LOCK_REFUSED"


class DamagedLock(PathLockRefused):
    """A record of a path lock is not one: the broker's was written past redischat, or a folder's by hand."""

    code, origin = "DAMAGED_LOCK", "store"
    text = "{why}"


class PathLockConflict(LostRace):
    """Another agent holds one of these paths, or stands in line for it."""

    code, word = "PATH_LOCK_CONFLICT", "path_lock_conflict"
    fields = ("channel", "path", "asked", "holder", "mode", "expires_at", "lock_id", "reason", "in_line")

    def sentence(self) -> str:
        reason, inside = self.facts.get("reason"), self.facts.get("asked") not in (None, self.facts.get("path"))
        what = (
            "{holder} holds {path}" + (" (to read)" if self.facts.get("mode") == "shared" else "") + (" ({reason})" if reason else "") + " until {expires_at}"
        )
        if self.facts.get("in_line"):
            what = "{holder} stands in line for {path}"
        text = what + (", which {asked} overlaps" if inside else "") + ". Wait for it: redischat lock {channel} {typed} --wait 600"
        return text.format_map(_Facts({"typed": self.facts.get("asked"), **self.facts}))


class PathLockRecoveryRequired(LostRace):
    """The lock that is in the way has run out; it is taken over by name, with a reason, never silently."""

    code, word = "PATH_LOCK_RECOVERY_REQUIRED", "path_lock_recovery_required"
    fields = ("channel", "path", "asked", "holder", "expires_at", "lock_id", "reason")

    def sentence(self) -> str:
        text = (
            "{holder}'s lock on {path} ran out {expires_at} and nobody recovered it: redischat recover {channel} {lock_id} --reason WHY; "
            "or take what you asked for, and leave word of it: redischat lock {channel} {typed} --steal-expired"
        )
        return text.format_map(_Facts({"typed": self.facts.get("asked"), **self.facts}))


class PathLockOwnerMismatch(PathLockRefused):
    """The lock is another agent's."""

    code, word, fields = "PATH_LOCK_OWNER_MISMATCH", "path_lock_owner_mismatch", ("channel", "target", "holder", "expires_at")
    text = "{target} is {holder}'s lock (until {expires_at}); only {holder} may do this. Ask in the channel: redischat say {channel} - --to {holder}"


class PathLockNotFound(PathLockRefused):
    """There is no such lock: no id of one, and no path that is locked as it stands here."""

    code, word, fields = "PATH_LOCK_NOT_FOUND", "path_lock_not_found", ("channel", "target")

    def sentence(self) -> str:
        text = "no lock is called {target}, and none is on exactly that path. What is locked: redischat locks --all"
        return ("nothing is locked by you, so nothing was renewed" if self.facts.get("target") == "--all" else text).format_map(_Facts(self.facts))


class PathLockNotStale(PathLockRefused):
    """The lock has not run out yet, so there is nothing to recover."""

    code, word, fields = "PATH_LOCK_NOT_STALE", "path_lock_not_stale", ("channel", "target", "holder", "expires_at")
    text = "{holder} holds {target} until {expires_at}; it can be recovered after that. Wait for it: redischat lock {channel} {target} --wait 600"


class PathLockStaleToken(LostRace):
    """The fencing token is an old one: the path was given to somebody since."""

    code, word, fields = "PATH_LOCK_STALE_TOKEN", "path_lock_stale_token", ("channel", "target", "token", "current", "holder")

    def sentence(self) -> str:
        held = "{holder} holds it with token {current}" if self.facts.get("holder") else "nobody holds it under that token"
        text = "token {token} of {target} is an old one: " + held + ". What you wrote since may be lost; look before you go on: redischat locks"
        return text.format_map(_Facts(self.facts))


class PathLockStaged(LostRace):
    """guard check: what is staged is held by another agent."""

    code = "PATH_LOCK_STAGED"


class PathLockUnchecked(PathLockRefused):
    """guard check: the broker could not be asked, and what is staged must not be committed unchecked (``closed=`` in .redischat/config)."""

    code = "PATH_LOCK_UNCHECKED"
    text = "{path} is closed to commits that cannot be checked, and the broker could not be asked ({why}): nothing was committed. Try again when it is back"


class PathLockLineFull(PathLockRefused):
    """Too many requests stand in line in this workspace."""

    code, word, fields = "PATH_LOCK_LINE_FULL", "path_lock_line_full", ("channel", "most")
    text = "{most} requests stand in line already: nobody else is let in. Try again later, or see who waits: redischat locks --all"


class PathLockTooMany(PathLockRefused):
    """Too many paths in one request, or too many locks of one owner."""

    code, word, fields = "PATH_LOCK_TOO_MANY", "path_lock_too_many", ("channel", "what", "most")
    text = "{what}: at most {most}. Lock the folder that holds them, or let go of some: redischat locks --mine"


class PathLockInvalidPath(PathLockRefused):
    """A path that no lock can hold: empty, with control characters, with a name that Windows keeps for itself, or no valid Unicode."""

    code = "PATH_LOCK_INVALID_PATH"
    text = "{path!r} cannot be locked: {why}"


class PathLockPathOutsideWorkspace(PathLockRefused):
    """A path that leads out of the repository, by its own steps or through a link."""

    code = "PATH_LOCK_PATH_OUTSIDE_WORKSPACE"
    text = "{path!r} is not in the repository {repository} ({how}): {why}"


class PathLockInvalidOwner(PathLockRefused):
    """Who locks is no agent's name."""

    code = "PATH_LOCK_INVALID_OWNER"
    text = "{why}"


class PathLockInvalidChannel(PathLockRefused):
    """The channel's name breaks the rule for names."""

    code = "PATH_LOCK_INVALID_CHANNEL"
    text = "{why}"


class PathLockChannelNotFound(PathLockRefused):
    """There is no channel of that name."""

    code = "PATH_LOCK_CHANNEL_NOT_FOUND"

    def sentence(self) -> str:
        return no_channel(self.facts)


class PathLockInvalidReason(PathLockRefused):
    """A reason is one line, without control characters; a recovery needs one."""

    code = "PATH_LOCK_INVALID_REASON"
    text = "{why}"


class PathLockInvalidDuration(PathLockRefused):
    """A lease lasts a finite number of seconds above 0, a year at most."""

    code = "PATH_LOCK_INVALID_DURATION"
    text = "a lock of {seconds!r} seconds cannot be: more than 0, at most {most}"


class PathLockInvalidRecord(DamagedLock):
    """A lock's record cannot be read, or its keys are not those of one."""

    code, word, fields = "PATH_LOCK_INVALID_RECORD", "path_lock_invalid_record", ("channel", "path")

    def sentence(self) -> str:
        if "why" in self.facts:
            return super().sentence()
        text = "what lies on {path} in the broker was not written by redischat, so whose it is cannot be told: nothing was locked. Drop it: redischat recover-pending {channel}"
        return text.format_map(_Facts({**self.facts, "channel": self.facts.get("channel") or "CHANNEL"}))


class PathLockInvalidLockId(DamagedLock):
    """The id in a lock's file is not one, or not the file's name."""

    code = "PATH_LOCK_INVALID_LOCK_ID"


class PathLockInvalidTimestamp(DamagedLock):
    """A time in a lock's file is not ISO 8601 with an offset."""

    code = "PATH_LOCK_INVALID_TIMESTAMP"


class PathLockStorageInvalid(DamagedLock):
    """The folder's ``locks`` is no folder."""

    code = "PATH_LOCK_STORAGE_INVALID"


class PathLockTransactionInvalid(DamagedLock):
    """A pending transaction that agent-chat left in the folder cannot be read, or contradicts its files."""

    code = "PATH_LOCK_TRANSACTION_INVALID"


_ATOMIC = "a change, its record, its index and its audit are one script: there is no half-done transaction"
KEPT: dict[str, str] = {
    "PATH_LOCK_STORAGE_ERROR": "a broker that cannot be asked is exit 5 with a code of its own; a folder that cannot be used is BAD_FOLDER",
    "PATH_LOCK_TIMEOUT": "there is no lock file: the broker runs one script at a time. A wait in line that runs out is TIMED_OUT",
    "PATH_LOCK_TRANSACTION_PENDING": _ATOMIC,
    "PATH_LOCK_TRANSACTION_CLEANUP_FAILED": _ATOMIC,
    "PATH_LOCK_AUDIT_FAILED": _ATOMIC,
    "PATH_LOCK_AUDIT_ROLLBACK_FAILED": _ATOMIC,
}
