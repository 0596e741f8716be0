"""Git's pre-commit hook: our lines in it put in and taken out. A hook of others keeps every byte, and still runs behind ours."""

from __future__ import annotations

import os
import shutil
import sys

from ..errors import CannotKeep, Refused
from ..settings import told

BEGIN, END = b"# redischat guard: begin (out again: redischat guard uninstall)\n", b"# redischat guard: end\n"
ALONE = b"#!/bin/sh\n"
SHELLS = (b"sh", b"bash", b"dash", b"ksh", b"zsh")
_LINES = """redischat_guard() {{ if [ -x {program} ]; then {command} guard check; else redischat guard check; fi; }}
redischat_guard >/dev/null || case $? in 1 | 3) exit 1 ;; *) echo 'redischat guard: not checked, the commit goes on' >&2 ;; esac
"""


class Hook:
    """The pre-commit hook of the checkout at ``cwd``: its ``path``, and what is there (None: nothing)."""

    def __init__(self, cwd: str) -> None:
        self.path = os.path.join(os.path.realpath(os.path.join(cwd, _git(cwd, "rev-parse", "--git-path", "hooks"))), "pre-commit")
        self.elsewhere = _git(cwd, "config", "--get", "core.hooksPath", may_fail=True)
        try:
            with open(self.path, "rb") as file:
                self.held: bytes | None = file.read()
        except OSError:
            self.held = None

    @property
    def installed(self) -> bool:
        """Are our lines in it?"""
        return BEGIN in (self.held or b"")

    def install(self) -> bool:
        """Put our lines behind its first one. Gives whether anything changed.

        Raises:
            Refused: the hooks of this checkout are another tool's, or the hook is no shell script that git runs.
            CannotKeep: it cannot be written.
        """
        bare = _without(self.held or b"") or ALONE
        if not self.installed:
            self._fit()
        first, rest = bare.partition(b"\n")[0], bare.partition(b"\n")[2]
        return self._write(first + b"\n" + BEGIN + _lines() + END + rest)

    def uninstall(self) -> bool:
        """Take our lines out, and the file away when nothing else is in it. Gives whether anything changed.

        Raises:
            CannotKeep: it cannot be written.
        """
        if self.held is None or not self.installed:
            return False
        rest = _without(self.held)
        if rest != ALONE:
            return self._write(rest)
        try:
            os.unlink(self.path)
        except OSError as error:
            raise self._cannot(error) from error
        return True

    def _fit(self) -> None:
        """Refuse a place where our lines do not belong; the remedy is the line to put in by hand."""
        why = ""
        if self.elsewhere:
            why = f"core.hooksPath of this checkout is {told(self.elsewhere)}: the hooks there are another tool's, or the repository's own"
        elif os.path.islink(self.path):
            why = f"{told(self.path)} is a link"
        elif self.held is not None and _interpreter(self.held) not in SHELLS:
            why = f"{told(self.path)} is no shell script"
        elif self.held is not None and not os.access(self.path, os.X_OK):
            why = f"{told(self.path)} may not be executed, so git does not run it"
        if why:
            raise Refused(
                message=f"{why}: nothing was changed. Let it run this line, and stop where it exits with 1 or 3: redischat guard check", path=told(self.path)
            )

    def _write(self, text: bytes) -> bool:
        if text == self.held:
            return False
        draft = f"{self.path}.{os.getpid()}.tmp"
        try:
            mode = os.stat(self.path).st_mode & 0o777 if self.held is not None else 0o755
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(draft, "wb") as file:
                os.chmod(draft, mode)
                file.write(text)
            os.replace(draft, self.path)
        except OSError as error:
            raise self._cannot(error) from error
        self.held = text
        return True

    def _cannot(self, error: OSError) -> CannotKeep:
        return CannotKeep(path=told(self.path), why=error.strerror or str(error), remedy="Make the folder writable for you, then try again")


def _lines() -> bytes:
    """The lines: this very redischat, else the one on the PATH."""
    beside = shutil.which("redischat", path=os.path.dirname(sys.executable))
    words = [beside] if beside else [sys.executable, "-m", "redischat"]
    quoted = ["'" + word.replace("'", "'\\''") + "'" for word in words]
    return os.fsencode(_LINES.format(program=quoted[0], command=" ".join(quoted)))


def _without(text: bytes) -> bytes:
    """A hook without our lines."""
    head, begun, rest = text.partition(BEGIN)
    _, ended, tail = rest.partition(END)
    return head + tail if begun and ended else text


def _interpreter(text: bytes) -> bytes:
    """The program that a script's first line names: ``sh`` of ``#!/usr/bin/env sh -e``."""
    line = text.partition(b"\n")[0]
    words = line[2:].split() if line.startswith(b"#!") else []
    names = [os.path.basename(word) for word in words if not word.startswith(b"-")]
    return next((name for name in names if name != b"env"), b"")


def _git(cwd: str, *words: str, may_fail: bool = False) -> str:
    from subprocess import DEVNULL, PIPE, run

    command = ["git", *words]
    try:
        done = run(command, cwd=cwd, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, check=False)
    except OSError as error:
        raise Refused(message=f"git cannot be run here: {error.strerror}") from None
    if done.returncode and not may_fail:
        raise Refused(message=f"{told(cwd)} is in no git checkout: there is no commit to guard")
    return os.fsdecode(done.stdout).rstrip("\n")
