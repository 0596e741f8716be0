"""The files that install and uninstall change: read strictly, planned without a touch, written whole, backed up, and remembered so that they can be restored."""

from __future__ import annotations

import os
import stat

from ..errors import BadSettings, CannotKeep
from ..settings import told
from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Editor = Callable[[str, Collection[str]], "tuple[str, list[str], bool, list[str]]"]

BOM = b"\xef\xbb\xbf"
BYTES = 4 << 20  # no settings file is larger
LINKS = 40  # on the way to a file; what Linux follows
BACKUPS = "backups"  # in the state directory
WRITABLE = "Make it writable for you, then try again"
OTHER_STATE = "Set REDISCHAT_STATE to a folder of yours"


class Plan:
    """What install or uninstall would do to one file.

    ``path`` as the client names it, ``real`` behind its links; ``before`` and ``after`` are bytes, None where there is no file; ``changes`` and ``warnings``
    are sentences, ``changes`` empty when nothing is to be done; ``made``: there was no file. ``facts`` is what is remembered of an install, None of an uninstall.
    """

    __slots__ = ("after", "again", "before", "changes", "client", "facts", "fresh", "kept", "made", "path", "real", "state_dir", "warnings")

    def __init__(self, client: str, path: str, state_dir: str) -> None:
        self.client, self.path, self.real, self.state_dir = client, path, resolved(path), state_dir
        self.before = self.after = read(self.real)
        self.made, self.fresh = self.before is None, False
        self.changes: list[str] = []
        self.warnings: list[str] = []
        self.kept: list[str] = []
        self.facts: dict[str, str] | None = None
        self.again: Callable[[], Plan] | None = None


def drafted(plan: Plan, edit: Editor, facts: dict[str, str] | None, empty: str) -> Plan:
    """``plan`` with what ``edit`` makes of its file; ``empty`` is how the client writes a file that says nothing.

    ``edit(text, kept)`` gives the new text, the changes, whether the old one had something of ours, and its places that were there and empty.
    """
    past, old = record.stamp(plan.state_dir, plan.real) or {}, decoded(plan)
    told_kept = past.get("kept", "").split()
    new, plan.changes, had, kept = edit(old if old.strip() else empty, told_kept)
    plan.fresh, plan.kept, plan.facts = not had, told_kept if had else kept, facts
    if facts is not None and plan.before and plan.before.startswith(BOM):
        plan.changes.append("drop the byte order mark")
    if plan.changes:
        plan.after = new.encode("utf-8")
        if facts is None:
            _undone(plan, past, empty)
    return plan


def _undone(plan: Plan, past: dict[str, str], empty: str) -> None:
    """The file as it was before install, byte by byte, where nothing else changed it since; and no file, where there was none and nothing is left."""
    if past.get("after") == record.digest(plan.before):
        original = read(past["backup"]) if past.get("backup") else None
        if original is not None and record.digest(original) == past.get("original"):
            plan.after = original.removeprefix(BOM)
    ours = past.get("made") or not empty
    if ours and plan.after is not None and plan.after.split() == empty.encode().split() and not os.path.islink(plan.path):
        plan.after = None
        plan.changes += ["remove the file, which install had made"] if empty else []


def apply(plan: Plan) -> Plan:
    """Do what was planned. Gives the plan that was done: the file may have changed since, then it is planned again, once.

    Raises:
        CannotKeep: the file, its folder, its backup or what is to be remembered cannot be written; nothing was done.
        BadSettings: the file changes under our hands; nothing was done.
    """
    for _ in range(2):
        if read(plan.real) != plan.before and plan.again:
            plan = plan.again()
        if plan.after == plan.before:
            _remembered(plan, "", 0)
            return plan
        folders = _missing(os.path.dirname(plan.real)) if plan.after is not None else 0
        _may_be_written(plan)
        backup = _backed_up(plan)
        if _written(plan):
            _remembered(plan, backup, folders)
            return plan
        record.dropped(backup)
    raise refused(plan.path, "it is being changed by somebody else at this moment", "Try again")


def resolved(path: str) -> str:
    """``path`` with its links followed; the end of it need not exist.

    Raises:
        BadSettings: a link stands in a folder that everybody may write to: it may be anybody's; or the links lead in a circle.
    """
    if os.name == "nt":
        return os.path.realpath(path)
    todo, at, links = os.path.abspath(path).split(os.sep)[::-1], os.sep, 0
    while todo:
        part = todo.pop()
        step = os.path.dirname(at) if part == ".." else os.path.join(at, part) if part not in ("", ".") else at
        if not os.path.islink(step):
            at = step
            continue
        links += 1
        if links > LINKS:
            raise refused(path, "its links lead in a circle", "Mend the links, then try again")
        if os.stat(at).st_mode & stat.S_IWOTH:
            raise refused(path, f"{told(step)} is a link in a folder that everybody may write to", "Name the file behind it, or mend the folder's rights")
        leads = os.readlink(step)
        at = os.sep if os.path.isabs(leads) else at
        todo += leads.split(os.sep)[::-1]
    return at


