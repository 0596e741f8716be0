"""Whatever agents do to tasks, leases, claims and path locks, in whatever order: the broker answers as a small model does, holds what it holds, gives no
fencing token twice, refuses every old one, and leaves nothing for a repair to mend.

Time passes by moving the ends that are stored, on both servers alike. Who stands in line for a path is test_lock_line.py's.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, deque
from typing import Any

import fakeredis
import pytest
import redis
from coordination_model import TO, WAYS, Model, Refused, clash, over

from redischat.calls import claims, paths, tasks
from redischat.calls.call import Caller, Once
from redischat.errors import ChatError
from redischat.flows import paths as flows
from redischat.keys import Keys
from redischat.sync.connection import Connection
from redischat.sync.errand import drive

KEYS = Keys("model")
AGENTS, TASKS, CLAIMS = ("amy", "bob", "carl"), ("a", "b", "c", "d", "e"), ("x", "y")
PATHS = ("a", "a", "a/b", "a/b", "a/b/c", "a-", "a/c", "d", "d/e", "")
LONG_MS, ENDED = 600_000, "1000"
SEEDS, STEPS = 5, 600
MET = {
    "claimed", "renewed", "recovered", "lock granted", "task ran out", "claim ran out", "lock ran out", "old token of a path", "LEASE_STALE_TOKEN", "LEASE_CONFLICT",
    "LEASE_RECOVERY_REQUIRED", "LEASE_OWNER_MISMATCH", "LEASE_MUTATION_REQUIRED", "LEASE_NOT_EXPIRED", "LEASE_NOT_FOUND", "TASK_DEPENDENCY_NOT_READY",
    "TASK_INVALID_TRANSITION", "NOTHING_READY", "CLAIM_TAKEN", "NOT_CLAIMED", "PATH_LOCK_CONFLICT", "PATH_LOCK_RECOVERY_REQUIRED",
    "PATH_LOCK_OWNER_MISMATCH", "PATH_LOCK_NOT_STALE", "PATH_LOCK_STALE_TOKEN", "PATH_LOCK_NOT_FOUND",
}  # fmt: skip


class Repo:
    key, digest, how = "example.org/team/boat", "0123456789abcdef", "--repo"


class World:
    """The broker and the model, moved together; ``past`` is what was done last, for whoever reads a failure."""

    def __init__(self, client, seed):
        client.flushall()
        client.hset(KEYS.heads, "dock", "0 e dock")
        self.client, self.connection, self.model = client, Connection(lambda: client, "model"), Model()
        self.did: Counter[str] = Counter()
        self.past: deque[tuple[Any, ...]] = deque(maxlen=8)
        self.dice, self.count = random.Random(seed), 0
        self.acts = [
            self.create, *[self.claim] * 4, *[self.next] * 2, *[self.move] * 4, *[self.update] * 2, *[self.task_runs_out] * 2, self.notice, self.take,
            self.drop, self.claim_runs_out, *[self.lock] * 4, *[self.unlock] * 2, *[self.renew] * 2, *[self.recover] * 2, self.check, *[self.lock_runs_out] * 2,
        ]  # fmt: skip

    def step(self):
        self.dice.choice(self.acts)()
        self.board_agrees()
        self.locks_agree()
        self.nothing_to_mend()

    def story(self):
        """What was done last, the latest first."""
        return "\n".join(map(str, reversed(self.past)))

    def judge(self, call, verb, *said):
        """Run it; the model says what the answer had to be. Gives the answer and what the model says of it; None twice for a refusal."""
        self.past.append(said)
        try:
            got = self.connection.run(call)
        except ChatError as refused:
            got = refused.code
        try:
            want, code = verb(got), ""
        except Refused as refused:
            want, code = None, refused.args[0]
        assert (got if isinstance(got, str) else "") == code, self.story()
        self.did[code] += 1
        return None if code else got, want

    def granted(self, call, verb, *said):
        got, want = self.judge(call, verb, *said)
        if got is not None and want is not None:
            assert {key: got[key] for key in want} == want, self.story()
            self.did[want.get("how", "done")] += 1

    def me(self):
        name = self.dice.choice(AGENTS)
        return name, Caller(KEYS, name)

    def waits(self):
        return self.dice.sample(TASKS, self.dice.choice([0, 0, 1, 1, 2]))

    def fence(self, what, now):
        """The token that a caller shows: none, the right one, one of an earlier holder."""
        return self.dice.choice([None, None, now, self.model.old(what, now), self.model.old(what, now)])

    # Tasks.

    def token_of(self, task):
        return self.model.tasks[task].token if task in self.model.tasks else None

    def create(self):
        (me, who), task, owner = self.me(), self.dice.choice(TASKS), self.dice.choice([None, None, *AGENTS])
        priority, waits = self.dice.randrange(3), self.waits()
        fields = {"id": task, "owner": owner or "-", "priority": priority, "deps": ",".join(waits) or "-", "title": task, "branch": ""}
        call = tasks.create(who, "dock", {**fields, "files": "[]", "acceptance": "[]"}, once=Once())
        self.granted(call, lambda _: self.model.create(task, owner, priority, waits), "create", me, task, owner, waits)

    def claim(self):
        (me, who), task, steal = self.me(), self.dice.choice(TASKS), self.dice.random() < 0.3
        want = self.dice.choice(["claim", "claim", "renew", "recover"])
        fence = self.fence(task, self.token_of(task)) if want == "renew" else None
        call = tasks.claim(who, "dock", task, want=want, ttl_ms=LONG_MS, fence=fence, steal=steal, reason="gone")
        self.granted(call, lambda got: self.model.claim(me, task, got, want=want, steal=steal, fence=fence, why="gone"), want, me, task, fence, steal)

    def next(self):
        me, who = self.me()
        self.granted(tasks.next_(who, "dock", take=True, ttl_ms=LONG_MS, once=Once()), lambda got: self.model.next(me, got), "next", me)

    def move(self):
        (me, who), task, verb = self.me(), self.dice.choice(TASKS), self.dice.choice(["done", "done", "release", "reopen", *TO])
        fence = None if verb in ("block", "reopen") else self.fence(task, self.token_of(task))
        why = self.dice.choice(["x", "y"]) if verb in ("block", "cancel", "reopen") else None
        call = tasks.move(who, "dock", task, verb, fence=fence, reason=why or "", once=Once())
        self.granted(call, lambda _: self.model.move(me, task, verb, fence, why), verb, me, task, fence, why)

    def update(self):
        (me, who), task, field = self.me(), self.dice.choice(TASKS), self.dice.choice(["status", "owner", "priority", "depends_on"])
        choices = {
            "status": self.dice.choice(list(WAYS)),
            "owner": self.dice.choice([None, *AGENTS]),
            "priority": self.dice.randrange(3),
            "depends_on": self.waits(),
        }
        value = choices[field]
        word = ",".join(value) if field == "depends_on" else value
        call = tasks.update(who, "dock", task, [(field, "-" if word in (None, "") else word)], once=Once())
        self.granted(call, lambda _: self.model.update(me, task, field, value), "update", me, task, field, value)

    def task_runs_out(self):
        task = self.dice.choice(TASKS)
        t = self.model.tasks.get(task)
        if t and t.lease:
            words = self.client.hget(KEYS.channel("dock", "tasks"), task).split(" ")
            words[8], t.lease.lapsed = ENDED, True
            self.client.hset(KEYS.channel("dock", "tasks"), task, " ".join(words))
            self.client.zadd(KEYS.channel("dock", "leases"), {task: int(ENDED)})
            self.client.hset(KEYS.leased, f"dock {task}", f"{t.owner} {ENDED}")
            self.did["task ran out"] += 1

    def notice(self):
        assert self.connection.run(tasks.notice(KEYS, "dock")) == self.model.notice()

    # Claims.

    def take(self):
        (me, who), name, ends, steal = self.me(), self.dice.choice(CLAIMS), self.dice.random() < 0.7, self.dice.random() < 0.5
        call = claims.take(who, "dock", name, ttl_ms=LONG_MS if ends else 0, steal=steal)
        self.granted(call, lambda got: self.model.take(me, name, got, ends=ends, steal=steal), "take", me, name, ends, steal)

    def drop(self):
        (me, who), name = self.me(), self.dice.choice(CLAIMS)
        self.granted(claims.drop(who, "dock", name, once=Once()), lambda _: self.model.drop(me, name), "drop", me, name)

    def claim_runs_out(self):
        name = self.dice.choice(CLAIMS)
        lease = self.model.claims.get(name)
        if lease and lease.ends:
            words = self.client.hget(KEYS.channel("dock", "claims"), name).split(" ")
            words[3], lease.lapsed = ENDED, True
            self.client.hset(KEYS.channel("dock", "claims"), name, " ".join(words))
            self.did["claim ran out"] += 1

    # Path locks.

    def locked(self, call, verb, *said):
        got, want = self.judge(call, verb, *said)
        if got is not None:
            seen = {"" if one["path"] == "." else one["path"]: (one["mode"], one["token"], one["lock_id"]) for one in got["paths"]}
            assert seen == want, self.story()
            assert (got["token"], got["lock_id"]) in {(token, id_) for _, token, id_ in seen.values()}, self.story()
            self.did["lock granted"] += 1

    def target(self, me):
        """A path, a lock's id, or "all" that is mine: as the model names it, as calls are given it; and a token to show for it."""
        found = self.dice.choice([*PATHS, *self.model.records, "all"])
        named = [] if found == "all" else [(found, "" if found in self.model.records else paths.stored(Repo, found))]
        mine = self.model.on(found, me)
        return found, named, self.fence(found, mine.token if mine else None)

    def lock(self):
        (me, who), wanted, steal = self.me(), self.dice.sample(PATHS, self.dice.choice([1, 1, 2, 3])), self.dice.random() < 0.4
        self.count += 1
        id_, mode = f"{self.count:032x}", self.dice.choice(["exclusive", "shared"])
        asked = paths.Wanted(wanted, id_, lease_ms=LONG_MS, shared=mode == "shared", steal_expired=steal)
        call = paths.lock(who, "dock", Repo, asked)
        self.locked(call, lambda got: self.model.lock(me, wanted, got, id_=id_, mode=mode, steal=steal), "lock", me, wanted, mode, steal)

    def unlock(self):
        me, who = self.me()
        what, named, _ = self.target(me)
        call = paths.unlock(who, "dock", named, once=Once(), all_=what == "all")
        got, want = self.judge(call, lambda _: self.model.unlock(me, what), "unlock", me, what)
        if got is not None:
            assert {"" if one["path"] == "." else one["path"] for one in got["unlocked"]} == want, self.story()

    def renew(self):
        me, who = self.me()
        what, named, fence = self.target(me)
        call = paths.renew(who, "dock", named, LONG_MS, once=Once(), fence=fence, all_=what == "all")
        self.locked(call, lambda _: self.model.renew(me, what, fence), "renew", me, what, fence)

    def recover(self):
        me, who = self.me()
        what, named, _ = self.target(me)
        if named:
            call = paths.recover(who, "dock", named[0], LONG_MS, "x", once=Once())
            self.locked(call, lambda got: self.model.recover(me, what, got), "recover", me, what)

    def check(self):
        """Every token that a path ever had is refused but the one that stands."""
        (me, who), path = self.me(), self.dice.choice(PATHS)
        for token in [None, *self.model.given.get(path, ())[-5:]]:
            code, got = None, {"free": None}
            try:
                got = drive(self.connection, flows.check(who, "dock", Repo, [path], token=token))
            except ChatError as refused:
                code = refused.code
            right = token is None or self.model.is_right(path, token)
            assert code == (None if right else "PATH_LOCK_STALE_TOKEN")
            assert not right or got["free"] == (not self.model.blockers(me, [path], "exclusive"))
            self.did["token of a path" if right else "old token of a path"] += 1

    def lock_runs_out(self):
        """One path of it (the others were renewed), or all that somebody holds."""
        owner, path = self.dice.choice(AGENTS), self.dice.choice([*PATHS, None, None, None])
        for one in list(self.model.held) if path is None else [path]:
            lock = self.model.on(one, owner)
            if lock:
                lock.lapsed, stored = True, paths.stored(Repo, one)
                rows = [row.split(" ") for row in self.client.hget(KEYS.held, stored).split("\n")]
                rows = [[*row[:2], ENDED, *row[3:]] if row[0] == owner else row for row in rows]
                self.client.hset(KEYS.held, stored, "\n".join(map(" ".join, rows)))
                self.did["lock ran out"] += 1

    # What always holds.

    def board_agrees(self):
        found = self.connection.run(tasks.look(KEYS, "dock"))
        assert found["damaged"] == [], self.story()
        seen = {
            one["id"]: (one["status"], one["owner"], one["priority"], one["depends_on"], one["attempt"], one["token"], one["finished_by"], one["stale"],
                        one["lease_expires_at"] is not None, one["ready"], one["reason"])
            for one in found["tasks"]
        }  # fmt: skip
        assert seen == {
            task: (t.status, t.owner, t.priority, t.deps, t.attempt, t.token, t.finisher, bool(t.lease and t.lease.lapsed), t.lease is not None,
                   t.status == "open" and not self.model.unmet(t.deps), t.reason)
            for task, t in self.model.tasks.items()
        }, self.story()  # fmt: skip
        claimed = {one["name"]: (one["owner"], one["token"], one["ends_ms"] > 0) for one in self.connection.run(claims.every(KEYS, "dock"))}
        assert claimed == {name: (lease.owner, lease.token, lease.ends) for name, lease in self.model.claims.items()}, self.story()

    def locks_agree(self):
        held = self.connection.run(paths.book(KEYS)[0])
        rows = {path.partition("/")[2]: [row.split(" ") for row in text.split("\n")] for path, text in held.items()}
        assert {path: [(row[0], paths.MODES[row[1]], row[2] == ENDED, int(row[3]), row[4]) for row in found] for path, found in rows.items()} == {
            path: [(lock.owner, lock.mode, lock.lapsed, lock.token, lock.id) for lock in locks.values()] for path, locks in self.model.held.items()
        }, self.story()
        live = [(path, lock) for path, locks in self.model.held.items() for lock in locks.values() if not lock.lapsed]
        for (path, one), (other, two) in itertools.combinations(live, 2):
            apart = one.owner == two.owner or not over(path, other) or not clash(one.mode, two.mode)
            assert apart, ("locks that do not go together", path, other, self.story())

    def nothing_to_mend(self):
        assert self.client.xlen(KEYS.channel("dock", "audits")) == self.model.audits, self.story()
        board, locks = (self.connection.run(one.repair(Caller(KEYS, "amy"), "dock")) for one in (tasks, paths))
        assert (board["tasks"], board["mended"], board["damaged"]) == (len(self.model.tasks), {}, []), self.story()
        assert (locks["locks"], locks["mended"], locks["dropped"]) == (len(self.model.records), 0, 0), self.story()


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.real)])
def client(request):
    if request.param == "fake":
        found: redis.Redis = fakeredis.FakeRedis(decode_responses=True, protocol=2)
    else:
        found = redis.Redis.from_url(request.getfixturevalue("real").url, decode_responses=True, protocol=2)
    yield found
    found.close()


def test_whatever_is_done_the_broker_holds_what_its_model_holds(client):
    did: Counter[str] = Counter()
    for seed in range(SEEDS):
        world = World(client, seed)
        for _ in range(STEPS):
            world.step()
        did.update(world.did)
    assert set(did) >= MET, f"the dice left something out: {MET - set(did)}"
