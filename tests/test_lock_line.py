"""The line for paths against a model of it: shared and exclusive, several paths at once, re-entrancy, waiters that die, circles of four kinds of waiting."""

from __future__ import annotations

import itertools
import random

import fakeredis
import pytest
import redis

from redischat.calls import paths as calls
from redischat.calls.call import Caller, Once
from redischat.errors import ChatError
from redischat.keys import Keys

KEYS = Keys("default")
PATHS = ["a", "a/b", "a/b/c", "a/b-", "a/c", "d", "d/e", "d e", "f", "ab"]
OWNERS, STEPS = 6, 150


class Repo:
    key, digest, how = "example.org/team/boat", "0123456789abcdef", "--repo"


def over(one, other):
    return one == other or other.startswith(one + "/") or one.startswith(other + "/")


def clash(one, other):
    return "x" in (one, other)


def reach(graph, start, goal):
    seen, todo = set(), [start]
    while todo:
        at = todo.pop()
        if at == goal:
            return True
        if at not in seen:
            seen.add(at)
            todo += graph.get(at, ())
    return False


class Request:
    def __init__(self, name, owner, mode, paths):
        self.name, self.owner, self.mode, self.paths = name, owner, mode, calls.effective(paths)


class Model:
    """Who holds what, who stands in line, who waits for a word or a task; ``deaf``: requests whose process is gone."""

    def __init__(self):
        self.held, self.line, self.waits, self.tasks, self.deaf, self.rung = {}, [], {}, {}, set(), []

    def blockers(self, w):
        return [
            owner for path, holders in self.held.items() for owner, mode in holders.items()
            if owner != w.owner and clash(w.mode, mode) and any(over(path, one) for one in w.paths)
        ]  # fmt: skip

    def stuck(self, line):
        graph: dict = {}
        for w in line:
            for owner in self.blockers(w):
                graph.setdefault(w.owner, set()).add(owner)
        return graph

    def ahead(self, w, line, stuck):
        before = itertools.takewhile(lambda one: one is not w, line)
        return [
            e for e in before
            if e.owner != w.owner and clash(w.mode, e.mode) and any(over(p, q) for p in w.paths for q in e.paths) and not reach(stuck, e.owner, w.owner)
        ]  # fmt: skip

    def closes(self, w, *, soft):
        line = [*self.line, w]
        stuck = self.stuck(line)
        graph = {owner: set(others) for owner, others in stuck.items()}
        for one in line:
            for e in self.ahead(one, line, stuck):
                graph.setdefault(one.owner, set()).add(e.owner)
        for agent, kind, target in self.waits.values():
            other = self.tasks.get(target) if kind == "task" else target if soft else None
            if other and other != agent:
                graph.setdefault(agent, set()).add(other)
        return any(reach(graph, other, w.owner) for other in graph.get(w.owner, ()))

    def give(self, w):
        for path in w.paths:
            holders = self.held.setdefault(path, {})
            holders[w.owner] = "x" if "x" in (w.mode, holders.get(w.owner)) else "s"

    def take_back(self, owner, paths):
        for path in paths:
            self.held[path].pop(owner)
            if not self.held[path]:
                del self.held[path]

    def strike_out(self):
        gone = [one for one in self.line if one.name in self.deaf]
        self.line = [one for one in self.line if one.name not in self.deaf]
        waits = {name: wait for name, wait in self.waits.items() if name not in self.deaf}
        any_gone, self.waits = bool(gone) or waits != self.waits, waits
        return any_gone

    def lock(self, w, *, wait):
        line = [*self.line, w]
        if self.ahead(w, line, self.stuck(line)) and self.strike_out():  # whoever is gone stands in nobody's way
            self.rung = self.serve()
            line = [*self.line, w]
        if not self.blockers(w) and not self.ahead(w, line, self.stuck(line)):
            self.give(w)
            return "locked"
        if not wait:
            return "path_lock_conflict"
        self.line = [one for one in self.line if not (one.owner == w.owner and one.name in self.deaf)]
        if self.closes(w, soft=True):
            self.strike_out()
        if self.closes(w, soft=False):
            return "deadlock"
        self.line.append(w)
        return "queued"

    def serve(self):
        granted, again = [], True
        while again:
            again = False
            for w in self.line:
                if not self.blockers(w) and not self.ahead(w, self.line, self.stuck(self.line)):
                    self.line.remove(w)
                    again = True
                    if w.name in self.deaf:
                        self.line = [one for one in self.line if one.name not in self.deaf]
                    else:
                        self.give(w)
                        granted.append(w)
                    break
        return granted


