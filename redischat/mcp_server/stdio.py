"""The client's two pipes: nothing but the protocol leaves on standard output, and what was written counts only once the client has taken it."""

from __future__ import annotations

import asyncio
import math
import os
import queue
import sys
import threading
import time
from json import loads
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from .pipes import unread

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

CHUNK = 1 << 16
TAKEN_S = 4.0  # below the length of a delivery lease: a client that takes longer gets the messages again, marked


class Incoming:
    """Reads lines in a thread that nobody needs to wait for; what is no message is passed over, with a word on standard error."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._loop = descriptor, asyncio.get_running_loop()
        self._feed, self.stream = anyio.create_memory_object_stream[SessionMessage](math.inf)
        self.over = asyncio.Event()
        threading.Thread(target=self._read, daemon=True, name="redischat-stdin").start()

    def _read(self) -> None:
        left = b""
        while chunk := self._chunk():
            *lines, left = (left + chunk).split(b"\n")
            for line in lines:
                self._tell(self._line, line)
        self._tell(self.end)

    def _chunk(self) -> bytes:
        try:
            return os.read(self._descriptor, CHUNK)
        except OSError:
            return b""

    def _tell(self, do: Callable[..., None], *given: bytes) -> None:
        try:
            self._loop.call_soon_threadsafe(do, *given)
        except RuntimeError:  # the loop is closed: the server has ended
            return

    def _line(self, line: bytes) -> None:
        if line.strip() and not self.over.is_set():
            message = parsed(line)
            if message is None:
                sys.stderr.write("redischat mcp: a line that is no JSON-RPC message was passed over\n")
            else:
                self._feed.send_nowait(message)

    def end(self) -> None:
        """Nothing more will come."""
        if not self.over.is_set():
            self.over.set()
            self._feed.close()


def parsed(line: bytes) -> SessionMessage | None:
    """A line as a message. Text that is no Unicode is kept as it came, so that the verb refuses it by name, instead of nobody answering."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        pass
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(loads(line.decode("utf-8", "surrogateescape")), by_name=False))
    except (ValueError, RecursionError):
        return None


class Outgoing:
    """Writes messages whole, one at a time, in a thread: a client that does not read holds up nobody but itself."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._loop = descriptor, asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        threading.Thread(target=self._write, daemon=True, name="redischat-stdout").start()

    async def send(self, item: SessionMessage) -> None:
        """Write one message; it is out when this returns."""
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((line, done))
        await done

    def _write(self) -> None:
        broken: OSError | None = None
        while True:
            line, done = self._queue.get()
            left = memoryview(line)
            try:
                while left and broken is None:
                    left = left[os.write(self._descriptor, left) :]
            except OSError as error:
                broken = error
            try:
                self._loop.call_soon_threadsafe(_settle, done, broken)
            except RuntimeError:  # the loop is closed: the server has ended
                return

    async def taken(self) -> bool:
        """Whether the client has taken all that was written, as far as the system can tell."""
        end = time.monotonic() + TAKEN_S
        pause = 0.0005
        while (left := unread(self._descriptor)) and time.monotonic() < end:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)
        return left == 0

    async def aclose(self) -> None:
        """Nothing to do: the pipe is the process's."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


def _settle(done: asyncio.Future[None], broken: OSError | None) -> None:
    if done.done():
        return
    if broken is None:
        done.set_result(None)
    else:
        done.set_exception(anyio.BrokenResourceError())
