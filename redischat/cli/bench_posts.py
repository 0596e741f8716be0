"""bench, posts: ``Client.post`` beside redis-py's bare EVALSHA of the same script, with 1 and 8 processes, in channels of 2 and of 1,000 members."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from .bench_rows import Row, at_least, paired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .bench_world import Worker, World

PART = "posts"
CROWD = 1_000
PROCESSES = 8
AUTHORS = ("amy", "bob")
CHANNELS = {2: "two", CROWD: "crowd"}
SIDES = {"client": "Client.post", "raw": "redis-py EVALSHA"}
ROUNDS, QUICK_ROUNDS = 40, 4
BURST = 200  # posts of one process in a round
OF_BOUND = 0.6
FLAT = 0.9

Cell = tuple[str, int, int]  # side, processes, members


def posts(world: World, *, quick: bool) -> Iterator[Row]:
    """Measure; ratios first."""
    world.channel(CHANNELS[2], list(AUTHORS))
    world.channel(CHANNELS[CROWD], [*AUTHORS, *(f"agent{i}" for i in range(CROWD - len(AUTHORS)))])
    workers = [world.worker() for _ in range(PROCESSES)]
    cells: list[Cell] = [(side, processes, members) for processes in (1, PROCESSES) for members in CHANNELS for side in SIDES]
    rates: dict[Cell, list[float]] = {cell: [] for cell in cells}
    times: dict[Cell, list[float]] = {cell: [] for cell in cells}
    for turn in range(QUICK_ROUNDS if quick else ROUNDS):
        for cell in cells if turn % 2 else cells[::-1]:  # whoever comes first in a pair comes second in the next
            _burst(workers, cell, rates[cell], times[cell])
    for processes in (1, PROCESSES):
        yield from _ratios(rates, processes)
    for cell in cells:
        side, processes, members = cell
        yield Row(PART, f"{SIDES[side]}, {_with(processes, members)}", times=times[cell], per_s=median(rates[cell]))


def _burst(workers: list[Worker], cell: Cell, rates: list[float], times: list[float]) -> None:
    """One round of one cell: all its processes begin together; how many posts a second they made, and what each post took."""
    side, processes, members = cell
    busy = workers[:processes]
    for i, worker in enumerate(busy):
        worker.tell(do="post", how=side, agent=AUTHORS[i % len(AUTHORS)], channel=CHANNELS[members], count=BURST)
    for worker in busy:
        worker.hear()
    for worker in busy:
        worker.tell(go=True)
    done = [worker.hear() for worker in busy]
    rates.append(processes * BURST / (max(one["ended"] for one in done) - min(one["began"] for one in done)))
    times += [ms for one in done for ms in one["ms"]]


def _ratios(rates: dict[Cell, list[float]], processes: int) -> Iterator[Row]:
    for members in CHANNELS:
        ratio = paired(rates["client", processes, members], rates["raw", processes, members])
        what = f"Client.post / EVALSHA, {_with(processes, members)}"
        yield at_least(PART, what, ratio, OF_BOUND) if processes == 1 else Row(PART, what, ratio=ratio)
    ratio = paired(rates["client", processes, CROWD], rates["client", processes, 2])
    yield at_least(PART, f"Client.post, {CROWD:,} members / 2 members, {_processes(processes)}", ratio, FLAT)


def _with(processes: int, members: int) -> str:
    return f"{_processes(processes)}, {members:,} members"


def _processes(count: int) -> str:
    return f"{count} process{'es' * (count > 1)}"
