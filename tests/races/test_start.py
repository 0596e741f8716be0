"""Twelve agents wake up at once and none of them has a broker: exactly one server comes to be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from waiting import end_servers, servers, state_directory

from redischat.broker import admin, start

pytestmark = [pytest.mark.real, pytest.mark.races]
STARTERS = 12
# Each says that it is ready and begins when its standard input is closed, so that all begin together.
CODE = "import sys; from redischat.broker.start import ensure; print('ready', flush=True); sys.stdin.read(); print(ensure(sys.argv[1]))"


@pytest.fixture
def home():
    with state_directory() as path:
        yield path


def all_at_once(home):
    """The urls that twelve processes got, begun together."""
    starters = [subprocess.Popen([sys.executable, "-c", CODE, home], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(STARTERS)]
    for one in starters:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in starters:
        assert one.stdin is not None
        one.stdin.close()
    urls = []
    for one in starters:
        with one:
            assert one.stdout is not None
            urls.append(one.stdout.read().strip())
    assert [one.returncode for one in starters] == [0] * STARTERS
    return urls


def test_twelve_cold_starters_make_one_server(home):
    assert set(all_at_once(home)) == {f"unix://{home}/broker/s"}
    assert len(servers(home)) == 1


def test_twelve_starters_after_a_clean_stop_make_one_server(home):
    start.ensure(home)
    admin.stop(home)
    assert set(all_at_once(home)) == {f"unix://{home}/broker/s"}
    assert len(servers(home)) == 1


def test_twelve_starters_after_a_kill_make_one_server(home):
    start.ensure(home)
    end_servers(home)
    assert set(all_at_once(home)) == {f"unix://{home}/broker/s"}
    assert len(servers(home)) == 1


def test_twelve_starters_while_the_server_is_killed_make_one_server(home):
    start.ensure(home)
    os.kill(admin.status(home)["pid"], signal.SIGKILL)
    assert set(all_at_once(home)) == {f"unix://{home}/broker/s"}
    assert len(servers(home)) == 1
