"""The way to a server among several, for the wire: walks the route's doors, asks sentinels, follows a key that is on its way. Imported only for such URLs."""

from __future__ import annotations

import hiredis

from ..calls.call import ANSWER_S
from ..errors.broker import NoService
from .line import Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..calls.call import Call
    from ..route import Route
    from ..settings import Place

    Node = tuple[str, int]


def opened(route: Route) -> Line:
    """A connection to the server that is to be asked.

    Raises:
        OSError: none of them can be reached now.
        NoService: the sentinels know no such service.
    """
    if route.place.kind == "sentinel":
        return _master(route)
    return _first(route, route.doors())


def _first(route: Route, places: Iterable[Place]) -> Line:
    failure: OSError = ConnectionError("no server to ask")
    for place in places:
        try:
            return Line(place)
        except OSError as error:
            route.lost(place.node)
            failure = error
    raise failure


def _master(route: Route) -> Line:
    """The master, by what a sentinel says, when it says so too; the one that was last known is not asked without it."""
    failure: OSError = ConnectionError("no sentinel answers")
    unknown: NoService | None = None
    tried: set[Node] = set()
    for place in route.watchers():
        at = place
        try:
            found = route.master(_asked(place, route.question()))
            if found.node in tried:
                continue
            tried.add(found.node)
            at = found
            line = Line(found)
            if route.leads(found, _word(line, "ROLE")):
                return line
            line.close()
            raise ConnectionError("a failover is under way")
        except OSError as error:
            route.lost(at.node)
            failure = error
        except NoService as error:  # another one may know
            unknown = error
    raise unknown or failure


def _asked(place: Place, words: tuple[str, ...]) -> Any:
    line = Line(place)
    try:
        return _word(line, *words, strict=True)
    finally:
        line.close()


def _word(line: Line, *words: str, strict: bool = False) -> Any:
    line.send([words])
    reply = line.reply(ANSWER_S)
    if strict and isinstance(reply, hiredis.ReplyError):
        raise line.refused(str(reply))
    return reply


def followed(route: Route, line: Line, calls: list[Call], replies: list[Any]) -> list[Any]:
    """The replies, with those in the place of ASK for which another node was asked."""
    for i, one in enumerate(replies):
        place = route.asking(str(one), line.place.node) if isinstance(one, hiredis.ReplyError) else None
        if place is not None:
            other = Line(place)
            try:
                replies[i] = other.exchange([calls[i]], asking=True)[0]
            finally:
                other.close()
    return replies


def servers(route: Route, line: Line, *, replicas: bool) -> list[Place]:
    """Every server that holds keys; with ``replicas`` every one of the broker.

    Raises:
        OSError: no sentinel answers now.
    """
    if not replicas:
        return route.masters(_word(line, "CLUSTER", "SLOTS", strict=True), line.place.node)
    shards = _word(line, "CLUSTER", "SHARDS", strict=route.place.kind == "cluster")
    if not isinstance(shards, hiredis.ReplyError):
        return route.nodes(shards, line.place.node)
    role = _word(line, "ROLE")
    return route.pair(line.place, ("unknown",) if isinstance(role, hiredis.ReplyError) else role, _watched(route))


def _watched(route: Route) -> Any:
    """The replicas that a sentinel knows; none where there is no sentinel."""
    failure: OSError | None = None
    for place in route.watchers() if route.place.kind == "sentinel" else ():
        try:
            return _asked(place, route.question("REPLICAS"))
        except OSError as error:
            route.lost(place.node)
            failure = error
    if failure is not None:
        raise failure
    return ()
