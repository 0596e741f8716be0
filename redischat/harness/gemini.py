"""Gemini CLI: other names of events, its own words for no; nothing wakes an idle session of it."""

from __future__ import annotations

import os

from .event import Answer, Event, Written, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "gemini"
WAY = "none"
SHELL_KNOWS = True  # GEMINI_SESSION_ID
_ROLES = {"SessionStart": "start", "BeforeAgent": "prompt", "BeforeTool": "before", "AfterTool": "after", "AfterAgent": "stop", "SessionEnd": "end"}
_FILES = ("replace", "write_file")


def read(found: dict[str, Any]) -> Event:
    """An event of Gemini CLI."""
    name, tool = text(found, "hook_event_name"), text(found, "tool_name")
    path = text(found, "tool_input", "file_path")
    return Event(
        name, _ROLES.get(name, ""), text(found, "session_id"), cwd=text(found, "cwd"), project=os.environ.get("GEMINI_PROJECT_DIR", ""),
        detail=text(found, "source") or text(found, "reason"), prompt=text(found, "prompt"), tool=tool, paths=[path] if path and tool in _FILES else [],
        command=text(found, "tool_input", "command") if tool == "run_shell_command" else "",
    )  # fmt: skip


def write(event: Event, answer: Answer) -> Written:
    """An answer as Gemini CLI reads it. At the end of a turn a denial is another turn, with the reason."""
    if answer.deny:
        return Written({"decision": "deny", "reason": answer.deny})
    if answer.block or (event.role == "stop" and answer.context):
        return Written({"decision": "deny", "reason": answer.block or answer.context})
    return Written({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": answer.context}} if answer.context else None)
