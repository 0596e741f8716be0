"""bench, hooks: what a harness pays at each event: the hook as a whole process, beside the bare interpreter; with nothing to say, with a message, with no broker."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from ..calls import messages, paths, sessions
from ..calls.call import Once, fresh
from ..errors import Refused
from ..files import folder
from ..hook import session as cards
from ..repository import find
from ..settings import Settings, host
from .bench_rows import Row, at_most, paired
from .bench_world import BODY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .bench_world import World

PART = "hooks"
AUTHOR = "cat"  # in no other part's channels
ROOMS = (1, 100)
ROUNDS, QUICK_ROUNDS = 40, 8
AWAY_ROUNDS, QUICK_AWAY_ROUNDS = 5, 1  # each takes the whole 2 s where the broker is mute
WARM = 2
MS, LEASE_MS = 1000, 3_600_000
NOTHING, NEWS, FLAT, AWAY_MS = 1.3, 4.0, 1.15, 2000
BARE, QUIET, MANY, PLUGIN, SAYS, EDIT = "bare", "quiet", "many", "plugin", "says", "edit"
WHAT = {
    BARE: "python -I -S -c pass",
    QUIET: "hook with nothing to say, 1 room",
    MANY: "hook with nothing to say, 100 rooms",
    PLUGIN: "the same through the plugin's hooks/run, 1 room",
    SAYS: "hook with one message",
    EDIT: "hook before an edit, in a repository where others hold paths",
}


def hooks(world: World, *, quick: bool) -> Iterator[Row]:
    """Measure, all kinds in turn; ratios first."""
    lab = Lab(world)
    times: dict[str, list[float]] = {name: [] for name in WHAT}
    for turn in range(WARM + (QUICK_ROUNDS if quick else ROUNDS)):
        for name in WHAT if turn % 2 else reversed(WHAT):
            times[name].append(lab.measure(name))
    kept = {name: found[WARM:] for name, found in times.items()}
    away = QUICK_AWAY_ROUNDS if quick else AWAY_ROUNDS
    return _rows(kept, {"no broker": lab.refused(away), "a mute broker": lab.mute(away)})


def _rows(times: dict[str, list[float]], away: dict[str, list[float]]) -> Iterator[Row]:
    yield at_most(PART, f"{WHAT[QUIET]} / {WHAT[BARE]}", paired(times[QUIET], times[BARE]), NOTHING)
    yield at_most(PART, "nothing to say: 100 rooms / 1 room", paired(times[MANY], times[QUIET]), FLAT)
    yield at_most(PART, f"{WHAT[SAYS]} / {WHAT[BARE]}", paired(times[SAYS], times[BARE]), NEWS)
    yield Row(PART, f"{WHAT[PLUGIN]} / {WHAT[BARE]}", ratio=paired(times[PLUGIN], times[BARE]))
    yield Row(PART, f"{WHAT[EDIT]} / {WHAT[BARE]}", ratio=paired(times[EDIT], times[BARE]))
    for name, found in times.items():
        yield Row(PART, WHAT[name], times=found)
    for name, found in away.items():
        yield Row(PART, f"hook with {name}: silent, exit 0", times=found, target="<= 2000 ms", meets=lambda row: (row.p99_ms or 0) <= AWAY_MS)


class Lab:
    """Sessions of this bench's own: as a harness's SessionStart leaves them, without a harness and without a waker."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.sessions = {rooms: f"bench-{rooms:08}" for rooms in ROOMS}
        self.tick = os.path.join(folder("hooks"), "tick.py")
        self.agents: dict[int, str] = {}
        for rooms in ROOMS:
            settings = self._settings(self.sessions[rooms])
            self.agents[rooms] = settings.own_name()
            for number in range(rooms):
                world.channel(f"k{rooms}-{number}", [AUTHOR, self.agents[rooms]])
            me = (world.keys, settings.session, self.agents[rooms])
            world.wire.run(sessions.begin(*me, harness="claude", host=host(), pid=os.getpid(), project=settings.home, way="none"))
            self._keep(settings, self.agents[rooms])
        self._lock()
        self._lay_plugin()

    def _settings(self, session: str) -> Settings:
        return Settings({}, {**self.world.env, "REDISCHAT_SESSION": session}, self.world.project)

    def _keep(self, settings: Settings, agent: str, **instead: str) -> None:
        repository = find(settings, cwd=self.world.project).digest
        cards.keep(self.world.state, settings.session, {**cards.card(settings, self.world.keys, agent, harness="claude", repository=repository), **instead})

    def _lock(self) -> None:
        """Another agent holds a path of this repository."""
        repo = find(self._settings("nobody"), cwd=self.world.project)
        self.world.wire.run(paths.lock(self.world.caller(AUTHOR), "k1-0", repo, paths.Wanted(["held.md"], fresh(16), lease_ms=LEASE_MS)))

    def _lay_plugin(self) -> None:
        """What hooks/run would have found at the session's start."""
        self.run = os.path.join(folder("hooks"), "run")
        with open(os.path.join(self.world.state, "plugin"), "w", encoding="utf-8") as file:
            file.write(f"{sys.executable}\n{self.tick}\n")

    def measure(self, name: str) -> float:
        """Milliseconds of one process of this kind."""
        if name == BARE:
            return self._timed([sys.executable, "-I", "-S", "-c", "pass"], "")[0]
        rooms = ROOMS[-1] if name == MANY else ROOMS[0]
        if name == SAYS:
            self.world.wire.run(messages.post(self.world.caller(AUTHOR), "k1-0", messages.Draft(BODY), once=Once()))
        words = [self.run, "claude"] if name == PLUGIN and shutil.which(self.run) else self._hook()
        took, said = self._timed(words, self._event(self.sessions[rooms], "PreToolUse" if name == EDIT else "PostToolUse"))
        if (BODY[:20] in said) != (name == SAYS):
            raise Refused(message=f"{WHAT[name]}: it said {said[:200]!r}")
        return took

    def refused(self, rounds: int) -> list[float]:
        """Where nobody listens."""
        return self._away(os.path.join(self.world.directory, "none"), rounds)

    def mute(self, rounds: int) -> list[float]:
        """Where somebody listens and never answers."""
        path = os.path.join(self.world.directory, "mute")
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(path)
            door.listen(rounds)
            return self._away(path, rounds)

    def _away(self, path: str, rounds: int) -> list[float]:
        session = "bench-away"
        settings = self._settings(session)
        self._keep(settings, settings.own_name(), socket=path, url="unix://" + path)
        return [self._timed(self._hook(), self._event(session, "PostToolUse"))[0] for _ in range(rounds)]

    def _hook(self) -> list[str]:
        return [sys.executable, "-I", "-S", self.tick, "claude"]

    def _event(self, session: str, name: str) -> str:
        """As Claude Code sends it, with a page of a file in the answer."""
        event: dict[str, Any] = {
            "session_id": session, "transcript_path": "/dev/null", "cwd": self.world.project, "permission_mode": "default", "hook_event_name": name,
            "tool_name": "Edit", "tool_input": {"file_path": os.path.join(self.world.project, "free.md"), "old_string": "a", "new_string": "b"},
        }  # fmt: skip
        return json.dumps(event if name == "PreToolUse" else {**event, "tool_response": {"originalFile": "a line of it\n" * 100}})

    def _timed(self, words: list[str], given: str) -> tuple[float, str]:
        began = time.perf_counter()
        done = subprocess.run(words, cwd=self.world.project, env=self.world.env, input=given, capture_output=True, check=False, text=True)
        took = MS * (time.perf_counter() - began)
        if done.returncode or done.stderr:
            raise Refused(message=f"{' '.join(words[-2:])} ended with {done.returncode}: {done.stderr.strip()}")
        return took, done.stdout
