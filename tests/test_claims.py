"""Claims: a name is taken before it is acted on, and the first one has it."""

from __future__ import annotations

import asyncio
import time

import pytest

from redischat.errors import BadName, BadText, NoChannel, NoIdentity
from redischat.errors.claims import ClaimInvalidRecord, ClaimTaken, NotClaimed
from redischat.errors.leases import LeaseInvalidDuration
from redischat.keys import Keys

KEYS = Keys("default")
KEY = KEYS.channel("dock", "claims")


async def lapsed(chat, name):
    """Come back when the lease on a claim has run out by the server's clock."""
    end = time.monotonic() + 10
    while not next(one.lapsed for one in await chat.claims("dock") if one.name == name):
        assert time.monotonic() < end, f"the claim of {name} did not lapse"


async def test_the_first_one_has_it_and_the_others_are_told_who_and_since_when(sit):
    amy, bob = await sit.pair()
    mine = await amy.claim("dock", "task-12.md", note="the parser")
    assert (mine.how, mine.name, mine.owner, mine.lease_expires_at) == ("claimed", "task-12.md", "Amy", None)
    before = sit.everything()
    with pytest.raises(ClaimTaken) as no:
        await bob.claim("dock", "TASK-12.md", steal_expired=True)
    facts = no.value.facts
    assert (no.value.exit, facts["holder"], facts["lapsed"], facts["expires_at"]) == (3, "Amy", False, None)
    assert facts["claimed_at"] == mine.claimed_at.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    assert sit.everything() == before
    (one,) = await bob.claims("dock")
    assert (one.name, one.owner, one.note, one.token, one.lapsed) == ("task-12.md", "Amy", "the parser", mine.token, False)


async def test_the_same_one_again_is_told_so_and_leaves_nothing(sit):
    amy, _ = await sit.pair()
    first = await amy.claim("dock", "x")
    before = sit.everything()
    again = await sit("AMY").claim("dock", "X")
    assert (again.how, again.name, again.token, again.claimed_at) == ("renewed", "x", first.token, first.claimed_at)
    assert sit.everything() == before


async def test_one_of_many_at_once_has_it(sit):
    await sit.pair()
    many = [sit(f"p{n}") for n in range(8)]
    got = await asyncio.gather(*(one.claim("dock", "x") for one in many), return_exceptions=True)
    won = [one for one in got if not isinstance(one, BaseException)]
    lost = [one for one in got if isinstance(one, ClaimTaken)]
    assert (len(won), len(lost)) == (1, 7)
    assert {one.facts["holder"] for one in lost} == {won[0].owner}


async def test_a_claim_is_given_back_by_its_owner(sit):
    amy, bob = await sit.pair()
    await amy.claim("dock", "x")
    before = sit.everything()
    with pytest.raises(NotClaimed) as no:
        await bob.unclaim("dock", "x")
    assert no.value.facts["holder"] == "Amy"
    with pytest.raises(NotClaimed) as no:
        await amy.unclaim("dock", "y")
    assert not no.value.facts["holder"]
    assert sit.everything() == before
    assert (await amy.unclaim("dock", "X")).name == "x"
    assert (await bob.claim("dock", "x")).how == "claimed"


async def test_the_same_key_gives_back_once_and_one_claim_only(sit):
    amy, bob = await sit.pair()
    await amy.claim("dock", "x")
    await amy.claim("dock", "y")
    await amy.unclaim("dock", "x", idem="k")
    await bob.claim("dock", "x")
    assert (await amy.unclaim("dock", "x", idem="k")).name == "x"
    assert (await amy.unclaim("dock", "y", idem="k")).name == "y"
    assert [(one.name, one.owner) for one in await amy.claims("dock")] == [("x", "bob")]


async def test_a_lease_that_ran_out_stays_until_it_is_taken_over_on_purpose(sit):
    amy, bob = await sit.pair()
    first = await amy.claim("dock", "x", ttl=0.05)
    await lapsed(bob, "x")
    with pytest.raises(ClaimTaken) as no:
        await bob.claim("dock", "x")
    assert no.value.facts["lapsed"] is True
    got = await bob.claim("dock", "x", steal_expired=True)
    assert (got.how, got.previous_owner, got.lease_expires_at) == ("recovered", "Amy", None)
    assert got.token > first.token
    assert (await bob.history("dock", audits=True)).messages[-1].facts["previous_owner"] == "Amy"


async def test_its_owner_renews_it_also_late_and_keeps_its_token_and_note(sit):
    amy, _ = await sit.pair()
    first = await amy.claim("dock", "x", ttl=0.05, note="why")
    await lapsed(amy, "x")
    again = await amy.claim("dock", "x", ttl=60)
    assert (again.how, again.token, again.claimed_at) == ("renewed", first.token, first.claimed_at)
    (one,) = await amy.claims("dock")
    assert (one.lapsed, one.note) == (False, "why")


