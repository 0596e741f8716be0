"""What is said: posting, addressing, receipts, transcripts."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError
from seats import bodies

from redischat import Message
from redischat.errors import BadName, BadText, ChatError, KeyReused, NoChannel, NoSuchSeq, NotMember, RecipientLeft, TooLarge, UnknownRecipient

QUARTER_MIB = 256 * 1024


async def test_what_one_says_the_other_reads(sit):
    amy, bob = await sit.pair()
    sent = await amy.post("dock", "hello\nbob")
    assert (sent.channel, sent.seq, sent.sender, sent.audience, sent.members, sent.closed) == ("dock", 1, "Amy", "all", 2, False)
    (message,) = await bob.read("dock")
    assert (message.seq, message.sender, message.body, message.kind, message.mine, message.for_me) == (1, "Amy", "hello\nbob", "message", False, True)
    assert message.ts == sent.ts
    assert abs(message.ts - datetime.now(UTC)) < timedelta(minutes=5)


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "America/New_York", "UTC"])
async def test_times_are_the_brokers_and_the_same_instant_everywhere(sit, monkeypatch, zone):
    amy, bob = await sit.pair()
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        sent = await amy.post("dock", "x")
        (message,) = await bob.read("dock")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert message.ts.utcoffset() == timedelta(0)
    assert sent.ts == message.ts
    assert abs(message.ts - datetime.now(UTC)) < timedelta(minutes=5)


async def test_a_message_is_frozen_and_knows_its_json_names(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "x")
    (message,) = await bob.read("dock")
    with pytest.raises(ValidationError):
        message.body = "another"
    record = message.model_dump(by_alias=True)
    assert Message.model_validate({**record, "unknown": 1}) == message
    assert list(record) == [
        "channel", "seq", "kind", "from", "to", "wakes", "title", "status", "reply_to", "thread", "ts", "body", "mine", "for_me", "repeat", "cut", "after", "n",
        "facts",
        "hooks",
    ]  # fmt: skip


async def test_numbers_have_no_gap_whoever_writes_at_once(sit):
    amy, bob = await sit.pair()
    sent = await asyncio.gather(*(one.say("dock", f"{n}") for one in (amy, bob) for n in range(20)))
    assert sorted(one.seq for one in sent) == list(range(1, 41))


async def test_every_field_comes_back_as_it_was_given(sit):
    amy, bob = await sit.pair()
    await amy.post("dock", "plain")
    await amy.post("dock", "full", to=["bob"], reply_to=1, thread="t-1", title="On boats", status="blocker")
    plain, full = await bob.read("dock")
    assert (plain.to, plain.reply_to, plain.thread, plain.title, plain.status) == (None, None, None, None, "discussion")
    assert (full.to, full.reply_to, full.thread, full.title, full.status, full.wakes) == (["bob"], 1, "t-1", "On boats", "blocker", ["bob"])
    record = full.model_dump(by_alias=True)
    assert record["from"] == "Amy"
    assert "sender" not in record


AWKWARD = [
    "`date` $(date) $HOME * !x \"q\" 'q' \\ %s EOF", "a\0b", "\u0301 alone", "x\r\n\ty\x1b[2J\x07", "emoji 👩‍🚀 עברית 漢字", " padded \n", '{"files":[],"m":{},"n":9007199254740993,"f":1.0,"d":{"k":[[]]}}',
    "one line " + "x" * 100_000, "\u2028\u202e\x1f",
]  # fmt: skip


@pytest.mark.parametrize("body", AWKWARD, ids=range(len(AWKWARD)))
async def test_a_body_comes_back_as_it_was_sent(sit, body):
    amy, bob = await sit.pair()
    await amy.post("dock", body)
    await amy.post("dock", "behind it")
    assert bodies(await bob.read("dock")) == [body, "behind it"]


async def test_a_body_that_is_no_message_is_refused_and_the_next_one_is_number_one(sit):
    amy, bob = await sit.pair()
    for bad in ("", " \n", "\ud83d"):
        with pytest.raises(BadText):
            await amy.post("dock", bad)
    with pytest.raises(TooLarge) as no:
        await amy.post("dock", "é" * (QUARTER_MIB // 2) + "x")
    assert (no.value.facts["size"], no.value.facts["limit"]) == (QUARTER_MIB + 1, QUARTER_MIB)
    assert (await amy.post("dock", "x" * QUARTER_MIB)).seq == 1
    assert len((await bob.read("dock"))[0].body) == QUARTER_MIB


async def test_only_members_may_post(sit):
    await sit.pair()
    with pytest.raises(NotMember) as no:
        await sit("carl").post("dock", "x")
    assert no.value.code == "NOT_MEMBER"
    with pytest.raises(NoChannel):
        await sit("carl").post("kiln", "x")


WAYS = [  # what is given, stored, resolved in an ordinary channel, in a broadcast channel, and whether bob is woken in either
    (None, None, "all", "none", (True, False)),
    ("all", "all", "all", "all", (True, True)),
    ("none", "none", "none", "none", (False, False)),
    ("bob", ["bob"], ["bob"], ["bob"], (True, True)),
    (" carl , BOB ", ["carl", "bob"], ["carl", "bob"], ["carl", "bob"], (True, True)),
    (["carl"], ["carl"], ["carl"], ["carl"], (False, False)),
]


@pytest.mark.parametrize("broadcast", [False, True], ids=["ordinary", "broadcast"])
@pytest.mark.parametrize(("given", "stored", "ordinary", "quiet", "woken"), WAYS, ids=[str(way[0]) for way in WAYS])
async def test_whom_a_message_wakes(sit, broadcast, given, stored, ordinary, quiet, woken):
    amy, bob, _ = await sit.trio(broadcast=broadcast)
    sent = await amy.post("dock", "x", to=given)
    assert sent.audience == (quiet if broadcast else ordinary)
    (waiting,) = await bob.pending("dock")
    assert waiting.wakes_me == woken[broadcast]
    (message,) = await bob.read("dock")
    assert (message.to, message.wakes, message.for_me) == (stored, sent.audience, woken[broadcast])


async def test_an_empty_list_of_recipients_and_a_kept_word_in_one_are_refused(sit):
    amy, *_ = await sit.trio()
    for bad in ([], "", ",", "bob,", ["all", "bob"], "none,bob"):
        with pytest.raises(BadName):
            await amy.post("dock", "x", to=bad)
    with pytest.raises(TooLarge):
        await amy.post("dock", "x", to=[f"a{n}" for n in range(51)])
    assert bodies((await amy.history("dock")).messages) == []


async def test_a_recipient_who_is_not_there_refuses_the_whole_message_and_names_who_is(sit):
    amy, bob, _ = await sit.trio()
    with pytest.raises(UnknownRecipient) as no:
        await amy.post("dock", "x", to=["carl", "bobb"])
    assert (no.value.facts["agent"], no.value.facts["nearest"], no.value.facts["members"]) == ("bobb", "bob", ["Amy", "bob", "carl"])
    with pytest.raises(UnknownRecipient):
        await amy.post("dock", "x", to="bo")  # never by prefix
    await bob.leave("dock")
    with pytest.raises(RecipientLeft) as gone:
        await amy.post("dock", "x", to="bob", receipt=True)
    assert gone.value.facts["members"] == ["Amy", "carl"]
    assert bodies((await amy.history("dock")).messages) == []


async def test_nothing_in_a_text_addresses_anybody(sit):
    amy, bob, carl = await sit.trio()
    sent = await amy.post("dock", "mail ops@bob.example, see `@carl`, cc @bob. (@carl) @bob's @bobx", to="none")
    assert sent.audience == "none"
    for one in (bob, carl):
        assert [waiting.wakes_me for waiting in await one.pending()] == [False]


async def test_a_reply_must_be_to_a_message_that_there_is(sit):
    amy, bob = await sit.pair()
    for seq in (1, 0, -1):
        with pytest.raises(NoSuchSeq):
            await amy.post("dock", "x", reply_to=seq)
    await amy.post("dock", "question")
    assert (await bob.post("dock", "answer", reply_to=1)).seq == 2


async def test_a_full_receipt_tells_what_was_stored_and_whom_it_reaches(sit):
    amy, bob, _ = await sit.trio()
    await bob.post("dock", "I am here")
    got = await amy.post("dock", "first line\nsecond", receipt=True)
    assert (got.seq, got.chars, got.stored, got.audience) == (2, 17, "first line", "all")
    assert (got.wakes, got.passive, got.listening, got.unproved, got.absent) == (["bob", "carl"], [], [], ["bob"], ["carl"])
    aside = await amy.post("dock", "x" * 200, to="carl", receipt=True)
    assert (aside.wakes, aside.passive, aside.passive_count, aside.absent) == (["carl"], ["bob"], 1, ["carl"])
    assert (len(aside.stored), aside.stored[-1]) == (72, "…")
    nobody = await amy.post("dock", "x", to="none", receipt=True)
    assert (nobody.wakes, nobody.wakes_count, nobody.passive_count) == ([], 0, 2)


async def test_alone_in_a_channel_nobody_is_woken(sit):
    amy = sit("amy")
    await amy.open("dock")
    got = await amy.post("dock", "x", receipt=True)
    assert (got.members, got.wakes, got.wakes_count) == (1, [], 0)


async def test_a_crowd_is_counted_and_not_listed(sit):
    amy = sit("amy")
    await amy.open("dock", members=[f"m{n}" for n in range(40)])
    got = await amy.post("dock", "x", receipt=True)
    assert (got.wakes, got.wakes_count, got.members) == ([], 40, 41)


async def test_a_hint_on_narrowing_comes_once_a_channel_and_only_where_it_would_spare_somebody(sit):
    amy, bob, _ = await sit.trio()
    assert not (await amy.post("dock", "x", to="bob")).hint
    assert [(await amy.post("dock", "x")).hint for _ in range(2)] == [True, False]
    assert (await bob.post("dock", "x")).hint
    await amy.open("two", members="bob")
    await amy.open("loud", members="bob,carl", broadcast=True)
    assert not (await amy.post("two", "x")).hint
    assert not (await amy.post("loud", "x")).hint
    await amy.open("three", members="bob,carl")
    assert (await amy.post("three", "x")).hint


async def test_the_same_key_posts_once_and_another_text_under_it_is_refused(sit):
    amy, _ = await sit.pair()
    assert [(await amy.post("dock", "once", idem="k")).seq for _ in range(3)] == [1, 1, 1]
    with pytest.raises(KeyReused) as no:
        await amy.post("dock", "another", idem="k")
    assert no.value.facts["seq"] == 1
    assert bodies((await amy.history("dock")).messages) == ["once"]


async def test_a_retry_of_the_message_that_closed_the_channel_says_sent(sit):
    amy, _ = await sit.pair(max_messages=1)
    first, second = [await amy.post("dock", "last", idem="k") for _ in range(2)]
    assert first == second
    assert second.closed


async def test_a_transcript_is_whole_for_anyone_and_moves_nothing(sit):
    amy, bob = await sit.pair()
    for n in range(1, 6):
        await (amy if n % 2 else bob).post("dock", f"{n}")
    for reader in (bob, sit()):
        for _ in range(2):
            whole = await reader.history("dock")
            assert ([one.seq for one in whole], whole.last_seq, whole.older) == ([1, 2, 3, 4, 5], 5, 0)
    assert [one.mine for one in await bob.history("dock")] == [False, True, False, True, False]
    assert bodies(await bob.read("dock")) == ["1", "3", "5"]


async def test_a_part_of_a_transcript_is_its_newest_end_or_what_follows_a_number(sit):
    amy = sit("amy")
    await amy.open("dock", max_messages=0)
    for n in range(250):
        await amy.post("dock", f"{n + 1}")
    newest = await amy.history("dock", limit=20)
    assert ([one.seq for one in newest], newest.older) == (list(range(231, 251)), 230)
    assert [one.seq for one in await amy.history("dock", since=249)] == [249, 250]
    assert [one.seq for one in await amy.history("dock", since=100, limit=2)] == [100, 101]
    assert [one.seq for one in await amy.peek("dock")] == [248, 249, 250]
    assert [one.seq for one in await amy.peek("dock", limit=1)] == [250]
    assert len((await amy.history("dock")).messages) == 250


async def test_a_part_of_a_transcript_says_how_many_older_messages_are_still_there(sit):
    amy = sit("amy")
    await amy.open("dock", max_messages=0)
    for n in range(10):
        await amy.post("dock", f"{n}")
    await amy.retain("dock", 6, yes=True)
    parts = [{"limit": 2}, {"limit": 9}, {"since": 8}, {"since": 7, "limit": 2}, {"since": 1}, {"since": 11}]
    assert [(await amy.history("dock", **part)).older for part in parts] == [4, 0, 3, 2, 0, 6]


async def test_agents_that_do_not_listen_are_not_heard_and_errors_say_which_code(sit):
    amy, _ = await sit.pair()
    with pytest.raises(ChatError) as no:
        await amy.post("dock", "x", to="nobody-here")
    assert no.value.record()["error"] == "UNKNOWN_RECIPIENT"
    assert str(no.value) == no.value.sentence()
