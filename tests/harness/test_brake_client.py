"""Two real clients who only talk stop waking each other after twelve messages; with work in between they go on."""

from __future__ import annotations

import pytest
from products import claude_lab, text
from wired import Told, hears, idle, peer, session_of, waker, wire

from redischat.calls import messages
from redischat.flows import brake

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]

ROUNDS = brake.MOST  # each of them would say so many


def say(words, to):
    return f"redischat say dock '{words}' --to {to}"


def said(lab):
    """What amy and bob have said so far, and the room's own words on the brake."""
    told = Told(lab)
    found = told(messages.entries(told.keys, "dock", "dock", "-"))
    return [one for one in found if one["kind"] == "message" and one["from"] in ("amy", "bob")], [one for one in found if one["status"] == "brake"]


def answers(lab, to, *, work):
    """Steps of one who answers each time that it is woken; with ``work`` it does something before."""
    steps = []
    for number in range(ROUNDS):
        steps += [lab.shell(f"echo work {number}")] if work else []
        steps += [lab.shell(say(f"{to} word {number}", to)), text("idle")]
    return steps


@pytest.mark.parametrize("work", [False, True], ids=["only talk", "work in between"])
def test_after_twelve_messages_they_sleep_unless_something_was_done(work):
    with claude_lab() as lab:
        other = lab.beside("other")
        wire(lab, "claude", agent="amy")
        wire(other, "claude", agent="bob")
        clerk = peer(lab, "clerk")
        clerk("open", "dock", "--members", "amy,bob")
        amy, bob = lab.session(), other.session()
        waker(lab)
        bob.prompt(text("ready"), *answers(lab, "amy", work=work))
        idle(lab, "bob")
        amy.prompt(*answers(lab, "bob", work=work))
        most = brake.MOST if not work else brake.MOST + 4
        lab.asked(lambda _: len(said(lab)[0]) >= most, "they talk", 120)
        if work:
            assert said(lab)[1] == [], "nobody braked them"
        else:
            idle(lab, "amy")
            idle(lab, "bob")
            talk, told = said(lab)
            assert len(talk) == brake.MOST
            assert len(told) == 1
            assert not session_of(lab, "amy")["asked_ms"] + session_of(lab, "bob")["asked_ms"], "nobody is rung"
            clerk("say", "dock", "go on, both", "--to", "amy,bob")
            lab.asked(hears("go on, both"), "a third one wakes them again")
        amy.close()
        bob.close()
