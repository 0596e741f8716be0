"""Gemini CLI with redischat's hooks: told at each step, refused a locked file; nothing wakes an idle one."""

from __future__ import annotations

import pytest
from products import gemini_lab, hold, text
from wired import heard_by, hears, peer, told_once, wire

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]


def with_bob(lab, *, here=False):
    """Amy's project, wired, and bob, who opened a channel for both."""
    wire(lab, "gemini", agent="amy")
    bob = peer(lab, "bob", here=here)
    bob("open", "dock", "--members", "amy")
    return bob


def test_a_gemini_is_told_at_the_start_in_the_middle_and_at_the_end():
    with gemini_lab() as lab:
        bob = with_bob(lab)
        bob("say", "dock", "before it began", "--to", "amy")
        words = lab.play(hold("middle", lab.shell("redischat whoami")), hold("end", text("done")), text("really done"))
        run = lab.start(lab.program, *lab.flags(), "-o", "stream-json", "-p", words, name="run")
        first = lab.asked(lambda one: one.play == "1", "it began")
        assert "redischat: you are amy." in first.shown
        assert hears("before it began")(first)
        bob("say", "dock", "in the middle", "--to", "amy")
        lab.release("middle")
        middle = lab.asked(hears("in the middle"), "it was told in the middle")
        assert "amy" in middle.newest
        bob("say", "dock", "at the end", "--to", "amy")
        lab.release("end")
        lab.asked(hears("at the end"), "it was told before it ended")
        assert run.wait(20) == 0
        assert heard_by(lab, "amy", "dock") == 3
        assert all(told_once(lab, words) for words in ("before it began", "in the middle", "at the end"))


def test_a_locked_file_is_changed_neither_by_the_editor_nor_by_the_shell():
    with gemini_lab() as lab:
        for name in ("locked.txt", "free.txt"):
            lab.file(name, "alpha\n")
        bob = with_bob(lab, here=True)
        bob("lock", "dock", "locked.txt", "--reason", "release")
        edits = [lab.edit(name, "alpha", "beta") for name in ("locked.txt", "free.txt")]
        assert lab.ask(*edits, lab.shell("sed -i s/alpha/gamma/ locked.txt"), lab.shell("cat locked.txt"), text("done")).code == 0
        assert (lab.project / "locked.txt").read_text() == "alpha\n"
        assert (lab.project / "free.txt").read_text() == "beta\n"
        refused = [one for one in lab.requests() if "Tool execution blocked: redischat: locked.txt is locked by bob" in one.newest]
        assert len(refused) == 2
