"""The waker: it rings idle sessions, says that they are there, and lets go of what ended ones held. One a user and host; its failure delays, it loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cli import serving
from sessions import Session, ended_at_last, status
from waiting import wait_until

from redischat import __version__
from redischat.calls import sessions
from redischat.calls.call import Caller
from redischat.errors import NotYou
from redischat.hook import alive, keep, wake
from redischat.hook import session as cards
from redischat.keys import Keys
from redischat.settings import Settings, host, note_of, write_pairs
from redischat.waker import ending, run, station, world
from redischat.wire import Wire

pytestmark = pytest.mark.real
KEYS = Keys("default")
PRESENCE = "rc1:{default}:presence"
WORDS = ("agent", "harness", "host", "pid", "state", "active", "beat", "started", "way", "asked", "landed", "missed", "told", "worked", "project")


def hurry(monkeypatch):
    """Everything that takes a while takes less."""
    monkeypatch.setattr(station, "BEAT_S", 0.05)
    monkeypatch.setattr(run, "LOOK_S", 0.05)
    monkeypatch.setattr(run, "CLOSE_LOOK_S", 0.02)
    monkeypatch.setattr(run, "TELL_S", 0.1)


@pytest.fixture
def hurried(monkeypatch):
    hurry(monkeypatch)


@pytest.fixture
def waker(town, monkeypatch):
    """A waker in this process, so that its times can be shortened; hooks find it and start none."""
    hurry(monkeypatch)
    with awake(town.state):
        yield


class awake:  # noqa: N801 - used like a function
    """A waker in a thread of this process."""

    def __init__(self, state):
        self.state, self.thread = state, threading.Thread(target=run.main, args=(state,))

    def __enter__(self):
        self.thread.start()
        status(self.state)

    def __exit__(self, *_):
        wake.ask_to_close(self.state)
        self.thread.join(10)
        assert not self.thread.is_alive()


def said(person, text, *to):
    person("say", "dock", text, *(("--to", ",".join(to)) if to else ()))


@pytest.fixture
def dock(town):
    """Amy, who speaks from a shell, and bob's session, which has just started; both in #dock."""
    amy = town.person("amy", REDISCHAT_AGENT="amy")
    bob = Session(town, "session-of-bob", "bob")
    amy("open", "dock", "--members", "bob,carl")
    return amy, bob


def record(town, session):
    """A session as the broker knows it."""
    return dict(zip(WORDS, (town.server.ask("HGET", PRESENCE, session) or "").split(" "), strict=False))


def ask(town, call):
    """Run one call at the town's broker."""
    wire = Wire(town.server.url)
    try:
        return wire.run(call)
    finally:
        wire.close()


def proof(town, session):
    return ask(town, sessions.some(KEYS, [session]))[0]["proof"]


def turn_back(town, session, seconds, *words):
    """Let these times of a session be so long ago."""
    found = record(town, session)
    for word in words:
        found[word] = str(int(found[word]) - int(seconds * 1000))
    town.server.ask("HSET", PRESENCE, session, " ".join(found.values()))


def log(town):
    path = Path(wake.folder(town.state), "log")
    return path.read_text() if path.exists() else ""


# An idle session is rung, and what it was rung for is delivered by its own next event.


@pytest.mark.usefixtures("waker")
def test_an_idle_session_is_rung_for_what_wakes_it_and_the_ring_carries_no_mail(dock):
    amy, bob = dock
    bob("SessionStart", source="startup")
    said(amy, "the secret plan", "bob")
    assert "1 message for you in #dock (amy)" in bob.rung()
    assert "secret" not in bob.bell
    assert "1 message for you in #dock (amy)" in bob("FileChanged", code=2)
    assert "the secret plan" in bob("UserPromptSubmit", prompt="<task-notification>x</task-notification>")
    assert not bob("FileChanged"), "it was delivered: a late look at the doorbell says nothing"


@pytest.mark.usefixtures("waker")
def test_what_was_said_before_the_session_began_rings_it_too(dock):
    amy, bob = dock
    said(amy, "a note for whoever comes", "bob")
    bob("SessionStart", source="startup")
    assert "1 message" in bob.rung()


