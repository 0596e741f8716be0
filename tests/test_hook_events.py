"""Every event of every harness, through tick.py as a process: silent when there is nothing, else one answer that its client reads; and nothing is lost."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
from pathlib import Path

import pytest
from hooked import recorded, scene_in
from waiting import wait_until

from redischat.hook.deliver import headline

CLIENTS = ("claude", "codex", "gemini", "opencode")
CHARACTERS = 10_000  # of one string: a harness cuts what is longer
MAY = {  # what each client reads; Codex drops an answer in which it does not know a field
    "claude": {"SessionStart": {"additionalContext", "watchPaths"}, "PreToolUse": {"permissionDecision", "permissionDecisionReason"}},
    "codex": {"PreToolUse": {"permissionDecision", "permissionDecisionReason"}, "Stop": {"decision", "reason"}},
    "gemini": {"BeforeTool": {"decision", "reason"}, "AfterAgent": {"decision", "reason"}},
    "opencode": {name: {"context", "deny", "watch"} for name in ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop")},
}
TELLING = ("UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "Stop", "BeforeAgent", "AfterTool", "AfterAgent")
EVENTS = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolBatch", "Stop", "FileChanged", "SessionEnd")


@pytest.fixture
def scene(town):
    with scene_in(town) as found:
        yield found


@pytest.fixture(params=CLIENTS)
def any_scene(request, town):
    with scene_in(town, request.param) as found:
        yield found


def said(client, fired):
    """The keys of an answer, checked to be what its client reads at this event."""
    name, answer = fired.event["hook_event_name"], dict(fired.answer)
    own = answer.pop("hookSpecificOutput", None)
    if own is not None:
        assert own.pop("hookEventName") == name
        assert not answer
        answer = own
    assert answer.keys() <= MAY[client].get(name, {"additionalContext"}), (client, fired)
    flat = "decision" in answer or client == "opencode"
    assert flat == (own is None) or not answer
    assert answer.get("permissionDecision", "deny") == "deny"
    assert answer.get("decision", "deny") == ("block" if client == "codex" and "decision" in answer else "deny")
    assert fired.code == 0
    assert not fired.err
    return set(answer)


def everything(scene):
    """All that is stored but the presence and last sign of sessions."""
    return {key: value for key, value in scene.server.everything().items() if not key.endswith((":presence", ":agents"))}


def test_with_nothing_to_say_every_recorded_event_is_silent(any_scene):
    """LOOP-07."""
    client, before = any_scene.heron.client, everything(any_scene)
    for name in recorded(client):
        fired = any_scene.heron.replay(name)
        if fired.event["hook_event_name"] == "SessionStart":
            assert said(client, fired) <= {"additionalContext", "watchPaths", "context", "watch"}
        elif fired.event["hook_event_name"] == "SessionEnd":
            assert fired.silent, fired
            any_scene.begins()
        else:
            assert fired.silent, fired
    assert everything(any_scene) == before


def test_with_news_every_recorded_event_is_answered_as_its_client_reads_it(any_scene):
    client, heron = any_scene.heron.client, any_scene.heron
    any_scene.locked("locked.txt")
    for number, name in enumerate(recorded(client)):
        any_scene.lynx.post("dock", f"news {number}", to="heron")
        fired = heron.replay(name)
        event = fired.event["hook_event_name"]
        if event == "FileChanged":
            assert (fired.code, fired.out) == (2, b""), fired
            assert b"for you in #dock (lynx)" in fired.err
        else:
            keys = said(client, fired)
            child = "agent_id" in fired.event
            assert (f"    news {number}\n" in fired.text) == (event in TELLING and not child), fired
            assert bool(fired.denied) == (event in {"PreToolUse", "BeforeTool"} and "locked.txt" in json.dumps(fired.event["tool_input"]) and not reads(fired))
            assert keys or event not in TELLING or child
        if event == "SessionEnd":
            any_scene.begins()
        heron.works()


def reads(fired):
    return fired.event["tool_name"] in {"Read", "read", "read_file"}


def test_a_project_that_has_nothing_to_do_with_redischat_is_left_alone(town):
    with scene_in(town, begun=False) as scene:
        Path(scene.heron.directory, ".redischat", "config").unlink()
        before = scene.agents()
        for name in recorded("claude"):
            fired = scene.heron.replay(name)
            assert fired.silent or list(fired.own) == ["hookEventName", "watchPaths"], fired
        assert scene.agents() == before


def test_loop_01_a_message_keeps_a_turn_from_ending_once(scene):
    for words in ("first", "second"):
        scene.lynx.post("dock", words, to="heron")
        told = [scene.heron.fire("Stop", stop_hook_active=number >= 5) for number in range(10)]
        assert f"    {words}\n" in told[0].text
        assert all(one.silent for one in told[1:]), told


@pytest.mark.parametrize(
    ("agent", "shape"), [("claude-code_2-1-163_agent", "hookSpecificOutput"), ("claude-code_2-1-162_agent", "decision"), ("", "decision"), ("x_y", "decision")]
)
def test_a_claude_that_drops_context_at_the_end_of_a_turn_is_kept_from_ending_it(scene, agent, shape):
    scene.lynx.post("dock", "at the end", to="heron")
    fired = scene.heron.fire("Stop", options={"AI_AGENT": agent})
    assert shape in fired.answer
    assert "    at the end\n" in fired.text


def test_what_does_not_wake_me_lets_a_turn_end_and_is_pointed_at_in_the_next_step(scene):
    scene.lynx.post("dock", "by the way", to="none")
    assert scene.heron.fire("Stop").silent
    pointed = scene.heron.works().text
    assert "1 not shown here, for others, long or over a budget (from lynx), unread: redischat read dock --since 1" in pointed
    assert scene.heron.works().silent


def many(scene):
    for number in range(60):
        scene.lynx.post("dock", f"<{number:02}>" + "x" * 396, to="heron")
    return [f"<{number:02}>" + "x" * 396 for number in range(60)]


def emoji(scene):
    bodies = [
        f"<{number:02}>" + "\N{WOMAN}\N{ZERO WIDTH JOINER}\N{ROCKET}\N{CJK UNIFIED IDEOGRAPH-6F22}\N{CJK UNIFIED IDEOGRAPH-5B57}" * 150 for number in range(20)
    ]
    for body in bodies:
        scene.lynx.post("dock", body, to="heron")
    return bodies


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
@pytest.mark.parametrize("load", [many, emoji])
def test_hookrt_01_much_mail_comes_whole_in_parts_that_no_harness_cuts(scene, load, event):
    bodies = load(scene)
    shown: list[str] = []
    while len(shown) < len(bodies):
        text = scene.heron.fire(event).text
        found = re.findall(r"^    (<\d\d>.*)$", text, re.MULTILINE)
        shown += found
        assert found
        assert len(text) <= CHARACTERS
        assert found == bodies[len(shown) - len(found) : len(shown)], "whole ones, oldest first"
        assert scene.mark()["heard"] == len(shown)
        left = len(bodies) - len(shown)
        assert ("more" in text.split(found[-1])[-1]) == bool(left), text[-500:]
    assert scene.heron.fire(event).silent


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
def test_hookrt_01_a_message_of_30000_characters_is_pointed_at_and_stays_unread(scene, event):
    body = "".join(f"{number:05} " for number in range(5_000))
    scene.lynx.post("dock", body, to="heron")
    scene.lynx.post("dock", "after it", to="heron")
    text = scene.heron.fire(event).text
    assert "1 not shown here, for others, long or over a budget (from lynx), unread: redischat read dock --since 1\n    lynx: 00000 00001" in text
    assert "    after it\n" in text
    assert len(text) <= 1_000
    assert scene.heron.fire(event).silent
    assert scene.mark() == {"heard": 2, "read": 0, "lease": "-"}
    assert body in scene.heron("read", "dock", "--since", "1", "--limit", "1").out


def test_hookrt_01_a_session_that_starts_with_much_mail_is_told_how_much(scene):
    many(scene)
    text = scene.begins().text
    assert len(text) <= 1_500
    assert "#dock (60 unread)" in text
    assert scene.mark()["heard"] == 0


def test_a_session_is_told_of_as_many_unread_as_reading_would_give(scene):
    scene.lynx.post("dock", "for nobody", to="none")
    for number in range(3):
        scene.lynx.post("dock", f"shown {number}", to="heron")
    assert "shown 2" in scene.heron.works().text
    scene.heron("say", "dock", "my own")
    assert "#dock (1 unread)" in scene.heron.fire("SessionStart", source="compact").text
    assert "  1 unread:" in scene.heron("setup", "dock", "--harness", "none").out
    assert [one["body"] for one in scene.heron("read", "dock", "--json").records] == ["for nobody"]
    assert "#dock;" in scene.heron.fire("SessionStart", source="compact").text.replace("#dock\n", "#dock;")


def test_cursor_08_old_mail_says_how_old_it_is(scene):
    for number in range(120):
        scene.lynx.post("dock", f"order {number}", to="heron")
    age(scene, "dock", days=3)
    assert "120 unread" in scene.begins().text
    text = scene.heron.fire("UserPromptSubmit").text
    first = text.split("\n")[0]
    assert first.endswith("the oldest said 3 d ago"), first
    headers = [line for line in text.split("\n") if line.startswith("dock #")]
    assert len(headers) == text.count("    order ")
    assert len({line.split()[-2] for line in headers}) == 1
    assert "more" in text


def test_a_message_without_a_time_is_handed_over_too():
    """An imported one may have none."""
    when = "2020-01-01T00:00:00.000Z"
    assert headline([{"ts": None}], "amy") == "redischat: 1 new message for you (amy)\n"
    assert re.fullmatch(r"redischat: 2 new messages for you \(amy\), the oldest said \d+ d ago\n", headline([{"ts": None}, {"ts": when}], "amy"))


def age(scene, channel, days):
    """Let all that was said in a channel have been said so long ago."""
    key = f"rc1:{{default}}:ch:{channel}:messages"
    rows = scene.server.ask("XRANGE", key, "-", "+")
    scene.server.ask("DEL", key)
    for id_, fields in rows:
        at = fields.index("t") + 1
        fields[at] = str(int(fields[at]) - days * 86_400_000_000)  # microseconds
        scene.server.ask("XADD", key, id_, *fields)


def test_dup_02_what_a_waiter_was_handed_comes_by_no_other_way(scene):
    waiting = scene.heron.start("wait", "dock")
    wait_until(lambda: scene.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:ear:heron")[1], "heron waits")
    scene.lynx.post("dock", "m1", to="heron")
    assert b"    m1\n" in waiting.communicate(timeout=20)[0]
    assert all(scene.heron.fire(name).silent for name in ("UserPromptSubmit", "PostToolBatch", "Stop", "FileChanged"))
    assert "m1" not in scene.heron("read", "dock", code=None).out


def test_deliv_06_what_was_peeked_at_and_acked_does_not_come_and_the_rest_does(scene):
    for number in range(1, 6):
        scene.lynx.post("dock", f"m{number}", to="heron")
    assert "m5" in scene.heron("read", "dock", "--peek").out
    scene.heron("ack", "dock", "3")
    assert re.findall(r"^    (m\d)$", scene.heron.fire("Stop").text, re.MULTILINE) == ["m4", "m5"]
    scene.heron("ack", "dock", "5")
    assert scene.heron.fire("Stop").silent


def test_of_many_hooks_at_once_one_takes_and_the_others_are_silent(scene):
    scene.lynx.post("dock", "once", to="heron")
    fired = scene.heron.at_once([scene.heron.event("PostToolBatch")] * 8)
    assert sum("    once\n" in one.text for one in fired) == 1, fired
    assert sum(one.silent for one in fired) == 7, fired


def three(scene):
    for number in range(1, 4):
        scene.lynx.post("dock", f"m{number}", to="heron")


def all_three_come(scene):
    found = scene.heron("read", "dock").out
    assert re.findall(r"^    (m\d)$", found, re.MULTILINE) == ["m1", "m2", "m3"]
    assert scene.heron("read", "dock", code=None).out.count("    m") == 0


def test_deliv_01_a_host_that_does_not_read_loses_nothing(scene):
    three(scene)
    reader, writer = os.pipe()
    os.close(reader)
    fired = scene.heron.fire("PostToolBatch", options={"stdout": writer})
    os.close(writer)
    assert fired.code == 0
    assert fired.err == b""
    assert scene.mark()["heard"] == 0
    all_three_come(scene)


def test_deliv_01_a_hook_killed_between_take_and_show_loses_nothing(scene):
    three(scene)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    filler = b"x" * fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, filler)
    os.set_blocking(writer, True)
    event = scene.heron.event("PostToolBatch")
    process = scene.heron.begin(event, stdout=writer)
    process.stdin.write(json.dumps(event).encode())
    process.stdin.close()
    wait_until(lambda: scene.mark()["lease"] != "-", "the hook took the messages")
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.close(reader)
    os.close(writer)
    assert scene.mark()["heard"] == 0
    scene.lapse()
    all_three_come(scene)
