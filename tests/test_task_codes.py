"""Every way in which tasks, leases and claims say no: one code, one exit status, and nothing is changed."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from redischat import Client
from redischat.errors import leases, tree
from redischat.errors import tasks as errors

BOARD = "rc1:{default}:ch:dock:"

CASES = {  # code: its exit status, and commands that provoke it
    "TASK_INVALID_COMMAND": (2, "task frobnicate dock", "task claim dock A --frob", "task claim dock A --token 5", "task list dock --read"),
    "TASK_INVALID_ARGUMENT": (
        2, "task claim dock", "task create dock", "task claim dock A --lease many", "task create dock --title x --priority high", "task list dock A", "task recover dock GONE",
        "task done dock MINE --token -1", "task wait dock A --timeout -1", "task wait dock A --timeout -0.5", "task cancel dock A", "task create dock --title x --title y",
    ),
    "TASK_INVALID_CHANNEL": (2, "task list ../x", "task create a/b --title x", "task next all", "task graph ''", "task wait x. A"),
    "TASK_CHANNEL_NOT_FOUND": (2, "task list dokc", "task create nope --title x", "task claim nope A", "task show nope A", "task next nope", "task recover-pending nope", "task wait nope A"),
    "TASK_NOT_FOUND": (2, "task show dock nope", "task claim dock nope", "task renew dock nope", "task done dock nope", "task update dock nope --title x", "task wait dock nope", "task recover dock nope --reason x"),
    "TASK_ALREADY_EXISTS": (2, "task create dock A --title x", "task create dock a --title x", "task create dock BAD --title x"),
    "TASK_INVALID_ID": (2, "task create dock '' --title x", "task create dock T/1 --title x", "task show dock ..", "task claim dock T,1", "task done dock 'T 1'", "task show dock -- -x"),
    "TASK_INVALID_DEPENDENCY_ID": (2, "task create dock --title x --depends-on a/b", "task update dock A --depends-on WAITS,.x"),
    "TASK_DUPLICATE_DEPENDENCY": (2, "task create dock --title x --depends-on A,a", "task update dock A --depends-on DONE --depends-on DONE"),
    "TASK_UNKNOWN_DEPENDENCY": (2, "task create dock --title x --depends-on DONE,nope", "task update dock A --depends-on nope"),
    "TASK_DEPENDENCY_CYCLE": (2, "task update dock A --depends-on WAITS", "task update dock A --depends-on A", "task create dock Z --title x --depends-on z"),
    "TASK_DEPENDENCY_NOT_READY": (2, "task claim dock WAITS", "task update dock WAITS --status in_progress", "task claim dock AFTER", "task update dock DONE --depends-on A"),
    "TASK_INVALID_STATUS": (2, "task update dock A --status flying", "task list dock --status Open", "task wait dock A --status ''"),
    "TASK_INVALID_TRANSITION": (
        2, "task update dock DONE --status open", "task done dock A", "task claim dock DONE", "task cancel dock DONE --reason x", "task reopen dock A --reason x",
        "task update dock CAN --status open", "task block dock CAN",
    ),
    "TASK_CANCELLED": (2, "task wait dock CAN --timeout 20"),
    "TASK_INVALID_UPDATE": (2, "task update dock A", "task update dock A --owner bob --clear-owner", "task update dock A --branch b --clear-branch"),
    "TASK_INVALID_TITLE": (2, "task create dock --title 'a\nb'", "task update dock A --title 'a\rb'", f"task create dock --title {'x' * 501}"),
    "TASK_INVALID_BRANCH": (2, "task create dock --title x --branch ' '", "task update dock A --branch 'a\nb'"),
    "TASK_INVALID_OWNER": (2, "task create dock --title x --owner ''", "task update dock A --owner a/b", "task update dock A --owner all", "task list dock --as a/b", "task list dock --mine --as a/b", "task show dock A --as x.", "task graph dock --as all",
        "task wait dock A --as a/b --timeout 0", "task next dock --as a/b"),
    "TASK_INVALID_CREATED_BY": (2, "task create dock --title x --as a/b", "task create dock --title x --from everyone"),
    "TASK_INVALID_ACCEPTANCE": (2, "task create dock --title x --acceptance y --acceptance ' '", "task update dock A --acceptance 'a\nb'"),
    "TASK_INVALID_PRIORITY": (2, "task create dock --title x --priority 5", "task update dock A --priority 9"),
    "TASK_INVALID_REASON": (2, "task cancel dock A --reason ''", "task reopen dock DONE --reason ' '", "task cancel dock A --reason 'a\nb'"),
    "TASK_INVALID_RESULT": (2, f"task done dock MINE --result {'x' * 16_385}"),
    "TASK_PATH_OUTSIDE_WORKSPACE": (2, "task create dock --title x --files-hint ../x", "task update dock A --files-hint a,/etc/passwd", "task create dock --title x --files-hint a/../../b"),
    "TASK_INVALID_RECORD": (2, "task claim dock BAD", "task show dock BAD", "task done dock BAD", "task update dock BAD --title x", "task reopen dock BAD --reason x", "task wait dock BAD"),
    "NOTHING_READY": (3, "task next quay", "task next quay --claim"),
    "CLAIM_TAKEN": (3, "claim dock x", "claim dock X --note mine --lease 5"),
    "NOT_CLAIMED": (1, "unclaim dock x", "unclaim dock y"),
    "LEASE_CONFLICT": (2, "task claim dock HELD", "task claim dock HELD --steal-expired", "task claim dock CARLS"),
    "LEASE_RECOVERY_REQUIRED": (
        2, "task claim dock GONE", "task renew dock GONE", "task done dock GONE", "task release dock GONE", "task update dock GONE --title x", "task block dock GONE",
        "task cancel dock GONE --reason x",
    ),
    "LEASE_OWNER_MISMATCH": (2, "task renew dock HELD", "task done dock HELD", "task release dock HELD", "task update dock HELD --title x", "task block dock HELD", "task cancel dock HELD --reason x"),
    "LEASE_STALE_TOKEN": (2, "task done dock MINE --token 1", "task renew dock MINE --token 1", "task release dock MINE --token 1", "task done dock GONE --token 1"),
    "LEASE_NOT_EXPIRED": (2, "task recover dock HELD --reason x", "task recover dock MINE --reason x"),
    "LEASE_NOT_FOUND": (2, "task renew dock A", "task recover dock A --reason x", "task renew dock DONE"),
    "LEASE_MUTATION_REQUIRED": (2, "task block dock MINE", "task update dock MINE --status done", "task update dock MINE --owner bob", "task update dock MINE --clear-owner"),
    "LEASE_INVALID_OWNER": (2, "task claim dock A --as a/b", "task renew dock A --as x.", "task recover-pending dock --as all", "task next dock --claim --as a/b"),
    "LEASE_INVALID_REASON": (2, "task recover dock GONE --reason ' '", "task recover dock GONE --reason 'a\nb'"),
    "LEASE_INVALID_DURATION": (
        2, "task claim dock A --lease 0", "task claim dock A --lease-seconds -5", "task renew dock MINE --ttl nan", "task recover dock GONE --reason x --lease inf",
        "task next dock --claim --lease 99999999999", "claim dock y --lease 0",
    ),
}  # fmt: skip
BASES = (errors.TaskRefused, leases.LeaseRefused)
MODULES = {found.__name__ for found in (errors, leases)} | {cls.__module__ for cls in tree() if cls.code in ("CLAIM_TAKEN", "NOT_CLAIMED")}
REACHED = {cls.code for cls in tree() if not cls.__subclasses__() and cls.__module__ in MODULES and cls.origin == "verb"}


@pytest.fixture
def scene(town):
    """A board with a task of each kind, as Amy finds it; she acts by name, and so may others."""
    with Client(town.server.url, agent="Amy") as amy, Client(town.server.url, agent="bob") as bob:
        amy.open("dock", members="bob")
        amy.open("quay", members="bob")
        kinds: tuple[tuple[str, dict[str, Any]], ...] = (
            ("A", {}), ("DONE", {}), ("HELD", {}), ("GONE", {}), ("MINE", {}), ("CAN", {}), ("BAD", {}), ("CARLS", {"owner": "carl"}), ("WAITS", {"depends_on": "A"}),
            ("AFTER", {"depends_on": "CAN"}),
        )  # fmt: skip
        for one, more in kinds:
            amy.task_create("dock", f"title of {one}", task=one, **more)
        for holder, one in ((amy, "DONE"), (bob, "HELD"), (bob, "GONE"), (amy, "MINE")):
            holder.task_claim("dock", one, ttl=3_000)
        amy.task_done("dock", "DONE")
        amy.task_cancel("dock", "CAN", "not needed")
        bob.claim("dock", "x")
        bob.task_renew("dock", "GONE", ttl=0.001)
        amy.task_list("dock")  # the lapse is noticed
    town.server.ask("HSET", BOARD + "tasks", "bad", "BAD was here")
    return town


def words_of(line):
    return shlex.split(line)


def test_every_code_that_a_verb_can_raise_is_provoked_here():
    assert CASES.keys() == REACHED | {"TASK_INVALID_RECORD"}
    assert {cls.code: cls.exit for cls in tree() if cls.code in CASES} == {code: exit_ for code, (exit_, *_) in CASES.items()}


@pytest.mark.parametrize("code", CASES)
def test_a_refusal_has_its_code_and_changes_nothing(scene, code):
    exit_, *lines = CASES[code]
    before = scene.server.everything()
    for line in lines:
        words = words_of(line)
        named = "--as" in words or "--from" in words
        amy = scene.person("away") if named else scene.person(REDISCHAT_AGENT="Amy")
        refused = amy(*words, code=exit_)
        assert (refused.error, refused.out) == (code, ""), refused
        assert len(refused.err.splitlines()) == 1, refused
    assert scene.server.everything() == before
    record = amy(*words[:2], "--json", *words[2:], code=exit_)
    assert (record.error, record.out) == (code, ""), record
    assert scene.server.everything() == before


def test_a_refusal_names_who_holds_it_and_until_when(scene):
    amy = scene.person(REDISCHAT_AGENT="Amy")
    for line in ("task claim dock HELD", "task claim dock GONE", "task done dock HELD", "task recover dock HELD --reason x"):
        record = json.loads(amy(*words_of(line), "--json", code=2).err)
        assert (record["channel"], record["holder"]) == ("dock", "bob")
        assert record["expires_at"] > "2026"
        assert "bob" in record["message"]
    taken = json.loads(amy("claim", "dock", "x", "--json", code=3).err)
    assert (taken["holder"], taken["expires_at"], taken["lapsed"]) == ("bob", None, False)


def test_the_ways_out_that_a_refusal_names_work(scene):
    amy, bob = scene.person(REDISCHAT_AGENT="Amy"), scene.person("far", REDISCHAT_AGENT="bob")
    assert "redischat task recover dock GONE --reason WHY" in amy("task", "claim", "dock", "GONE", code=2).err
    assert "recovered GONE from bob" in amy("task", "recover", "dock", "GONE", "--reason", "bob is gone").out
    assert "redischat task reopen dock CAN --reason WHY" in amy("task", "wait", "dock", "CAN", code=2).err
    amy("task", "reopen", "dock", "CAN", "--reason", "after all")
    assert "redischat task next dock --claim" in amy("task", "claim", "dock", "HELD", code=2).err
    assert amy("task", "next", "dock", "--claim", "--json").record["id"] == "A"
    assert "redischat claims dock" in amy("unclaim", "dock", "x", code=1).err
    assert "x  bob" in amy("claims", "dock").out
    assert bob("unclaim", "dock", "x").out == "gave back x\n"
    assert amy("claim", "dock", "x").lines[0] == "x is yours"
