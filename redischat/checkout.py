"""What a checkout's ``.git`` says, read by hand: starting git costs more than a whole command may.

Files that ``config`` includes, ``insteadOf`` and remotes other than "origin" are not looked at, and neither are GIT_DIR and GIT_WORK_TREE, which git's
hooks set for one command. What a ``.git`` names is read only where it is a regular file of a sane size.
"""

from __future__ import annotations

import os
from stat import S_ISDIR, S_ISREG

GIT_SECONDS = 2
CONFIG_BYTES = 1 << 20
POINTER_BYTES = 8_192  # of a .git file, of a commondir
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def above(at: str) -> str:
    """The root of the checkout that ``at`` is in; "" when it is in none."""
    while common(at) is None:
        at, below = os.path.dirname(at), at
        if at == below:
            return ""
    return at


def common(root: str) -> str | None:
    """The real path of the git folder that all worktrees of the checkout at ``root`` share; "" when its ``.git`` leads nowhere, None when it is no root."""
    mark = os.path.join(root, ".git")
    try:
        mode = os.stat(mark).st_mode
    except (OSError, ValueError):
        return None
    if S_ISDIR(mode):
        return os.path.realpath(mark) if os.path.lexists(os.path.join(mark, "HEAD")) else None
    if not S_ISREG(mode):
        return None
    said = _read(mark, POINTER_BYTES)
    if not said.startswith("gitdir: ") or "\0" in said:
        return ""
    own = os.path.join(root, said.removeprefix("gitdir: ").rstrip("\r\n"))
    shared = os.path.realpath(os.path.join(own, _read(os.path.join(own, "commondir"), POINTER_BYTES).rstrip("\r\n").partition("\0")[0]))
    return shared if _is_git(shared) else ""


def origin(shared: str) -> str:
    """The URL of the remote "origin" as a git folder's ``config`` has it, with what login it has; "" when there is none."""
    inside, held = False, ""
    for row in _read(os.path.join(shared, "config"), CONFIG_BYTES).removeprefix("\ufeff").split("\n"):
        line = (held + row).strip()
        held = line[:-1] if (len(line) - len(line.rstrip("\\"))) % 2 and line[0] not in "#;" else ""
        if held:
            continue
        if line.startswith("["):
            head, _, line = line[1:].partition("]")
            section, _, name = head.partition(" ")
            inside = (section.lower(), name.strip()) == ("remote", '"origin"') or head.strip().lower() == "remote.origin"
        key, _, value = line.partition("=")
        if inside and key.strip().lower() == "url" and (url := _value(value)):
            return url
    return ""


def local(url: str, root: str) -> tuple[str, str] | None:
    """Root and git folder of the repository that a remote's path or file URL leads to, tried in git's order; None when it leads to none."""
    if url.lower().startswith("file://"):
        from .remote import unquoted

        url = "/" + unquoted(url[len("file://") :]).partition("/")[2]
    place = os.path.join(root, url)
    for one in (place, place + ".git"):
        shared = common(one) or (os.path.realpath(one) if _is_git(one) else "")
        if shared:
            return (os.path.dirname(shared) if os.path.basename(shared) == ".git" else os.path.realpath(one)), shared
    return None


def first_commit(shared: str) -> tuple[str, str]:
    """The oldest commit without a parent, by date, then by id; or "" and why there is none.

    The oldest of all branches, not of HEAD: worktrees on branches without a common past meet too, and a new branch of that kind changes nothing.
    Runs git, for at most 2 s, on exactly this folder (so no ``safe.directory`` is asked), with nothing that could fetch or run anything else.
    """
    if not shared:
        return "", "its .git leads nowhere"
    if os.path.lexists(os.path.join(shared, "shallow")):
        return "", "a shallow clone has no first commit"
    from subprocess import DEVNULL, PIPE, SubprocessError, TimeoutExpired, run

    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    words = ["git", f"--git-dir={shared}", "rev-list", "--max-parents=0", "--timestamp", "--all"]
    try:
        done = run(words, cwd=shared, env=env, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, timeout=GIT_SECONDS, check=True)
        roots = [row.split() for row in done.stdout.decode("ascii").splitlines()]
        found = min(((int(date), commit) for date, commit in roots), default=(0, ""))[1]
    except TimeoutExpired:
        return "", f"git did not find the first commit in {GIT_SECONDS} s"
    except FileNotFoundError:
        return "", "git is not installed"
    except (OSError, SubprocessError, ValueError):
        return "", "git cannot read it"
    return found, "" if found else "it has no commit yet"


def _is_git(folder: str) -> bool:
    """Whether a folder is a git folder: a bare repository, or what a ``.git`` file points at."""
    return os.path.lexists(os.path.join(folder, "HEAD")) and os.path.isdir(os.path.join(folder, "objects"))


def _value(text: str) -> str:
    """A value of git's configuration: quotes, escapes, and a comment at its end taken away."""
    found, kept, quoted, letters = "", 0, False, iter(text.strip())
    for c in letters:
        if c == '"':
            quoted = not quoted
        elif c in "#;" and not quoted:
            break
        elif c == "\\":
            escaped = next(letters, "")
            found += _ESCAPES.get(escaped, escaped)
        else:
            found += c
        kept = len(found) if quoted or not c.isspace() else kept
    return found[:kept]


def _read(path: str, most: int) -> str:
    """A small regular file's text; "" for anything else, without waiting for it."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):
        return ""
    try:
        status = os.fstat(handle)
        return os.fsdecode(os.read(handle, most)) if S_ISREG(status.st_mode) and status.st_size <= most else ""
    except OSError:
        return ""
    finally:
        os.close(handle)
