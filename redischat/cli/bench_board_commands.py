"""bench, board: whole processes of lock, check, task claim and task next --claim among many locks and tasks; beside agent-chat's, if it is here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .bench_commands import OF_PEER, PEER_BY, peer_of, timed
from .bench_commands import program as ours
from .bench_rows import Row, at_most, paired
from .show import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .bench_world import World

PART = "board"
CHANNEL, AGENT = "board", "amy"  # as in bench_board
PEERS = 1_000  # active records of agent-chat: the locks, and the tasks that are held
ROUNDS, QUICK_ROUNDS = 20, 2
WARM = 1  # rounds that compile modules and fill caches
PLAN, CLAIMED = 10, 2  # of the tasks of a plan (bench_board), the one that is claimed
LEASE = ("--lease-seconds", "86400")
THEIRS = {"lock": "lock", "check": "check", "task claim": "task claim", "task next --claim": "task claim"}

Times = dict[str, list[float]]


def commands(world: World, env: Mapping[str, str], records: tuple[int, int], *, quick: bool) -> Times:
    """Measure, verb by verb in turn, where there are so many locked paths and tasks. Gives the milliseconds of each command."""
    turns = WARM + (QUICK_ROUNDS if quick else ROUNDS)
    theirs = peer_of(env)
    peer = Peer(world, theirs, turns) if theirs else None
    if peer is None:
        say(f"agent-chat is not measured: it is not on PATH, and {PEER_BY} names none")
    locked, tasks = f"{records[0]:,} locked", f"{records[1]:,} tasks"
    times: Times = {}
    for turn in range(turns):
        sides = [(f"redischat {verb}, {tasks if 'task' in verb else locked}", words) for verb, words in _ours(turn, records[1]).items()]
        if peer is not None:
            sides += [(f"agent-chat {verb}, {PEERS:,} {'tasks' if 'task' in verb else 'locks'}", words) for verb, words in peer.words(turn).items()]
        times = times or {what: [] for what, _ in sides}
        for what, words in sides if turn % 2 else sides[::-1]:
            times[what].append(timed(world, words))
    return {what: one[WARM:] for what, one in times.items()}


def _ours(turn: int, tasks: int) -> dict[str, list[str]]:
    """A file that nobody has, and a task that nobody has."""
    file, task = f"pkg{turn}/src/new.py", f"T-{tasks - PLAN * (turn + 1) + CLAIMED}"  # claimed from the end, as the next ones come from the beginning
    verbs = {"lock": [file], "check": [f"pkg{turn}/src/other.py"], "task claim": [task], "task next --claim": []}
    return {verb: [*ours(), *_verb(verb), *words, "--as", AGENT] for verb, words in verbs.items()}


def _verb(verb: str) -> list[str]:
    """``task next --claim`` with the channel in its place."""
    words = verb.split(" ")
    at = 2 if words[0] == "task" else 1
    return [*words[:at], CHANNEL, *words[at:]]


class Peer:
    """agent-chat with a thousand locks and as many claimed tasks: one of each is made by its own verbs, the others are copies of what it wrote.

    It has the messages of those few: the case that favours it.
    """

    def __init__(self, world: World, program: str, turns: int) -> None:
        self.program, self.folder = program, os.path.join(world.directory, "peer", CHANNEL)

        def does(*words: str) -> None:
            timed(world, [program, *words])

        does("init", CHANNEL, "--members", f"{AGENT},ben")
        does("lock", CHANNEL, "held-0.py", "--as", AGENT, *LEASE)
        (lock,) = self._records("locks")
        for n in range(1, PEERS):
            self._copy("locks", lock, {lock.removesuffix(".json"): f"{n:032x}", "held-0.py": f"held-{n}.py"})
        does("task", "create", CHANNEL, "T-0", "--title", "Step", "--from", AGENT)
        for n in range(turns):
            self._copy("tasks", "T-0.json", {"T-0": f"free-{n}"})
        does("task", "claim", CHANNEL, "T-0", "--as", AGENT, *LEASE)
        (claim,) = self._records("claims")
        for n in range(1, PEERS):
            for folder, name in (("tasks", "T-0.json"), ("claims", claim)):
                self._copy(folder, name, {"T-0": f"T-{n}"})

    def _records(self, folder: str) -> list[str]:
        return [name for name in os.listdir(os.path.join(self.folder, folder)) if name.endswith(".json") and not name.startswith(".")]

    def _copy(self, folder: str, name: str, changes: dict[str, str]) -> None:
        """The same record of another lock or task."""
        with open(os.path.join(self.folder, folder, name), encoding="utf-8") as file:
            text = file.read()
        for old, new in changes.items():
            name, text = name.replace(old, new), text.replace(old, new)
        with open(os.path.join(self.folder, folder, name), "x", encoding="utf-8") as file:
            file.write(text)

    def words(self, turn: int) -> dict[str, list[str]]:
        """A file that nobody has, and a task that nobody has."""
        return {
            "lock": [self.program, "lock", CHANNEL, f"new-{turn}.py", "--as", AGENT],
            "check": [self.program, "check", CHANNEL, f"other-{turn}.py", "--as", AGENT],
            "task claim": [self.program, "task", "claim", CHANNEL, f"free-{turn}", "--as", AGENT],
        }


def ratios(times: Times) -> Iterator[Row]:
    """Each of our commands beside theirs."""
    for what in times:
        verb = what.partition(",")[0].removeprefix("redischat ")
        theirs = next((one for one in times if one.startswith(f"agent-chat {THEIRS.get(verb)},")), None)
        if theirs:
            yield at_most(PART, f"{what} / {theirs}", paired(times[what], times[theirs]), OF_PEER)


def rows(times: Times) -> Iterator[Row]:
    """What each command took."""
    for what, one in times.items():
        yield Row(PART, what, times=one)
