"""Claude Code: its settings files, and the hooks that the installed version knows."""

from __future__ import annotations

import os

from ..errors import Refused
from .command import command_line, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SCOPES = ("local", "project", "user")  # in the order in which Claude Code reads them; the first is where install writes when nothing is said
EMPTY = "{}\n"
OLDEST = (2, 1, 83)  # brought FileChanged; an event that it does not know loses every hook of the file
EXEC_FORM = (2, 1, 139)  # brought `args`; before, they are ignored, and the bare interpreter would run what the event says
BATCH = (2, 1, 197)  # known to fire PostToolBatch; from here on an unknown event costs only itself
SECONDS, END_SECONDS, WAITER_SECONDS = 10, 5, 604_800
WAITER = "waiter"  # what its entries say in place of the client
EDITS_AND_SHELL = "Edit|MultiEdit|Write|NotebookEdit|Bash"
PLUGIN = "redischat@"


def target(project: str, home: str, scope: str, env: Mapping[str, str]) -> str:
    """The settings file of a scope."""
    if scope == "user":
        return os.path.join(env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "settings.json")
    return os.path.join(project, ".claude", "settings.local.json" if scope == "local" else "settings.json")


def wanted(python: str, tick: str, version: str | None) -> dict[str, dict[str, Any]]:
    """The matcher group of each event that ``version`` (what ``claude --version`` prints) knows. Without it, what every version since 2.1.83 knows.

    Raises:
        Refused: the version is too old.
    """
    number = numbered(version)
    if number and number < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise Refused(message=f"Claude Code {version} is too old: hooks that wake a session need {oldest} and newer. Update it: claude update", version=version)
    known = number or OLDEST
    after = ("PostToolBatch",) if known >= BATCH else ("PostToolUse", "PostToolUseFailure")
    groups = {name: _group(python, tick, known) for name in ("SessionStart", "UserPromptSubmit", "PreToolUse", *after, "Stop", "SessionEnd", "FileChanged")}
    groups["PreToolUse"] = {"matcher": EDITS_AND_SHELL, **groups["PreToolUse"]}
    groups["SessionEnd"]["hooks"][0]["timeout"] = END_SECONDS
    groups["FileChanged"]["hooks"][0]["asyncRewake"] = True
    return groups


def waiters(python: str, tick: str, version: str | None) -> dict[str, dict[str, Any]]:
    """The groups of ``setup --wake waiter``: at the start of a session and at the end of each turn one that blocks until the session is to be woken."""
    known = numbered(version) or OLDEST
    group = _group(python, tick, known, WAITER)
    group["hooks"][0] |= {"timeout": WAITER_SECONDS, "asyncRewake": True}
    return {name: {"hooks": [dict(group["hooks"][0])]} for name in ("SessionStart", "Stop")}


def doubts(version: str | None) -> list[str]:
    """What to say of a version that is not known."""
    return [] if numbered(version) else ["the version of Claude Code is not known: only what 2.1.83 knows is registered. Once claude is on PATH, install again"]


def numbered(version: str | None) -> tuple[int, ...] | None:
    """``2.1.332 (Claude Code)`` as numbers; None when it is no version."""
    parts = (version or "").split()[:1]
    try:
        return tuple(int(part) for part in parts[0].partition("-")[0].split(".")) if parts else None
    except ValueError:
        return None


def off(settings: Mapping[str, Any]) -> list[str]:
    """The switches of a settings file that silence hooks."""
    return [name for name in ("disableAllHooks", "allowManagedHooksOnly") if settings.get(name) is True]


def plugin(settings: Mapping[str, Any]) -> bool | None:
    """Whether a settings file enables our plugin; None when it does not say."""
    enabled = settings.get("enabledPlugins")
    said = [on for name, on in enabled.items() if name.startswith(PLUGIN)] if isinstance(enabled, dict) else []
    return any(on is not False for on in said) if said else None


def _group(python: str, tick: str, known: tuple[int, ...], what: str = "claude") -> dict[str, Any]:
    if known < EXEC_FORM:
        handler: dict[str, Any] = {"type": "command", "command": command_line(python, tick, what)}
    else:
        command, *args = words(python, tick, what)
        handler = {"type": "command", "command": command, "args": args}
    return {"hooks": [{**handler, "timeout": SECONDS}]}
