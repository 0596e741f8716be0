"""The waker's life: find the sessions of this host, give each broker's to a thread, end when nobody is left or a newer one asks."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from .. import __version__
from ..broker import rewrite
from ..broker.place import Place
from ..errors import ChatError
from ..hook import alive, doors, tidy, wake
from ..hook import session as cards
from ..settings import host, write_pairs
from .station import Station

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .door import Door

    Card = dict[str, str]
    Key = tuple[str, str]

TELL_S = 5.0
LOOK_S = 1.0  # how often the folder of sessions is looked at
CLOSE_LOOK_S = 0.25  # and the request to close
ALONE_S = 600.0  # it ends when there was no session for so long
STALE_S = 7 * 86_400.0  # a card untouched for so long, of a session whose process cannot be known, or at a broker that is gone
LOG_BYTES = 200_000
TAKE_S = 0.3  # for so long the lock is tried: whoever looks whether there is a waker holds it for a moment
NEW_S = 2.0  # so old is a request to close that a starting one takes for its predecessor's; whoever asked has removed it, if it was heard
_NEEDED = ("agent", "session", "url", "workspace", "project")


class Waker:
    """All brokers and workspaces that this user has sessions in, on this host."""

    def __init__(self, state_dir: str) -> None:
        self.state_dir, self.folder, self.host = state_dir, wake.folder(state_dir), host()
        self.stations: dict[Key, Station] = {}
        self.doors: dict[str, Door] = {}
        self.odd: set[Key] = set()
        self._given: dict[Key, dict[str, dict[str, Card]]] = {}
        self._began, self._company = time.time(), time.monotonic()
        self._told = self._looked = 0.0
        self._facts: dict[str, object] = {}
        self._seen: tuple[int, float] = (0, 0.0)

    def run(self) -> None:
        """Until there is nobody, a newer one asks, or its folder is taken away."""
        while os.path.exists(os.path.join(self.folder, "lock")) and not os.path.exists(os.path.join(self.folder, "close")):
            now = time.monotonic()
            if now - self._looked >= LOOK_S or not self._looked:
                self._looked = now
                try:
                    self._find()
                except Exception as error:  # noqa: BLE001 - what is odd with one card is no reason to leave all sessions alone
                    self.log(f"{type(error).__name__}: {error}")
                if now - self._company > ALONE_S:
                    return
            self._tidy()
            self._tell()
            time.sleep(CLOSE_LOOK_S)

    def _find(self) -> None:
        """Give each broker the sessions that are there now; those whose harness is gone have ended. An unchanged folder is read again only now and then."""
        if not self._changed():
            return
        given: dict[Key, dict[str, dict[str, Card]]] = {}
        asked: dict[str, str] = {}
        for name, card in cards.cards(self.state_dir).items():
            if not all(card.get(word) for word in _NEEDED) or card.get("on", self.host) != self.host:
                continue
            if not card.get("ended"):
                self._company = time.monotonic()
                if alive.gone(card):
                    cards.ended(self.state_dir, card["session"], "gone")
                    card["ended"] = "gone"
            if not self._stale(name, card):
                url = doors.address(self.state_dir, card)
                given.setdefault(key_of(url, card["workspace"]), {}).setdefault(card["workspace"], {})[card["session"]] = card
                if card.get("door") and card.get("socket"):
                    asked[card["socket"]] = url
        self._open(asked)
        if given != self._given:
            self._given = given
            self._share(given)

    def _changed(self) -> bool:
        try:
            changed = os.stat(os.path.join(self.state_dir, cards.FOLDER)).st_mtime_ns
        except OSError:
            changed = 0
        seen, at = self._seen
        if changed == seen and self._looked - at < TELL_S:
            return False
        self._seen = changed, self._looked
        return True

    def _stale(self, name: str, card: Card) -> bool:
        """Forget a card that nobody will come back for."""
        if card.get("born") and not card.get("ended"):
            return False
        try:
            old = time.time() - os.stat(os.path.join(self.state_dir, cards.FOLDER, name)).st_mtime > STALE_S
        except OSError:
            return True
        if old:
            cards.forget(self.state_dir, card["session"])
        return old

    def _open(self, wanted: dict[str, str]) -> None:
        """Have a door for each broker that hooks cannot ask themselves."""
        for path, door in list(self.doors.items()):
            if wanted.get(path) != door.url or not door.is_alive():
                self.doors.pop(path).leave()
                door.join(CLOSE_LOOK_S)
        for path, url in wanted.items():
            if path not in self.doors and os.path.dirname(path) == self.folder:
                try:
                    self.doors[path] = opened(url, path, self.log)
                except (OSError, ChatError) as error:
                    self.log(f"door: {error}")

    def _share(self, given: dict[Key, dict[str, dict[str, Card]]]) -> None:
        for key in self.stations.keys() - given.keys():
            self.stations.pop(key).leave()
        self.odd &= given.keys()
        for key, worlds in given.items():
            if key in self.odd:
                continue
            station = self.stations.get(key)
            if station is None:
                try:
                    station = Station(key[0], self.state_dir, self.host, self.log)
                except ChatError as error:  # no broker's address
                    self.odd.add(key)
                    self.log(str(error))
                    continue
                self.stations[key] = station
                station.give(worlds)
                station.start()
            station.give(worlds)

    def _tidy(self) -> None:
        """Once a day clear away what is long over: here, and at each broker, in its own thread."""
        if not tidy.due(self.state_dir):
            return
        try:
            said = [f"{count} {what}" for what, (count, _) in tidy.cleared(tidy.leftovers(self.state_dir)).items()]
            for station in self.stations.values():
                for world in list(station.worlds.values()):
                    world.prune = True
            if (Place(self.state_dir).url, "") in self.stations and rewrite.rewrite(self.state_dir, wait=False)["done"]:
                said.append("the broker's file is written anew")
        except Exception as error:  # noqa: BLE001 - clearing away is no reason to let a session sleep
            said = [f"{type(error).__name__}: {error}"]
        if said:
            self.log(f"cleared away: {', '.join(said)}")

    def _tell(self) -> None:
        """Say how it is when that has changed, and else now and then: for `waker status`, doctor and whoever asks whether there is one."""
        worlds = [world for station in self.stations.values() for world in list(station.worlds.values())]
        facts = {
            "pid": os.getpid(), "version": __version__, "host": self.host, "since": int(self._began * 1000),
            "sessions": sum(len(world.cards) for world in worlds), "brokers": len({url for url, _ in self.stations}), "deaf": sum(one.ear is None for one in self.stations.values()),
            "unreadable": len(self.odd), "wakes": sum(world.rung for world in worlds), "missed": sum(world.missed for world in worlds),
        }  # fmt: skip
        if facts == self._facts and time.monotonic() - self._told < TELL_S:
            return
        self._facts, self._told = facts, time.monotonic()
        with suppress(OSError):  # a full disk silences nobody's doorbell
            write_pairs(os.path.join(self.folder, "status"), {key: str(value) for key, value in facts.items()} | {"at": str(int(time.time() * 1000))})

    def log(self, line: str) -> None:
        """One line in the waker's log, if it can be written."""
        path = os.path.join(self.folder, "log")
        with suppress(OSError):
            if os.path.exists(path) and os.path.getsize(path) > LOG_BYTES:
                os.replace(path, path + ".1")
            with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {line[:300]!r}\n")

    def close(self) -> None:
        """Leave nothing open."""
        for station in self.stations.values():
            station.leave()
        for door in self.doors.values():
            door.leave()
            door.join(CLOSE_LOOK_S)


