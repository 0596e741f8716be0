"""What a client of the MCP server was given is read, and nothing else: limits, long messages, waits that end otherwise, clients that go away or do not listen."""

from __future__ import annotations

import time

import pytest
from mcp_lines import Lines, seqs
from waiting import wait_until

pytestmark = pytest.mark.real
MOST = 20_000  # characters of an answer
BIG = 200_000
AT_ONCE = 1.0  # seconds


@pytest.fixture
def pair(town):
    return town.pair()


def unread(person):
    """How many messages wait, as the command counts them."""
    return sum(one["pending"] for one in person("pending", "--json").records)


def says(person, *texts, to="heron"):
    for text in texts:
        person("say", "dock", "-", "--to", to, stdin=text)


def held(town):
    """Whether some reader of heron's has messages in hand: its mark names a lease."""
    return town.server.ask("HGET", "rc1:{default}:marks:heron", "dock").split(" ")[4] not in ("", "-")


def hears(town):
    """How many wait for heron."""
    return int(town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:bell:heron")[1])


def listening(town, count=1):
    """So many wait for heron."""
    wait_until(lambda: hears(town) == count, f"{count} wait")


def test_deliv_03_what_is_marked_is_exactly_what_is_given_by_shell_and_tool_alike(pair):
    heron, lynx = pair
    server = Lines(heron)
    says(lynx, "one", "two", "three", "four")
    got = server.record("read", limit=2)
    assert (seqs(got), got["more"], "2 more" in got["next"]) == ([1, 2], 2, True)
    assert unread(heron) == 2
    done = heron("read", "--limit", "1", "--json")
    assert [one["seq"] for one in done.records if one["kind"] == "message"] == [3]
    assert seqs(server.record("read")) == [4]
    assert seqs(server.record("read")) == []
    assert heron("read", "--json").out == ""


def test_mcp_04_a_reply_stays_below_the_limit_says_what_is_left_and_marks_only_what_it_holds(pair):
    heron, lynx = pair
    heron("reopen", "dock", "--max-messages", "0")
    for text in ("x" * 1_000, "\x1b" * 1_000, "é☃" * 300):
        says(lynx, *[text] * 12)
    server = Lines(heron)
    seen = []
    while unread(heron):
        number = server.call("read")
        result = server.answer(number)["result"]
        assert not result.get("isError")
        assert max(len(line.decode()) for line in server.out) <= MOST + 500  # the envelope of the protocol is around it
        record = result["structuredContent"]
        seen += seqs(record)
        assert unread(heron) == 36 - len(seen)
        assert record.get("more", 0) == 36 - len(seen)
        assert ("next" in record) is (len(seen) < 36)
    assert seen == list(range(2, 38))  # the first is the notice of the new cap


def test_mcp_04_a_message_larger_than_any_reply_is_given_in_pieces(pair):
    heron, lynx = pair
    text = "".join(f"{n:07} " for n in range(BIG // 8))
    says(lynx, text)
    server = Lines(heron)
    (first,) = server.record("read")["messages"]
    assert first["cut"] == BIG
    assert unread(heron) == 0
    whole, at = first["body"], first["next_offset"]
    while at is not None:
        (piece,) = server.record("read", channel="dock", since=1, offset=at)["messages"]
        whole += piece["body"]
        at = piece.get("next_offset")
        assert len(server.out[-1]) <= MOST + 500
    assert whole == text


def test_what_a_silent_client_did_not_take_comes_again_marked(town, pair):
    heron, lynx = pair
    server = Lines(heron)
    says(lynx, *["x" * 5_000] * 2)
    server.reading.clear()
    for _ in range(8):  # more than the pipe holds
        server.begin("tools/list")
    server.call("read")
    wait_until(lambda: unread(heron) == 2 and held(town), "it has the messages in hand")
    server.process.kill()
    server.process.wait()
    after = Lines(heron)
    got = after.record("read")  # waits until the lease of the one that was killed has lapsed
    assert [(one["seq"], one["repeat"]) for one in got["messages"]] == [(1, True)]


def test_what_a_client_leaves_in_the_pipe_comes_again_marked(town, pair):
    heron, lynx = pair
    server = Lines(heron)
    says(lynx, "left lying")
    server.reading.clear()
    number = server.begin("ping")  # what its reader has in hand when it stops
    wait_until(lambda: server.answered(number), "it reads no more")
    server.call("read")
    wait_until(lambda: held(town), "it has the message in hand")
    server.stop_reading()
    got = Lines(heron).record("read")
    assert [(one["seq"], one["repeat"]) for one in got["messages"]] == [(1, True)]


def test_mcp_03_one_wait_is_shorter_than_the_patience_of_clients(pair):
    heron, _ = pair
    server = Lines(heron, "--longest-wait", "0.3")
    begun = time.monotonic()
    got = server.record("wait", timeout=300)
    assert (got["timed_out"], got["messages"], "call wait again" in got["next"]) == (True, [], True)
    assert time.monotonic() - begun < 5


def test_mcp_03_after_a_cancel_the_message_is_unread_and_given_by_the_next_call(town, pair):
    heron, lynx = pair
    server = Lines(heron)
    number = server.call("wait", timeout=50)
    listening(town)
    server.tell("notifications/cancelled", {"requestId": number, "reason": "timeout"})
    listening(town, 0)
    says(lynx, "too late")
    assert unread(heron) == 1
    got = server.record("wait", timeout=20)
    assert (seqs(got), got["messages"][0]["repeat"]) == ([1], False)
    assert [one for one in server.heard() if one.get("id") == number] == []


def test_mcp_03_a_cancel_that_meets_the_message_loses_nothing(town, pair):
    heron, lynx = pair
    server = Lines(heron)
    seen = set()
    for n in range(1, 13):
        number = server.call("wait", timeout=50)
        wait_until(lambda: hears(town) or server.answered(number), "it waits, or has what the last one left")  # noqa: B023 - asked at once
        say = lynx.start("say", "dock", f"m{n}", "--to", "heron")
        server.tell("notifications/cancelled", {"requestId": number, "reason": "timeout"})
        say.wait()
        server.ask("ping")
    for one in server.heard():
        seen |= set(seqs(one["result"]["structuredContent"])) if "structuredContent" in one.get("result", {}) else set()
    while got := wait_until(lambda: not unread(heron) or seqs(server.record("read")), "they come again"):
        if got is True:
            break
        seen |= set(got)
    assert seen == set(range(1, 13))


def test_a_wait_shows_that_it_lives_and_gives_what_wakes(pair):
    heron, lynx = pair
    server = Lines(heron)
    number = server.call("wait", timeout=50)
    wait_until(lambda: [one for one in server.heard() if one.get("method") == "notifications/progress"], "a sign of life", 15)
    says(lynx, "wake up")
    assert seqs(server.answer(number)["result"]["structuredContent"]) == [1]
    assert unread(heron) == 0


def test_mcp_07_other_tools_answer_at_once_while_a_wait_runs(town, pair):
    heron, lynx = pair
    server = Lines(heron)
    number = server.call("wait", timeout=50)
    listening(town)
    for method, params in (
        ("tools/call", {"name": "say", "arguments": {"channel": "dock", "body": "hi"}}), ("tools/call", {"name": "lock", "arguments": {"channel": "dock", "paths": ["a"]}}),
        ("ping", {}), ("tools/list", {}), ("tools/call", {"name": "whoami", "arguments": {}}),
    ):  # fmt: skip
        begun = time.monotonic()
        assert not server.ask(method, params)["result"].get("isError")
        assert time.monotonic() - begun < AT_ONCE, method
    says(lynx, "done")
    assert seqs(server.answer(number)["result"]["structuredContent"]) == [2]


def test_mcp_07_waits_at_once_are_limited_by_rule(town, pair):
    heron, lynx = pair
    server = Lines(heron)
    numbers = [server.call("wait", timeout=50) for _ in range(4)]
    listening(town, 4)
    assert server.refusal("wait") == "REFUSED"
    says(lynx, "for one of them")
    given = wait_until(lambda: [one for one in server.heard() if one.get("id") in numbers and "result" in one], "one has it")
    assert [seqs(one["result"]["structuredContent"]) for one in given] == [[1]]
    left = [number for number in numbers if number != given[0]["id"]]
    for number in left:
        server.tell("notifications/cancelled", {"requestId": number})
    listening(town, 0)
    assert server.record("wait", timeout=0)["timed_out"]


def test_two_that_look_at_once_share_what_is_new_and_nothing_comes_twice(pair):
    heron, lynx = pair
    one, other = Lines(heron), Lines(heron)
    says(lynx, *"abcdefgh")
    numbers = [(server, server.call("read", limit=3)) for _ in range(2) for server in (one, other)]
    got = [server.answer(number)["result"]["structuredContent"] for server, number in numbers]
    assert sorted(seq for record in got for seq in seqs(record)) == list(range(1, 9))
