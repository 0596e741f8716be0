"""Claude Code: its hook events (2.1.83 and later), its answers, and how an idle session of it is rung."""

from __future__ import annotations

import os

from ..hook.shell import patched
from .event import Answer, Event, Written, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "claude"
WAY = "file"  # SessionStart names a file to watch; FileChanged with asyncRewake wakes
SHELL = ("Bash",)
STOP_CONTEXT = (2, 1, 163)  # the first that reads context at the end of a turn: an older one drops it without a word
SHELL_KNOWS = True  # its shell commands learn which session they are of: CLAUDE_CODE_SESSION_ID
_ROLES = {
    "SessionStart": "start", "UserPromptSubmit": "prompt", "PreToolUse": "before", "PostToolUse": "after", "PostToolUseFailure": "after",
    "PostToolBatch": "after", "Stop": "stop", "FileChanged": "changed", "SessionEnd": "end",
}  # fmt: skip
_FILES = {"Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookEdit": "notebook_path", "apply_patch": ""}


def read(found: dict[str, Any]) -> Event:
    """An event of Claude Code, or of a product that speaks like it (Codex: edits are patches)."""
    name, tool = text(found, "hook_event_name"), text(found, "tool_name")
    command = text(found, "tool_input", "command")
    paths = patched(command) if tool == "apply_patch" else [path for key in [_FILES.get(tool, "")] if key and (path := text(found, "tool_input", key))]
    return Event(
        name, _ROLES.get(name, ""), text(found, "session_id"), cwd=text(found, "cwd"), project=os.environ.get("CLAUDE_PROJECT_DIR", ""),
        child=bool(found.get("agent_id")), detail=text(found, "source") or text(found, "reason"), prompt=text(found, "prompt"), tool=tool, paths=paths,
        command=command if tool in SHELL else "",
    )  # fmt: skip


def write(event: Event, answer: Answer) -> Written:
    """An answer as Claude Code reads it."""
    if answer.wake:
        return Written(err=answer.wake, code=2)
    stop = answer.block or (answer.context if event.role == "stop" and _version() < STOP_CONTEXT else "")
    if stop:
        return Written({"decision": "block", "reason": stop})
    own: dict[str, Any] = {"hookEventName": event.name}
    if answer.deny:
        own |= {"permissionDecision": "deny", "permissionDecisionReason": answer.deny}
    if answer.context:
        own["additionalContext"] = answer.context
    if answer.watch:
        own["watchPaths"] = list(answer.watch)
    return Written({"hookSpecificOutput": own} if len(own) > 1 else None)


def _version() -> tuple[int, ...]:
    """The version that this hook runs in, as AI_AGENT says it (``claude-code_2-1-332_harness``); () where it does not: an old one (2.1.83)."""
    words = os.environ.get("AI_AGENT", "").split("_")
    parts = words[1].split("-") if words[0] == "claude-code" and len(words) > 1 else []
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()
