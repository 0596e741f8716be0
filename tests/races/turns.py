"""A worker: a session whose turns end again and again while somebody says something to it. What became of each message it prints as JSON.

Its hooks run in forks of this process, so that a turn costs milliseconds: ``turns.py STATE URL SESSION AGENT ROUNDS SEED``.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "hooks"), os.path.join(HERE, "..", "..")]

import posix  # noqa: E402

import asking  # type: ignore[import-not-found]  # noqa: E402

import redischat.harness.entry  # noqa: E402, F401 - once, before the forks
from redischat.calls import messages  # noqa: E402
from redischat.calls.call import Caller, Once  # noqa: E402
from redischat.flows import messages as talk  # noqa: E402
from redischat.hook import session as cards  # noqa: E402
from redischat.keys import Keys  # noqa: E402
from redischat.wire import Wire  # noqa: E402

SPREAD_S, IN_TIME_S = 0.05, 2.0


class Turns:
    def __init__(self, state, url, session, agent):
        self.state, self.session, self.agent, self.url = state, session, agent, url
        self.bell = cards.bell_of(state, session)
        self.wire, self.keys = Wire(url), Keys("default")
        posix.environ[b"REDISCHAT_STATE"] = state.encode()

    def hook(self, name, **fields):
        """Fork a hook; (pid, where its output will be read)."""
        said, out = os.pipe(), os.pipe()
        os.write(said[1], json.dumps({"session_id": self.session, "hook_event_name": name, "cwd": "/", **fields}).encode())
        os.close(said[1])
        pid = os.fork()
        if pid:
            os.close(said[0])
            os.close(out[1])
            return pid, out[0]
        os.dup2(said[0], 0)
        os.dup2(out[1], 1)
        os.dup2(out[1], 2)
        sys.argv[1:] = ["claude"]
        asking.STARTED = time.monotonic()
        os._exit(asking.main())
        return None

    @staticmethod
    def said(hook):
        """What a hook said, once it has ended."""
        pid, out = hook
        data = b""
        while part := os.read(out, 1 << 16):
            data += part
        os.close(out)
        os.waitpid(pid, 0)
        return data.decode()

    def say(self, number):
        who = ("amy", "carl")[number % 2]  # by turns: two who only talk are braked
        self.wire.drive(talk.say(Caller(self.keys, who), "room-" + self.agent, messages.Draft(f"number {number}.", to=[self.agent]), Once()))

    def touched(self):
        return os.stat(self.bell).st_mtime_ns

    def round(self, number, offset):
        """One turn that ends, one message at about that time. Gives how it came, and what the hook of its end said."""
        mark, before = f"number {number}.", self.touched()
        assert mark not in self.said(self.hook("UserPromptSubmit", prompt="go on"))
        if offset < 0:
            hook = self.hook("Stop")
            time.sleep(-offset)
            self.say(number)
        else:
            self.say(number)
            time.sleep(offset)
            hook = self.hook("Stop")
        injected = mark in self.said(hook)
        end = time.monotonic() + IN_TIME_S
        while not injected and self.touched() == before and time.monotonic() < end:
            time.sleep(0.001)
        rung = self.touched() != before
        if rung and not injected:
            woken = self.said(self.hook("FileChanged"))
            got = self.said(self.hook("UserPromptSubmit", prompt="<task-notification>"))
            assert "for you" in woken, (number, woken, got)
            assert mark in got, (number, woken, got)
        more = self.said(self.hook("Stop"))
        assert not more, (number, offset, injected, rung, more)
        return injected, self.touched() != before  # also if it was rung late, for what was injected


def main(state, url, session, agent, rounds, seed):
    turns, dice = Turns(state, url, session, agent), random.Random(int(seed))
    found: dict[str, Any] = {"injected": 0, "rung": 0, "neither": [], "both": []}
    for number in range(int(rounds)):
        offset = dice.uniform(-SPREAD_S, SPREAD_S) if number % 2 else dice.uniform(-0.008, 0.008)
        how = turns.round(number, offset)
        if how == (True, False):
            found["injected"] += 1
        elif how == (False, True):
            found["rung"] += 1
        else:
            found["both" if all(how) else "neither"].append((number, round(offset * 1000, 2)))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
