"""What bench measures in: a private broker like the embedded one, channels of a given size, and worker processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from typing import TYPE_CHECKING

from ..broker import admin, start
from ..calls import messages
from ..calls.call import Caller, Once
from ..errors import Refused
from ..flows import channels
from ..keys import Keys
from ..settings import SESSION_BY
from ..wire import Wire

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

WORKSPACE = "bench"
BODY = ("Schema v2 is on the branch; the importer takes 12 s now, 50 before. " * 5)[:300]
BATCH = 500  # messages imported by one script
US = 1_000_000
LONGEST = 70  # bytes of a temporary directory: a socket has a path of 104 at most
_OTHERS = ("CLAUDE_PROJECT_DIR", *SESSION_BY)  # who the caller is


class World:
    """A broker of its own in a scratch directory, never the user's. :meth:`close` stops it, ends the workers and removes the directory."""

    def __init__(self, env: Mapping[str, str], fsync: str = start.FSYNC[0]) -> None:
        self.fsync = fsync
        self.workers: list[Worker] = []
        self.keys = Keys(WORKSPACE)
        self.directory = tempfile.mkdtemp(prefix="rcb", dir=_short())
        self.state = os.path.join(self.directory, "st")
        self.project = os.path.join(self.directory, "p")
        os.makedirs(os.path.join(self.project, ".redischat"))  # a project of its own, whatever lies above it
        own = {name: value for name, value in env.items() if name not in _OTHERS and not name.startswith("REDISCHAT_")}
        self.env = {**own, "REDISCHAT_STATE": self.state, "REDISCHAT_WORKSPACE": WORKSPACE}
        self._wire: Wire | None = None

    def open(self) -> None:
        """Start the broker: the binary, the options and the code of the embedded one."""
        self.url = start.ensure(self.state, fsync=self.fsync)
        self.fsync = str(admin.status(self.state)["fsync"])  # REDISCHAT_FSYNC wins
        self._wire = Wire(self.url)

    @property
    def wire(self) -> Wire:
        """A connection to it."""
        if self._wire is None:
            raise Refused(message="the broker of the bench is not open")
        return self._wire

    def server(self) -> str:
        """Which server it is, and how it writes."""
        got = admin.status(self.state)
        return f"{got['version']} (AOF {got['fsync']})"

    def caller(self, agent: str) -> Caller:
        """One agent of this workspace."""
        return Caller(self.keys, agent)

    def channel(self, name: str, members: list[str], history: int = 0) -> None:
        """A channel without a cap, with so many messages of the first member, all unread."""
        first = self.caller(members[0])
        self.wire.drive(channels.enter(first, name, channels.Wanted(members=members[1:], max_messages=0), Once()))
        now = int(time.time() * US)
        for done in range(0, history, BATCH):
            seqs = range(done + 1, min(done + BATCH, history) + 1)
            self.wire.run(messages.import_batch(first, name, [(seq, "m", first.agent, now + seq, BODY, "", "*", "", "", "", "") for seq in seqs]))

    def worker(self) -> Worker:
        """One more process, ready for orders."""
        worker = Worker(self)
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        """Leave nothing behind."""
        for worker in self.workers:
            worker.end()
        if self._wire is not None:
            self._wire.close()
        try:
            admin.stop(self.state, force=True)
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)


def _short() -> str:
    """A temporary directory in which a socket's path is short enough."""
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) <= LONGEST else "/tmp"  # noqa: S108 - mkdtemp makes a private one in it


class Worker:
    """A process that does what it is told, a JSON line each (bench_worker.py). It ends with its input, and so with us."""

    def __init__(self, world: World) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "redischat.cli.bench_worker", world.url], cwd=world.project, env=world.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, encoding="utf-8",
        )  # fmt: skip

    def tell(self, **order: Any) -> None:
        """Give an order."""
        if self.process.stdin is not None:
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """The next answer."""
        line = self.process.stdout.readline() if self.process.stdout is not None else ""
        if not line:
            raise Refused(message="a worker of the bench has ended; its reason is on standard error")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """End it now."""
        self.process.kill()
        self.process.communicate()
