"""Going idle at the very moment when somebody speaks, many sessions, brokers and wakers that die: each message is shown or rung, never neither and never both."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from cli import Server, scratch, town_with
from sessions import Session, ended_at_last, status
from waiting import wait_until

from redischat.calls import agents, channels, messages, sessions
from redischat.calls.call import Caller, Once, fresh
from redischat.flows import messages as talk
from redischat.hook import deliver, wake
from redischat.hook import session as cards
from redischat.keys import Keys
from redischat.settings import Settings
from redischat.waker import ring
from redischat.waker.run import Waker
from redischat.wire import Wire

pytestmark = [pytest.mark.real, pytest.mark.races]
KEYS = Keys("default")
ROUNDS, WORKERS = 500, 5
WAKES = 1_000
CROWD, MOST_KB = 200, 40 * 1024
RECOVERY_S = 5.0
KEPT = ("--appendonly", "yes", "--appendfsync", "always")  # what a killed server had answered is there when it is back
TURNS = Path(__file__).with_name("turns.py")


@pytest.fixture
def town():
    """A town on a server of its own, without a waker when it is left."""
    with town_with() as place, ended_at_last(place.state):
        yield place


@contextlib.contextmanager
def wired(url):
    wire = Wire(url)
    try:
        yield wire
    finally:
        wire.close()


def seat(wire, state, url, name, *, room="dock"):
    """A session without a harness: its card, its presence, its place in a channel."""
    project = os.path.join(state, "projects", name)
    env = {"REDISCHAT_STATE": state, "REDISCHAT_SESSION": "session-" + name, "CLAUDE_PROJECT_DIR": project}
    settings = Settings({"url": url}, env, "/")
    if room:
        wire.run(channels.open(Caller(KEYS, name), room, once=Once()))
    wire.run(sessions.begin(KEYS, settings.session, name, harness="claude", host=os.uname().nodename, pid=1, project=project, way="file"))
    cards.keep(state, settings.session, cards.card(settings, KEYS, name, harness="claude"))
    return settings.session


def say(wire, room, text, *to, by="amy"):
    wire.drive(talk.say(Caller(KEYS, by), room, messages.Draft(text, to=list(to)), Once()))


def heard(url, count):
    """Come back when so many sessions are listened for."""
    with wired(url) as wire:
        wait_until(lambda: len(wire.run(_channels())) >= count, f"{count} doorbells are heard", 20)


def _channels():
    from redischat.calls.call import plain

    return plain("PUBSUB", "SHARDCHANNELS", KEYS.bell() + "*")


def test_what_is_said_as_a_turn_ends_is_shown_or_rung_never_neither_and_never_both(town):
    """WAKE-01: 500 messages within 50 ms of Stop."""
    crowd = [Session(town, f"session-{i}", f"bob{i}") for i in range(WORKERS)]
    with wired(town.server.url) as wire:
        for one in crowd:
            one("SessionStart", source="startup")
            for who in (one.agent, "amy", "carl"):
                token = next((binding.token for binding in _settings(town, one).bindings if binding.agent == who), "")
                wire.run(channels.open(Caller(KEYS, who, token), "room-" + one.agent, once=Once()))
    heard(town.server.url, WORKERS)
    env = {**town.env, "PYTHONWARNINGS": "ignore"}
    words = [[sys.executable, TURNS, town.state, town.server.url, one.id, one.agent, str(ROUNDS // WORKERS), str(i)] for i, one in enumerate(crowd)]
    running = [subprocess.Popen(each, env=env, stdout=subprocess.PIPE) for each in words]
    found = [json.loads(one.communicate(timeout=100)[0]) for one in running]
    assert not [one["neither"] for one in found if one["neither"]]
    assert not [one["both"] for one in found if one["both"]]
    shown, rung = sum(one["injected"] for one in found), sum(one["rung"] for one in found)
    assert shown + rung == ROUNDS
    assert min(shown, rung) > ROUNDS // 10, "both ways were tried"
    print(f"\n{ROUNDS} messages within 50 ms of going idle: {shown} shown by the hook, {rung} rung")  # noqa: T201


def _settings(town, session):
    return Settings(
        {"url": town.server.url}, {"REDISCHAT_STATE": town.state, "REDISCHAT_SESSION": session.id, "CLAUDE_PROJECT_DIR": session.person.directory}, "/"
    )


def test_a_thousand_wakes_reach_the_call_that_rings_within_50_ms(town, monkeypatch):
    """From the call that posts to the call that rings, on one host."""
    rung: list[float] = []
    landed = threading.Event()

    def ringing(*_):
        rung.append(time.perf_counter())
        landed.set()
        return ring.Rung()

    monkeypatch.setitem(ring._RINGS, "file", ringing)  # noqa: SLF001 - the last thing that is ours
    took = []
    with wired(town.server.url) as wire, in_thread(town.state):
        for who in ("amy", "carl"):
            wire.run(channels.open(Caller(KEYS, who), "dock", cap=0 if who == "amy" else None, once=Once()))
        session, bob = seat(wire, town.state, town.server.url, "bob"), Caller(KEYS, "bob")
        heard(town.server.url, 1)
        for number in range(WAKES):
            landed.clear()
            began = time.perf_counter()
            say(wire, "dock", f"number {number}", "bob", by=("amy", "carl")[number % 2])  # by turns: two who only talk are braked
            assert landed.wait(5), f"wake {number}"
            took.append((rung[-1] - began) * 1000)
            wire.run(sessions.tick(KEYS, session, "bob", "woken"))
            wire.drive(deliver.all_news(bob, fresh()))
            wire.run(sessions.tick(KEYS, session, "bob", "idle"))
    took.sort()
    p50, p99 = statistics.median(took), took[WAKES * 99 // 100]
    print(f"\n{WAKES} wakes, post to ring: p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {took[-1]:.2f} ms")  # noqa: T201
    assert len(rung) == WAKES, "each once"
    assert p99 < 50


@contextlib.contextmanager
def in_thread(state):
    """A waker in this process."""
    held = wake.lock(state)
    assert held is not None
    waker = Waker(state)
    thread = threading.Thread(target=waker.run)
    thread.start()
    try:
        yield waker
    finally:
        wake.ask_to_close(state)
        thread.join()
        waker.close()
        for station in waker.stations.values():
            station.join(5)
        os.close(held)


def test_two_hundred_sessions_cost_two_connections_little_memory_and_no_command_but_the_beat(town):
    with wired(town.server.url) as wire:
        wire.run(channels.open(Caller(KEYS, "amy"), "room-7", once=Once()))
        for number in range(CROWD):
            seat(wire, town.state, town.server.url, f"bob{number}", room=f"room-{number % 20}")
        before = len(_clients(town))
        wake.start(town.state)
        heard(town.server.url, CROWD)
        pid = int(status(town.state)["pid"])
        assert len(_clients(town)) - before == 2, "one to listen, one to ask"
        wait_until(lambda: status(town.state)["sessions"] == str(CROWD), "all are known")
        wait_until(lambda: _quiet(town), "whatever was to be done at the start is done")
        town.server.ask("CONFIG", "RESETSTAT")
        wait_until(lambda: _calls(town).get("evalsha", 0) >= 2, "two more beats", 15)
        idle = _calls(town)
        kilobytes = int(next(row.split()[1] for row in Path(f"/proc/{pid}/status").read_text().splitlines() if row.startswith("VmRSS")))
        say(wire, "room-7", "hello all")
        rooms = [f"session-bob{number}" for number in range(7, CROWD, 20)]
        wait_until(lambda: all(Path(cards.bell_of(town.state, one)).read_text() for one in rooms), "everybody in that room is rung")
        others = [number for number in range(CROWD) if number % 20 != 7]
        assert not any(Path(cards.bell_of(town.state, f"session-bob{number}")).read_text() for number in others)
    print(f"\n{CROWD} sessions: {kilobytes / 1024:.1f} MB, commands in two beats: {idle}")  # noqa: T201
    assert kilobytes < MOST_KB
    assert idle.keys() <= {"evalsha", "time", "del", "hget", "hset", "info", "config|resetstat"}, "within a beat, and the observer's"
    assert idle["evalsha"] <= 3


def _quiet(town):
    """Has no script run for a second?"""
    before, end = _calls(town)["evalsha"], time.monotonic() + 1
    while time.monotonic() < end:
        if _calls(town)["evalsha"] != before:
            return False
    return True


def _clients(town):
    return [row for row in town.server.ask("CLIENT", "LIST").splitlines() if " cmd=client" not in row]


def _calls(town):
    """How often each command was run, from scripts too."""
    rows = [row for row in town.server.ask("INFO", "commandstats").splitlines() if row.startswith("cmdstat_")]
    return {row.partition(":")[0].removeprefix("cmdstat_"): int(row.partition("calls=")[2].partition(",")[0]) for row in rows}


@pytest.fixture
def pair(town):
    """Bob's session, idle and listened for; and a wire to speak through."""
    with wired(town.server.url) as wire:
        wire.run(channels.open(Caller(KEYS, "amy"), "dock", once=Once()))
        seat(wire, town.state, town.server.url, "bob")
        wake.start(town.state)
        heard(town.server.url, 1)
        yield wire, Path(cards.bell_of(town.state, "session-bob"))


