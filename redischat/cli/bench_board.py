"""bench, board: what locks and tasks cost the server beside few others and beside many; whole processes, beside agent-chat's; a path handed on."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING

from ..calls import paths, tasks
from ..calls.call import Caller, Once, fresh, plain
from ..errors import Refused
from ..flows import channels
from ..flows import paths as flows
from ..keys import Keys
from ..repository import find
from ..settings import Settings
from .bench_board_commands import commands
from .bench_board_commands import ratios as command_ratios
from .bench_board_commands import rows as command_rows
from .bench_rows import Row, at_most, paired
from .bench_world import WORKSPACE
from .demo import ASLEEP_S, POLL_S, READY_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from ..calls.call import Call
    from ..repository import Repository
    from .bench_world import World

PART = "board"
CHANNEL, AGENT = "board", "amy"
FEW = 10  # locked paths, and tasks
HELD, TASKS = 100_000, 10_000
QUICK_HELD, QUICK_TASKS = 10_000, 2_000
ROUNDS, QUICK_ROUNDS = 100, 20
HANDED, QUICK_HANDED = 100, 10
WARM = 2  # rounds that fill caches
FILES = 20  # locked in a round
REQUEST, REQUESTS = 64, 31  # paths of a request; requests of an owner, who may hold 2,000
BATCH = 16  # requests sent together
PLAN = 10  # tasks that belong together: two are done, three wait for nothing, three for those two, two for others
READY = range(2, 8)
STRIDE = 61  # from one plan to the next: all over the board
LEASE_MS = 86_400_000
FLAT = 1.5
MS, MS_OF_US = 1000, 0.001
VERBS = {"lock": "lock of a free file", "check": "check of a free file", "claim": "task claim", "next": "task next --claim"}
ORIGIN = "https://bench.example/team/boat.git"


def board(world: World, env: Mapping[str, str], *, quick: bool) -> Iterator[Row]:
    """Measure; ratios first."""
    repo = _checkout(world)
    few = Board(world, "few", repo, FEW, FEW)
    many = Board(world, WORKSPACE, repo, QUICK_HELD if quick else HELD, QUICK_TASKS if quick else TASKS)
    costs: dict[tuple[str, Board], list[float]] = {(verb, one): [] for verb in VERBS for one in (few, many)}
    for turn in range(WARM + (QUICK_ROUNDS if quick else ROUNDS)):
        for verb in VERBS:
            for one in (few, many) if turn % 2 else (many, few):
                costs[verb, one].append(one.cost(verb, turn))
    kept = {key: found[WARM:] for key, found in costs.items()}
    times = commands(world, env, (many.held, many.tasks), quick=quick)
    for verb in VERBS:
        yield _ratio(verb, many, few, paired(kept[verb, many], kept[verb, few]))
    yield from command_ratios(times)
    for (verb, one), found in kept.items():
        yield Row(PART, f"server, {VERBS[verb]}, {one.beside(verb)}", times=found)
    yield from command_rows(times)
    handed = hand_on(world, repo, QUICK_HANDED if quick else HANDED)
    yield Row(PART, f"a path handed on: from unlock to the return of the Client.lock that stood in line, AOF {world.fsync}", times=handed)


def _ratio(verb: str, many: Board, few: Board, ratio: float) -> Row:
    what = f"server, {VERBS[verb]}, {many.beside(verb)} / {few.beside(verb)}"
    return at_most(PART, what, ratio, FLAT) if verb in ("lock", "claim") else Row(PART, what, ratio=ratio)


def _checkout(world: World) -> Repository:
    """Makes the world's project a git checkout, as most are; as what commands run there will know it."""
    os.makedirs(os.path.join(world.project, ".git"))
    for name, text in {"HEAD": "ref: refs/heads/main\n", "config": f'[remote "origin"]\n\turl = {ORIGIN}\n'}.items():
        with open(os.path.join(world.project, ".git", name), "w", encoding="utf-8") as file:
            file.write(text)
    return find(Settings({}, world.env, world.project), None, world.project)


