"""What one of two hosts does, a line of JSON for each line that it is given: ``far.py speaker URL`` posts; ``far.py sleeper URL STATE`` has the waker and a session."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time

from test_wakes import KEYS, heard, in_thread, seat, wired

from redischat.calls import channels, messages, sessions
from redischat.calls.call import Caller, Once, fresh
from redischat.hook import deliver
from redischat.waker import ring

ROOM = "dock"
PATIENCE_S = 5.0


def put(found):
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()


def speaker(url):
    """Post a message for bob at each line; when that began. By turns: two who only talk are braked."""
    with wired(url) as wire:
        for number, _ in enumerate(sys.stdin):
            who = Caller(KEYS, ("amy", "carl")[number % 2])
            began = time.perf_counter()
            wire.run(messages.post(who, ROOM, messages.Draft(f"number {number}", to=["bob"]), once=Once()))
            put(began)


def sleeper(url, state):
    """Say when bob was rung, after each line; then bob wakes, reads, and is idle again."""
    rung, landed = [], threading.Event()

    def note(*_):
        rung.append(time.perf_counter())
        landed.set()
        return ring.Rung()

    ring.ring = note
    with wired(url) as wire, in_thread(state):
        for who in ("amy", "bob", "carl"):
            wire.run(channels.open(Caller(KEYS, who), ROOM, cap=0 if who == "amy" else None, once=Once()))
        session, bob = seat(wire, state, url, "bob"), Caller(KEYS, "bob")
        heard(url, 1)
        put("ready")
        for _ in sys.stdin:
            if not landed.wait(PATIENCE_S):
                put(None)
                return
            put(rung[-1])
            landed.clear()
            wire.run(sessions.tick(KEYS, session, "bob", "woken"))
            wire.drive(deliver.all_news(bob, fresh()))
            wire.run(sessions.tick(KEYS, session, "bob", "idle"))
            put(len(rung))


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        if sys.argv[1] == "speaker":
            speaker(sys.argv[2])
        else:
            sleeper(*sys.argv[2:])
