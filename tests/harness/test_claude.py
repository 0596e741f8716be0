"""Claude Code with redischat's hooks: two sessions talk, an idle one is woken, a working one is told, a locked file stays as it is."""

from __future__ import annotations

import pytest
from products import claude_lab, hold, text, tool
from wired import heard_by, hears, idle, peer, read_by, session_of, told_once, waker, wire

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]

WAKES = 12


def said(words, to, channel="dock"):
    """The command by which an agent says something."""
    return f"redischat say {channel} '{words}' --to {to}"


def test_a_conversation_of_six_messages_between_two_repositories():
    with claude_lab() as lab:
        other = lab.beside("other")
        wire(lab, "claude", agent="amy")
        wire(other, "claude", agent="bob")
        peer(lab, "clerk")("open", "dock", "--members", "amy,bob")
        amy, bob = lab.session(), other.session()
        bob.prompt(
            text("ready"), lab.shell(said("second", "amy")), text("idle"), lab.shell(said("fourth", "amy")), text("idle"), lab.shell(said("sixth", "amy"))
        )
        waker(lab)
        idle(lab, "bob")
        amy.prompt(
            lab.shell(said("first", "bob")), hold("second is there", lab.shell("echo work")), lab.shell(said("third", "bob")), text("idle"),
            lab.shell(said("fifth", "bob")), text("done"),
        )  # fmt: skip
        lab.asked(hears("first"), "bob, idle, was woken")
        lab.asked(lambda request: "stored: second" in request.newest, "bob answered")
        lab.release("second is there")
        second = lab.asked(hears("second"), "amy was told")
        assert "work" in second.newest
        for words in ("third", "fourth", "fifth", "sixth"):
            lab.asked(hears(words), f"the {words} message was shown")
        for words in ("first", "second", "third", "fourth", "fifth", "sixth"):
            assert told_once(lab, words), f"the {words} message was shown more than once"
        amy.close()
        bob.close()


def test_an_idle_session_is_woken_twelve_times_with_work_in_between():
    with claude_lab() as lab:
        wire(lab, "claude", agent="amy")
        bob = peer(lab, "bob")
        bob("open", "dock", "--members", "amy")
        amy = lab.session()
        work = [step for number in range(WAKES) for step in (lab.shell(f"echo work {number}"), text(f"rest {number}"))]
        play = amy.prompt(text("ready"), *work).play
        waker(lab)
        for number in range(WAKES):
            idle(lab, "amy")
            bob("say", "dock", f"wake {number}", "--to", "amy")
            lab.asked(hears(f"wake {number}"), f"wake {number} landed")
            lab.asked(lambda one, number=number: one.play == play and one.reply == ["text", f"rest {number}"], "and led to work")
        assert all(told_once(lab, f"wake {number}") for number in range(WAKES))
        assert session_of(lab, "amy")["missed_ms"] == 0
        amy.close()


def test_what_a_wake_leads_to_shows_the_message_once_and_marks_it_read():
    with claude_lab() as lab:
        wire(lab, "claude", agent="amy")
        bob = peer(lab, "bob")
        bob("open", "dock", "--members", "amy")
        amy = lab.session()
        amy.turn(text("ready"))
        waker(lab)
        idle(lab, "amy")
        bob("say", "dock", "rebase first", "--to", "amy")
        woken = lab.asked(hears("rebase first"), "amy was woken")
        assert woken.newest.count("rebase first") == 1
        assert "redischat (amy): 1 message for you in #dock (bob)" in woken.newest
        assert "UserPromptSubmit hook additional context: redischat: 1 new message for you (amy)" in woken.newest
        assert read_by(lab, "amy", "dock") == 1
        assert session_of(lab, "amy")["landed_ms"]
        amy.turn(lab.shell("echo more"), text("done"))
        assert told_once(lab, "rebase first")
        amy.close()


def locked(lab):
    """Bob, at another shell of the same project, holds locked.txt; free.txt is nobody's."""
    for name in ("locked.txt", "free.txt"):
        lab.file(name, "alpha\n")
    wire(lab, "claude", agent="amy")
    bob = peer(lab, "bob", here=True)
    bob("open", "dock", "--members", "amy")
    bob("lock", "dock", "locked.txt", "--reason", "release")


