"""The servers of one broker, each with a connection of its own: for what is done at all of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..calls.call import plain
from ..errors import BrokerRefused
from ..errors.broker import BrokerTooOld, NotAllowed
from ..route import Route
from .connection import AsyncConnection, client_of

if TYPE_CHECKING:
    from typing import Any

    from ..calls.call import Call
    from ..settings import Place


async def servers(connection: AsyncConnection, *, replicas: bool) -> list[tuple[str, AsyncConnection]]:
    """Every server that holds keys, by name; with ``replicas`` every one of the broker. Of a client that was given ready: the one that it is of."""
    place = connection.place
    if place is None or not (replicas or place.kind == "cluster"):
        return [(place.name if place else connection.shown, connection)]
    found = await _places(connection, place, replicas=replicas)
    return [(one.name, connection if one is place else AsyncConnection(partial(client_of, one), one.shown, place=one)) for one in found]


async def _places(connection: AsyncConnection, place: Place, *, replicas: bool) -> list[Place]:
    route, several = Route(place), place.kind == "cluster"
    listed = await _tried(connection, plain("CLUSTER", "SHARDS") if replicas else plain("CLUSTER", "SLOTS"), must=several)
    role = await _tried(connection, plain("ROLE")) if listed is None else None
    at = await connection.node()
    here = place.at(at.node) if place.kind else place
    if listed is None:
        return route.pair(here, role or ("unknown",), await connection.watched())
    return route.nodes(listed, here.node) if replicas else route.masters(listed, here.node)


async def _tried(connection: AsyncConnection, call: Call, *, must: bool = False) -> Any:
    """The answer; None from a server that does not tell."""
    try:
        return await connection.run(call)
    except (BrokerRefused, BrokerTooOld, NotAllowed):
        if must:
            raise
        return None
