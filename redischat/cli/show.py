"""Text that a body cannot forge, written so that what counts as shown really left."""

from __future__ import annotations

import errno
import os
import sys
import time

from ..errors import CannotWrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..calls.call import Show

INDENT = "    "
DRAIN_S = 0.05  # how long a pipe's reader is given to take what was written before it counts as shown
_KEPT = frozenset("\u200d\u200c\u00a0\u3000\u2009\u202f\t")  # joiners of emoji and scripts, spaces: printable in all but name
_SUMMARY_CHARS = 200


def inert(text: str) -> str:
    """One line with every control character, direction override and line break made visible: it can neither act nor pretend."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else c.encode("ascii", "backslashreplace").decode() if c > "\x7f" else f"\\x{ord(c):02x}" for c in text)


def field(text: str) -> str:
    """A value in a header line: inert, and without the double spaces that part one field from the next."""
    return inert(" ".join(text.split()))


def block(text: str, prefix: str = INDENT) -> str:
    """A text of many lines, each inert and indented: no line of it can stand where the tool's own lines stand."""
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return "".join(f"{prefix}{inert(line)}\n" for line in lines)


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


def before(note: dict[str, Any]) -> str:
    """What must be known before the first message: a hole where messages were removed, or history that went back."""
    text = ""
    if note.get("gap"):
        first = note["first"]
        low, high = first - note["gap"], first - 1
        text += f"#{note['channel']}: messages {low}-{high} ({note['gap']}) were removed before they were read here\n"
    if note.get("gone_from"):
        text += f"REWOUND #{note['channel']}: messages {note['gone_from']}-{note['gone_to']} are gone (the broker's data was set back); new ones will use these numbers again\n"
    if note.get("busy_until"):
        text += f"#{note['channel']}: another reader of yours is showing this until {when(note['busy_until'])}; what it does not show comes here\n"
    return text


def after(note: dict[str, Any]) -> str:
    """What is left: unread and not shown, or only for others."""
    text = ""
    if note.get("more"):
        text += f"#{note['channel']}: {note['more']} more unread: redischat read {note['channel']}\n"
    if note.get("passive"):
        people = ", ".join(sorted({one["from"] for one in note["previews"]}))
        text += f"#{note['channel']}: {note['passive']} not for you (from {people}), still unread: redischat read {note['channel']}\n"
    return text


def message(one: dict[str, Any], me: str, *, rooms: bool = False) -> str:
    """One message: a header that the tool wrote, the body indented below."""
    number = f"#{one['seq']}" if one["seq"] is not None else f"#{one['after']}.{one['n']}"
    parts = [f"{one['channel']} {number}" if rooms else number, field(one["from"] + aimed(one, me)), when(one["ts"])]
    if one["kind"] != "message":
        parts.append(one["kind"])
    if one["reply_to"]:
        parts.append(f"answers #{one['reply_to']}")
    parts += [f"{key}: {field(one[key])}" for key in ("status", "thread", "title") if one[key] and (key, one[key]) != ("status", "discussion")]
    if one["repeat"]:
        parts.append("repeat: may have been shown before")
    text = "  ".join(parts) + "\n" + block(one["body"])
    if one["cut"]:
        text += f"{INDENT}[cut: {one['cut']} bytes in all; the rest: redischat read {one['channel']} --since {one['seq']} --limit 1]\n"
    return text


def aimed(one: dict[str, Any], me: str) -> str:
    """Whom it wakes; nothing for an unaddressed one."""
    to = one["to"]
    if to is None or one["kind"] != "message":
        return ""
    if isinstance(to, str):
        return " -> everyone" if to == "all" else " -> nobody"
    return " -> " + ", ".join(["you"] * (me in [name.lower() for name in to]) + [name for name in to if name.lower() != me])


def when(iso: str | None) -> str:
    """``2026-11-30T22:25:44.123Z`` as ``2026-11-30 22:25:44Z``."""
    return f"{iso[:10]} {iso[11:19]}Z" if iso else "never"


def listed(names: list[str], count: int) -> str:
    """Names up to the number a receipt shows, then a count."""
    if count <= len(names):
        return ", ".join(names) or "nobody"
    return f"{', '.join(names)} and {count - len(names)} more" if names else f"{count} agents"


def rules(found: dict[str, Any]) -> str:
    """A channel's briefing: fenced, attributed, labelled as the channel's claim. Whoever opened the room wrote it; the tool does not vouch for it."""
    if not found.get("briefing"):
        return ""
    author = found.get("briefing_by") or "someone"
    head = f"House rules of #{found['channel']}, written by {author} on {when(found['briefing_at'])}. They are {author}'s claim, not an instruction from redischat:\n"
    return head + block(found["briefing"], "  | ") + f"End of the house rules of #{found['channel']}.\n"
