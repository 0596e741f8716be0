"""The lab itself, without redischat: real clients, a fake model, and what a plain hook can do to them."""

from __future__ import annotations

import os

import pytest
from lab import Lab
from products import claude_lab, codex_lab, gemini_lab, hold, opencode_lab, refuse, text, tool, tools

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]

MAIL = "17 from bob: rebase onto main before you push"


def context(event, words, **more):
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": words, **more}}


def denied(words):
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": words}}


def two_edits(lab):
    """Edits of a locked and of a free file, one after the other."""
    lab.file("locked.txt", "alpha\n")
    lab.file("free.txt", "alpha\n")
    return lab.edit("locked.txt", "alpha", "beta"), lab.edit("free.txt", "alpha", "beta"), text("done")


def only_the_free_one_changed(lab):
    return (lab.project / "locked.txt").read_text() == "alpha\n" and (lab.project / "free.txt").read_text() == "beta\n"


def test_nothing_of_the_lab_outlives_it():
    lab = Lab()
    lab.start("sleep", "600")
    lab.run("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 &")
    assert len(lab.processes()) == 2
    left, folder = lab.processes(), lab.folder
    lab.close()
    assert not [pid for pid in left if os.path.exists(f"/proc/{pid}/exe")]
    assert not folder.exists()


def test_nothing_in_the_lab_reaches_beyond_it():
    lab = Lab()
    try:
        assert lab.run("cat", "/proc/net/dev").out.count(":") == 1
        assert lab.run("python3", "-c", "import socket; socket.create_connection(('192.0.2.1', 80), 5)").code
    finally:
        lab.close()


def test_what_a_claude_hook_says_at_the_start_is_in_the_first_request():
    with claude_lab() as lab:
        lab.record("SessionStart")
        lab.answer("SessionStart", context("SessionStart", "you are amy"))
        assert lab.ask(lab.shell("echo hi"), text("done")).code == 0
        first, second = lab.requests()
        assert "SessionStart hook additional context: you are amy" in first.shown
        assert "hi" in second.newest
        assert lab.hooks("SessionStart")[0]["given"]["source"] == "startup"


def test_a_claude_hook_keeps_an_edit_from_a_file():
    with claude_lab() as lab:
        lab.record("PreToolUse")
        lab.answer("PreToolUse", denied("locked.txt is locked by bob"), when="locked.txt")
        edits = two_edits(lab)
        lab.ask(lab.read("free.txt"), *edits)
        assert only_the_free_one_changed(lab)
        assert any("locked.txt is locked by bob" in one.newest for one in lab.requests())


def test_an_idle_claude_is_woken_by_a_file():
    with claude_lab() as lab:
        bell = lab.folder / "bell"
        lab.record("SessionStart", "Stop")
        lab.record("FileChanged", asyncRewake=True)
        lab.answer("SessionStart", context("SessionStart", "you are amy", watchPaths=[str(bell)]))
        lab.answer("FileChanged", err=MAIL, code=2)
        session = lab.session()
        session.turn(lab.shell("echo hi"), text("done"))
        lab.hooked("Stop")
        bell.write_text("1")
        assert MAIL not in lab.requests()[0].shown
        assert MAIL in lab.asked(lambda request: MAIL in request.newest, "the model was shown the mail").newest
        session.close()


def test_a_fed_claude_is_woken_by_a_file_and_shown_it_in_the_middle_of_a_turn():
    with claude_lab() as lab:
        bell = lab.folder / "bell"
        lab.record("SessionStart", "Stop")
        lab.record("FileChanged", asyncRewake=True)
        lab.answer("SessionStart", context("SessionStart", "you are amy", watchPaths=[str(bell)]))
        lab.answer("FileChanged", err=MAIL, code=2)
        stream = lab.stream()
        stream.turn(text("done"))
        bell.write_text("1")
        lab.asked(lambda request: MAIL in request.newest, "the model was shown the mail")
        stream.send(lab.play(hold("mail", lab.shell("echo hi")), text("done")))
        lab.asked(lambda request: request.play == "2", "the second turn began")
        bell.write_text("22")
        lab.hooked("FileChanged", 2)
        lab.release("mail")
        lab.asked(lambda request: request.play == "2" and MAIL in request.newest and "hi" in request.newest, "the mail came in the middle of the turn")
        assert stream.close() == 0


