"""Codex: it speaks like Claude Code, edits by patches, and throws a whole answer away where it does not know a field of it."""

from __future__ import annotations

from . import claude
from .event import Answer, Event, Written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "codex"
WAY = "queue"  # codex queue --thread
SHELL_KNOWS = False


def read(found: dict[str, Any]) -> Event:
    """An event of Codex."""
    return claude.read(found)


def write(event: Event, answer: Answer) -> Written:
    """An answer as Codex reads it: nothing that it might not know."""
    context = answer.context
    if answer.block or (event.role == "stop" and context):
        return Written({"decision": "block", "reason": answer.block or context})
    if answer.deny:
        return Written({"hookSpecificOutput": {"hookEventName": event.name, "permissionDecision": "deny", "permissionDecisionReason": answer.deny}})
    return Written({"hookSpecificOutput": {"hookEventName": event.name, "additionalContext": context}} if context else None)
