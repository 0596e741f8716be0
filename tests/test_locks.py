"""Path locks: one agent at a time on a file or folder, whoever looks is told by whom, and nothing that ran out is taken silently."""

from __future__ import annotations

import asyncio
import contextlib
from types import SimpleNamespace

import pytest
from seats import until

from redischat.calls import paths as calls
from redischat.calls.call import Caller
from redischat.errors import Deadlock, NoIdentity, TimedOut, Usage
from redischat.errors.paths import (
    PathLockChannelNotFound,
    PathLockConflict,
    PathLockInvalidChannel,
    PathLockInvalidDuration,
    PathLockInvalidReason,
    PathLockInvalidRecord,
    PathLockLineFull,
    PathLockNotFound,
    PathLockNotStale,
    PathLockOwnerMismatch,
    PathLockRecoveryRequired,
    PathLockStaleToken,
    PathLockTooMany,
)
from redischat.keys import Keys

HERE = {"repo": "example.org/team/boat"}
KEYS = Keys("default")
HELD = KEYS.held


class Repo:
    key, digest, how = "example.org/team/boat", "0123456789abcdef", "--repo"


def lapse(sit, owner):
    """Let all locks of one agent run out, as if their time were up."""
    for path, text in sit.store.hgetall(HELD).items():
        rows = [row.split(" ") for row in text.split("\n")]
        sit.store.hset(HELD, path, "\n".join(" ".join([*row[:2], "1000", *row[3:]]) if row[0] == owner else " ".join(row) for row in rows))


async def in_line(sit, count):
    await until(lambda: sit.store.zcard(KEYS.line) == count, f"{count} stand in line")


async def statuses(chat):
    return [one.status for one in (await chat.history("dock", audits=True)).messages if one.kind == "audit"]


async def test_a_locked_file_is_named_to_whoever_checks_and_free_to_its_holder(sit):
    amy, bob = await sit.pair()
    lock = await amy.lock("dock", "src/main.py", reason="the parser", **HERE)
    assert [one.path for one in lock.paths] == ["src/main.py"]
    seen = await bob.check("dock", "src/main.py", **HERE)
    (one,) = seen.held
    assert (seen.free, one.holder, one.mine, one.reason, one.token, one.lock_id) == (False, "Amy", False, "the parser", lock.token, lock.lock_id)
    mine = await amy.check("dock", "src/main.py", **HERE)
    assert (mine.free, mine.held[0].mine) == (True, True)


async def test_a_second_lock_is_refused_with_holder_reason_and_end(sit):
    amy, bob = await sit.pair()
    lock = await amy.lock("dock", "src", reason="all of it", **HERE)
    with pytest.raises(PathLockConflict) as no:
        await bob.lock("dock", "src/main.py", **HERE)
    facts = no.value.facts
    assert (facts["holder"], facts["path"], facts["asked"], facts["reason"], facts["lock_id"]) == ("Amy", "src", "src/main.py", "all of it", lock.lock_id)
    assert facts["expires_at"].endswith("Z")
    assert no.value.exit == 3


@pytest.mark.parametrize(("held", "asked"), [("src", "src/a.py"), ("src/a.py", "src"), (".", "a"), ("a", "."), ("a/b", "a/b"), ("app/[id]/x", "app/[id]")])
async def test_a_folder_and_what_is_in_it_go_together_both_ways(sit, held, asked):
    amy, bob = await sit.pair()
    await amy.lock("dock", held, **HERE)
    with pytest.raises(PathLockConflict):
        await bob.lock("dock", asked, **HERE)
    assert not (await bob.check("dock", asked, **HERE)).free


@pytest.mark.parametrize(
    ("held", "asked"), [("src", "src-old"), ("src", "srcs/a"), ("src/a", "src/ab"), ("src/a.py", "src/a"), ("a b", "a"), ("app/[id]", "app/i")]
)
async def test_names_that_only_begin_alike_do_not_meet(sit, held, asked):
    amy, bob = await sit.pair()
    await amy.lock("dock", held, **HERE)
    assert (await bob.check("dock", asked, **HERE)).free
    await bob.lock("dock", asked, **HERE)


async def test_several_paths_are_locked_all_or_none(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "b", **HERE)
    with pytest.raises(PathLockConflict):
        await bob.lock("dock", "a", "b/c", "d", **HERE)
    assert (await amy.check("dock", "a", "d", **HERE)).held == []
    assert [one.path for one in (await bob.lock("dock", "d", "a", "d/e", "a", **HERE)).paths] == ["d", "a"]


