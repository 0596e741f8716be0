"""Runs the server until its client has gone: over two pipes, or over HTTP."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from . import stdio
from .server import built
from .table import DEFAULT, chosen

if TYPE_CHECKING:
    from .seat import Place
    from .server import ChatServer

__all__ = ["DEFAULT", "over_pipes"]

GRACE_S = 4.0  # after the client has gone, what is being given back may take so long


def over_pipes(place: Place, tools: str, pipes: tuple[int, int]) -> int:
    """Serve the client at these two descriptors until it closes one of them."""
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, force=True)
    server = built(place, chosen(tools))
    asyncio.run(_served(server, *pipes))
    return 0


async def _served(server: ChatServer, source: int, sink: int) -> None:
    incoming, outgoing = stdio.Incoming(source), stdio.Outgoing(sink)
    loop = asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with suppress(ValueError, NotImplementedError):  # not the main thread; a loop without signals (Windows): then it ends with what it serves
            loop.add_signal_handler(one, incoming.end)
    last = asyncio.create_task(_last(incoming))
    server.arrived = outgoing.taken
    await server.run(incoming.stream, outgoing, server.create_initialization_options())
    last.cancel()


async def _last(incoming: stdio.Incoming) -> None:
    """Whatever hangs: a server without a client ends."""
    await incoming.over.wait()
    timer = threading.Timer(GRACE_S, os._exit, (0,))
    timer.daemon = True
    timer.start()
