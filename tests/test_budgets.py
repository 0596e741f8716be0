"""A budget bounds what is said: first a warning, then hooks only point at it, then nobody is woken; all of it is stored, and read and waited for as ever."""

from __future__ import annotations

from contextlib import closing

import pytest

from redischat import errors
from redischat.calls import budgets, messages, sessions
from redischat.calls.call import Caller, Once, fresh
from redischat.flows import budgets as flows
from redischat.flows import channels
from redischat.hook import deliver
from redischat.keys import Keys
from redischat.wire import Wire

KEYS = Keys("default")
AMY, BOB, EVE = (Caller(KEYS, name) for name in ("amy", "bob", "eve"))


async def test_within_a_budget_nothing_is_different(sit):
    amy, bob = await sit.pair()
    budget = await amy.budget("dock", messages=10, per=3600)
    assert (budget.messages, budget.used_messages, budget.level, budget.by) == (10, 0, "within", "Amy")
    receipt = await amy.say("dock", "hello", to=["bob"], receipt=True)
    assert (receipt.budget, receipt.silenced) == (None, [])
    (message,) = [one for one in await bob.read("dock") if one.kind == "message"]
    assert message.hooks == "whole"


async def test_the_author_is_warned_then_only_pointed_at_then_wakes_nobody_and_all_is_kept(sit):
    amy, bob = await sit.pair()
    await amy.budget("dock", messages=4)
    receipts = [await amy.say("dock", f"word {n}", to=["bob"], receipt=True) for n in range(1, 8)]
    assert [one.budget.level if one.budget else None for one in receipts] == [None, None, None, "warned", "pointed", "pointed", "silent"]
    assert [one.silenced for one in receipts] == [[], [], [], [], [], [], ["bob"]]
    said = [one for one in await bob.read("dock") if one.kind == "message"]
    assert [one.body for one in said] == [f"word {n}" for n in range(1, 8)]
    assert [one.hooks for one in said] == ["whole"] * 4 + ["pointed"] * 2 + ["silent"]


async def test_characters_are_counted_as_characters(sit):
    amy, _ = await sit.pair()
    await amy.budget("dock", characters=10)
    receipt = await amy.say("dock", "ÄÖÜ€𝄞ß", to="none")
    assert receipt.budget is None
    (budget,) = await amy.budgets("dock")
    assert budget.used_characters == 6


async def test_an_agents_own_budget_counts_its_words_alone(sit):
    amy, bob = await sit.pair()
    await bob.budget("dock", agent="amy", messages=1)
    for _ in range(3):
        assert (await bob.say("dock", "x", to="none")).budget is None
    await amy.say("dock", "one", to="none")
    receipt = await amy.say("dock", "two", to="none")
    assert (receipt.budget.level, receipt.budget.agent) == ("silent", "Amy")


async def test_a_budget_that_is_raised_still_counts_what_was_said(sit):
    amy, _ = await sit.pair()
    await amy.budget("dock", messages=2)
    for _ in range(3):
        await amy.say("dock", "x", to="none")
    raised = await amy.budget("dock", messages=20)
    assert (raised.used_messages, raised.level) == (3, "within")


async def test_its_members_are_told_and_nobody_is_woken(sit):
    amy, bob = await sit.pair()
    await amy.budget("dock", messages=2, per=90)
    await amy.budget("dock", messages=2, per=90)
    (notice,) = [one for one in await bob.read("dock") if one.status == "budget"]
    assert (notice.kind, notice.wakes) == ("notice", "none")
    assert "2 messages in 90s" in notice.body


async def test_it_is_taken_off_and_counts_no_more(sit):
    amy, _ = await sit.pair()
    await amy.budget("dock", messages=1)
    await amy.say("dock", "x", to="none")
    assert await amy.budget("dock", off=True) is None
    assert (await amy.say("dock", "x", to="none")).budget is None
    assert await amy.budgets("dock") == []


async def test_the_roster_and_who_show_it(sit):
    amy, bob = await sit.pair()
    await amy.budget("dock", messages=5)
    await amy.budget("dock", agent="bob", messages=2)
    await bob.say("dock", "x", to="none")
    roster = await amy.roster("dock")
    assert [(one.agent, one.used_messages) for one in roster.budgets] == [(None, 1), ("bob", 1)]
    found = {one.agent: [(own.channel, own.used_messages) for own in one.budgets] for one in await amy.who(ended=True)}
    assert (found["Amy"], found["bob"]) == ([], [("dock", 1)])


@pytest.mark.parametrize(
    "given", [{}, {"messages": 0}, {"characters": -1}, {"messages": 3, "off": True}, {"messages": 3, "per": -5}, {"messages": 3, "per": 1e9}]
)
async def test_what_is_no_budget_is_refused(sit, given):
    amy, _ = await sit.pair()
    with pytest.raises((errors.BadText, errors.Usage)):
        await amy.budget("dock", **given)


async def test_whoever_is_not_there_sets_none_and_gets_none(sit):
    amy, _ = await sit.pair()
    eve = sit("eve")
    with pytest.raises(errors.NotMember):
        await eve.budget("dock", messages=1)
    with pytest.raises(errors.UnknownRecipient):
        await amy.budget("dock", agent="nobody", messages=1)
    assert await amy.budgets("dock") == []


