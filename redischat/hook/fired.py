"""When each event of a harness last reached us, by project: a file an event, whose time is the time. tick.py writes them too (asking.py)."""

from __future__ import annotations

import os
import time
from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib costs 3 ms

FOLDER = "fired"  # in the state directory
TURN = (("UserPromptSubmit", "Stop"), ("BeforeAgent", "AfterAgent"))  # of which each turn fires both
EVERY_S = 60  # an event that comes often is noted once a minute; asking.py MARK_S


def key(home: str) -> str:
    """A project as part of a file's name; sessions carry it on their card as ``mark``."""
    return str(sha1(home.encode("utf-8", "surrogateescape")).hexdigest()[:16])


def note(state_dir: str, mark: str, client: str, event: str, tick: str) -> None:
    """This event reached ``tick`` now. What cannot be written is not worth a word."""
    path = os.path.join(state_dir, FOLDER, f"{mark}.{client}.{event}")
    try:
        if abs(time.time() - os.stat(path).st_mtime) < EVERY_S:  # a clock may have been ahead
            return
    except OSError:
        pass
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(tick + "\n")
    except OSError:
        return


def seen(state_dir: str, home: str, client: str) -> dict[str, tuple[float, str]]:
    """Event -> (when it last came, seconds since 1970; the script that it reached). What is not there is not known: marks may have been removed."""
    found = {}
    for path, mark, owner, event in _all(state_dir):
        if (mark, owner) == (key(home), client):
            try:
                with open(path, encoding="utf-8", errors="surrogateescape") as file:
                    found[event] = (os.fstat(file.fileno()).st_mtime, file.read().strip())
            except OSError:
                continue
    return found


def doubt(state_dir: str, home: str, client: str) -> str:
    """What a session that starts is told of hooks of ours that did not run as they should in the one before it; "" where nothing is known of that."""
    found = seen(state_dir, home, client)
    began, build = found.get("SessionStart", (0.0, ""))
    over = {name for name, (at, _) in found.items() if at < began}  # in a session before the last one: its turns have ended
    never = [name for pair in TURN for name in pair if over & {*pair} and name not in found]
    other = sorted(name for name, (at, tick) in found.items() if build and at > began and tick != build)
    said = [
        f"{', '.join(never)} never came, though a turn began or ended" if never else "",
        f"{', '.join(other)} ran another build than SessionStart" if other else "",
    ]
    return f"Our hooks here do not run as they should: {'; '.join(filter(None, said))}. What mends it: redischat doctor" if any(said) else ""


def forget(state_dir: str, home: str) -> None:
    """Remove the marks of a project."""
    for path, mark, _, _ in _all(state_dir):
        if mark == key(home):
            try:
                os.unlink(path)
            except OSError:
                continue


def _all(state_dir: str) -> list[tuple[str, str, str, str]]:
    folder = os.path.join(state_dir, FOLDER)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    found = [(name, name.split(".")) for name in names]
    return [(os.path.join(folder, name), parts[0], parts[1], parts[2]) for name, parts in found if len(parts) == 3]  # noqa: PLR2004 - mark, client, event
