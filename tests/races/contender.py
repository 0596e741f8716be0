"""One of many who want the same file: ``contender.py '{"url": ..., "agent": ..., "ledger": ...}'`` says "ready", begins at "go", notes in the ledger that it has it, and lets go.

``stops``: it is stopped (SIGSTOP) when its ring comes. ``keeps``: it never lets go.
"""

# ruff: noqa: T201 - it says that it is ready

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time

from redischat.calls import paths as calls
from redischat.calls.call import Caller, Once, fresh
from redischat.flows import paths as flows
from redischat.keys import Keys
from redischat.wire import Wire


class Repo:
    key, digest, how = "example.org/team/boat", "0123456789abcdef", "--repo"


class Stopped(Wire):
    """A connection whose process is stopped when it is rung for the first time."""

    rung = False

    def listen(self, asked):
        heard = super().listen(asked)
        if heard == "granted" and not self.rung:
            self.rung = True
            os.kill(os.getpid(), signal.SIGSTOP)
        return heard


def main(order):
    who, path = Caller(Keys("w"), order["agent"]), order.get("path", "src/a.py")
    wire = (Stopped if order.get("stops") else Wire)(order["url"])
    print("ready", flush=True)
    sys.stdin.readline()
    asked = calls.Wanted([path], fresh(16), lease_ms=order.get("lease_ms", 60_000), wait=order.get("wait", 60))
    got = wire.drive(flows.lock(who, "dock", Repo, asked, time.monotonic))
    with open(order["ledger"], "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps({"agent": order["agent"], "token": got["token"], "from": [one["previous_owner"] for one in got["recovered"]]}) + "\n")
    if not order.get("keeps"):
        select.select([], [], [], order.get("hold", 0.03))  # its work
        wire.drive(flows.unlock(who, "dock", None, [(asked.id, "")], Once()))
    wire.close()


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
