"""How an idle session is rung, product by product. A ring carries no mail: it says that there is some."""

from __future__ import annotations

import os
import shutil
import subprocess

from ..hook import session as cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Card = dict[str, str]

HTTP_S = 2.0


def ways(card: Card) -> tuple[str, ...]:
    """The ways to wake a session, best first; () where its product has none."""
    return {"claude": ("file",), "codex": ("queue",), "opencode": ("http",)}.get(card.get("harness", ""), ())


def ring(way: str, state_dir: str, card: Card, text: str) -> bool:
    """Ring a session by one way. Gives whether it could be tried; whether it landed is seen later, by the session's own next event."""
    return _RINGS[way](state_dir, card, text)


def _file(state_dir: str, card: Card, text: str) -> bool:
    """Claude Code watches a file of ours (FileChanged with asyncRewake)."""
    cards.ring(state_dir, card["session"], text)
    return True


def _queue(_: str, card: Card, text: str) -> bool:
    """Codex takes a message for an idle thread from its own command."""
    codex = card.get("codex") or shutil.which("codex")
    if not codex:
        return False
    with open(os.devnull, "r+b") as nothing:
        subprocess.Popen(
            [codex, "queue", "--thread", card["session"], "--message", text], stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd="/"
        )
    return True


def _http(_: str, card: Card, text: str) -> bool:
    """OpenCode listens on this host; its plugin told us where."""
    from http.client import HTTPConnection, HTTPException
    from json import dumps
    from urllib.parse import urlsplit

    at = urlsplit(card.get("http", ""))
    if at.hostname not in {"127.0.0.1", "localhost", "::1"} or not at.port:
        return False
    connection = HTTPConnection(at.hostname, at.port, timeout=HTTP_S)
    try:
        body = dumps({"parts": [{"type": "text", "text": text}]})
        connection.request("POST", f"/session/{card['session']}/prompt_async", body, {"Content-Type": "application/json"})
        return 200 <= connection.getresponse().status < 300  # noqa: PLR2004 - HTTP's own
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


_RINGS: dict[str, Callable[[str, Card, str], bool]] = {"file": _file, "queue": _queue, "http": _http}
