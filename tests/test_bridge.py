"""The bridge to Slack: a person takes part in a channel from there. The Slack is one on this machine (tests/slack.py), the broker any."""

from __future__ import annotations

import json

import pytest
from bridges import Bridged
from seats import until
from slack import BOT, BOT_USER, NAMES, slack_here

from redischat.bridge import inward, outward
from redischat.bridge import memory as memories
from redischat.bridge.slack import MARK
from redischat.errors import ChannelClosed, NoChannel, NotMember
from redischat.names import MESSAGE_BYTES


@pytest.fixture
def slack(monkeypatch):
    for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)  # the library knows no exceptions for this machine
    with slack_here() as found:
        yield found


@pytest.fixture
async def bridged(backend, slack, tmp_path, monkeypatch):
    monkeypatch.setattr(outward, "FIRST_S", 0.02)
    found = await Bridged(backend, slack, tmp_path / "memory").open()
    yield found
    await found.close()


# Both ways.


async def test_what_agents_say_is_posted_in_order_and_what_people_write_is_said(bridged, slack):
    await bridged.heron.say("dock", "may I deploy?", to="alice")
    await bridged.start()
    await bridged.lynx.say("dock", "the tests are green")
    assert await bridged.posts(2) == ["*heron*: may I deploy?", "*lynx*: the tests are green"]
    slack.write("yes, both of you")
    (said,) = await bridged.carried(1)
    assert (said.body, said.sender, said.title) == ("yes, both of you", "alice", "Slack U0ANN: Ann Lee")
    assert slack.texts == ["*heron*: may I deploy?", "*lynx*: the tests are green"]  # her own words do not come back


async def test_what_stood_in_slack_before_the_bridge_is_not_carried(bridged, slack):
    slack.write("old")
    await bridged.start()
    slack.write("new")
    assert [one.body for one in await bridged.carried(1)] == ["new"]


async def test_people_are_carried_oldest_first_page_after_page_whatever_order_slack_gives(bridged, slack):
    await bridged.start()
    await bridged.stop()
    slack.page = 3
    for n in range(10):
        slack.write(f"line {n}")
    await bridged.start()
    assert [one.body for one in await bridged.carried(10)] == [f"line {n}" for n in range(10)]
    slack.newest_first = False
    for n in range(10, 17):
        slack.write(f"line {n}")
    assert [one.body for one in await bridged.carried(17)] == [f"line {n}" for n in range(17)]


async def test_whoever_joins_is_told_that_it_is_carried_away_and_a_briefing_that_does_not_say_so_stays(bridged):
    await bridged.start()
    told = await bridged.seats("crane").join("dock")
    assert ("Slack" in told.briefing, told.briefing_by) == (True, "alice")
    await bridged.stop()
    await bridged.heron.briefing("dock", "Be brief.")
    await bridged.start()
    assert (await bridged.heron.briefing("dock")).briefing == "Be brief."
    assert sum("do not say that it is carried to Slack" in one for one in bridged.said) == 1
    await bridged.heron.briefing("dock", "Be brief: it goes to slack.")
    await bridged.stop()
    await bridged.start()
    assert sum("do not say that it is carried to Slack" in one for one in bridged.said) == 1
    assert [text.partition(";")[0] for text in await bridged.posts(2)] == [
        "_heron changed the briefing of this channel"
    ] * 2  # its own change is no news in Slack


# BRIDGE-01, K01: nothing goes in a circle.


async def test_bridge_01_its_own_posts_never_come_back_and_another_bots_do_once(bridged, slack):
    await bridged.heron.say("dock", "hello")
    await bridged.start()
    await bridged.posts(1)
    slack.write("as a bot of its own", user=None, bot_id=BOT, subtype="bot_message")
    slack.write("as a user of its own", user=BOT_USER)
    slack.write("in a thread", user=None, bot_id=BOT, thread=slack.posted[0]["ts"])
    slack.write("build 7 failed", user=None, bot_id="B0OTHER", username="ci @here", subtype="bot_message")
    slack.write("and I")
    found = await bridged.carried(2)
    assert [(one.body, one.title) for one in found] == [("build 7 failed", "Slack bot B0OTHER: ci @here"), ("and I", "Slack U0ANN: Ann Lee")]


