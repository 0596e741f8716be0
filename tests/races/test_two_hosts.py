"""Wakes between two hosts, each a network namespace with an address of its own: the broker and the one who speaks on one, the waker and its session on the other."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from cli import binary, scratch
from waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.races]
WAKES = 1_000
MOST_MS = 50
PORT = "6399"
BROKER, SESSIONS = "10.199.77.1", "10.199.77.2"
FAR = Path(__file__).with_name("far.py")


def ip(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)


@contextmanager
def hosts():
    """The names of two namespaces that reach each other, and nobody else."""
    names = [f"rc{side}{os.getpid()}" for side in "ab"]
    links = [f"v{name}"[:15] for name in names]
    steps = [["netns", "add", name] for name in names]
    steps.append(["link", "add", links[0], "type", "veth", "peer", "name", links[1]])
    for name, link, address in zip(names, links, (BROKER, SESSIONS), strict=True):
        steps += [["link", "set", link, "netns", name], ["-n", name, "addr", "add", f"{address}/24", "dev", link]]
        steps += [["-n", name, "link", "set", link, "up"], ["-n", name, "link", "set", "lo", "up"]]
    try:
        for step in steps:
            done = ip(*step)
            if done.returncode:
                pytest.skip(f"no network namespaces to be had here: ip {' '.join(step)}: {done.stderr.strip()}")
        yield names
    finally:
        for name in names:
            ip("netns", "del", name)


class Host:
    """A program in a namespace that answers each line with one."""

    def __init__(self, name, *words):
        env = {**os.environ, "PYTHONPATH": f"{FAR.parent}{os.pathsep}{FAR.parent.parent}"}
        command = ["ip", "netns", "exec", name, sys.executable, str(FAR), *words]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def hears(self):
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "it has ended"
        return json.loads(line)

    def told(self):
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def close(self):
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


@pytest.mark.skipif(shutil.which("ip") is None, reason="no ip command here: two hosts cannot be made")
def test_a_thousand_wakes_between_two_hosts_take_less_than_fifty_milliseconds_each():
    with hosts() as (near, far), scratch() as home, ExitStack() as opened:
        words = [
            "ip",
            "netns",
            "exec",
            near,
            binary(),
            "--port",
            PORT,
            "--bind",
            BROKER,
            "--protected-mode",
            "no",
            "--dir",
            home,
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        with Path(home, "log").open("wb") as log:
            server = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        opened.callback(server.wait)
        opened.callback(server.kill)
        wait_until(lambda: b"eady to accept connections" in Path(home, "log").read_bytes(), "the broker listens", 20)
        url, state = f"redis://{BROKER}:{PORT}", os.path.join(home, "state")
        sleeper = Host(far, "sleeper", url, state)
        opened.callback(sleeper.close)
        assert sleeper.hears() == "ready"
        speaker = Host(near, "speaker", url)
        opened.callback(speaker.close)
        took = []
        for number in range(WAKES):
            sleeper.told()
            speaker.told()
            began, rung = speaker.hears(), sleeper.hears()
            assert rung is not None, f"wake {number} did not come"
            took.append((rung - began) * 1000)
            assert sleeper.hears() == number + 1, "each once"
    took.sort()
    p50, p99 = statistics.median(took), took[WAKES * 99 // 100]
    sys.stdout.write(f"\n{WAKES} wakes between two hosts, post to ring: p50 {p50:.2f} ms, p99 {p99:.2f} ms, longest {took[-1]:.2f} ms\n")
    assert p99 < MOST_MS
