"""Tasks: putting them on a board, seeing what can be started, ending them, and bringing them back."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import inspect
import random
from typing import Any

import pytest
from seats import until

from redischat import Client
from redischat.calls.call import Caller
from redischat.errors import ChatError, NoIdentity, NotYou, Usage
from redischat.errors.leases import LeaseConflict
from redischat.errors.tasks import (
    NothingReady,
    TaskAlreadyExists,
    TaskCancelled,
    TaskDependencyCycle,
    TaskDependencyNotReady,
    TaskInvalidArgument,
    TaskInvalidPriority,
    TaskInvalidRecord,
    TaskInvalidTransition,
    TaskNotFound,
    TaskUnknownDependency,
)
from redischat.flows import tasks as flows
from redischat.keys import Keys
from redischat.wire import Wire

BOARD = "rc1:{default}:ch:dock:"
TWELVE = [
    "id", "channel", "title", "status", "owner", "created_by", "depends_on", "files_hint", "acceptance", "lease_expires_at", "branch", "updated_at",
]  # fmt: skip
BIG = 9_007_199_254_740_993


async def board(chat):
    """What is where: id -> status."""
    return {one.id: one.status for one in await chat.task_list("dock")}


async def made(chat, *ids, channel="dock", **fields):
    for one in ids:
        await chat.task_create(channel, f"title of {one}", task=one, **fields)


async def audits(chat):
    """What the board left behind, oldest first."""
    return [(one.status, one.sender, one.body) for one in (await chat.history("dock", audits=True)).messages if one.kind == "audit"]


def corrupt(sit, task, record="was here"):
    sit.store.hset(BOARD + "tasks", task.lower(), record)


async def test_a_task_is_made_taken_and_done(sit):
    amy, bob = await sit.pair()
    task = await amy.task_create("dock", "Fix the parser", depends_on=[])
    assert (task.id, task.status, task.ready, task.waits_for) == ("T-1", "open", True, [])
    lease = await bob.task_claim("dock", "T-1", ttl=60)
    assert (lease.how, lease.id, lease.attempt, lease.previous_owner) == ("claimed", "T-1", 1, None)
    one = await amy.task_show("dock", "t-1")
    assert (one.status, one.owner, one.token, one.lease_expires_at) == ("in_progress", "bob", lease.token, lease.lease_expires_at)
    assert (await bob.task_done("dock", "T-1", token=lease.token)).moved
    one = await amy.task_show("dock", "T-1")
    assert (one.status, one.owner, one.finished_by, one.lease_expires_at) == ("done", None, "bob", None)
    assert [(status, sender) for status, sender, _ in await audits(amy)] == [("task.created", "Amy"), ("lease.claimed", "bob"), ("lease.completed", "bob")]


async def test_a_task_holds_what_was_said_of_it(sit):
    """DATA-06: lists stay lists, also empty ones, and text stays as it was."""
    amy, _ = await sit.pair()
    await made(amy, "A", "B")
    said = ["it holds 9007199254740993, and 1.0", '{"files":[],"m":{}}', "[[]]", "naïve — 試験"]
    await amy.task_create("dock", f"{BIG}", task="Full.1", owner="Carl", depends_on="A, b", acceptance=said, branch="feature/x", priority=0)
    one = await amy.task_show("dock", "full.1")
    assert list(one.model_dump())[:12] == TWELVE
    assert (one.id, one.title, one.owner, one.created_by, one.depends_on) == ("Full.1", f"{BIG}", "Carl", "Amy", ["A", "B"])
    assert (one.acceptance, one.branch, one.priority) == (said, "feature/x", 0)
    bare = await amy.task_show("dock", "A")
    assert (bare.depends_on, bare.files_hint, bare.acceptance, bare.waits_for, bare.branch, bare.owner) == ([], [], [], [], None, None)
    assert bare.dependents == ["Full.1"]


async def test_items_and_lists_of_ids_are_told_apart(sit):
    amy, _ = await sit.pair()
    await made(amy, "a", "b", "c")
    await amy.task_create("dock", "x", task="d", depends_on=["a,b", "c"], acceptance=["a, b", "c"], files_hint="src/a.py,src/b.py")
    one = await amy.task_show("dock", "d")
    assert (one.depends_on, one.acceptance, one.files_hint) == (["a", "b", "c"], ["a, b", "c"], ["src/a.py", "src/b.py"])


async def test_the_board_gives_the_next_id_and_never_one_twice(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "mine", task="t-2")
    assert [(await chat.task_create("dock", "x")).id for chat in (amy, bob, amy)] == ["T-1", "T-3", "T-4"]
    with pytest.raises(TaskAlreadyExists) as no:
        await bob.task_create("dock", "other", task="T-2")
    assert (no.value.facts["task"], no.value.facts["by"]) == ("t-2", "Amy")
    assert (await amy.task_show("dock", "T-2")).title == "mine"


async def test_the_same_key_makes_one_task(sit):
    amy, _ = await sit.pair()
    assert [(await amy.task_create("dock", "x", idem="k")).id for _ in range(2)] == ["T-1", "T-1"]
    assert list(await board(amy)) == ["T-1"]


async def test_a_key_is_of_one_task(sit):
    amy, _ = await sit.pair()
    await made(amy, "A", "B")
    for one in ("A", "B"):
        await amy.task_cancel("dock", one, "no", idem="k")
        await amy.task_cancel("dock", one, "no", idem="k")
    assert await board(amy) == {"A": "cancelled", "B": "cancelled"}
    assert len(await audits(amy)) == 4


async def test_the_same_key_of_different_ids_makes_both(sit):
    amy, _ = await sit.pair()
    for one in ("A", "B"):
        assert (await amy.task_create("dock", "x", task=one, idem="k")).id == one


async def test_tasks_come_by_priority_then_age(sit):
    amy, _ = await sit.pair()
    for one, priority in (("late", 4), ("usual", None), ("first", 0), ("usual2", 2)):
        await amy.task_create("dock", "x", task=one, priority=priority)
    assert list(await board(amy)) == ["first", "usual", "usual2", "late"]
    assert [(await amy.task_next("dock", claim=True)).id for _ in range(4)] == ["first", "usual", "usual2", "late"]


async def test_a_changed_priority_changes_what_comes_next(sit):
    amy, _ = await sit.pair()
    await made(amy, "A", "B")
    await amy.task_update("dock", "B", priority=1)
    assert (await amy.task_next("dock")).id == "B"


async def test_two_spellings_of_a_name_are_one_agent_and_one_task(sit):
    amy, _ = await sit.pair()
    await amy.task_create("dock", "x", task="Parser", owner="AMY")
    loud = sit("AMY")
    first = await loud.task_claim("dock", "pARSER")
    assert (first.id, first.how) == ("Parser", "claimed")
    again = await amy.task_claim("DOCK", "parser")
    assert (again.how, again.token) == ("renewed", first.token)
    assert [one.id for one in await amy.task_list("dock", mine=True)] == ["Parser"]
    with pytest.raises(TaskAlreadyExists):
        await amy.task_create("dock", "y", task="PARSER")


# What waits for what.


async def test_a_task_can_be_started_once_all_that_it_depends_on_is_done(sit):
    amy, bob = await sit.pair()
    await made(amy, "A", "B")
    await made(amy, "C", depends_on="A,B")
    with pytest.raises(TaskDependencyNotReady) as no:
        await bob.task_claim("dock", "C")
    assert no.value.facts["waits_for"] == "A (open), B (open)"
    for one, freed in (("A", []), ("B", ["C"])):
        await bob.task_claim("dock", one)
        assert (await bob.task_done("dock", one)).freed == freed
    assert [one.id for one in await amy.task_list("dock", ready=True)] == ["C"]
    assert (await bob.task_claim("dock", "C")).how == "claimed"


async def test_dependencies_exist_and_never_go_in_a_circle(sit):
    amy, _ = await sit.pair()
    await made(amy, "A")
    await made(amy, "B", depends_on="A")
    await made(amy, "C", depends_on="B")
    before = sit.everything()
    with pytest.raises(TaskUnknownDependency) as no:
        await amy.task_create("dock", "x", task="D", depends_on="A,nope")
    assert no.value.facts["dependency"] == "nope"
    for task, deps in (("A", "A"), ("a", "C"), ("A", "B"), ("B", "c")):
        with pytest.raises(TaskDependencyCycle) as round_:
            await amy.task_update("dock", task, depends_on=deps)
        way = round_.value.facts["cycle"].split(" -> ")
        assert way[0] == way[-1] == task.upper()
    with pytest.raises(TaskDependencyCycle):
        await amy.task_create("dock", "x", task="Z", depends_on="z")
    with pytest.raises(TaskUnknownDependency):
        await amy.task_update("dock", "A", depends_on="nope")
    assert sit.everything() == before


async def test_other_dependencies_make_it_ready_or_not(sit):
    amy, _ = await sit.pair()
    await made(amy, "A")
    await made(amy, "B.x", depends_on="A")
    assert not (await amy.task_show("dock", "B.x")).ready
    await amy.task_update("dock", "B.x", depends_on="")
    assert (await amy.task_show("dock", "B.x")).ready
    assert (await amy.task_show("dock", "A")).dependents == []
    await amy.task_update("dock", "B.x", depends_on="a")
    assert not (await amy.task_show("dock", "B.x")).ready
    assert (await amy.task_show("dock", "A")).dependents == ["B.x"]
    assert (await amy.task_recover_pending("dock")).mended == {}


async def test_a_cancelled_dependency_is_said_and_has_a_way_out(sit):
    """LEASE-08: nothing waits silently for what never comes."""
    amy, bob = await sit.pair()
    await made(amy, "A")
    await made(amy, "B", depends_on="A")
    await made(amy, "C", depends_on="B")
    cancelled = await amy.task_cancel("dock", "A", "not needed")
    assert (cancelled.status, cancelled.waiting) == ("cancelled", ["B"])
    stuck = await bob.task_show("dock", "B")
    assert (stuck.stuck, stuck.ready, [(one.id, one.status) for one in stuck.waits_for]) == (True, False, [("A", "cancelled")])
    assert (await bob.task_show("dock", "C")).stuck, "however far"
    with pytest.raises(NothingReady) as no:
        await bob.task_next("dock", claim=True)
    assert "1 blocked by cancelled A" in no.value.facts["why"]
    await bob.task_update("dock", "B", depends_on="")
    assert (await bob.task_next("dock")).id == "B"
    await bob.task_update("dock", "B", depends_on="A")
    assert (await bob.task_reopen("dock", "A", "needed after all")).status == "open"
    assert not (await bob.task_show("dock", "C")).stuck


async def test_nothing_to_start_says_why(sit):
    amy, bob = await sit.pair()
    for why, act in (
        ("the board is empty", made(amy, "A")),
        ("1 in progress (A by Amy)", made(amy, "B", depends_on="A")),
        ("1 blocked by in progress A", made(amy, "C", owner="carl")),
        ("1 meant for others (C for carl)", None),
    ):
        if why != "the board is empty" and (await amy.task_show("dock", "A")).status == "open":
            await amy.task_claim("dock", "A")
        with pytest.raises(NothingReady) as no:
            await bob.task_next("dock", claim=True)
        assert why in no.value.facts["why"]
        if act:
            await act
    assert (await sit("carl").task_next("dock")).id == "C"
    for one in ("A", "B", "C"):
        await amy.task_cancel("dock", one, "enough")
    with pytest.raises(NothingReady) as no:
        await bob.task_next("dock")
    assert no.value.facts["why"] == "every task is over"


async def test_a_long_chain_is_shown_whatever_its_priorities(sit):
    amy, _ = await sit.pair()
    many = 1_500
    pipe = sit.store.pipeline()
    for n in range(1, many + 1):
        deps = f"t-{n - 1}" if n > 1 else "-"
        pipe.hset(BOARD + "tasks", f"t-{n}", f"T-{n} open - Amy {0 if n == many else 4} {n} 1 0 0 0 1 1 - {deps} - 0 -")
    pipe.execute()
    await amy.task_recover_pending("dock")
    assert (await amy.task_show("dock", f"T-{many}")).stuck is False
    assert (await amy.task_list("dock"))[0].id == f"T-{many}"
    assert (await amy.task_graph("dock")).count("-->") == many - 1
    with pytest.raises(TaskDependencyCycle):
        await amy.task_update("dock", "T-1", depends_on=f"T-{many}")
    await amy.task_cancel("dock", "T-1", "no")
    assert all(one.stuck for one in await amy.task_list("dock", status="open"))


@pytest.mark.real
def test_a_task_may_depend_on_more_tasks_than_a_lua_call_takes_words(real):
    many = 8_100
    with Client(real.url, agent="amy") as amy:
        amy.open("dock")
        rows = [word for n in range(many) for word in (f"d{n}", f"D{n} done - amy 4 {n} 1 0 0 0 1 1 - - - 0 amy")]
        real.ask("HSET", BOARD + "tasks", *rows)
        amy.task_create("dock", "all of them", task="Z", depends_on=[f"D{n}" for n in range(many)])
        assert amy.task_next("dock", claim=True).id == "Z"
        amy.task_update("dock", "Z", depends_on=[f"D{n}" for n in range(1, many)])
        assert amy.task_done("dock", "Z").moved
        assert amy.task_reopen("dock", "D1", "no good").begun == ["Z"]


# Statuses.

WAYS = {
    "open": {"in_progress", "blocked", "cancelled"}, "in_progress": {"open", "blocked", "done", "cancelled"}, "blocked": {"open", "in_progress", "cancelled"},
    "done": set(), "cancelled": set(),
}  # fmt: skip
PATHS = {
    "open": (), "in_progress": ("in_progress",), "blocked": ("blocked",), "done": ("in_progress", "done"), "cancelled": ("cancelled",),
}  # fmt: skip


@pytest.mark.parametrize("status", WAYS)
async def test_a_task_goes_the_ways_that_there_are_and_no_others(sit, status):
    amy, _ = await sit.pair()
    for n, to in enumerate(WAYS):
        one = f"A{n}"
        await made(amy, one)
        for step in PATHS[status]:
            await amy.task_update("dock", one, status=step)
        before = sit.everything()
        if to in WAYS[status] or to == status:
            assert (await amy.task_update("dock", one, status=to)).status == to
        else:
            with pytest.raises(TaskInvalidTransition) as no:
                await amy.task_update("dock", one, status=to)
            assert (no.value.facts["status"], no.value.facts["to"]) == (status, to)
            assert sit.everything() == before
    assert (await amy.task_recover_pending("dock")).mended == {}


async def test_only_reopening_brings_a_finished_task_back_and_names_what_was_begun_on_it(sit):
    amy, bob = await sit.pair()
    await made(amy, "A")
    await made(amy, "B", "C", depends_on="A")
    await amy.task_claim("dock", "A")
    await amy.task_done("dock", "A")
    await bob.task_claim("dock", "B")
    before = sit.everything()
    with pytest.raises(TaskInvalidTransition):
        await amy.task_update("dock", "A", status="open")
    with pytest.raises(TaskInvalidTransition):
        await amy.task_claim("dock", "A")
    with pytest.raises(TaskInvalidTransition):
        await amy.task_reopen("dock", "C", "why not")
    assert sit.everything() == before
    back = await amy.task_reopen("dock", "A", "it came back")
    assert (back.status, back.attempt, back.begun, back.waiting) == ("open", 2, ["B"], ["C"])
    assert [one.id for one in await amy.task_list("dock", ready=True)] == ["A"], "C waits again"
    assert "it came back" in (await audits(amy))[-1][2]
    assert "B" in (await audits(amy))[-1][2]
    with pytest.raises(TaskDependencyNotReady):
        await bob.task_done("dock", "B")


async def test_attempts_are_counted(sit):
    amy, bob = await sit.pair()
    await made(amy, "A")
    for attempt in (1, 2):
        assert (await amy.task_claim("dock", "A")).attempt == attempt
        await amy.task_release("dock", "A")
    await amy.task_claim("dock", "A")
    sit.run_out("A")
    assert (await bob.task_recover("dock", "A", "gone")).attempt == 4
    await bob.task_done("dock", "A")
    assert (await amy.task_reopen("dock", "A", "no good")).attempt == 5


@pytest.mark.real
def test_what_was_taken_is_said_to_be_even_if_its_files_cannot_be_looked_up(real):
    def nowhere():
        raise Usage(message="no such repository")

    who = Caller(Keys("default"), "amy")
    with Client(real.url, agent="amy") as amy, contextlib.closing(Wire(real.url)) as wire:
        amy.open("dock")
        amy.task_create("dock", "x", task="A", files_hint="src")
        got = wire.drive(flows.claim(who, "dock", "A", 60_000, repository=nowhere))
    assert (got["how"], got["locked"]) == ("claimed", [])


async def test_doing_it_twice_says_so_and_leaves_nothing(sit):
    amy, _ = await sit.pair()
    await made(amy, "A")
    assert (await amy.task_cancel("dock", "A", "x")).moved
    before = sit.everything()
    assert not (await amy.task_cancel("dock", "A", "x")).moved
    assert sit.everything() == before


async def test_a_blocked_task_says_why_and_is_given_free_again(sit):
    amy, bob = await sit.pair()
    await made(amy, "A")
    await amy.task_block("dock", "A", "no access")
    one = await bob.task_show("dock", "A")
    assert (one.status, one.reason, one.ready) == ("blocked", "no access", False)
    with pytest.raises(NothingReady):
        await bob.task_next("dock")
    assert (await bob.task_release("dock", "A")).status == "open"
    assert (await bob.task_show("dock", "A")).reason is None


async def test_whom_a_task_is_meant_for_takes_it_and_nobody_else(sit):
    amy, bob = await sit.pair()
    await made(amy, "A", owner="bob")
    with pytest.raises(LeaseConflict) as no:
        await amy.task_claim("dock", "A")
    assert (no.value.facts["assigned"], no.value.facts["holder"]) == (True, "bob")
    assert [one.id for one in await bob.task_list("dock", mine=True)] == ["A"]
    assert (await bob.task_claim("dock", "A")).how == "claimed"
    await bob.task_release("dock", "A")
    await amy.task_update("dock", "A", owner="carl")
    await amy.task_update("dock", "A", clear_owner=True)
    assert (await amy.task_claim("dock", "A")).how == "claimed"


async def test_fields_are_changed_and_cleared_one_by_one(sit):
    amy, _ = await sit.pair()
    await made(amy, "A", branch="b", acceptance=["x"], files_hint="f")
    changed = await amy.task_update("dock", "A", title="new", acceptance=[""], files_hint="", clear_branch=True)
    assert sorted(changed.changed) == ["acceptance", "branch", "files_hint", "title"]
    one = await amy.task_show("dock", "A")
    assert (one.title, one.acceptance, one.files_hint, one.branch) == ("new", [], [], None)


# Who is told.


async def ring_of(sit, agent, act):
    """What an agent's doorbell says while ``act`` is done."""
    if isinstance(sit.backend, str):
        bells = sit.store.pubsub()
        bells.ssubscribe(f"rc1:{{default}}:bell:{agent}")
        bells.get_sharded_message(timeout=5)
        await act
        said = []
        while found := bells.get_sharded_message(timeout=0.2):
            said.append(found["data"])
        bells.close()
        return said
    await act
    return None


