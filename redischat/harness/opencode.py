"""OpenCode: our plugin (hooks/opencode.js) speaks for it in events named as Claude Code's, and reads an answer of plain keys."""

from __future__ import annotations

from ..hook.shell import patched
from .event import Answer, Event, Written, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "opencode"
SHELL_KNOWS = False
WAY = "http"  # POST /session/ID/prompt_async where it listens; else the plugin watches a file, as Claude Code does
_ROLES = {
    "SessionStart": "start", "UserPromptSubmit": "prompt", "PreToolUse": "before", "PostToolUse": "after", "Stop": "stop", "FileChanged": "changed",
    "SessionEnd": "end",
}  # fmt: skip
_FILES = ("edit", "write", "multiedit")
_PATCHES = {"patch": "patchText", "apply_patch": "patchText"}


def read(found: dict[str, Any]) -> Event:
    """An event of the plugin."""
    name, tool = text(found, "hook_event_name"), text(found, "tool_name")
    path = text(found, "tool_input", "filePath") if tool in _FILES else ""
    patch = text(found, "tool_input", _PATCHES[tool]) if tool in _PATCHES else ""
    return Event(
        name, _ROLES.get(name, ""), text(found, "session_id"), cwd=text(found, "cwd"), project=text(found, "project"), child=bool(found.get("agent_id")),
        detail=text(found, "source") or text(found, "reason"), prompt=text(found, "prompt"), tool=tool, paths=[path] if path else patched(patch) if patch else [],
        command=text(found, "tool_input", "command") if tool == "bash" else "", server=text(found, "server"),
    )  # fmt: skip


def write(event: Event, answer: Answer) -> Written:  # noqa: ARG001 - the plugin knows what it asked
    """An answer as the plugin reads it: ``context``, ``deny``, ``wake`` texts and ``watch``, a file."""
    said = {"context": answer.block or answer.context, "deny": answer.deny, "wake": answer.wake, "watch": answer.watch[0] if answer.watch else ""}
    given = {key: value for key, value in said.items() if value}
    return Written(given or None)
