"""What a word becomes: variables, braces, ``~`` and patterns, as far as the command itself and the folder tell; the rest is marked as not seen."""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from itertools import islice, pairwise

from .folders import HIDE, MOST, matches, plain, wild
from .tree import Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .letters import Word
    from .walk import Walk

UNSEEN = "\0"  # before what stands for something that nobody knows here; no argument of a command can hold it
_SPLIT = "\2"  # between the words that one word becomes
_MARKS = str.maketrans("", "", UNSEEN + HIDE + _SPLIT)
_SPECIAL = re.compile(r"[][*?{},~\\!^]")
_BRACE = re.compile(r"[{},~]")
_RANGE = re.compile(r"(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])")
_VARIABLE = re.compile(r"(\w+|[@*$!?])(?:\[([^\]]*)\])?(?:(:?[-=+?]|%%?|##?|//?|\^\^?|,,?)(.*))?", re.DOTALL)
_MOST_BRACES = 20
_EACH = 30  # what one more word costs, in characters
_MOST_NESTED = 5
_MOST_VALUE = 1_024
_TOKENS = re.compile(rf"{HIDE}.|[{{}},]", re.DOTALL)


def clean(text: str) -> str:
    """Text from outside, without the marks that are used here."""
    return text.translate(_MARKS)


def shown(text: str) -> str:
    """The word as somebody reads it."""
    return text.replace(UNSEEN, "")


def words(walk: Walk, word: Word) -> list[str]:
    """The arguments that a word becomes."""
    coded = _coded(walk, word)
    walk.spend(len(coded))
    asked = any(quoted for _, _, quoted in word)
    found: list[str] = []
    for one in coded.split(_SPLIT):
        if one or (asked and _SPLIT not in coded and not _list_of_none(word)):
            for name in islice(_braces(one), MOST):
                found += _names(walk, _home(name))
    walk.spend(_EACH * len(found))
    return found


def joined(walk: Walk, word: Word) -> str:
    """The one text that a word becomes in an assignment, in a here-string or in a heredoc."""
    coded = _coded(walk, word)
    walk.spend(len(coded))
    return plain(_home(coded).replace(_SPLIT, " "))


def _list_of_none(word: Word) -> bool:
    return any(kind == "var" and value.endswith(("@", "@]")) for kind, value, _ in word)


def _coded(walk: Walk, word: Word) -> str:
    """The word with every character hidden that means only itself, and with marks for splits and for what is not seen."""
    out = []
    for kind, value, quoted in word:
        if kind == "text":
            out.append(_hide(value) if quoted else value)
        elif kind == "var":
            many = value.endswith(("@", "@]"))
            values = variable(walk, value)
            out.append(UNSEEN + _hide("$" + value) if values is None else _several(values, quoted=quoted, many=many))
        elif kind == "run":
            text = walk.output(value)
            out.append(UNSEEN + _hide("$(..)") if text is None else _several([trimmed(text)], quoted=quoted, many=False))
        elif kind == "side":
            walk.aside(value)
            out.append("/dev/fd/63")
        elif kind == "odd":
            out.append(UNSEEN + _hide(value))
    return "".join(out)


def trimmed(text: str) -> str:
    """The output of a command as ``$(..)`` gives it."""
    return text.rstrip("\n")


def _several(values: list[str], *, quoted: bool, many: bool) -> str:
    if quoted:
        return (_SPLIT if many else " ").join(map(_hide, values))
    return _SPLIT.join(_BRACE.sub(lambda m: HIDE + m[0], one) for value in values for one in value.split())


def _hide(text: str) -> str:
    return _SPECIAL.sub(lambda m: HIDE + m[0], text)


def _home(coded: str) -> str:
    """``~`` in front is the home folder; somebody else's is not known."""
    name, slash, rest = coded.partition("/")
    if name == "~":
        return _hide(os.path.expanduser("~")) + slash + rest
    return UNSEEN + coded if coded.startswith("~") and name not in {"~+", "~-"} else coded