async def test_bridge_01_what_a_bot_writes_wakes_nobody(bridged, slack):
    await bridged.start()
    slack.write("@heron build 7 failed <!here>", user=None, bot_id="B0OTHER", subtype="bot_message")
    (said,) = await bridged.carried(1)
    assert said.to == "none"


async def test_of_a_post_without_text_its_attachments_are_carried(bridged, slack):
    await bridged.start()
    slack.write("", user=None, bot_id="B0OTHER", subtype="bot_message", attachments=[{"fallback": "a &lt;b&gt;"}, {"text": "c"}, {"color": "red"}, "odd"])
    slack.write("", user=None, bot_id="B0OTHER", subtype="bot_message", attachments=[{"color": "red"}])
    slack.write("and I")
    assert [one.body.strip() for one in await bridged.carried(2)] == ["a <b>\nc", "and I"]


async def test_bridge_01_two_bridges_on_one_slack_channel_do_not_play_ping_pong(bridged, slack):
    await bridged.start()
    slack.write("*crane*: from the other room", user=None, bot_id="B0SECOND", subtype="bot_message", metadata={"event_type": MARK, "event_payload": {}})
    slack.write("a person")
    assert [one.body for one in await bridged.carried(1)] == ["a person"]
    assert slack.texts == []


# BRIDGE-05, K01: once each.