class Board:
    """A workspace of the world's broker, with so many locked paths and tasks."""

    def __init__(self, world: World, workspace: str, repo: Repository, held: int, count: int) -> None:
        self.wire, self.keys, self.repo, self.held, self.tasks = world.wire, Keys(workspace), repo, held, count
        self.me = Caller(self.keys, AGENT)
        self.wire.drive(channels.enter(self.me, CHANNEL, channels.Wanted(members=[], max_messages=0), Once()))
        self._send(self._lock(Caller(self.keys, f"dev{n // REQUEST // REQUESTS}"), _files(n, min(n + REQUEST, held))) for n in range(0, held, REQUEST))
        self._send(call for n in range(0, count, PLAN) for call in self._plan(n))

    def beside(self, verb: str) -> str:
        """What there is besides."""
        return f"{self.held:,} locked" if verb in ("lock", "check") else f"{self.tasks:,} tasks"

    def cost(self, verb: str, turn: int) -> float:
        """Milliseconds that a call of it took in the server, in one round of them; what they changed is undone."""
        free = [f"pkg{n}/src/free{turn}.py" for n in range(FILES)]
        plan = turn * STRIDE % (self.tasks // PLAN) * PLAN
        calls = {
            "lock": [self._lock(self.me, [one]) for one in free],
            "check": [paths.check(self.me, CHANNEL, self.repo, [one]) for one in free],
            "claim": [tasks.claim(self.me, CHANNEL, f"t-{plan + n}", ttl_ms=LEASE_MS) for n in READY],
            "next": [tasks.next_(self.me, CHANNEL, take=True, ttl_ms=LEASE_MS, once=Once()) for _ in READY],
        }[verb]
        before = self._spent()
        got = self.wire.pipe(calls)
        after = self._spent()
        self._undo(verb, got)
        return MS_OF_US * (after[1] - before[1]) / (after[0] - before[0])

    def _undo(self, verb: str, got: list[dict[str, Any]]) -> None:
        if verb == "lock":
            self.wire.run(paths.unlock(self.me, CHANNEL, [], once=Once(), all_=True))
        elif verb != "check":
            self.wire.pipe([tasks.move(self.me, CHANNEL, one["id"].lower(), "release", once=Once()) for one in got])

    def _spent(self) -> tuple[int, int]:
        """How many scripts the server has run by their sha, and for how many microseconds."""
        stats = str(self.wire.run(plain("INFO", "commandstats")))
        row = next(one for one in stats.splitlines() if one.startswith("cmdstat_evalsha:"))
        fields = dict(field.split("=") for field in row.partition(":")[2].split(","))
        return int(fields["calls"]), int(fields["usec"])

    def _send(self, calls: Iterable[Call]) -> None:
        rest = iter(calls)
        while some := list(islice(rest, BATCH)):
            self.wire.pipe(some)

    def _lock(self, who: Caller, files: list[str]) -> Call:
        return paths.lock(who, CHANNEL, self.repo, paths.Wanted(files, fresh(16), lease_ms=LEASE_MS))

    def _plan(self, first: int) -> Iterator[Call]:
        """Ten tasks."""
        done, needs = f"t-{first},t-{first + 1}", {5: 0, 6: 0, 7: 0, 8: 2, 9: 5}
        for n in range(PLAN):
            deps = "-" if n not in needs else f"t-{first + needs[n]}" if needs[n] else done
            fields = {
                "id": f"T-{first + n}",
                "owner": "-",
                "priority": tasks.PRIORITY,
                "deps": deps,
                "title": f"Step {n}",
                "branch": "",
                "files": "[]",
                "acceptance": "[]",
            }
            yield tasks.create(self.me, CHANNEL, fields, once=Once())
        for task in done.split(","):
            yield tasks.claim(self.me, CHANNEL, task, ttl_ms=LEASE_MS)
            yield tasks.move(self.me, CHANNEL, task, "done", once=Once())


def _files(first: int, end: int) -> list[str]:
    return [f"pkg{n % 97}/src/m{n}.py" for n in range(first, end)]


def hand_on(world: World, repo: Repository, rounds: int) -> list[float]:
    """One lets go of a file that another process stands in line for: milliseconds until that one's call has returned with the lock, each time."""
    worker, me, found = world.worker(), world.caller(AGENT), []
    for _ in range(WARM + rounds):
        asked = paths.Wanted(["handed/on.py"], fresh(16), lease_ms=LEASE_MS)
        world.wire.drive(flows.lock(me, CHANNEL, repo, asked, time.monotonic))
        worker.tell(do="queue", agent="bob", channel=CHANNEL, path="handed/on.py")
        _in_line(world)
        began = time.perf_counter()
        world.wire.drive(flows.unlock(me, CHANNEL, None, [(asked.id, "")], Once()))
        found.append(MS * (worker.hear()["at"] - began))
    return found[WARM:]


def _in_line(world: World) -> None:
    """Return once somebody stands in line, and sleeps."""
    end = time.monotonic() + READY_S
    while not world.wire.run(plain("ZCARD", world.keys.line)):
        if time.monotonic() > end:
            raise Refused(message="nobody came to stand in line")
        time.sleep(POLL_S)
    time.sleep(ASLEEP_S)
