"""A small model of tasks, leases, claims and path locks: who holds what, what each verb must answer, and how many audits it leaves.

Each verb is told the broker's answer (``got``: a dict, or the code of a refusal), says what it had to be, and changes the model alike. Fencing tokens are
the broker's own: the model only demands that they rise for ever.
"""

from __future__ import annotations

from typing import Any

from redischat.calls import paths as calls

WAYS = {
    "open": {"in_progress", "blocked", "cancelled"}, "in_progress": {"open", "blocked", "done", "cancelled"},
    "blocked": {"open", "in_progress", "cancelled"}, "done": set(), "cancelled": set(),
}  # fmt: skip
TO = {"done": "done", "block": "blocked", "release": "open", "cancel": "cancelled", "reopen": "open"}
OVER = ("done", "cancelled")


class Refused(Exception):
    """The broker has to say no, with this code."""


def over(one, other):
    """Do these paths overlap? "" is the whole repository."""
    return one == other or not one or not other or other.startswith(one + "/") or one.startswith(other + "/")


def clash(one, other):
    return "exclusive" in (one, other)


class Lease:
    """Whoever has it, under which token; ``ends``: is there an end at all; ``lapsed``: it is over."""

    def __init__(self, owner, token, *, ends=True):
        self.owner, self.token, self.ends, self.lapsed = owner, token, ends, False


class Lock(Lease):
    def __init__(self, owner, token, id_, mode):
        super().__init__(owner, token)
        self.id, self.mode = id_, mode


class Task:
    def __init__(self, number, owner, priority, deps):
        self.number, self.owner, self.priority, self.deps = number, owner, priority, deps
        self.status, self.attempt, self.token, self.lease, self.finisher, self.reason, self.told = "open", 1, None, None, None, None, False


class Book:
    """What all verbs share: the last fencing token, the tokens that each thing ever had, the audits."""

    def __init__(self):
        self.last, self.audits, self.given = 0, 0, {}

    def fresh(self, got, *what):
        """The token of a new grant."""
        if isinstance(got, str):
            return 0  # the broker refused what it must not
        assert got["token"] > self.last, "a token that does not rise"
        self.last = got["token"]
        for one in what:
            self.given.setdefault(one, []).append(self.last)
        return self.last

    def old(self, what, now):
        """A token of an earlier holder."""
        return next((token for token in self.given.get(what, ()) if token != now), None)


