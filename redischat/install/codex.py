"""Codex: its hooks files, our hooks, and whether the user has approved of them. The approval itself is never written here."""

from __future__ import annotations

import os

from ..errors import ChatError
from ..settings import told
from . import entries, jsontext, merge
from .command import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SCOPES = ("user", "project")  # a project's file counts only once Codex trusts the project
EMPTY = "{}\n"
SECONDS, END_SECONDS = 10, 3  # Codex clamps the end of a session to 3
SHELL_AND_PATCHES = "Bash|apply_patch"
EVENTS = {
    "SessionStart": "session_start", "UserPromptSubmit": "user_prompt_submit", "PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use",
    "Stop": "stop", "SessionEnd": "session_end",
}  # fmt: skip
APPROVE = "approve of the hooks once: open codex, and answer its question about hooks that need review. Until then Codex skips them without a word"


def home_of(home: str, env: Mapping[str, str]) -> str:
    """Codex's own folder."""
    return env.get("CODEX_HOME") or os.path.join(home, ".codex")


def target(project: str, home: str, scope: str, env: Mapping[str, str]) -> str:
    """The hooks file of a scope."""
    return os.path.join(home_of(home, env) if scope == "user" else os.path.join(project, ".codex"), "hooks.json")


def wanted(python: str, tick: str, version: str | None) -> dict[str, dict[str, Any]]:  # noqa: ARG001 - an event that Codex does not know is harmless
    """The matcher group of each event. One line as the command: Codex knows no ``args``. It must stay the same: each change needs a new approval."""
    groups: dict[str, dict[str, Any]] = {
        name: {"hooks": [{"type": "command", "command": command_line(python, tick, "codex"), "timeout": SECONDS}]} for name in EVENTS
    }
    groups["PreToolUse"] = {"matcher": SHELL_AND_PATCHES, **groups["PreToolUse"]}
    groups["SessionEnd"]["hooks"][0]["timeout"] = END_SECONDS
    return groups


def doubts(version: str | None) -> list[str]:  # noqa: ARG001 - as above
    """Codex needs nothing of its version."""
    return []


def off(settings: Mapping[str, Any]) -> list[str]:  # noqa: ARG001 - its switch is in another file: see trust
    """The switches of a hooks file that silence hooks: there are none."""
    return []


def plugin(settings: Mapping[str, Any]) -> bool | None:  # noqa: ARG001 - as above
    """Whether a hooks file enables a plugin of ours: it cannot."""
    return None


def trust(codex_home: str, path: str) -> str:
    """Whether Codex will run our hooks in the hooks file ``path``: "absent" (there are none), "untrusted", or "trusted".

    "trusted": ``config.toml`` holds an approval for the place of each of them, and none of them is switched off there. Whether it is for the command as it is
    now only Codex can say: its digest differs between its versions.
    """
    mine = _ours(path)
    if not mine:
        return "absent"
    state = _states(codex_home)
    real = os.path.realpath(path)
    approved = {(file, rest) for key, held in state.items() if _approves(held) for file, rest in [_split(key)] if os.path.realpath(file) == real}
    wanted_keys = {f"{EVENTS[one.event]}:{one.group}:{one.place}" for one in mine if one.event in EVENTS}
    return "trusted" if wanted_keys <= {rest for _, rest in approved} else "untrusted"


def moved(path: str) -> list[str]:
    """What to say before our entries are taken out of ``path``: others behind them lose their approval, which goes by position."""
    try:
        root = jsontext.parse((merge.read(merge.resolved(path)) or b"{}").decode("utf-8-sig"))
    except (ChatError, ValueError):
        return []
    hooks = root.child("hooks")
    last = {one.event: one.group for one in entries.found(root, "codex")}
    behind = [one.key for one in hooks.children if one.key in last and len(one.children) > last[one.key] + 1] if hooks else []
    return [f"Codex will ask for a new approval of the other hooks on {', '.join(behind)}: they move up in {told(path)}"] if behind else []


def _ours(path: str) -> list[entries.Found]:
    try:
        return entries.found(jsontext.parse((merge.read(merge.resolved(path)) or b"{}").decode("utf-8-sig")), "codex")
    except (ChatError, ValueError):
        return []


def _states(codex_home: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(os.path.join(codex_home, "config.toml"), "rb") as file:
            config = tomllib.load(file)
    except (OSError, ValueError):
        return {}
    features, hooks = config.get("features"), config.get("hooks")
    if isinstance(features, dict) and features.get("hooks") is False:
        return {}
    state = hooks.get("state") if isinstance(hooks, dict) else None
    return state if isinstance(state, dict) else {}


def _approves(held: Any) -> bool:
    return isinstance(held, dict) and bool(held.get("trusted_hash")) and held.get("enabled") is not False


def _split(key: str) -> tuple[str, str]:
    """``<file>:<event>:<group>:<handler>`` in two."""
    file, *rest = key.rsplit(":", 3)
    return file, ":".join(rest)
