"""Text that a body cannot forge, written so that what counts as shown really left."""

from __future__ import annotations

import errno
import os
import sys
import time

from ..errors import CannotWrite
from ..text import after, before, inert, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..calls.call import Show

DRAIN_S = 0.05  # how long a pipe's reader is given to take what was written before it counts as shown


def put(text: str) -> None:
    """Write to standard output at once and whole, in its encoding; what that cannot hold is replaced, never a crash.

    Raises:
        CannotWrite: standard output is closed or full. A reader that has gone raises BrokenPipeError.
    """
    if sys.stdout is None:
        raise CannotWrite(why="standard output is closed")
    left = whole = memoryview(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
    while left:
        try:
            left = left[os.write(1, left) :]
        except BlockingIOError:
            _writable()
        except BaseException as error:
            failure: Any = CannotWrite(why=error.strerror) if isinstance(error, OSError) and error.errno != errno.EPIPE else error
            failure.begun = len(left) < len(whole) or isinstance(error, KeyboardInterrupt)  # ^C: it may have left all the same
            raise failure from error


def say(sentence: str) -> None:
    """A remark beside the answer, on standard error."""
    aside(f"redischat: {inert(sentence)}")


def aside(line: str) -> None:
    """One line on standard error. It may be closed or full: the exit code still says it."""
    if sys.stderr is None:
        return
    try:
        os.write(2, f"{line}\n".encode(sys.stderr.encoding or "utf-8", "backslashreplace"))
    except OSError:
        return


def _writable() -> None:
    import select

    select.select([], [1], [], 1)


def drained() -> bool:
    """Did the reader of a pipe take what was written? True for anything but a pipe; a reader that is merely slow is believed after 50 ms."""
    from stat import S_ISFIFO

    if not S_ISFIFO(os.fstat(1).st_mode):
        return True
    import fcntl
    import select

    fionread = 0x541B if sys.platform == "linux" else 0x4004667F
    poll, end = select.poll(), time.monotonic() + DRAIN_S
    poll.register(1, select.POLLOUT)
    while time.monotonic() < end:
        if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
            return False
        if not any(fcntl.ioctl(1, fionread, bytes(4))):  # as bytes: the array module brings collections along, 1.5 ms
            return True
        time.sleep(0.0002)
    return True


def record(row: dict[str, Any]) -> str:
    """One JSON record as a line of ASCII: control characters and direction overrides are escaped, any console can print it."""
    from json import dumps

    return dumps(row, default=str) + "\n"


def records(rows: Iterable[dict[str, Any]]) -> None:
    """One JSON record a line."""
    put("".join(record(row) for row in rows))


class Shower:
    """Shows what a flow hands out; an error raised while showing says how much left whole, and how much may have."""

    __slots__ = ("as_json", "me", "rooms")

    def __init__(self, me: str, *, as_json: bool, rooms: bool) -> None:
        self.me, self.as_json, self.rooms = me, as_json, rooms

    def __call__(self, asked: Show) -> int:
        """Write the notes and messages, oldest first; how many messages left."""
        written = 0
        try:
            if self.as_json:
                records(asked.notes)
            else:
                put("".join(before(note) for note in asked.notes))
                for note in asked.notes:
                    circle(note)
            for one in asked.messages:
                put(record(one) if self.as_json else message(one, self.me, rooms=self.rooms))
                written += 1
            if not self.as_json:
                put("".join(after(note) for note in asked.notes))
            if not drained():
                raise BrokenPipeError(errno.EPIPE, "the reader has gone")
        except BaseException as error:
            # A pipe holds what its reader never took: nothing in it is known to have been seen, so all of it comes again, marked. So does one that left in part.
            gone = isinstance(error, BrokenPipeError)
            begun = getattr(error, "begun", isinstance(error, KeyboardInterrupt))
            error.shown, error.maybe = (0 if gone else written), written + begun  # type: ignore[attr-defined]
            raise
        return written


def circle(note: dict[str, Any]) -> None:
    """Say that those who wait for each other wait in a circle; the wait goes on all the same."""
    if note.get("circle"):
        say(f"{note['circle']}: you wait for each other in a circle. Waiting goes on; somebody else, or a hook, may answer")
