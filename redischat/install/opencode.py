"""OpenCode: one plugin file, which is all ours."""

from __future__ import annotations

import os
from json import dumps

from .command import slashed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SCOPES = ("user", "project")  # in a project, its folder .opencode would be made, and OpenCode then installs packages into it
MARK = "// redischat: made by its install, taken away by its uninstall\n"
PYTHON, TICK = '"@PYTHON@"', '"@TICK@"'  # in the plugin's text


def target(project: str, home: str, scope: str, env: Mapping[str, str]) -> str:
    """The plugin file of a scope."""
    if scope == "user":
        return os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "opencode", "plugin", "redischat.js")
    return os.path.join(project, ".opencode", "plugin", "redischat.js")


def rendered(text: str, python: str, tick: str) -> str:
    """The plugin's text for this machine: ``"@PYTHON@"`` and ``"@TICK@"`` become the two paths, a first line says whose file it is."""
    return MARK + text.replace(PYTHON, dumps(slashed(python))).replace(TICK, dumps(slashed(tick)))


def ours(text: str) -> bool:
    """Whether a plugin file is ours, of any version."""
    return text.replace("\r\n", "\n").startswith(MARK)
