"""Many take, finish, make and recover tasks at the same moment, and the broker is killed under them: each task has one holder, each token one task, and the
indexes say what the records say."""

from __future__ import annotations

import signal
import time
from contextlib import suppress

import pytest
from crowd import KEYS, both_servers, caller, crowd_on, one_server, open_rooms, serving, wired
from waiting import wait_until

from redischat.calls import tasks
from redischat.calls.call import Once
from redischat.errors import ChatError
from redischat.flows import tasks as flows

pytestmark = [pytest.mark.real, pytest.mark.races]
AMY = caller("amy")
NEW = {"id": "", "owner": "-", "priority": 2, "deps": "-", "title": "", "branch": "", "files": "[]", "acceptance": "[]"}
LONG_MS = 600_000
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        open_rooms(server, ["dock"], ["amy"])
        yield server


def create(wire, count, **fields):
    for n in range(count):
        wire.run(tasks.create(AMY, "dock", {**NEW, "id": f"A{n}", "title": f"title {n}", **fields}, once=Once()))


def board(server):
    with wired(server) as wire:
        return {one["id"]: one for one in wire.run(tasks.look(KEYS, "dock"))["tasks"]}


def audits(server):
    """(status, task, facts) of all that a board left behind, oldest first."""
    found = []
    for _, fields in server.ask("XRANGE", KEYS.channel("dock", "audits"), "-", "+"):
        entry = dict(zip(fields[::2], fields[1::2], strict=True))
        words = entry["d"].split("\x1f")
        found.append((entry["s"], entry["h"], dict(zip(words[::2], words[1::2], strict=True))))
    return found


def assert_agrees(server):
    """The indexes say what the records say, and no fencing token was given twice."""
    with wired(server) as wire:
        found = wire.run(tasks.repair(AMY, "dock"))
    assert (found["mended"], found["damaged"]) == ({}, [])
    granted = [int(facts["token"]) for status, _, facts in audits(server) if status in ("lease.claimed", "lease.recovered")]
    assert len(granted) == len(set(granted))
    assert granted == sorted(granted)


@one_server
def test_each_of_many_tasks_has_one_of_many_claimers(server):
    """LEASE-01."""
    with wired(server) as wire:
        create(wire, 200)
    with crowd_on(server) as crowd:
        for n in range(64):
            crowd.add("grab", agent=f"p{n}", seed=n, tasks=[f"a{n}" for n in range(200)])
        crowd.go()
        crowd.done(crowd.workers)
        told = crowd.told()
    won = {row["task"]: row["agent"] for row in told if row["what"] == "won"}
    assert len([row for row in told if row["what"] == "won"]) == len(won) == 200
    assert {name.lower(): one["owner"] for name, one in board(server).items()} == won
    assert {row["code"] for row in told if row["what"] == "refused"} == {"LEASE_CONFLICT"}
    assert all(row["holder"] == won[row["task"]] for row in told if row["what"] == "refused")
    assert_agrees(server)


@both_servers
def test_next_gives_each_caller_another_task_and_says_when_none_is_left(server):
    """LEASE-01, its second half."""
    with wired(server) as wire:
        create(wire, 40)
    with crowd_on(server) as crowd:
        for n in range(8):
            crowd.add("take_next", agent=f"p{n}", count=6)
        crowd.go()
        crowd.done(crowd.workers)
        told = crowd.told()
    got = [row["id"] for row in told if row["what"] == "got"]
    assert sorted(got) == sorted(board(server))
    assert [row["code"] for row in told if row["what"] == "refused"] == ["NOTHING_READY"] * 8
    assert_agrees(server)


@both_servers
def test_tasks_made_at_once_have_ids_of_their_own_and_their_texts(server):
    """LEASE-11."""
    with crowd_on(server) as crowd:
        for n in range(8):
            crowd.add("create_tasks", agent=f"p{n}", count=50, seed=n)
        crowd.go()
        crowd.done(crowd.workers)
        told = crowd.told()
    assert len(told) == len({row["id"] for row in told}) == 400
    found = board(server)
    assert {row["id"]: (row["title"], row["agent"], row["deps"]) for row in told} == {
        name: (one["title"], one["created_by"], ",".join(one["depends_on"])) for name, one in found.items()
    }
    assert set(found) == {f"T-{n}" for n in range(1, 401)}
    assert_agrees(server)


