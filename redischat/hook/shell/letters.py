"""The words of a shell command: quotes, variables, substitutions and escapes kept apart, so that what a word may become can be told later."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Part = tuple[str, Any, bool]  # kind, value, quoted
    Word = list[Part]

# Kinds of parts: text (a str), var (what is between ${ and }), run (pipelines: their output), side (pipelines: <(..), >(..)), array (words), odd (a str).

DEEPEST = 30  # brackets, loops, substitutions inside one another
MOST_WORDS = 20_000

_PLAIN = re.compile(r"[^ \t\r\n'\"\\$`;&|<>()]+")
_QUOTED = re.compile(r'[^"\\$`]+')
_LOOSE = re.compile(r"[^\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_KEYWORD = re.compile(r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|function|time|coproc|in|\{|\}|!|\[\[)(?=[ \t\r\n;&|()<>]|$)")
_ARRAY = re.compile(r"\w+\+?=")
_PARENS = re.compile(r"[()]")
_ANSI = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|([0-7]{1,3})|(.))", re.DOTALL)
_ANSI_CHARS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}


class Enough(Exception):
    """The command is nested too deeply, or too long, to be followed to its end."""


class Letters:
    """Reads one text from left to right; ``at`` is how far. What lies in ``$(..)`` is read by :class:`~.tree.Reader`."""

    def __init__(self, text: str, depth: int) -> None:
        self.text, self.depth, self.at, self.count = text, depth, 0, 0

    def next(self, mark: str) -> bool:
        """Step over ``mark`` if it comes next."""
        if not self.text.startswith(mark, self.at):
            return False
        self.at += len(mark)
        return True

    def skip(self, pattern: re.Pattern[str]) -> str:
        """Step over what matches here; what it was."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else ""

    def keyword(self) -> str:
        """The word here, if it is one of the language."""
        found = _KEYWORD.match(self.text, self.at)
        return found[0] if found else ""

    def char(self) -> str:
        """The character here, "" at the end."""
        return self.text[self.at : self.at + 1]

    def block(self, *ends: str) -> tuple[Any, str]:
        """The pipelines up to one of ``ends``."""
        raise NotImplementedError  # the grammar, which reads these letters, has it

    def script(self, text: str) -> Any:
        """The pipelines of a text that lies in this one."""
        raise NotImplementedError  # the grammar, which reads these letters, has it

    def lines(self) -> None:
        """Step over blanks, comments and line ends."""
        raise NotImplementedError  # the grammar, which reads these letters, has it

    def arithmetic(self) -> bool:
        """Step over ``((...))``; False, and no step, where the brackets do not close like that."""
        deep = 0
        for found in _PARENS.finditer(self.text, self.at):
            self.spend()
            deep += 1 if found[0] == "(" else -1
            if not deep:
                whole = self.text[found.start() - 1] == ")"
                self.at = found.end() if whole else self.at
                return whole
        return False

    def deeper(self) -> None:
        """One level down; who goes up again counts it down himself."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise Enough

    def spend(self) -> None:
        """Count a word, so that a text of nothing but words ends."""
        self.count += 1
        if self.count > MOST_WORDS:
            raise Enough

    def word(self) -> Word:
        """The word here; empty, and no step, where none begins."""
        self.spend()
        parts: Word = []
        while char := self.char():
            if plain := self.skip(_PLAIN):
                parts.append(("text", plain, False))
            elif char in "<>" and self.text.startswith("(", self.at + 1):
                self.at += 2
                parts.append(("side", self.block(")")[0], False))
            elif char == "(" and parts and not parts[-1][2] and parts[-1][0] == "text":
                if not self.bracket(parts):
                    break
            elif not self.special(char, parts):
                break
        return parts

    def special(self, char: str, parts: Word) -> bool:
        """A quote, a backslash, a ``$``, a backtick."""
        if char == "'":
            parts.append(("text", self.until("'"), True))
        elif char == '"':
            self.at += 1
            parts.append(("text", "", True))
            parts += self.quoted('"')
        elif char == "\\":
            self.at += 2
            escaped = self.text[self.at - 1 : self.at]
            parts.append(("text", "" if escaped == "\n" else escaped, escaped != "\n"))
        elif char == "$":
            parts.append(self.dollar(quoted=False))
        elif char == "`":
            parts.append(self.backtick(quoted=False))
        else:
            return False
        return True

    def bracket(self, parts: Word) -> bool:
        """``name=(a b)`` and ``!(pattern)``; False where the bracket belongs to no word."""
        before = parts[-1][1]
        if len(parts) == 1 and _ARRAY.fullmatch(before):
            self.at += 1
            self.deeper()
            words: list[Word] = []
            self.lines()
            while self.char() not in {"", ")"}:
                start = self.at
                words.append(self.word())
                self.at += self.at == start
                self.lines()
            self.at += 1
            self.depth -= 1
            parts.append(("array", words, False))
            return True
        if before[-1] in "?*+@!":
            stop = self.text.find(")", self.at)
            self.at, start = (stop + 1 if stop >= 0 else len(self.text)), self.at
            parts.append(("odd", self.text[start : self.at], False))
            return True
        return False

    def until(self, end: str) -> str:
        """What is between the character here and the next ``end``."""
        start = self.at + 1
        stop = self.text.find(end, start)
        self.at = stop + 1 if stop >= 0 else len(self.text)
        return self.text[start : stop if stop >= 0 else None]

    def quoted(self, end: str) -> Word:
        """Text in double quotes up to ``end``, or with "" all of it."""
        parts: Word = []
        while char := self.char():
            self.spend()
            if plain := self.skip(_QUOTED if end else _LOOSE):
                parts.append(("text", plain, True))
            elif char == "$":
                parts.append(self.dollar(quoted=True))
            elif char == "`":
                parts.append(self.backtick(quoted=True))
            elif char == end:
                self.at += 1
                break
            elif char == "\\":
                self.at += 2
                escaped = self.text[self.at - 1 : self.at]
                parts.append(("text", escaped if escaped in {"$", "`", "\\", end} else "" if escaped == "\n" else "\\" + escaped, True))
            else:
                self.at += 1
                parts.append(("text", char, True))
        return parts

    def dollar(self, *, quoted: bool) -> Part:
        """``$name``, ``${..}``, ``$(..)``, ``$((..))``, ``$'..'``."""
        self.at += 1
        if self.text.startswith("((", self.at) and self.arithmetic():
            return ("odd", "$((", quoted)
        if self.next("("):
            body = self.block(")")[0]
            return ("run", body, quoted)
        if self.char() == "{":
            return ("var", self.braced(), quoted)
        if self.char() == "'" and not quoted:
            return ("text", self.ansi(), True)
        if self.char() == '"' and not quoted:
            return ("text", "", False)
        name = self.skip(_NAME)
        return ("var", name, quoted) if name else ("text", "$", quoted)

    def braced(self) -> str:
        """What is between ``{`` and the ``}`` that closes it."""
        start, deep = self.at + 1, 0
        while char := self.char():
            self.spend()
            if char == "\\":
                self.at += 1
            elif char in "{}":
                deep += 1 if char == "{" else -1
            self.at += 1
            if not deep:
                return self.text[start : self.at - 1]
        return self.text[start:]

    def ansi(self) -> str:
        """``$'..'``."""
        start = self.at + 1
        self.at = start
        while self.char() not in {"", "'"}:
            self.at += 2 if self.char() == "\\" else 1
        text = self.text[start : self.at]
        self.at += 1
        return _ANSI.sub(lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else chr(int(m[3], 8) & 255) if m[3] else _ANSI_CHARS.get(m[4], m[4]), text)

    def backtick(self, *, quoted: bool) -> Part:
        """As ``$(..)``, with backslashes of its own."""
        start = self.at + 1
        self.at = start
        while self.char() not in {"", "`"}:
            self.at += 2 if self.char() == "\\" else 1
        inner = re.sub(r"\\([`$\\])", r"\1", self.text[start : self.at])
        self.at += 1
        return ("run", self.script(inner), quoted)
