"""demo: real agent processes talk; whatever happens to it, nothing of its workspace is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from waiting import in_group, state_directory, wait_until

from redischat.broker.start import ensure
from redischat.calls.call import plain
from redischat.cli import demo
from redischat.cli.seat import Seat
from redischat.errors import Refused
from redischat.settings import Settings
from redischat.wire import Wire

pytestmark = pytest.mark.real
OTHERS_KEY = "rc1:{demo-of-others}:meta"
KEPT = ("PATH", "HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV")


@pytest.fixture
def place(tmp_path):
    """A user of redischat: an environment with a state directory and a temporary directory of its own, and a broker with a key of another workspace."""
    with state_directory() as state:
        scratch = tmp_path / "tmp"
        scratch.mkdir()
        wire = Wire(ensure(state))
        wire.run(plain("SET", OTHERS_KEY, "untouched"))
        env = {name: os.environ[name] for name in KEPT if name in os.environ}
        yield {**env, "REDISCHAT_STATE": state, "TMPDIR": str(scratch), "PYTHONWARNINGS": "error"}, wire, scratch
        wire.close()


def started(env, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "redischat", "demo", *words], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def nothing_is_left(wire, scratch):
    return wire.run(plain("KEYS", "*")) == [OTHERS_KEY] and not list(scratch.iterdir())


def test_three_agents_talk_and_nothing_is_left(place):
    env, wire, scratch = place
    run = started(env)
    out, said = run.communicate(timeout=60)
    assert (run.returncode, said) == (0, "")
    for seen in (
        "amy$ redischat open",
        "bob$ redischat join",
        "wakes nobody",
        "sleeps on",
        "carl$ redischat read lab --since-summary",
        "What next: redischat ",
    ):
        assert seen in out
    assert demo.NOTE in out.split("sleeps on")[1], "whoever slept through a note sees it with the next message"
    assert nothing_is_left(wire, scratch)


def test_one_record_holds_the_measured_times(place):
    env, wire, scratch = place
    run = started(env, "--json")
    out, said = run.communicate(timeout=60)
    assert (run.returncode, said) == (0, "")
    got = json.loads(out)
    assert got["workspace"].startswith("demo-")
    assert all(one > 0 for one in (*got["wake_process_ms"], got["wake_client_ms"]))
    assert nothing_is_left(wire, scratch)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_leaves_nothing_either(place, end):
    env, wire, scratch = place
    run = started(env)
    for line in run.stdout:
        if line.startswith("amy$ redischat wait"):
            break
    run.send_signal(end)
    _, said = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "INTERRUPTED" in said
    assert nothing_is_left(wire, scratch)
    wait_until(lambda: not in_group(run.pid), "its agents' processes are gone")


def test_a_demo_that_fails_midway_leaves_nothing_either(place, monkeypatch):
    env, wire, scratch = place
    monkeypatch.setattr(demo, "ANSWER", "")  # which no agent can say
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    seat = Seat(Settings({}, env, str(scratch)))
    with pytest.raises(Refused) as caught:
        demo.run(seat, fast=True)
    seat.close()
    assert "BAD_TEXT" in str(caught.value)
    assert nothing_is_left(wire, scratch)