async def test_another_note_leaves_the_lease_as_it_is(sit):
    amy, _ = await sit.pair()
    first = await amy.claim("dock", "x", ttl=60, note="one")
    assert (await amy.claim("dock", "x", note="two")).lease_expires_at == first.lease_expires_at
    (one,) = await amy.claims("dock")
    assert (one.note, one.lease_expires_at) == ("two", first.lease_expires_at)


async def test_its_owner_comes_back_without_a_lease_and_has_it_for_good(sit):
    amy, _ = await sit.pair()
    await amy.claim("dock", "x", ttl=0.05)
    await lapsed(amy, "x")
    assert (await amy.claim("dock", "x")).lease_expires_at is None
    assert [one.lapsed for one in await amy.claims("dock")] == [False]


async def test_claiming_again_never_shortens(sit):
    amy, _ = await sit.pair()
    await amy.claim("dock", "x")
    assert (await amy.claim("dock", "x", ttl=1)).lease_expires_at is None, "it is for good"
    first = await amy.claim("dock", "y", ttl=600)
    assert (await amy.claim("dock", "y", ttl=1)).lease_expires_at == first.lease_expires_at


async def test_what_is_no_name_note_or_length_is_refused(sit):
    amy, _ = await sit.pair()
    before = sit.everything()
    for name in ("", "a/b", "../x", "x.", "all", ".hidden", "ñ", "a" * 65, "a b", "a\x1b[31m"):
        with pytest.raises(BadName):
            await amy.claim("dock", name)
    for note in ("a\nb", "\ud800"):
        with pytest.raises(BadText):
            await amy.claim("dock", "x", note=note)
    for ttl in (0, -1, float("nan")):
        with pytest.raises(LeaseInvalidDuration):
            await amy.claim("dock", "x", ttl=ttl)
    for verb in (amy.claim("nope", "x"), amy.unclaim("nope", "x"), amy.claims("nope")):
        with pytest.raises(NoChannel):
            await verb
    with pytest.raises(NoIdentity):
        await sit().claim("dock", "x")
    assert sit.everything() == before


async def test_names_with_dots_never_share_a_record(sit):
    """T15: in agent-chat ``T`` of ``x.y`` and ``T.x`` of ``y`` were one file."""
    await sit.pair()
    one, two = sit("x.y"), sit("y")
    await one.claim("dock", "T")
    await two.claim("dock", "T.x")
    assert [(found.name, found.owner) for found in await one.claims("dock")] == [("T", "x.y"), ("T.x", "y")]
    for chat, task in ((one, "T"), (two, "T.x")):
        await chat.task_create("dock", "x", task=task)
        await chat.task_claim("dock", task)
    assert (await one.task_done("dock", "T")).moved
    assert (await two.task_show("dock", "T.x")).owner == "y"


async def test_claims_need_no_membership_and_work_in_a_closed_channel(sit):
    amy, _ = await sit.pair()
    await amy.close("dock", "over")
    got = await sit("bobb").claim("dock", "x")
    assert "did you mean bob" in got.warning
    assert [one.owner for one in await sit().claims("dock")] == ["bobb"]


async def test_a_record_that_redischat_did_not_write_is_left_out_and_named_by_the_check(sit):
    amy, _ = await sit.pair()
    await amy.claim("dock", "x")
    sit.store.hset(KEY, mapping={"bad": "was here", "worse": ""})
    assert [one.name for one in await amy.claims("dock")] == ["x"]
    assert (await amy.task_recover_pending("dock")).damaged == ["claim bad", "claim worse"]


async def test_a_record_that_redischat_did_not_write_is_nobodys_to_take_or_to_give_back_but_on_purpose(sit):
    amy, bob = await sit.pair()
    for record in ("was here", "", "x bob"):
        sit.store.hset(KEY, "x", record)
        with pytest.raises(ClaimInvalidRecord) as refused:
            await amy.claim("dock", "x", ttl=60)
        with pytest.raises(ClaimInvalidRecord):
            await bob.unclaim("dock", "x")
        assert sit.store.hget(KEY, "x") == record
        assert str(refused.value).endswith("redischat claim dock x --steal-expired")
    got = await amy.claim("dock", "x", steal_expired=True)
    assert (got.how, got.owner, got.previous_owner) == ("recovered", "Amy", None)
    with pytest.raises(ClaimTaken):
        await bob.claim("dock", "x")


async def test_a_counter_that_was_set_back_is_raised_above_every_token_that_a_record_bears(sit):
    amy, bob = await sit.pair()
    high = (await amy.claim("dock", "x")).token
    sit.store.hset(KEYS.meta, "token", 0)
    assert (await bob.task_recover_pending("dock")).mended == {"token": 1}
    assert (await bob.claim("dock", "y")).token == high + 1
    assert (await bob.task_recover_pending("dock")).mended == {}
