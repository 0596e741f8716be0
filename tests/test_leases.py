"""Leases: who holds a task until when, who may end it, and how one that ran out passes on: by name, never silently."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest
from cli import serving
from seats import until

from redischat.errors import ChannelDamaged, KeyReused
from redischat.errors.broker import Unreachable
from redischat.errors.leases import (
    LeaseConflict,
    LeaseInvalidDuration,
    LeaseMutationRequired,
    LeaseNotExpired,
    LeaseNotFound,
    LeaseOwnerMismatch,
    LeaseRecoveryRequired,
    LeaseStaleToken,
)
from redischat.errors.tasks import NothingReady, TaskDependencyNotReady

BOARD = "rc1:{default}:ch:dock:"
SHORT_S = 0.1


async def seated_at_work(sit, *ids, ttl=60):
    """Amy looks on; bob holds these tasks (A when none is named)."""
    amy, bob = await sit.pair()
    for one in ids or ("A",):
        await amy.task_create("dock", "x", task=one)
        await bob.task_claim("dock", one, ttl=ttl)
    return amy, bob


async def stale(chat):
    return [one.id for one in await chat.task_list("dock", stale=True)]


async def lapses(chat, *ids):
    """Come back when the leases of these have run out by the server's clock."""
    end = time.monotonic() + 10
    while await stale(chat) != list(ids):
        assert time.monotonic() < end, f"{ids} did not lapse"


async def audits(chat, status):
    return [one for one in (await chat.history("dock", audits=True)).messages if one.kind == "audit" and one.status == status]


async def test_a_lease_lasts_as_long_as_was_asked_by_the_servers_clock(sit):
    """TIME-01: no clock of a caller is asked."""
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    for ttl in (60, 60.05, 300, 31_000_000):
        seconds, micros = sit.store.time()
        lease = await bob.task_claim("dock", "A", ttl=ttl)
        left = lease.lease_expires_at - datetime.fromtimestamp(seconds + micros / 1e6, UTC)
        assert timedelta(seconds=ttl - 0.002) < left < timedelta(seconds=ttl + 5)
    assert lease.how == "renewed"


@pytest.mark.real
@pytest.mark.parametrize("wrong_s", [-300, 300])
async def test_a_caller_with_a_wrong_clock_gets_the_same_lease_as_everybody(seated, real, monkeypatch, wrong_s):
    """TIME-01: five minutes ahead or behind, nothing is lost early and nothing is taken late."""
    sit = seated(real.url)
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    seconds, clock = sit.store.time()[0], time.time
    monkeypatch.setattr(time, "time", lambda: clock() + wrong_s)
    lease = await bob.task_claim("dock", "A", ttl=60)
    assert abs(lease.lease_expires_at.timestamp() - seconds - 60) < 5
    assert not (await bob.task_show("dock", "A")).stale
    with pytest.raises(LeaseNotExpired):
        await amy.task_recover("dock", "A", "x")
    assert (await bob.task_renew("dock", "A")).late_ms is None


async def test_the_first_one_holds_it_and_others_are_told_who_and_until_when(sit):
    """LEASE-01."""
    amy, bob = await seated_at_work(sit)
    before = sit.everything()
    with pytest.raises(LeaseConflict) as no:
        await amy.task_claim("dock", "A", steal_expired=True)
    assert (no.value.facts["holder"], no.value.facts["assigned"]) == ("bob", False)
    assert no.value.facts["expires_at"] == (await bob.task_show("dock", "A")).lease_expires_at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    assert sit.everything() == before


