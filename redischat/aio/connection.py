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
from ..errors.broker import PASSING, Loading, Sandboxed, Unreachable, Untrusted, broke, of_server, of_tls
from .pool import AsyncPool

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence
    from typing import Any

    from ..calls.call import Call
    from ..errors import ChatError
    from ..settings import Place

    Node = tuple[str, int]

FOLLOWED = 3
MOST = 100_000  # connections of one client: each waiting verb holds one, and it is the broker that says when there are too many
_KEEPALIVE = {getattr(socket, name): seconds for name, seconds in KEEPALIVE if hasattr(socket, name)}


def client_of(place: Place) -> Redis:
    """A redis client that never retries by itself: it would send a command twice without its idempotency key's owner knowing.

    Raises:
        Untrusted: a certificate that the URL names cannot be read.
    """
    where: dict[str, Any] = {"unix_socket_path": place.path}
    if not place.path:
        where = {"host": place.host, "port": place.port, "socket_keepalive": True, "socket_keepalive_options": _KEEPALIVE}
    if place.tls:
        _look_at_files(place)
        files = {"ssl_ca_certs": place.ca or None, "ssl_certfile": place.cert or None, "ssl_keyfile": place.key or None}
        where |= {"ssl": True, "ssl_check_hostname": True, "ssl_cert_reqs": "required", **files}
    return Redis(
        db=place.database, username=place.user or None, password=place.password or None, retry=Retry(NoBackoff(), 0), decode_responses=True,
        encoding_errors="replace", protocol=2, socket_timeout=None, socket_connect_timeout=CONNECT_S, max_connections=MOST, **where,
    )  # fmt: skip