@pytest.fixture
def wire(real):
    with closing(Wire(real.url)) as one:
        one.drive(channels.enter(AMY, "dock", channels.Wanted(members=["bob", "eve"]), Once()))
        for who in (AMY, BOB):
            one.run(sessions.begin(KEYS, f"s-{who.me}", who.agent, harness="claude", host="vm", pid=1, project="/p", way="file"))
        yield one


def bound(wire, count, per_s=3600):
    wire.drive(flows.put(AMY, "dock", budgets.Bound(messages=count, per_ms=per_s * 1000), Once()))


def say(wire, text, to="bob"):
    return wire.run(messages.post(AMY, "dock", messages.Draft(text, to=[to]), once=Once()))


def delivered(wire, who=BOB):
    text = deliver.Text(who.agent, lambda _: None)
    wire.drive(deliver.all_news(who, fresh()), text.show)
    return text.text


def test_over_it_a_hook_points_and_a_wake_still_comes(wire):
    bound(wire, 1)
    wire.drive(flows.put(AMY, "dock", budgets.Bound(messages=4, per_ms=1000), Once()))
    for text in ("one", "two", "three", "four"):
        say(wire, text)
    delivered(wire)
    say(wire, "the fifth")
    assert [row["channel"] for row in wire.drive(deliver.waiting(BOB))] == ["dock"], "pointed at, and woken for"
    told = delivered(wire)
    assert "1 not shown here, for others, long or over a budget (from amy), unread: redischat read dock --since" in told
    assert "amy: the fifth" in told


def test_far_over_it_nobody_is_rung_and_a_wait_still_hears_it(wire):
    bound(wire, 1)
    say(wire, "one")
    delivered(wire)
    assert say(wire, "two")["budget"]["level"] == "silent"
    assert wire.drive(deliver.waiting(BOB)) == [], "the waker and the end of a turn see nothing to wake for"
    found = wire.run(messages.look(BOB, {"dock": 0}))
    assert [row["word"] for row in found["rows"]] == ["news"], "a wait does"
    unread = wire.run(messages.take(BOB, ["dock"], fresh()))["rows"][0]["messages"]
    assert [one["body"] for one in unread if one["kind"] == "message"] == ["two"], "what a hook showed whole is read; what it pointed at is not"


def test_a_silent_message_does_not_hide_the_one_that_wakes(wire):
    bound(wire, 1)
    say(wire, "one")
    delivered(wire)
    say(wire, "two")
    wire.drive(flows.put(AMY, "dock", budgets.Bound(), Once()))
    say(wire, "three")
    assert [(row["count"], row["senders"]) for row in wire.drive(deliver.waiting(BOB))] == [(1, ["amy"])]


def test_a_span_ends_and_the_next_one_begins_with_the_next_message(wire):
    bound(wire, 1)
    say(wire, "one")
    assert say(wire, "two")["budget"]["level"] == "silent"
    meta = KEYS.channel("dock", "meta")
    from redischat.calls.call import plain

    words = wire.run(plain("HGET", meta, "budget")).split(" ")
    wire.run(plain("HSET", meta, "budget", " ".join([*words[:3], str(int(words[3]) - 3_600_000), *words[4:]])))
    assert say(wire, "three")["budget"]["level"] == "warned", "the first of a budget of one"


def test_the_command_sets_it_says_how_much_is_used_and_the_receipt_tells_who_is_not_woken(town):
    amy, bob = town.person("amy"), town.person("bob")
    amy("open", "dock", "--as", "amy", "--members", "bob")
    bob("join", "dock", "--as", "bob")
    assert "#dock has no budget. Set one: redischat budget dock --messages 50 --per 1h" in amy("budget", "dock").out
    assert "not how much: redischat budget dock --messages 50 --per 2h" in amy("budget", "dock", "--per", "2h", "--as", "amy", code=64).err
    told = amy("budget", "dock", "--messages", "2", "--per", "1h", "--as", "amy").out
    assert told.startswith("budget of #dock: 0 of 2 messages in 1h")
    said = [amy("say", "dock", f"word {n}", "--to", "bob", "--as", "amy").out for n in range(1, 5)]
    assert "budget" not in said[0]
    assert "2 of 2 messages in 1h" in said[1]
    assert "hooks only point at this message, it stays unread. More: redischat budget dock --per 1h --messages 6" in said[2]
    assert "NOT WOKEN bob: budget" in said[3]
    assert "wakes bob" not in said[3]
    assert "4 of 2 messages in 1h" in amy("roster", "dock").out
    assert bob("read", "dock", "--as", "bob", "--json").records[-1]["body"] == "word 4"
    assert amy("budget", "dock", "--off", "--as", "amy").out == "#dock has no budget any more\n"


@pytest.mark.parametrize("words", [["--messages", "0"], ["--off", "--messages", "3"], ["--per", "1h"], ["--messages", "3", "--per", "soon"]])
def test_a_slip_at_the_command_is_refused_with_a_command_that_works(town, words):
    amy = town.person("amy")
    amy("open", "dock", "--as", "amy")
    told = amy("budget", "dock", *words, "--as", "amy", code=None)
    assert (told.code, told.out) == (64 if "soon" not in words else 1, "")