@pytest.mark.real
async def test_whoever_a_task_is_meant_for_is_rung_when_it_can_be_started(seated, real):
    sit = seated(real.url)
    amy, bob = await sit.pair()
    assert await ring_of(sit, "bob", made(amy, "A", owner="bob")) == ["task dock a"]
    await made(amy, "X")
    assert await ring_of(sit, "bob", made(amy, "B", owner="Bob", depends_on="X")) == []
    await amy.task_claim("dock", "X")
    assert await ring_of(sit, "bob", amy.task_done("dock", "X")) == ["task dock b"]
    assert await ring_of(sit, "bob", amy.task_update("dock", "B", priority=0)) == [], "it could be started before"
    await amy.task_cancel("dock", "A", "no")
    assert await ring_of(sit, "bob", amy.task_reopen("dock", "A", "yes")) == ["task dock a"]
    await made(amy, "C")
    assert await ring_of(sit, "bob", amy.task_block("dock", "B")) == []
    assert await ring_of(sit, "bob", amy.task_release("dock", "B")) == ["task dock b"]
    assert bob.agent == "bob"


@pytest.mark.real
async def test_a_task_that_is_given_to_somebody_rings_them(seated, real):
    sit = seated(real.url)
    amy, _ = await sit.pair()
    await made(amy, "A")
    assert await ring_of(sit, "bob", amy.task_update("dock", "A", owner="bob")) == ["task dock a"]


