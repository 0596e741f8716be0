"""Our entries among the hooks of a settings text: which are ours, what is wanted, and the text with them put right. Foreign entries keep every byte."""

from __future__ import annotations

from itertools import pairwise

from . import jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from .jsontext import Edit, Node

    Groups = Mapping[str, dict[str, Any]]

SCRIPT = "hooks/tick.py"


class Unfit(ValueError):
    """The JSON is sound and no place for hooks: ``why``, and the ``line``."""

    def __init__(self, why: str, line: int) -> None:
        self.why, self.line = why, line
        super().__init__(f"line {line}: {why}")


class Found:
    """One handler of ours: its ``event``, the numbers of its ``group`` and of its ``place`` in it; ``tick`` is the script it runs, ``runs`` the interpreter.

    ``whole``: its group holds no other handler. ``shape`` is that group's value.
    """

    __slots__ = ("event", "group", "place", "runs", "shape", "tick", "whole")

    def __init__(self, event: str, group: int, place: int, shape: Any, words: tuple[str, str]) -> None:
        self.event, self.group, self.place, self.shape = event, group, place, shape
        self.runs, self.tick = words
        self.whole = len(shape["hooks"]) == 1


def ours(handler: Any, client: str) -> tuple[str, str] | None:
    """Interpreter and script of a handler that runs ``.../hooks/tick.py <client>``, of any version, from anywhere; None for others."""
    if not isinstance(handler, dict) or not isinstance(handler.get("command"), str):
        return None
    args, command = handler.get("args"), handler["command"]
    if isinstance(args, list):
        return _named([command, *args], client)
    return _named(_words(command), client) or _named(_words(command.replace("\\", "/")), client)


def found(root: Node, client: str) -> list[Found]:
    """Our handlers, in the order of the text."""
    hooks = root.child("hooks")
    lists = [one for one in hooks.children if isinstance(one.value, list)] if hooks and isinstance(hooks.value, dict) else []
    return [
        Found(event.key, number, place, group, words)
        for event in lists
        for number, group in enumerate(event.value)
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for place, handler in enumerate(group["hooks"])
        if (words := ours(handler, client))
    ]


def empties(root: Node) -> list[str]:
    """The places of ours that are there and empty: "hooks", or names of events. They stay when our entries go."""
    hooks = root.child("hooks")
    if hooks is None or not isinstance(hooks.value, dict):
        return []
    return ["hooks"] if not hooks.children else [one.key for one in hooks.children if one.value == []]


def merged(text: str, client: str, wanted: Groups, kept: Collection[str] = ()) -> tuple[str, list[str]]:
    """The text with exactly the ``wanted`` groups of ours, one an event, and a sentence for each change.

    An entry that is right stays where it is; one that is not is replaced in place (Codex's approval goes by position); what is left over goes, and with it
    what it leaves empty but for the places ``kept``. ``wanted`` empty: all of ours go.

    Raises:
        jsontext.Broken: the text is no JSON.
        Unfit: it has no room for hooks.
    """
    root = jsontext.parse(text)
    if wanted:
        _fits(text, root, wanted)
    elif not isinstance(root.value, dict):
        return text, []
    changes: list[str] = []
    text = _cleared(text, root, client, wanted, kept, changes)
    return _added(text, client, wanted, changes), changes


def _fits(text: str, root: Node, wanted: Groups) -> None:
    if not isinstance(root.value, dict):
        raise Unfit("the settings are no object", jsontext.line(text, root.start))
    hooks = root.child("hooks")
    if hooks is None:
        return
    if not isinstance(hooks.value, dict):
        raise Unfit('"hooks" is no object', jsontext.line(text, hooks.start))
    events = [one for one in hooks.children if one.key in wanted]
    for one in events:
        if not isinstance(one.value, list):
            raise Unfit(f'"hooks" has a "{one.key}" that is no list', jsontext.line(text, one.start))
    twice = hooks if root.twice("hooks") else next((hooks.child(one.key) for one in events if hooks.twice(one.key)), None)
    if twice:
        raise Unfit(f'"{twice.key}" is there twice', jsontext.line(text, twice.start))