async def test_locked_again_by_its_owner_it_is_renewed_and_keeps_its_token(sit):
    amy, bob = await sit.pair()
    first = await amy.lock("dock", "a", ttl=600, **HERE)
    again = await sit("AMY").lock("dock", "a", ttl=10, **HERE)
    assert (again.renewed, again.token, again.lock_id, again.expires_at) == (True, first.token, first.lock_id, first.expires_at)
    more = await amy.lock("dock", "a", "b", ttl=900, **HERE)
    assert [(one.path, one.token) for one in more.paths] == [("a", first.token), ("b", first.token + 1)]
    assert more.paths[0].expires_at > first.expires_at
    assert await statuses(bob) == ["path.locked", "path.lock.renewed", "path.locked"]


async def test_readers_share_and_a_writer_waits_for_them(sit):
    amy, bob, carl = await sit.trio()
    await amy.lock("dock", "a", shared=True, **HERE)
    await bob.lock("dock", "a", shared=True, **HERE)
    with pytest.raises(PathLockConflict) as no:
        await carl.lock("dock", "a/b", **HERE)
    assert no.value.facts["mode"] == "shared"
    with pytest.raises(PathLockConflict):
        await amy.lock("dock", "a", **HERE)
    await bob.unlock("dock", "a", **HERE)
    assert (await amy.lock("dock", "a", **HERE)).mode == "exclusive"
    with pytest.raises(PathLockConflict):
        await bob.lock("dock", "a", shared=True, **HERE)


async def test_locks_of_another_repository_or_workspace_are_none_of_ours_and_channels_do_not_part_them(sit):
    amy, bob = await sit.pair()
    await bob.open("quay")
    await amy.lock("dock", "a", **HERE)
    with pytest.raises(PathLockConflict):
        await bob.lock("quay", "a", **HERE)
    await bob.lock("quay", "a", repo="example.org/other")
    assert [one.repository for one in (await amy.locks(all=True)).locks] == ["example.org/other", "example.org/team/boat"]
    assert [one.channel for one in (await amy.locks("quay", all=True)).locks] == ["quay"]
    assert [one.owner for one in (await amy.locks(**HERE)).locks] == ["Amy"]


async def test_a_lock_is_let_go_of_by_id_by_path_or_with_all_others(sit):
    amy, bob = await sit.pair()
    lock = await amy.lock("dock", "a", "b", "c", "d", **HERE)
    assert [one.path for one in (await amy.unlock("dock", "b", **HERE)).unlocked] == ["b"]
    await bob.lock("dock", "b", **HERE)
    with pytest.raises(PathLockNotFound):
        await amy.unlock("dock", "a/x", **HERE)
    with pytest.raises(PathLockOwnerMismatch) as no:
        await amy.unlock("dock", "a", "b", **HERE)
    assert no.value.facts["holder"] == "bob"
    assert sorted(one.path for one in (await amy.unlock("dock", lock.lock_id)).unlocked) == ["a", "c", "d"]
    await amy.lock("dock", "x", repo="example.org/other")
    assert [(one.path, one.repository) for one in (await amy.unlock("dock", all=True)).unlocked] == [("x", "example.org/other")]
    assert (await amy.unlock("dock", all=True)).unlocked == []
    assert [one.owner for one in (await amy.locks(all=True)).locks] == ["bob"]


async def test_tokens_rise_for_ever_and_an_old_one_is_told_so(sit):
    amy, bob = await sit.pair()
    old = (await amy.lock("dock", "a", **HERE)).token
    assert (await amy.check("dock", "a/b", token=old, **HERE)).free
    await amy.unlock("dock", "a", **HERE)
    with pytest.raises(PathLockStaleToken) as no:
        await amy.check("dock", "a", token=old, **HERE)
    assert no.value.facts["holder"] is None
    new = (await bob.lock("dock", "a", **HERE)).token
    assert new > old
    with pytest.raises(PathLockStaleToken) as no:
        await amy.check("dock", "a", token=old, **HERE)
    assert (no.value.facts["holder"], no.value.facts["current"], no.value.exit) == ("bob", new, 3)
    with pytest.raises(PathLockStaleToken):
        await bob.renew("dock", "a", token=old, **HERE)
    assert (await bob.renew("dock", "a", token=new, **HERE)).token == new