async def test_changes_of_a_board_wake_nobody_and_are_unread_for_nobody(sit):
    amy, bob = await sit.pair()
    await made(amy, "A")
    await bob.task_claim("dock", "A")
    await bob.task_done("dock", "A")
    assert [(one.pending, one.for_you) for one in await amy.pending()] == []
    assert (await amy.read("dock")).messages == []
    assert len((await amy.history("dock", audits=True)).messages) == 3


async def test_work_goes_on_in_a_closed_channel_and_without_membership(sit):
    amy, _ = await sit.pair()
    await amy.close("dock", "talk is over")
    stranger = sit("carl")
    first = await stranger.task_create("dock", "x", task="A")
    assert "carl was not known" in first.warning
    lease = await stranger.task_claim("dock", "A")
    assert lease.warning is None
    assert (await stranger.task_done("dock", "A")).moved


async def test_a_slip_in_a_name_is_warned_of_with_the_nearest_one(sit):
    amy, _ = await sit.pair()
    await made(amy, "A")
    assert "did you mean bob" in (await sit("bobb").task_claim("dock", "A")).warning
    assert "caarl was not known" in (await amy.task_create("dock", "x", owner="caarl")).warning
    assert "did you mean bob" in (await amy.task_update("dock", "T-1", owner="bbob")).warning
    for known in ({"owner": "BOB"}, {"clear_owner": True}, {"title": "y"}):
        assert (await amy.task_update("dock", "T-1", **known)).warning is None


