"""What is kept on this machine of one session of a harness: who it is and how the broker is asked, so that tick.py needs nothing else."""

from __future__ import annotations

import os

from ..calls import sessions
from ..calls.call import packed
from ..lua import script
from ..settings import Place, read_pairs, write_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..keys import Keys
    from ..settings import Settings

FOLDER, BELLS = "sessions", "bells"
_LONGEST = 128


def file_name(session: str) -> str:
    """A session's id as the name of a file. tick.py names it likewise."""
    plain = session and len(session) < _LONGEST and session.isascii() and session.replace("-", "").replace("_", "").isalnum()
    return session if plain else session.encode("utf-8", "replace").hex()[: _LONGEST - 8]


def path_of(state_dir: str, session: str) -> str:
    """Where a session's card lies."""
    return os.path.join(state_dir, FOLDER, file_name(session))


def bell_of(state_dir: str, session: str) -> str:
    """The file that is touched to wake a session."""
    return os.path.join(state_dir, BELLS, file_name(session))


def card(settings: Settings, keys: Keys, agent: str, *, harness: str, repository: str = "", closed: bool = False) -> dict[str, str]:
    """All that tick.py must know: the address, and the call of session_tick.lua with "?" for the event."""
    call = sessions.tick(keys, settings.session, agent.lower(), "?", repository)
    place = Place(settings.url)
    facts = {
        "agent": agent, "session": settings.session, "harness": harness, "url": settings.url, "workspace": settings.workspace, "project": settings.home,
        "sha": script("session_tick").sha, "keys": " ".join(call.keys), "args": " ".join(packed(str(word)) or "-" for word in call.args),
        "db": str(place.database),
    }  # fmt: skip
    if closed:
        facts["closed"] = "1"
    if place.tls:
        facts.pop("sha")  # a raw socket cannot speak TLS: the package asks
    elif place.path:
        facts["socket"] = place.path
    else:
        facts.update(host=place.host, port=str(place.port))
    if place.password:
        facts["auth"] = f"{place.user} {place.password}" if place.user else place.password
    return facts


def keep(state_dir: str, session: str, facts: dict[str, str]) -> None:
    """Write a session's card, private to this user, and the file that wakes it."""
    if read_pairs(path_of(state_dir, session)) != facts:
        write_pairs(path_of(state_dir, session), facts)
    bell = bell_of(state_dir, session)
    if not os.path.exists(bell):
        os.makedirs(os.path.dirname(bell), mode=0o700, exist_ok=True)
        with open(os.open(bell, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8"):
            pass


def known(state_dir: str, session: str) -> dict[str, str]:
    """A session's card; {} where there is none."""
    return read_pairs(path_of(state_dir, session))


def forget(state_dir: str, session: str) -> None:
    """Remove what is kept of a session."""
    for path in (path_of(state_dir, session), bell_of(state_dir, session)):
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue


def cards(state_dir: str) -> dict[str, dict[str, str]]:
    """Every session kept here: file name -> card."""
    folder = os.path.join(state_dir, FOLDER)
    try:
        found = [name for name in sorted(os.listdir(folder)) if not name.endswith(".tmp")]
    except OSError:
        return {}
    return {name: facts for name in found if (facts := read_pairs(os.path.join(folder, name))).get("agent")}


def ring(state_dir: str, session: str, text: str) -> None:
    """Touch the file that wakes a session."""
    with open(bell_of(state_dir, session), "w", encoding="utf-8") as file:
        file.write(text + "\n")


def said_once(state_dir: str, session: str, what: str, value: Any) -> bool:
    """Whether this is to be said to the session now: once for each value."""
    path = path_of(state_dir, session) + ".said"
    found = read_pairs(path)
    if found.get(what) == str(value):
        return False
    write_pairs(path, {**found, what: str(value)})
    return True
