"""``redischat.json``: what agent-chat's records of a board have no word for, and which files an export wrote, so that the next one knows its own."""

from __future__ import annotations

import json
from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib costs 3 ms

from ..errors import BadText, ChatError
from ..names import agent, body, line, name, repository, same
from . import records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

FILE, FORMAT = "redischat.json", 1
TASK_WORDS = (
    "number", "priority", "attempt", "token", "reason", "created_at", "claimed_at", "finished_by", "previous_owner", "previous_lease_expires_at", "result",
)  # fmt: skip
CLAIM_WORDS = ("name", "owner", "token", "claimed_at", "lease_expires_at", "note")
LOCK_WORDS = ("repository", "mode", "reason", "token")
MODES = ("exclusive", "shared")
_NUMBERS = {"number": (0, 10**9), "priority": (0, 4), "attempt": (1, 10**9), "token": (0, 10**15)}
_TIMES = ("created_at", "claimed_at", "previous_lease_expires_at", "lease_expires_at")
_AGENTS = ("owner", "finished_by", "previous_owner")
_NEEDED = ("name", "owner", "repository")


def digest(text: bytes) -> str:
    """By which an export knows a file that it wrote."""
    return str(sha1(text).hexdigest()[:16])


class Ours:
    """A folder's ``redischat.json``. ``tasks``: id as compared -> its words; ``locks``: id -> words; ``files``: name -> digests of what exports wrote there."""

    __slots__ = ("claims", "files", "locks", "tasks")

    def __init__(self, tasks: dict[str, dict[str, Any]], claims: list[dict[str, Any]], locks: dict[str, dict[str, Any]], files: dict[str, list[str]]) -> None:
        self.tasks, self.claims, self.locks, self.files = tasks, claims, locks, files

    def wrote(self, file: str, content: bytes) -> bool:
        """Is it as an export left it?"""
        return digest(content) in self.files.get(file, ())


def read(content: bytes | None) -> Ours:
    """What a folder says; nothing, where it has no such file.

    Raises:
        BadText: no export wrote it.
    """
    found: dict[str, Any] | None = {"format": FORMAT} if content is None else records.loads(content)
    if found is None or found.get("format") != FORMAT:
        raise BadText(message=f"it is no {FILE} of format {FORMAT}")
    try:
        return Ours(
            {same(id_): _words(one, TASK_WORDS) for id_, one in _table(found, "tasks").items()},
            [_words(one, CLAIM_WORDS) for one in found.get("claims", [])],
            {id_: _words(one, LOCK_WORDS) for id_, one in _table(found, "locks").items()},
            {file: [str(one) for one in digests] for file, digests in _table(found, "files").items()},
        )
    except (TypeError, ValueError, AttributeError, KeyError) as error:
        raise BadText(message="no export wrote it like this") from error
    except ChatError as error:
        raise BadText(message=error.sentence()) from error


def written(channel: str, tasks: Mapping[str, Any], claims: Sequence[Any], locks: Mapping[str, Any], files: Mapping[str, Sequence[str]]) -> str:
    """The file's text."""
    found = {"format": FORMAT, "channel": channel, "tasks": tasks, "claims": claims, "locks": locks, "files": dict(sorted(files.items()))}
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def _table(found: dict[str, Any], key: str) -> dict[str, Any]:
    return {**found.get(key, {})}


def _words(given: dict[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """These words of a record, each of its kind; times in ms."""
    return {word: _word(word, given.get(word)) for word in words}


def _word(word: str, given: Any) -> Any:
    if given is None and word not in _NEEDED:
        return 0 if word in _TIMES else None
    if word in _NUMBERS:
        least, most = _NUMBERS[word]
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise ValueError(word)
        return given
    if word in _TIMES:
        return records.milliseconds(given, BadText)
    if word == "mode":
        return MODES[MODES.index(given)]
    check = agent if word in _AGENTS else repository if word == "repository" else _claim if word == "name" else body if word == "result" else _text
    return check(given)


def _claim(given: str) -> str:
    return name("claim", given)


def _text(given: str) -> str:
    return line("text", given)
