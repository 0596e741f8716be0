"""The local door to a broker that a hook's raw socket cannot speak to (TLS, Sentinel, Cluster): a unix socket at which one script may be asked.

A hook lives for milliseconds, and TLS alone would cost it 25; the connections behind the door live as long as the waker. The door knows the passwords, whoever
knocks does not.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from contextlib import suppress

from ..calls.call import OF_PRELUDE, Call, plain
from ..errors import ChatError, CouldNotLook
from ..keys import SHARED, Keys
from ..lua import script
from ..wire import Wire
from ..wire.guest import Guest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 0.3  # who knocks is gone after 2 s
DOWN_S = 1.0  # a broker that did not answer is not asked again for so long: whoever knocks is turned away at once
SCRIPT = "session_tick"
_WAITING = 128


class Door(threading.Thread):
    """One URL's door. :meth:`leave` closes it."""

    def __init__(self, url: str, path: str, log: Callable[[str], None]) -> None:
        super().__init__(name="door", daemon=True)
        self.url, self.path, self.log = url, path, log
        self._wires: dict[str, Wire] = {}  # one a workspace: in a Cluster each has a node of its own
        self._guests: dict[int, Guest] = {}
        self._down, self._over, self._inode = 0.0, False, 0
        self._bell, self._knock = socket.socketpair()
        self._script = script(SCRIPT)
        with suppress(FileNotFoundError):
            os.unlink(path)  # a waker's that did not end in good order: this one holds the lock
        self._door = socket.socket(socket.AF_UNIX)
        try:
            self._door.bind(path)
            os.chmod(path, 0o600)
            self._inode = os.stat(path).st_ino
            self._door.listen(_WAITING)
        except OSError:
            self._close()
            raise

    def leave(self) -> None:
        """Close it, without being waited for."""
        self._over = True
        with suppress(OSError):
            self._knock.send(b".")

    def run(self) -> None:
        """Until it is told to leave."""
        try:
            while not self._over:
                try:
                    self._turn()
                except Exception as error:  # noqa: BLE001 - one guest's oddities close the door to nobody else
                    self.log(f"door: {type(error).__name__}: {error}")
        finally:
            self._close()

    def _turn(self) -> None:
        """Let in who knocks, answer who has asked."""
        poll = select.poll()
        for number in (self._bell.fileno(), self._door.fileno(), *self._guests):
            poll.register(number, select.POLLIN)
        for number, _ in poll.poll():
            if number == self._door.fileno():
                guest = Guest(self._door.accept()[0])
                self._guests[guest.fileno()] = guest
            elif number in self._guests:
                self._serve(number, self._guests[number])

    def _serve(self, number: int, guest: Guest) -> None:
        """Answer all that it asks; one that is odd, or that cannot be answered, is turned away."""
        asked = guest.asked()
        try:
            if asked is not None and all(self._answered(guest, words) for words in asked):
                return
        except OSError:
            pass  # it has gone
        guest.close()
        del self._guests[number]

    def _answered(self, guest: Guest, words: list[str]) -> bool:
        """Answer one command, if it is the one that may be asked. False: nobody is there to ask."""
        call = self._question(words)
        if call is None:
            guest.refuse("NOSCRIPT this door takes the question of tick.py only")
            return True
        if time.monotonic() < self._down:
            return False
        try:
            guest.answer(self._wire(words[1] if call.script is None else call.keys[0]).run(call))
        except CouldNotLook as error:
            self._down = time.monotonic() + DOWN_S
            self.log(f"door: {error}")
            return False
        except ChatError as error:
            guest.refuse(f"ERR {error.code}")
        return True

    def _question(self, words: list[str]) -> Call | None:
        """What is asked, if it may be: the one script, or how one session is (hooks/waiting.py)."""
        if len(words) == 3 and words[0] == "HGET" and words[1] == Keys(_workspace(words[1]).partition("{")[2]).presence:  # noqa: PLR2004 - HGET key field
            return plain(*words)
        keys, args = self._parted(words)
        return Call(self._script, keys, args, lambda reply: reply) if keys else None

    def _parted(self, words: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Keys and arguments of the one script that may be asked, in one workspace; nothing of anything else."""
        count = int(words[2]) if len(words) > 3 and words[2].isdecimal() else 0  # noqa: PLR2004 - EVALSHA sha count key
        keys, args = tuple(words[3 : 3 + count]), tuple(words[3 + count :])
        ours = (
            words[0] == "EVALSHA"
            and words[1:2] == [self._script.sha]
            and len(keys) == len(self._script.keys) + OF_PRELUDE
            and len(args) == len(self._script.args)
        )
        return (keys, args) if ours and keys[0].startswith(SHARED) and len({_workspace(key) for key in keys}) == 1 else ((), ())

    def _wire(self, key: str) -> Wire:
        return self._wires.setdefault(_workspace(key), Wire(self.url, patience=PATIENCE_S))

    def _close(self) -> None:
        for sock in (self._door, self._bell, self._knock):
            sock.close()
        for guest in self._guests.values():
            guest.close()
        for wire in self._wires.values():
            wire.close()
        with suppress(OSError):
            if os.stat(self.path).st_ino == self._inode:  # else a newer door's
                os.unlink(self.path)


def _workspace(key: str) -> str:
    """What stands between the braces of a key."""
    return key.partition("}")[0]