def opened(url: str, path: str, log: Callable[[str], None]) -> Door:
    """A door, at work."""
    from .door import Door as Made  # most wakers need none

    door = Made(url, path, log)
    door.start()
    return door


def key_of(url: str, workspace: str) -> Key:
    """What one thread looks after: a broker; in a Cluster, where each workspace may be on a node of its own, a workspace."""
    return url, workspace if url.partition("://")[0].endswith("+cluster") else ""


def started(state_dir: str, held: str = "") -> int:
    """As :func:`main`, of one that was let start, with the descriptor of the lock. Nothing is to be done where its folder was taken away meanwhile."""
    try:
        return _waker(state_dir, int(held) if held else None)
    except FileNotFoundError:
        return 0


def main(state_dir: str) -> int:
    """Be the waker, if there is none of this version or a newer one; the exit code."""
    os.makedirs(wake.folder(state_dir), mode=0o700, exist_ok=True)
    return _waker(state_dir)


def _waker(state_dir: str, held: int | None = None) -> int:
    held = _taken(state_dir) if held is None else held
    if held is None:
        return 0
    folder = wake.folder(state_dir)
    _cleared(folder)
    waker = Waker(state_dir)
    try:
        waker.run()
    except KeyboardInterrupt:
        return 130
    finally:
        waker.close()
        for left in ("close", "status"):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(folder, left))
        os.close(held)
    return 0


def _cleared(folder: str) -> None:
    """Remove what one left that did not end in good order. A request to close that is new may be meant for this one, which held the lock already: it stays."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, "status"))
    close = os.path.join(folder, "close")
    with suppress(FileNotFoundError):
        if time.time() - os.stat(close).st_mtime > NEW_S:
            os.unlink(close)


def _taken(state_dir: str) -> int | None:
    """The lock, held; None where another one is to go on. An older one is asked to make room."""
    if wake.older(wake.status(state_dir).get("version", "")):
        wake.stop(state_dir)
    end = time.monotonic() + TAKE_S
    while (held := wake.lock(state_dir, make=False)) is None and time.monotonic() < end:
        time.sleep(wake.POLL_S)
    return held