def _cleared(text: str, root: Node, client: str, wanted: Groups, kept: Collection[str], changes: list[str]) -> str:
    """Ours that are wrong replaced or gone."""
    hooks = root.child("hooks")
    mine = found(root, client)
    if hooks is None or not mine:
        return text
    edits: list[Edit] = []
    empty: set[int] = set()
    for number, event in enumerate(hooks.children):
        here = [one for one in mine if one.event == event.key]
        if not here or not isinstance(event.value, list):
            continue
        stays = _settled(text, root, event, here, wanted.get(event.key), edits, changes)
        gone = [one for one in here if one is not stays]
        whole = _whole_groups(event, gone)
        if len(whole) == len(event.children) and event.key not in wanted and event.key not in kept:
            empty.add(number)
        else:
            edits += _taken(event, gone, whole)
    if len(empty) == len(hooks.children) and not wanted and "hooks" not in kept:
        return jsontext.edited(text, jsontext.shrunk(root, {root.children.index(hooks)}))
    return jsontext.edited(text, [*edits, *jsontext.shrunk(hooks, empty)] if empty else edits)


def _settled(text: str, root: Node, event: Node, here: list[Found], group: Any, edits: list[Edit], changes: list[str]) -> Found | None:
    """The one entry of an event that stays, put right where it stands; None when none can."""
    name = event.key
    if group is None:
        changes.append(f"remove our entry from {name}")
        return None
    whole = [one for one in here if one.whole]
    stays = next((one for one in whole if one.shape == group), next(iter(whole), None))
    if stays is None or stays.shape != group:
        changes.append(f"update {name}{_told(here, group)}")
    elif len(here) > 1:
        changes.append(f"remove a second entry of ours from {name}")
    if stays and stays.shape != group:
        edits.append(jsontext.replaced(text, root, event.children[stays.group], group))
    return stays


def _told(here: list[Found], group: Any) -> str:
    """Which other build an entry is of, if it is of another."""
    handler = group["hooks"][0]
    words = handler.get("args") or _words(handler["command"])
    old = sorted({one.tick for one in here}.difference(words))
    return f" (it ran {', '.join(old)})" if old else ""


def _whole_groups(event: Node, gone: list[Found]) -> set[int]:
    """The groups that hold nothing but handlers which go."""
    counts: dict[int, int] = {}
    for one in gone:
        counts[one.group] = counts.get(one.group, 0) + 1
    return {number for number, count in counts.items() if count == len(event.value[number]["hooks"])}


def _taken(event: Node, gone: list[Found], whole: set[int]) -> Iterator[Edit]:
    """The edits that take handlers out of their groups, and groups out of their event."""
    if whole:
        yield from jsontext.shrunk(event, whole)
    for number in {one.group for one in gone} - whole:
        handlers = event.children[number].child("hooks")
        if handlers:
            yield from jsontext.shrunk(handlers, {one.place for one in gone if one.group == number})


def _added(text: str, client: str, wanted: Groups, changes: list[str]) -> str:
    """What is wanted and not there, at the end of its event."""
    root = jsontext.parse(text)
    there = {one.event for one in found(root, client) if one.whole}
    missing = [name for name in wanted if name not in there]
    updated = {one.split()[1] for one in changes if one.startswith("update ")}
    changes += [f"add {name}" for name in missing if name not in updated]
    if missing and root.child("hooks") is None:
        return jsontext.edited(text, [jsontext.grown(text, root, root, {name: [wanted[name]] for name in missing}, "hooks")])
    for name in missing:
        root = jsontext.parse(text)
        hooks = root.child("hooks")
        if hooks is not None:
            event = hooks.child(name)
            edit = jsontext.grown(text, root, event, wanted[name]) if event else jsontext.grown(text, root, hooks, [wanted[name]], name)
            text = jsontext.edited(text, [edit])
    return text


def _named(words: list[Any], client: str) -> tuple[str, str] | None:
    """The first word, and the script that ``client`` follows."""
    for script, name in pairwise(words):
        if name == client and isinstance(script, str) and ("/" + script.replace("\\", "/")).endswith("/" + SCRIPT):
            return str(words[0]), script
    return None


def _words(command: str) -> list[str]:
    """A shell command's words; none when its quotes do not close."""
    from shlex import shlex

    reader = shlex(command, posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        return list(reader)
    except ValueError:
        return []
