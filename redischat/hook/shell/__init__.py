"""Which files does a shell command write? Read from its text, before it runs; nothing is run, and no file is opened but a patch that it applies or a list that it reads.

Seen: redirections, heredocs, the usual programs that write (``tee sed cp mv rm git dd curl patch`` and formatters), what they are wrapped in (``sudo env
timeout bash -c eval find xargs``), ``cd``, variables, loops and functions of the same command, patterns (up to 200 names), and plain literals in code that is
given to an interpreter.

Not seen, and said by :func:`unknown` where it can be told: what programs and scripts do by themselves (``make``, ``npm run``, ``./build.sh``, a test run), what
an unpacked archive, another branch, a stash or a hook brings, names that only come out while it runs (``$(..)``, ``xargs``, ``read``, variables of the
environment), code that makes up its names. What a program leaves beside its work (patch's ``.orig`` and ``.rej``, caches) is not told either. Not told by anything: an alias or a function of the user's shell that bears a usual program's name, a symlink
that leads elsewhere, ``if`` and ``||`` (each way is taken, one after the other, so a ``cd`` or a value of one may be taken for the other's), a process that
runs on. A path may be a folder: then all below it is meant. It stops mistakes, not malice.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .walk import Walk

LONGEST = 1_000_000  # characters of a command that are read


def written(command: str, cwd: str) -> list[str]:
    """The paths that the command may write, create, empty, delete or rename (both sides), as written in it, below the folders that it goes to.

    Relative ones are relative to ``cwd``. Devices are left out. The same question twice is the same answer; it never raises.
    """
    return list(_walk(command, cwd, "").paths)


def unknown(command: str, cwd: str = "") -> str | None:
    """Why the command may write what :func:`written` does not tell; None when it is fully understood. With ``cwd`` patches and patterns are looked up, too."""
    reasons = _walk(command, cwd, "").reasons
    return "; ".join(reasons) or None


def consuming(command: str, me: str = "") -> list[str]:
    """The calls of redischat in the command that take mail or change who one is: verb and first word, "read dock".

    Not those with ``--peek``, ``--all``, ``--since``, or as another agent (``--as NAME``, REDISCHAT_AGENT) than ``me``.
    """
    return _walk(command, "", me).verbs if "redischat" in command.replace("\\", "").replace("'", "").replace('"', "") else []


def patched(patch: str) -> list[str]:
    """The paths that a patch changes, creates, deletes or renames (both sides): Codex's apply_patch, or a unified diff as git or diff writes it."""
    from .patches import patched as named

    return named(patch)


def _walk(command: str, cwd: str, me: str) -> Walk:
    from .letters import Enough
    from .tree import parse
    from .walk import Walk
    from .words import clean

    walk = Walk(cwd, me)
    pipes, whole = parse(clean(command[:LONGEST]))
    try:
        walk.run(pipes)
    except Enough:
        whole = False
    if not whole or len(command) > LONGEST:
        walk.opaque("the command is too long to follow to its end")
    return walk
