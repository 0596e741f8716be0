"""Where a client sits: its broker, its workspace, and who it is there. The verbs are built on this."""

from __future__ import annotations

from collections import Counter
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from .. import names
from ..calls.call import Caller, fresh
from ..errors import NoIdentity, SpeakAsYourself, Usage
from ..flows.durable import Copies, durably, wanted
from ..flows.format import alone, checked
from ..keys import Keys
from ..settings import DEFAULT_WORKSPACE, Place, Settings, here, host
from .connection import AsyncConnection, client_of
from .delivery import Kept
from .errand import drive
from .routed import AsyncRouted

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator
    from types import TracebackType
    from typing import Any, Self

    from redis.asyncio import Redis

    from ..calls.call import Call, Show


THE_PROGRAM = "the program"  # where a value comes from that was given to the client


class AsyncSeat:
    """One agent's place at one broker."""

    def __init__(
        self,
        url: str | None = None,
        *,
        agent: str | None = None,
        workspace: str | None = None,
        token: str | None = None,
        redis: Redis | None = None,
        durable: bool = False,
        replicas: int | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._settings: Settings | None = None
        if redis is not None:
            self._connection = _over(redis)
        else:
            self._settings = settings or _settings(url, agent, workspace)
            self._connection = _connection(self._settings)
        found = self._settings
        self.workspace = names.name("workspace", workspace or (found.workspace if found else DEFAULT_WORKSPACE))
        self._keys = Keys(self.workspace)
        self._sit(agent or (found.agent if found else ""), token or (found.token if found else ""))
        self._kept = Kept()
        self._copies = wanted(found.env if found else {}, durable=durable, replicas=replicas)
        self._blocks = Counter[str]()
        self._root = True
        self._session = found.session if found else f"client@{host()}:{fresh(6)}"

    def _sit(self, agent: str, token: str) -> None:
        """Be this agent from now on, or nobody."""
        self._who = Caller(self._keys, names.agent(agent) if agent else "", token)

    def as_(self, agent: str, *, token: str | None = None) -> Self:
        """Another agent of the same program: a client with all verbs, on the connections of this one, which closes them.

        ``token``: what proves that the name is yours, if it was bound by ``identify`` elsewhere. Names that nobody holds need none.

        Raises:
            BadName: it breaks the rule for names.
        """
        other = copy(self)
        other._kept, other._root = Kept(), False  # noqa: SLF001 - of the same class
        other._session = f"{self._session}/{agent.lower()}"  # noqa: SLF001
        other._sit(agent, token or (self._who.token if agent.lower() == self._who.me else ""))  # noqa: SLF001
        return other

    @property
    def agent(self) -> str | None:
        """The name that this client speaks under."""
        return self._who.agent or None

    @property
    def url(self) -> str:
        """The broker's URL, without its password."""
        return self._connection.shown

    def _me(self) -> Caller:
        """Who acts; refused when nobody is known."""
        if not self._who.agent:
            if self._settings is not None:
                self._settings.me()
            raise NoIdentity
        return self._who

    def seat(self, *, anybody: bool = False) -> Caller:
        """Who acts, for a flow that is driven from outside; refused when nobody is known, unless ``anybody`` may."""
        return self._who if anybody else self._me()

    @property
    def connection(self) -> AsyncConnection:
        """The way to the broker, for a flow that is driven from outside."""
        return self._connection

    async def drive(self, flow: Generator[Any, Any, Any]) -> Any:
        """Run a flow from outside to its end; its result."""
        return await self._drive(flow)

    async def _run(self, call: Call) -> Any:
        return await self._drive(alone(call))

    async def _drive(self, flow: Generator[Any, Any, Any], show: Callable[[Show], Awaitable[int]] | None = None, *, copies: Copies | None = None) -> Any:
        return await drive(self._connection, self._wrapped(flow, copies), show)

    def _wrapped(self, flow: Generator[Any, Any, Any], copies: Copies | None = None) -> Generator[Any, Any, Any]:
        """A flow as every verb runs it: refused in a workspace of another format, and done only with the copies that are asked for."""
        flow, copies = checked(flow, self._keys), copies or self._copies
        return durably(flow, copies) if copies else flow

    async def disconnect(self) -> None:
        """Give back what is in hand (a :meth:`listen` that was left or broken off), and the connections. A verb that is called afterwards opens new ones.

        A client that was given as ``redis=`` stays its giver's to close, and one that :meth:`as_` gave leaves it to the one that it came from.
        """
        if self._root:
            await self._connection.disconnect()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.disconnect()


def _settings(url: str | None, agent: str | None, workspace: str | None) -> Settings:
    """What the environment, the project and this user say. A program may speak under any name: the broker refuses one that somebody else holds."""
    given = {"url": url, "workspace": workspace, "as_": agent}
    try:
        settings = here(given)
    except SpeakAsYourself:
        settings = here({**given, "as_": None})
        settings.agent, settings.token = agent or "", ""
    for what, key in (("url", "url"), ("workspace", "workspace"), ("agent", "as_")):
        if given[key]:
            settings.sources[what] = THE_PROGRAM
    return settings


def _connection(settings: Settings) -> AsyncConnection:
    def start() -> object:
        from ..broker.start import ensure

        return ensure(settings.state_dir)

    place = Place(settings.url)
    if place.kind:
        return AsyncRouted(place)
    return AsyncConnection(partial(client_of, place), place.shown, start if settings.url == settings.embedded else None, place)


def _over(redis: Redis) -> AsyncConnection:
    if not redis.connection_pool.connection_kwargs.get("decode_responses"):
        raise Usage(message="the redis client must be made with decode_responses=True")
    return AsyncGiven(lambda: redis, "the given redis client")


class AsyncGiven(AsyncConnection):
    """Over a redis client that stays its giver's to close."""

    async def release(self) -> None:
        """Its giver does."""


def room(channel: str) -> str:
    """A channel's name as keys hold it."""
    return names.channel(channel).lower()
