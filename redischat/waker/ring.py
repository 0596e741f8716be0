"""How an idle session is rung, product by product. A ring carries no mail: it says that there is some."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading

from ..hook import session as cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Card = dict[str, str]

HTTP_S = 0.5  # on this host; the other sessions of its broker wait for it
_GOOD = range(200, 300)


class Rung:
    """One ring: it was tried, unless it ``failed``; whether it landed is seen later, by the session's own next event."""

    __slots__ = ("_good", "_process")

    def __init__(self, *, good: bool = True, process: subprocess.Popen[bytes] | None = None) -> None:
        self._good, self._process = good, process

    def failed(self) -> bool:
        """Is it known that nothing can come of it? Asked again, it also learns of a command that has ended since."""
        return not self._good or (self._process is not None and self._process.returncode not in {None, 0})


def ways(card: Card) -> tuple[str, ...]:
    """The ways to wake a session, best first; () where its product has none."""
    claude = ("wait", "file") if card.get("wake") == "wait" else ("file",)
    return {"claude": claude, "codex": ("queue",), "opencode": ("http", "file") if card.get("http") else ("file",)}.get(card.get("harness", ""), ())


def ring(way: str, state_dir: str, card: Card, text: str) -> Rung:
    """Ring a session by one way."""
    return _RINGS[way](state_dir, card, text)


def _file(state_dir: str, card: Card, text: str) -> Rung:
    """Claude Code watches a file of ours (FileChanged with asyncRewake)."""
    try:
        cards.ring(state_dir, card["session"], text)
    except OSError:
        return Rung(good=False)
    return Rung()


def _wait(state_dir: str, card: Card, text: str) -> Rung:
    """A waiter of Claude Code blocks at a door of ours (`setup --wake waiter`)."""
    return Rung(good=cards.ring_waiter(state_dir, card["session"], card.get("asked", "0"), text))


def _queue(_: str, card: Card, text: str) -> Rung:
    """Codex takes a message for an idle thread from its own command."""
    codex = card.get("codex") or shutil.which("codex")
    words = [codex or "", "queue", "--thread", card["session"], "--message", text]
    try:
        with open(os.devnull, "r+b") as nothing:
            process = subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd="/")
    except OSError:
        return Rung(good=False)
    threading.Thread(target=process.wait, daemon=True).start()  # leaves no zombie behind, however long it takes
    return Rung(process=process)


def _http(_: str, card: Card, text: str) -> Rung:
    """OpenCode listens on this host; its plugin told us where."""
    from http.client import HTTPConnection, HTTPException
    from json import dumps
    from urllib.parse import quote, urlsplit

    try:
        at = urlsplit(card.get("http", ""))
        if at.hostname not in {"127.0.0.1", "localhost", "::1"} or not at.port:
            return Rung(good=False)
        connection = HTTPConnection(at.hostname, at.port, timeout=HTTP_S)
    except ValueError:
        return Rung(good=False)
    try:
        body = dumps({"parts": [{"type": "text", "text": text}]})
        connection.request("POST", f"/session/{quote(card['session'], safe='')}/prompt_async", body, {"Content-Type": "application/json"})
        return Rung(good=connection.getresponse().status in _GOOD)
    except (OSError, HTTPException):
        return Rung(good=False)
    finally:
        connection.close()


_RINGS: dict[str, Callable[[str, Card, str], Rung]] = {"file": _file, "wait": _wait, "queue": _queue, "http": _http}
