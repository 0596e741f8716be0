"""Gemini CLI: its settings files and our hooks. Its time limits are in milliseconds."""

from __future__ import annotations

import os

from .command import command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SCOPES = ("user", "project")  # a project's file is usually committed, and must hold no path of one machine
EMPTY = "{}\n"
MILLISECONDS, END_MILLISECONDS = 10_000, 5_000
EDITS_AND_SHELL = "replace|write_file|run_shell_command"
NAME = "redischat"


def target(project: str, home: str, scope: str, env: Mapping[str, str]) -> str:
    """The settings file of a scope."""
    return os.path.join((env.get("GEMINI_CLI_HOME") or home) if scope == "user" else project, ".gemini", "settings.json")


def wanted(python: str, tick: str, version: str | None) -> dict[str, dict[str, Any]]:  # noqa: ARG001 - an event that Gemini does not know is harmless
    """The matcher group of each event."""
    groups: dict[str, dict[str, Any]] = {
        name: {"hooks": [{"name": NAME, "type": "command", "command": command_line(python, tick, "gemini"), "timeout": MILLISECONDS}]}
        for name in ("SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd")
    }
    groups["BeforeTool"] = {"matcher": EDITS_AND_SHELL, **groups["BeforeTool"]}
    groups["SessionEnd"]["hooks"][0]["timeout"] = END_MILLISECONDS
    return groups


def doubts(version: str | None) -> list[str]:  # noqa: ARG001 - as above
    """Gemini needs nothing of its version."""
    return []


def off(settings: Mapping[str, Any]) -> list[str]:
    """The switches of a settings file that silence our hooks."""
    config = settings.get("hooksConfig")
    config = config if isinstance(config, dict) else {}
    disabled = config.get("disabled")
    named = [f"hooksConfig.disabled has {NAME}"] if isinstance(disabled, list) and NAME in disabled else []
    return (["hooksConfig.enabled is false"] if config.get("enabled") is False else []) + named


def plugin(settings: Mapping[str, Any]) -> bool | None:  # noqa: ARG001 - it has extensions, and we have none
    """Whether a settings file enables a plugin of ours: it cannot."""
    return None
