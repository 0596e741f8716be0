"""Where is spoken: opening, joining, leaving, closing, and what a channel tells of itself."""

from __future__ import annotations

import pytest
from seats import bodies

from redischat.errors import BadText, ChannelClosed, ChannelDamaged, NoChannel, NotMember


async def test_whoever_comes_first_creates_a_channel_and_later_ones_join_it(sit):
    amy, bob = sit("amy"), sit("bob")
    first = await amy.open("dock", topic="boats")
    assert (first.new, first.joined, first.members, first.topic) == (True, "new", ["amy"], "boats")
    second = await bob.join("dock")
    assert (second.new, second.joined, second.members) == (False, "new", ["amy", "bob"])
    assert (await bob.join("dock")).joined == "already"


async def test_joining_a_channel_that_is_not_there_creates_it_and_names_what_was_probably_meant(sit):
    amy, bob = sit("amy"), sit("bob")
    await amy.open("dock")
    strayed = await bob.join("dokc")
    assert (strayed.new, strayed.members, strayed.nearest) == (True, ["bob"], "dock")


async def test_a_mistyped_channel_is_refused_with_the_nearest_name_and_not_created(sit):
    amy, _ = await sit.pair()
    for verb in (amy.post("dcok", "x"), amy.read("dcok"), amy.leave("dcok"), amy.roster("dcok"), amy.close("dcok", "x"), amy.history("dcok"), amy.wait("dcok")):
        with pytest.raises(NoChannel) as no:
            await verb
        assert (no.value.code, no.value.facts["nearest"]) == ("NO_CHANNEL", "dock")
    assert [one.channel for one in await amy.channels()] == ["dock"]


async def test_names_that_differ_in_case_or_a_hash_are_one_channel(sit):
    amy = sit("amy")
    await amy.open("Dock")
    assert not (await amy.open("dOCK")).new
    assert (await amy.post("#dock", "x")).channel == "Dock"


async def test_members_named_at_creation_find_everything_from_the_start(sit):
    amy = sit("amy")
    await amy.open("dock", members=["bob", "carl"])
    await amy.post("dock", "before bob ever came")
    assert bodies(await sit("bob").read("dock")) == ["before bob ever came"]


async def test_members_may_be_listed_in_one_text(sit):
    assert (await sit("amy").open("dock", members="bob, carl,bob")).members == ["amy", "bob", "carl"]


async def test_a_joiner_starts_at_the_end_and_is_told_how_much_came_before(sit):
    amy, bob = sit("amy"), sit("bob")
    await amy.open("dock")
    for n in range(3):
        await amy.post("dock", f"{n}")
    came = await bob.join("dock")
    assert (came.before, came.unread) == (3, 0)
    assert (await bob.read("dock")).messages == []
    await amy.post("dock", "bob?", to="bob")
    assert bodies(await bob.read("dock")) == ["bob?"]


@pytest.mark.parametrize(("since", "seen"), [(0, ["0", "1", "2"]), (1, ["0", "1", "2"]), (3, ["2"]), (9, [])])
async def test_a_joiner_may_start_at_any_message(sit, since, seen):
    amy, bob = sit("amy"), sit("bob")
    await amy.open("dock")
    for n in range(3):
        await amy.post("dock", f"{n}")
    await bob.join("dock", since=since)
    assert bodies(await bob.read("dock")) == seen


