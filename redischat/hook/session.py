"""What is kept on this machine of one session of a harness: who it is and how the broker is asked, so that tick.py needs nothing else."""

from __future__ import annotations

import os

from ..calls import sessions
from ..calls.call import packed, unpacked
from ..lua import script
from ..settings import CONFIG, Place, host, read_pairs, write_pairs
from . import build, doors, fired

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..keys import Keys
    from ..settings import Settings

FOLDER, BELLS, SEEN, WAITERS = "sessions", "bells", "seen", "waiters"
SWITCHES = ("closed", "gate")  # of the project, that tick.py must know
WINDOW, INSIDE = "vscode", "claude-vscode"  # on a card; as Claude Code's extension says it. TERM_PROGRAM is as true of a terminal, and not always set
OVER, RUNG = "over\n", "rung-"  # hooks/waiting.py
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


def card(settings: Settings, keys: Keys, agent: str, *, harness: str, repository: str = "") -> dict[str, str]:
    """All that tick.py must know: the address, and the call of session_tick.lua with "?" for the event."""
    call = sessions.tick(keys, settings.session, agent.lower(), "?", repository)
    place = Place(settings.url)
    facts = {
        "agent": agent, "session": settings.session, "harness": harness, "url": settings.url, "workspace": settings.workspace, "project": settings.home, "mark": fired.key(settings.home),
        "sha": script("session_tick").sha, "keys": " ".join(call.keys), "args": " ".join(packed(str(word)) or "-" for word in call.args),
        "db": str(place.database), "on": host(),
    }  # fmt: skip
    before = known(settings.state_dir, settings.session)  # of a session that goes on
    facts["build"] = before.get("build", "") if before and not before.get("ended") else build.digest()
    project = read_pairs(os.path.join(settings.project, CONFIG))
    facts |= {switch: "1" for switch in SWITCHES if project.get(switch)}
    if harness == "claude" and project.get("wake") == "waiter" and attended(settings.env):
        facts["wake"] = "wait"
    if harness == "claude" and not outside(settings.env):
        facts["window"] = WINDOW
    if place.tls or place.kind:
        return facts | doors.words(settings, place)
    if place.path:
        facts["socket"] = place.path
    else:
        facts.update(host=place.host, port=str(place.port))
    if place.password:
        facts["auth"] = f"{place.user} {place.password}" if place.user else place.password
    return facts


def attended(env: Mapping[str, str]) -> bool:
    """Does a person sit at this session of Claude Code? The end of one that is run by a program would wait for its waiters."""
    return env.get("CLAUDE_CODE_SESSION_ATTENDED", "1" if env.get("CLAUDE_CODE_ENTRYPOINT") == "cli" else "0") == "1"


def outside(env: Mapping[str, str]) -> str:
    """Why this is not proved to be a session in a window of VS Code on this machine; "" if it is."""
    if env.get("CLAUDE_CODE_ENTRYPOINT") != INSIDE:
        return f"CLAUDE_CODE_ENTRYPOINT is {env.get('CLAUDE_CODE_ENTRYPOINT') or 'not set'}"
    return "it came over SSH: its window is elsewhere" if env.get("SSH_CONNECTION") else ""


def keep(state_dir: str, session: str, facts: dict[str, str]) -> None:
    """Write a session's card, private to this user, and the file that wakes it."""
    if read_pairs(path_of(state_dir, session)) != facts:
        write_pairs(path_of(state_dir, session), facts)
    hang(state_dir, session)


