# Made from ../aio by tests/unasync.py; edit that, not this.
"""The servers of one broker, each with a connection of its own: for what is done at all of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ..calls.call import plain
from ..errors import BrokerRefused
from ..errors.broker import BrokerTooOld, NotAllowed
from ..route import Route
from .connection import Connection, client_of

if TYPE_CHECKING:
    from typing import Any

    from ..calls.call import Call
    from ..settings import Place


def servers(connection: Connection, *, replicas: bool) -> list[tuple[str, Connection]]:
    """Every server that holds keys, by name; with ``replicas`` every one of the broker. Of a client that was given ready: the one that it is of."""
    place = connection.place
    if place is None or not (replicas or place.kind == "cluster"):
        return [(place.name if place else connection.shown, connection)]
    found = _places(connection, place, replicas=replicas)
    return [(one.name, connection if one is place else Connection(partial(client_of, one), one.shown, place=one)) for one in found]


def _places(connection: Connection, place: Place, *, replicas: bool) -> list[Place]:
    route, several = Route(place), place.kind == "cluster"
    listed = _tried(connection, plain("CLUSTER", "SHARDS") if replicas else plain("CLUSTER", "SLOTS"), must=several)
    role = _tried(connection, plain("ROLE")) if listed is None else None
    at = connection.node()
    here = place.at(at.node) if place.kind else place
    if listed is None:
        return route.pair(here, role or ("unknown",), connection.watched())
    return route.nodes(listed, here.node) if replicas else route.masters(listed, here.node)


def _tried(connection: Connection, call: Call, *, must: bool = False) -> Any:
    """The answer; None from a server that does not tell."""
    try:
        return connection.run(call)
    except (BrokerRefused, BrokerTooOld, NotAllowed):
        if must:
            raise
        return None
