"""A channel's folder on the disk: read without following links, written without replacing what is there (but for :func:`put`)."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager, suppress

from ..errors import BadFolder, BadText
from ..names import MESSAGE_BYTES
from ..names import channel as legal
from . import form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

FILE_BYTES = 8 * MESSAGE_BYTES  # front matter included: an ending of blanks grows sixfold as JSON
BESIDE = (form.AUDITS, form.EVENTS)
ID_END = 1 << 63

_BINARY = getattr(os, "O_BINARY", 0)
_READ = os.O_RDONLY | _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a link is not read, a pipe does not block
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
_MORE = os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY | getattr(os, "O_NOFOLLOW", 0)
_MODE = 0o644


@contextmanager
def told(path: str) -> Iterator[None]:
    """The operating system's no as ours."""
    try:
        yield
    except OSError as error:
        raise BadFolder(message=f"{path} cannot be used: {error.strerror or error}", directory=path) from error


def channels(directory: str) -> list[str]:
    """The channel folders meant by a path: itself, or those in it, by name. Links in it are passed over; without ``_meta.json`` messages make a channel.

    Raises:
        BadFolder: there is none.
    """
    with told(directory):
        if _has_meta(directory):
            return [directory]
        inside = [entry.path for entry in os.scandir(directory) if entry.is_dir(follow_symlinks=False) and not entry.name.startswith((".", "_"))]
        found = [path for path in inside if _has_meta(path)] or [path for path in [directory, *inside] if _has_messages(path)]
    if not found:
        raise BadFolder(message=f"{directory} holds no channel: a channel is a folder with {form.META} or files like 0001-amy-hello.md", directory=directory)
    return [directory] if directory in found else sorted(found)


def _has_meta(path: str) -> bool:
    return os.path.lexists(os.path.join(path, form.META))


def _has_messages(path: str) -> bool:
    return any(form.number(name) is not None for name in os.listdir(path))


