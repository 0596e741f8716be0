"""A JSON text and where each value stands in it, so that one entry is put in or taken out and no other byte changes."""

from __future__ import annotations

from json import JSONDecodeError, JSONDecoder, dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Edit = tuple[int, int, str]

INDENT = "  "  # of a text that shows none
SPACE = " \t\r\n"


class Broken(ValueError):
    """The text is no JSON: ``why`` in a phrase, ``line`` from 1."""

    def __init__(self, why: str, line: int) -> None:
        self.why, self.line = why, line
        super().__init__(f"line {line}: {why}")


class Node:
    """A value: it stands at ``start`` to ``end``, and is ``value``; ``at`` is where it begins with its key, ``key`` that key ("" in a list)."""

    __slots__ = ("at", "children", "end", "key", "start", "value")

    def __init__(self, start: int, at: int, key: str) -> None:
        self.start, self.at, self.key, self.end = start, at, key, start
        self.value: Any = None
        self.children: list[Node] = []

    def child(self, key: str) -> Node | None:
        """The member of that key. The last of several, as clients read it."""
        return next((one for one in reversed(self.children) if one.key == key), None) if isinstance(self.value, dict) else None

    def twice(self, key: str) -> bool:
        """Whether an object has two members of one key."""
        return isinstance(self.value, dict) and sum(one.key == key for one in self.children) > 1


def parse(text: str) -> Node:
    """The value of a whole text, strictly: no comment, no trailing comma, no NaN.

    Raises:
        Broken: it is none, or nested beyond sense.
    """
    try:
        loads(text, parse_int=float)
        return _value(text, _skip(text, 0), None, "")
    except JSONDecodeError as error:
        raise Broken(error.msg[:1].lower() + error.msg[1:], error.lineno) from None
    except RecursionError:
        raise Broken("nested too deeply", 1) from None


def line(text: str, at: int) -> int:
    """The number of the line that a place is in."""
    return text.count("\n", 0, at) + 1


def edited(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with pieces replaced; the pieces do not overlap."""
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def grown(text: str, root: Node, node: Node, value: Any, key: str = "") -> Edit:
    """The edit that puts ``value`` at the end of an object (under ``key``) or list, written in the manner of the text."""
    style = _Style(text, root)
    label = dumps(key, ensure_ascii=False) + style.colon if key else ""
    if not node.children:
        return node.start, node.end, style.around(text, node, label, value)
    first, last = node.children[0], node.children[-1]
    gap = text[node.start + 1 : first.at]
    lead = style.end + gap.rpartition("\n")[2] if "\n" in gap else style.space
    return last.end, last.end, "," + lead + label + style.written(value, lead if "\n" in gap else "")


def replaced(text: str, root: Node, node: Node, value: Any) -> Edit:
    """The edit that puts ``value`` where ``node`` stands."""
    style, margin = _Style(text, root), _margin(text, node.at)
    own_line = not text[text.rfind("\n", 0, node.at) + 1 : node.at].strip(SPACE)
    return node.start, node.end, style.written(value, style.end + margin if own_line else "")


def shrunk(node: Node, gone: set[int]) -> list[Edit]:
    """The edits that take children out: what stays keeps every byte of its own, and what :func:`grown` put in leaves no trace."""
    if len(gone) == len(node.children):
        return [(node.start + 1, node.end - 1, "")]
    edits, kept = [], None
    for number, child in enumerate(node.children):
        if number in gone and kept is not None:
            edits.append((node.children[number - 1].end, child.end, ""))
        elif number in gone:
            edits.append((child.at, node.children[number + 1].at, ""))
        else:
            kept = number
    return edits


class _Style:
    """How a text is written: ``unit`` of indentation (None: all on one line), ``end`` of a line, ``colon``, ``space`` after a comma."""

    def __init__(self, text: str, root: Node) -> None:
        self.end = "\r\n" if "\r\n" in text else "\n"
        self.unit: str | None = INDENT
        self.colon, self.space = ": ", " "
        if root.children:
            first = root.children[0]
            gap = text[root.start + 1 : first.at]
            self.unit = gap.rpartition("\n")[2] if "\n" in gap else None
            if isinstance(root.value, dict) and self.unit is None and text[first.at : first.start].endswith(":"):
                self.colon, self.space = ":", ""

    def written(self, value: Any, lead: str) -> str:
        """``value`` as text; ``lead`` is what begins a line at its depth, "" where it stands on one line with others."""
        if self.unit is None or not lead:
            return dumps(value, ensure_ascii=False, separators=("," + self.space, self.colon))
        return dumps(value, ensure_ascii=False, indent=self.unit, separators=(",", self.colon)).replace("\n", lead)

    def around(self, text: str, node: Node, label: str, value: Any) -> str:
        """The whole of an empty object or list, now with one child."""
        opened, closed = text[node.start], text[node.end - 1]
        if self.unit is None:
            return opened + label + self.written(value, "") + closed
        outer = self.end + _margin(text, node.at)
        inner = outer + self.unit
        return opened + inner + label + self.written(value, inner) + outer + closed


def _margin(text: str, at: int) -> str:
    """The white space that the line of a place begins with."""
    row = text[text.rfind("\n", 0, at) + 1 : at]
    return row[: len(row) - len(row.lstrip(SPACE))]


def _never(name: str) -> float:
    raise ValueError(name)


_SCALARS = JSONDecoder(parse_int=float, parse_constant=_never)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in SPACE:
        at += 1
    return at


def _value(text: str, start: int, at: int | None, key: str) -> Node:
    """The value at ``start`` of a text that is known to be sound but for NaN and its like."""
    node = Node(start, start if at is None else at, key)
    if text[start] in "{[":
        _container(text, node)
        return node
    try:
        node.value, node.end = _SCALARS.raw_decode(text, start)
    except ValueError as error:
        raise Broken(f"{error} is no JSON", line(text, start)) from None
    return node


def _container(text: str, node: Node) -> None:
    named = text[node.start] == "{"
    at = _skip(text, node.start + 1)
    while text[at] not in "}]":
        key, begins = "", at
        if named:
            key, at = _SCALARS.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        child = _value(text, at, begins, key)
        node.children.append(child)
        at = _skip(text, child.end)
        at = _skip(text, at + 1) if text[at] == "," else at
    node.end = at + 1
    node.value = {one.key: one.value for one in node.children} if named else [one.value for one in node.children]
