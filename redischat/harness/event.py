"""An event of a session and the answer to it, in words that all products share."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

ROLES = ("start", "prompt", "before", "after", "stop", "changed", "end")


class Event:
    """What happened. ``role``: one of ROLES, or "" for what is of no interest; ``child``: in a subagent; ``detail``: how it started or ended; ``server``: where the product listens."""

    __slots__ = ("child", "command", "cwd", "detail", "name", "paths", "project", "prompt", "role", "server", "session", "tool")

    def __init__(
        self,
        name: str,
        role: str,
        session: str,
        *,
        cwd: str = "",
        project: str = "",
        child: bool = False,
        detail: str = "",
        prompt: str = "",
        tool: str = "",
        paths: Sequence[str] = (),
        command: str = "",
        server: str = "",
    ) -> None:
        self.name, self.role, self.session, self.cwd, self.project, self.child, self.detail = name, role, session, cwd, project, child, detail
        self.prompt, self.tool, self.paths, self.command = prompt, tool, tuple(paths), command
        self.server = server


class Answer:
    """What to say: ``context`` for the model, ``deny`` a tool call (why), ``block`` the end of a turn (why), ``wake`` an idle session (what for), ``watch`` files."""

    __slots__ = ("block", "context", "deny", "wake", "watch")

    def __init__(self, *, context: str = "", deny: str = "", block: str = "", wake: str = "", watch: Sequence[str] = ()) -> None:
        self.context, self.deny, self.block, self.wake, self.watch = context, deny, block, wake, tuple(watch)

    def __bool__(self) -> bool:
        return bool(self.context or self.deny or self.block or self.wake or self.watch)


class Written:
    """An answer as the product reads it: standard output, standard error, exit code."""

    __slots__ = ("code", "err", "out")

    def __init__(self, out: dict[str, Any] | None = None, err: str = "", code: int = 0) -> None:
        self.out, self.err, self.code = out, err, code


def text(found: Any, *path: str) -> str:
    """A text in nested JSON; "" where it is not one."""
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""
