"""Where pages, numbers and lists end: a stranger's entries, a thousand messages, thousands of members, a showing that failed."""

from __future__ import annotations

import inspect
from math import inf, nan

import pytest
from seats import bodies

from redischat import AsyncClient
from redischat.calls.call import Caller, fresh
from redischat.errors import ChannelClosed, ChannelDamaged, KeyReused, NameHeld, NoSuchSeq, UnknownRecipient, Usage
from redischat.flows import reading
from redischat.keys import Keys
from redischat.wire import Wire

STREAM = "rc1:{default}:ch:dock:messages"
HUGE = "0-1733011200000000"
OWN = {"token", "priority"}  # these are refused with codes of their own


def numbered():
    """Each verb of the client with each whole number that it takes."""
    verbs = {name: inspect.signature(verb).parameters.values() for name, verb in inspect.getmembers(AsyncClient, inspect.isfunction)}
    return [(name, one.name) for name, all_ in verbs.items() for one in all_ if str(one.annotation) in ("int", "int | None") and one.name not in OWN]


@pytest.mark.parametrize("number", [1 << 53, -(10**30), -1, 1.5, nan, inf, "7"])
async def test_a_number_that_the_broker_could_not_keep_is_refused_by_every_verb_that_takes_one(sit, number):
    amy, _ = await sit.pair()
    await amy.post("dock", "one")
    before = (await amy.channels(), await amy.roster("dock"), await amy.history("dock"))
    known = {"channel": "dock", "body": "two"}
    for verb, parameter in [one for one in numbered() if not one[0].startswith("_")]:
        needed = [one.name for one in inspect.signature(getattr(AsyncClient, verb)).parameters.values() if one.default is one.empty and one.name in known]
        with pytest.raises(Usage, match=parameter):
            await getattr(amy, verb)(**{name: known[name] for name in needed}, **{parameter: number})
    assert (await amy.channels(), await amy.roster("dock"), await amy.history("dock")) == before
    with pytest.raises(Usage):
        await amy.budget("dock", messages=5, per=nan)
    with pytest.raises(Usage):
        sit("carl", replicas=number)


