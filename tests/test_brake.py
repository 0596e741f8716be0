"""Two agents who only talk stop waking each other; anything else wakes them again; what they say is kept."""

from __future__ import annotations

from contextlib import closing

import pytest

from redischat.calls import messages, sessions
from redischat.calls.call import Caller, Once
from redischat.flows import brake, channels
from redischat.flows import tasks as board
from redischat.hook import deliver
from redischat.keys import Keys
from redischat.wire import Wire

KEYS = Keys("default")
AMY, BOB, EVE = (Caller(KEYS, name) for name in ("amy", "bob", "eve"))


@pytest.fixture
def wire(real):
    with closing(Wire(real.url)) as one:
        one.drive(channels.enter(AMY, "dock", channels.Wanted(members=["bob", "eve"]), Once()))
        for who in (AMY, BOB):
            one.run(sessions.begin(KEYS, f"s-{who.me}", who.agent, harness="claude", host="vm", pid=1, project="/p", way="file"))
        yield one


def say(wire, who, to, text="ok"):
    wire.run(messages.post(who, "dock", messages.Draft(text, to=[to]), once=Once()))


def chat(wire, count):
    """They say ok to each other, the last word to bob; nobody has read anything."""
    for n in range(count):
        who, other = (AMY, "bob") if n % 2 != count % 2 else (BOB, "amy")
        say(wire, who, other)


def woken(wire, who=BOB):
    return [row["channel"] for row in wire.drive(deliver.waiting(who))]


def notices(wire):
    found = wire.run(messages.entries(KEYS, "dock", "dock", "-"))
    return [one["body"] for one in found if one["status"] == "brake"]


def heard(wire):
    """Both have heard all so far: only what comes now can wake."""
    head = max(one["seq"] for one in wire.run(messages.entries(KEYS, "dock", "dock", "-")))
    for who in (AMY, BOB):
        wire.run(messages.ack(who, "-", [("dock", "", "both", head, 0)]))


def test_a_short_handoff_is_not_cut(wire):
    chat(wire, brake.MOST - 1)
    assert woken(wire) == ["dock"]
    assert notices(wire) == []


def test_after_twelve_words_to_and_fro_neither_is_woken_and_the_room_is_told_once(wire):
    chat(wire, brake.MOST)
    assert (woken(wire), woken(wire, AMY)) == ([], [])
    assert woken(wire) == []
    (told,) = notices(wire)
    assert told.startswith("amy and bob have said 12 messages or more to each other and done nothing else")
    assert len([one for one in wire.run(messages.entries(KEYS, "dock", "dock", "-")) if one["kind"] == "message"]) == brake.MOST, "all is stored"


def test_reports_that_nobody_answers_are_no_loop(wire):
    for _ in range(2 * brake.MOST):
        say(wire, AMY, "bob", "step done")
    assert woken(wire) == ["dock"]
    assert notices(wire) == []


def test_a_third_one_wakes_them_again(wire):
    chat(wire, brake.MOST)
    heard(wire)
    say(wire, EVE, "bob", "please look at T-1")
    assert woken(wire) == ["dock"]
    heard(wire)
    say(wire, AMY, "bob")
    assert woken(wire) == ["dock"], "the count begins anew"


@pytest.mark.parametrize(("event", "resets"), [("tool", True), ("prompt", True), ("talk", False), ("woken", False), ("idle", False)])
def test_work_and_a_persons_prompt_reset_it_and_talk_does_not(wire, event, resets):
    chat(wire, brake.MOST)
    heard(wire)
    wire.run(sessions.tick(KEYS, "s-amy", "amy", event))
    say(wire, AMY, "bob")
    assert woken(wire) == (["dock"] if resets else [])


def test_a_change_of_a_task_resets_it(wire):
    chat(wire, brake.MOST)
    heard(wire)
    fields = {"id": "", "owner": "-", "priority": 2, "deps": "-", "title": "x", "branch": "", "files": "[]", "acceptance": "[]"}
    wire.drive(board.create(AMY, "dock", fields, Once()))
    say(wire, AMY, "bob")
    assert woken(wire) == ["dock"]


def test_a_second_stretch_is_told_again(wire):
    chat(wire, brake.MOST)
    assert woken(wire) == []
    say(wire, EVE, "bob", "go on")
    chat(wire, brake.MOST)
    heard(wire)
    say(wire, AMY, "bob")
    assert woken(wire) == []
    assert len(notices(wire)) == 2


def test_the_receipt_says_that_nobody_was_woken_and_why(town):
    amy, bob = town.person("amy"), town.person("bob")
    amy("open", "dock", "--as", "amy", "--members", "bob")
    for n in range(brake.MOST):
        who, name, other = (amy, "amy", "bob") if n % 2 else (bob, "bob", "amy")
        said = who("say", "dock", "ok", "--as", name, "--to", other, "--json").record
        assert said["braked"] == ([other] if n == brake.MOST - 1 else []), n
    assert "NOT WOKEN bob: brake" in amy("say", "dock", "ok", "--as", "amy", "--to", "bob").out
