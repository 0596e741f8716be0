"""Tests never sleep for a time: they wait for a condition that has a name. And what tests of the broker wait for: its servers."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager

POLL_SECONDS = 0.01


def wait_until(condition, what, seconds=10.0):
    """The first true value of ``condition()``; an assertion that names ``what`` if none comes in time."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(POLL_SECONDS)
    return value


@contextmanager
def state_directory():
    """A state directory with a short path; its servers and itself are gone afterwards."""
    path = tempfile.mkdtemp(prefix="rc", dir="/tmp")
    try:
        yield path
    finally:
        end_servers(path)
        shutil.rmtree(path)


def end_servers(path):
    """Kill all servers in or below ``path``."""
    for pid in servers(path):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not servers(path), f"the servers of {path} are gone")


def servers(path):
    """The pids of all living processes whose command line names the socket of a broker in or below ``path``: servers, and their forks."""
    rows = subprocess.run(["/bin/ps", "-ww", "-axo", "pid=,stat=,command="], capture_output=True, text=True, errors="replace", check=True).stdout.splitlines()
    found = [row.split(None, 2) for row in rows if path + "/" in row and "/broker/s" in row]
    return [int(pid) for pid, state, _ in found if not state.startswith("Z")]


def in_group(group):
    """Is any process of this group left?"""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True
