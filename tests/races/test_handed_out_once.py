"""Eight agents talk at once and one agent listens through many processes: each message is handed out exactly once, and no mark runs ahead of what was shown."""

# ruff: noqa: SLF001 - drives a flow by hand, step by step

from __future__ import annotations

import time

import pytest
from crowd import ME, both_servers, caller, crowd_on, granted, marks, one_server, open_rooms, serving, shown, stored, wired

from redischat.calls import channels as channel_calls
from redischat.calls import messages
from redischat.calls.call import Listen, Once
from redischat.flows import reading

pytestmark = [pytest.mark.real, pytest.mark.races]
TALKERS = [f"p{i}" for i in range(8)]
EACH = 25
ALL = len(TALKERS) * EACH
ROOMS = ["a", "b", "c"]
AUDIENCES = ["", "", "none", "all", ME, f"p0,{ME}", "p1"]


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        yield server


@pytest.fixture
def crowd(server):
    with crowd_on(server) as crowd:
        yield crowd


def talk(crowd, rooms, *, cli_share, count=EACH, audiences=AUDIENCES):
    for i, agent in enumerate(TALKERS):
        crowd.add("post", agent=agent, rooms=rooms, count=count, cli=cli_share, audiences=audiences, seed=i)


def run_to_the_end(crowd, server, rooms):
    """Talkers to their end, then readers to theirs; meanwhile no mark may stand above what was shown."""
    crowd.go()
    talkers = crowd.of("post")
    while any(worker.poll() is None for worker in talkers):
        assert_marks_behind_what_was_shown(crowd, server, rooms)
    crowd.done(talkers)
    crowd.stop(crowd.of("wait", "read", "command"))
    assert_marks_behind_what_was_shown(crowd, server, rooms)


def assert_marks_behind_what_was_shown(crowd, server, rooms):
    """What a mark covers was written down before the mark moved; so it is in the ledgers once they are read after the mark."""
    before = marks(server)
    seen = shown(crowd.told())
    for room in rooms:
        _, read = before[room]
        missing = [seq for seq in range(1, read + 1) if (room, seq) not in seen]
        assert not missing, (room, read, missing)


def assert_each_once_without_a_gap(crowd, server, rooms, count=ALL):
    seen = shown(crowd.told())
    said = [(row["channel"], row["seq"]) for row in crowd.told() if row.get("what") == "said"]
    assert len(said) == len(set(said)) == count
    for room in rooms:
        assert sorted(seq for at, seq in said if at == room) == list(range(1, len(stored(server, room)) + 1))
    assert sorted(seen) == sorted(said)
    assert {key: marks for key, marks in seen.items() if marks != [False]} == {}


@both_servers
def test_a_wait_and_a_read_beside_each_other_get_each_message_once(server, crowd):
    open_rooms(server, ["a"], [ME, *TALKERS])
    talk(crowd, ["a"], cli_share=0.1)
    crowd.add("wait", rooms=["a"])
    crowd.add("read", rooms=["a"], how="read")
    run_to_the_end(crowd, server, ["a"])
    assert_each_once_without_a_gap(crowd, server, ["a"])
    assert sorted(stored(server, "a")) == list(range(1, ALL + 1))


@both_servers
def test_three_hooks_beside_them_over_three_channels_change_nothing(server, crowd):
    open_rooms(server, ROOMS, [ME, *TALKERS])
    talk(crowd, ROOMS, cli_share=0.1)
    crowd.add("wait", rooms=ROOMS)
    crowd.add("read", rooms=ROOMS, how="read")
    for _ in range(3):
        crowd.add("read", rooms=ROOMS, how="hear")
    run_to_the_end(crowd, server, ROOMS)
    assert_each_once_without_a_gap(crowd, server, ROOMS)


@one_server
def test_real_commands_alone_do_the_same(server, crowd):
    open_rooms(server, ROOMS, [ME, *TALKERS])
    talk(crowd, ROOMS, cli_share=1)
    crowd.add("command", words=["wait", *ROOMS, "--timeout", "0.3", "--json", "--as", ME])
    crowd.add("command", words=["read", "--json", "--as", ME])
    run_to_the_end(crowd, server, ROOMS)
    assert_each_once_without_a_gap(crowd, server, ROOMS)