def _look_at_files(place: Place) -> None:
    for name, path in (("ca", place.ca), ("cert", place.cert), ("key", place.key)):
        try:
            if path:
                open(path, "rb").close()
        except OSError as error:
            raise Untrusted(url=place.shown, why=f"{name}={path} cannot be used ({error.strerror})") from error


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
    """The way through redis clients to their broker. ``shown`` is the URL without password, ``place`` the URL taken apart, if it is known; ``revive`` is called when nobody answers (it may start the broker)."""

    def __init__(self, make: Callable[[], Redis], shown: str, revive: Callable[[], object] | None = None, place: Place | None = None) -> None:
        self._pool = AsyncPool(make)
        self.shown, self._revive, self.place = shown, revive, place
        self._doing: set[asyncio.Future[object]] = set()
        self._lent: dict[Callable[[], Awaitable[None]], object] = {}

    async def node(self) -> At:
        """The server that is to be asked now."""
        return At(self._pool.here())

    def well(self, at: At) -> None:
        """It gave a good answer."""

    def heed(self, said: str, at: At) -> bool:  # noqa: ARG002 - there is one server
        """Take note of what it said instead of an answer. Gives whether another one is to be asked at once."""
        return False

    def astray(self, at: At | None) -> None:
        """It did not answer."""

    def limit(self) -> float:
        """For how many seconds a verb asks again."""
        return RETRY_S

    async def watched(self) -> Any:
        """The replicas that a sentinel knows, where there are sentinels."""
        return ()

    async def run(self, call: Call) -> Any:
        """Send one call; its answer, or the error that it stands for."""
        patience = at = None
        while True:
            try:
                at = await self.node()
                reply = await self._one(at, call)
            except (RedisError, OSError) as error:
                patience = patience or Patience()
                await self.again(error, patience, at)
            else:
                self.well(at)
                return call.read(reply)

    async def _one(self, at: At, call: Call) -> Any:
        while True:
            try:
                return await heeding(at.redis.execute_command(*call.words()))
            except RedisError as error:
                if not call.otherwise(words_of(error)):
                    raise

    async def pipe(self, calls: Sequence[Call]) -> list[Any]:
        """Send calls in one write; their answers in order. The first refusal is raised, after all were answered."""
        patience, at = Patience(), None
        while True:
            try:
                at = await self.node()
                replies = await self._many(at, calls)
                for reply in replies:
                    if isinstance(reply, RedisError) and passing(reply):
                        raise reply
            except (RedisError, OSError) as error:
                await self.again(error, patience, at)
            else:
                self.well(at)
                return [self._read(call, reply) for call, reply in zip(calls, replies, strict=True)]

    async def _many(self, at: At, calls: Sequence[Call], before: tuple[str, ...] = ()) -> list[Any]:
        """One try, each call behind the word ``before``. What must be sent in another form (a script whole) is, and what stood behind it again after it."""
        done: list[Any] = []
        while len(done) < len(calls):
            left = calls[len(done) :]
            async with at.redis.pipeline(transaction=False) as pipeline:
                for call in left:
                    for word in before:
                        pipeline.execute_command(word)
                    pipeline.execute_command(*call.words())
                replies = (await heeding(pipeline.execute(raise_on_error=False)))[len(before) :: 1 + len(before)]
            again = (i for i, (call, one) in enumerate(zip(left, replies, strict=True)) if isinstance(one, RedisError) and call.otherwise(words_of(one)))
            done += replies[: next(again, len(left))]
        return done

    def _read(self, call: Call, reply: Any) -> Any:
        if isinstance(reply, RedisError):
            raise of_server(words_of(reply), self.shown) from reply
        return call.read(reply)

    async def again(self, error: Exception, patience: Patience, at: At | None = None) -> None:
        """Come back if it is worth asking again; else raise what ``error`` stands for."""
        answer = words_of(error)
        if answer:
            ours: ChatError = of_server(answer, self.shown)
            elsewhere = at is not None and self.heed(answer, at)
            if not passing(error) or patience.spent(LOADING_S if isinstance(ours, Loading) else self.limit()):
                raise ours from error
            if isinstance(error, ReadOnlyError) and at is not None:
                await at.redis.connection_pool.disconnect(inuse_connections=False)  # a demoted primary: the name may lead elsewhere by now
            if elsewhere and patience.follows():
                return
        else:
            self.astray(at)
            await self._lost(error, patience)
        await asyncio.sleep(patience.pause())

    async def revive(self) -> None:
        """Let the owner start the broker, or say why not."""
        if self._revive is not None:
            await asyncio.to_thread(self._revive)

    async def _lost(self, error: Exception, patience: Patience) -> None:
        untrusted = of_tls(error, self.shown)
        if untrusted:
            raise untrusted from error
        cause = error if isinstance(error, OSError) else error.__cause__ or error.__context__
        if isinstance(cause, OSError) and cause.errno in (errno.EPERM, errno.EACCES):
            raise Sandboxed(why=cause.strerror) from error
        await self.revive()
        if patience.spent(self.limit()):
            raise Unreachable(url=self.shown, why=broke(error, str(error) or "no answer in time", tls=self.shown.startswith("rediss"))) from error

    def lend(self, give_back: Callable[[], Awaitable[None]]) -> None:
        """Somebody has something in hand; if it is still there when this is disconnected, ``give_back`` is called before."""
        self._lent[give_back] = asyncio.get_running_loop()

    def returned(self, give_back: Callable[[], Awaitable[None]]) -> None:
        """It is given back."""
        self._lent.pop(give_back, None)

    def later(self, work: Coroutine[Any, Any, object]) -> None:
        """Do this beside whatever goes on; :meth:`disconnect` sees it done."""
        doing = asyncio.ensure_future(work)
        self._doing.add(doing)
        doing.add_done_callback(self._done)

    def _done(self, doing: asyncio.Future[object]) -> None:
        self._doing.discard(doing)
        if not doing.cancelled():
            doing.exception()  # a connection that cannot be closed is closed

    async def disconnect(self) -> None:
        """Give back what is in hand, then the connections: those that this event loop opened."""
        for give_back in [one for one, loop in list(self._lent.items()) if loop is asyncio.get_running_loop()]:
            await give_back()
        here = {one for one in self._doing if one.get_loop() is asyncio.get_running_loop()}
        if here:
            await asyncio.wait(here)
        await self.release()

    async def release(self) -> None:
        """Close what this event loop opened."""
        await self._pool.disconnect()


class At:
    """One server: its client, and which of several it is."""

    __slots__ = ("node", "redis")

    def __init__(self, redis: Any, node: Node = ("", 0)) -> None:
        self.redis, self.node = redis, node


class Patience:
    """How long one verb has been asking, and how long it rests before it asks again."""

    __slots__ = ("_followed", "_rest", "_since")

    def __init__(self) -> None:
        self._since, self._rest, self._followed = time.monotonic(), PAUSE_S[0], 0

    def spent(self, seconds: float) -> bool:
        """Whether it has been asking for so long."""
        return time.monotonic() - self._since > seconds

    def follows(self) -> bool:
        """Whether one more redirection may be followed without a pause: nodes that disagree send one back and forth."""
        self._followed += 1
        return self._followed <= FOLLOWED

    def pause(self) -> float:
        """Seconds until the next try: longer each time."""
        rest, self._rest = self._rest, min(2 * self._rest, PAUSE_S[1])
        return rest


def words_of(error: Exception) -> str:
    """The server's own words, if it was the server who refused; "" if it never answered.

    redis-py cuts off the code in front, makes lost connections of some refusals, and wraps those that come while it connects.
    """
    if isinstance(error, NoScriptError):
        return f"NOSCRIPT {error}"
    for one in (error, error.__cause__):
        code = getattr(one, "status_code", None)
        if code:
            return f"{code} {one}"
    return "" if isinstance(error, (LostConnection, NoAnswer, OSError)) else str(error)


def passing(error: Exception) -> bool:
    """Whether this refusal is worth asking again with the same key."""
    return words_of(error).startswith((*PASSING, "READONLY"))
