"""Asking one agent and getting its answer, for programs that lead others."""

from __future__ import annotations

import asyncio

import pytest
from seats import bodies, until

from redischat.errors import ChannelClosed, KeyReused, RecipientLeft, TimedOut, UnknownRecipient, Usage

LONG = 20  # seconds; the answer comes much earlier


async def asked(sit, chat, seq=1, channel="dock"):
    """Come back when a question stands and its asker listens."""

    async def stands():
        return (await chat.history(channel)).last_seq >= seq and sit.store.hlen("rc1:{default}:waits")

    await until(stands, "the question stands")


async def test_a_question_gets_its_answer(sit):
    amy, bob = await sit.pair()
    asking = asyncio.create_task(amy.ask("dock", "bob", "Which build?", timeout=LONG, title="build"))
    (question,) = await bob.wait("dock", timeout=LONG)
    assert (question.body, question.to, question.title) == ("Which build?", ["bob"], "build")
    await bob.post("dock", "4711", reply_to=question.seq, to="none")
    answer = await asking
    assert (answer.body, answer.sender, answer.reply_to) == ("4711", "bob", 1)
    assert (await amy.read("dock")).messages == []  # it was handed out once
    assert sit.store.hlen("rc1:{default}:waits") == 0


async def test_other_messages_stay_unread_and_so_does_an_answer_behind_them(sit):
    amy, bob, carl = await sit.trio()
    asking = asyncio.create_task(amy.channel("dock").ask("bob", "Which build?", timeout=LONG))
    await asked(sit, carl)
    await carl.post("dock", "by the way")
    await carl.post("dock", "5", reply_to=1, to=["Amy"])
    await bob.post("dock", "wait a moment", to=["Amy"])
    await bob.post("dock", "4711", reply_to=1)
    await carl.post("dock", "and this")
    assert (await asking).body == "4711"
    assert bodies(await amy.read("dock")) == ["by the way", "5", "wait a moment", "4711", "and this"]
    assert sit.mark("amy")["lease"] == "-"


async def test_who_does_not_answer_in_time_is_said_to_be_live_or_not(sit):
    amy, bob = await sit.pair()
    with pytest.raises(TimedOut) as never:
        await amy.ask("dock", "bob", "there?", timeout=0.05)
    assert (never.value.facts["live"], never.value.facts["how"], never.value.facts["last_active"]) == (False, "absent", None)
    await bob.post("dock", "something else")
    with pytest.raises(TimedOut) as live:
        await amy.ask("dock", "bob", "and now?", timeout=0)
    assert (live.value.facts["live"], live.value.facts["seq"], live.value.facts["agent"]) == (True, 3, "bob")
    assert bodies(await amy.read("dock")) == ["something else"]
    assert sit.store.hlen("rc1:{default}:waits") == 0


async def test_asking_again_with_the_same_key_asks_once_and_finds_the_answer(sit):
    amy, bob = await sit.pair()
    with pytest.raises(TimedOut):
        await amy.ask("dock", "bob", "Which build?", timeout=0, idem="q-1")
    await bob.post("dock", "4711", reply_to=1)
    await amy.read("dock")  # even where it was read meanwhile
    assert (await amy.ask("dock", "bob", "Which build?", timeout=LONG, idem="q-1")).body == "4711"
    assert len(await amy.history("dock")) == 2
    with pytest.raises(KeyReused):
        await amy.ask("dock", "bob", "Which branch?", timeout=0, idem="q-1")


async def test_a_cancelled_question_stands_and_leaves_the_answer_unread(sit):
    if sit.kind == "sync":
        pytest.skip("a thread cannot be cancelled")
    amy, bob = await sit.pair()
    asking = asyncio.create_task(amy.ask("dock", "bob", "Which build?", timeout=LONG))
    await asked(sit, bob)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await bob.post("dock", "4711", reply_to=1)
    assert bodies(await amy.read("dock")) == ["4711"]
    assert sit.store.hlen("rc1:{default}:waits") == 0


async def test_whoever_cannot_answer_any_more_is_not_waited_for(sit):
    amy, bob, _ = await sit.trio()
    asking = asyncio.create_task(amy.ask("dock", "bob", "there?", timeout=LONG))
    await asked(sit, bob)
    await bob.leave("dock")
    with pytest.raises(RecipientLeft):
        await asking
    with pytest.raises(RecipientLeft):
        await amy.ask("dock", "bob", "there?", timeout=LONG)
    asking = asyncio.create_task(amy.ask("dock", "carl", "there?", timeout=LONG))
    await asked(sit, amy, seq=3)
    await amy.close("dock", "enough")
    with pytest.raises(ChannelClosed):
        await asking


async def test_a_question_to_nobody_is_refused_before_it_is_asked(sit):
    amy, _ = await sit.pair()
    with pytest.raises(UnknownRecipient) as refused:
        await amy.ask("dock", "bobb", "there?")
    assert refused.value.facts["nearest"] == "bob"
    for question in (amy.ask("dock", "amy", "me?"), amy.ask("dock", "bob", "x", timeout=-1), amy.ask("dock", "bob", "x", timeout=float("nan"))):
        with pytest.raises(Usage):
            await question
    assert len(await amy.history("dock")) == 0


async def test_answers_to_questions_at_the_same_time_are_told_apart(sit):
    amy, bob = await sit.pair(max_messages=0)
    asking = [asyncio.create_task(amy.ask("dock", "bob", f"question {n}", timeout=LONG)) for n in range(5)]

    async def all_stand():
        return (await bob.history("dock")).last_seq == 5

    await until(all_stand, "five questions stand")
    for message in await bob.read("dock"):
        await bob.post("dock", f"answer to {message.body}", reply_to=message.seq)
    found = [(await one).body for one in asking]
    assert found == [f"answer to question {n}" for n in range(5)]


async def test_who_was_not_woken_because_of_a_budget_is_said(sit):
    amy, bob = await sit.pair()
    await bob.budget("dock", messages=1)
    await bob.post("dock", "one", to="none")
    with pytest.raises(TimedOut) as refused:
        await amy.ask("dock", "bob", "there?", timeout=0)
    facts, text = refused.value.facts, str(refused.value)
    assert (facts["silenced"], facts["budget"]["level"]) == (["bob"], "silent")
    assert "nobody was woken: #dock is far over its budget" in text
    assert "redischat wait dock --from bob --reply-to 3" in text
