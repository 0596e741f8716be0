"""Keeping what we write out of git: a line in the clone's own exclude file, which is never committed."""

from __future__ import annotations

import os

from .. import checkout
from ..errors import CannotKeep
from ..settings import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from subprocess import CompletedProcess

GIT_SECONDS = 2
MARK = "# redischat (its uninstall takes the next line away)"
FOLDER = ".redischat/"
LOCAL_SETTINGS = "**/.claude/settings.local.json"
PLUGIN = "**/.opencode/plugin/redischat.js"
SAMPLES = {FOLDER: ".redischat/config", LOCAL_SETTINGS: ".claude/settings.local.json", PLUGIN: ".opencode/plugin/redischat.js"}


def ignored(project: str, pattern: str) -> bool | None:
    """Whether git ignores what ``pattern`` is for, by whatever rule; None when it cannot tell: no repository, no git, or git does not answer.

    A file that is tracked already is ignored by no rule: see :func:`tracked`.
    """
    done = _git(project, "check-ignore", "--no-index", "-q", "--", _sample(pattern))
    return {0: True, 1: False}.get(done.returncode) if done else None


def tracked(project: str, pattern: str) -> bool | None:
    """Whether what ``pattern`` is for is committed, or about to be; None when git cannot tell."""
    done = _git(project, "ls-files", "--", _sample(pattern))
    return bool(done.stdout.strip()) if done and done.returncode == 0 else None


def add(project: str, patterns: Iterable[str] = (FOLDER,), *, dry: bool = False) -> dict[str, str]:
    """Have git ignore what ``patterns`` are for; each with what became of it. ``dry``: only say.

    "ignored" (it was already), "added", "overruled" (a rule of the repository names it: nothing was written), "cannot tell" (nothing was written).

    Raises:
        CannotKeep: the exclude file cannot be written.
    """
    found = {}
    for pattern in patterns:
        already = ignored(project, pattern)
        path = _exclude(project)
        if already is None or not path:
            found[pattern] = "cannot tell"
        elif already:
            found[pattern] = "ignored"
        else:
            found[pattern] = "added" if dry else _added(project, path, pattern)
    return found


def remove(project: str, patterns: Iterable[str] | None = None, *, dry: bool = False) -> list[str]:
    """Take out the lines that :func:`add` wrote, and no others; gives their patterns.

    Raises:
        CannotKeep: the exclude file cannot be written.
    """
    path = _exclude(project)
    wanted = None if patterns is None else set(patterns)
    rows, gone, kept = _rows(path) if path else [], [], []
    at = 0
    while at < len(rows):
        pattern = rows[at + 1].rstrip("\r\n") if rows[at].rstrip("\r\n") == MARK and at + 1 < len(rows) else ""
        if pattern in SAMPLES and (wanted is None or pattern in wanted):
            gone.append(pattern)
            at += 2
        else:
            kept.append(rows[at])
            at += 1
    if gone and not dry:
        _write(path, "".join(kept))
    return gone


def _sample(pattern: str) -> str:
    return SAMPLES.get(pattern, pattern)


def _added(project: str, path: str, pattern: str) -> str:
    before = "".join(_rows(path))
    _write(path, before + ("" if not before or before.endswith("\n") else "\n") + f"{MARK}\n{pattern}\n")
    if ignored(project, pattern):
        return "added"
    _write(path, before)
    return "overruled"


def _exclude(project: str) -> str:
    """The exclude file of the clone that ``project`` is in: one for all its worktrees; "" where there is none."""
    root = checkout.above(os.path.realpath(project))
    shared = checkout.common(root) if root else ""
    return os.path.join(shared, "info", "exclude") if shared else ""


def _rows(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
            return file.read().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _cannot(path, error) from error


def _write(path: str, text: str) -> None:
    real = os.path.realpath(path)
    draft = f"{real}.{os.getpid()}.redischat-tmp"
    try:
        os.makedirs(os.path.dirname(real), exist_ok=True)
        with open(draft, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
        if os.path.exists(real):
            os.chmod(draft, os.stat(real).st_mode & 0o7777)
        os.replace(draft, real)
    except OSError as error:
        raise _cannot(path, error) from error


def _cannot(path: str, error: OSError) -> CannotKeep:
    return CannotKeep(
        path=told(path), why=error.strerror or str(error), remedy="Make it writable for you, or add the line .redischat/ to a .gitignore yourself"
    )


def _git(project: str, *words: str) -> CompletedProcess[bytes] | None:
    """One question to git, in a project; None when it does not answer."""
    from subprocess import DEVNULL, PIPE, SubprocessError, run

    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name.startswith("GIT_CONFIG_")}
    command = ["git", *words]
    try:
        return run(command, cwd=project, env=env | {"GIT_OPTIONAL_LOCKS": "0"}, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, timeout=GIT_SECONDS, check=False)
    except (OSError, SubprocessError):
        return None