async def test_a_number_that_no_conversation_reaches_ends_the_channel_and_nothing_else(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one")
    sit.store.xadd(STREAM, {"x": "y"}, id=HUGE)
    with pytest.raises(ChannelDamaged):
        await amy.post("dock", "two")
    assert (await amy.open("quay")).new
    assert (await bob.recover_pending("dock")).kept == 1
    assert (await amy.post("dock", "two")).seq == 2
    assert bodies(await bob.read("dock")) == ["one", "two"]


async def test_an_entry_that_lacks_what_redischat_writes_is_passed_over_by_every_reader(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "one", to="bob")
    sit.store.xadd(STREAM, {"b": "I am the boss"}, id="0-*")
    await amy.post("dock", "two", to="bob")
    assert bodies((await bob.history("dock")).messages) == bodies(await bob.peek("dock")) == ["one", "two"]
    assert [one.pending for one in await bob.pending()] == [2]
    assert [one.unanswered for one in await bob.owed()] == [2]
    assert bodies(await bob.read("dock")) == ["one", "two"]


@pytest.mark.parametrize(
    "odd",
    [
        {"t": "soon"},
        {"t": "9" * 40},
        {"r": "the first"},
        {"r": "9" * 5_000},
        {"k": None, "z": "m"},
        {"w": None, "z": "*"},
        {"t": None, "z": "1"},
        {"x": None, "z": "0"},
    ],
)
async def test_an_entry_that_looks_like_one_of_redischat_stands_in_no_readers_way(sit, odd):
    amy, bob = await sit.pair()
    await amy.post("dock", "one", to="bob")
    fields = {"f": "boss", "k": "m", "w": "*", "t": "1700000000000000", "x": "0", "b": "I am the boss", **odd}
    sit.store.xadd(STREAM, {name: value for name, value in fields.items() if value is not None}, id="0-*")
    await amy.post("dock", "two", to="bob")
    assert bodies((await bob.history("dock")).messages) == bodies(await bob.peek("dock")) == ["one", "two"]
    assert [one.pending for one in await bob.pending()] == [2]
    assert [one.unanswered for one in await bob.owed()] == [2]
    assert (await bob.state("dock")).damaged == ["entry 0-2"]
    read = [one.body for one in await bob.read("dock")]
    assert [body for body in read if body != "I am the boss"] == ["one", "two"]
    assert not (await bob.read("dock")).messages, "nothing is left that nobody can pass"


async def test_a_question_is_owed_however_much_was_said_since(sit):
    amy, bob = await sit.pair(max_messages=0)
    await amy.post("dock", "which build?", to="bob")
    for n in range(201):
        await amy.post("dock", f"{n}", to="none")
    assert [(one.seq, one.text) for one in await bob.owed()] == [(1, "which build?")]


async def test_mail_behind_a_thousand_of_my_own_words_is_pending_and_counted(sit):
    amy, bob = await sit.pair(max_messages=0)
    await bob.post("dock", "first")
    for n in range(1_001):
        await amy.post("dock", f"{n}")
    await bob.post("dock", "last")
    assert [one.pending for one in await amy.pending()] == [1]
    assert bodies(await amy.read("dock", limit=1)) == ["first"]
    assert [one.pending for one in await amy.pending()] == [1]
    got = await bob.read("dock", limit=1)
    assert 1_000 <= got.more <= 1_001, "beyond a page what is left is counted by number, my own words too"
    assert (await bob.ack("dock", 1_003)).never_shown == 1_000


async def test_a_hole_is_told_by_its_own_numbers_and_once(sit):
    amy, bob = await sit.pair()
    await bob.open("quay", members="amy")
    for n in range(6):
        await bob.post("dock", f"{n}")
    await bob.post("quay", "also")
    await bob.retain("dock", 1, yes=True)
    told = [(note.channel, note.gap, note.first) for _ in range(3) for note in (await amy.read("quay", "dock", limit=1)).notes if note.gap]
    assert told == [("dock", 5, 6)]


async def test_a_key_that_came_with_other_recipients_gives_the_first_receipt(sit):
    amy, *_ = await sit.trio()
    first = await amy.post("dock", "hi", to="bob", idem="k", receipt=True)
    assert (await amy.post("dock", "hi", to="carl", idem="k", receipt=True)).seq == first.seq
    with pytest.raises(KeyReused):
        await amy.post("dock", "other", to="bob", idem="k")


async def test_one_sessions_key_gives_its_token_to_no_other(sit):
    await sit("heron").identify(session="one", idem="k")
    with pytest.raises(NameHeld):
        await sit("heron").identify(session="two", idem="k")


async def test_whoever_sleeps_at_its_door_is_not_gone_however_long_unseen(sit):
    import asyncio

    amy, _ = await sit.pair()
    await amy.identify(session="one")
    waiting = asyncio.create_task(amy.wait("dock", timeout=30))
    await sit.asleep("amy")
    sit.unseen_for("amy", 3600)
    with pytest.raises(NameHeld):
        await sit("amy").identify(session="two", take_over=True)
    await sit("bob").post("dock", "wake up")
    assert bodies(await waiting) == ["wake up"]


async def test_coming_back_from_a_number_on_is_said_to_be_ignored(sit):
    amy, bob = await sit.pair()
    await bob.leave("dock")
    assert (await bob.join("dock", since=1)).ignored == ["since"]
    assert amy.agent == "Amy"


async def test_waiting_for_nobody_or_for_no_message_is_refused_at_once(sit):
    amy, _ = await sit.pair()
    await amy.post("dock", "one")
    with pytest.raises(UnknownRecipient) as no:
        await amy.wait("dock", sender="bobb", timeout=20)
    assert no.value.facts["nearest"] == "bob"
    assert "sent" not in str(no.value)
    with pytest.raises(NoSuchSeq):
        await amy.wait(reply_to=9, timeout=20)


async def test_waiting_ends_when_all_channels_are_closed_named_or_not(sit):
    amy, bob = await sit.pair()
    await amy.close("dock", "done")
    await bob.read("dock")
    with pytest.raises(ChannelClosed):
        await bob.wait(timeout=20)


@pytest.mark.real
def test_a_channel_of_thousands_is_deleted(real):
    from redischat import Client

    with Client(real.url, agent="amy") as amy:
        amy.open("dock", members=[f"a{n}" for n in range(2_700)])
        assert amy.delete("dock", yes=True).deleted
        assert amy.channels() == []


@pytest.mark.real
def test_a_pointer_or_a_hole_that_could_not_be_shown_comes_again(real):
    from redischat import Client

    with Client(real.url, agent="amy") as amy:
        amy.open("dock", members="bob")
        for n in range(3):
            amy.post("dock", f"{n}", to="none")
    wire, bob = Wire(real.url), Caller(Keys("default"), "bob")

    def hear(show):
        return wire.drive(reading.hand_out(bob, ["dock"], fresh(), reading.Limits(), "hear"), show)

    def full(_):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="space"):
        hear(full)
    assert [note["passive"] for note in hear(lambda asked: len(asked.messages)).notes] == [3]
    assert hear(None).notes == []
    wire.close()
