"""Who speaks: names, the sessions that hold them, and what happens when two want one."""

from __future__ import annotations

import pytest
from seats import bodies

from redischat.errors import BadName, NameHeld, NoIdentity, NotMember, NotYou

WEEK = 7 * 24 * 3600
DAY = 25 * 3600
MINUTES = 180


async def test_a_name_that_nobody_holds_needs_no_registration(sit):
    amy = sit("Amy")
    await amy.open("dock")
    assert (await amy.post("dock", "hello")).sender == "Amy"


async def test_identify_binds_a_name_and_keeps_its_token_in_the_client(sit):
    amy = sit("Amy")
    bound = await amy.identify(session="one")
    assert (bound.agent, bound.how, bound.joined) == ("Amy", "new", [])
    assert bound.token not in repr(bound)
    await amy.open("dock")
    assert (await amy.post("dock", "still me")).seq == 1


async def test_a_name_that_somebody_holds_is_refused_to_everybody_else(sit):
    amy, bob = await sit.pair()
    await amy.identify(session="one")
    other = sit("amy")
    for verb in (other.post("dock", "not me"), other.read("dock"), other.ack("dock", 0), other.leave("dock"), other.close("dock", "because")):
        with pytest.raises(NotYou) as no:
            await verb
        assert (no.value.code, no.value.facts["agent"], no.value.facts["session"]) == ("NOT_YOU", "Amy", "one")
    assert bodies((await bob.history("dock")).messages) == []


async def test_a_token_that_is_given_proves_the_name(sit):
    amy, _ = await sit.pair()
    token = (await amy.identify(session="one")).token
    assert (await sit("amy", token=token).post("dock", "me as well")).sender == "Amy"


async def test_each_binding_draws_a_new_token_and_the_old_one_is_refused(sit):
    old, new = sit("amy"), sit("amy")
    await old.open("dock")
    await old.identify(session="one")
    assert (await new.identify(session="one")).how == "mine"
    with pytest.raises(NotYou):
        await old.post("dock", "from before")


async def test_identifying_twice_is_one_agent(sit):
    amy, _ = await sit.pair()
    first, second = await amy.identify(session="one"), await amy.identify(session="one")
    assert (first.agent, second.agent, second.how) == ("Amy", "Amy", "mine")
    assert [one.agent for one in (await amy.roster("dock")).roster] == ["Amy", "bob"]


async def test_the_same_idempotency_key_gives_the_same_token(sit):
    amy = sit("amy")
    first, second = await amy.identify(session="one", idem="k"), await amy.identify(session="one", idem="k")
    assert first.token == second.token
    await amy.open("dock")


async def test_a_held_name_is_refused_to_another_session_which_is_told_whose_it_is(sit):
    await sit("amy").identify(session="one")
    with pytest.raises(NameHeld) as no:
        await sit("amy").identify(session="two")
    assert (no.value.code, no.value.facts["session"]) == ("NAME_HELD", "one")
    with pytest.raises(NameHeld):
        await sit("amy").identify(session="two", take_over=True)  # seen just now


async def test_a_quiet_holder_is_taken_over_and_its_channels_are_told(sit):
    old, bob = await sit.pair()
    await old.identify(session="one")
    sit.unseen_for("amy", MINUTES)
    new = sit("amy")
    bound = await new.identify(session="two", take_over=True)
    assert (bound.how, bound.old_session) == ("taken_over", "one")
    with pytest.raises(NotYou) as no:
        await old.post("dock", "I am back")
    assert no.value.facts["session"] == "two"
    told = (await bob.read("dock")).messages
    assert [(one.kind, one.status, one.wakes) for one in told] == [("notice", "taken_over", "none")]


async def test_a_live_holder_is_taken_over_by_force_only(sit):
    await sit("amy").identify(session="one")
    assert (await sit("amy").identify(session="two", take_over=True, force=True, reason="it hangs")).how == "taken_over"


async def test_a_long_gone_session_is_succeeded_without_a_question(sit):
    await sit("amy").identify(session="one")
    sit.unseen_for("amy", DAY)
    assert (await sit("amy").identify(session="two")).how == "succeeded"


async def test_the_same_path_on_another_host_is_another_place(sit, monkeypatch):
    """All containers have their project at one path: a name that is gone there does not pass on silently."""
    await sit("amy").identify(session="one")
    sit.unseen_for("amy", DAY)
    for api in ("aio", "sync"):
        monkeypatch.setattr(f"redischat.{api}.agents.host", lambda: "elsewhere")
    with pytest.raises(NameHeld):
        await sit("amy").identify(session="two")
    assert (await sit("amy").identify(session="two", take_over=True)).how == "taken_over"


