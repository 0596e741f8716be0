"""The waker's life: find the sessions of this host, hear their doorbells, ring those that are idle, beat for all of them, end when nobody is left."""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress

from .. import __version__
from ..errors import ChatError
from ..hook import session as cards
from ..settings import Place, host, read_pairs, write_pairs
from .ear import Ear, now, pause
from .world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BEAT_S = 5.0
LOOK_S = 1.0  # how often the folder of sessions is looked at
ALONE_S = 600.0  # it ends when there was no session for so long
FOLDER = "waker"
_LOST = (OSError, ChatError)


class Waker:
    """All brokers and workspaces that this user has sessions in, on this host."""

    def __init__(self, state_dir: str) -> None:
        self.state_dir, self.host = state_dir, host()
        self.worlds: dict[tuple[str, str], World] = {}
        self.ears: dict[str, Ear] = {}
        self.rings = 0
        self._tries: dict[str, int] = {}
        self._again: dict[str, float] = {}
        self._seen = -1.0
        self._company = now()

    def run(self) -> None:
        """Until there is nobody, or a newer one asks."""
        beat = 0.0
        while not os.path.exists(os.path.join(self.state_dir, FOLDER, "close")):
            fresh = self._find()
            if now() >= beat or fresh:
                beat = now() + BEAT_S
                self._each(World.beat)
                self._each(World.overdue)
                self._tune()
                self._tell()
            if self.worlds:
                self._company = now()
            elif now() - self._company > ALONE_S:
                return
            self._wait(min(LOOK_S, max(0.0, beat - now())))

    def _find(self) -> bool:
        """Look whether sessions came or went. Gives whether they did."""
        folder = os.path.join(self.state_dir, cards.FOLDER)
        try:
            changed = os.stat(folder).st_mtime
        except OSError:
            changed = 0.0
        if changed == self._seen:
            return False
        self._seen = changed
        found = cards.cards(self.state_dir)
        places: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
        for card in found.values():
            places.setdefault((card["url"], card["workspace"]), {})[card["session"]] = card
        for key in self.worlds.keys() - places.keys():
            self.worlds.pop(key).close()
        for (url, workspace), mine in places.items():
            world = self.worlds.setdefault((url, workspace), World(url, workspace, self.state_dir, self.host))
            world.cards = mine
        return True

    def _each(self, act: Any) -> None:
        """Do something at each broker; one that does not answer is left alone for a while."""
        for world in list(self.worlds.values()):
            if self._again.get(world.url, 0.0) > now():
                continue
            try:
                act(world)
            except _LOST:
                self._lost(world.url)

    def _tune(self) -> None:
        """Hear the doorbells of all sessions: one connection a broker. What may have rung before is looked at."""
        for url in {world.url for world in self.worlds.values()}:
            if self._again.get(url, 0.0) > now():
                continue
            mine = [world for world in self.worlds.values() if world.url == url]
            try:
                bells = set().union(*(world.listen_to() for world in mine))
                if url not in self.ears:
                    self.ears[url] = Ear(Place(url))
                if self.ears[url].tune(bells):
                    self._look(mine)
                self._tries[url] = 0
            except _LOST:
                self._lost(url)
        for url in self.ears.keys() - {world.url for world in self.worlds.values()}:
            self.ears.pop(url).close()

    @staticmethod
    def _look(worlds: list[World]) -> None:
        for world in worlds:
            for session in list(world.cards):
                world.look(session)

    def _wait(self, seconds: float) -> None:
        ears = {ear.fileno(): url for url, ear in self.ears.items()}
        if not ears:
            time.sleep(seconds)
            return
        ready, _, _ = select.select(list(ears), [], [], seconds)
        for one in ready:
            try:
                self._heard(ears[one])
            except _LOST:
                self._lost(ears[one])

    def _heard(self, url: str) -> None:
        """Ring whom it is for; each session once, however often it rang."""
        rang = self.ears[url].heard()
        for world in [world for world in self.worlds.values() if world.url == url]:
            asked: dict[str, None] = {}
            for bell, payload in rang:
                if payload == "rooms":
                    self._seen = -1.0  # other channels: other doorbells
                asked.update(dict.fromkeys(world.concerned(bell)))
            for session in asked:
                self.rings += 1
                world.look(session)

    def _lost(self, url: str) -> None:
        ear = self.ears.pop(url, None)
        if ear is not None:
            ear.close()
        self._tries[url] = self._tries.get(url, 0) + 1
        self._again[url] = now() + pause(self._tries[url])

    def _tell(self) -> None:
        """Say how it is, for `waker status` and doctor."""
        facts = {
            "pid": os.getpid(), "version": __version__, "host": self.host, "at": int(time.time() * 1000), "brokers": len({url for url, _ in self.worlds}),
            "sessions": sum(len(world.cards) for world in self.worlds.values()), "rings": self.rings,
            "deaf": sum(1 for world in self.worlds.values() if world.url not in self.ears),
        }  # fmt: skip
        write_pairs(os.path.join(self.state_dir, FOLDER, "status"), {key: str(value) for key, value in facts.items()})

    def close(self) -> None:
        """Leave nothing open."""
        for ear in self.ears.values():
            ear.close()
        for world in self.worlds.values():
            world.close()


def lock(state_dir: str) -> int | None:
    """A descriptor that holds the waker's lock; None while one runs."""
    import fcntl

    folder = os.path.join(state_dir, FOLDER)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def main(state_dir: str) -> int:
    """Be the waker, if there is none; the exit code."""
    held = lock(state_dir)
    if held is None:
        return 0
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(state_dir, FOLDER, "close"))
    waker = Waker(state_dir)
    try:
        waker.run()
    except KeyboardInterrupt:
        return 130
    finally:
        waker.close()
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(state_dir, FOLDER, "status"))
        os.close(held)
    return 0


def status(state_dir: str) -> dict[str, str]:
    """What the running waker last said of itself; {} when none runs."""
    held = lock(state_dir)
    if held is not None:
        os.close(held)
        return {}
    return read_pairs(os.path.join(state_dir, FOLDER, "status")) or {"version": "starting"}


def start(state_dir: str) -> bool:
    """Start one, detached, if none runs; an older one is asked to make room. Gives whether one was started."""
    import subprocess

    running = status(state_dir)
    if running and running.get("version", __version__) >= __version__:
        return False
    if running:
        stop(state_dir)
    with open(os.devnull, "r+b") as nothing:
        words = [sys.executable, "-c", f"import sys; from redischat.waker.run import main; sys.exit(main({state_dir!r}))"]
        subprocess.Popen(words, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd="/")
    return True


def stop(state_dir: str, patience: float = 3.0) -> bool:
    """Ask the running one to close, and wait until it has. Gives whether none runs any more."""
    if not status(state_dir):
        return True
    write_pairs(os.path.join(state_dir, FOLDER, "close"), {"by": __version__})
    end = now() + patience
    while now() < end:
        if not status(state_dir):
            return True
        time.sleep(0.02)
    return False