class Board(Book):
    """Tasks and claims."""

    def __init__(self):
        super().__init__()
        self.tasks, self.claims = {}, {}

    def known(self, task):
        if task not in self.tasks:
            raise Refused("TASK_NOT_FOUND")
        return self.tasks[task]

    def unmet(self, deps):
        return any(self.tasks[one].status != "done" for one in deps)

    def circular(self, task, deps):
        return any(one == task or self.circular(task, self.tasks[one].deps) for one in deps)

    def create(self, task, owner, priority, deps):
        if task in self.tasks:
            raise Refused("TASK_ALREADY_EXISTS")
        if task in deps:
            raise Refused("TASK_DEPENDENCY_CYCLE" if set(deps[: deps.index(task)]) <= set(self.tasks) else "TASK_UNKNOWN_DEPENDENCY")
        self.exist(deps)
        self.tasks[task] = Task(len(self.tasks) + 1, owner, priority, deps)
        self.audits += 1

    def exist(self, deps):
        if not set(deps) <= set(self.tasks):
            raise Refused("TASK_UNKNOWN_DEPENDENCY")

    def mine(self, t, me):
        if t.lease and t.owner != me:
            raise Refused("LEASE_RECOVERY_REQUIRED" if t.lease.lapsed else "LEASE_OWNER_MISMATCH")

    def fenced(self, t, fence):
        if fence is not None and fence != t.token:
            raise Refused("LEASE_STALE_TOKEN")

    def give(self, me, task, how, got, why):
        """Gives what the grant must say."""
        t = self.tasks[task]
        if how == "recovered":
            t.attempt, t.reason = t.attempt + (t.owner != me), why
        if how == "claimed":
            t.reason = None
        if how != "renewed":
            t.token = self.fresh(got, task)
        t.owner, t.status, t.lease, t.told = me, "in_progress", Lease(me, t.token), False
        self.audits += 1
        return {"how": how, "id": task, "token": t.token, "attempt": t.attempt}

    def claim(self, me, task, got, *, want, steal, fence, why):
        t = self.known(task)
        self.fenced(t, fence)
        if want != "claim" and not t.lease:
            raise Refused("LEASE_NOT_FOUND")
        if want == "renew":
            self.mine(t, me)
            return self.give(me, task, "renewed", got, why)
        if want == "recover":
            if not t.lease.lapsed:
                raise Refused("LEASE_NOT_EXPIRED")
            return self.give(me, task, "recovered", got, why)
        return self.give(me, task, self.won(me, t, steal=steal), got, why)

    def won(self, me, t, *, steal):
        if t.lease:
            if t.owner != me and (not t.lease.lapsed or not steal):
                raise Refused("LEASE_RECOVERY_REQUIRED" if t.lease.lapsed else "LEASE_CONFLICT")
            return "renewed" if t.owner == me else "recovered"
        if t.status != "in_progress" and "in_progress" not in WAYS[t.status]:
            raise Refused("TASK_INVALID_TRANSITION")
        if t.owner not in (None, me):
            raise Refused("LEASE_CONFLICT")
        if self.unmet(t.deps):
            raise Refused("TASK_DEPENDENCY_NOT_READY")
        return "claimed"

    def can_start(self, me, t):
        free = t.status == "open" and t.owner in (None, me)
        return (free or (t.lease and t.lease.lapsed)) and not self.unmet(t.deps)

    def next(self, me, got):
        best = sorted((t.priority, t.number, task) for task, t in self.tasks.items() if self.can_start(me, t))
        if not best:
            raise Refused("NOTHING_READY")
        task = best[0][-1]
        return self.give(
            me, task, ("renewed" if self.tasks[task].owner == me else "recovered") if self.tasks[task].lease else "claimed", got, "task next found it lapsed"
        )

    def move(self, me, task, verb, fence, why):
        t, to = self.known(task), TO[verb]
        if verb == "reopen":
            if t.status not in OVER:
                raise Refused("TASK_INVALID_TRANSITION")
        elif self.stays(me, t, verb, fence, why):
            return {"moved": False}
        t.attempt += verb == "reopen" or (verb == "release" and t.status == "in_progress")
        t.owner, t.lease = None if t.lease else t.owner, None
        t.status, t.reason, t.finisher = to, why, me if verb == "done" else None
        self.audits += 1
        return {"moved": True, "status": to, "attempt": t.attempt}

    def stays(self, me, t, verb, fence, why):
        """Is it there already?"""
        self.fenced(t, fence)
        self.mine(t, me)
        if t.lease and verb == "block":
            raise Refused("LEASE_MUTATION_REQUIRED")
        if t.status == TO[verb] and not t.lease and why in (None, t.reason):
            return True
        if t.status != TO[verb] and TO[verb] not in WAYS[t.status]:
            raise Refused("TASK_INVALID_TRANSITION")
        if verb == "done" and self.unmet(t.deps):
            raise Refused("TASK_DEPENDENCY_NOT_READY")
        return False

    def update(self, me, task, field, value):
        t = self.known(task)
        self.mine(t, me)
        if t.lease and field in ("status", "owner"):
            raise Refused("LEASE_MUTATION_REQUIRED")
        to, deps = (value if field == "status" else t.status), (value if field == "depends_on" else t.deps)
        if to != t.status and to not in WAYS[t.status]:
            raise Refused("TASK_INVALID_TRANSITION")
        self.exist(deps)
        if self.circular(task, deps):
            raise Refused("TASK_DEPENDENCY_CYCLE")
        if to in ("in_progress", "done") and (field == "depends_on" or to != t.status) and self.unmet(deps):
            raise Refused("TASK_DEPENDENCY_NOT_READY")
        t.attempt += to == "open" and t.status == "in_progress"
        t.finisher = None if to != "done" else t.finisher if t.status == "done" else me
        t.reason = t.reason if to == t.status else None
        t.status, t.deps = to, deps
        if field in ("owner", "priority"):
            setattr(t, field, value)
        self.audits += 1

    def notice(self):
        fresh = [t for t in self.tasks.values() if t.lease and t.lease.lapsed and not t.told]
        for t in fresh:
            t.told = True
        self.audits += len(fresh)
        return len(fresh)

    def take(self, me, name, got, *, ends, steal):
        """A claim."""
        had: Any = self.claims.get(name)
        if had and had.owner != me and not (had.lapsed and steal):
            raise Refused("CLAIM_TAKEN")
        how = "claimed" if not had else "renewed" if had.owner == me else "recovered"
        self.audits += bool(how != "renewed" or ends or had.lapsed)
        token = had.token if how == "renewed" else self.fresh(got, name)
        runs = how == "renewed" and not had.lapsed  # and is never shortened, or ended if it is for good
        self.claims[name] = Lease(me, token, ends=had.ends if runs else ends)
        return {"how": how, "token": token, "previous_owner": had.owner if how == "recovered" else None}

    def drop(self, me, name):
        if name not in self.claims or self.claims[name].owner != me:
            raise Refused("NOT_CLAIMED")
        del self.claims[name]
        self.audits += 1