async def test_a_holder_that_was_away_for_a_week_goes_on_without_fuss(sit):
    amy, _ = await sit.pair()
    await amy.identify(session="one")
    sit.unseen_for("amy", WEEK)
    assert (await amy.post("dock", "good morning")).sender == "Amy"
    assert (await amy.whoami()).seen is not None


async def test_names_are_compared_without_case_and_shown_as_first_written(sit):
    await sit.pair()
    loud = sit("AMY")
    assert (await loud.post("DOCK", "it is me")).sender == "Amy"
    assert [one.agent for one in (await loud.roster("Dock")).roster] == ["Amy", "bob"]


@pytest.mark.parametrize(
    "name", ["", "a b", "x.", "-rf", "../../x", "a/b", "a:b", "a*", "{x}", "é", "a\nb", "x" * 65, "all", "None", "everyone", "tool", "redischat", "\ud83d"]
)
async def test_a_bad_name_is_refused_with_the_rule_and_never_swapped_for_another(sit, name):
    amy = sit("amy")
    await amy.open("dock")
    attempts = [amy.open("dock", members=[name]), amy.post("dock", "x", to=[name])]
    if name:
        attempts += [amy.identify(name), amy.open(name)]
    for attempt in attempts:
        with pytest.raises(BadName) as no:
            await attempt
        assert no.value.code == "BAD_NAME"
    assert [one.channel for one in await amy.channels()] == ["dock"]


async def test_who_acts_must_be_somebody_and_who_looks_need_not(sit):
    await sit.pair()
    nobody = sit()
    assert nobody.agent is None
    acts = (
        nobody.join("dock"), nobody.post("dock", "x"), nobody.read("dock"), nobody.ack("dock", 1), nobody.pending(), nobody.owed(), nobody.wait("dock"),
        nobody.leave("dock"), nobody.close("dock", "x"), nobody.reopen("dock"), nobody.delete("dock"), nobody.sync(), nobody.identify(),
        nobody.mode("dock", "broadcast"), nobody.briefing("dock"), nobody.retain("dock", 1),
    )  # fmt: skip
    for act in acts:
        with pytest.raises(NoIdentity):
            await act
    assert [one.channel for one in await nobody.channels()] == ["dock"]
    assert (await nobody.roster("dock")).channel == (await nobody.peek("dock")).channel == (await nobody.invite("dock")).channel == "dock"
    assert (await nobody.history("dock")).messages == []
    assert (await nobody.open("kiln", members="amy")).joined == "no"


async def test_two_agents_of_one_program_share_nothing(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    assert bodies(await bob.read("dock")) == ["one"]
    await amy.open("kiln")
    with pytest.raises(NotMember):
        await bob.read("kiln")


async def test_workspaces_keep_channels_and_names_apart(sit):
    here, there = sit("amy"), sit("amy", workspace="Elsewhere")
    await here.open("dock", topic="here")
    await there.open("dock", topic="there")
    await here.identify(session="one")
    assert (await there.post("dock", "another amy")).seq == 1
    assert ((await here.roster("dock")).topic, (await there.roster("dock")).topic) == ("here", "there")
    assert await here.workspaces() == ["default", "elsewhere"]


async def test_whoami_says_who_where_and_who_holds_the_name(sit):
    amy = sit("amy")
    before = await amy.whoami()
    assert (before.agent, before.workspace, before.held, before.holder, before.token) == ("amy", "default", False, None, False)
    await amy.identify(session="one")
    after = await amy.whoami()
    assert (after.held, after.holder, after.token) == (True, "one", True)
    assert after.seen.utcoffset().total_seconds() == 0


async def test_identifying_joins_the_open_broadcast_channels_at_their_end(sit):
    amy = sit("amy")
    await amy.open("News", broadcast=True)
    await amy.post("news", "from before")
    await amy.open("old", broadcast=True)
    await amy.close("old", "over")
    await amy.open("talk")
    bob = sit("bob")
    assert (await bob.identify(session="b")).joined == ["News"]
    assert (await bob.identify(session="b")).joined == []
    assert (await bob.read("news")).messages == []
    with pytest.raises(NotMember):
        await bob.read("talk")


async def test_sync_joins_what_became_broadcast_since_and_nothing_twice(sit):
    amy, bob = sit("amy"), sit("bob")
    await amy.open("dock")
    await bob.identify(session="b")
    assert await bob.sync() == []
    await amy.mode("dock", "broadcast", yes=True)
    assert await bob.sync() == ["dock"]
    assert await bob.sync() == []