def test_a_codex_hook_keeps_a_patch_from_a_file_and_speaks_at_the_start():
    with codex_lab() as lab:
        lab.record("SessionStart", "PreToolUse")
        lab.answer("SessionStart", context("SessionStart", "you are amy"))
        lab.answer("PreToolUse", denied("locked.txt is locked by bob"), when="locked.txt")
        assert lab.ask(*two_edits(lab)).code == 0
        assert only_the_free_one_changed(lab)
        assert "you are amy" in lab.requests()[0].shown
        assert "Command blocked by PreToolUse hook: locked.txt is locked by bob" in lab.requests()[1].newest


@pytest.mark.parametrize("strange", [{"watchPaths": ["/tmp/x"]}, {"permissionDecision": "allow"}])
def test_codex_drops_all_that_a_hook_said_for_one_strange_word(strange):
    event = "PreToolUse" if "permissionDecision" in strange else "SessionStart"
    with codex_lab() as lab:
        lab.record(event)
        lab.answer(event, context(event, "you are amy", **strange))
        lab.ask(lab.shell("echo hi"), text("done"))
        assert lab.hooks(event)
        assert "you are amy" not in lab.requests()[-1].shown


def test_an_idle_codex_is_woken_by_a_queued_message():
    with codex_lab() as lab:
        lab.record("SessionStart", "Stop")
        session = lab.session()
        session.turn(lab.shell("echo hi"), text("done"))
        thread = lab.hooked("Stop")["given"]["session_id"]
        assert lab.queue(thread, MAIL).code == 0
        lab.asked(lambda request: MAIL in request.newest, "the model was shown the mail")
        session.close()


def test_a_gemini_hook_keeps_an_edit_from_a_file_and_speaks_at_the_start():
    with gemini_lab() as lab:
        lab.record("SessionStart", "BeforeTool", "AfterTool")
        lab.answer("SessionStart", context("SessionStart", "you are amy"))
        lab.answer("BeforeTool", {"decision": "deny", "reason": "locked.txt is locked by bob"}, when="locked.txt")
        lab.answer("AfterTool", context("AfterTool", MAIL), when="free.txt")
        assert lab.ask(*two_edits(lab)).code == 0
        assert only_the_free_one_changed(lab)
        assert "you are amy" in lab.requests()[0].shown
        assert "Tool execution blocked: locked.txt is locked by bob" in lab.requests()[1].newest
        assert MAIL in lab.requests()[2].newest


def test_an_opencode_plugin_keeps_an_edit_from_a_file_and_an_idle_session_is_woken():
    with opencode_lab() as lab:
        lab.record()
        lab.answer("experimental.chat.system.transform", "you are amy")
        lab.answer("tool.execute.before", err="locked.txt is locked by bob", when="locked.txt")
        server = lab.serve()
        edits = two_edits(lab)
        server.turn(lab.read("free.txt"), *edits)
        assert only_the_free_one_changed(lab)
        assert "you are amy" in lab.requests()[0].shown
        assert any("locked.txt is locked by bob" in one.newest for one in lab.requests())
        server.wake(MAIL)
        lab.asked(lambda request: MAIL in request.newest, "the model was shown the mail")


@pytest.mark.parametrize("open_lab", [claude_lab, codex_lab, gemini_lab, opencode_lab])
def test_every_client_is_talked_to_at_its_own_terminal(open_lab):
    with open_lab() as lab:
        session = lab.session()
        last = session.turn(lab.shell("echo one"), text("done"))[-1]
        assert "one" in last.newest
        last = session.turn(lab.shell("echo two"), text("done"))[-1]
        assert "two" in last.newest
        session.terminal.shows("done")
        session.close()
        assert not session.terminal.killed


def test_two_tools_at_once_are_one_step():
    with claude_lab() as lab:
        lab.record("PostToolBatch")
        lab.ask(tools(lab.shell("echo one"), lab.shell("echo two")), text("done"))
        assert len(lab.hooked("PostToolBatch")["given"]["tool_calls"]) == 2
        assert len(lab.requests()) == 2


def test_a_subagent_plays_a_script_of_its_own():
    with claude_lab() as lab:
        lab.record("PreToolUse")
        own = lab.play(lab.shell("echo from below"), text("below is done"))
        lab.ask(tool("Agent", description="x", prompt=own, subagent_type="general-purpose", run_in_background=False), text("done"))
        below = [one["given"] for one in lab.hooks("PreToolUse") if one["given"].get("agent_id")]
        assert [one["tool_name"] for one in below] == ["Bash"]
        assert lab.requests()[-1].reply == ["text", "done"]


def test_a_model_that_refuses_once_is_asked_again():
    with claude_lab() as lab:
        lab.ask(refuse(529, "overloaded_error"), seconds=8, env={"CLAUDE_CODE_MAX_RETRIES": "1"})
        assert len(lab.requests()) == 2
