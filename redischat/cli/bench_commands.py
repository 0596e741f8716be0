"""bench, commands: whole processes of say, pending, read and wait with one new message, at three lengths of history; beside agent-chat if it is here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from ..calls import messages
from ..calls.call import Once
from ..errors import Refused
from ..flows import messages as flows
from .bench_rows import Row, at_most, paired
from .bench_world import BODY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .bench_world import World

PART = "commands"
AUTHOR, READER = "ann", "ben"  # in no other part's channels
PEER_BY = "REDISCHAT_BENCH_PEER"
HISTORIES = (10, 1_000, 100_000)
LEAST, MOST = HISTORIES[0], HISTORIES[-1]
VERBS = ("say", "pending", "read", "wait")
ROUNDS, QUICK_ROUNDS = 40, 5
WARM = 2  # rounds that compile modules and fill caches
OF_PEER = 0.6
FLAT = 1.15
MS = 1000

Times = dict[tuple[str, int], list[float]]


def commands(world: World, env: Mapping[str, str], *, quick: bool) -> Iterator[Row]:
    """Measure, verb by verb in turn; ratios first."""
    for history in HISTORIES:
        world.channel(f"h{history}", [AUTHOR, READER], history)
        world.wire.drive(flows.ack(world.caller(READER), f"h{history}", history))
    theirs = peer_of(env)
    peer = Peer(world, theirs) if theirs else None
    times: Times = {(verb, history): [] for verb in VERBS for history in HISTORIES}
    others: dict[str, list[float]] = {name: [] for name in ("bare", "post", "read")}
    for turn in range(WARM + (QUICK_ROUNDS if quick else ROUNDS)):
        for history in HISTORIES if turn % 2 else HISTORIES[::-1]:
            _round(world, history, times)
        others["bare"].append(timed(world, [sys.executable, "-c", "pass"]))
        if peer is not None:
            peer.round(others)
    kept = {key: found[WARM:] for key, found in times.items()}
    return _rows(kept, {key: found[WARM:] for key, found in others.items()})


def _round(world: World, history: int, times: Times) -> None:
    """One new message for the reader: announced, read; and one more that it need not wait for."""
    channel, ours = f"h{history}", program()
    steps = {
        "say": ["say", channel, BODY, "--as", AUTHOR],
        "pending": ["pending", channel, "--as", READER],
        "read": ["read", channel, "--as", READER],
        "wait": ["wait", channel, "--as", READER],
    }
    for verb, words in steps.items():
        if verb == "wait":
            world.wire.run(messages.post(world.caller(AUTHOR), channel, messages.Draft(BODY), once=Once()))
        times[verb, history].append(timed(world, [*ours, *words]))


def program() -> list[str]:
    """The command as it is installed beside this Python, else the module."""
    script = shutil.which("redischat", path=os.path.dirname(sys.executable))
    return [script] if script else [sys.executable, "-m", "redischat"]


def _compiled(world: World) -> dict[str, str]:
    """An environment in which modules are compiled once, as those of an installed package are, whatever the caller's says and may write."""
    env = {name: value for name, value in world.env.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**env, "AGENT_CHAT_ROOT": os.path.join(world.directory, "peer"), "PYTHONPYCACHEPREFIX": os.path.join(world.directory, "pyc")}


def timed(world: World, words: list[str]) -> float:
    """Milliseconds from the start of a process to its end, its output read through pipes, as a harness does it."""
    env = _compiled(world)
    began = time.perf_counter()
    done = subprocess.run(words, cwd=world.project, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    took = MS * (time.perf_counter() - began)
    if done.returncode:
        raise Refused(message=f"{' '.join(words[:3])} ended with {done.returncode}: {done.stderr.decode(errors='replace').strip()}")
    return took


def peer_of(env: Mapping[str, str]) -> str | None:
    """The agent-chat that is named, or on PATH."""
    return env.get(PEER_BY) or shutil.which("agent-chat", path=env.get("PATH"))


class Peer:
    """agent-chat, in a chat of its own with the shortest history: the case that favours it."""

    def __init__(self, world: World, program: str) -> None:
        self.world, self.program = world, program
        timed(world, [program, "init", "lab", "--members", f"{AUTHOR},{READER}"])
        for _ in range(LEAST):
            self.post()
        self.read()

    def post(self) -> float:
        """One message for the reader."""
        return timed(self.world, [self.program, "post", "lab", "--from", AUTHOR, "--title", "note", "--body", BODY])

    def read(self) -> float:
        """The reader reads it."""
        return timed(self.world, [self.program, "read", "lab", "--as", READER])

    def round(self, found: dict[str, list[float]]) -> None:
        """Post one, read one."""
        found["post"].append(self.post())
        found["read"].append(self.read())


def _rows(times: Times, others: dict[str, list[float]]) -> Iterator[Row]:
    if others["post"]:
        for verb in VERBS:
            theirs = "post" if verb == "say" else "read"
            yield at_most(PART, f"{verb} / agent-chat {theirs}, both at {LEAST} messages", paired(times[verb, LEAST], others[theirs]), OF_PEER)
    for verb in VERBS:
        yield at_most(PART, f"{verb}, {MOST:,} messages / {LEAST} messages", paired(times[verb, MOST], times[verb, LEAST]), FLAT)
    yield Row(PART, "say / python -c pass", ratio=paired(times["say", LEAST], others["bare"]))
    for (verb, history), found in times.items():
        yield Row(PART, f"redischat {verb}, {history:,} messages", times=found)
    names = {"bare": "python -c pass", "post": "agent-chat post", "read": "agent-chat read"}
    for key, found in others.items():
        if found:
            yield Row(PART, names[key], times=found)
