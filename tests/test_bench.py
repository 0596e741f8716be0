"""bench: a private broker, all its parts, one record a figure; and nothing left of it. What the figures are is not tested: machines differ."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import test_interop
from cli import scratch
from waiting import in_group, servers, wait_until

from redischat.cli.bench_rows import Row, at_least, at_most, paired, percentile

KEPT = ("PATH", "HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV", "PYTHONPYCACHEPREFIX")
peer_site = test_interop.peer_site
FIELDS = {"part", "what", "ratio", "target", "met", "per_s", "p50_ms", "p99_ms"}


@pytest.fixture
def place():
    """A temporary directory for bench, and a state directory that it must not touch."""
    with scratch() as root:
        (Path(root) / "tmp").mkdir()
        yield Path(root)


def started(place, *words, **more):
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-m", "redischat", "bench", *words], env={**env, "REDISCHAT_STATE": str(place / "state"), "TMPDIR": str(place / "tmp"), "PYTHONWARNINGS": "error", **more}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def left(place):
    return [*(place / "tmp").iterdir(), *place.glob("state*")]


def test_percentiles_and_paired_ratios():
    assert [percentile(range(1, 101), one) for one in (50, 99)] == [51, 100]
    assert percentile([7.0], 99) == 7.0
    assert paired([1.0, 2.0, 30.0], [2.0, 4.0, 10.0]) == 0.5


def test_a_row_says_whether_its_target_is_met():
    assert at_least("posts", "x", 0.7, 0.6).record() == {
        "part": "posts", "what": "x", "ratio": 0.7, "target": ">= 0.6", "met": True, "per_s": None, "p50_ms": None, "p99_ms": None,
    }  # fmt: skip
    assert at_most("commands", "x", 0.7, 0.6).met is False
    assert "NO" in at_most("commands", "x", 0.7, 0.6).line()
    assert Row("wakes", "x", times=[1.0, 3.0]).met is None


@pytest.mark.real
def test_every_part_gives_its_records_and_nothing_is_left(place):
    run = started(place, "--quick", "--json")
    out, said = run.communicate(timeout=100)
    assert run.returncode == 0, said
    assert "Traceback" not in said
    first, *rows = [json.loads(line) for line in out.splitlines()]
    assert first["part"] == "machine"
    assert first["quick"] is True
    assert all(set(row) == FIELDS for row in rows)
    assert [part for i, part in enumerate(row["part"] for row in rows) if not i or part != rows[i - 1]["part"]] == [
        "posts",
        "wakes",
        "commands",
        "board",
        "hooks",
    ]
    for what in (
        "8 processes, 1,000 members", "100 waiters", "1 waiter", "redischat say, 100,000 messages", "redischat wait, 10 messages",
        "lock of a free file, 10,000 locked / 10 locked", "task claim, 2,000 tasks / 10 tasks", "redischat lock, 10,000 locked", "a path handed on",
    ):  # fmt: skip
        assert any(what in row["what"] for row in rows), what
    assert all(row["ratio"] or row["p50_ms"] for row in rows)
    assert not left(place)


@pytest.mark.real
def test_locks_and_claims_of_agent_chat_are_measured_beside_ours_if_it_is_here(place, peer_site):
    peer = place / "agent-chat"
    peer.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(peer_site)} exec {shlex.quote(sys.executable)} {shlex.quote(peer_site)}/bin/agent-chat "$@"\n')
    peer.chmod(0o700)
    run = started(place, "--quick", "--json", "--part", "board", REDISCHAT_BENCH_PEER=str(peer))
    out, said = run.communicate(timeout=100)
    assert run.returncode == 0, said
    beside = {row["what"]: row for row in map(json.loads, out.splitlines()) if " / agent-chat " in row.get("what", "")}
    assert list(beside) == [
        "redischat lock, 10,000 locked / agent-chat lock, 1,000 locks",
        "redischat check, 10,000 locked / agent-chat check, 1,000 locks",
        "redischat task claim, 2,000 tasks / agent-chat task claim, 1,000 tasks",
        "redischat task next --claim, 2,000 tasks / agent-chat task claim, 1,000 tasks",
    ]
    assert all(row["target"] == "<= 0.6" for row in beside.values())
    assert not left(place)


@pytest.mark.real
def test_an_interrupted_bench_leaves_no_broker_and_no_worker(place):
    run = started(place, "--quick", "--part", "posts")
    run.stdout.readline()
    wait_until(lambda: servers(str(place)), "its broker runs")
    run.send_signal(signal.SIGTERM)
    _, said = run.communicate(timeout=30)
    assert run.returncode == 130
    assert "INTERRUPTED" in said
    assert "Traceback" not in said
    assert not left(place)
    assert not servers(str(place))
    wait_until(lambda: not in_group(run.pid), "its workers are gone")


@pytest.mark.real
def test_a_broker_of_the_users_is_measured_beside_the_embedded_one_and_nothing_of_it_is_left_there(place, real):
    real.ask("SET", "mine", "x")
    run = started(place, "--quick", "--json", "--url", real.url)
    out, said = run.communicate(timeout=100)
    assert run.returncode == 0, said
    first, *rows = [json.loads(line) for line in out.splitlines()]
    assert first["part"] == "machine"
    assert all(set(row) == FIELDS for row in rows)
    assert all(row["ratio"] or row["p50_ms"] for row in rows)
    for what in ("Client.post", "say, a process", "hook with nothing to say"):
        assert [row["ratio"] for row in rows if row["what"] == f"{what}: at this URL / embedded"], what
    assert real.ask("KEYS", "*") == ["mine"]
    assert not left(place)


def test_a_part_of_a_given_broker_is_refused(place):
    run = started(place, "--part", "posts", "--url", "redis://127.0.0.1:1")
    _, said = run.communicate(timeout=30)
    assert run.returncode == 64
    assert "--url" in said


def test_a_part_that_there_is_not_is_refused(place):
    run = started(place, "--part", "dreams")
    _, said = run.communicate(timeout=30)
    assert run.returncode == 64
    assert "USAGE" in said