def _names(walk: Walk, coded: str) -> list[str]:
    base = walk.base()
    if UNSEEN in coded or not wild(coded) or (not base and not coded.startswith("/")):
        return [plain(coded)]
    found, whole = matches(coded, base)
    return (found or [plain(coded)]) if whole else [*found, UNSEEN + plain(coded)]


def _braces(coded: str) -> Iterator[str]:
    """``a{b,c}{1..3}`` written out, one after the other."""
    opened: list[list[int]] = []
    for token in _TOKENS.finditer(coded) if coded.count("{") <= _MOST_BRACES else ():
        if token[0] == "{":
            opened.append([token.start()])
        elif token[0] == "," and opened:
            opened[-1].append(token.start())
        elif token[0] == "}" and opened:
            marks = [*opened.pop(), token.start()]
            inner = coded[marks[0] + 1 : marks[-1]]
            options = [coded[a + 1 : b] for a, b in pairwise(marks)] if len(marks) > 2 else _range(inner)  # noqa: PLR2004 - a comma
            if options:
                for one in options:
                    yield from _braces(coded[: marks[0]] + one + coded[marks[-1] + 1 :])
                return
    yield coded


def _range(inner: str) -> list[str]:
    found = _RANGE.fullmatch(inner)
    if not found or found[1].isalpha() != found[2].isalpha():
        return []
    if found[1].isalpha():
        first, last = ord(found[1]), ord(found[2])
        return [chr(one) for one in range(min(first, last), max(first, last) + 1)]
    first, last = int(found[1]), int(found[2])
    return [str(one) for one in range(first, last + 1 if last >= first else last - 1, 1 if last >= first else -1)][:MOST]


def variable(walk: Walk, written: str) -> list[str] | None:
    """What ``${written}`` is: one value, all of an array, or None when nobody here knows."""
    found = _VARIABLE.fullmatch(written)
    if not found:
        return None
    name, index, how, rest = found.groups()
    values = walk.known(name)
    if values is not None and name not in {"@", "*"} and index not in {"@", "*"}:
        at = int(index) if index and index.isascii() and index.isdigit() and len(index) < 4 else 0  # noqa: PLR2004 - no array here is so long
        values = values[at : at + 1] if at or not index else values[:1]
    if not how:
        return values
    if how[-1] in "-=":
        values = values or _instead(walk, rest)
        if how[-1] == "=" and values:
            walk.stand.values[name] = values
        return values
    if how[-1] == "+":
        return _instead(walk, rest)
    return None if values is None else [_changed(one, how, rest) for one in values]


def _instead(walk: Walk, text: str) -> list[str] | None:
    """The word in ``${name:-word}``."""
    return [joined(walk, Reader(text.strip("\"'"), 0).quoted(""))] if text.count("${") < _MOST_NESTED else None


def _changed(value: str, how: str, rest: str) -> str:
    """``${name%.py}`` and its like."""
    rest = rest.replace("\\", "").replace('"', "").replace("'", "")
    if UNSEEN in value or UNSEEN in rest or len(value) > _MOST_VALUE or "$" in rest:
        return UNSEEN + value
    if how[0] == "/":
        old, _, new = rest.partition("/")
        return value.replace(old, new, -1 if how == "//" else 1) if old and not wild(old) else UNSEEN + value
    if how[0] in "^,":
        change = str.upper if how[0] == "^" else str.lower
        return change(value) if len(how) == 2 else change(value[:1]) + value[1:]  # noqa: PLR2004 - doubled: all of it
    if how[0] == "?" or how[:2] == ":?":
        return value
    sizes = range(len(value) + 1)
    for size in reversed(sizes) if len(how) == 2 else sizes:  # noqa: PLR2004 - doubled: the longest
        cut = (value[len(value) - size :], value[: len(value) - size]) if how[0] == "%" else (value[:size], value[size:])
        if fnmatchcase(cut[0], rest):
            return cut[1]
    return value
