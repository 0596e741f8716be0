"""Claude Code with `setup --wake waiter`: a wake lands through the one that blocks, one a session is left after each turn, and a one-shot run ends at once."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from products import claude_lab, text
from waiting import wait_until
from wired import heard_by, hears, idle, peer, session_of, told_once, waker, wire

from redischat.hook import session as cards

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]

TURNS = 4
AT_ONCE_S = 15.0  # a one-shot run, its start included; a waiter would hold it up for ever


def waiting(lab):
    """How many wait for amy's session."""
    return cards.waiting(lab.env["REDISCHAT_STATE"], session_of(lab, "amy")["session"])


def processes(lab):
    """The waiters that run in the lab's project."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path("/proc", name, "cmdline").read_bytes().split(b"\0")
            here = Path("/proc", name, "cwd").readlink() == lab.project
        except OSError:
            continue
        found += [int(name)] if here and b"waiter" in words else []
    return found


@pytest.fixture
def lab():
    with claude_lab() as one:
        wire(one, "claude", agent="amy", waiter=True)
        yield one


def test_each_wake_lands_through_the_waiter_and_one_is_left_after_each_turn(lab):
    bob = peer(lab, "bob")
    bob("open", "dock", "--members", "amy")
    amy = lab.session()
    amy.prompt(*(step for n in range(TURNS) for step in (lab.shell(f"echo work {n}"), text(f"rest {n}"))), text("end"))
    waker(lab)
    for number in range(TURNS):
        idle(lab, "amy")
        wait_until(lambda: waiting(lab) == 1 and len(processes(lab)) == 1, "one waits")
        bob("say", "dock", f"wake {number}", "--to", "amy")
        lab.asked(hears(f"wake {number}"), f"wake {number} landed")
        assert session_of(lab, "amy")["way"] == "wait"
    assert all(told_once(lab, f"wake {number}") for number in range(TURNS))
    assert session_of(lab, "amy")["missed_ms"] == 0
    amy.close()
    wait_until(lambda: not processes(lab), "the waiters end with the session", 40)


def test_one_that_a_person_prompts_again_and_again_has_one_waiter(lab):
    amy = lab.session()
    for number in range(3):
        amy.turn(lab.shell(f"echo {number}"), text(f"rest {number}"))
    idle(lab, "amy")
    wait_until(lambda: waiting(lab) == 1 and len(processes(lab)) == 1, "one is left")
    amy.close()


def test_a_message_said_while_nobody_waits_yet_wakes_once_somebody_does(lab):
    bob = peer(lab, "bob")
    bob("open", "dock", "--members", "amy")
    amy = lab.session()
    waker(lab)
    amy.turn(text("ready"))
    bob("say", "dock", "at the edge", "--to", "amy")
    lab.asked(hears("at the edge"), "it was told or woke")
    wait_until(lambda: heard_by(lab, "amy", "dock") == 1, "once")
    assert told_once(lab, "at the edge")
    amy.close()


def test_a_one_shot_run_ends_at_once(lab):
    before = time.monotonic()
    lab.ask(lab.shell("echo hi"), text("done"))
    assert time.monotonic() - before < AT_ONCE_S
    assert processes(lab) == []
