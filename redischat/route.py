"""Where a workspace is asked, at a broker of several servers: told what they said, it knows where to go next. It opens nothing.

All keys of a workspace carry one hash tag, so that it lies on one node of a Cluster: who follows MOVED needs no map of slots. Sentinels are asked for the
master.
"""

from __future__ import annotations

from .errors.broker import PASSING, NoService

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .settings import Place

    Node = tuple[str, int]

_AWAY = ("READONLY", "MASTERDOWN", "CLUSTERDOWN", "NOREPLICAS")  # this server is not, or not now, the one to ask
_ALIVE = (*PASSING, "READONLY")


class Route:
    """The way to one workspace's server. ``alive``: some server has answered since the last good answer, so that a failover may be waited for."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.home: Node | None = None
        self.alive = False
        self._met: list[Node] = []  # nodes that no seed names
        self._shut: dict[Node, int] = {}  # seeds and nodes that did not answer: the last one to fail is the last one to be tried
        self._fails = 0

    def doors(self) -> list[Place]:
        """The servers to try, in this order: the one that is known to be right; then, of a Cluster, any."""
        ours = [self.home] if self.home else []
        if self.place.kind == "cluster":
            ours += sorted(dict.fromkeys([*self.place.seeds, *self._met]), key=lambda node: self._shut.get(node, 0))
        return [self.place.at(node) for node in dict.fromkeys(ours)]

    def watchers(self) -> list[Place]:
        """The sentinels to ask, in this order."""
        return [self.place.watcher(node) for node in sorted(self.place.seeds, key=lambda node: self._shut.get(node, 0))]

    def question(self, what: str = "GET-MASTER-ADDR-BY-NAME") -> tuple[str, ...]:
        """What a sentinel is asked: who is the master; or, with REPLICAS, who stands behind it."""
        return ("SENTINEL", what, self.place.service)

    def master(self, reply: Any) -> Place:
        """The master that a sentinel named; ask it for its ROLE, and tell :meth:`leads`.

        Raises:
            NoService: the sentinel knows none of that name.
        """
        self.alive = True
        if not reply:
            raise NoService(url=self.place.shown, service=self.place.service)
        return self.place.at((str(reply[0]), int(reply[1])))

    def leads(self, place: Place, role: Any) -> bool:
        """Is that a master's answer to ROLE? Then it is the server to ask. Where the user may not ask for it, the sentinel is believed."""
        if isinstance(role, (list, tuple)) and role[0] != "master":
            return False
        self.home = place.node
        return True

    def lost(self, node: Node | None) -> None:
        """This server did not answer, or is not what it was: others are tried first."""
        if node is None:
            return
        self._fails += 1
        self._shut[node] = self._fails
        if node == self.home:
            self.home = None

    def well(self, node: Node) -> None:
        """This server gave a good answer."""
        self.alive = False
        self._shut.pop(node, None)
        self.home = node

    def heed(self, said: str, node: Node) -> bool:
        """Take note of what ``node`` said instead of an answer. Gives whether another server is to be asked at once."""
        if said.startswith(_ALIVE):
            self.alive = True
        moved = self._named(said, node) if said.startswith("MOVED ") else None
        if moved:
            self.home = moved
            if moved not in self.place.seeds and moved not in self._met:
                self._met.append(moved)
            return moved != node
        if said.startswith(_AWAY):
            self.lost(node)
        return False

    def asking(self, said: str, node: Node) -> Place | None:
        """Where a key that is on its way to another node is asked for, once."""
        found = self._named(said, node) if said.startswith("ASK ") else None
        return self.place.at(found) if found else None

    @staticmethod
    def _named(said: str, node: Node) -> Node | None:
        """The address in ``MOVED 3999 host:port``; without a host it is the same host."""
        words = said.split(" ")
        host, _, port = words[2].rpartition(":") if len(words) > 2 else ("", "", "")  # noqa: PLR2004 - MOVED slot address
        return (host.strip("[]") if host not in {"", "?"} else node[0], int(port)) if port.isdigit() else None

    def masters(self, slots: Sequence[Any], node: Node) -> list[Place]:
        """Every node that owns slots, from ``node``'s answer to CLUSTER SLOTS."""
        return self._alone(((row[2][0], row[2][1]) for row in slots), node)

    def nodes(self, shards: Sequence[Any], node: Node) -> list[Place]:
        """Every node of a Cluster, failed ones too, from ``node``'s answer to CLUSTER SHARDS: in CLUSTER SLOTS a replica that has failed is missing."""
        found = [_pairs(one) for shard in shards for one in _pairs(shard)["nodes"]]
        port = "tls-port" if self.place.tls else "port"
        return self._alone(((one["ip"] if one["endpoint"] == "?" else one["endpoint"], one[port]) for one in found if port in one), node)

    def pair(self, place: Place, role: Any, known: Sequence[Any] = ()) -> list[Place]:
        """A server and its replicas: those that hear it, by its answer to ROLE; and those that a sentinel knows of (REPLICAS), who may be down."""
        behind = [(one[0], one[1]) for one in role[2]] if role[0] == "master" else []
        behind += [(one["ip"], one["port"]) for one in map(_pairs, known)]
        first = self.place.alone(place.node) if self.place.kind else place
        return [first, *(one for one in self._alone(behind, place.node) if one.node != place.node)]

    def _alone(self, found: Iterable[tuple[Any, Any]], node: Node) -> list[Place]:
        """Servers by the addresses that ``node`` told; a host that it does not know is its own."""
        return [self.place.alone(one) for one in dict.fromkeys((str(host) if host and host != "?" else node[0], int(port)) for host, port in found)]


def _pairs(flat: Sequence[Any]) -> dict[str, Any]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