@pytest.mark.usefixtures("waker")
def test_a_message_for_everyone_rings_all_and_one_for_nobody_none(dock, town):
    amy, bob = dock
    carl = Session(town, "session-of-carl", "carl")
    for one in (bob, carl):
        one("SessionStart", source="startup")
    amy("say", "dock", "psst", "--to-none")
    amy("say", "dock", "hello all", "--to-all")
    assert "dock" in carl.rung()
    assert "1 message for you" in bob.rung()


@pytest.mark.usefixtures("waker")
def test_a_message_right_after_a_clear_rings_the_session_that_goes_on(dock, town, monkeypatch):
    amy, bob = dock
    bob("SessionStart", source="startup")
    said(amy, "first", "bob")
    assert bob.rung()
    bob("UserPromptSubmit", prompt="go")
    bob("Stop")
    monkeypatch.setattr(run, "LOOK_S", 2.0)  # the waker does not know the new id yet when it rings for bob
    bob("SessionEnd", reason="clear")
    after = Session(town, "bob-after-the-clear", "bob")
    after("SessionStart", source="clear")
    after("Stop")
    said(amy, "second", "bob")
    assert after.rung()


@pytest.mark.usefixtures("waker")
def test_a_session_that_joins_later_is_heard_in_its_new_channel(dock):
    amy, bob = dock
    bob("SessionStart", source="startup")
    bob.person("join", "quay", env={"REDISCHAT_SESSION": bob.id})
    amy("join", "quay")
    amy("say", "quay", "hello there", "--to-all")
    assert "#quay" in bob.rung()


