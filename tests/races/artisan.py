"""One of several who claim names and tasks, lock files and finish, in a process of its own: ``artisan.py '{"url": ..., "agent": ..., "ledger": ...}'``.

It writes down what the broker acknowledged, as the audit that this must have left: what, of what, under which token. It stops when its input ends.
"""

# ruff: noqa: T201 - it says that it is ready

from __future__ import annotations

import json
import sys

from actors import BARE, Worker
from contender import Repo

from redischat.calls import claims, paths, tasks
from redischat.calls.call import Once, fresh
from redischat.errors.paths import PathLockConflict
from redischat.errors.tasks import NothingReady

LONG_MS = 600_000
FILES = ("src", "src/a.py", "src/b.py", "docs/c.md", "docs/d.md", "e")
ENDS = {"done": "lease.completed", "release": "lease.released", "cancel": "task.updated"}


def turn(worker, n):
    """A task is made, one is taken, files are locked for it, it ends, and all is given back."""
    wire, who, dice = worker.wire, worker.who, worker.dice
    fields = {name: BARE.get(name) for name in ("id", "owner", "priority", "deps", "title", "branch", "files", "acceptance")}
    made = wire.run(tasks.create(who, "dock", {**fields, "title": f"title {n}"}, once=Once()))
    worker.write(what="task.created", of=made["id"], token=None)
    name = f"{who.agent}-{n}"
    got = wire.run(claims.take(who, "dock", name))
    worker.write(what="claim.claimed", of=name, token=got["token"])
    lock(worker)
    if dice.random() < 0.7:
        wire.run(claims.drop(who, "dock", name, once=Once()))
        worker.write(what="claim.released", of=name, token=None)


def lock(worker):
    asked = paths.Wanted(worker.dice.sample(FILES, worker.dice.choice([1, 2])), fresh(16), lease_ms=LONG_MS, shared=worker.dice.random() < 0.3)
    try:
        got = worker.wire.run(paths.lock(worker.who, "dock", Repo, asked))
    except PathLockConflict:
        return
    worker.write(what="path.locked", of=got["lock_id"], token=got["token"])
    work(worker)
    if worker.dice.random() < 0.3:
        worker.wire.run(paths.renew(worker.who, "dock", [(asked.id, "")], LONG_MS, once=Once()))
        worker.write(what="path.lock.renewed", of=asked.id, token=None)
    worker.wire.run(paths.unlock(worker.who, "dock", [(asked.id, "")], once=Once()))
    worker.write(what="path.lock.unlocked", of=asked.id, token=None)


def work(worker):
    try:
        got = worker.wire.run(tasks.next_(worker.who, "dock", take=True, ttl_ms=LONG_MS, once=Once()))
    except NothingReady:
        return
    worker.write(what="lease.claimed", of=got["id"], token=got["token"])
    how = worker.dice.choice(["done", "done", "release", "cancel"])
    why = "x" if how == "cancel" else ""
    worker.wire.run(tasks.move(worker.who, "dock", got["id"].lower(), how, fence=got["token"], reason=why, once=Once()))
    worker.write(what=ENDS[how], of=got["id"], token=None)


def main():
    worker = Worker(json.loads(sys.argv[1]))
    print("ready", flush=True)
    n = 0
    if sys.stdin.readline() == "go\n":
        worker.wire.run(paths.unlock(worker.who, "dock", [], once=Once(), all_=True))  # of one that died under this name
        while not worker.ended(0):
            n += 1
            turn(worker, n)
    worker.wire.close()


if __name__ == "__main__":
    main()
