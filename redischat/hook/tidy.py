"""What lies in a state directory of sessions that are long over: found, told, and removed if it still is as it was when it was judged."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from ..settings import host, read_pairs
from . import alive, doors, fired, wake
from . import session as cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

DAY_S = 86_400.0
OVER_S = 7 * DAY_S  # a card without news for so long, of a session that is over
OLD_S = 30 * DAY_S  # what a session that is alive may still need: its bell, the marks of its events, its proof
STAMP = "maintained"  # when this state directory was last cleared; its time is the time
_CARDS = "cards of sessions that are over"
_BELLS = "bells that no session hears"
_MARKS = "marks of events that come no more"
_DRAFTS = "drafts of writes that never ended"
_HOSTS = "wakers of hosts that are gone"
_DOORS = "addresses of brokers that no session is at"
_WAITERS = "doors of waiters of sessions that are over"
PROOFS = "proofs of names that passed on"


class Left:
    """One file that is left over: why, where, how many bytes, and when it was written."""

    __slots__ = ("at", "path", "size", "why")

    def __init__(self, why: str, path: str) -> None:
        facts = os.lstat(path)
        self.why, self.path, self.size, self.at = why, path, facts.st_size, facts.st_mtime

    def remove(self) -> bool:
        """Remove it, unless it was written meanwhile. Gives whether it is gone by this."""
        try:
            if os.lstat(self.path).st_mtime != self.at:
                return False
            os.unlink(self.path)
        except OSError:
            return False
        return True


def leftovers(state_dir: str) -> list[Left]:
    """All of it, but for proofs, which the broker must be asked about."""
    now = time.time()
    over = list(_cards(state_dir, now))
    return [
        *over,
        *_addresses(state_dir, {one.path for one in over}, now),
        *_bells(state_dir, now),
        *_marks(state_dir, now),
        *_drafts(state_dir, now),
        *_hosts(state_dir, now),
    ]


def proofs(folder: str) -> list[tuple[Left, str, str]]:
    """The proofs of names in a folder of bindings that are old enough to be looked at: (file, agent, token)."""
    now, found = time.time(), []
    for one in _listed(PROOFS, folder, now - OLD_S):
        facts = read_pairs(one.path)
        if facts.get("agent") and facts.get("token"):
            found.append((one, facts["agent"], facts["token"]))
    return found


def _listed(why: str, folder: str, before: float) -> list[Left]:
    """The files of a folder that were written before a time, drafts and locks aside."""
    found = []
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        try:
            one = Left(why, path)
        except OSError:
            continue
        if one.at < before and not name.endswith(".tmp") and os.path.isfile(path):
            found.append(one)
    return found


def _cards(state_dir: str, now: float) -> Iterator[Left]:
    """Cards of this host that have ended (their waker would have removed them) or whose harness is gone, and what was said to sessions without a card."""
    folder = os.path.join(state_dir, cards.FOLDER)
    for one in _listed(_CARDS, folder, now - OVER_S):
        name = one.path.removesuffix(".said")
        facts = read_pairs(name)
        if not os.path.exists(name) or (facts.get("on", host()) == host() and (facts.get("ended") or alive.gone(facts))):
            yield one


def _bells(state_dir: str, now: float) -> Iterator[Left]:
    yield from _listed(_CARDS, os.path.join(state_dir, cards.SEEN), now - DAY_S)  # of commands that never came back
    folder = os.path.join(state_dir, cards.FOLDER)
    for one in _listed(_BELLS, os.path.join(state_dir, cards.BELLS), now - OLD_S):
        if not os.path.exists(os.path.join(folder, os.path.basename(one.path))):
            yield one


def _addresses(state_dir: str, over: set[str], now: float) -> Iterator[Left]:
    """URLs, passwords and all, that no card names any more, those ``over`` aside; and what the waiters of such sessions left."""
    folder = os.path.join(state_dir, cards.FOLDER)
    left = {name: card for name, card in cards.cards(state_dir).items() if os.path.join(folder, name) not in over}
    named = {card.get("door") for card in left.values()}
    for one in _listed(_DOORS, os.path.join(state_dir, doors.FOLDER), now - DAY_S):
        if os.path.basename(one.path) not in named:
            yield one
    above = os.path.join(state_dir, cards.WAITERS)
    for name in sorted(os.listdir(above)) if os.path.isdir(above) else ():
        if name not in left:
            yield from _listed(_WAITERS, os.path.join(above, name), now - DAY_S)


def _marks(state_dir: str, now: float) -> list[Left]:
    return _listed(_MARKS, os.path.join(state_dir, fired.FOLDER), now - OLD_S)


def _drafts(state_dir: str, now: float) -> Iterator[Left]:
    """Drafts (settings.write_pairs) of a writer that died. The lock of the bindings ends like one, and stays."""
    for folder, _, names in os.walk(state_dir):
        for name in sorted(names):
            if name.endswith(".tmp") and name.split(".")[-2].isdigit():
                one = Left(_DRAFTS, os.path.join(folder, name))
                if one.at < now - DAY_S:
                    yield one


def _hosts(state_dir: str, now: float) -> Iterator[Left]:
    """What wakers left that ran under names of hosts which no longer exist: each container has its own."""
    above = os.path.join(state_dir, wake.FOLDER)
    try:
        names = [name for name in sorted(os.listdir(above)) if name != host()]
    except OSError:
        return
    for name in names:
        found = _listed(_HOSTS, os.path.join(above, name), now + DAY_S)
        if found and max(one.at for one in found) < now - OLD_S and not _held(os.path.join(above, name, "lock")):
            yield from found


def _held(path: str) -> bool:
    """Does a process of another host hold this lock, as far as the file system tells?"""
    from fcntl import LOCK_NB, LOCK_SH, flock

    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        flock(descriptor, LOCK_SH | LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def cleared(left: list[Left]) -> dict[str, tuple[int, int]]:
    """Remove them. Gives why -> (how many, bytes) of what is really gone."""
    return summed([one for one in left if one.remove()])


def summed(left: list[Left]) -> dict[str, tuple[int, int]]:
    """Why -> (how many, bytes)."""
    found: dict[str, tuple[int, int]] = {}
    for one in left:
        count, size = found.get(one.why, (0, 0))
        found[one.why] = count + 1, size + one.size
    return found


def due(state_dir: str) -> bool:
    """Is it a day since this was last done here? If so, it is noted down as done now: of many that ask at once few do it twice, which harms nothing."""
    path = os.path.join(state_dir, STAMP)
    try:
        if abs(time.time() - os.stat(path).st_mtime) < DAY_S:  # a clock may have been ahead
            return False
    except OSError:
        pass
    stamp(state_dir)
    return True


def stamp(state_dir: str) -> None:
    """It was done now."""
    with suppress(OSError), open(os.path.join(state_dir, STAMP), "w", encoding="utf-8"):
        pass  # its time is all that it says
