"""Which files of a folder a pattern names; bounded, so that a large tree costs no more than a small one."""

from __future__ import annotations

import os
import re
from fnmatch import translate

from .letters import Enough

HIDE = "\1"  # before a character of a pattern that means itself
MOST = 200  # names that a pattern may become
MOST_ENTRIES = 5_000  # looked at for one pattern
_HIDDEN = re.compile(HIDE + "(.)", re.DOTALL)
_WILD = re.compile(rf"(?<!{HIDE})[*?\[]")


def plain(pattern: str) -> str:
    """The pattern as a name."""
    return _HIDDEN.sub(r"\1", pattern)


def wild(pattern: str) -> bool:
    """It may name several files."""
    return bool(_WILD.search(pattern))


def matches(pattern: str, base: str) -> tuple[list[str], bool]:
    """What a pattern (``**`` included) names below ``base``, sorted, and whether that is all of it."""
    search = Search(base)
    whole = search.all("/" if pattern.startswith("/") else "", [one for one in pattern.split("/") if one])
    return search.found, whole


class Search:
    """Walks a folder along the segments of a pattern. ``hidden``: names that begin with a dot count, too; ``caseless``: a and A are one."""

    __slots__ = ("base", "flags", "found", "hidden", "left")

    def __init__(self, base: str, *, hidden: bool = False, caseless: bool = False) -> None:
        self.base, self.hidden, self.flags, self.left = base, hidden, re.IGNORECASE if caseless else 0, MOST_ENTRIES
        self.found: list[str] = []

    def all(self, prefix: str, segments: list[str]) -> bool:
        """Find everything; False when there was too much."""
        try:
            self.step(prefix, segments)
        except (Enough, RecursionError):
            return False
        finally:
            self.found = list(dict.fromkeys(self.found))
        return True

    def step(self, prefix: str, segments: list[str]) -> None:
        """Along the first segment, then on."""
        if not segments:
            if prefix and os.path.lexists(os.path.join(self.base, prefix)):
                self.found.append(prefix)
            if len(self.found) >= MOST:
                raise Enough
            return
        first, rest = segments[0], segments[1:]
        if first == "**":
            self.step(prefix, rest)
            for name, folder in self.names(prefix):
                if folder and (self.hidden or name[0] != "."):
                    self.step(os.path.join(prefix, name), segments)
        elif wild(first):
            for name in self.fitting(prefix, first):
                self.step(os.path.join(prefix, name), rest)
        else:
            self.step(os.path.join(prefix, plain(first)), rest)

    def fitting(self, prefix: str, pattern: str) -> list[str]:
        """The names in a folder that fit a segment."""
        try:
            fits = re.compile(translate(_HIDDEN.sub(r"[\1]", pattern).replace("[^", "[!").replace("[!]", "!")), self.flags).match
        except re.error:
            return []
        dots = self.hidden or pattern[0] == "."
        return [name for name, _ in self.names(prefix) if fits(name) and (dots or name[0] != ".")]

    def names(self, prefix: str) -> list[tuple[str, bool]]:
        """The names in a folder, sorted, and whether each is a folder."""
        try:
            with os.scandir(os.path.join(self.base, prefix) or ".") as entries:
                found = []
                for entry in entries:
                    self.left -= 1
                    if self.left < 0:
                        raise Enough
                    found.append((entry.name, entry.is_dir(follow_symlinks=False)))
        except (OSError, ValueError):
            return []
        return sorted(found)
