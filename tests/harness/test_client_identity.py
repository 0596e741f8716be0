"""Who a session of a real client is, over its life: cleared it is the same agent; nobody at first, it becomes somebody, and is woken; its shell knows who it is."""

from __future__ import annotations

from json import loads

import pytest
from products import claude_lab, codex_lab, gemini_lab, text
from waiting import wait_until
from wired import hears, idle, peer, session_of, told_once, waker, wire

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]


def cleared(session, lab):
    """Type /clear, and wait until the next conversation is known."""
    before = session_of(lab, "amy")["session"]
    session.terminal.type("/clear")
    session.terminal.press("enter", lambda: session_of(lab, "amy")["session"] != before, "another session is amy")


def test_a_cleared_claude_is_the_same_agent_and_is_woken_as_before():
    with claude_lab() as lab:
        wire(lab, "claude", agent="amy")
        bob = peer(lab, "bob")
        bob("open", "dock", "--members", "amy")
        amy = lab.session()
        amy.turn(lab.shell("redischat say dock hello --to bob"), text("done"))
        waker(lab)
        idle(lab, "amy")
        cleared(amy, lab)
        amy.turn(lab.shell("redischat whoami --json"), lab.shell("redischat say dock 'still me' --to-none"), text("done"))
        assert any('"agent": "amy"' in one.newest and '"token": true' in one.newest for one in lab.requests())
        idle(lab, "amy")
        bob("say", "dock", "after the clear", "--to", "amy")
        woken = lab.asked(hears("after the clear"), "amy was woken")
        assert woken.newest.count("after the clear") == 1
        (row,) = [row for row in map(loads, bob("who", "--json").splitlines()) if row["agent"] == "amy"]
        assert [(one["holds"], one["wake"]["proof"]) for one in row["sessions"]] == [(True, "proved")]
        assert told_once(lab, "after the clear")
        amy.close()


def test_a_claude_that_becomes_somebody_in_mid_session_is_told_and_woken():
    with claude_lab() as lab:
        wire(lab, "claude", agent="unwished")
        (lab.project / ".redischat" / "config").unlink()
        bob = peer(lab, "bob")
        bob("open", "dock", "--members", "amy")
        bob("say", "dock", "waiting for you", "--to", "amy")
        session = lab.session()
        session.turn(text("ready"))
        session.turn(lab.shell("redischat identify amy"), lab.shell("echo work"), text("done"))
        lab.asked(hears("waiting for you"), "amy was told")
        waker(lab)
        idle(lab, "amy")
        bob("say", "dock", "wake up", "--to", "amy")
        assert "bob" in lab.asked(hears("wake up"), "amy was woken").shown
        session.close()


def test_a_codex_is_told_the_name_that_its_shell_must_say():
    with codex_lab() as lab:
        wire(lab, "codex", agent="amy")
        peer(lab, "bob")("open", "dock", "--members", "amy")
        words = lab.play(text("done"))
        run = lab.start(lab.program, "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", words, name="run")
        run.stdin.close()
        assert "say --as amy with every redischat command" in lab.asked(lambda one: one.play == "1", "it began").shown


def test_the_shell_of_a_gemini_knows_which_session_it_is_of():
    with gemini_lab() as lab:
        wire(lab, "gemini", agent="amy")
        peer(lab, "bob")("open", "dock", "--members", "amy")
        lab.ask(lab.shell("redischat whoami --json"), text("done"))
        asked = [one for one in lab.requests() if '"agent"' in one.newest]
        assert asked
        session = wait_until(lambda: session_of(lab, "amy")["session"], "amy is known")
        assert session in asked[0].newest