async def test_looking_needs_no_name_and_changing_does(sit):
    amy, _ = await sit.pair()
    await made(amy, "A")
    nobody = sit()
    before = sit.everything()
    assert [one.id for one in await nobody.task_list("dock")] == ["A"]
    assert (await nobody.task_show("dock", "A")).id == "A"
    assert "A" in await nobody.task_graph("dock")
    for verb in (nobody.task_create("dock", "x"), nobody.task_claim("dock", "A"), nobody.task_next("dock"), nobody.task_list("dock", mine=True)):
        with pytest.raises(NoIdentity):
            await verb
    assert sit.everything() == before


async def test_a_held_name_acts_by_its_token_alone(sit):
    amy, _ = await sit.pair()
    await amy.identify("Amy", session="one")
    await made(amy, "A")
    thief = sit("amy")
    before = sit.everything()
    for verb in (
        thief.task_create("dock", "x"), thief.task_claim("dock", "A"), thief.task_next("dock", claim=True), thief.task_update("dock", "A", title="y"),
        thief.task_cancel("dock", "A", "x"), thief.task_recover_pending("dock"), thief.claim("dock", "A"),
    ):  # fmt: skip
        with pytest.raises(NotYou):
            await verb
    assert sit.everything() == before


async def test_a_deleted_channel_takes_its_board_with_it(sit):
    amy, _ = await sit.pair()
    await made(amy, "A")
    await amy.task_claim("dock", "A")
    await amy.claim("dock", "x")
    await amy.delete("dock", yes=True)
    assert not [key for key in sit.everything() if ":ch:dock:" in key]
    assert sit.store.hgetall("rc1:{default}:leased") == {}
    await sit.pair()
    assert await board(amy) == {}
    assert (await amy.task_create("dock", "x")).id == "T-1"


