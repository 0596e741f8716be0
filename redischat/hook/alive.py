"""The process of a harness: which one a hook runs in, and whether it is still there. With /proc, and where there is none (macOS)."""

from __future__ import annotations

import os

from ..settings import host

PROC, PS_S = "/proc", 1.0
_SHELLS = ("sh", "bash", "dash", "zsh", "ash", "busybox")


def harness() -> dict[str, str]:
    """The harness that this hook runs in: ``pid``, and ``born`` where the system tells it, so that another process of that number is not taken for it."""
    pid = os.getppid()
    while (found := _stat(pid)) and found[0] in _SHELLS:
        pid = int(found[1])
    return {"pid": str(pid), "born": born(pid)}


def born(pid: int) -> str:
    """When a process was started, in the system's own count; "" when that is not known, or there is no such process."""
    found = _stat(pid)
    return found[2] if found else ""


def parent(pid: int) -> int:
    """Which process started this one; 0 when that is not known."""
    found = _stat(pid)
    return int(found[1]) if found else 0


def _stat(pid: int) -> tuple[str, str, str] | None:
    """Name, parent and start of a process."""
    if not os.path.isdir(PROC):
        return _ps(pid)
    try:
        with open(f"{PROC}/{pid}/stat", encoding="utf-8", errors="replace") as file:
            before, _, after = file.read().rpartition(")")
    except OSError:
        return None
    words = after.split()
    return (before.partition("(")[2], words[1], words[19]) if len(words) > 19 and words[0] not in "ZX" else None  # noqa: PLR2004 - proc(5)


def _ps(pid: int) -> tuple[str, str, str] | None:
    """The same where there is no /proc (macOS): a process more, which only the start of a session pays."""
    from subprocess import DEVNULL, PIPE, SubprocessError, run

    try:
        words = ["ps", "-o", "ppid=,state=,lstart=,ucomm=", "-p", str(pid)]
        done = run(words, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, timeout=PS_S, check=False, env={**os.environ, "LC_ALL": "C"})
    except (OSError, SubprocessError):
        return None
    found = done.stdout.decode("utf-8", "replace").split(None, 7)
    return (found[7].strip(), found[0], "_".join(found[2:7])) if len(found) > 7 and found[1][:1] not in "ZX" else None  # noqa: PLR2004 - the columns


def gone(facts: dict[str, str]) -> bool:
    """Is the harness of this session gone for certain? Only where its start is known, on its own host.

    Where there is no /proc, only whether there is a process of its number: the waker asks every few seconds, and a start is told by a process of its own.
    """
    if not facts.get("born") or facts.get("on") != host() or not facts.get("pid", "").isdigit():
        return False
    pid = int(facts["pid"])
    if os.path.isdir(PROC):
        return bool(_stat(os.getpid())) and born(pid) != facts["born"]
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
