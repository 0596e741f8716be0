"""One broker as a waker sees it, in a thread of its own: whatever hangs there (a name, a connection, a stopped server) keeps nobody else's sessions waiting."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import suppress

from ..errors import ChatError
from ..settings import Place
from ..wire import Wire
from .ear import Ear
from .world import World

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Cards = dict[str, dict[str, dict[str, str]]]  # workspace -> session -> card

BEAT_S = 5.0
PAUSE_S = (0.05, 2.0)  # how long a broker that does not answer is left alone: doubling from, up to


class Station(threading.Thread):
    """All workspaces of one broker: two connections, one to listen and one to ask."""

    def __init__(self, url: str, state_dir: str, host: str, log: Callable[[str], None]) -> None:
        super().__init__(name=f"broker {Place(url).shown}", daemon=True)
        self.place, self.state_dir, self.host, self.log = Place(url), state_dir, host, log
        self.worlds: dict[str, World] = {}
        self.ear: Ear | None = None
        self._wire = Wire(url)
        self._given: Cards | None = None
        self._over = False
        self._tries, self._beat = 0, 0.0
        self._door, self._knock = socket.socketpair()

    def give(self, cards: Cards) -> None:
        """These are its sessions from now on."""
        self._given = cards
        self._ring()

    def leave(self) -> None:
        """End, without being waited for."""
        self._over = True
        self._ring()

    def _ring(self) -> None:
        with suppress(OSError):
            self._knock.send(b".")

    def run(self) -> None:
        """Until it is told to leave."""
        while not self._over:
            try:
                self._turn()
            except (OSError, ChatError) as error:
                self._lost(str(error))
            except Exception as error:  # noqa: BLE001 - one broker's oddities end nobody's wakes
                self._lost(f"{type(error).__name__}: {error}")
        self._close()
        self._door.close()
        self._knock.close()

    def _turn(self) -> None:
        """Take what is new of its sessions, beat, look where it is time, then sleep until something happens."""
        given, self._given = self._given, None
        if given is not None:
            self._take(given)
        if self.ear is None or given is not None:
            self._tune()
        if given is not None or time.monotonic() >= self._beat:
            self._beat = time.monotonic() + BEAT_S
            for world in self.worlds.values():
                world.beat()
        for world in self.worlds.values():
            world.look_again()
        self._tries = 0
        self._listen(min([self._beat, *(world.due() for world in self.worlds.values())]))

    def _take(self, given: Cards) -> None:
        for workspace in self.worlds.keys() - given.keys():
            del self.worlds[workspace]
        for workspace, cards in given.items():
            if workspace not in self.worlds:
                self.worlds[workspace] = World(self._wire, workspace, self.state_dir, self.host, self.log)
            self.worlds[workspace].take(cards)

    def _tune(self) -> None:
        """Hear the doorbells of all sessions. Each is looked at when its doorbell is heard for certain."""
        bells = set[str]().union(*(world.bells() for world in self.worlds.values()))
        self.ear = self.ear or Ear(self._wire)
        self.ear.tune(bells)

    def _listen(self, until: float) -> None:
        ears = [self._door, *([self.ear] if self.ear else ())]
        poll = select.poll()  # unlike select, at home with any number of files
        for one in ears:
            poll.register(one, select.POLLIN)
        ready = {number for number, _ in poll.poll(max(0.0, until - time.monotonic()) * 1000)}
        if self._door.fileno() in ready:
            self._door.recv(4096)
        if self.ear and self.ear.fileno() in ready:
            rang = self.ear.heard()
            if any([world.heard(rang) for world in self.worlds.values()]):  # noqa: C419 - each is to hear
                self._tune()

    def _lost(self, why: str) -> None:
        """Let go of the connections, and leave the broker alone for a while."""
        if not self._tries:
            self.log(f"{self.place.shown}: {why}")
        self._close()
        pause = min(PAUSE_S[0] * 2**self._tries, PAUSE_S[1])
        self._tries += 1
        self._listen(time.monotonic() + pause)

    def _close(self) -> None:
        if self.ear is not None:
            self.ear.close()
        self.ear, self._beat = None, 0.0
        self._wire.close()