# Waiting for one.


@pytest.mark.real
async def test_a_wait_returns_when_the_task_is_done_and_polls_nothing(seated, real):
    sit = seated(real.url)
    amy, bob = await sit.pair()
    await made(amy, "A", "B")
    await bob.task_claim("dock", "A")
    waiting = asyncio.create_task(amy.task_wait("dock", "a", timeout=30))
    live = f"{BOARD}live".replace("ch:dock:live", "live:dock")
    await until(
        lambda: dict([sit.store.execute_command("PUBSUB", "SHARDNUMSUB", live)]).get(live) or sit.store.execute_command("PUBSUB", "SHARDNUMSUB", live)[-1],
        "amy waits",
    )
    await bob.task_update("dock", "B", title="something else")
    assert not waiting.done()
    await bob.task_done("dock", "A")
    assert (await waiting).status == "done"


# A damaged board.


async def test_one_record_that_redischat_did_not_write_does_not_block_the_board(sit):
    """T16."""
    amy, bob = await sit.pair()
    await made(amy, "A", "B", "bad")
    await made(amy, "C", depends_on="bad")
    corrupt(sit, "bad")
    assert list(await board(bob)) == ["A", "B", "C"]
    assert [(one.id, one.status) for one in (await bob.task_show("dock", "C")).waits_for] == [("bad", "missing")]
    assert (await bob.task_next("dock", claim=True)).id == "A"
    assert (await bob.task_done("dock", "A")).moved
    before = sit.everything()
    for verb in (bob.task_show("dock", "bad"), bob.task_claim("dock", "bad"), bob.task_done("dock", "bad"), bob.task_update("dock", "bad", title="x")):
        with pytest.raises(TaskInvalidRecord):
            await verb
    assert sit.everything() == before
    repaired = await amy.task_recover_pending("dock")
    assert (repaired.damaged, repaired.tasks) == (["bad"], 3)
    assert sit.store.hget(BOARD + "tasks", "bad") == "was here", "it is named, not touched"