async def test_bridge_05_what_slack_gives_again_is_said_once_also_over_restarts_and_with_its_memory_lost(bridged, slack):
    await bridged.start()
    slack.write("one")
    await bridged.carried(1)
    before = json.loads(bridged.remembered())
    slack.write("two")
    await bridged.carried(2)
    for memory in (before, {**before, "cursor": "1000000000.000000"}):
        await bridged.stop()
        bridged.remember(json.dumps(memory))
        await bridged.start()
        assert [one.body for one in await bridged.carried()] == ["one", "two"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cursor": 7}', '{"cursor": "x", "threads": {"a": 1}, "owed": [], "asked": null, "sending": 1}'])
async def test_a_memory_that_cannot_be_read_is_an_empty_one_and_said(bridged, slack, text):
    bridged.remember(text)
    slack.write("old")
    await bridged.start()
    slack.write("new")
    assert [one.body for one in await bridged.carried(1)] == ["new"]
    assert sum("cannot be read" in one for one in bridged.said) == 1


# BRIDGE-09: what is no message.


async def test_bridge_09_edits_deletions_joins_and_empty_ones_are_left_out_and_files_are_named(bridged, slack):
    await bridged.start()
    ts = slack.write("first")
    await bridged.carried(1)
    slack.said[-1] |= {"text": "first, edited", "edited": {"user": "U0ANN", "ts": slack.ts()}}
    slack.write("", subtype="message_changed", user=None, message={"text": "x"})
    slack.write("", subtype="message_deleted", user=None)
    slack.write("<@U0ANN> has joined", subtype="channel_join")
    slack.write("", subtype="file_share", files=[{"name": "a\nb.png"}])
    slack.write("")
    slack.write("also in the channel", subtype="thread_broadcast", thread=ts)
    assert [one.body for one in await bridged.carried(3)] == ["first", "[a file in Slack: a b.png]", "also in the channel"]
    memory = json.loads(bridged.remembered())
    await bridged.stop()
    bridged.remember(json.dumps({**memory, "cursor": "1000000000.000000"}))  # all of it is read again, the edited one too
    await bridged.start()
    assert len(await bridged.carried()) == 3


# K02, BRIDGE-07: what Slack does not take.


async def test_k02_what_slack_refuses_is_told_stays_unread_and_comes_later_in_order(bridged, slack):
    slack.ways["chat.postMessage"] = "is_archived"
    for n in range(3):
        await bridged.heron.say("dock", f"line {n}")
    await bridged.start()
    await until(lambda: any("NOT DELIVERED" in one for one in bridged.said), "the bridge tells it")
    assert [one.pending for one in await bridged.alice.pending("dock")] == [3]
    slack.write("people are heard all the same")
    await bridged.carried(1)
    del slack.ways["chat.postMessage"]
    assert await bridged.posts(3) == [f"*heron*: line {n}" for n in range(3)]
    assert await bridged.alice.pending("dock") == []
    assert sum("NOT DELIVERED" in one for one in bridged.said) == 1
    assert "unarchive" in next(one for one in bridged.said if "NOT DELIVERED" in one)


async def test_bridge_07_limits_errors_and_cut_connections_lose_nothing_and_double_nothing(bridged, slack):
    slack.refuse((429, {"Retry-After": "1"}), (429, {}), (500, {}), "cut", "drop", "internal_error", "ratelimited", (503, {}), None, "html", None, "cut")
    for n in range(60):
        await bridged.heron.say("dock", f"line {n}")
    await bridged.start()
    assert await bridged.posts(60) == [f"*heron*: line {n}" for n in range(60)]
    first, second = slack.times["chat.postMessage"][:2]
    assert second - first >= 1  # as Slack asked


async def test_bridge_07_a_bridge_that_ends_before_the_answer_does_not_post_it_again(bridged, slack):
    await bridged.start()
    await bridged.stop()
    slack.refuse("cut")
    slack.ways["conversations.history"] = "fatal_error"  # it cannot look whether it arrived, until it was started anew
    await bridged.heron.say("dock", "once")
    await bridged.heron.say("dock", "then")
    await bridged.start()
    await until(lambda: any("NOT DELIVERED" in one for one in bridged.said), "the answer was lost")
    await bridged.stop()
    del slack.ways["conversations.history"]
    await bridged.start()
    assert await bridged.posts(2) == ["*heron*: once", "*heron*: then"]


@pytest.mark.parametrize("shows", [True, False])
async def test_bridge_07_a_bridge_that_ends_in_the_middle_of_a_long_message_goes_on_there(bridged, slack, shows):
    slack.shows_metadata = shows
    await bridged.start()
    slack.refuse(None, "is_archived", *["is_archived"] * 3)
    await bridged.heron.say("dock", "\n".join(f"line {n} {'x' * 80}" for n in range(100)))
    await until(lambda: any("NOT DELIVERED" in one for one in bridged.said), "a first part is posted, and the second refused")
    await bridged.stop()
    slack.answers.clear()
    await bridged.start()
    texts = await bridged.posts(3)
    assert [line.partition("line ")[2].split()[0] for text in texts for line in text.split("\n")] == [str(n) for n in range(100)]
    assert [text.partition(": ")[0] for text in texts] == ["*heron*", "*heron* (2/3)", "*heron* (3/3)"]
    assert [one.get("thread_ts") for one in slack.posted] == [None, slack.posted[0]["ts"], slack.posted[0]["ts"]]


async def test_a_failed_read_of_slack_is_told_once_and_its_end_too(bridged, slack):
    await bridged.start()
    slack.ways["conversations.history"] = "not_in_channel"
    await until(lambda: len([one for one in bridged.said if "cannot be read" in one]) == 1, "it is told")
    await bridged.looked()
    slack.write("meanwhile")
    del slack.ways["conversations.history"]
    assert [one.body for one in await bridged.carried(1)] == ["meanwhile"]
    assert [sum(what in one for one in bridged.said) for what in ("cannot be read", "/invite @redischat", "read again")] == [1, 1, 1]


async def test_k02_a_text_that_slack_never_takes_is_replaced_by_a_line_and_holds_nothing_up(bridged, slack):
    slack.refuse("msg_too_long")
    sent = await bridged.heron.say("dock", "odd")
    await bridged.heron.say("dock", "plain")
    await bridged.start()
    first, second = await bridged.posts(2)
    assert f"redischat read dock --since {sent.seq} --limit 1" in first
    assert "odd" not in first
    assert second == "*heron*: plain"


async def test_k02_what_is_refused_for_long_is_given_back_and_comes_later_all_the_same(bridged, slack, monkeypatch):
    monkeypatch.setattr(outward, "HOLD_S", 0.0)
    slack.refuse(*["fatal_error"] * 5)
    for n in range(3):
        await bridged.heron.say("dock", f"line {n}")
    await bridged.start()
    assert await bridged.posts(3) == [f"*heron*: line {n}" for n in range(3)]
    assert len(slack.calls("chat.postMessage")) == 8


async def test_what_only_slack_tells_of_the_channel_is_carried_as_a_notice(bridged, slack):
    await bridged.start()
    await bridged.lynx.leave("dock")
    assert await bridged.posts(1) == ["_lynx left._"]
    slack.write("why?", thread=slack.posted[0]["ts"])
    assert [one.to for one in await bridged.carried(1)] == ["none"]


@pytest.mark.real
@pytest.mark.usefixtures("impatient")
async def test_while_the_broker_is_away_what_people_write_waits_and_nothing_is_stepped_over(shared_server, proxy, slack, tmp_path, monkeypatch):
    monkeypatch.setattr(outward, "FIRST_S", 0.02)
    shared_server.ask("FLUSHALL")
    bridged = await Bridged(shared_server.url, slack, tmp_path / "memory").open()
    bridged.way = proxy.url
    await bridged.start()
    proxy.answer = b"-LOADING Redis is loading the dataset in memory\r\n"
    for n in range(3):
        slack.write(f"line {n}")
    await until(lambda: any("cannot be carried here" in one for one in bridged.said), "it is told")
    proxy.answer = None
    assert [one.body for one in await bridged.carried(3)] == [f"line {n}" for n in range(3)]
    await bridged.heron.say("dock", "we are back")
    assert await bridged.posts(1) == ["*heron*: we are back"]
    assert sum("cannot be carried here" in one for one in bridged.said) == 1
    await bridged.close()


async def test_bridge_07_a_burst_that_slack_slows_down_is_no_outage_and_one_that_lasts_is_told(bridged, slack):
    slack.refuse((429, {"Retry-After": "0"}), (429, {"Retry-After": "0"}))
    await bridged.start()
    await bridged.heron.say("dock", "one")
    await bridged.posts(1)
    assert not any("DELIVERED" in one for one in bridged.said)
    slack.refuse(*[(429, {"Retry-After": "0"})] * 3)
    await bridged.heron.say("dock", "two")
    await bridged.posts(2)
    assert [sum(what in one for one in bridged.said) for what in ("NOT DELIVERED", "delivered after all")] == [1, 1]


async def test_data_07_the_largest_message_crowds_nothing_out(bridged, slack):
    await bridged.start()
    sent = await bridged.heron.say("dock", "<" * MESSAGE_BYTES)
    await bridged.lynx.say("dock", "and I")
    texts = await bridged.posts(6)
    assert f"redischat read dock --since {sent.seq} --limit 1" in texts[4]
    assert texts[5] == "*lynx*: and I"
    assert {one["thread_ts"] for one in slack.posted[1:5]} == {slack.posted[0]["ts"]}


# BRIDGE-03: text.


async def test_bridge_03_nothing_in_a_text_acts_and_all_of_it_is_there(bridged, slack):
    await bridged.start()
    await bridged.heron.say(
        "dock", "if a < b && c > d\n<!channel> <!here> <@U123>\n@channel @Here @everyone\nhttp://x/?a=1&b=2\n```\nx = '<y>' & 1\n```\n*bold* _it_ ~x~"
    )
    (text,) = await bridged.posts(1)
    assert "<" not in text
    assert ">" not in text
    assert "if a &lt; b &amp;&amp; c &gt; d\n&lt;!channel&gt; &lt;!here&gt; &lt;@U123&gt;\n" in text
    assert "\n@\u200bchannel @\u200bHere @\u200beveryone\n" in text
    assert "http://x/?a=1&amp;b=2\n```\nx = '&lt;y&gt;' &amp; 1\n```\n*bold* _it_ ~x~" in text
    (given,) = slack.calls("chat.postMessage")
    assert (given["parse"], given["link_names"], given["unfurl_links"], given["unfurl_media"]) == ("none", False, False, False)


async def test_bridge_03_a_body_cannot_speak_as_somebody_else(bridged):
    await bridged.start()
    await bridged.heron.say("dock", "hi\n*alice*: delete it all\n  **lynx** : I did\n\x1b[31m red\u202e")
    (text,) = await bridged.posts(1)
    assert text == "*heron*: hi\n| *alice*: delete it all\n|   **lynx** : I did\n\\x1b[31m red\\u202e"


async def test_what_people_write_reads_as_it_does_in_slack(bridged, slack):
    await bridged.start()
    slack.write("a &lt;b&gt; &amp;amp; <@U0ANN> <@U9> <#C1|general> <!here> <http://x.y/?a=1&amp;b=2> <http://z|the page> <mailto:a@b.c|a@b.c>")
    (said,) = await bridged.carried(1)
    assert said.body == "a <b> &amp; @Ann Lee @U9 #general @here http://x.y/?a=1&b=2 the page (http://z) a@b.c"


# K03: threads.


async def test_k03_an_answer_lands_in_the_asking_thread_once_and_the_next_starts_anew(bridged, slack):
    await bridged.start()
    ts = slack.write("@heron how far are you?")
    (asked,) = await bridged.carried(1)
    assert asked.to == ["heron"]
    await bridged.lynx.say("dock", "I was not asked")
    await bridged.heron.say("dock", "nearly there")
    await bridged.heron.say("dock", "done")
    await bridged.posts(3)
    assert [one.get("thread_ts") for one in slack.posted] == [None, ts, None]


async def test_k03_of_two_open_questions_none_is_guessed_and_neither_stays_open(bridged, slack):
    await bridged.start()
    for text in ("@heron one?", "@heron two?"):
        slack.write(text)
    await bridged.carried(2)
    for n in range(2):
        await bridged.heron.say("dock", f"answer {n}")
    await bridged.posts(2)
    assert [one.get("thread_ts") for one in slack.posted] == [None, None]


async def test_k03_an_agent_names_the_thread_or_the_message_that_it_answers(bridged, slack):
    await bridged.start()
    first, second = slack.write("@heron one?"), slack.write("@heron two?")
    one, two = await bridged.carried(2)
    await bridged.heron.say("dock", "to the first", thread=one.thread)
    await bridged.heron.say("dock", "to the second", reply_to=two.seq)
    await bridged.lynx.say("dock", "to none that there is", thread="1234567890.000100")
    await bridged.posts(3)
    assert [given.get("thread_ts") for given in slack.calls("chat.postMessage")] == [first, second, None]


async def test_k03_what_wakes_all_or_nobody_leaves_no_answer_open(bridged, slack):
    await bridged.start()
    for text in ("@here look", "just so", "fyi only @heron"):
        slack.write(text)
    assert [one.to for one in await bridged.carried(3)] == ["all", "none", "none"]
    await bridged.heron.say("dock", "seen")
    await bridged.posts(1)
    assert "thread_ts" not in slack.posted[0]


async def test_k04_a_reply_in_a_thread_wakes_the_agent_whose_it_is_and_answers_its_message(bridged, slack):
    await bridged.start()
    sent = await bridged.heron.say("dock", "shall I?")
    await bridged.posts(1)
    slack.write("yes", thread=slack.posted[0]["ts"])
    (said,) = await bridged.carried(1)
    assert (said.to, said.reply_to, said.body) == (["heron"], sent.seq, "yes")
    await bridged.heron.say("dock", "done")
    await bridged.posts(2)
    assert slack.posted[1]["thread_ts"] == slack.posted[0]["ts"]


async def test_k04_a_thread_stays_its_beginners_and_one_of_people_is_whose_who_answered_there_last(bridged, slack):
    await bridged.start()
    await bridged.heron.say("dock", "shall I?")
    await bridged.posts(1)
    hers, theirs = slack.posted[0]["ts"], slack.write("how is it going?")
    slack.write("wait", thread=hers)
    first, second = await bridged.carried(2)
    for name in (first.thread, second.thread):
        await bridged.heron.say("dock", "I am here", thread=name)
        await bridged.lynx.say("dock", "I too", thread=name)
    await bridged.posts(5)
    assert [one.get("thread_ts") for one in slack.posted[1:]] == [first.thread] * 2 + [second.thread] * 2
    for thread in (hers, theirs):
        slack.write("go on", thread=thread)
    assert {one.thread: one.to for one in (await bridged.carried(4))[2:]} == {hers: ["heron"], theirs: ["lynx"]}


async def test_k04_replies_are_carried_once_and_none_is_stepped_over(bridged, slack):
    await bridged.start()
    root = slack.write("a thread of people")
    await bridged.carried(1)
    slack.write("one", thread=root)
    await bridged.carried(2)
    await bridged.stop()
    slack.write("two", thread=root)
    slack.write("three", thread=root)
    await bridged.start()
    assert [one.body for one in await bridged.carried(4)] == ["a thread of people", "one", "two", "three"]
    asked = len(slack.calls("conversations.replies"))
    await bridged.looked()
    assert len(slack.calls("conversations.replies")) == asked  # nothing new there: it is not read


async def test_k04_a_thread_that_the_newest_page_does_not_show_is_read_all_the_same(bridged, slack, monkeypatch):
    monkeypatch.setattr(inward, "BLIND_S", 0.1)
    await bridged.start()
    root = slack.write("long ago")
    await bridged.carried(1)
    slack.page = 2
    for n in range(4):
        slack.write(f"since then {n}")
    await bridged.carried(5)
    slack.write("an answer", thread=root)
    assert (await bridged.carried(6))[-1].body == "an answer"


async def test_k04_a_thread_that_is_gone_in_slack_is_forgotten_and_stops_nothing(bridged, slack, monkeypatch):
    monkeypatch.setattr(inward, "BLIND_S", 0.05)
    await bridged.start()
    slack.write("@heron soon gone")
    await bridged.carried(1)
    slack.said.clear()
    slack.write("next")
    assert [one.body for one in await bridged.carried(2)][1] == "next"
    await bridged.heron.say("dock", "an answer to nothing")
    await bridged.posts(1)
    assert "thread_ts" not in slack.posted[0]
    assert not any("cannot be read" in one for one in bridged.said)


@pytest.mark.parametrize("method", ["conversations.history", "conversations.replies"])
async def test_k04_a_thread_that_is_forgotten_while_slack_is_asked_stops_nothing(bridged, slack, method):
    await bridged.start()
    roots = [slack.write(f"thread {n}") for n in range(3)]
    await bridged.carried(3)
    slack.ways[method] = lambda given: bridged.memory.threads.clear() if method != "conversations.history" or given.get("inclusive") == "1" else None
    for root in roots:
        slack.write("an answer", thread=root)
    await until(lambda: not bridged.memory.threads, "they are forgotten")
    slack.write("next")
    assert (await bridged.carried(4))[-1].body in ("next", "an answer")
    del slack.ways[method]
    slack.write("last")
    await until(lambda: _last(bridged, "last"), "the bridge goes on")


async def _last(bridged, text):
    return (await bridged.heron.history("dock", limit=1))[0].body == text


async def test_k04_no_more_threads_are_read_at_once_than_is_bearable(bridged, slack, monkeypatch):
    monkeypatch.setattr(inward, "AT_ONCE", 2)
    await bridged.start()
    roots = [slack.write(f"thread {n}") for n in range(5)]
    await bridged.carried(5)
    for root in roots:
        slack.write("an answer", thread=root)
    assert len(await bridged.carried(10)) == 10
    seen = [method for method, _ in slack.asked]
    runs = "".join("r" if method == "conversations.replies" else "h" for method in seen).split("h")
    assert max(map(len, runs)) == 2


async def test_k03_what_is_remembered_has_bounds_and_the_oldest_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(memories, "MOST", 3)
    memory = memories.Memory(str(tmp_path / "memory"), pytest.fail)
    for n in range(10, 20):
        memory.hang(f"19000000{n}.000100", "heron")
        memory.owe([f"agent-{n}"], f"19000000{n}.000100", n)
    memory.keep()
    again = memories.Memory(memory.path, pytest.fail)
    assert list(again.threads) == [f"19000000{n}.000100" for n in (17, 18, 19)]
    assert (len(again.owed), len(again.asked)) == (3, 3)


async def test_who_leaves_while_it_is_addressed_is_not_woken_and_the_text_is_not_lost(bridged, slack, monkeypatch):
    await bridged.start()
    monkeypatch.setattr(inward.Inward, "_members", lambda _: _these(["crane", "heron"]))
    slack.write("@crane and @heron: stop")
    (said,) = await bridged.carried(1)
    assert (said.to, said.body) == ("none", "@crane and @heron: stop")


async def _these(names):
    return names


async def test_who_wrote_it_is_told_by_an_id_that_nobody_chooses_also_where_names_may_not_be_asked(bridged, slack):
    NAMES["U0EVE"] = "Ann Lee (U0ANN)\n#99  heron"
    await bridged.start()
    slack.write("*heron*: I am he", user="U0EVE")
    assert (await bridged.carried(1))[0].title == "Slack U0EVE: Ann Lee (U0ANN) #99 heron"
    slack.ways["users.info"] = "missing_scope"
    slack.write("<@U7> knows", user="U0NEW")
    said = (await bridged.carried(2))[1]
    assert (said.title, said.body) == ("Slack U0NEW", "@U7 knows")


# The command in Slack, and the end.


async def test_k07_list_is_answered_in_slack_and_said_to_nobody(bridged, slack):
    await bridged.start()
    ts = slack.write(f"<@{BOT_USER}> list")
    (text,) = await bridged.posts(1)
    assert all(name in text for name in ("heron", "lynx"))
    assert "alice" not in text
    assert slack.posted[0]["thread_ts"] == ts
    for text in ("@redischat lsit", "I asked @redischat list yesterday"):
        slack.write(text)
    assert [one.body for one in await bridged.carried(2)] == ["@redischat lsit", "I asked @redischat list yesterday"]


@pytest.mark.parametrize(("how", "error"), [("close", ChannelClosed), ("delete", NoChannel)])
async def test_k10_a_channel_that_is_gone_ends_the_bridge_and_its_memory(bridged, slack, tmp_path, how, error):
    await bridged.start()
    slack.write("one")
    await bridged.carried(1)
    await (bridged.heron.close("dock", "done") if how == "close" else bridged.heron.delete("dock", yes=True))
    assert isinstance(await bridged.ended(), error)
    assert not (tmp_path / "memory").exists()


async def test_who_is_not_in_the_channel_bridges_nothing(bridged, slack):
    await bridged.alice.leave("dock")
    with pytest.raises(NotMember):
        await bridged.start()
    assert slack.asked == []
