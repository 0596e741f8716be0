"""One simple command of a shell: its arguments, what it gets to read, and what can be noted of it."""

from __future__ import annotations

import os

from .words import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .walk import Text, Walk


class Call:
    """``args`` are the words behind the name; ``mine`` the variables set for this command alone."""

    __slots__ = ("args", "given", "mine", "name", "walk")

    def __init__(self, walk: Walk, words: list[str], given: Text, mine: dict[str, list[str]]) -> None:
        self.walk, self.name, self.args, self.given, self.mine = walk, os.path.basename(words[0]), words[1:], given, mine

    def write(self, *paths: str) -> None:
        """It writes these."""
        for path in paths:
            self.walk.write(path)

    def opaque(self, why: str = "") -> None:
        """It may write what cannot be told."""
        self.walk.opaque(f"{self.name} {why or 'writes what cannot be seen before it runs'}")

    def again(self, words: list[str]) -> Text:
        """The command that this one runs."""
        return self.walk.call(words, self.given, self.mine) if words else ""

    def input(self) -> str | None:
        """What it reads, if that is known."""
        text = self.given() if callable(self.given) else self.given
        return None if text is None else shown(text)

    def folder(self, path: str) -> bool:
        """It leads to a folder that is there."""
        return path.endswith(("/", "/.", "/..")) or path in {".", ".."} or bool(self.walk.real(path) and os.path.isdir(self.walk.real(path)))

    def into(self, target: str, names: list[str]) -> list[str]:
        """What arises when ``names`` go to ``target``: below it, where that is a folder."""
        if len(names) > 1 or self.folder(target):
            return [os.path.join(target, os.path.basename(name.rstrip("/"))) for name in names]
        return [target]


def options(words: list[str], valued: str = "", longs: str = "", *, own: str = "", first: bool = False) -> tuple[dict[str, str], list[str]]:
    """Flags with their values, and the words that are none.

    ``valued``: letters that take a value; ``longs``: long flags that do, apart by blanks; ``own``: letters whose value is only what stands right behind
    them (sed's ``-i.bak``); ``first``: flags end where the first other word stands.
    """
    flags: dict[str, str] = {}
    free: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--" or (first and free):
            free += [*([] if word == "--" else [word]), *rest]
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            flags[name] = value if equals else next(rest, "") if name in longs.split() else ""
        elif len(word) > 1 and word[0] == "-":
            for at, letter in enumerate(word[1:], 2):
                flags["-" + letter] = ""
                if letter in valued or letter in own:
                    flags["-" + letter] = word[at:] if letter in own else word[at:] or next(rest, "")
                    break
        else:
            free.append(word)
    return flags, free