@pytest.mark.parametrize(
    "record",
    [
        "",
        "A",
        "A open",
        "A flying - Amy 2 1 1 0 0 0 1 1 - - - 0 -",
        "A open - Amy x 1 1 0 0 0 1 1 - - - 0 -",
        "A open - Amy 2 1 1 0 0 0 1 1 - - - 0 - more",
        "Z open - Amy 2 1 1 0 0 0 1 1 - - - 0 -",
    ],
)
async def test_whatever_a_stranger_wrote_is_no_task(sit, record):
    amy, _ = await sit.pair()
    await made(amy, "A", "B")
    corrupt(sit, "A", record)
    assert list(await board(amy)) == ["B"]
    with pytest.raises(TaskInvalidRecord):
        await amy.task_claim("dock", "A")


async def test_broken_indexes_are_mended_from_the_records(sit):
    amy, bob = await sit.pair()
    await made(amy, "A", "B")
    await made(amy, "C", depends_on="A")
    await bob.task_claim("dock", "B")
    before = sit.everything()
    for part in ("ready", "leases", "links"):
        sit.store.delete(BOARD + part)
    sit.store.delete("rc1:{default}:leased")
    sit.store.zadd(BOARD + "ready", {"c": 1, "nobody": 2})
    sit.store.hset("rc1:{default}:leased", "quay x", "carl 5")
    sit.store.hset(BOARD + "texts", "nobody title", "x")
    mended = (await amy.task_recover_pending("dock")).mended
    assert mended == {"ready": 3, "leases": 1, "links": 1, "leased": 1, "texts": 1}
    sit.store.hdel("rc1:{default}:leased", "quay x")
    assert sit.everything() == before
    assert (await amy.task_recover_pending("dock")).mended == {}


async def test_a_circle_that_a_stranger_made_hangs_nothing(sit):
    amy, _ = await sit.pair()
    await made(amy, "A")
    await made(amy, "B", depends_on="A")
    corrupt(sit, "A", sit.store.hget(BOARD + "tasks", "a").replace(" - - 0 -", " b - 0 -"))
    assert list(await board(amy)) == ["A", "B"]
    assert (await amy.task_show("dock", "A")).depends_on == ["B"]
    assert (await amy.task_graph("dock")).count("-->") == 2
    with pytest.raises(TaskDependencyCycle):
        await amy.task_update("dock", "B", depends_on="A")


async def test_a_task_that_is_not_there_is_refused_with_the_nearest_one(sit):
    amy, _ = await sit.pair()
    await made(amy, "parser")
    before = sit.everything()
    for verb in (amy.task_show("dock", "prser"), amy.task_claim("dock", "prser"), amy.task_cancel("dock", "prser", "x"), amy.task_wait("dock", "prser")):
        with pytest.raises(TaskNotFound) as no:
            await verb
        assert no.value.facts["nearest"] == "parser"
    assert sit.everything() == before


