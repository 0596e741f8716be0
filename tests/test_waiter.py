"""setup --wake waiter: one waiter a session blocks until it is rung, the newest wins, no ring is lost at the hand-over, and while it waits it asks nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hooked import TICK, scene_in
from newcomers import Newcomer, newcomers
from waiting import wait_until

from redischat.hook import session as cards
from redischat.hook.session import attended
from redischat.waker import ring

pytestmark = pytest.mark.real
ROUNDS = 40


@pytest.fixture
def scene(town):
    with scene_in(town, begun=False) as one:
        with Path(one.heron.directory, ".redischat", "config").open("a", encoding="utf-8") as file:
            file.write("wake=waiter\n")
        one.heron.env["CLAUDE_CODE_ENTRYPOINT"] = "cli"
        one.begins()
        yield one


@contextmanager
def waiter(scene, name="Stop", *, heard=True):
    """A waiter of heron's session, as Claude Code starts it; ``heard``: it listens already."""
    before = set(doors(scene))
    env = {**scene.town.env, **scene.heron.env, "CLAUDE_PROJECT_DIR": scene.heron.directory}
    words = [sys.executable, "-I", "-S", str(TICK), "waiter"]
    process = subprocess.Popen(words, env=env, cwd=scene.heron.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    assert process.stderr
    process.stdin.write(json.dumps(scene.heron.event(name)).encode())
    process.stdin.close()
    try:
        if heard:
            wait_until(lambda: set(doors(scene)) - before, "it listens")
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            pipe.close()


def doors(scene):
    folder = Path(scene.town.state, "waiters", cards.file_name(scene.heron.id))
    return sorted(name for name in os.listdir(folder) if name[0].isdigit()) if folder.exists() else []


def card(scene):
    return cards.known(scene.town.state, scene.heron.id)


def rings(scene, at=0, text="redischat (heron): 1 message for you in #dock (lynx): they follow"):
    """The waker rings for a wake that was asked for then."""
    return not ring.ring("wait", scene.town.state, {**card(scene), "asked": str(at)}, text).failed()


def ends(process, seconds=10):
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    code = process.poll()
    return code, process.stderr.read().decode() if code is not None else ""


def asked(scene, ms):
    """Let a wake of heron's session have been asked for then (0: none), while it is idle."""
    key = "rc1:{default}:presence"
    words = scene.server.ask("HGET", key, scene.heron.id).split(" ")
    words[4], words[9] = "idle", str(ms)
    scene.server.ask("HSET", key, scene.heron.id, " ".join(words))


def test_a_ring_ends_it_with_the_exit_that_wakes_and_its_words(scene):
    with waiter(scene) as one:
        assert rings(scene)
        assert ends(one) == (2, "redischat (heron): 1 message for you in #dock (lynx): they follow\n")
    assert doors(scene) == []


def test_the_newest_wins_and_the_older_goes_without_a_word(scene):
    with waiter(scene) as old, waiter(scene) as new:
        assert ends(old) == (0, "")
        assert len(doors(scene)) == 1
        assert rings(scene)
        assert ends(new)[0] == 2


def test_a_ring_while_nobody_listens_is_seen_by_the_next_one(scene):
    assert not rings(scene), "the waker learns that nobody heard it"
    asked(scene, 1)
    with waiter(scene, heard=False) as one:
        code, text = ends(one)
        assert code == 2
        assert text.startswith("redischat (heron): messages wait for you")


def test_a_ring_that_an_older_one_took_wakes_once(scene):
    with waiter(scene) as old:
        asked(scene, 1)
        assert rings(scene, 1)
        assert ends(old)[0] == 2
    with waiter(scene) as new:
        assert new.poll() is None, "the older one wakes already"
        asked(scene, 0)
    with waiter(scene) as later:
        asked(scene, 2)
        assert rings(scene, 2), "the next ring is heard as ever"
        assert ends(later)[0] == 2


def test_no_ring_is_lost_at_the_hand_over_and_none_is_told_twice(scene):
    """Rings at any moment between one waiter and the next: somebody hears each, or the next one sees that it was asked for."""
    woken = []
    for number in range(ROUNDS):
        asked(scene, 0)
        with waiter(scene) as old, waiter(scene, heard=number % 2 == 0) as new:
            asked(scene, number + 1)
            rings(scene, number + 1)
            codes = lambda: [one.poll() for one in (old, new)]  # noqa: E731
            wait_until(lambda found=codes: 2 in found(), f"round {number} wakes", 10)
            wait_until(lambda: old.poll() is not None, "the older one is gone", 10)
            woken.append(codes().count(2))
    assert woken == [1] * ROUNDS


@pytest.mark.parametrize(("at", "left"), [(0, ["rung-3", "rung-9"]), (5, ["rung-5", "rung-9"])])
def test_who_knows_less_than_a_ring_leaves_that_rings_mark(scene, at, left):
    """Else a third one sees no mark, and wakes the session a second time."""
    folder = Path(scene.town.state, "waiters", cards.file_name(scene.heron.id))
    folder.mkdir(parents=True)
    for ring_of in (3, 9):
        (folder / f"rung-{ring_of}").touch()
    asked(scene, at)
    with waiter(scene, heard=False) as one:
        if at:
            assert ends(one)[0] == 2
        else:
            with waiter(scene):  # sends it home, so it has looked
                assert ends(one) == (0, "")
    assert sorted(name for name in os.listdir(folder) if name.startswith("rung")) == left


def test_many_at_once_leave_one(scene):
    started = []
    try:
        for _ in range(6):
            held = waiter(scene, heard=False)
            started.append((held, held.__enter__()))
        wait_until(lambda: sum(one.poll() is None for _, one in started) == 1 and len(doors(scene)) == 1, "one is left")
        assert rings(scene)
        wait_until(lambda: [one.poll() for _, one in started].count(2) == 1, "and it hears")
    finally:
        for held, _ in started:
            held.__exit__(None, None, None)


def test_it_asks_nothing_while_it_waits_and_holds_no_connection(scene):
    with waiter(scene) as one:
        links = lambda: [os.readlink(f"/proc/{one.pid}/fd/{name}") for name in os.listdir(f"/proc/{one.pid}/fd")]  # noqa: E731
        wait_until(lambda: not any(link.startswith("socket:") for link in links()), "it has let go of the broker")
        calls = lambda: scene.server.ask("INFO", "commandstats").count("cmdstat_hget:")  # noqa: E731
        assert calls() == calls()
        assert one.poll() is None


def test_it_ends_with_its_session(scene):
    with waiter(scene) as one:
        scene.heron.fire("SessionEnd", reason="other")
        assert ends(one) == (0, "")


def test_one_that_is_just_starting_waits_until_it_is_somebody(scene):
    cards.forget(scene.town.state, scene.heron.id)
    with waiter(scene, "SessionStart", heard=False) as one:
        scene.begins()
        wait_until(lambda: doors(scene), "it listens")
        assert rings(scene)
        assert ends(one)[0] == 2


@pytest.mark.parametrize(
    ("env", "blocks"),
    [
        ({"CLAUDE_CODE_ENTRYPOINT": "cli"}, True), ({"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}, False), ({}, False),
        ({"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ATTENDED": "0"}, False), ({"CLAUDE_CODE_SESSION_ATTENDED": "1"}, True),
    ],
)  # fmt: skip
def test_only_a_session_that_a_person_sits_at_has_one(env, blocks):
    assert attended(env) is blocks


def test_a_one_shot_run_is_not_held_up(scene):
    scene.heron.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
    scene.begins()
    with waiter(scene, heard=False) as one:
        assert ends(one) == (0, "")
    assert ring.ways(card(scene)) == ("file",), "it is woken by the file"


def test_the_file_is_the_second_way(scene):
    assert ring.ways(card(scene)) == ("wait", "file")


# setup.


@pytest.fixture
def amy(real):
    with newcomers(real) as town:
        yield Newcomer(town, "amy", "11111111-2222-3333-4444-555566667777")


def waits(amy):
    """The events that have a waiter's entry."""
    hooks = json.loads(amy.settings.read_text())["hooks"]
    return sorted(name for name, groups in hooks.items() for group in groups for one in group["hooks"] if one.get("args", [])[-1:] == ["waiter"])


def test_setup_switches_both_ways_and_twice_is_once(amy):
    amy("setup", "dock", "--as", "amy")
    plain = amy.settings.read_bytes()
    assert waits(amy) == []
    amy("setup", "dock", "--as", "amy", "--wake", "waiter")
    with_waiter = amy.settings.read_bytes()
    assert waits(amy) == ["SessionStart", "Stop"]
    amy("setup", "dock", "--as", "amy", "--wake", "waiter")
    amy("setup", "dock", "--as", "amy")
    amy("install", "--harness", "claude")
    assert amy.settings.read_bytes() == with_waiter, "it stays as it was chosen"
    amy("setup", "dock", "--as", "amy", "--wake", "file")
    assert amy.settings.read_bytes() == plain


def test_teardown_takes_it_out_again(amy):
    amy("setup", "dock", "--as", "amy", "--wake", "waiter")
    amy("teardown")
    assert not amy.settings.exists()
    assert not Path(amy.directory, ".redischat").exists()


def test_what_is_missing_is_said(amy):
    amy("setup", "dock", "--as", "amy", "--wake", "waiter")
    found = json.loads(amy.settings.read_text())
    found["hooks"]["Stop"] = [group for group in found["hooks"]["Stop"] if group["hooks"][0]["args"][-1] != "waiter"]
    amy.settings.write_text(json.dumps(found, indent=2) + "\n")
    said = amy("install", "--check", code=1).out
    assert "not registered: Stop (waiter)" in said


def test_another_word_is_refused(amy):
    assert amy("setup", "dock", "--as", "amy", "--wake", "soon", code=64).error == "USAGE"
