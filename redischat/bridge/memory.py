"""What a bridge remembers over a restart, in one file of this user's state directory: how far Slack was read, whose thread is whose, what is half posted."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from ..errors import CannotKeep
from .slack import stamp

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST = 500  # threads and numbers that are remembered; the oldest are forgotten
OWED = 20  # threads in which one agent's answer may be outstanding
WATCHED_S = 86_400.0  # for so long after its first message a thread is looked at


class Thread:
    """One message of Slack that others may hang from. ``mark``: the newest reply that was dealt with.

    ``owner``: the agent whose thread it is, by message ``seq``: who has ``begun`` it; else who answered last in it; "" for nobody.
    """

    __slots__ = ("begun", "mark", "owner", "seq")

    def __init__(self, mark: str, owner: str = "", seq: int = 0, *, begun: bool = False) -> None:
        self.mark, self.owner, self.seq, self.begun = mark, owner, seq, begun


class Memory:
    """The file, and what it says. ``cursor``: up to where the channel was read, "" if nothing is known; ``sending``: the message that is being posted."""

    def __init__(self, path: str, say: Callable[[str], None]) -> None:
        self.path = path
        self.cursor = ""
        self.threads: dict[str, Thread] = {}
        self.owed: dict[str, list[str]] = {}
        self.asked: dict[int, str] = {}
        self.sending: dict[str, Any] = {}
        try:
            with open(path, encoding="utf-8") as file:
                self._take(json.load(file))
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            self._forget()
            say(f"{path} cannot be read ({type(error).__name__}): Slack is read from now on, and threads of before are not known any more")

    def _take(self, found: dict[str, Any]) -> None:
        self.cursor = found["cursor"] if stamp(found["cursor"]) else ""
        for ts, (mark, owner, seq, begun) in found["threads"].items():
            if stamp(ts) and stamp(mark):
                self.threads[ts] = Thread(mark, str(owner), int(seq), begun=bool(begun))
        self.owed = {str(agent): [ts for ts in roots if stamp(ts)] for agent, roots in found["owed"].items()}
        self.asked = {int(seq): ts for seq, ts in found["asked"].items() if stamp(ts)}
        sending = found["sending"]
        if sending and {"key", "root", "loose", "since"} <= sending.keys() and all(stamp(ts) for ts in sending["parts"]):
            self.sending = dict(sending)

    def _forget(self) -> None:
        self.cursor, self.sending = "", {}
        self.threads, self.owed, self.asked = {}, {}, {}

    def keep(self) -> None:
        """Write it down, whole or not at all.

        Raises:
            CannotKeep: the disk does not take it. Going on would post twice after a restart.
        """
        threads = {ts: [one.mark, one.owner, one.seq, one.begun] for ts, one in self.threads.items()}
        found = {"cursor": self.cursor, "threads": threads, "owed": self.owed, "asked": self.asked, "sending": self.sending}
        draft = f"{self.path}.{os.getpid()}.tmp"
        try:
            with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump(found, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self.path)
        except OSError as error:
            raise CannotKeep(path=self.path, why=error.strerror, remedy="Make room there and start the bridge again: redischat bridge slack") from error

    def clear(self) -> None:
        """The channel is gone, and all this with it."""
        self._forget()
        with suppress(OSError):
            os.unlink(self.path)

    def hang(self, ts: str, owner: str = "", seq: int = 0) -> None:
        """A message that others may hang from, of an agent or of nobody here."""
        self._newest(ts, self.threads.get(ts) or Thread(ts, owner, seq, begun=bool(owner)))

    def answered(self, ts: str, agent: str, seq: int) -> None:
        """An agent has spoken in a thread."""
        known = self.threads.get(ts) or Thread(ts)
        if not known.begun:
            known.owner, known.seq = agent, seq
        self._newest(ts, known)

    def _newest(self, ts: str, thread: Thread) -> None:
        self.threads.pop(ts, None)
        self.threads[ts] = thread
        _bound(self.threads)

    def owe(self, agents: list[str], root: str, seq: int) -> None:
        """These were asked in this thread, by message ``seq``."""
        for agent in agents:
            roots = self.owed.setdefault(agent.lower(), [])
            if root not in roots:
                roots.append(root)
            del roots[:-OWED]
        self.asked[seq] = root
        _bound(self.owed)
        _bound(self.asked)

    def place(self, sender: str, thread: str | None, reply_to: int | None) -> str:
        """The thread that a message of an agent belongs into; "" for the channel.

        The one that it names; the one of the message that it answers; else the only one in which its answer is outstanding. Of several none is guessed, and
        none is outstanding any more.
        """
        roots = self.owed.get(sender.lower(), [])
        named = thread if thread in self.threads else self.asked.get(reply_to or 0, "")
        if named:
            with suppress(ValueError):
                roots.remove(named)
            return named
        self.owed.pop(sender.lower(), None)
        return roots[0] if len(roots) == 1 else ""

    def watched(self) -> list[str]:
        """The threads that may still get replies, newest first."""
        since = (int(time.time() - WATCHED_S), 0)
        return sorted((ts for ts in self.threads if stamp(ts) >= since), key=stamp, reverse=True)


def _bound(found: dict[Any, Any]) -> None:
    while len(found) > MOST:
        del found[next(iter(found))]