async def test_what_ran_out_still_blocks_until_it_is_recovered_by_name(sit):
    amy, bob = await sit.pair()
    lock = await amy.lock("dock", "a", "b", **HERE)
    with pytest.raises(PathLockNotStale):
        await bob.recover("dock", lock.lock_id, "too early")
    lapse(sit, "amy")
    with pytest.raises(PathLockRecoveryRequired) as no:
        await bob.lock("dock", "a", **HERE)
    assert (no.value.facts["holder"], no.value.facts["lock_id"], no.value.exit) == ("Amy", lock.lock_id, 3)
    assert (await bob.check("dock", "a", **HERE)).held[0].lapsed
    with pytest.raises(PathLockInvalidReason):
        await bob.recover("dock", lock.lock_id, " ")
    got = await bob.recover("dock", "a", "its session is gone", **HERE)
    assert (got.lock_id, [one.path for one in got.paths], got.recovered[0].previous_owner) == (lock.lock_id, ["a", "b"], "Amy")
    assert got.token > lock.token
    (row,) = (await bob.locks(**HERE)).locks
    assert (row.owner, row.previous_owner, row.recovery_reason) == ("bob", "Amy", "its session is gone")
    with pytest.raises(PathLockOwnerMismatch):
        await amy.unlock("dock", lock.lock_id)