class Model(Board):
    """And path locks: ``held`` path -> owner -> Lock, in the order they came; ``records`` lock id -> its paths."""

    def __init__(self):
        super().__init__()
        self.held, self.records = {}, {}

    def blockers(self, me, paths, mode):
        return [
            (path, lock) for path, locks in self.held.items() for lock in locks.values()
            if lock.owner != me and clash(mode, lock.mode) and any(over(path, one) for one in paths)
        ]  # fmt: skip

    def on(self, path, me):
        return self.held.get(path, {}).get(me)

    def off(self, path, owner):
        lock = self.held[path].pop(owner)
        if not self.held[path]:
            del self.held[path]
        self.records[lock.id].remove(path)
        if not self.records[lock.id]:
            del self.records[lock.id]

    def put(self, path, lock):
        """Where its owner has one, that one is raised; an exclusive one that ran out counts for nothing."""
        mine = self.on(path, lock.owner)
        if mine:
            mine.mode, mine.lapsed = "exclusive" if not mine.lapsed and clash(mine.mode, lock.mode) else lock.mode, False
            return
        self.held.setdefault(path, {})[lock.owner] = lock
        self.records.setdefault(lock.id, []).append(path)

    def told(self, me, paths):
        return {path: (self.on(path, me).mode, self.on(path, me).token, self.on(path, me).id) for path in paths}

    def lock(self, me, paths, got, *, id_, mode, steal):
        paths = calls.effective(paths)
        blockers = self.blockers(me, paths, mode)
        if any(not lock.lapsed for _, lock in blockers):
            raise Refused("PATH_LOCK_CONFLICT")
        if blockers and not steal:
            raise Refused("PATH_LOCK_RECOVERY_REQUIRED")
        for path, lock in blockers:
            self.off(path, lock.owner)
        fresh = [path for path in paths if not self.on(path, me)]
        token = self.fresh(got, *fresh) if fresh else 0
        for path in paths:
            self.put(path, Lock(me, token, id_, mode))
        self.audits += 1 + len(blockers)
        return self.told(me, paths)

    def named(self, me, target):
        """The paths of mine that a lock's id, a path, or "all" names."""
        if target == "all":
            return [path for path in self.held if self.on(path, me)]
        paths = self.records.get(target, [target])
        for path in paths:
            lock = self.on(path, me)
            if not lock or (target in self.records and lock.id != target):
                raise Refused("PATH_LOCK_OWNER_MISMATCH" if path in self.held else "PATH_LOCK_NOT_FOUND")
        return list(paths)

    def unlock(self, me, target):
        paths = self.named(me, target)
        self.audits += len({self.on(path, me).id for path in paths})
        for path in paths:
            self.off(path, me)
        return set(paths)

    def renew(self, me, target, fence):
        paths = self.named(me, target)
        if not paths:
            raise Refused("PATH_LOCK_NOT_FOUND")
        locks = [self.on(path, me) for path in paths]
        for path, lock in zip(paths, locks, strict=True):
            if fence is not None and lock.token != fence:
                raise Refused("PATH_LOCK_STALE_TOKEN")
            if lock.lapsed and any(not other.lapsed for _, other in self.blockers(me, [path], lock.mode)):
                raise Refused("PATH_LOCK_CONFLICT")
        for lock in locks:
            lock.lapsed = False
        self.audits += len({lock.id for lock in locks})
        return self.told(me, paths)

    def recover(self, me, target, got):
        """A lock passes on whole, and only when all of it is over."""
        there = list(self.held.get(self.records.get(target, [target])[0], {}).values())
        there = [lock for lock in there if target not in self.records or lock.id == target]
        if not there:
            raise Refused("PATH_LOCK_NOT_FOUND")
        one = next((lock for lock in there if lock.lapsed), there[0])
        paths = list(self.records[one.id])
        if any(not self.on(path, one.owner).lapsed for path in paths):
            raise Refused("PATH_LOCK_NOT_STALE")
        if any(not lock.lapsed for _, lock in self.blockers(me, paths, one.mode)):
            raise Refused("PATH_LOCK_CONFLICT")
        fresh = [path for path in paths if one.owner == me or not self.on(path, me)]
        token = self.fresh(got, *fresh) if fresh else 0
        for path in paths:
            self.off(path, one.owner)
        for path in paths:
            self.put(path, Lock(me, token, one.id, one.mode))
        self.audits += 1
        return self.told(me, paths)

    def is_right(self, path, token):
        """Does this token stand for the path now?"""
        return any(lock.token == token for held, locks in self.held.items() if over(held, path) and len(held) <= len(path) for lock in locks.values())
