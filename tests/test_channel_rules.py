"""What a channel holds its members to: its cap, its mode, its briefing; and that a change asked for twice happens once."""

from __future__ import annotations

import asyncio

import pytest
from seats import bodies

from redischat.errors import BadText, CapUsed, ChannelClosed, NoChannel, NotConfirmed, NotMember, TooLarge

BRIEFING_MOST = 2_000


async def test_the_message_that_reaches_the_cap_is_the_last_one_in_and_a_warning_comes_before(sit):
    amy, bob = await sit.pair(max_messages=10)
    warned = [bool((await amy.post("dock", f"{n}", receipt=True)).warning) for n in range(10)]
    assert warned == [False] * 8 + [True] * 2
    with pytest.raises(ChannelClosed):
        await bob.post("dock", "eleven")
    assert bodies((await bob.history("dock")).messages) == [f"{n}" for n in range(10)]


async def test_many_at_once_never_pass_the_cap(sit):
    amy, bob = await sit.pair(max_messages=5)
    ends = await asyncio.gather(*(one.post("dock", "x") for one in (amy, bob) for _ in range(6)), return_exceptions=True)
    assert sorted(end.seq for end in ends if not isinstance(end, BaseException)) == [1, 2, 3, 4, 5]
    assert {type(end) for end in ends if isinstance(end, BaseException)} == {ChannelClosed}


async def test_a_full_channel_needs_a_larger_cap_and_an_open_one_takes_it_too(sit):
    amy, _ = await sit.pair(max_messages=2)
    await amy.post("dock", "one")
    await amy.post("dock", "two")
    for cap in (None, 1, 2):
        with pytest.raises(CapUsed) as no:
            await amy.reopen("dock", max_messages=cap)
        assert no.value.facts["used"] == 2
    assert (await amy.reopen("dock", max_messages=3)).how == "reopened"
    assert (await amy.reopen("dock", max_messages=9)).how == "raised"
    assert (await amy.reopen("dock", max_messages=0)).max_messages == 0
    assert not (await amy.post("dock", "three")).closed


async def test_a_mode_changes_both_ways_and_only_when_it_is_meant(sit):
    amy, bob = await sit.pair()
    with pytest.raises(NotConfirmed) as no:
        await amy.mode("dock", "broadcast")
    assert no.value.facts["members"] == 1
    assert (await amy.mode("dock", "broadcast", yes=True)).changed
    assert not (await amy.mode("dock", "broadcast")).changed
    assert (await amy.post("dock", "x")).audience == "none"
    assert (await bob.mode("dock", "ordinary", yes=True)).mode == "ordinary"
    assert (await amy.post("dock", "x")).audience == "all"
    notices = [one for one in (await amy.history("dock")).messages if one.kind == "notice"]
    assert [(one.sender, one.status, one.wakes) for one in notices] == [("Amy", "mode", "none"), ("bob", "mode", "none")]
    assert "redischat mode dock ordinary --yes" in notices[0].body


async def test_a_mode_is_refused_to_strangers_and_when_it_is_none(sit):
    amy, _ = await sit.pair()
    with pytest.raises(NotMember):
        await sit("carl").mode("dock", "broadcast", yes=True)
    with pytest.raises(BadText):
        await amy.mode("dock", "loud", yes=True)
    with pytest.raises(NoChannel):
        await amy.mode("kiln", "broadcast", yes=True)


async def test_a_briefing_is_read_set_and_replaced_by_members_with_its_writer(sit):
    amy, bob = await sit.pair()
    assert (await amy.briefing("dock")).briefing is None
    assert (await amy.briefing("dock", "be kind")).briefing_by == "Amy"
    assert (await bob.briefing("dock", "be quick")).briefing_by == "bob"
    rules = await amy.briefing("dock")
    assert (rules.briefing, rules.briefing_by, rules.briefing_at is not None) == ("be quick", "bob", True)
    carl = sit("carl")
    for verb in (carl.briefing("dock"), carl.briefing("dock", "mine")):
        with pytest.raises(NotMember):
            await verb
    assert (await carl.join("dock")).briefing == "be quick"


async def test_a_briefing_has_one_limit_wherever_it_is_set(sit):
    amy, _ = await sit.pair()
    await amy.briefing("dock", "x" * BRIEFING_MOST)
    for verb in (amy.briefing("dock", "y" * (BRIEFING_MOST + 1)), amy.open("kiln", briefing="y" * (BRIEFING_MOST + 1))):
        with pytest.raises(TooLarge):
            await verb
    assert (await amy.briefing("dock")).briefing == "x" * BRIEFING_MOST
    assert [one.channel for one in await amy.channels()] == ["dock"]


async def test_an_invitation_asks_to_verify_and_installs_nothing(sit):
    amy = sit("amy")
    await amy.open("dock", topic="boats\x1b[2J")
    invitation = await sit().invite("dock")
    assert (invitation.channel, invitation.topic) == ("dock", "boats\x1b[2J")
    assert "\x1b" not in invitation.invitation
    assert "redischat roster dock" in invitation.invitation
    await amy.open("bare")
    assert "about" not in (await amy.invite("bare")).invitation


async def test_a_change_that_is_asked_for_twice_under_one_key_happens_once(sit):
    amy, bob = await sit.pair()
    assert [(await bob.leave("dock", idem="k")).left for _ in range(2)] == [True, True]
    assert [(await amy.mode("dock", "broadcast", yes=True, idem="k")).changed for _ in range(2)] == [True, True]
    assert [(await amy.close("dock", "over", idem="k")).closed for _ in range(2)] == [True, True]
    assert [(await amy.reopen("dock", idem="k")).how for _ in range(2)] == ["reopened", "reopened"]
    assert [one.status for one in (await amy.history("dock")).messages] == ["left", "mode", "closed", "reopened"]
    assert [(await amy.open("kiln", idem="k")).new for _ in range(2)] == [True, True]


async def test_one_line_fields_are_held_to_one_line(sit):
    amy, _ = await sit.pair()
    for verb in (amy.open("kiln", topic="a\nb"), amy.close("dock", "a\nb"), amy.post("dock", "x", title="a\nb"), amy.post("dock", "x", thread="t\r")):
        with pytest.raises(BadText):
            await verb
    with pytest.raises(TooLarge):
        await amy.open("kiln", topic="x" * 501)
    assert [one.channel for one in await amy.channels()] == ["dock"]
