"""Does a command in a harness's own shell reach the broker? Where the harness can run one in its sandbox that is tried; else it is what its settings say."""

from __future__ import annotations

import os
import shutil
import sys

from ..errors import ChatError
from ..settings import Place
from . import codex, jsontext, merge
from .doctor import NOTE, OK, WRONG, Check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .wiring import Wiring

PROBE_S = 10.0
REACHED = "reached"
FULL, DEFAULT = "danger-full-access", "workspace-write"
NETWORK = "sandbox_workspace_write.network_access=true"
ALLOW = "codex -c " + NETWORK
# Says which way it ended: the broker's answer, or the error that the sandbox made of the connection.
_PROBE = """
import sys
sys.path[:0] = sys.argv[2:4]
from redischat.calls.call import plain
from redischat.errors import ChatError
from redischat.wire import Wire
try:
    Wire(sys.argv[1]).run(plain("PING"))
    print("reached")
except ChatError as error:
    print(error.code)
"""


def shell(wiring: Wiring, client: str) -> Check | None:
    """Whether a shell of this client reaches the broker, and how; None where nothing is known of a sandbox of its own."""
    found = {"codex": _codex, "claude": _claude}.get(client)
    return found(wiring) if found else None


def _codex(wiring: Wiring) -> Check:
    about, mode, open_ = "codex shell", *_configured(codex.home_of(wiring.home, wiring.env))
    if mode == FULL:
        return Check(about, OK, "its config switches the sandbox off: a shell in it reaches the broker as this one does")
    said = _tried(wiring, mode, open_=open_)
    how = f"{mode}, network_access={'true' if open_ else 'false'}"
    if said == REACHED:
        return Check(about, OK, f"a shell in its sandbox ({how}) reaches the broker: tried now")
    if said in ("SANDBOXED", "BROKER_NOT_STARTED"):
        text = f"a shell in its sandbox ({how}) does not reach the broker: tried now. Such an agent is told, guarded and woken by its hooks, which run outside, and cannot answer"
        return Check(about, NOTE, f"{text}. Let it: put {NETWORK} into its config; or give it redischat as an MCP server", ALLOW)
    if said:
        return Check(about, NOTE, f"a shell in its sandbox ({how}) got as far as the broker, which answered {said}", "redischat server status")
    return Check(about, NOTE, f"cannot tell whether a shell in its sandbox ({how}) reaches the broker: it could not be tried. Ask in it: redischat whoami")


def _configured(folder: str) -> tuple[str, bool]:
    """The sandbox that Codex's config asks for: its mode, and whether it lets a shell to the network. What cannot be read is the default."""
    from tomllib import TOMLDecodeError, load

    try:
        with open(os.path.join(folder, "config.toml"), "rb") as file:
            found: dict[str, Any] = load(file)
    except (OSError, TOMLDecodeError):
        found = {}
    inner = found.get("sandbox_workspace_write")
    return str(found.get("sandbox_mode") or DEFAULT), isinstance(inner, dict) and inner.get("network_access") is True


def _tried(wiring: Wiring, mode: str, *, open_: bool) -> str:
    """What a command in Codex's sandbox says of the broker: "reached", an error's code, or "" where it could not be run. ``codex sandbox`` reads no config."""
    program = shutil.which("codex", path=wiring.env.get("PATH"))
    if not program:
        return ""
    from subprocess import DEVNULL, PIPE, SubprocessError, run

    flags = ["-c", f'sandbox_mode="{mode}"', *(["-c", NETWORK] if open_ else [])]
    words = [program, "sandbox", *flags, "--", wiring.python, "-I", "-c", _PROBE, wiring.settings.url, *_places()]
    try:
        done = run(words, env=dict(wiring.env), cwd=wiring.settings.project, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL, timeout=PROBE_S, check=False)
    except (OSError, SubprocessError):
        return ""
    last = done.stdout.decode("utf-8", "replace").split()[-1:]
    return last[0] if last and last[0].replace("_", "").isalpha() else ""


def _places() -> list[str]:
    """Where this redischat lies, and what it needs: of a checkout, its own."""
    ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return [ours, next((path for path in sys.path if path.endswith("site-packages")), ours)]


def _claude(wiring: Wiring) -> Check:
    about, found = "claude shell", _sandbox(wiring)
    if found.get("enabled") is not True:
        return Check(about, OK, "no sandbox is switched on in its settings: a shell in it reaches the broker as this one does")
    network = found.get("network")
    rules: Mapping[str, Any] = network if isinstance(network, dict) else {}
    place = Place(wiring.settings.url)
    listed = rules.get("allowUnixSockets") if place.path else rules.get("allowedDomains")
    target = place.path or place.host
    here = isinstance(listed, list) and target in listed and (not place.path or sys.platform == "darwin")  # Linux cannot tell sockets apart by their path
    if (place.path and rules.get("allowAllUnixSockets") is True) or here or _excluded(found):
        return Check(about, OK, f"a sandbox is switched on, and its settings let redischat to {target}: not tried, ask in it: redischat whoami")
    way = "sandbox.network.allowAllUnixSockets" if place.path else f'"{target}" in sandbox.network.allowedDomains'
    text = (
        f"a sandbox is switched on in its settings, and keeps a shell from {target}: such an agent is told, guarded and woken by its hooks, and cannot answer"
    )
    return Check(about, WRONG, f'{text}. Let it: {way}, or "redischat *" in sandbox.excludedCommands', "claude")


def _excluded(found: Mapping[str, Any]) -> bool:
    commands = found.get("excludedCommands")
    return isinstance(commands, list) and any(str(one).split(" ")[0].split(":")[0] == "redischat" for one in commands)


def _sandbox(wiring: Wiring) -> dict[str, Any]:
    """What Claude Code's settings say of its sandbox; the narrower scope counts where both say something."""
    found: dict[str, Any] = {}
    for scope in ("user", "project", "local"):
        try:
            text = (merge.read(merge.resolved(wiring.target("claude", scope))) or b"").decode("utf-8-sig")
            value = jsontext.parse(text if text.strip() else "{}").value
        except (ChatError, ValueError):  # another check tells of it
            continue
        said = value.get("sandbox") if isinstance(value, dict) else None
        found |= said if isinstance(said, dict) else {}
    return found