class World:
    """The scripts on a server, beside the model; ``doors``: who listens where."""

    def __init__(self, store, seed):
        self.store, self.random, self.model = store, random.Random(seed), Model()
        self.doors, self.count, self.did = {}, 0, {}
        store.flushall()
        store.hset(KEYS.heads, "dock", "0 e dock")

    def run(self, call):
        return call.read(self.store.execute_command(*call.words(whole=True)))

    def new(self):
        self.count += 1
        return f"{self.count:032x}"

    def listen(self, request):
        door = self.store.pubsub()
        door.ssubscribe(KEYS.door(request))
        door.get_sharded_message(timeout=5)
        self.doors[request] = door

    def hang_up(self, request):
        door = self.doors.pop(request)
        door.sunsubscribe()
        door.get_sharded_message(timeout=5)
        door.close()

    def asked(self, w, *, wait):
        wanted = calls.Wanted(w.paths, w.name, lease_ms=60_000, shared=w.mode == "s")
        try:
            got = self.run(calls.lock(Caller(KEYS, w.owner), "dock", Repo, wanted, queue=wait))
        except ChatError as error:
            return type(error).word
        return "queued" if got["queued"] else "locked"

    def confirm(self, granted):
        """Whoever was rung asks again, and has it."""
        for w in granted:
            assert self.rung(w), (w.name, w.owner)
            assert self.asked(w, wait=True) == "locked", (w.name, w.owner)
            self.note("granted")
            self.hang_up(w.name)

    def rung(self, w):
        """Whether its door rang that it is granted; what rang before is passed over."""
        while heard := self.doors[w.name].get_sharded_message(timeout=2):
            if heard["type"] == "smessage" and heard["data"] == "granted":
                return True
        return False

    def note(self, what):
        self.did[what] = self.did.get(what, 0) + 1

    def lock(self):
        owner = f"o{self.random.randrange(OWNERS)}"
        w = Request(self.new(), owner, self.random.choice("xxs"), self.random.sample(PATHS, self.random.choice([1, 1, 1, 2, 3])))
        wait = self.random.random() < 0.8
        if wait and any(one.owner == owner and one.name not in self.model.deaf for one in self.model.line):
            return
        if wait:
            self.listen(w.name)
        self.model.rung = []
        wanted, got = self.model.lock(w, wait=wait), self.asked(w, wait=wait)
        assert got == wanted, (w.owner, w.mode, w.paths)
        self.note(got)
        self.confirm([*self.model.rung, *(self.model.serve() if wanted in ("locked", "queued", "deadlock") else [])])
        if wait and w.name in self.doors and wanted != "queued":
            self.hang_up(w.name)

    def unlock(self):
        owner = f"o{self.random.randrange(OWNERS)}"
        have = [path for path, holders in self.model.held.items() if owner in holders]
        if have:
            paths = self.random.sample(have, self.random.randint(1, len(have)))
            self.model.take_back(owner, paths)
            self.run(calls.unlock(Caller(KEYS, owner), "dock", [(path, calls.stored(Repo, path)) for path in paths], once=Once()))
            self.note("unlocked")
            self.confirm(self.model.serve())

    def leave(self):
        alive = [one for one in self.model.line if one.name not in self.model.deaf]
        if alive:
            w = self.random.choice(alive)
            self.model.line.remove(w)
            assert self.run(calls.leave(Caller(KEYS, w.owner), Repo, calls.Wanted(w.paths, w.name, lease_ms=1)))
            self.hang_up(w.name)
            self.note("left")
            self.confirm(self.model.serve())

    def die(self):
        alive = [*(one.name for one in self.model.line), *self.model.waits]
        alive = [name for name in alive if name not in self.model.deaf]
        if alive:
            name = self.random.choice(alive)
            self.model.deaf.add(name)
            self.hang_up(name)
            self.note("died")

    def task(self):
        task, owner = f"dock/t{self.random.randrange(3)}", f"o{self.random.randrange(OWNERS)}"
        self.model.tasks[task] = owner
        self.store.hset(KEYS.leased, task.replace("/", " "), f"{owner} 99999999999999")

    def wait(self):
        if self.model.waits and self.random.random() < 0.6:
            name = self.random.choice(list(self.model.waits))
            self.model.waits.pop(name)
            self.run(calls.stand_down(Caller(KEYS, "o0"), name))
            if name in self.doors:
                self.hang_up(name)
            return
        name, kind, agent = self.new(), self.random.choice(["from", "task"]), f"o{self.random.randrange(OWNERS)}"
        target = f"o{self.random.randrange(OWNERS)}" if kind == "from" else f"dock/t{self.random.randrange(3)}"
        self.listen(name)
        self.store.hset(KEYS.waits, name, f"{agent} {kind} {target}")  # also one that closes a circle: a task may have changed hands since
        self.model.waits[name] = (agent, kind, target)

    def agrees(self):
        held = {
            path.partition("/")[2]: {row.split(" ")[0]: row.split(" ")[1] for row in text.split("\n")} for path, text in self.store.hgetall(KEYS.held).items()
        }
        model = self.model
        assert held == model.held
        assert self.store.zrange(KEYS.line, 0, -1) == [w.name for w in model.line]
        assert set(self.store.hkeys(KEYS.waits)) == set(model.waits)
        assert sorted(self.store.zrange(KEYS.held_order, 0, -1)) == sorted(self.store.hkeys(KEYS.held))
        for (path, holders), (other, others) in itertools.combinations_with_replacement(model.held.items(), 2):
            for (a, one), (b, two) in itertools.product(holders.items(), others.items()):
                assert a == b or not over(path, other) or not clash(one, two), ("locks that do not go together", path, other)
        for w in model.line:
            assert model.blockers(w) or model.ahead(w, model.line, model.stuck(model.line)), ("could be served", w.name)

    def step(self):
        dice = self.random.random()
        verbs = ((0.55, self.lock), (0.8, self.unlock), (0.86, self.leave), (0.92, self.die), (0.96, self.task), (1, self.wait))
        next(verb for most, verb in verbs if dice < most)()
        self.agrees()

    def close(self):
        for door in self.doors.values():
            door.close()


@pytest.fixture
def store(backend):
    found = (
        redis.Redis.from_url(backend, decode_responses=True, protocol=2)
        if isinstance(backend, str)
        else fakeredis.FakeRedis(server=backend, decode_responses=True, protocol=2)
    )
    yield found
    found.close()


@pytest.mark.parametrize("seed", range(6))
def test_the_line_does_what_its_model_does(store, seed):
    world = World(store, seed)
    try:
        for _ in range(STEPS):
            world.step()
        assert {"locked", "queued", "granted", "deadlock", "died", "left", "unlocked"} <= set(world.did), world.did
    finally:
        world.close()
