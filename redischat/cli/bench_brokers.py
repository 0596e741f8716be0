"""bench --url: a broker of the user's beside the embedded one, in turns, in one run: what the way there costs a post, a wake, a command and a hook.

It works in a workspace of its own there, and removes it again; no other is touched.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from .. import Client
from ..calls import sessions
from ..calls.call import fresh
from ..files import folder
from ..hook import session as cards
from ..hook import wake
from ..keys import Keys
from ..settings import Settings, host
from ..wire import Wire
from .bench_commands import program, timed
from .bench_rows import Row, paired
from .bench_world import BODY, World
from .demo import client_wakes, sweep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ..waker.door import Door

PART = "url"
ROUNDS, QUICK_ROUNDS = 30, 4
WARM = 2
BURST = 20  # posts, and wakes, of a round
MS = 1000
BARE = "python -I -S -c pass"
EMBEDDED, GIVEN = "embedded", "there"
WHAT = {
    "post": "Client.post", "wake": "wake, 1 waiter", "say": "say, a process", "pending": "pending, a process", "hook": "hook with nothing to say",
    "client": "a new Client and its first answer",
}  # fmt: skip


class There(World):
    """The broker at a URL, as a world of this bench."""

    def __init__(self, env: Mapping[str, str], url: str) -> None:
        super().__init__(env)
        workspace = f"bench-{fresh(4)}"
        self.url, self.keys = url, Keys(workspace)
        self.env |= {"REDISCHAT_URL": url, "REDISCHAT_WORKSPACE": workspace}

    def open(self) -> None:
        """Connect."""
        self._wire = Wire(self.url)

    def close(self) -> None:
        """Leave nothing there, and nothing here."""
        try:
            if self._wire is not None:
                sweep(self._wire.run, self.keys)
                self._wire.close()
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


class Side:
    """One broker of the two: its world, an idle session there, and a door if its hooks need one."""

    def __init__(self, world: World) -> None:
        self.world, self.door = world, None
        world.channel("dock", ["amy", "bob"])
        self.client = Client(world.url, agent="amy", workspace=world.keys.workspace)
        settings = Settings({"url": world.url}, {**world.env, "REDISCHAT_SESSION": "bench-session"}, world.project)
        me = (world.keys, settings.session, "cat")
        world.channel("quiet", ["dan", "cat"])
        world.wire.run(sessions.begin(*me, harness="claude", host=host(), pid=os.getpid(), project=settings.home, way="none"))
        card = cards.card(settings, world.keys, "cat", harness="claude")
        cards.keep(world.state, settings.session, card)
        if card.get("door") and card["socket"]:
            self.door = _door(world, card)

    def measure(self, what: str) -> float:
        """Milliseconds of one of these; of a post and of a wake the mean of some."""
        return _MEASURES[what](self)

    def close(self) -> None:
        """Let go of it."""
        self.client.disconnect()
        if self.door is not None:
            self.door.leave()
            self.door.join(1)


def _door(world: World, card: dict[str, str]) -> Door:
    """What the waker would have opened."""
    from ..waker.door import Door

    os.makedirs(wake.folder(world.state), mode=0o700, exist_ok=True)
    door = Door(world.url, card["socket"], lambda _: None)
    door.start()
    return door


def _posts(side: Side) -> float:
    began = time.perf_counter()
    for _ in range(BURST):
        side.client.post("dock", BODY, to="none")
    return MS * (time.perf_counter() - began) / BURST


def _wakes(side: Side) -> float:
    return sum(client_wakes(side.world.url, side.world.keys, BURST // 4)) / (BURST // 4)


def _command(*words: str) -> Callable[[Side], float]:
    return lambda side: timed(side.world, [*program(), *words])


def _hook(side: Side) -> float:
    event = {"session_id": "bench-session", "cwd": side.world.project, "hook_event_name": "PostToolUse", "tool_name": "Read", "tool_input": {}}
    return _process(side.world, [sys.executable, "-I", "-S", os.path.join(folder("hooks"), "tick.py"), "claude"], json.dumps(event))


def _process(world: World, words: list[str], given: str) -> float:
    began = time.perf_counter()
    subprocess.run(words, cwd=world.project, env=world.env, input=given, capture_output=True, check=True, text=True)
    return MS * (time.perf_counter() - began)


def _first(side: Side) -> float:
    began = time.perf_counter()
    with Client(side.world.url, agent="amy", workspace=side.world.keys.workspace) as one:
        one.channels()
    return MS * (time.perf_counter() - began)


_MEASURES: dict[str, Callable[[Side], float]] = {
    "post": _posts, "wake": _wakes, "client": _first, "hook": _hook, "say": _command("say", "dock", BODY, "--to-none", "--as", "amy"),
    "pending": _command("pending", "--as", "bob"),
}  # fmt: skip


def brokers(here: World, there: World, *, quick: bool) -> Iterator[Row]:
    """Measure both sides in turns; ratios first."""
    sides = {GIVEN: Side(there), EMBEDDED: Side(here)}
    times: dict[tuple[str, str], list[float]] = {(what, name): [] for what in WHAT for name in sides}
    bare: list[float] = []
    try:
        for turn in range(WARM + (QUICK_ROUNDS if quick else ROUNDS)):
            for what in WHAT:
                for name in sides if turn % 2 else reversed(sides):
                    times[what, name].append(sides[name].measure(what))
            bare.append(_process(here, [sys.executable, "-I", "-S", "-c", "pass"], ""))
    finally:
        for side in sides.values():
            side.close()
    kept = {key: found[WARM:] for key, found in times.items()}
    for what, text in WHAT.items():
        yield Row(PART, f"{text}: at this URL / embedded", ratio=paired(kept[what, GIVEN], kept[what, EMBEDDED]))
    for name in sides:
        yield Row(PART, f"{WHAT['hook']}, {name} / {BARE}", ratio=paired(kept["hook", name], bare[WARM:]))
    for (what, name), found in kept.items():
        yield Row(PART, f"{WHAT[what]}, {name}", times=found)
