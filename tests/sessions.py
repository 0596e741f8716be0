"""Sessions of a harness as redischat sees them: the hook that a harness runs at each event, as a process; and this host's waker, which is gone at the end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

from waiting import wait_until

from redischat.hook import session as cards
from redischat.hook import wake
from redischat.settings import read_pairs

TICK = Path(__file__).parent.parent / "hooks" / "tick.py"


class Session:
    """One session of ``client`` in a project of a town. Call it with an event and its fields: what its hook said, as text."""

    def __init__(self, town, name, agent=None, client="claude"):
        self.town, self.id, self.agent, self.client = town, name, agent or name, client
        self.person = town.person("p-" + self.agent)
        config = Path(self.person.directory, ".redischat", "config")
        config.parent.mkdir(exist_ok=True)
        config.write_text(f"agent={self.agent}\n")

    def __call__(self, name, /, code=0, **fields):
        """Run the hook of event ``name``; what it says to the model, or why it says no."""
        done = self.run(name, **fields)
        assert done.returncode == code, done
        out = done.stdout.decode()
        if not out.startswith("{"):
            return out + done.stderr.decode()
        found = json.loads(out)
        own = found.get("hookSpecificOutput", {})
        return found.get("reason") or own.get("additionalContext") or own.get("permissionDecisionReason") or ""

    def run(self, name, /, **fields):
        """The hook's process, run to its end."""
        said = json.dumps({"session_id": self.id, "hook_event_name": name, "cwd": self.person.directory, **fields})
        env = {**self.town.env, "CLAUDE_PROJECT_DIR": self.person.directory}
        words = [sys.executable, "-I", "-S", TICK, self.client]
        return subprocess.run(words, input=said.encode(), env=env, cwd=self.person.directory, capture_output=True, timeout=20, check=False)

    @property
    def bell(self):
        """What the doorbell file says; "" before it was ever touched."""
        with suppress(FileNotFoundError), open(cards.bell_of(self.town.state, self.id), encoding="utf-8") as file:
            return file.read()
        return ""

    def quiet(self):
        """Forget what the doorbell file says."""
        with open(cards.bell_of(self.town.state, self.id), "w", encoding="utf-8"):
            pass

    def rung(self, seconds=10.0):
        """Come back when its doorbell was touched; what it says."""
        return wait_until(lambda: self.bell, f"{self.id} is rung", seconds)


@contextmanager
def ended_at_last(state):
    """Whatever waker was started for this state directory is gone afterwards."""
    try:
        yield
    finally:
        wait_until(lambda: _gone(state), "the waker is gone", 20)


def _gone(state):
    """Close it, also one that a late starter brings back; kill one that is stopped. True when none runs."""
    found = read_pairs(os.path.join(wake.folder(state), "status"))
    if wake.running(state) and not wake.stop(state, 3.0) and found.get("pid"):
        for one in (signal.SIGCONT, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.kill(int(found["pid"]), one)
    return not wake.running(state)


def status(state):
    """What the waker says of itself, once it has said it."""
    return wait_until(lambda: (found := wake.status(state)).get("pid") and found, "a waker runs")