def read(path: str) -> bytes | None:
    """A regular file's bytes; None when there is none.

    Raises:
        BadSettings: it is something else, or too large, or may not be read.
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > BYTES:
            raise refused(path, f"it is no file, or larger than {BYTES >> 20} MiB", "Look at it: it is no settings file")
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refused(path, f"it cannot be read ({error.strerror})", "Make it readable for you, then try again") from error


def decoded(plan: Plan) -> str:
    """The file as text, without its byte order mark.

    Raises:
        BadSettings: it is not UTF-8.
    """
    try:
        return (plan.before or b"").removeprefix(BOM).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise refused(plan.path, f"line {line} is not UTF-8", "Save it as UTF-8, then try again", line=line) from None


def refused(path: str, why: str, remedy: str, **facts: object) -> BadSettings:
    """A file that is left as it is, and why."""
    return BadSettings(message=f"{told(path)}: {why}; the file was not touched. {remedy}", path=told(path), **facts)


def _may_be_written(plan: Plan) -> None:
    """A file that its owner made read-only stays as it is, though its folder would let us replace it."""
    if plan.before is not None and not (os.stat(plan.real).st_mode & stat.S_IWUSR and os.access(plan.real, os.W_OK)):
        raise CannotKeep(path=told(plan.path), why="it is read-only", remedy=WRITABLE)
    folder = os.path.join(plan.state_dir, record.FOLDER)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise CannotKeep(path=told(folder), why=error.strerror or str(error), remedy=OTHER_STATE) from error


def _written(plan: Plan) -> bool:
    """The file as planned, whole or not at all; False when somebody changed it meanwhile."""
    folder, name = os.path.split(plan.real)
    draft = os.path.join(folder, f".{name}.{os.getpid()}.redischat-tmp")
    try:
        if plan.after is not None:
            os.makedirs(folder, exist_ok=True)
            _drafted(plan, draft, plan.after)
        if read(plan.real) != plan.before:
            return False
        if plan.after is None:
            os.unlink(plan.real)
        else:
            os.replace(draft, plan.real)
        _settled(folder)
    except OSError as error:
        raise CannotKeep(path=told(plan.path), why=error.strerror or str(error), remedy=WRITABLE) from error
    finally:
        record.dropped(draft)
    return True


def _drafted(plan: Plan, draft: str, content: bytes) -> None:
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o666 if plan.before is None else 0o600), "wb") as file:
        if plan.before is not None:
            was = os.stat(plan.real)
            os.chmod(draft, stat.S_IMODE(was.st_mode))
            if hasattr(os, "chown") and (was.st_uid, was.st_gid) != (os.geteuid(), os.getegid()):
                os.chown(draft, was.st_uid, was.st_gid)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _settled(folder: str) -> None:
    """The rename on disk, where folders can be synced."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _backed_up(plan: Plan) -> str:
    """Where the file as it was is kept: outside any repository. "" when there was none."""
    if plan.before is None:
        return ""
    from time import gmtime, strftime

    folder = os.path.join(plan.state_dir, BACKUPS)
    name = f"{os.path.basename(plan.real)}.{record.named(plan.real)}.redischat-bak-{strftime('%Y%m%dT%H%M%SZ', gmtime())}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        for number in range(1, 1000):
            path = os.path.join(folder, name + (f"-{number}" if number > 1 else ""))
            try:
                with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(plan.before)
            except FileExistsError:
                continue
            return path
        raise FileExistsError(17, "it has a thousand backups of this second")
    except OSError as error:
        raise CannotKeep(path=told(folder), why=error.strerror or str(error), remedy=OTHER_STATE) from error


def _remembered(plan: Plan, backup: str, folders: int) -> None:
    """An install with what was there before the first; an uninstall forgotten, with the folders that install had made."""
    if plan.facts is None:
        record.forget(plan.state_dir, plan.real, folders=plan.after is None)
        return
    past = record.stamp(plan.state_dir, plan.real) or {}
    first = plan.fresh and plan.after != plan.before
    same = not first and past.get("after") == record.digest(plan.before)
    facts = {
        "path": told(plan.real),
        "made": "yes" if plan.made or (past.get("made") and not first) else "",
        "folders": str(folders) if first else past.get("folders", ""),
        "kept": " ".join(plan.kept),
        "backup": backup if first else past.get("backup", "") if same else "",
        "original": record.digest(plan.before) if first else past.get("original", "") if same else "",
        "after": record.digest(plan.after),
    }
    record.remember(plan.state_dir, plan.real, facts | plan.facts)


def _missing(folder: str) -> int:
    """How many folders are to be made for a file: this one, and those above it."""
    count = 0
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        count, folder = count + 1, os.path.dirname(folder)
    return count