async def test_the_holder_claiming_again_renews_and_keeps_its_token(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    first = await bob.task_claim("dock", "A", ttl=10)
    again = await bob.task_claim("dock", "A", ttl=60)
    assert (again.how, again.token, again.attempt) == ("renewed", first.token, 1)
    assert again.lease_expires_at > first.lease_expires_at
    assert (await bob.task_renew("dock", "A", ttl=1)).lease_expires_at < again.lease_expires_at, "a renewal may shorten"


async def test_claiming_again_never_shortens(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    first = await bob.task_claim("dock", "A", ttl=600)
    assert (await bob.task_claim("dock", "A", ttl=1)).lease_expires_at == first.lease_expires_at


async def test_a_key_that_comes_again_with_another_request_is_refused(sit):
    """Or the second one would be lost, and called done."""
    amy, _ = await sit.pair()
    await amy.task_create("dock", "one", task="A", idem="k")
    assert (await amy.task_create("dock", "one", task="A", idem="k")).id == "A"
    await amy.task_update("dock", "A", title="two", idem="u")
    await amy.lock("dock", "a", "b", repo="/boat")
    await amy.unlock("dock", "a", repo="/boat", idem="l")
    before = sit.everything()
    for refused in (
        lambda: amy.task_create("dock", "other", task="A", idem="k"),
        lambda: amy.task_update("dock", "A", title="three", idem="u"),
        lambda: amy.unlock("dock", "b", repo="/boat", idem="l"),
    ):
        with pytest.raises(KeyReused):
            await refused()
    assert sit.everything() == before


async def test_the_next_task_of_one_that_is_late_is_its_own_under_its_own_token(sit):
    _, bob = await seated_at_work(sit, ttl=0.001)
    token = (await bob.task_show("dock", "A")).token
    await lapses(bob, "A")
    again = await bob.task_next("dock", claim=True)
    assert (again.how, again.token, again.attempt) == ("renewed", token, 1)


async def test_why_it_was_blocked_is_over_once_it_is_claimed(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    await amy.task_block("dock", "A", reason="no rights")
    await bob.task_claim("dock", "A")
    assert (await bob.task_show("dock", "A")).reason is None


async def test_a_task_that_is_held_is_offered_to_nobody(sit):
    """LEASE-02: renewed for ten lengths, it is never open, ready, stale or next."""
    amy, bob = await seated_at_work(sit, ttl=SHORT_S)
    end = asyncio.get_running_loop().time() + 10 * SHORT_S
    while asyncio.get_running_loop().time() < end:
        await bob.task_renew("dock", "A", ttl=5)
        assert await amy.task_list("dock", ready=True) == await amy.task_list("dock", status="open") == await amy.task_list("dock", stale=True) == []
        with pytest.raises(NothingReady):
            await amy.task_next("dock", claim=True)
        assert (await amy.task_recover_pending("dock")).mended == {}
    assert (await amy.task_show("dock", "A")).owner == "bob"


async def test_only_the_holder_renews_releases_ends_or_changes_it(sit):
    amy, bob = await seated_at_work(sit)
    before = sit.everything()
    for verb in (
        amy.task_renew("dock", "A"), amy.task_done("dock", "A"), amy.task_release("dock", "A"), amy.task_block("dock", "A"), amy.task_cancel("dock", "A", "x"),
        amy.task_update("dock", "A", title="y"),
    ):  # fmt: skip
        with pytest.raises(LeaseOwnerMismatch) as no:
            await verb
        assert no.value.facts["holder"] == "bob"
    assert sit.everything() == before
    assert (await bob.task_update("dock", "A", title="y")).changed == ["title"]


async def test_the_holder_changes_status_and_owner_by_the_verbs_of_leases_alone(sit):
    amy, bob = await seated_at_work(sit)
    before = sit.everything()
    for verb in (
        bob.task_update("dock", "A", status="done"), bob.task_update("dock", "A", status="in_progress"), bob.task_update("dock", "A", owner="amy"),
        bob.task_update("dock", "A", clear_owner=True, title="y"), bob.task_block("dock", "A"),
    ):  # fmt: skip
        with pytest.raises(LeaseMutationRequired):
            await verb
    assert sit.everything() == before
    assert (await bob.task_cancel("dock", "A", "not needed")).status == "cancelled"
    assert (await amy.task_show("dock", "A")).lease_expires_at is None


async def test_an_end_frees_the_task_and_every_index_of_its_lease(sit):
    amy, bob = await seated_at_work(sit, "A", "B", "C")
    await bob.task_done("dock", "A")
    await bob.task_release("dock", "B")
    await bob.task_cancel("dock", "C", "x")
    assert [(one.status, one.owner, one.lease_expires_at) for one in await amy.task_list("dock")] == [
        ("done", None, None), ("open", None, None), ("cancelled", None, None),
    ]  # fmt: skip
    assert sit.store.zcard(BOARD + "leases") == sit.store.hlen("rc1:{default}:leased") == 0
    assert (await amy.task_recover_pending("dock")).mended == {}


async def test_an_old_token_is_refused(sit):
    amy, bob = await seated_at_work(sit)
    old = (await bob.task_show("dock", "A")).token
    sit.run_out("A")
    new = (await amy.task_recover("dock", "A", "bob is gone")).token
    assert new > old
    before = sit.everything()
    for verb in (
        bob.task_done("dock", "A", token=old), bob.task_renew("dock", "A", token=old), bob.task_release("dock", "A", token=old),
        amy.task_done("dock", "A", token=old), amy.task_done("dock", "A", token=new + 1),
    ):  # fmt: skip
        with pytest.raises(LeaseStaleToken) as no:
            await verb
        assert (no.value.facts["current"], no.value.facts["holder"]) == (new, "Amy")
    assert sit.everything() == before
    await amy.task_done("dock", "A", token=new)
    with pytest.raises(LeaseStaleToken) as no:
        await bob.task_release("dock", "A", token=old)
    assert not no.value.facts["holder"], "nobody holds it any more"


async def test_tokens_rise_over_all_tasks_claims_and_channels(sit):
    amy, bob = await sit.pair()
    await amy.open("quay")
    for channel in ("dock", "quay"):
        for one in ("A", "B"):
            await amy.task_create(channel, "x", task=one)
    found = [
        (await bob.task_claim("dock", "A")).token, (await amy.task_claim("quay", "A")).token, (await amy.claim("dock", "x")).token,
        (await bob.task_next("dock", claim=True)).token,
    ]  # fmt: skip
    await bob.task_release("dock", "A")
    found.append((await bob.task_claim("dock", "A")).token)
    sit.run_out("A")
    found.append((await amy.task_recover("dock", "A", "x")).token)
    assert found == sorted(set(found))


async def test_a_lease_that_ran_out_is_stolen_by_nobody(sit):
    amy, bob = await seated_at_work(sit, ttl=SHORT_S)
    await lapses(amy, "A")
    before = sit.everything()
    for verb in (
        amy.task_claim("dock", "A"), amy.task_renew("dock", "A"), amy.task_done("dock", "A"), amy.task_release("dock", "A"), amy.task_block("dock", "A"),
        amy.task_cancel("dock", "A", "x"), amy.task_update("dock", "A", title="y"),
    ):  # fmt: skip
        with pytest.raises(LeaseRecoveryRequired) as no:
            await verb
        assert no.value.facts["holder"] == "bob"
    assert sit.everything() == before
    assert (await bob.task_show("dock", "A")).stale


async def test_a_recovery_records_whose_it_was_until_when_and_why(sit):
    amy, bob = await seated_at_work(sit)
    was = await amy.task_show("dock", "A")
    with pytest.raises(LeaseNotExpired) as no:
        await amy.task_recover("dock", "A", "too early")
    assert no.value.facts["holder"] == "bob"
    sit.run_out("A")
    ended = (await amy.task_show("dock", "A")).lease_expires_at
    lease = await amy.task_recover("dock", "A", "session is gone", ttl=60)
    assert (lease.how, lease.previous_owner, lease.previous_lease_expires_at, lease.attempt) == ("recovered", "bob", ended, 2)
    assert lease.token > was.token
    (audit,) = await audits(amy, "lease.recovered")
    assert (audit.facts["previous_owner"], audit.facts["recovery_reason"]) == ("bob", "session is gone")
    assert datetime.fromisoformat(audit.facts["previous_lease_expires_at"]) == ended
    one = await bob.task_show("dock", "A")
    assert (one.owner, one.previous_owner, one.previous_lease_expires_at, one.reason, one.stale) == ("Amy", "bob", ended, "session is gone", False)
    with pytest.raises(LeaseOwnerMismatch):
        await bob.task_done("dock", "A")


async def test_there_is_nothing_to_renew_or_recover_where_nobody_holds_it(sit):
    amy, _ = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    before = sit.everything()
    for verb in (amy.task_renew("dock", "A"), amy.task_recover("dock", "A", "x")):
        with pytest.raises(LeaseNotFound):
            await verb
    assert sit.everything() == before


@pytest.mark.parametrize("verb", ["claim", "renew", "done", "release", "cancel", "update", "recover"])
async def test_the_holder_may_come_back_late_as_long_as_nobody_recovered_it(sit, verb):
    amy, bob = await seated_at_work(sit)
    token = (await amy.task_show("dock", "A")).token
    sit.run_out("A", ago_s=2)
    more = {"cancel": ("x",), "recover": ("it is mine",)}.get(verb, ())
    got = await getattr(bob, "task_" + verb)("dock", "A", *more, **({"title": "y"} if verb == "update" else {}))
    if verb in ("claim", "renew"):
        assert (got.how, got.token, got.attempt) == ("renewed", token, 1)
    if verb == "recover":
        assert (got.how, got.attempt, got.previous_owner) == ("recovered", 1, "bob")
    if verb not in ("update", "recover"):
        assert 2_000 <= got.late_ms < 60_000
    assert (await amy.task_recover_pending("dock")).mended == {}


async def test_a_lease_taken_by_steal_expired_is_a_recovery(sit):
    amy, bob = await seated_at_work(sit)
    sit.run_out("A")
    got = await amy.task_claim("dock", "A", steal_expired=True)
    assert (got.how, got.previous_owner, got.attempt) == ("recovered", "bob", 2)
    assert len(await audits(bob, "lease.recovered")) == 1


async def test_a_crashed_holders_task_goes_to_the_next_one_as_a_second_attempt(sit):
    """LEASE-13."""
    amy, _ = await seated_at_work(sit, ttl=SHORT_S)
    await amy.task_create("dock", "x", task="Z", priority=4)
    await lapses(amy, "A")
    assert (await amy.task_next("dock")).id == "A", "what was begun is older"
    got = await amy.task_next("dock", claim=True)
    assert (got.id, got.how, got.previous_owner, got.attempt) == ("A", "recovered", "bob", 2)
    assert [one.facts["previous_owner"] for one in await audits(amy, "lease.recovered")] == ["bob"]


async def test_a_lapse_is_noticed_by_the_next_look_and_leaves_one_audit(sit):
    """LEASE-06: silence becomes visible within one length, once."""
    amy, bob = await seated_at_work(sit, ttl=SHORT_S)
    await lapses(amy, "A")
    for look in (amy.task_list("dock"), bob.task_show("dock", "A"), sit().task_list("dock")):
        await look
    (told,) = await audits(amy, "lease.lapsed")
    assert (told.sender, told.facts["task"], told.facts["owner"]) == ("bob", "A", "bob")
    await bob.task_renew("dock", "A", ttl=SHORT_S)
    await lapses(amy, "A")
    await amy.task_list("dock")
    assert len(await audits(amy, "lease.lapsed")) == 2, "another lapse is another audit"


async def test_a_held_task_is_not_finished_while_it_waits_for_something(sit):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "x", task="A")
    await amy.task_create("dock", "x", task="B", depends_on="A")
    await amy.task_claim("dock", "A")
    await amy.task_done("dock", "A")
    await bob.task_claim("dock", "B")
    await amy.task_reopen("dock", "A", "wrong")
    before = sit.everything()
    with pytest.raises(TaskDependencyNotReady):
        await bob.task_done("dock", "B")
    assert sit.everything() == before
    sit.run_out("B")
    assert (await amy.task_next("dock")).id == "A", "B could not be ended by whoever took it"
    assert (await bob.task_release("dock", "B")).status == "open"
    assert [one.id for one in await amy.task_list("dock", ready=True)] == ["A"]


@pytest.mark.parametrize("ttl", [0, -1, float("nan"), float("inf"), 10**12, True, "60", None])
async def test_a_length_that_cannot_be_is_refused_before_anything_is_sent(sit, ttl):
    amy, _ = await seated_at_work(sit)
    before = sit.everything()
    for verb in ("task_claim", "task_renew", "task_next"):
        with pytest.raises(LeaseInvalidDuration):
            await getattr(amy, verb)("dock", *(["A"] if verb != "task_next" else []), ttl=ttl)
    with pytest.raises(LeaseInvalidDuration):
        await amy.task_recover("dock", "A", "x", ttl=ttl)
    assert sit.everything() == before


async def test_less_than_a_millisecond_is_one(sit):
    amy, bob = await seated_at_work(sit, ttl=0.000_01)
    await lapses(amy, "A")
    assert (await bob.task_renew("dock", "A", ttl=0.000_01)).late_ms is not None


@pytest.mark.parametrize("last", ["1-1", "18446744073709551615-18446744073709551615"])
async def test_a_board_is_read_where_its_audits_cannot_be_written(sit, last):
    amy, bob = await seated_at_work(sit, ttl=SHORT_S)
    await lapses(amy, "A")
    sit.run_out("A")  # and is unnoticed again
    sit.store.xadd(BOARD + "audits", {"x": "y"}, id=last)
    before = sit.everything()
    assert [one.stale for one in await amy.task_list("dock")] == [True]
    for verb in (bob.task_done("dock", "A"), amy.task_recover("dock", "A", "x"), amy.task_create("dock", "y"), amy.claim("dock", "x")):
        with pytest.raises(ChannelDamaged):
            await verb
    assert sit.everything() == before


@pytest.mark.real
@pytest.mark.usefixtures("impatient")
async def test_a_holder_that_could_not_reach_the_broker_for_a_while_keeps_its_task(seated):
    """LEASE-05: a renewal that failed says nothing about who holds it. After a real lapse it is said, and re-taken only if nobody has it."""
    with serving() as server:
        sit = seated(server.url)
        amy, bob = await seated_at_work(sit, "A", "B", ttl=60)
        bob_far = seated("unix://" + server.home + "/nowhere")("bob")
        with pytest.raises(Unreachable):
            await bob_far.task_renew("dock", "A")
        renewed = await bob.task_renew("dock", "A", ttl=60)
        assert (renewed.how, renewed.late_ms) == ("renewed", None)
        sit.run_out("A")
        sit.run_out("B")
        await amy.task_recover("dock", "B", "bob is silent")
        assert (await bob.task_renew("dock", "A")).late_ms >= 1_000
        with pytest.raises(LeaseOwnerMismatch):
            await bob.task_renew("dock", "B")


@pytest.mark.real
async def test_leases_that_lapse_while_many_look_are_noticed_once(seated, real):
    sit = seated(real.url)
    amy, _ = await seated_at_work(sit, *[f"A{n}" for n in range(20)], ttl=SHORT_S)
    await until(lambda: sit.store.zcount(BOARD + "leases", 1, int(sit.store.time()[0]) * 1000 - 1) == 20, "all ran out")
    await asyncio.gather(*(sit(f"p{n}").task_list("dock") for n in range(8)))
    assert len(await audits(amy, "lease.lapsed")) == 20