def opened(directory: str, channel: str) -> str:
    """The folder of ``channel`` in ``directory``, made where there was none. ``channel`` is a legal name, or BadName.

    Raises:
        BadFolder: it cannot be made, or is a link.
    """
    place = os.path.join(directory, legal(channel))
    with told(place):
        os.makedirs(directory, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(place)
        if not stat.S_ISDIR(os.lstat(place).st_mode):
            raise BadFolder(message=f"{place} is no folder of its own: nothing was written. Export into another directory", directory=place)
    return place


def listed(place: str) -> dict[int, list[str]]:
    """Number -> names of the message files in a form. A number with two names is one that two writers took."""
    found: dict[int, list[str]] = {}
    with told(place):
        for name in sorted(os.listdir(place)):
            seq = form.number(name)
            if seq is not None:
                found.setdefault(seq, []).append(name)
    return found


def load(place: str, name: str) -> dict[str, Any]:
    """The record in one message file.

    Raises:
        BadText: it holds no message, or not the one that its name says, or is a link or no file; ``message`` says which.
    """
    try:
        text = content(place, name).decode()
    except UnicodeDecodeError:
        raise BadText(message="it is not UTF-8") from None
    found = form.record_of(text)
    if found["seq"] != form.number(name):
        raise BadText(message=f"its front matter says seq {found['seq']}")
    if len(found["body"].encode()) > MESSAGE_BYTES:
        raise BadText(message=f"its body is over {MESSAGE_BYTES} bytes")
    return found


def load_meta(place: str) -> dict[str, Any]:
    """What ``_meta.json`` says (:func:`redischat.folder.form.meta_of`); a folder without one says nothing, and BadText why it says nothing usable."""
    return form.meta_of(content(place, form.META) if os.path.lexists(os.path.join(place, form.META)) else b"{}")


def content(place: str, name: str) -> bytes:
    """What a file holds.

    Raises:
        BadText: it is a link, no file, over 2 MiB, or cannot be read.
    """
    path = os.path.join(place, name)
    try:
        if os.path.islink(path):  # Windows knows no O_NOFOLLOW
            raise BadText(message="it is a link")
        with os.fdopen(os.open(path, _READ), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise BadText(message="it is no file")
            if status.st_size > FILE_BYTES:
                raise BadText(message=f"it is over {FILE_BYTES} bytes")
            return file.read(FILE_BYTES + 1)
    except OSError as error:
        raise BadText(message=f"it cannot be read ({error.strerror})") from error


def shown(name: str) -> str:
    """A file's name as text, also where it is not UTF-8."""
    return os.fsencode(name).decode("utf-8", "replace")


def add(place: str, name: str, text: str) -> bool:
    """Write a file whole or not at all. False: there is one of that name, which stays as it is."""
    final = os.path.join(place, name)
    with told(final), _drafted(place, text) as draft:
        return _named(draft, final)


def put(place: str, name: str, text: str) -> str:
    """Write a file whole, in place of the one of that name; its path. A link or a folder of that name is left alone.

    Raises:
        BadFolder: it cannot be written.
    """
    final = os.path.join(place, name)
    with told(final):
        if os.path.lexists(final) and not stat.S_ISREG(os.lstat(final).st_mode):
            raise BadFolder(message=f"{final} is no file: nothing was written to it", directory=place)
        with _drafted(place, text) as draft:
            os.replace(draft, final)
    return final


@contextmanager
def _drafted(place: str, text: str) -> Iterator[str]:
    """A file with this text that nobody looks for, gone at the end unless it got a name."""
    draft = os.path.join(place, f".{os.urandom(8).hex()}.tmp")
    try:
        with os.fdopen(os.open(draft, _NEW, _MODE), "wb") as file:
            file.write(text.encode())
        yield draft
    finally:
        with suppress(FileNotFoundError):
            os.unlink(draft)


def _named(draft: str, final: str) -> bool:
    """A link never replaces what has the name, a rename would; where there are no links (FAT, some shares) nobody else may write meanwhile."""
    try:
        os.link(draft, final)
    except FileExistsError:
        return False
    except OSError:
        if os.path.lexists(final):
            return False
        os.rename(draft, final)
    return True


def note(place: str, name: str, records: Iterable[dict[str, Any]]) -> None:
    """Append records to ``_audit.jsonl`` or ``_events.jsonl``, one a line. A line that a crash left torn is ended first."""
    import orjson

    path = os.path.join(place, name)
    with told(path):
        if os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
            raise BadFolder(message=f"{path} is no file: nothing was written to it", directory=place)
        with os.fdopen(os.open(path, _MORE, _MODE), "ab+") as file:
            torn = _torn(file)
            file.write(b"\n" * torn + b"".join(orjson.dumps(one) + b"\n" for one in records))


def _torn(file: Any) -> bool:
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) != b"\n")


def noted(place: str, name: str) -> tuple[int, int, str] | None:
    """Where such a file ends: ``(after, n, ts)`` of its last whole record, ``after`` 0 for events; None for an empty one."""
    path = os.path.join(place, name)
    if not os.path.lexists(path):
        return None
    with told(path), os.fdopen(os.open(path, _READ), "rb") as file:
        lines = file.read().splitlines()
    return next(filter(None, map(_position, reversed(lines))), None)


def _position(line: bytes) -> tuple[int, int, str] | None:
    import orjson

    try:
        found = orjson.loads(line)
        after, n, ts = int(found["after"] or 0), int(found["n"]), str(found["ts"])
    except (ValueError, KeyError, TypeError):
        return None  # torn, or somebody's own line
    return (after, n, ts) if 0 <= after < ID_END and 0 <= n < ID_END else None


def present(place: str) -> dict[str, int]:
    """What is not read of what an export left there, and how many records it has: audits and events."""
    found: dict[str, int] = {}
    with told(place):
        for entry in os.scandir(place):
            if entry.name in BESIDE and entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as file:
                    found[entry.name] = sum(1 for _ in file)
    return {name: count for name, count in sorted(found.items()) if count}