async def test_an_audit_says_for_programs_what_happened_and_no_text_can_add_to_it(sit):
    amy, bob = await sit.pair()
    await made(amy, "A")
    lease = await bob.task_claim("dock", "A")
    await bob.task_cancel("dock", "A", "x\x1fowner\x1fboss")
    _, claimed, cancelled = (await amy.history("dock", audits=True)).messages
    assert (claimed.facts["task"], claimed.facts["owner"], claimed.facts["token"], claimed.facts["status"]) == ("A", "bob", str(lease.token), "in_progress")
    assert (cancelled.facts["owner"], cancelled.facts["by"], cancelled.facts["reason"]) == (None, "bob", "x owner boss")


# Whatever is done to a board.


class Player:
    """One of three agents does one thing at random to one of six tasks; what must hold of any change is checked after each."""

    NAMES = ("amy", "bob", "carl")
    TASKS = tuple("ABCDEF")

    def __init__(self, server, seed):
        self.server, self.dice = server, random.Random(seed)
        self.chats = {name: Client(server.url, agent=name) for name in self.NAMES}
        self.chats["amy"].open("dock", members=self.NAMES)
        self.last = 0  # fencing token

    def close(self):
        for one in self.chats.values():
            one.disconnect()

    def act(self, who, task):
        """A verb with its arguments, and what it may do to a status."""
        dice, chat = self.dice, self.chats[who]
        deps = dice.sample(self.TASKS, dice.choice([0, 0, 1, 2]))
        token = dice.choice([None, None, None, self.last])
        acts = {
            "create": lambda: chat.task_create("dock", "x", task=task, depends_on=deps, owner=dice.choice([None, None, who, "bob"]), priority=dice.randrange(5)),
            "claim": lambda: chat.task_claim("dock", task, ttl=dice.choice([60, 0.001]), steal_expired=dice.choice([True, False])),
            "next": lambda: chat.task_next("dock", claim=True, ttl=dice.choice([60, 0.001])), "renew": lambda: chat.task_renew("dock", task, token=token),
            "done": lambda: chat.task_done("dock", task, token=token), "release": lambda: chat.task_release("dock", task, token=token),
            "block": lambda: chat.task_block("dock", task, "x"), "cancel": lambda: chat.task_cancel("dock", task, "x"), "reopen": lambda: chat.task_reopen("dock", task, "x"),
            "recover": lambda: chat.task_recover("dock", task, "x", ttl=dice.choice([60, 0.001])), "deps": lambda: chat.task_update("dock", task, depends_on=deps),
            "owner": lambda: chat.task_update("dock", task, owner=dice.choice(self.NAMES)), "status": lambda: chat.task_update("dock", task, status=dice.choice(list(WAYS))),
        }  # fmt: skip
        verb = dice.choice(list(acts))
        return verb, acts[verb]

    def step(self):
        who, task = self.dice.choice(self.NAMES), self.dice.choice(self.TASKS)
        self.chats[who].task_list("dock")  # lapses are noticed
        was, before = self.board(), self.server.everything()
        verb, act = self.act(who, task)
        try:
            got = act()
        except ChatError as refused:
            code = refused.code
        else:
            code = ""
        if code:
            assert code.startswith(("TASK_", "LEASE_", "NOTHING_READY")), verb
            self.unchanged(before, verb)
            return code
        self.changed(verb, who, getattr(got, "id", task), was, got)
        return verb

    def board(self):
        return {one.id: one for one in self.chats["amy"].task_list("dock")}

    def unchanged(self, before, verb):
        after = self.server.everything()
        differ = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)} - {"rc1:{default}:agents"}  # when it was seen
        assert differ <= {BOARD + "audits", BOARD + "tasks"}, verb
        if differ:  # only a lapse that was noticed meanwhile
            assert len(after[BOARD + "audits"]) > len(before[BOARD + "audits"])

    def changed(self, verb, who, task, was, got):
        now, old = self.board()[task], was.get(task)
        assert self.chats["amy"].task_recover_pending("dock").mended == {}, verb
        if old and old.status != now.status:
            assert verb == "reopen" or now.status in WAYS[old.status], (verb, old.status, now.status)
        if old and old.lease_expires_at and not old.stale and getattr(got, "how", "") != "recovered":
            assert old.owner == who, f"{who} did {verb} to what {old.owner} holds"
        if now.status in ("in_progress", "done") and (old is None or old.status != now.status):
            assert now.waits_for == [] or verb in ("recover", "claim"), verb
        if verb in ("claim", "next", "recover"):
            assert got.token > self.last or (got.how == "renewed" and got.token == old.token)
            self.last = max(self.last, got.token)
        assert now.attempt >= (old.attempt if old else 1)


@pytest.mark.real
def test_whatever_is_done_to_a_board_its_rules_hold(real):
    done: collections.Counter[str] = collections.Counter()
    for seed in range(3):
        real.ask("FLUSHALL")
        with contextlib.closing(Player(real, seed)) as player:
            done.update(player.step() for _ in range(400))
    assert {"create", "claim", "next", "renew", "done", "release", "cancel", "reopen", "recover", "deps"} <= done.keys()
    assert {"LEASE_CONFLICT", "LEASE_RECOVERY_REQUIRED", "LEASE_OWNER_MISMATCH", "TASK_INVALID_TRANSITION", "TASK_DEPENDENCY_NOT_READY"} <= done.keys()


