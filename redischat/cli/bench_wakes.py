"""bench, wakes: from the call that posts to the return of a client that was blocked until then, in another process."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..calls.call import plain
from .bench_rows import Row, paired
from .bench_world import WORKSPACE
from .demo import asleep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .. import Client
    from .bench_world import Worker, World

PART = "wakes"
ROUNDS, QUICK_ROUNDS = 200, 20
AT_ONCE, QUICK_AT_ONCE = 20, 2  # rounds in which everybody is woken
CROWD, HOSTS = 100, 2  # waiters, and the processes that hold them
P50_MS, P99_MS = 1.0, 10.0
MS = 1000
TARGET = f"< {P50_MS:g}, < {P99_MS:g} ms"


class Bed:
    """Waiters of one kind and the processes that they sleep in.

    Each waits in the channel of all and in one of its own, called as it is called: a wake brings one message, however many others were woken before.
    """

    def __init__(self, world: World, how: str, count: int, hosts: int) -> None:
        self.world, self.channel, self.turn = world, how, 0
        self.agents = [f"{how}{i}" for i in range(count)]
        for channel, members in {how: self.agents, **{one: [one] for one in self.agents}}.items():
            world.channel(channel, ["amy", *members])
        self.workers = [world.worker() for _ in range(hosts)]
        for i, worker in enumerate(self.workers):
            worker.tell(do="wait", how=how, agents=self.agents[i::hosts], channel=how)

    def next(self) -> tuple[Worker, str]:
        """The one whose turn it is to be woken, and where it sleeps."""
        self.turn = (self.turn + 1) % len(self.agents)
        return self.workers[self.turn % len(self.workers)], self.agents[self.turn]


def wakes(world: World, *, quick: bool) -> Iterator[Row]:
    """Measure, each kind in turn."""
    from .. import Client

    beds = {"bell": Bed(world, "bell", 1, 1), "one": Bed(world, "one", 1, 1)}
    beds |= {how: Bed(world, how, CROWD, HOSTS) for how in ("threads", "loop")}
    found: dict[str, list[float]] = {how: [] for how in (*beds, "all")}
    with Client(world.url, agent="amy", workspace=WORKSPACE) as chat:
        for how in ("one", "threads", "loop"):
            wake_all(world, chat, beds[how])  # the first wake of a process imports what later ones have
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            for how, bed in beds.items():
                found[how].append(wake_one(world, chat, bed))
        for _ in range(QUICK_AT_ONCE if quick else AT_ONCE):
            found["all"] += wake_all(world, chat, beds["threads"])
    return _rows(found, f"AOF {world.fsync}")


def wake_one(world: World, chat: Client, bed: Bed) -> float:
    """Wake the one whose turn it is; milliseconds until its wait has returned."""
    worker, agent = bed.next()
    asleep(world.wire.run, world.keys, [agent])
    began = time.perf_counter()
    if bed.channel == "bell":
        world.wire.run(plain("SPUBLISH", world.keys.bell(agent), "message"))
    else:
        chat.post(agent, "ding", to=agent)
    at: float = worker.hear()["at"]
    return MS * (at - began)


def wake_all(world: World, chat: Client, bed: Bed) -> list[float]:
    """Wake all of them with one message; milliseconds until each one's wait has returned."""
    asleep(world.wire.run, world.keys, bed.agents)
    began = time.perf_counter()
    chat.post(bed.channel, "ding", to="all")
    return [MS * (worker.hear()["at"] - began) for worker in bed.workers for _ in range(len(bed.agents) // len(bed.workers))]


def _rows(found: dict[str, list[float]], written: str) -> Iterator[Row]:
    for how, what in (("one", "Client.wait, 1 waiter"), ("threads", f"Client.wait, 1 of {CROWD}"), ("loop", f"AsyncClient.wait, 1 of {CROWD}")):
        yield Row(PART, f"{what} / the doorbell alone, {written}", ratio=paired(found[how], found["bell"]))
    yield _row(f"Client.wait, {CROWD} waiters (threads of {HOSTS} processes), one of them is named, {written}", found["threads"])
    yield _row(f"AsyncClient.wait, {CROWD} waiters (event loops of {HOSTS} processes), one of them is named, {written}", found["loop"])
    yield _row(f"Client.wait, {CROWD} waiters (threads of {HOSTS} processes), all are woken at once, {written}", found["all"])
    yield Row(PART, f"Client.wait, 1 waiter, {written}", times=found["one"])
    yield Row(PART, "the doorbell alone: SPUBLISH to a bare redis-py subscriber", times=found["bell"])


def _row(what: str, times: list[float]) -> Row:
    return Row(PART, what, times=times, target=TARGET, meets=lambda row: (row.p50_ms or 0) < P50_MS and (row.p99_ms or 0) < P99_MS)
