"""OpenCode with redischat's plugin: told, refused a locked file, and woken when idle."""

from __future__ import annotations

import pytest
from products import hold, opencode_lab, text
from wired import heard_by, hears, idle, peer, session_of, told_once, waker, wire

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]


def with_bob(lab, *, here=False):
    """Amy's project, wired, and bob, who opened a channel for both."""
    wire(lab, "opencode", agent="amy")
    bob = peer(lab, "bob", here=here)
    bob("open", "dock", "--members", "amy")
    return bob


def test_an_opencode_is_told_at_the_start_and_in_the_middle():
    with opencode_lab() as lab:
        bob = with_bob(lab)
        bob("say", "dock", "before it began", "--to", "amy")
        server = lab.serve()
        words = lab.play(hold("middle", lab.shell("echo work")), text("done"))
        server.wake(words)
        try:
            first = lab.asked(lambda one: one.play == "1", "it began", 5)
        except AssertionError:  # the ring for what was said before came in behind the prompt, and the model answered that one
            server.wake(words)
            first = lab.asked(lambda one: one.play == "1", "it began")
        assert "redischat: you are amy." in first.shown
        assert hears("before it began")(first)
        bob("say", "dock", "in the middle", "--to", "amy")
        lab.release("middle")
        middle = lab.asked(hears("in the middle"), "it was told in the middle")
        assert "work" in middle.newest
        assert heard_by(lab, "amy", "dock") == 2
        assert all(told_once(lab, words) for words in ("before it began", "in the middle"))


def test_a_locked_file_is_changed_neither_by_the_editor_nor_by_the_shell():
    with opencode_lab() as lab:
        for name in ("locked.txt", "free.txt"):
            lab.file(name, "alpha\n")
        bob = with_bob(lab, here=True)
        bob("lock", "dock", "locked.txt", "--reason", "release")
        server = lab.serve()
        edits = [lab.edit(name, "alpha", "beta") for name in ("locked.txt", "free.txt")]
        server.turn(
            lab.read("locked.txt"), lab.read("free.txt"), *edits, lab.shell("sed -i s/alpha/gamma/ locked.txt"), lab.shell("cat locked.txt"), text("done")
        )
        assert (lab.project / "locked.txt").read_text() == "alpha\n"
        assert (lab.project / "free.txt").read_text() == "beta\n"
        assert len([one for one in lab.requests() if "locked.txt is locked by bob (release)" in one.newest]) == 2


def test_an_idle_opencode_is_woken_and_told_once():
    with opencode_lab() as lab:
        bob = with_bob(lab)
        server = lab.serve()
        server.turn(text("ready"))
        waker(lab)
        idle(lab, "amy")
        bob("say", "dock", "rebase first", "--to", "amy")
        lab.asked(hears("rebase first"), "amy was woken")
        server.turn(lab.shell("echo more"), text("done"))
        assert told_once(lab, "rebase first")
        assert session_of(lab, "amy")["landed_ms"]