def hang(state_dir: str, session: str) -> str:
    """See to it that the file which wakes a session is there: a harness watches no file that it did not find. Gives its path."""
    bell = bell_of(state_dir, session)
    if not os.path.exists(bell):
        os.makedirs(os.path.dirname(bell), mode=0o700, exist_ok=True)
        with open(os.open(bell, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8"):
            pass
    return bell


def known(state_dir: str, session: str) -> dict[str, str]:
    """A session's card; {} where there is none."""
    return read_pairs(path_of(state_dir, session))


def ended(state_dir: str, session: str, why: str) -> None:
    """Note on a session's card that it is over; the waker lets go of what it held, when nobody took it up again, and removes the card."""
    facts = known(state_dir, session)
    if facts and not facts.get("ended"):
        write_pairs(path_of(state_dir, session), {**facts, "ended": why or "other"})
        _dismissed(state_dir, session)


def nobody(state_dir: str, session: str) -> None:
    """A session is nobody any more, and may become somebody again: remove its card, and leave the file that its harness watches."""
    _remove(state_dir, session, path_of(state_dir, session))


def forget(state_dir: str, session: str) -> None:
    """Remove what is kept of a session."""
    seen = os.path.join(state_dir, SEEN, file_name(session))
    _remove(state_dir, session, path_of(state_dir, session), path_of(state_dir, session) + ".said", bell_of(state_dir, session), seen)
    _dismissed(state_dir, session)


def _remove(state_dir: str, session: str, *paths: str) -> None:
    """Remove files of a session; and, with its card, the URL that no other card names."""
    door = known(state_dir, session).get("door", "")
    for path in paths:
        _unlink(path)
    if door and all(card.get("door") != door for card in cards(state_dir).values()):
        _unlink(doors.path_of(state_dir, door))


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def sound(state_dir: str, session: str) -> dict[str, str]:
    """A session's card, if it says who the session is and how the broker is asked; {} of one that is damaged: it is made anew."""
    card = known(state_dir, session)
    reached = card.get("door") or (card.get("sha") and (card.get("socket") or card.get("port")))
    return card if reached and all(card.get(word) for word in ("agent", "session", "url", "workspace", "keys", "args")) else {}


def cards(state_dir: str) -> dict[str, dict[str, str]]:
    """Every session kept here: file name -> card."""
    folder = os.path.join(state_dir, FOLDER)
    try:
        found = [name for name in sorted(os.listdir(folder)) if not name.endswith(".tmp")]
    except OSError:
        return {}
    return {name: facts for name in found if (facts := read_pairs(os.path.join(folder, name))).get("agent")}


def ring(state_dir: str, session: str, text: str) -> None:
    """Touch the file that wakes a session: once, so that who watches it is not called twice for one ring."""
    bell = os.open(bell_of(state_dir, session), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.write(bell, f"{text}\n".encode("utf-8", "backslashreplace").ljust(os.fstat(bell).st_size, b"\n"))
    finally:
        os.close(bell)


def call(state_dir: str, session: str, text: str) -> bool:
    """Say something to the newest of those who wait for a session (hooks/waiting.py). Gives whether it heard; who does not is gone, and so is its door."""
    folder = _waiters(state_dir, session)
    return any(_called(os.path.join(folder, name), text) for name in reversed(_doors(folder)))


def _called(door: str, text: str) -> bool:
    try:
        hand = os.open(door, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        _gone(door)
        return False
    try:
        return os.write(hand, text.encode("utf-8", "backslashreplace")) > 0
    except OSError:
        return False
    finally:
        os.close(hand)


def waiting(state_dir: str, session: str) -> int:
    """How many wait for a session."""
    return len(_doors(_waiters(state_dir, session)))


def ring_waiter(state_dir: str, session: str, asked: str, text: str) -> bool:
    """Ring whoever waits for a session, for a wake that was ``asked`` for then. Gives whether somebody wakes it: heard this, or saw by itself that it was asked for.

    Who makes the mark of a wake sees to it, so that two waiters at the hand-over do not both wake it. Where nobody heard, the mark goes, and whoever came
    meanwhile, and held still for it, hears now.
    """
    folder = _waiters(state_dir, session)
    mark = os.path.join(folder, RUNG + asked)
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return True
    except OSError:
        return False
    for _ in range(2):  # one that came just now has sent the other one home
        if call(state_dir, session, text + "\n"):
            return True
    _gone(mark)
    return call(state_dir, session, text + "\n")


def _doors(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name[:1].isdigit())
    except OSError:
        return []


def _gone(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _dismissed(state_dir: str, session: str) -> None:
    """Send home whoever waits for a session, and remove what they made."""
    folder = _waiters(state_dir, session)
    for name in _doors(folder):
        _called(os.path.join(folder, name), OVER)
    try:
        for name in os.listdir(folder):
            if not name[:1].isdigit():
                _gone(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        return


def _waiters(state_dir: str, session: str) -> str:
    return os.path.join(state_dir, WAITERS, file_name(session))


def said(state_dir: str, session: str, what: str) -> str:
    """What was last said to the session of something; "" if nothing was."""
    return read_pairs(path_of(state_dir, session) + ".said").get(what, "")


def say(state_dir: str, session: str, what: str, value: str) -> None:
    """Remember what was said to the session of something."""
    path = path_of(state_dir, session) + ".said"
    write_pairs(path, {**read_pairs(path), what: value})


def holding(state_dir: str, session: str, held: list[str]) -> list[str]:
    """Remember what a session holds; what it held when that was asked last."""
    path = path_of(state_dir, session) + ".said"
    found = read_pairs(path)
    now = " ".join(packed(one) for one in held)
    if found.get("held", "") != now:
        write_pairs(path, {**found, "held": now})
    return [unpacked(one) for one in found.get("held", "").split(" ") if one]


def said_once(state_dir: str, session: str, what: str, value: Any) -> bool:
    """Whether this is to be said to the session now: once for each value."""
    if said(state_dir, session, what) == str(value):
        return False
    say(state_dir, session, what, str(value))
    return True
