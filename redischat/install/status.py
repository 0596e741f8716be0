"""What is there of ours in a client's settings, each claim on its own: for doctor, which never concludes one from another."""

from __future__ import annotations

import os

from ..errors import ChatError
from ..settings import told
from . import claude, codex, entries, gemini, jsontext, merge, opencode, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .jsontext import Node

CLIENTS = {"claude": claude, "codex": codex, "gemini": gemini}


class Status:
    """What one file registers.

    ``exists``; ``error``: why it could not be read, else "" (then the rest is not known). ``wanted``: the events that this build registers; ``registered``:
    those with an entry of ours; ``missing``: wanted, and none; ``strays``: registered, and not wanted; ``drifted``: this script, registered otherwise than this
    build does; ``doubled``: more than one entry. ``builds``: other scripts of ours that it runs. ``gone``: interpreters and scripts that are no longer there.
    ``off``: switches that silence hooks. ``elsewhere``: file of another scope -> the events that it registers too. ``plugin``: whether ours is enabled, None:
    cannot tell. ``stamp``: what is remembered of the install (:func:`.record.stamp`); ``stale``: whether the scripts have changed since, None: not known.
    ``trust``: Codex's approval, "" for others. ``waiters``: the events that have one of `setup --wake waiter`.
    """

    __slots__ = (
        "builds", "client", "doubled", "drifted", "elsewhere", "error", "exists", "gone", "missing", "off", "path", "plugin", "registered", "stale", "stamp",
        "strays", "trust", "waiters", "wanted",
    )  # fmt: skip

    def __init__(self, client: str, path: str) -> None:
        self.client, self.path, self.exists, self.error = client, path, False, ""
        self.wanted: list[str] = []
        self.registered: list[str] = []
        self.missing: list[str] = []
        self.strays: list[str] = []
        self.drifted: list[str] = []
        self.doubled: list[str] = []
        self.builds: list[str] = []
        self.gone: list[str] = []
        self.off: list[str] = []
        self.elsewhere: dict[str, list[str]] = {}
        self.plugin: bool | None = False
        self.stamp: dict[str, str] | None = None
        self.stale: bool | None = None
        self.trust = ""
        self.waiters: list[str] = []

    @property
    def complete(self) -> bool:
        """Whether every wanted event is registered with this build's entry, and nothing is known that keeps it from running."""
        wrong = (self.error, self.missing, self.strays, self.drifted, self.doubled, self.builds, self.gone, self.off)
        return not any(wrong) and self.trust in ("", "trusted")


def installed(
    client: str,
    path: str,
    python: str,
    tick: str,
    *,
    state_dir: str,
    version: str | None = None,
    elsewhere: Sequence[str] = (),
    codex_home: str = "",
    text: str = "",
    waiter: bool = False,
) -> Status:
    """What ``path`` registers, held against what install would write for ``python``, ``tick`` and ``version``. Reads only; refuses nothing.

    ``codex_home``: where Codex keeps its approvals; needed where ``path`` is a project's, else the folder of ``path``.
    """
    status = Status(client, path)
    try:
        real = merge.resolved(path)
        status.exists = merge.read(real) is not None
        status.stamp = record.stamp(state_dir, real)
        now = record.fingerprint(status.stamp["tick"]) if status.stamp else ""
        status.stale = status.stamp["scripts"] != now if status.stamp and now else None
        if client == "opencode":
            _plugin(status, opencode.rendered(text, python, tick) if text else "")
        else:
            _hooks(status, CLIENTS[client].wanted(python, tick, version), tick)
        if client == "claude":
            _waiters(status, claude.waiters(python, tick, version) if waiter else {}, tick)
    except (ChatError, ValueError) as error:
        status.error = str(error)
    status.elsewhere = {one: events for one in elsewhere if (events := _events(client, one))}
    enabled, doubts = plugin_enabled(client, [path, *elsewhere])
    status.plugin = True if enabled else None if doubts else False
    if client == "codex":
        status.trust = codex.trust(codex_home or os.path.dirname(path), path)
    return status


def plugin_enabled(client: str, paths: Sequence[str]) -> tuple[str, list[str]]:
    """The file that enables our plugin, "" if none does: the first that says anything counts; and a sentence for each that could not be read."""
    doubts = []
    for path in paths if client == "claude" else ():
        try:
            said = claude.plugin(_parsed(path).value)
        except (ChatError, ValueError, AttributeError) as error:
            doubts.append(f"cannot tell whether the redischat plugin is enabled in {told(path)}: {error}")
            continue
        if said is not None:
            return path if said else "", doubts
    return "", doubts


def entries_in(client: str, path: str) -> list[entries.Found]:
    """Our entries in a file; none when it cannot be read."""
    try:
        return entries.found(_parsed(path), client)
    except (ChatError, ValueError):
        return []


def _hooks(status: Status, wanted: entries.Groups, tick: str) -> None:
    root = _parsed(status.path)
    mine = entries.found(root, status.client)
    events = [one.event for one in mine]
    settings: Any = root.value
    status.wanted, status.registered = list(wanted), list(dict.fromkeys(events))
    status.missing = [name for name in wanted if name not in events]
    status.strays = [name for name in status.registered if name not in wanted]
    status.doubled = sorted({name for name in events if events.count(name) > 1})
    same = [one for one in mine if _same(one.tick, tick)]
    status.drifted = [one.event for one in same if one.event in wanted and one.shape != wanted[one.event]]
    status.builds = sorted({one.tick for one in mine} - {one.tick for one in same})
    status.gone = sorted({path for one in mine for path in (one.runs, one.tick) if not os.path.exists(path)})
    status.off = CLIENTS[status.client].off(settings) if isinstance(settings, dict) else []


def _waiters(status: Status, wanted: entries.Groups, tick: str) -> None:
    """The same of the entries of `setup --wake waiter`; where nothing else of ours is there, their absence is no news."""
    mine = entries.found(_parsed(status.path), claude.WAITER)
    events = [one.event for one in mine]
    status.waiters = sorted(set(events))
    if not status.registered:
        return
    status.missing += [f"{name} (waiter)" for name in wanted if name not in events]
    status.strays += [f"{name} (waiter)" for name in dict.fromkeys(events) if name not in wanted]
    status.drifted += [f"{one.event} (waiter)" for one in mine if one.event in wanted and one.shape != wanted[one.event]]
    status.doubled += sorted({f"{name} (waiter)" for name in events if events.count(name) > 1})
    status.builds = sorted({*status.builds, *(one.tick for one in mine if not _same(one.tick, tick))})


def _plugin(status: Status, text: str) -> None:
    held = (merge.read(merge.resolved(status.path)) or b"").decode("utf-8")
    status.wanted = ["plugin"]
    status.registered = ["plugin"] if opencode.ours(held) else []
    status.missing = [] if status.registered else ["plugin"]
    status.drifted = ["plugin"] if status.registered and text and held != text else []


def _events(client: str, path: str) -> list[str]:
    """The events that a file registers; none when it cannot be read."""
    try:
        if client == "opencode":
            return ["plugin"] if opencode.ours((merge.read(path) or b"").decode("utf-8")) else []
    except (ChatError, ValueError):
        return []
    return list(dict.fromkeys(one.event for one in entries_in(client, path)))


def _parsed(path: str) -> Node:
    """A settings file's value; that of an empty one where there is none."""
    text = (merge.read(merge.resolved(path)) or b"").decode("utf-8-sig")
    return jsontext.parse(text if text.strip() else "{}")


def _same(one: str, other: str) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)