@both_servers
def test_what_is_finished_at_the_end_of_its_lease_has_one_truth(server):
    """LEASE-07: 300 rounds; a completion that was accepted stays, a refused one is never shown as done."""
    rounds = 300
    with wired(server) as wire:
        create(wire, rounds)
    with crowd_on(server) as crowd:
        order = {"tasks": [f"a{n}" for n in range(rounds)], "lease_ms": 4}
        crowd.add("finish_late", agent="holder", **order)
        for n in range(2):
            crowd.add("recover_all", agent=f"r{n}", **order)
        crowd.go()
        crowd.done(crowd.workers, 90)
        told = crowd.told()
    done = {row["task"] for row in told if row["what"] == "done"}
    recovered = {row["task"]: row["agent"] for row in told if row["what"] == "recovered"}
    refused = {row["task"]: row["code"] for row in told if row["what"] == "refused"}
    assert len([row for row in told if row["what"] == "recovered"]) == len(recovered), "of two recoverers one"
    assert done.isdisjoint(recovered)
    assert done | recovered.keys() == {f"a{n}" for n in range(rounds)}
    assert refused.keys() == recovered.keys()
    assert set(refused.values()) <= {"LEASE_OWNER_MISMATCH", "LEASE_STALE_TOKEN"}
    assert done, "some were in time"
    assert recovered, "some were not"
    for name, one in board(server).items():
        assert one["status"] == ("done" if name.lower() in done else "in_progress")
        assert (one["finished_by"] if name.lower() in done else one["owner"]) == ("holder" if name.lower() in done else recovered[name.lower()])
    assert_agrees(server)


@one_server
def test_a_dead_holders_task_passes_on_within_a_lease_and_is_a_second_attempt(server):
    """LEASE-13: killed right after it took it."""
    with wired(server) as wire:
        create(wire, 1)
        with crowd_on(server) as crowd:
            holder = crowd.add("hold", agent="holder", tasks=["a0"], lease_ms=1_000)
            crowd.go()
            wait_until(crowd.told, "it is taken")
            holder.kill()
            began = time.monotonic()
            got = wait_until(lambda: taken(wire), "it passes on", 5)
        assert time.monotonic() - began < 3
        assert (got["id"], got["how"], got["previous_owner"], got["attempt"]) == ("A0", "recovered", "holder", 2)
    assert_agrees(server)


def taken(wire):
    with suppress(ChatError):
        return wire.drive(flows.next_(caller("heir"), "dock", LONG_MS, Once(), take=True))
    return None


@one_server
def test_workers_that_die_at_any_moment_lose_no_task(server):
    """LEASE-13: in the middle of taking one, or before the first renewal."""
    with crowd_on(server) as crowd:
        for n in range(12):
            crowd.add("work", agent=f"p{n}", seed=n, lease_ms=100, die=5)
        crowd.go()
        wait_until(lambda: all(worker.poll() is not None for worker in crowd.workers), "all are dead", 30)
        assert {worker.returncode for worker in crowd.workers} == {-signal.SIGKILL}
        with wired(server) as wire:
            create(wire, 1)
        last = crowd.add("hold", agent="last", tasks=["a0"], lease_ms=100)
        crowd.go([last])
        wait_until(lambda: crowd.told(last), "one more has taken one")
        last.kill()
    wait_until(lambda: server.ask("CLIENT", "LIST").strip().count("\n") == 0, "the broker has heard the last of them")
    assert_agrees(server)
    left = {name: one for name, one in board(server).items() if one["status"] in ("open", "in_progress")}
    held = {name: one["attempt"] for name, one in left.items() if one["status"] == "in_progress"}
    assert "A0" in held
    with wired(server) as wire:
        got: dict = {}
        while len(got) < len(left):
            found = wait_until(lambda: taken(wire), "there is a next one", 5)
            got[found["id"]] = found["attempt"]
        assert taken(wire) is None
    assert got.keys() == left.keys()
    assert {name: got[name] - 1 for name in held} == held
    assert_agrees(server)


@both_servers
def test_a_broker_that_is_killed_in_the_middle_comes_back_with_records_indexes_and_audits_in_agreement(binary):
    with serving(binary, *DURABLE) as server, crowd_on(server) as crowd:
        open_rooms(server, ["dock"], ["amy"])
        for n in range(4):
            crowd.add("work", agent=f"p{n}", seed=n)
        crowd.go()
        for kill in range(1, 4):
            wait_until(lambda kill=kill: len(crowd.told()) > 200 * kill, f"a burst before kill {kill}", 20)
            server.kill()
            server.start()
            assert_agrees(server)
        before = len(crowd.told())
        wait_until(lambda: len(crowd.told()) > before + 100, "they go on after the last one", 20)
        crowd.stop(crowd.of("work"))
        told = crowd.told()
        assert_agrees(server)
        found, left = board(server), audits(server)
        for what, status in (("created", "task.created"), ("done", "lease.completed")):
            said = {row["id"] for row in told if row["what"] == what}
            assert said == {task for word, task, _ in left if word == status}, "what was said to be so left its audit, and nothing else did"
            assert len([1 for word, *_ in left if word == status]) == len(said), "once"
        finished = {row["id"] for row in told if row["what"] == "done"}
        assert {name for name, one in found.items() if one["status"] == "done"} == finished
        tokens = [row["token"] for row in told if row["what"] == "claimed"]
        assert len(tokens) == len(set(tokens))
        assert {row["id"] for row in told if row["what"] == "created"} == set(found)
        assert "refused" not in {row["what"] for row in told}