def idle_again(wire, bell):
    """Bob took what there was, and his turn is over."""
    wire.run(sessions.tick(KEYS, "session-bob", "bob", "woken"))
    wire.drive(deliver.all_news(Caller(KEYS, "bob"), fresh()))
    wire.run(sessions.tick(KEYS, "session-bob", "bob", "idle"))
    bell.write_text("")


def rung_within(bell, seconds=RECOVERY_S):
    began = time.monotonic()
    wait_until(bell.read_text, "bob is rung", seconds)
    return time.monotonic() - began


def test_a_killed_waker_loses_nothing_and_the_next_one_rings_for_what_was_said_meanwhile(town, pair):
    wire, bell = pair
    for number in range(3):
        os.kill(int(status(town.state)["pid"]), signal.SIGKILL)
        wait_until(lambda: not wake.running(town.state), "it is gone")
        say(wire, "dock", f"number {number}", "bob")
        assert wake.start(town.state), "no lock and no file of the dead one is in the way"
        assert rung_within(bell) < RECOVERY_S
        idle_again(wire, bell)
        wait_until(lambda: wake.status(town.state).get("deaf") == "0", "it listens", 15)


def test_a_stopped_waker_rings_when_it_goes_on(town, pair):
    """LIVE-05: nobody else takes its place, and it is there again within one beat."""
    wire, bell = pair
    pid = int(status(town.state)["pid"])
    os.kill(pid, signal.SIGSTOP)
    say(wire, "dock", "are you asleep?", "bob")
    assert not wake.start(town.state)
    before = wire.run(sessions.some(KEYS, ["session-bob"]))[0]["beat_ms"]
    os.kill(pid, signal.SIGCONT)
    assert rung_within(bell) < RECOVERY_S
    wait_until(lambda: wire.run(sessions.some(KEYS, ["session-bob"]))[0]["beat_ms"] > before, "it is live again", 6)


