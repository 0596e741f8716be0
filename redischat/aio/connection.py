"""One broker through redis-py: sends Calls, asks again with the same idempotency key when an answer was lost, makes the server's errors ours."""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from typing import TYPE_CHECKING

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError
from redis.exceptions import TimeoutError as NoAnswer

from ..calls.call import ANSWER_S, CONNECT_S, KEEPALIVE, LOADING_S, PAUSE_S, RETRY_S
from ..errors import ChatError, Usage
from ..errors.broker import PASSING, Loading, Sandboxed, Unreachable, of_server
from ..settings import redacted
from .pool import AsyncPool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from typing import Any

    from ..calls.call import Call

MOST = 100_000  # connections of one client: each waiting verb holds one, and it is the broker that says when there are too many
SCHEMES = ("redis://", "rediss://", "unix://")
_KEEPALIVE = {getattr(socket, name): seconds for name, seconds in KEEPALIVE if hasattr(socket, name)}


def client_of(url: str) -> Redis:
    """A redis client that never retries by itself: it would send a command twice without its idempotency key's owner knowing.

    Raises:
        Usage: ``url`` is no broker URL.
    """
    try:
        if not url.startswith(SCHEMES):
            raise ValueError(url)
        on_tcp: dict[str, Any] = {} if url.startswith("unix") else {"socket_keepalive": True, "socket_keepalive_options": _KEEPALIVE}
        return Redis.from_url(
            url, retry=Retry(NoBackoff(), 0), decode_responses=True, encoding_errors="replace", protocol=2, socket_timeout=None,
            socket_connect_timeout=CONNECT_S, max_connections=MOST, **on_tcp,
        )  # fmt: skip
    except ValueError:
        shown = redacted(url)
        raise Usage(message=f"{shown} is no broker URL: redis://host:6379/0, rediss://host:6379/0 or unix:///path/to/socket") from None


async def heeding(answer: Awaitable[Any], seconds: float = ANSWER_S) -> Any:
    """An answer that comes in time, else TimeoutError; a cancellation that something below has swallowed (asyncio.wait_for does, before Python 3.12) is raised."""
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        async with asyncio.timeout(seconds):
            return await answer
    finally:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError


class AsyncConnection:
    """The way through redis clients to their broker. ``shown`` is the URL without password; ``revive`` is called when nobody answers (it may start the broker)."""

    def __init__(self, make: Callable[[], Redis], shown: str, revive: Callable[[], object] | None = None) -> None:
        self._pool = AsyncPool(make)
        self.shown, self._revive = shown, revive
        self._doing: set[asyncio.Future[object]] = set()

    async def run(self, call: Call) -> Any:
        """Send one call; its answer, or the error that it stands for."""
        patience = None
        while True:
            try:
                reply = await self._one(call)
            except (RedisError, OSError) as error:
                patience = patience or Patience()
                await self.again(error, patience)
            else:
                return call.read(reply)

    async def _one(self, call: Call) -> Any:
        try:
            return await heeding(self._pool.here().execute_command(*call.words()))
        except NoScriptError:
            return await heeding(self._pool.here().execute_command(*call.words(whole=True)))

    async def pipe(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls in one write; their answers in order. The first refusal is raised, after all were answered."""
        patience = Patience()
        while True:
            try:
                replies = await self._many(calls)
                for reply in replies:
                    if isinstance(reply, RedisError) and passing(reply):
                        raise reply
            except (RedisError, OSError) as error:
                await self.again(error, patience)
            else:
                return [self._read(call, reply) for call, reply in zip(calls, replies, strict=True)]

    async def _many(self, calls: Sequence[Call]) -> list[Any]:
        """One try. A script that the server does not have is sent whole, and what stood behind it again after it."""
        done: list[Any] = []
        whole = False
        while len(done) < len(calls):
            left = calls[len(done) :]
            async with self._pool.here().pipeline(transaction=False) as pipeline:
                for i, call in enumerate(left):
                    pipeline.execute_command(*call.words(whole=whole and not i))
                replies = await heeding(pipeline.execute(raise_on_error=False))
            missing = next((i for i, one in enumerate(replies) if isinstance(one, NoScriptError)), len(left))
            done += replies[:missing]
            whole = True
        return done

    def _read(self, call: Call, reply: Any) -> Any:
        if isinstance(reply, RedisError):
            raise of_server(words_of(reply), self.shown) from reply
        return call.read(reply)

    async def again(self, error: Exception, patience: Patience) -> None:
        """Come back if it is worth asking again; else raise what ``error`` stands for."""
        answer = words_of(error)
        if answer:
            ours: ChatError = of_server(answer, self.shown)
            if not passing(error) or patience.spent(LOADING_S if isinstance(ours, Loading) else RETRY_S):
                raise ours from error
            if isinstance(error, ReadOnlyError):
                await self._pool.here().connection_pool.disconnect(inuse_connections=False)  # a demoted primary: the name may lead elsewhere by now
        else:
            await self._lost(error, patience)
        await asyncio.sleep(patience.pause())

    async def revive(self) -> None:
        """Let the owner start the broker, or say why not."""
        if self._revive is not None:
            await asyncio.to_thread(self._revive)

    async def _lost(self, error: Exception, patience: Patience) -> None:
        cause = error if isinstance(error, OSError) else error.__cause__ or error.__context__
        if isinstance(cause, OSError) and cause.errno in (errno.EPERM, errno.EACCES):
            raise Sandboxed(why=cause.strerror) from error
        await self.revive()
        if patience.spent(RETRY_S):
            raise Unreachable(url=self.shown, why=str(error) or "no answer in time") from error

    def later(self, work: Coroutine[Any, Any, object]) -> None:
        """Do this beside whatever goes on; :meth:`disconnect` sees it done."""
        doing = asyncio.ensure_future(work)
        self._doing.add(doing)
        doing.add_done_callback(self._done)

    def _done(self, doing: asyncio.Future[object]) -> None:
        self._doing.discard(doing)
        if not doing.cancelled():
            doing.exception()  # a connection that cannot be closed is closed

    def pubsub(self) -> Any:
        """A new connection for doorbells, not opened yet."""
        return self._pool.here().pubsub()

    async def disconnect(self) -> None:
        """Give the connections back that this event loop opened."""
        here = {one for one in self._doing if one.get_loop() is asyncio.get_running_loop()}
        if here:
            await asyncio.wait(here)
        await self._pool.disconnect()


class Patience:
    """How long one verb has been asking, and how long it rests before it asks again."""

    __slots__ = ("_rest", "_since")

    def __init__(self) -> None:
        self._since, self._rest = time.monotonic(), PAUSE_S[0]

    def spent(self, seconds: float) -> bool:
        """Whether it has been asking for so long."""
        return time.monotonic() - self._since > seconds

    def pause(self) -> float:
        """Seconds until the next try: longer each time."""
        rest, self._rest = self._rest, min(2 * self._rest, PAUSE_S[1])
        return rest


def words_of(error: Exception) -> str:
    """The server's own words, if it was the server who refused; "" if it never answered.

    redis-py cuts off the code in front, makes lost connections of some refusals, and wraps those that come while it connects.
    """
    for one in (error, error.__cause__):
        code = getattr(one, "status_code", None)
        if code:
            return f"{code} {one}"
    return "" if isinstance(error, (LostConnection, NoAnswer, OSError)) else str(error)


def passing(error: Exception) -> bool:
    """Whether this refusal is worth asking again with the same key."""
    return words_of(error).startswith((*PASSING, "READONLY"))