def test_a_locked_file_is_edited_neither_by_the_editor_nor_by_the_shell():
    with claude_lab() as lab:
        locked(lab)
        edits = [lab.edit(name, "alpha", "beta") for name in ("locked.txt", "free.txt")]
        lab.ask(
            lab.read("locked.txt"), lab.read("free.txt"), *edits, lab.shell("sed -i s/alpha/gamma/ locked.txt"), lab.shell("echo x >>free.txt; cat locked.txt"),
            text("done"),
        )  # fmt: skip
        assert (lab.project / "locked.txt").read_text() == "alpha\n"
        assert (lab.project / "free.txt").read_text() == "beta\nx\n"
        refused = [one for one in lab.requests() if "locked.txt is locked by bob (release), until" in one.newest]
        assert len(refused) == 2


def test_a_compacted_session_is_told_again_who_it_is():
    with claude_lab() as lab:
        wire(lab, "claude", agent="amy")
        bob = peer(lab, "bob")
        bob("open", "dock", "--members", "amy")
        amy = lab.session()
        amy.turn(lab.shell("echo hi"), text("done"))
        before = session_of(lab, "amy")["session"]
        amy.terminal.type("/compact")
        amy.terminal.press("enter", lambda: "Compacted" in amy.terminal.text, "it was compacted")
        first, *_ = amy.turn(lab.shell("redischat whoami"), text("done"))
        assert "SessionStart hook additional context: redischat: you are amy." in first.shown
        assert "amy" in lab.requests()[-1].newest
        assert session_of(lab, "amy")["session"] == before
        amy.close()


def test_a_run_without_a_terminal_is_told_at_the_start_in_the_middle_and_at_the_end():
    with claude_lab() as lab:
        wire(lab, "claude", agent="amy")
        bob = peer(lab, "bob")
        bob("open", "dock", "--members", "amy")
        bob("say", "dock", "before it began", "--to", "amy")
        run = lab.start(
            lab.program, "-p", lab.play(hold("middle", lab.shell("echo work")), hold("end", text("done")), text("really done")), *lab.flags(), name="run"
        )
        first = lab.asked(lambda one: one.play == "1", "it began")
        assert "SessionStart hook additional context: redischat: you are amy." in first.shown
        assert hears("before it began")(first)
        bob("say", "dock", "in the middle", "--to", "amy")
        lab.release("middle")
        lab.asked(hears("in the middle"), "it was told in the middle")
        bob("say", "dock", "at the end", "--to", "amy")
        bob("say", "dock", "by the way", "--to-none")
        lab.release("end")
        last = lab.asked(hears("at the end"), "it was told before it ended")
        assert "Stop hook" in last.newest
        assert run.wait(20) == 0
        assert lab.requests()[-1].reply == ["text", "really done"]
        assert heard_by(lab, "amy", "dock") == 4


def test_a_fed_session_is_woken_and_told_in_the_middle_of_a_turn():
    with claude_lab() as lab:
        wire(lab, "claude", agent="amy")
        bob = peer(lab, "bob")
        bob("open", "dock", "--members", "amy")
        stream = lab.stream()
        stream.turn(text("ready"))
        waker(lab)
        bob("say", "dock", "wake up", "--to", "amy")
        lab.asked(hears("wake up"), "it was woken")
        stream.send(lab.play(hold("told", lab.shell("echo work")), text("done")))
        lab.asked(lambda one: one.play == "2", "the second turn began")
        bob("say", "dock", "in the middle", "--to", "amy")
        lab.release("told")
        told = lab.asked(hears("in the middle"), "it was told in the middle")
        assert "work" in told.newest
        assert told_once(lab, "wake up")
        assert told_once(lab, "in the middle")
        assert stream.close() == 0


def test_a_subagent_is_told_nothing_and_may_not_take_its_parents_mail():
    with claude_lab() as lab:
        wire(lab, "claude", agent="amy")
        bob = peer(lab, "bob")
        bob("open", "dock", "--members", "amy")
        below = lab.play(hold("below", lab.shell("redischat read dock")), text("below is done"))
        run = lab.start(
            lab.program, "-p", lab.play(tool("Agent", description="x", prompt=below, subagent_type="general-purpose", run_in_background=False), text("done")),
            *lab.flags(), name="run",
        )  # fmt: skip
        lab.asked(lambda one: one.play == "1", "the subagent began")
        bob("say", "dock", "for amy alone", "--to", "amy")
        lab.release("below")
        lab.asked(lambda one: "would take the parent's mail" in one.newest, "the subagent was refused")
        shown = lab.asked(hears("for amy alone"), "the parent was told")
        assert shown.play == "2"
        assert run.wait(20) == 0
        assert told_once(lab, "for amy alone")
