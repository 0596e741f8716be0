# Made from ../aio by tests/unasync.py; edit that, not this.
"""A broker of several servers through redis-py: one plain client a server, and the route that says which of them is to be asked.

redis-py's own Cluster client is not used: it refuses EVALSHA in pipelines, and a workspace lies on one node anyway.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from redis.exceptions import AskError, MovedError, RedisError
from redis.exceptions import ConnectionError as LostConnection

from ..calls.call import FAILOVER_S, RETRY_S
from ..errors.broker import NoService, Unreachable
from ..route import Route
from .connection import Connection, At, client_of, heeding
from .pool import Pool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..calls.call import Call
    from ..settings import Place

    Node = tuple[str, int]

ASKING = ("ASKING",)


class Routed(Connection):
    """The way to one workspace's server. ``shown`` is the URL without passwords."""

    def __init__(self, place: Place) -> None:
        super().__init__(partial(client_of, place), place.shown, place=place)
        self._route = Route(place)
        self._pools: dict[Node, Pool] = {}

    def node(self) -> At:
        """The server that is to be asked now; sentinels are asked where it is, if that is not known.

        Raises:
            NoService: the sentinels know no such service.
        """
        doors = self._route.doors()
        return self._at(doors[0]) if doors else self._master()

    def _at(self, place: Place) -> At:
        pool = self._pools.get(place.node) or self._pools.setdefault(place.node, Pool(partial(client_of, place)))
        return At(pool.here(), place.node)

    def _master(self) -> At:
        """The master, by what a sentinel says, when it says so too."""
        failure: Exception = LostConnection("no sentinel answers")
        for place in self._route.watchers():
            node = place.node
            try:
                found = self._route.master(self._asked(place))
                node, at = found.node, self._at(found)
                if self._route.leads(found, heeding(at.redis.execute_command("ROLE"))):
                    return at
                raise LostConnection("a failover is under way")
            except NoService as error:  # another one may know
                failure = error
            except (LostConnection, OSError, TimeoutError) as error:
                self._route.lost(node)
                failure = error
        raise failure

    def watched(self) -> Any:
        """The replicas that a sentinel knows; none where there is no sentinel."""
        failure: Exception | None = None
        for place in self._route.watchers() if self._route.place.kind == "sentinel" else ():
            try:
                return self._asked(place, "REPLICAS")
            except (LostConnection, OSError, TimeoutError) as error:
                self._route.lost(place.node)
                failure = error
        if failure is not None:
            raise Unreachable(url=self.shown, why=str(failure)) from failure
        return ()

    def _asked(self, place: Place, *what: str) -> Any:
        """What one sentinel says."""
        client: Any = client_of(place)
        try:
            return heeding(client.execute_command(*self._route.question(*what)))
        finally:
            client.close()

    def well(self, at: At) -> None:
        """It gave a good answer."""
        self._route.well(at.node)

    def heed(self, said: str, at: At) -> bool:
        """Take note of what it said instead of an answer. Gives whether another one is to be asked at once."""
        return self._route.heed(said, at.node)

    def astray(self, at: At | None) -> None:
        """It did not answer."""
        self._route.lost(at.node if at is not None else None)

    def limit(self) -> float:
        """For how many seconds a verb asks again: longer, while a failover may be under way."""
        return FAILOVER_S if self._route.alive else RETRY_S

    def _one(self, at: At, call: Call) -> Any:
        try:
            return super()._one(at, call)
        except MovedError:
            raise
        except AskError as error:
            reply = (self._followed(at, [call], [error]))[0]
            if isinstance(reply, RedisError):
                raise reply from error
            return reply

    def _many(self, at: At, calls: Sequence[Call], before: tuple[str, ...] = ()) -> list[Any]:
        return self._followed(at, calls, super()._many(at, calls, before))

    def _followed(self, at: At, calls: Sequence[Call], replies: list[Any]) -> list[Any]:
        """The replies, with those in the place of ASK for which another node was asked."""
        for i, reply in enumerate(replies):
            place = self._route.asking(f"ASK {reply}", at.node) if isinstance(reply, AskError) and not isinstance(reply, MovedError) else None
            if place is not None:
                replies[i] = (super()._many(self._at(place), [calls[i]], ASKING))[0]
        return replies

    def release(self) -> None:
        """Give back the connections that were opened."""
        for pool in self._pools.values():
            pool.disconnect()
