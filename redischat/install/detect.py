"""Which harness it is about, of which version; and whether the environment that hooks would name is there to stay."""

from __future__ import annotations

import os
import shutil
import sys
from tempfile import gettempdir

from ..errors import NotLasting
from ..settings import told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION_S = 2.0
NONE = "none"
SIGNS = {  # what each of them sets for the commands that it runs
    "claude": ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    "codex": ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID"),
    "gemini": ("GEMINI_CLI", "GEMINI_SESSION_ID"),
    "opencode": ("OPENCODE",),
}
AGAIN = {"claude": "claude --continue", "codex": "codex resume", "gemini": "gemini --resume", "opencode": "opencode --continue"}  # to start a session anew
_FLEETING = (  # parts of a path, and whose environment that is
    ("uv/archive-v", "uvx's environment for one run"),
    ("uv/environments-v", "uv's environment for one run"),
    ("uv/builds-v", "uv's environment for one run"),
    ("pipx/.cache/", "pipx's environment for one run"),
    (".cache/pipx/", "pipx's environment for one run"),
)
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/private/tmp", "/private/var/folders", "/var/folders")  # noqa: S108 - where environments are looked for, none is made


def harnesses(env: Mapping[str, str]) -> tuple[list[str], str]:
    """The harnesses that this is about, and how that is known: the one this shell runs in, else those on the PATH."""
    around = inside(env)
    if around:
        return around, f"this shell runs in {' in '.join(around)}"
    found = [client for client in SIGNS if shutil.which(client, path=env.get("PATH"))]
    return found, f"on the PATH: {', '.join(found)}" if found else "no harness is known here: name it by --harness claude, codex, gemini or opencode"


def inside(env: Mapping[str, str]) -> list[str]:
    """The harnesses that this shell runs in."""
    return [client for client, signs in SIGNS.items() if any(env.get(sign) for sign in signs)]


def version(client: str, env: Mapping[str, str]) -> str:
    """What the client's ``--version`` prints; "" where it does not matter, or is not told within 2 s."""
    program = shutil.which(client, path=env.get("PATH")) if client == "claude" else None
    if not program:
        return ""
    from subprocess import DEVNULL, PIPE, SubprocessError, run

    try:
        done = run([program, "--version"], env=dict(env), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, timeout=VERSION_S, check=False)
    except (OSError, SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace").strip()[:100] if done.returncode == 0 else ""


def python() -> str:
    """The interpreter that hooks are to name: this one, absolute."""
    return os.path.abspath(sys.executable)


def fleeting(path: str, env: Mapping[str, str]) -> str:
    """Why what lies at ``path`` will soon be gone; "" when nothing says so."""
    places = [os.path.abspath(path), os.path.realpath(path)]
    for part, why in _FLEETING:
        if any(part in place.replace("\\", "/") for place in places):
            return why
    cache = env.get("UV_CACHE_DIR")
    if cache and any(place.startswith(os.path.join(os.path.abspath(cache), "")) for place in places):
        return "uv's cache"
    here = [*_TEMPORARY, gettempdir(), env.get("TMPDIR") or gettempdir()]
    return "a temporary folder" if any(places[0].startswith(os.path.join(one, "")) for one in here) else ""


def lasting(tick: str, env: Mapping[str, str], then: str) -> None:
    """Refuse an environment that will soon be gone; ``then``: the command for afterwards.

    Raises:
        NotLasting: hooks would name it.
    """
    for path in (python(), tick):
        why = fleeting(path, env)
        if why:
            remedy = f"Install it to stay, with one of: uv tool install redischat; pipx install redischat; pip install --user redischat. Then: {then}"
            raise NotLasting(path=told(path), why=why, remedy=f"{remedy}. If it does stay: add --anyway")