@pytest.mark.parametrize("priority", [-1, 5, 1.5, True, "1", float("nan")])
async def test_a_priority_is_one_of_five_numbers(sit, priority):
    amy, _ = await sit.pair()
    await made(amy, "A")
    for verb in (amy.task_create("dock", "x", priority=priority), amy.task_update("dock", "A", priority=priority)):
        with pytest.raises(TaskInvalidPriority):
            await verb
    assert [one.priority for one in await amy.task_list("dock")] == [2]


async def test_one_sentence_is_one_item(sit):
    amy, _ = await sit.pair()
    await amy.task_create("dock", "x", task="A", acceptance="it works, always")
    assert (await amy.task_show("dock", "A")).acceptance == ["it works, always"]
    await amy.task_update("dock", "A", acceptance="and is fast")
    assert (await amy.task_show("dock", "A")).acceptance == ["and is fast"]
    await amy.task_update("dock", "A", acceptance="")
    assert (await amy.task_show("dock", "A")).acceptance == []


async def test_a_reason_is_of_the_status_that_it_was_given_for(sit):
    amy, _ = await sit.pair()
    await made(amy, "A")
    await amy.task_block("dock", "A", "no access")
    await amy.task_update("dock", "A", title="y")
    assert (await amy.task_show("dock", "A")).reason == "no access"
    await amy.task_update("dock", "A", status="cancelled")
    assert (await amy.task_show("dock", "A")).reason is None
    with pytest.raises(TaskCancelled) as no:
        await amy.task_wait("dock", "A", timeout=20)
    assert "None" not in str(no.value)


async def test_whoever_waits_for_a_task_hears_that_its_holders_lease_ran_out_once_and_waits_on(sit):
    amy, bob, carl = await sit.trio()
    await amy.task_create("dock", "x", task="A")
    await bob.task_claim("dock", "A", ttl=0.2)
    heard: list[Any] = []
    waiting = asyncio.create_task(amy.task_wait("dock", "A", timeout=30, on_lapse=heard.append))
    await until(lambda: heard, "the lapse is told while nothing else happens")
    assert [(one.id, one.owner, one.stale) for one in heard] == [("A", "bob", True)]
    await amy.task_create("dock", "y", task="B")
    await carl.task_recover("dock", "A", "bob is gone", ttl=0.2)
    await until(lambda: len(heard) > 1, "the next lease is told, too")
    await carl.task_done("dock", "A")
    assert (await waiting).finished_by == "carl"
    assert [one.owner for one in heard] == ["bob", "carl"]


async def test_what_a_lapse_makes_a_waiter_raise_ends_its_wait(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    await bob.task_claim("dock", "A", ttl=0.001)

    def give_up(task):
        raise ZeroDivisionError(task.id)

    with pytest.raises(ZeroDivisionError):
        await amy.task_wait("dock", "A", timeout=30, on_lapse=give_up)
    assert sit.store.hlen("rc1:{default}:waits") == 0


async def test_a_board_tells_what_it_had_to_leave_out(sit):
    amy, _ = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    assert (await amy.task_list("dock")).damaged == []
    sit.store.hset("rc1:{default}:ch:dock:tasks", "bad", "BAD was here")
    found = await amy.task_list("dock", status="open")
    assert ([one.id for one in found], found.damaged) == (["A"], ["bad"])


async def refusal(verb, *args, **options):
    """What a verb is refused with; None if it is not."""
    try:
        found = verb(*args, **options)
        if inspect.isawaitable(found):
            await found
    except ChatError as error:
        return type(error)
    return None


async def test_no_wait_is_shorter_than_nothing(sit, tmp_path):
    amy, _ = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    for seconds in (-1, -0.001, float("nan"), True):
        assert await refusal(amy.wait, "dock", timeout=seconds) is Usage
        assert await refusal(amy.lock, "dock", "a", wait=seconds, repo="team/parser") is Usage
        assert await refusal(amy.export, "dock", tmp_path, follow=seconds) is Usage
        assert await refusal(amy.ask, "dock", "bob", "x", timeout=seconds) is Usage
        assert await refusal(amy.barrier, "dock", "b", 2, timeout=seconds) is Usage
        assert await refusal(amy.task_wait, "dock", "A", timeout=seconds) is TaskInvalidArgument
        assert await refusal(amy.claim_task, "dock", wait=seconds) is TaskInvalidArgument
    for seconds in (0, -1, float("nan")):
        assert await refusal(amy.listen, "dock", lease=seconds) is await refusal(amy.take, "dock", lease=seconds) is Usage
    assert (await amy.task_list("dock"))[0].status == "open"
    assert (await amy.locks("dock", all=True)).locks == []
    assert (await amy.history("dock")).messages == []