@both_servers
def test_what_hooks_only_pointed_at_comes_out_whole_at_the_next_read(server, crowd):
    open_rooms(server, ROOMS, [ME, *TALKERS])
    talk(crowd, ROOMS, cli_share=0, audiences=["none", ME, "p1"])
    for _ in range(3):
        crowd.add("read", rooms=ROOMS, how="hear")
    crowd.go()
    crowd.done(crowd.of("post"))
    crowd.stop(crowd.of("read"))
    by_hooks = shown(crowd.told())
    owed = {(room, seq): entry["to"] == ME and entry["x"] == "0" for room in ROOMS for seq, entry in stored(server, room).items()}
    assert sorted(by_hooks) == sorted(at for at, whole in owed.items() if whole)
    last = crowd.add("read", rooms=ROOMS, how="read")
    crowd.go([last])
    crowd.stop([last])
    assert sorted(shown(crowd.told(last))) == sorted(at for at, whole in owed.items() if not whole)


@both_servers
def test_a_wait_finds_what_wakes_it_behind_a_thousand_messages_that_do_not(server):
    open_rooms(server, ["a"], [ME, "amy"])
    say(server, "a", *[messages.Draft("not for you", audience="none")] * 1_100, messages.Draft("for you", to=[ME]))
    with wired(server) as wire:
        got = woken_at_once(wire, "l1")
    assert got.messages[0]["seq"] == 1


@both_servers
def test_a_wait_finds_what_wakes_it_behind_a_thousand_that_it_knows(server):
    open_rooms(server, ["a"], [ME, "amy"])
    say(server, "a", messages.Draft("not for you", audience="none"), *[messages.Draft("for you", to=[ME])] * 1_100)
    with wired(server) as wire:
        hear(wire, count=2_000, rounds=2)
        wire.drive(reading.hand_out(caller(ME), ["a"], "l2", reading.Limits(count=1)))
        say(server, "a", messages.Draft("the last", to=[ME]))
        got = woken_at_once(wire, "l3")
    assert [one["body"] for one in got.messages] == ["the last"]


@both_servers
def test_who_joins_while_a_wait_subscribes_is_heard(server):
    """The flow is driven by hand: the new channel comes between "which channels are mine?" and the subscription."""
    open_rooms(server, ["a"], [ME, "amy"])
    with wired(server) as wire:
        flow = reading.wait(caller(ME), reading.Waiting(seconds=5), "l1", time.monotonic)
        answer = wire.run(next(flow))
        assert answer == ["a"]
        open_rooms(server, ["new"], [ME, "amy"])
        say(server, "new", messages.Draft("welcome"))
        got = resumed(wire, flow, answer)
    assert [one["body"] for one in got.messages] == ["welcome"]


@both_servers
def test_a_channel_that_was_deleted_and_opened_again_still_wakes_a_wait(server):
    open_rooms(server, ["a", "b"], [ME, "amy"])
    say(server, "a", *[messages.Draft("for nobody", audience="none")] * 20)
    with wired(server) as wire:
        flow = reading.wait(caller(ME), reading.Waiting(seconds=5), "l1", time.monotonic)
        answer, listens = wire.run(next(flow)), 0
        asked = flow.send(answer)
        while not (isinstance(asked, Listen) and listens):  # until it has looked and listens in earnest
            listens += isinstance(asked, Listen)
            answer = wire._do(asked, None)
            asked = flow.send(answer)
        wire.run(channel_calls.delete(caller("amy"), "a", [ME, "amy"], once=Once()))
        open_rooms(server, ["a"], [ME, "amy"])
        say(server, "a", messages.Draft("anew"))
        got = resumed(wire, flow, wire._do(asked, None))
    assert [one["body"] for one in got.messages] == ["anew"]


def say(server, room, *drafts):
    with wired(server) as wire:
        for start in range(0, len(drafts), 200):
            wire.pipe([messages.post(caller("amy"), room, draft, once=Once()) for draft in drafts[start : start + 200]])


def woken_at_once(wire, lease):
    """What a wait gives that has long to go when it ends."""
    begun = time.monotonic()
    got = wire.drive(reading.wait(caller(ME), reading.Waiting(["a"], seconds=10), lease, time.monotonic))
    assert time.monotonic() - begun < 5, "it waited for its last look"
    return got


def hear(wire, *, count, rounds):
    for i in range(rounds):
        wire.drive(reading.hand_out(caller(ME), ["a"], f"h{i}", reading.Limits(count), "hear"))


def resumed(wire, flow, answer):
    """The rest of a flow that was driven by hand so far."""

    def rest(answer):
        while True:
            try:
                asked = flow.send(answer)
            except StopIteration as end:
                return end.value
            answer = yield asked

    with granted("the wait"):
        return wire.drive(rest(answer))
