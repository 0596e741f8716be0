"""The two pipes of the process, kept for the protocol alone; and how much of what was written the other end has taken. Imports nothing that could print."""

from __future__ import annotations

import os
import stat
import sys

from ..errors import Refused

_FIRST_FREE = 3  # above the standard descriptors


def divert() -> tuple[int, int]:
    """Keep the two pipes for the protocol alone: from now on, what anything else prints goes to standard error, and what it reads is empty. Gives in, out.

    Raises:
        Refused: one of them is closed.
    """
    try:
        pipes = tuple(_kept(one) for one in (0, 1))
    except OSError:
        raise Refused(
            message="an MCP server speaks on standard input and output, and one of them is closed. Without them: redischat mcp --http 127.0.0.1:8765"
        ) from None
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(null, 1)
        os.dup2(null, 2)
    os.close(null)
    sys.stdout = sys.stderr if sys.stderr is not None else open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for as long as the process lives
    return pipes[0], pipes[1]


def _kept(descriptor: int) -> int:
    import fcntl

    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)


def unread(descriptor: int) -> int:
    """How much of what was written to a pipe or a socket its reader has not taken; -1 if it has gone, 0 where that cannot be told."""
    import fcntl
    import select

    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return 0
    poll = select.poll()
    poll.register(descriptor, select.POLLOUT)
    if any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0)):
        return -1
    linux = sys.platform == "linux"
    if stat.S_ISSOCK(mode) and not linux:
        return 0
    request = (0x5411 if stat.S_ISSOCK(mode) else 0x541B) if linux else 0x4004667F  # SIOCOUTQ, FIONREAD
    try:
        return int.from_bytes(fcntl.ioctl(descriptor, request, bytes(4)), sys.byteorder, signed=True)
    except OSError:
        return 0