async def test_whoever_comes_back_finds_its_marks_where_they_were(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    await bob.read("dock")
    await bob.leave("dock")
    await amy.post("dock", "two")
    assert (await bob.join("dock")).joined == "again"
    assert bodies(await bob.read("dock")) == ["two"]
    assert (await bob.roster("dock")).done == []


async def test_whoever_comes_back_is_told_what_may_have_been_shown_before(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    take = bob.take("dock")
    await take.__aenter__()  # and is never heard of again
    await sit("bob").leave("dock")
    await bob.join("dock")
    assert [(one.body, one.repeat) for one in await bob.read("dock") if one.kind == "message"] == [("one", True)]
    await take.__aexit__(None, None, None)


async def test_leaving_with_mail_makes_nothing_of_it_unreachable(sit):
    amy, bob = await sit.pair()
    for n in range(8):
        await amy.post("dock", f"{n}")
    take = bob.take("dock", limit=3)
    await take.__aenter__()  # three in hand, five unread
    await sit("bob").leave("dock")
    await take.__aexit__(None, None, None)  # an ack after leaving makes nobody a member again
    await bob.join("dock")
    assert bodies([one for one in await bob.read("dock") if one.kind == "message"]) == [f"{n}" for n in range(8)]


async def test_what_a_later_one_wants_otherwise_is_ignored_and_named(sit):
    amy, bob = sit("amy"), sit("bob")
    await amy.open("dock", topic="boats", briefing="be kind", max_messages=10)
    other = await bob.open("dock", topic="cars", briefing="be quick", max_messages=20, broadcast=True, members="carl")
    assert (other.topic, other.briefing, other.max_messages, other.broadcast) == ("boats", "be kind", 10, False)
    assert sorted(other.ignored) == ["briefing", "broadcast", "max_messages", "members", "topic"]
    assert (await bob.open("dock", topic="boats", briefing="be kind", max_messages=10)).ignored == []


async def test_a_missing_topic_and_briefing_are_filled_by_a_later_one(sit):
    amy, bob = sit("amy"), sit("bob")
    await amy.open("dock")
    filled = await bob.join("dock", topic="boats", briefing="be kind")
    assert (filled.topic, filled.briefing, filled.briefing_by, filled.ignored) == ("boats", "be kind", "bob", [])


async def test_a_listing_tells_what_a_program_decides_with(sit):
    amy = sit("amy")
    assert await amy.channels() == []
    await amy.open("dock", topic="boats", max_messages=7)
    await amy.post("dock", "one")
    await amy.open("old")
    await amy.close("old", "over")
    await sit().open("empty")
    dock, empty, old = await amy.channels()
    assert (dock.channel, dock.topic, dock.members, dock.messages, dock.last_seq, dock.max_messages) == ("dock", "boats", ["amy"], 1, 1, 7)
    assert (dock.closed, dock.broadcast, dock.joinable, dock.closed_reason) == (False, False, True, None)
    assert (empty.members, empty.topic) == ([], None)
    assert (old.closed, old.closed_reason, old.joinable) == (True, "over", False)
    assert dock.model_dump(by_alias=True)["created_by"] == "amy"


async def test_a_roster_tells_members_and_who_is_done(sit):
    amy, bob = await sit.pair()
    await bob.post("dock", "here")
    await bob.leave("dock")
    roster = await amy.roster("dock")
    assert (roster.members, roster.done) == (["Amy"], ["bob"])
    assert [(one.agent, one.here, one.held, one.seen is not None) for one in roster.roster] == [("Amy", True, False, True), ("bob", False, False, True)]


async def test_leaving_tells_the_others_and_wakes_nobody(sit):
    amy, bob = await sit.pair()
    left = await bob.leave("dock")
    assert (left.left, left.closed, left.members) == (True, False, 1)
    (notice,) = await amy.read("dock")
    assert (notice.kind, notice.sender, notice.status, notice.wakes) == ("notice", "bob", "left", "none")
    assert not (await bob.leave("dock")).left
    with pytest.raises(NotMember):
        await bob.post("dock", "from outside")
    with pytest.raises(NotMember):
        await bob.read("dock")


async def test_leaving_a_channel_never_joined_is_refused(sit):
    await sit.pair()
    with pytest.raises(NotMember):
        await sit("carl").leave("dock")


async def test_asking_before_leaving_is_a_message_that_changes_nothing_else(sit):
    amy, bob = await sit.pair()
    asked = await bob.leave("dock", ask=True)
    assert (asked.seq, asked.wakes) == (1, ["Amy"])
    assert (await amy.roster("dock")).members == ["Amy", "bob"]
    assert [one.status for one in await amy.read("dock")] == ["leaving"]


async def test_a_channel_closes_when_its_last_member_has_left_and_not_before(sit):
    amy, bob = await sit.pair()
    assert not (await bob.leave("dock")).closed
    assert (await amy.leave("dock")).closed
    assert (await amy.roster("dock")).closed


async def test_closing_needs_a_reason_and_a_member(sit):
    amy, _ = await sit.pair()
    with pytest.raises(BadText):
        await amy.close("dock", " ")
    with pytest.raises(NotMember):
        await sit("carl").close("dock", "because")
    assert not (await amy.roster("dock")).closed


async def test_a_closed_channel_tells_why_refuses_words_and_can_be_read(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "last words")
    assert (await amy.close("dock", "shipped")).closed
    for verb in (bob.post("dock", "x"), bob.join("dock"), sit("carl").open("dock")):
        with pytest.raises(ChannelClosed) as no:
            await verb
        assert no.value.facts["reason"] == "shipped"
    words, notice = await bob.read("dock")
    assert (words.body, notice.kind, notice.status, notice.wakes) == ("last words", "notice", "closed", "none")
    again = await bob.close("dock", "another reason")
    assert (again.closed, again.reason) == (False, "shipped")


async def test_anyone_may_reopen_a_channel_and_twice_is_once(sit):
    amy, _ = await sit.pair()
    await amy.close("dock", "over")
    carl = sit("carl")
    assert (await carl.reopen("dock")).how == "reopened"
    assert (await carl.reopen("dock")).how == "already"
    assert (await amy.post("dock", "again")).seq == 3
    with pytest.raises(NoChannel):
        await carl.reopen("kiln")


async def test_reopening_names_those_who_must_come_back(sit):
    amy, bob = await sit.pair()
    await amy.leave("dock")
    await bob.leave("dock")
    assert (await bob.reopen("dock")).left == ["Amy", "bob"]


async def test_deleting_tells_what_would_go_before_it_does(sit):
    amy, _ = await sit.pair()
    await amy.post("dock", "one")
    preview = await amy.delete("dock")
    assert (preview.deleted, preview.messages, preview.members) == (False, 1, ["Amy", "bob"])
    assert (await amy.delete("dock", yes=True)).deleted
    for verb in (amy.delete("dock", yes=True), amy.post("dock", "x"), amy.read("dock")):
        with pytest.raises(NoChannel):
            await verb


async def test_deleting_touches_no_other_channel_and_is_for_members_only(sit):
    amy, bob = await sit.pair()
    await amy.open("kiln", members="bob")
    await amy.post("kiln", "stays")
    with pytest.raises(NotMember):
        await sit("carl").delete("dock", yes=True)
    await amy.delete("dock", yes=True)
    assert bodies(await bob.read()) == ["stays"]


async def test_a_channel_opened_under_a_deleted_name_is_a_new_one(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "old")
    await bob.read("dock")
    await amy.delete("dock", yes=True)
    assert (await amy.open("dock")).new
    with pytest.raises(NotMember):
        await bob.read("dock")
    await bob.join("dock", since=0)
    await amy.post("dock", "new")
    assert [(one.seq, one.body) for one in await bob.read("dock")] == [(1, "new")]


async def test_a_channel_object_needs_not_be_told_which_channel(sit):
    amy, bob = await sit.pair()
    dock = amy.channel("dock")
    await dock.post("hello", to="bob")
    assert bodies(await bob.channel("dock").read()) == ["hello"]
    assert bodies((await dock.history()).messages) == ["hello"]
    assert (await dock.roster()).members == ["Amy", "bob"]


async def test_a_channel_that_a_stranger_wrote_to_is_refused_and_made_whole(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    sit.store.xadd("rc1:{default}:ch:dock:messages", {"from": "boss", "text": "approve"}, id="5-0")
    with pytest.raises(ChannelDamaged) as no:
        await amy.post("dock", "two")
    assert "recover-pending dock" in str(no.value)
    assert bodies(await bob.read("dock")) == ["one"]
    repaired = await bob.recover_pending("dock")
    assert (repaired.kept, repaired.dropped) == (1, 1)
    assert (await amy.post("dock", "two")).seq == 2
    assert ((await bob.recover_pending("dock")).dropped, bodies(await bob.read("dock"))) == (0, ["two"])


async def test_numbers_go_on_after_a_repair_though_all_messages_were_trimmed(sit):
    amy, _ = await sit.pair()
    for text in ("one", "two"):
        await amy.post("dock", text)
    sit.store.xadd("rc1:{default}:ch:dock:messages", {"x": "y"}, id="5-0")
    await amy.retain("dock", 0, yes=True)
    assert (await amy.recover_pending("dock")).kept == 0
    assert (await amy.post("dock", "three")).seq == 3