@pytest.mark.usefixtures("waker")
def test_a_working_session_is_not_rung(dock, town):
    amy, bob = dock
    bob("SessionStart", source="startup")
    bob("UserPromptSubmit", prompt="do something")
    said(amy, "when you have a moment", "bob")
    assert "when you have a moment" in bob("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
    bob("Stop")
    said(amy, "and now", "bob")
    bob.rung()
    assert record(town, bob.id)["asked"] != "0"


@pytest.mark.usefixtures("waker")
def test_a_product_that_cannot_be_woken_is_not_said_to_have_failed(dock, town):
    amy, _ = dock
    gem = Session(town, "session-of-gem", "carl", client="gemini")
    gem("SessionStart", source="startup")
    said(amy, "hello", "carl")
    beaten(town, gem.id)
    assert record(town, gem.id)["asked"] == "0"


def beaten(town, session):
    """Come back when the waker has said twice more that a session is there: whatever it had to do is done."""
    for _ in range(2):
        before = record(town, session)["beat"]
        wait_until(lambda was=before: record(town, session)["beat"] > was, "a beat")


# Proof of waking: unproved, proved, failed.


@pytest.mark.usefixtures("waker")
def test_a_wake_that_lands_proves_the_way_and_a_person_who_types_proves_nothing(dock, town):
    amy, bob = dock
    bob("SessionStart", source="startup")
    said(amy, "one", "bob")
    bob.rung()
    bob("UserPromptSubmit", prompt="what is up?")
    assert proof(town, bob.id) == "unproved"
    bob("Stop")
    bob.quiet()
    said(amy, "two", "bob")
    bob.rung()
    bob("UserPromptSubmit", prompt="<task-notification>")
    assert proof(town, bob.id) == "proved"


@pytest.mark.usefixtures("waker")
def test_a_wake_that_does_not_land_is_missed_asked_again_and_told_once(dock, town, monkeypatch):
    monkeypatch.setattr(world, "GRACE_MS", 200)
    monkeypatch.setattr(world, "ROUNDS", 2)
    amy, bob = dock
    bob("SessionStart", source="startup")
    said(amy, "are you there?", "bob")
    wait_until(lambda: record(town, bob.id)["missed"] != "0", "the wake is missed")
    assert proof(town, bob.id) == "failed"
    wait_until(lambda: status(town.state)["wakes"] >= "2", "it is rung again")
    turn_back(town, bob.id, 7 * 60 + 5, "missed")
    text = bob("UserPromptSubmit", prompt="hello")
    assert "a wake was asked for and never landed (7m ago)" in text
    assert "are you there?" in text
    assert not bob("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})


@pytest.mark.usefixtures("waker")
def test_a_long_turn_is_no_missed_wake(dock, town, monkeypatch):
    monkeypatch.setattr(world, "GRACE_MS", 100)
    amy, bob = dock
    bob("SessionStart", source="startup")
    bob("UserPromptSubmit", prompt="build everything")
    said(amy, "later will do", "bob")
    turn_back(town, bob.id, 1200, "active")
    for _ in range(3):
        beaten(town, bob.id)
    assert record(town, bob.id)["missed"] == "0"


@pytest.mark.usefixtures("waker")
def test_a_wake_for_what_was_read_meanwhile_is_no_miss(dock, town, monkeypatch):
    monkeypatch.setattr(world, "GRACE_MS", 300)
    amy, bob = dock
    bob("SessionStart", source="startup")
    said(amy, "read me", "bob")
    bob.rung()
    assert "read me" in bob.person("read", "dock", env={"REDISCHAT_SESSION": bob.id}).out
    wait_until(lambda: record(town, bob.id)["asked"] == "0", "the wake is let be")
    assert record(town, bob.id)["missed"] == "0"


@pytest.mark.usefixtures("waker")
def test_a_way_that_cannot_be_tried_makes_room_for_the_next_at_once(dock, town):
    amy, _ = dock
    cod = Session(town, "session-of-carl", "carl", client="codex")  # there is no codex here
    cod("SessionStart", source="startup")
    path = cards.path_of(town.state, cod.id)
    write_pairs(path, {**cards.known(town.state, cod.id), "codex": "/nowhere/codex"})
    said(amy, "hello", "carl")
    wait_until(lambda: record(town, cod.id)["missed"] != "0", "known to have failed, without the grace")


@pytest.mark.usefixtures("waker")
def test_codex_is_rung_by_its_own_command(dock, town):
    amy, _ = dock
    cod = Session(town, "session-of-carl", "carl", client="codex")
    cod("SessionStart", source="startup")
    codex, heard = Path(town.root, "codex"), Path(town.root, "heard")
    codex.write_text(f'#!/bin/sh\nprintf "%s|" "$@" > {heard}.tmp && mv {heard}.tmp {heard}\n')
    codex.chmod(0o755)
    write_pairs(cards.path_of(town.state, cod.id), {**cards.known(town.state, cod.id), "codex": str(codex)})
    beaten(town, cod.id)
    said(amy, "hello", "carl")
    words = wait_until(lambda: heard.exists() and heard.read_text(), "codex was run").split("|")
    assert words[:4] == ["queue", "--thread", cod.id, "--message"]
    assert words[4].startswith("redischat (carl): 1 message for you in #dock (amy)")
    assert "hello" in cod("UserPromptSubmit", prompt=words[4])
    assert record(town, cod.id)["landed"] != "0"


# At the end of a turn: a hook looks for news, and the waker waits for it.


@pytest.mark.usefixtures("waker")
def test_a_hook_that_dies_in_looking_for_news_keeps_nobody_waiting(dock, town):
    amy, bob = dock
    bob("SessionStart", source="startup")
    bob("UserPromptSubmit", prompt="go on")
    said(amy, "hello", "bob")
    assert ask(town, sessions.tick(KEYS, bob.id, "bob", "idle"))["news"]  # what tick.py asks; and then it dies
    assert record(town, bob.id)["state"] == "settling"
    assert "1 message" in bob.rung(8)


@pytest.mark.usefixtures("waker")
def test_what_is_for_others_lets_a_turn_end_and_the_next_message_rings(dock, town):
    amy, bob = dock
    bob("SessionStart", source="startup")
    bob("UserPromptSubmit", prompt="go on")
    amy("say", "dock", "by the way", "--to-none")
    assert not bob("Stop")
    assert record(town, bob.id)["state"] == "idle"
    assert not bob.bell
    said(amy, "now you", "bob")
    bob.rung()


# What a session holds: kept while it works, let go when it has ended.


def left_s(town, path):
    """How long a lock has to go."""
    now = int(town.server.ask("TIME")[0]) * 1000
    (row,) = [value for key, value in zip(*[iter(town.server.ask("HGETALL", "rc1:{default}:held"))] * 2, strict=True) if key.endswith(path)]
    return (int(row.split(" ")[2]) - now) / 1000


def task_left_s(town, task):
    return (int(town.server.ask("HGET", "rc1:{default}:leased", f"dock {task}").split(" ")[1]) - int(town.server.ask("TIME")[0]) * 1000) / 1000


@pytest.fixture
def holding(request, dock):
    """Bob holds a file and a task for 100 s, and is at work."""
    request.getfixturevalue("waker")
    amy, bob = dock
    bob("SessionStart", source="startup")
    me = lambda *words, **given: bob.person(*words, env={"REDISCHAT_SESSION": bob.id}, **given)  # noqa: E731
    me("lock", "dock", "src/a.py", "--ttl", "100", "--repo", "r")
    amy("task", "create", "dock", "T-1", "--title", "x")
    me("task", "claim", "dock", "T-1", "--ttl", "100")
    bob("UserPromptSubmit", prompt="go on")
    return amy, bob, me


def test_activity_keeps_locks_and_leases_without_a_word_in_the_transcript(holding, town):
    amy, bob, _ = holding
    before = amy("read", "dock", "--audit").out
    turn_back(town, bob.id, 31, "active")
    bob("PreToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert left_s(town, "src/a.py") > 290
    assert task_left_s(town, "t-1") > 290
    assert amy("read", "dock", "--audit").out == before
    assert amy("task", "recover-pending", "dock", "--json").record["mended"] == {}


def test_what_ran_out_is_not_revived_by_activity(holding, town):
    amy, bob, me = holding
    me("lock", "dock", "src/b.py", "--ttl", "1", "--repo", "r")
    wait_until(lambda: left_s(town, "src/b.py") < -0.1, "it has run out")
    turn_back(town, bob.id, 31, "active")
    bob("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert left_s(town, "src/a.py") > 290
    assert left_s(town, "src/b.py") < 0
    amy("recover", "dock", "src/b.py", "--reason", "it lapsed", "--repo", "r")


def test_a_session_that_slept_learns_once_what_it_lost_and_to_whom(holding, town):
    """LIVE-05: and its late renewals are refused."""
    amy, bob, me = holding
    turn_back(town, bob.id, 31, "active")
    bob("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
    me("lock", "dock", "src/c.py", "--ttl", "200", "--repo", "r")
    turn_back(town, bob.id, 31, "active")
    bob("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
    _lapse(town, "src/c.py")
    amy("recover", "dock", "src/c.py", "--reason", "asleep", "--repo", "r")
    turn_back(town, bob.id, 31, "active")
    assert "src/c.py, now amy's" in bob("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
    turn_back(town, bob.id, 31, "active")
    assert not bob("PostToolUse", tool_name="Bash", tool_input={"command": "ls"})
    assert me("renew", "dock", "src/c.py", "--repo", "r", code=1).error == "PATH_LOCK_OWNER_MISMATCH"


def _lapse(town, path):
    """Let a lock have run out."""
    found = town.server.ask("HGETALL", "rc1:{default}:held")
    (key, value) = next((key, value) for key, value in zip(*[iter(found)] * 2, strict=True) if key.endswith(path))
    words = value.split(" ")
    words[2] = str(int(town.server.ask("TIME")[0]) * 1000 - 1000)
    town.server.ask("HSET", "rc1:{default}:held", key, " ".join(words))


def test_what_an_ended_session_held_is_free_after_the_grace_and_the_transcript_says_so(holding, town):
    amy, bob, _ = holding
    bob("SessionEnd", reason="prompt_input_exit")
    beaten_log = lambda: "given back" in log(town)  # noqa: E731
    assert record(town, bob.id)["state"] == "ended"
    assert left_s(town, "src/a.py") > 0, "not before the grace"
    turn_back(town, bob.id, 61, "active")
    wait_until(beaten_log, "it is given back")
    assert amy("lock", "dock", "src/a.py", "--repo", "r")
    told = amy("read", "dock", "--audit").out
    assert "unlocked src/a.py" in told
    assert "gave back T-1: its session has ended" in told
    wait_until(lambda: not cards.known(town.state, bob.id), "its card is gone")


@pytest.mark.parametrize("reason", ["clear", "resume"])
def test_a_session_that_goes_on_under_another_id_releases_nothing(holding, town, reason):
    _, bob, _ = holding
    bob("SessionEnd", reason=reason)
    turn_back(town, bob.id, 61, "active")
    wait_until(lambda: not cards.known(town.state, bob.id), "its card is gone")
    assert left_s(town, "src/a.py") > 0
    assert task_left_s(town, "t-1") > 0


def test_a_session_taken_up_again_within_the_grace_keeps_what_it_holds(holding, town):
    _, bob, _ = holding
    bob("SessionEnd", reason="other")
    bob("SessionStart", source="resume")
    assert not cards.known(town.state, bob.id).get("ended")
    beaten(town, bob.id)
    turn_back(town, bob.id, 3600, "started")
    beaten(town, bob.id)
    assert left_s(town, "src/a.py") > 0


def test_nothing_is_released_while_another_session_is_that_agent(holding, town):
    _, bob, _ = holding
    town.server.ask("HSET", PRESENCE, "elsewhere", " ".join([*list(record(town, bob.id).values())[:2], "otherhost", *list(record(town, bob.id).values())[3:]]))
    bob("SessionEnd", reason="other")
    turn_back(town, bob.id, 61, "active")
    wait_until(lambda: not cards.known(town.state, bob.id), "its card is gone")
    assert left_s(town, "src/a.py") > 0


def test_a_name_that_changed_hands_is_not_spoken_under(holding, town):
    amy, bob, _ = holding
    other = town.person("elsewhere", REDISCHAT_SESSION="another")
    other("identify", "bob", "--take-over", "--force", "--reason", "mine now")
    bob("SessionEnd", reason="other")
    turn_back(town, bob.id, 61, "active")
    wait_until(lambda: "NOT_YOU" in log(town) or not cards.known(town.state, bob.id), "it tried, or did not")
    assert left_s(town, "src/a.py") > 0
    assert amy


@pytest.mark.usefixtures("waker")
def test_a_session_whose_harness_is_gone_has_ended(dock, town):
    _, bob = dock
    bob("SessionStart", source="startup")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as harness:
        born = wait_until(lambda: alive.born(harness.pid), "it has a start")
        write_pairs(cards.path_of(town.state, bob.id), {**cards.known(town.state, bob.id), "pid": str(harness.pid), "born": born})
        beaten(town, bob.id)
        assert record(town, bob.id)["state"] != "ended", "a living one has not"
        harness.kill()
    wait_until(lambda: record(town, bob.id)["state"] == "ended", "it is known to have ended")
    assert cards.known(town.state, bob.id)["ended"] == "gone"
    bob("UserPromptSubmit", prompt="I am here after all")
    assert record(town, bob.id)["state"] == "working"
    assert not cards.known(town.state, bob.id).get("ended")


def test_a_session_taken_up_again_right_after_its_waker_ended_it_goes_on(dock, town, monkeypatch):
    """A hook tells the broker first, and this host then; whatever the waker does in between."""
    _, bob = dock
    bob("SessionStart", source="startup")
    card, clock, wire = cards.known(town.state, bob.id), [0.0], Wire(town.server.url)
    over: Any = SimpleNamespace(wire=wire, keys=KEYS, host=host(), state_dir=town.state, over={bob.id: card})
    monkeypatch.setattr(ending.time, "monotonic", lambda: clock[0])
    cards.ended(town.state, bob.id, "gone")
    settling = ending.Ending(over)

    def later():
        settling.settle(bob.id)
        clock[0] += ending.SURE_S + 1
        return record(town, bob.id)["state"]

    assert [later(), later()] == ["idle", "ended"]
    wire.run(sessions.begin(KEYS, bob.id, "bob", harness="claude", host=host(), pid=1, project="/p", way="file", state="working"))
    assert later() == "working"
    write_pairs(cards.path_of(town.state, bob.id), card)
    assert [later(), later()] == ["working", "working"]
    wire.close()


def test_a_session_that_did_something_meanwhile_is_not_ended_for_what_it_was(dock, town):
    _, bob = dock
    bob("SessionStart", source="startup")
    active = int(record(town, bob.id)["active"])
    assert [ask(town, sessions.end(KEYS, bob.id, "bob", active_ms=at)) for at in (active - 1, active)] == [False, True]


# Many brokers, odd cards.


@pytest.mark.usefixtures("waker")
def test_a_stopped_broker_keeps_no_other_brokers_sessions_waiting(dock, town):
    amy, bob = dock
    bob("SessionStart", source="startup")
    with serving() as stuck:
        other = {"REDISCHAT_URL": stuck.url}
        there = town.person("there", REDISCHAT_AGENT="amy", **other)
        there("open", "dock", "--members", "carl")
        carl = Session(town, "session-of-carl", "carl")
        Path(carl.person.directory, ".redischat", "config").write_text(f"agent=carl\nurl={stuck.url}\n")
        write_pairs(note_of(town.state, carl.person.directory), {"url": stuck.url})  # as setup does
        before = town.env.pop("REDISCHAT_URL")
        carl("SessionStart", source="startup")
        town.env["REDISCHAT_URL"] = before
        wait_until(lambda: status(town.state)["brokers"] == "2" and status(town.state)["deaf"] == "0", "both are heard")
        stuck.process.send_signal(19)
        wait_until(lambda: status(town.state)["deaf"] == "1", "it is found not to answer", 15)
        for number in range(5):
            bob("UserPromptSubmit", prompt="go on")
            bob("Stop")
            bob.quiet()
            began = time.monotonic()
            said(amy, f"number {number}", "bob")
            bob.rung()
            assert time.monotonic() - began < 1.0
            bob("UserPromptSubmit", prompt="<task-notification>")
            bob("Stop")
        stuck.process.send_signal(18)
        there("say", "dock", "welcome back", "--to", "carl")
        assert "1 message" in carl.rung(5)


@pytest.mark.parametrize("odd", [
    {"agent": "x"},
    {"agent": "x", "session": "s", "url": "http://nowhere", "workspace": "default", "project": "/x"},
    {"agent": "x", "session": "s", "url": "redis://127.0.0.1:1", "workspace": "default", "project": "/x"},
    {"agent": "x", "session": "s", "url": "unix:///nowhere/s", "workspace": "a b\n", "project": "/x", "born": "7", "pid": "not a number", "on": host()},
])  # fmt: skip
@pytest.mark.usefixtures("waker")
def test_an_odd_card_ends_nobodys_wakes(dock, town, odd):
    amy, bob = dock
    write_pairs(os.path.join(town.state, "sessions", "odd"), odd)
    bob("SessionStart", source="startup")
    said(amy, "hello", "bob")
    bob.rung()
    assert os.path.exists(os.path.join(town.state, "sessions", "odd")), "what it cannot read is not its to remove"


@pytest.mark.usefixtures("waker")
def test_sessions_of_another_host_that_shares_this_home_are_left_to_it(dock, town):
    amy, bob = dock
    bob("SessionStart", source="startup")
    write_pairs(cards.path_of(town.state, bob.id), {**cards.known(town.state, bob.id), "on": "otherhost"})
    wait_until(lambda: status(town.state)["sessions"] == "0", "it is let be")
    said(amy, "hello", "bob")
    assert not bob.bell
    assert wake.folder(town.state).endswith(os.path.join("waker", host()))


# One a user and host.


def test_a_session_that_starts_starts_the_waker_and_does_not_wait_for_it(dock, town):
    _, bob = dock
    with ended_at_last(town.state):
        bob("SessionStart", source="startup")
        found = status(town.state)
        assert found["version"] == __version__
        bob("SessionStart", source="resume")
        assert status(town.state)["pid"] == found["pid"]


@pytest.mark.parametrize("at", [1, 4e9], ids=["long ago", "by a clock that was ahead"])
def test_a_session_that_goes_idle_without_a_waker_starts_one(dock, town, at):
    amy, bob = dock
    with ended_at_last(town.state):
        bob("SessionStart", source="startup")
        os.kill(int(status(town.state)["pid"]), 9)
        wait_until(lambda: not wake.running(town.state), "it is gone")
        os.utime(os.path.join(wake.folder(town.state), "status"), (at, at))
        bob("UserPromptSubmit", prompt="go on")
        bob("Stop")
        said(amy, "hello", "bob")
        bob.rung()


def test_of_many_that_start_at_once_one_stays(town):
    with ended_at_last(town.state):
        person = town.person()
        started = [person.start("waker", "start", "--json") for _ in range(6)]
        assert {json.loads(one.communicate(timeout=20)[0])["pid"] for one in started} == {int(status(town.state)["pid"])}


def test_the_command_starts_shows_and_stops_it(town):
    person = town.person()
    assert "no waker runs" in person("waker").out
    assert person("waker", "status", "--json").record["running"] is False
    with ended_at_last(town.state):
        assert "rung since it runs" in person("waker", "start").out
        found = person("waker", "start", "--json").record
        assert (found["running"], found["version"], found["sessions"], found["host"]) == (True, __version__, 0, host())
        assert person("waker", "run", "--json").record["pid"] == found["pid"], "there is one: it says so, and is none"
        assert person("waker", "stop", "--json").record["running"] is False
        assert person("waker", "stop").code == 0
    assert person("waker", "dance", code=64).error == "USAGE"


def test_a_stopped_waker_is_said_to_be_and_never_signalled(town):
    person = town.person()
    with ended_at_last(town.state):
        pid = person("waker", "start", "--json").record["pid"]
        os.kill(pid, 19)
        refused = person("waker", "stop", code=4)
        assert refused.error == "TIMED_OUT"
        assert f"If it is stopped: kill -CONT {pid}" in refused.err
        subprocess.run(["/bin/sh", "-c", refused.err.rpartition(": ")[2]], check=True)
        wait_until(lambda: not wake.running(town.state), "it closes when it goes on")


@pytest.mark.parametrize(("running", "passes_on"), [("0.0.9", True), (__version__, False), ("99.0", False), ("odd", False)])
def test_an_older_one_makes_room_for_a_newer_and_never_the_other_way(town, running, passes_on):
    folder = wake.folder(town.state)
    held = wake.lock(town.state)
    assert held is not None
    write_pairs(os.path.join(folder, "status"), {"version": running, "pid": "1"})
    closes = os.path.join(folder, "close")
    with ended_at_last(town.state):
        assert wake.start(town.state) is passes_on
        if passes_on:
            wait_until(lambda: os.path.exists(closes), "it is asked to close")
            os.unlink(os.path.join(folder, "status"))
        os.close(held)
        if passes_on:
            assert status(town.state)["version"] == __version__
    assert not os.path.exists(closes) or passes_on


def test_versions_are_compared_as_numbers(monkeypatch):
    monkeypatch.setattr(wake, "__version__", "0.10.0")
    assert wake.older("0.9.9")
    assert not wake.older("0.10.0")
    assert not wake.older("0.10.1")
    assert not wake.older("")


@pytest.mark.usefixtures("hurried")
def test_it_ends_itself_when_nobody_is_there_for_long(town, monkeypatch):
    monkeypatch.setattr(run, "ALONE_S", 0.2)
    began = time.monotonic()
    assert run.main(town.state) == 0
    assert 0.2 < time.monotonic() - began < 5
    assert not wake.running(town.state)


@pytest.mark.usefixtures("hurried")
def test_whoever_only_looks_whether_there_is_one_keeps_none_from_starting(town, monkeypatch):
    before = wake.lock(town.state)
    assert before is not None
    os.close(before)
    looking = wake.lock(town.state, shared=True)
    assert looking is not None
    told: list[str] = []
    monkeypatch.setattr(run.Waker, "run", lambda waker: told.append(waker.state_dir))
    threading.Timer(0.1, os.close, (looking,)).start()
    assert run.main(town.state) == 0
    assert told == [town.state]


@pytest.mark.usefixtures("hurried")
def test_a_wake_asked_for_by_a_waker_that_died_is_rung_by_the_next(dock, town):
    amy, bob = dock
    with awake(town.state):
        bob("SessionStart", source="startup")
    said(amy, "hello", "bob")
    assert ask(town, sessions.wake(KEYS, bob.id, "ask", "file"))["done"]
    with awake(town.state):
        bob.rung()


def test_keeping_and_letting_go_need_the_token(town, dock):
    _, bob = dock
    with ended_at_last(town.state):
        bob("SessionStart", source="startup")
    wire = Wire(town.server.url)
    with contextlib.closing(wire), pytest.raises(NotYou):
        wire.drive(keep.keep(Caller(KEYS, "bob", "0" * 32)))


@pytest.mark.usefixtures("hurried")
def test_one_that_is_asked_to_close_while_it_is_starting_closes(town, monkeypatch):
    """As `waker start` and `waker stop` at once on a busy machine: the request came when the lock was held, and before the first look."""
    taken = run._taken  # noqa: SLF001

    def slow(state_dir):
        held = taken(state_dir)
        wake.ask_to_close(state_dir)
        return held

    monkeypatch.setattr(run, "_taken", slow)
    thread = threading.Thread(target=run.main, args=(town.state,), daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive()
    assert not Path(wake.folder(town.state), "close").exists(), "the next one is not sent away"


def test_one_that_is_let_start_is_there_at_once_and_hears_who_asks_it_to_close(town):
    """It is given the lock: else it would be missed by who looks, and by `waker stop`, until it has come up."""
    person = town.person()
    for _ in range(5):
        assert wake.start(town.state)
        assert wake.running(town.state)
        assert not wake.start(town.state)
        person("waker", "stop")
        assert not wake.running(town.state)


def test_one_that_was_starting_when_another_closed_is_asked_to_close_too(town, monkeypatch):
    """As two sessions that start at once, and `waker stop` behind them: the second one waits for the lock, and does not see the request that the first one heard."""
    monkeypatch.setattr(run, "TAKE_S", 20)
    held = wake.lock(town.state)
    assert held is not None
    second = threading.Thread(target=run.main, args=(town.state,), daemon=True)
    second.start()

    def hear():
        close = Path(wake.folder(town.state), "close")
        wait_until(close.exists, "the first one is asked")
        close.unlink()
        os.close(held)

    first = threading.Thread(target=hear, daemon=True)
    first.start()
    assert wake.stop(town.state)
    second.join(5)
    assert not second.is_alive()


def test_a_request_to_close_that_nobody_heard_ends_no_later_waker(town, monkeypatch):
    hurry(monkeypatch)
    wake.ask_to_close(town.state)
    path = Path(wake.folder(town.state), "close")
    os.utime(path, (time.time() - 60,) * 2)
    with awake(town.state):
        assert wake.running(town.state)


def test_a_session_at_a_broker_elsewhere_is_of_this_host(tmp_path):
    """The broker's address stands on the card, too: were it taken for the session's, nobody would ring one whose broker is reached by TCP."""
    settings = Settings({"url": "redis://broker.example:6379"}, {"REDISCHAT_STATE": str(tmp_path), "REDISCHAT_SESSION": "s-1"}, str(tmp_path))
    card = cards.card(settings, KEYS, "bob", harness="claude") | {"pid": str(os.getpid()), "born": "1"}
    assert (card["host"], card["on"]) == ("broker.example", host())
    assert alive.gone(card), "another process has its number by now"


@pytest.fixture(params=["proc", "no proc"])
def system(request, monkeypatch):
    """A system with /proc, and one without, as macOS."""
    if request.param == "no proc":
        monkeypatch.setattr(alive, "PROC", "/nowhere/proc")


@pytest.mark.usefixtures("system")
def test_a_harness_that_is_gone_is_known_to_be_and_one_that_runs_is_not():
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        card = {"pid": str(process.pid), "born": alive.born(process.pid), "on": host()}
        assert card["born"]
        assert not alive.gone(card)
        assert not alive.gone({**card, "born": ""}), "what is not known is not concluded"
        assert not alive.gone({**card, "on": "another"})
    finally:
        process.kill()
        process.wait()
        process.stdin.close()  # type: ignore[union-attr]
    assert alive.gone(card)
    assert alive.born(process.pid) == ""


@pytest.mark.usefixtures("system")
def test_a_hook_finds_its_harness_behind_the_shell_that_runs_it():
    code = "import os, subprocess, sys; print(os.getpid(), flush=True); subprocess.run(['sh', '-c', sys.argv[1] + '; true'])"
    proc = alive.PROC
    hook = f"import sys; sys.path.insert(0, {str(Path(cards.__file__).parents[2])!r}); from redischat.hook import alive as s; s.PROC = {proc!r}; print(s.harness()['pid'])"
    done = subprocess.run([sys.executable, "-c", code, f'"{sys.executable}" -c "{hook}"'], capture_output=True, text=True, check=True)
    above, found = done.stdout.split()
    assert above == found
