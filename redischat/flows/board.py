"""A board as a whole: why nothing can be started, what waits for what as a tree and as a drawing."""

from __future__ import annotations

from ..calls.tasks import OVER
from ..text import few

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NAMED = 3  # tasks in a sentence; then a count
_SHAPES = {"open": ("[", "]"), "in_progress": ("([", "])"), "blocked": ("{{", "}}"), "done": ("[[", "]]"), "cancelled": ("[/", "/]")}


class Wanted:
    """Which tasks of a board: only ``ready``, ``stale``, of one ``status``, or of ``me`` ("": whoever's)."""

    __slots__ = ("me", "ready", "stale", "status")

    def __init__(self, me: str = "", *, ready: bool = False, stale: bool = False, status: str | None = None) -> None:
        self.me, self.ready, self.stale, self.status = me, ready, stale, status

    def has(self, one: dict[str, Any]) -> bool:
        """Is it one of them?"""
        mine = not self.me or (one["owner"] or "").lower() == self.me
        return mine and (one["ready"] or not self.ready) and (one["stale"] or not self.stale) and self.status in {None, one["status"]}


def why(found: list[dict[str, Any]], me: str) -> str:
    """Why nothing can be started, in a few words that name what would help."""
    left = [one for one in found if one["status"] not in OVER]
    if not left:
        return "every task is over" if found else "the board is empty"
    said = []
    running = [one for one in left if one["status"] == "in_progress"]
    if running:
        said.append(f"{len(running)} in progress ({few([one['id'] + ' by ' + (one['owner'] or 'nobody') for one in running], NAMED)})")
    said += _reasons(left, me)
    return "; ".join(said)


def _reasons(left: list[dict[str, Any]], me: str) -> list[str]:
    waits: dict[tuple[str, str], int] = {}
    for one in left:
        for other in one["waits_for"] if one["status"] in ("open", "blocked") else ():
            waits[other["status"], other["id"]] = waits.get((other["status"], other["id"]), 0) + 1
    order = sorted(waits, key=lambda pair: (pair[0] != "cancelled", -waits[pair]))
    said = [f"{waits[status, task]} blocked by {status.replace('_', ' ')} {task}" for status, task in order[:NAMED]]
    if len(order) > NAMED:
        said.append(f"and more that wait for {len(order) - NAMED} other tasks")
    stopped = [one["id"] for one in left if one["status"] == "blocked"]
    if stopped:
        said.append(f"{len(stopped)} marked blocked ({few(stopped, NAMED)})")
    others = [f"{one['id']} for {one['owner']}" for one in left if one["ready"] and one["owner"] and one["owner"].lower() != me]
    if others:
        said.append(f"{len(others)} meant for others ({few(others, NAMED)})")
    return said


def tree(found: list[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each task with its depth: below the first one that it depends on, once."""
    by_id = {one["id"]: one for one in found}
    below: dict[str, list[dict[str, Any]]] = {}
    for one in found:
        known = [name for name in one["depends_on"] if name in by_id]
        below.setdefault(known[0] if known else "", []).append(one)
    seen: set[str] = set()
    todo = [(0, one) for one in reversed(below.get("", []))]
    while todo:
        depth, one = todo.pop()
        if one["id"] not in seen:
            seen.add(one["id"])
            yield depth, one
            todo += [(depth + 1, other) for other in reversed(below.get(one["id"], []))]
    yield from ((0, one) for one in found if one["id"] not in seen)  # a circle, in a board that somebody damaged


def mermaid(found: list[dict[str, Any]]) -> str:
    """A Mermaid flowchart: an arrow from each task to what waits for it. Titles are quoted, so that none can draw."""
    names = {one["id"]: f"t{number}" for number, one in enumerate(found)}
    lines = ["flowchart TD"]
    for one in found:
        left, right = _SHAPES[one["status"]]
        lines.append(f'    {names[one["id"]]}{left}"{_quoted(one["id"] + ": " + one["title"])}"{right}:::{one["status"]}')
    lines += [f"    {names[other]} --> {names[one['id']]}" for one in found for other in one["depends_on"] if other in names]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "".join(char if char.isalnum() or char in " -_.,:;()/" else f"#{ord(char)};" for char in " ".join(text.split()))