async def test_whoever_says_so_takes_over_what_ran_out_and_the_audit_names_whose_it_was(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a/b", **HERE)
    lapse(sit, "amy")
    got = await bob.lock("dock", "a", steal_expired=True, **HERE)
    assert [(one.path, one.previous_owner) for one in got.recovered] == [("a/b", "Amy")]
    assert await statuses(amy) == ["path.locked", "path.lock.recovered", "path.locked"]
    facts = (await amy.history("dock", audits=True)).messages[-2].facts
    assert (facts["previous_owner"], facts["recovery_reason"], facts["paths"]) == ("Amy", "steal-expired", "a/b")
    with pytest.raises(PathLockConflict):
        await amy.lock("dock", "a/b", **HERE)


async def test_an_owner_comes_back_to_what_ran_out_as_long_as_nobody_took_it(sit):
    amy, _ = await sit.pair()
    lock = await amy.lock("dock", "a", **HERE)
    lapse(sit, "amy")
    again = await amy.lock("dock", "a", **HERE)
    assert (again.renewed, again.token, again.late_seconds > 0) == (True, lock.token, True)
    lapse(sit, "amy")
    assert (await amy.renew("dock", all=True)).late_seconds > 0
    lapse(sit, "amy")
    assert len((await amy.unlock("dock", "a", **HERE)).unlocked) == 1
    with pytest.raises(PathLockNotFound):
        await amy.renew("dock", all=True)


async def test_who_locks_need_be_no_member_and_is_known_from_then_on(sit):
    await sit.pair()
    got = await sit("Amyy").lock("dock", "a", **HERE)
    assert "did you mean Amy?" in got.warning
    assert (await sit("amyy").lock("dock", "b", **HERE)).warning is None
    with pytest.raises(NoIdentity):
        await sit().lock("dock", "a", **HERE)
    assert not (await sit().check("dock", "a", **HERE)).free


async def test_what_makes_no_sense_is_refused_by_its_code(sit):
    amy, _ = await sit.pair()
    for error, verb in (
        (PathLockChannelNotFound, amy.lock("dokc", "a", **HERE)), (PathLockChannelNotFound, amy.check("dokc", "a", **HERE)),
        (PathLockChannelNotFound, amy.unlock("dokc", all=True)), (PathLockChannelNotFound, amy.renew("dokc", all=True)),
        (PathLockChannelNotFound, amy.locks("dokc", all=True)), (PathLockChannelNotFound, amy.recover("dokc", "a", "x", **HERE)),
        (PathLockInvalidChannel, amy.lock("d ck", "a", **HERE)), (PathLockInvalidReason, amy.lock("dock", "a", reason="two\nlines", **HERE)),
        (PathLockInvalidReason, amy.lock("dock", "a", reason="\x1b[2J", **HERE)), (PathLockTooMany, amy.lock("dock", *map(str, range(65)), **HERE)),
        (Usage, amy.lock("dock", **HERE)), (Usage, amy.unlock("dock", **HERE)),
        *((PathLockInvalidDuration, amy.lock("dock", "a", ttl=ttl, **HERE)) for ttl in (0, -1, float("nan"), float("inf"), 366 * 86_400 + 1)),
    ):  # fmt: skip
        with pytest.raises(error) as no:
            await verb
        assert error is not PathLockChannelNotFound or no.value.facts["nearest"] == "dock"
    assert sit.store.hlen(HELD) == 0


async def test_a_request_that_is_sent_twice_happens_once(sit):
    amy, _ = await sit.pair()
    asked = calls.Wanted(["a"], "f" * 32, lease_ms=60_000)
    call = calls.lock(Caller(KEYS, "amy"), "dock", Repo, asked)
    words = call.words(whole=True)
    first, again = (call.read(sit.store.execute_command(*words)) for _ in range(2))
    assert first == again
    assert await statuses(amy) == ["path.locked"]


async def test_looking_writes_nothing(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)

    def everything():
        return {key: (sit.store.hgetall(key) if sit.store.type(key) == "hash" else sit.store.type(key)) for key in sit.store.keys("*")}

    before = everything()
    await bob.check("dock", "a", "b", **HERE)
    await amy.locks(all=True)
    assert everything() == before


async def test_whoever_waits_gets_the_path_when_it_is_let_go_of_first_come_first_served(sit):
    amy, bob, carl = await sit.trio()
    await amy.lock("dock", "a", **HERE)
    second = asyncio.ensure_future(bob.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 1)
    third = asyncio.ensure_future(carl.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 2)
    assert [one.owner for one in (await amy.locks(**HERE)).waiting] == ["bob", "carl"]
    await amy.unlock("dock", "a", **HERE)
    assert (await second).owner == "bob"
    with pytest.raises(PathLockConflict) as no:
        await amy.lock("dock", "a", **HERE)
    assert no.value.facts["holder"] == "bob"
    await bob.unlock("dock", "a", **HERE)
    assert (await third).owner == "carl"
    assert sit.store.hlen(KEYS.asked) == sit.store.zcard(KEYS.line) == 0


async def test_a_free_path_is_not_taken_past_those_who_stand_in_line_for_it(sit):
    amy, bob, carl = await sit.trio()
    await amy.lock("dock", "a", **HERE)
    waiting = asyncio.ensure_future(bob.lock("dock", "a", "b", wait=20, **HERE))
    await in_line(sit, 1)
    with pytest.raises(PathLockConflict) as no:
        await carl.lock("dock", "b", **HERE)
    assert (no.value.facts["in_line"], no.value.facts["holder"], no.value.facts["path"]) == (True, "bob", "b")
    seen = await carl.check("dock", "b", **HERE)
    assert (seen.free, [(one.agent, one.path) for one in seen.in_line]) == (False, [("bob", "b")]), "and a check does not call it free"
    assert (await amy.check("dock", "b", **HERE)).free
    assert (await carl.check("dock", "c", **HERE)).free
    assert (await amy.lock("dock", "b", **HERE)).owner == "Amy", "who is waited for is not held up by those who wait"
    await amy.unlock("dock", all=True)
    assert len((await waiting).paths) == 2


async def test_one_that_died_in_line_stands_in_nobodys_way(sit):
    amy, bob, carl = await sit.trio()
    await amy.lock("dock", "a", **HERE)
    dead = await dying(sit, amy, "a", "b")
    assert (await carl.lock("dock", "b", **HERE)).owner == "carl"
    assert sit.store.hget(KEYS.requests, dead) is None
    await dying(sit, amy, "a", "c")
    assert (await bob.lock("dock", "c", wait=5, **HERE)).owner == "bob"
    assert sit.store.zcard(KEYS.line) == sit.store.hlen(KEYS.asked) == 0


async def dying(sit, chat, *paths):
    """A request of one that is gone: it stood in line, and nobody is at its door any more."""
    place = (await chat.check("dock", *paths, **HERE)).repository
    repo = SimpleNamespace(key=place, digest=next(iter(sit.store.hgetall(KEYS.repos))), how="")
    request = f"{len(paths):031x}{sit.store.incr('dying') % 10}"
    call = calls.lock(Caller(KEYS, "dan"), "dock", repo, calls.Wanted(list(paths), request, lease_ms=1000), queue=True)
    doors = sit.store.pubsub()
    doors.ssubscribe(KEYS.door(request))
    assert call.read(sit.store.execute_command(*call.words(whole=True)))["queued"]
    doors.sunsubscribe()
    while doors.get_sharded_message(timeout=5)["type"] != "sunsubscribe":
        pass
    doors.close()
    return request


async def test_one_who_is_refused_while_it_waits_leaves_the_line(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)
    waiting = asyncio.ensure_future(bob.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 1)
    await amy.delete("dock", yes=True)
    await amy.open("gate")
    await amy.unlock("gate", all=True)
    with pytest.raises(PathLockChannelNotFound):
        await waiting
    assert sit.store.zcard(KEYS.line) == sit.store.hlen(KEYS.asked) == sit.store.hlen(HELD) == 0


async def test_time_that_runs_out_leaves_the_line_and_names_the_holder(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)
    with pytest.raises(TimedOut) as no:
        await bob.lock("dock", "a", wait=0.05, **HERE)
    assert (no.value.facts["holder"], no.value.exit) == ("Amy", 4)
    assert sit.store.zcard(KEYS.line) == sit.store.hlen(KEYS.requests) == sit.store.hlen(KEYS.asked) == 0


async def test_a_wait_that_is_given_up_leaves_the_line_and_nothing_locked(sit):
    if sit.kind != "aio":
        pytest.skip("a thread cannot be cancelled")
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)
    waiting = asyncio.ensure_future(bob.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert sit.store.zcard(KEYS.line) == 0
    await amy.unlock("dock", "a", **HERE)
    assert sit.store.hlen(HELD) == 0


async def test_a_lock_that_is_given_up_at_any_moment_is_held_by_nobody(sit):
    if sit.kind != "aio":
        pytest.skip("a thread cannot be cancelled")
    amy, bob = await sit.pair()
    for steps in range(1, 40):
        locking = asyncio.ensure_future(bob.lock("dock", "a", wait=20 if steps % 2 else None, **HERE))
        for _ in range(steps):
            await asyncio.sleep(0)
        locking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await locking
            await bob.unlock("dock", "a", **HERE)
        assert sit.store.hlen(HELD) == sit.store.zcard(KEYS.line) == sit.store.hlen(KEYS.locks) == 0, steps
    assert (await amy.lock("dock", "a", **HERE)).owner == "Amy"


async def test_any_number_of_what_ran_out_below_a_folder_is_taken_over_with_it(sit):
    amy, bob = await sit.pair()
    for n in range(5):
        await amy.lock("dock", *(f"a/{n}/{m}" for m in range(60)), **HERE)
    lapse(sit, "amy")
    assert len((await bob.lock("dock", "a", steal_expired=True, **HERE)).recovered) == 64
    assert [one.owner for one in (await amy.locks(**HERE)).locks] == ["bob"]
    assert len([one for one in await statuses(amy) if one == "path.lock.recovered"]) == 300


async def test_a_wait_takes_over_what_runs_out_meanwhile(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", ttl=0.2, **HERE)
    got = await bob.lock("dock", "a", wait=20, **HERE)
    assert (got.owner, got.recovered[0].previous_owner) == ("bob", "Amy")
    assert "path.lock.recovered" in await statuses(amy)


async def test_waits_that_would_never_end_are_refused_naming_the_circle(sit):
    amy, bob, carl = await sit.trio()
    for chat, path in ((amy, "a"), (bob, "b"), (carl, "c")):
        await chat.lock("dock", path, **HERE)
    waits = [asyncio.ensure_future(amy.lock("dock", "b", wait=20, **HERE))]
    await in_line(sit, 1)
    waits.append(asyncio.ensure_future(bob.lock("dock", "c", wait=20, **HERE)))
    await in_line(sit, 2)
    with pytest.raises(Deadlock) as no:
        await carl.lock("dock", "a", wait=20, **HERE)
    assert no.value.facts["circle"] == "carl waits for amy (lock a); amy waits for bob (lock b); bob waits for carl (lock c)"
    await carl.unlock("dock", "c", **HERE)
    await waits[1]
    await bob.unlock("dock", "b", **HERE)
    await waits[0]


async def test_a_circle_through_a_wait_for_somebodys_word_is_said_and_the_wait_goes_on(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)
    waiting = asyncio.ensure_future(bob.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 1)
    listening = asyncio.ensure_future(amy.wait("dock", sender="bob", timeout=20))
    await until(lambda: sit.store.hlen(KEYS.waits) == 1, "amy waits for bob")
    await bob.post("dock", "I wait for a, amy")
    got = await listening
    assert [note.circle for note in got.notes] == ["amy waits for bob (wait --from); bob waits for amy (lock a)"]
    assert [one.body for one in got.messages] == ["I wait for a, amy"]
    assert sit.store.hlen(KEYS.waits) == 0
    await amy.unlock("dock", all=True)
    await waiting


async def test_a_wait_for_a_task_whose_holder_waits_for_me_would_never_end(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)
    waiting = asyncio.ensure_future(bob.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 1)
    sit.store.hset(KEYS.leased, "dock t-1", "bob 99999999999999")
    call = calls.stand(Caller(KEYS, "amy"), "f" * 32, "task", "dock/T-1")
    circle = "amy waits for bob (task dock/t-1); bob waits for amy (lock a)"
    assert call.read(sit.store.execute_command(*call.words(whole=True))) == {"circle": circle, "hard": True}
    assert sit.store.hlen(KEYS.waits) == 0
    sit.store.hset(KEYS.leased, "dock t-1", "bob 1000")
    assert call.read(sit.store.execute_command(*call.words(whole=True))) == {"circle": None, "hard": False}
    await amy.unlock("dock", "a", **HERE)
    await waiting


async def test_a_wait_whose_process_is_gone_makes_no_circle(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)
    sit.store.hset(KEYS.waits, "f" * 32, "amy task dock/t-1")
    sit.store.hset(KEYS.leased, "dock t-1", "bob 99999999999999")
    waiting = asyncio.ensure_future(bob.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 1)
    assert sit.store.hlen(KEYS.waits) == 0
    await amy.unlock("dock", "a", **HERE)
    await waiting


async def test_a_holder_that_renews_is_never_robbed(sit):
    amy, bob = await sit.pair()
    first = await amy.lock("dock", "a", ttl=0.4, **HERE)
    waiting = asyncio.ensure_future(bob.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 1)
    ends = [first.expires_at]
    for _ in range(20):
        ends.append((await amy.renew("dock", "a", ttl=0.4, **HERE)).expires_at)
        with pytest.raises(PathLockConflict):
            await bob.lock("dock", "a", steal_expired=True, **HERE)
    assert ends == sorted(ends)
    assert not waiting.done()
    await amy.unlock("dock", "a", **HERE)
    assert (await waiting).recovered == []


async def test_what_is_offered_to_one_in_line_is_kept_for_it_until_the_offer_ends(sit):
    amy, bob = await sit.pair()
    lock = await amy.lock("dock", "a", **HERE)
    request, door = "c" * 32, sit.store.pubsub()
    door.ssubscribe(KEYS.door(request))
    repo = SimpleNamespace(key=lock.repository, digest=sit.store.hkeys(KEYS.repos)[0], how="")
    call = calls.lock(Caller(KEYS, "carl"), "dock", repo, calls.Wanted(["a"], request, lease_ms=1000), queue=True)
    assert call.read(sit.store.execute_command(*call.words(whole=True)))["queued"]
    lapse(sit, "amy")
    for verb in (bob.recover("dock", lock.lock_id, "gone"), bob.lock("dock", "a", **HERE), amy.renew("dock", "a", **HERE), amy.lock("dock", "a", **HERE)):
        with pytest.raises(PathLockConflict) as no:
            await verb
        assert no.value.facts["holder"] == "carl"
    assert {(one.holder, one.offered, one.lapsed) for one in (await bob.check("dock", "a", **HERE)).held} == {("Amy", False, True), ("carl", True, False)}
    assert [one.owner for one in (await bob.locks(**HERE)).locks] == ["Amy"]
    lapse(sit, "carl")
    assert [one.holder for one in (await bob.check("dock", "a", **HERE)).held] == ["Amy"]
    assert (await bob.recover("dock", lock.lock_id, "gone")).owner == "bob"
    assert len(sit.store.hget(HELD, sit.store.hkeys(HELD)[0]).split("\n")) == 1
    door.close()


async def test_the_line_has_an_end(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)
    doors = sit.store.pubsub()
    requests = [f"{n:032x}" for n in range(50)]
    doors.ssubscribe(*map(KEYS.door, requests))
    place = (await amy.check("dock", "a", **HERE)).repository
    repo = SimpleNamespace(key=place, digest=next(iter(sit.store.hgetall(KEYS.repos))), how="")
    for request in requests:
        call = calls.lock(Caller(KEYS, f"w{request}"), "dock", repo, calls.Wanted(["a"], request, lease_ms=1000), queue=True)
        assert call.read(sit.store.execute_command(*call.words(whole=True)))["queued"]
    with pytest.raises(PathLockLineFull):
        await bob.lock("dock", "a", wait=5, **HERE)
    await bob.lock("dock", "b", **HERE)
    doors.close()
    waiting = asyncio.ensure_future(bob.lock("dock", "a", wait=20, **HERE))
    await in_line(sit, 1)
    await amy.unlock("dock", "a", **HERE)
    assert (await waiting).owner == "bob"


async def test_an_owner_holds_two_thousand_locks_at_most(sit):
    amy, bob = await sit.pair()
    sit.store.zadd(KEYS.held_owners, {f"bob {n}": 0 for n in range(2000)})
    with pytest.raises(PathLockTooMany):
        await bob.lock("dock", "a", **HERE)
    await amy.lock("dock", "a", **HERE)


async def test_a_row_that_redischat_did_not_write_is_not_free_until_it_is_dropped(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "src/a.py", "src/b.py", **HERE)
    (path,) = (one for one in sit.store.hkeys(HELD) if one.endswith("a.py"))
    sit.store.hset(HELD, path, "whose is this")
    for asked in ("src/a.py", "src", "src/a.py/below"):
        with pytest.raises(PathLockInvalidRecord) as refused:
            await bob.lock("dock", asked, **HERE)
        with pytest.raises(PathLockInvalidRecord):
            await bob.check("dock", asked, **HERE)
        assert refused.value.facts["path"] == "src/a.py"
    assert sit.store.hget(HELD, path) == "whose is this"
    await bob.lock("dock", "docs", **HERE)
    assert (await bob.recover_pending("dock")).mended
    await bob.lock("dock", "src/a.py", **HERE)
    with pytest.raises(PathLockConflict):
        await bob.lock("dock", "src/b.py", **HERE)


async def test_the_check_names_whom_it_took_out_of_the_line(sit):
    amy, bob = await sit.pair()
    await amy.lock("dock", "a", **HERE)
    sit.store.hset(KEYS.requests, "f" * 32, "9 bob x Bob dock 1000\n\nx/a")
    sit.store.zadd(KEYS.line, {"f" * 32: 9})
    assert (await bob.recover_pending("dock")).struck == ["Bob"]
    assert (await bob.recover_pending("dock")).struck == []
    assert not sit.store.exists(KEYS.line, KEYS.requests, KEYS.asked)


async def test_a_counter_of_tokens_that_was_set_back_is_raised_above_every_lock(sit):
    amy, bob = await sit.pair()
    high = (await amy.lock("dock", "a", **HERE)).token
    sit.store.hset(KEYS.meta, "token", 0)
    assert (await bob.recover_pending("dock")).mended == {"locks": 1}
    assert (await bob.lock("dock", "b", **HERE)).token == high + 1


async def test_what_was_written_past_redischat_is_mended_from_the_locks_themselves(sit):
    amy, bob = await sit.pair()
    lock = await amy.lock("dock", "a", "b", **HERE)
    whole = [sit.store.zrange(key, 0, -1) for key in (KEYS.held_order, KEYS.held_owners)]
    sit.store.delete(KEYS.held_order, KEYS.locks)
    sit.store.zadd(KEYS.held_owners, {"ghost x": 0})
    sit.store.hset(KEYS.asked, "x", 3)
    sit.store.zadd(KEYS.line, {"nobody": 1})
    sit.store.hset(HELD, "junk", "not a lock")
    call = calls.repair(Caller(KEYS, "bob"), "dock")
    got = call.read(sit.store.execute_command(*call.words(whole=True)))
    assert (got["locks"], got["waiting"], got["dropped"]) == (1, 0, 2)
    assert got["mended"] > 0
    assert [sit.store.zrange(key, 0, -1) for key in (KEYS.held_order, KEYS.held_owners)] == whole
    assert call.read(sit.store.execute_command(*call.words(whole=True))) == {"locks": 1, "waiting": 0, "mended": 0, "dropped": 0, "struck": []}
    with pytest.raises(PathLockConflict):
        await bob.lock("dock", "b", **HERE)
    assert len((await amy.unlock("dock", lock.lock_id)).unlocked) == 2
