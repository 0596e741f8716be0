"""A Script: its Lua text, its sha, and the names of the keys and arguments it is called with.

The first code lines of a script are its signature: ``local stream, meta = unpack(KEYS)`` and ``local agent, body = unpack(ARGV)``. A line
``-- then KEYS:`` or ``-- then ARGV:`` says that more may follow. ``-- with: a, b`` puts scripts/parts/a.lua and b.lua before it, after the prelude.
``-- reads only`` means that it may also run as EVALSHA_RO, for a user who may only look.
"""

from __future__ import annotations

import os
from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib costs 3 ms

from .files import folder

_loaded: dict[str, Script] = {}


class Script:
    """One atomic step. Make them with :func:`script`."""

    __slots__ = ("args", "keys", "more_args", "more_keys", "name", "reads", "sha", "text")

    def __init__(self, name: str, own: str, before: str) -> None:
        self.name = name
        self.keys, self.more_keys = _signature(own, "KEYS")
        self.args, self.more_args = _signature(own, "ARGV")
        self.text = before + own.replace(" = unpack(KEYS)\n", f" = unpack(KEYS, 1, {len(self.keys)})\n", 1)  # Lua unpacks 8,000 at most
        self.reads = "\n-- reads only\n" in own
        self.sha = sha1(self.text.encode()).hexdigest()


def script(name: str) -> Script:
    """The script ``scripts/<name>.lua``, read once."""
    found = _loaded.get(name)
    if found is None:
        own = _read(name)
        parts = [_read("parts/" + part) for part in _with(own)]
        found = _loaded[name] = Script(name, own, "".join([_read("prelude"), *parts]))
    return found


def _read(name: str) -> str:
    with open(os.path.join(folder("scripts"), name + ".lua"), encoding="utf-8") as file:
        return file.read()


def _with(text: str) -> list[str]:
    for row in text.splitlines():
        if row.startswith("-- with: "):
            return row[9:].split(", ")
        if not row.startswith("--"):
            break
    return []


def _signature(text: str, table: str) -> tuple[tuple[str, ...], bool]:
    tail = f" = unpack({table})"
    names: tuple[str, ...] = ()
    for row in text.splitlines():
        if row.startswith("local ") and row.endswith(tail):
            names = tuple(row[6 : -len(tail)].split(", "))
            break
    return names, f"-- then {table}: " in text