def test_a_restarted_broker_is_listened_to_again_and_what_was_said_meanwhile_rings():
    with scratch() as home, scratch() as state, ended_at_last(state):
        server = Server(home, *KEPT)
        try:
            with wired(server.url) as wire:
                wire.run(channels.open(Caller(KEYS, "amy"), "dock", once=Once()))
                seat(wire, state, server.url, "bob")
                wake.start(state)
                heard(server.url, 1)
                bell = Path(cards.bell_of(state, "session-bob"))
                for number in range(3):
                    server.stop()
                    server = Server(home, *KEPT)
                    say(wire, "dock", f"number {number}", "bob")
                    assert rung_within(bell) < RECOVERY_S
                    idle_again(wire, bell)
                    heard(server.url, 1)
        finally:
            server.stop()


def test_a_wake_that_came_to_nothing_leaves_both_messages_to_the_next_event(pair):
    """WAKE-05: the second message is merged into the first one's wake, and that one fails."""
    wire, bell = pair
    bob = Caller(KEYS, "bob")
    say(wire, "dock", "m1", "bob")
    rung_within(bell)
    bell.write_text("")
    say(wire, "dock", "m2", "bob")
    ((row,), _) = wire.drive(deliver.glance(bob))
    assert row["count"] == 2, "nothing was taken"
    shown: list[str] = []

    def show(asked):
        shown.extend(one["body"] for one in asked.messages)
        return len(shown)

    wire.run(sessions.tick(KEYS, "session-bob", "bob", "prompt"))
    wire.drive(deliver.all_news(bob, fresh()), show)
    assert shown == ["m1", "m2"]


def test_two_sessions_of_one_agent_are_one_wake(town, pair):
    """WAKE-03: there is no waiter to double; of the sessions of one agent the one that did something last is rung, and the mail comes once."""
    wire, bell = pair
    again = seat(wire, town.state, town.server.url, "bob", room="")
    second = "session-bob-2"
    wire.run(sessions.begin(KEYS, second, "bob", harness="claude", host=os.uname().nodename, pid=1, project="/p", way="file"))
    cards.keep(town.state, second, {**cards.known(town.state, again), "session": second})
    wait_until(lambda: wake.status(town.state).get("sessions") == "2", "both are known", 15)
    for state in ("prompt", "idle"):
        wire.run(sessions.tick(KEYS, second, "bob", state))
    for number in range(2):
        say(wire, "dock", f"number {number}", "bob")
        other = Path(cards.bell_of(town.state, second))
        rung_within(other)
        assert not bell.read_text()
        wire.run(sessions.tick(KEYS, second, "bob", "woken"))
        wire.drive(deliver.all_news(Caller(KEYS, "bob"), fresh()))
        wire.run(sessions.tick(KEYS, second, "bob", "idle"))
        other.write_text("")
    assert wire.run(agents.rooms(KEYS, "bob")) == ["dock"]
