"""Many do the same thing at the same moment: one creates, one wins, each counts once, and the last one out closes the door once."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import closing

import pytest
from crowd import CLI, KEYS, both_servers, caller, crowd_on, environment, one_server, open_rooms, serving, stored, wired
from proxies import Proxy
from waiting import wait_until

from redischat.calls import channels, messages
from redischat.calls.call import Once
from redischat.errors import NotYou
from redischat.lua import script

pytestmark = [pytest.mark.real, pytest.mark.races]
MANY = 12
CROWD = [f"p{i}" for i in range(MANY)]


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        yield server


def all_at_once(server, verb, each):
    """What each of the workers got, all begun together."""
    with crowd_on(server) as crowd:
        for asked in each:
            crowd.add("verb", verb=verb, rooms=["dock"], **asked)
        crowd.go()
        crowd.done(crowd.workers)
        return crowd.told()


def facts(server):
    with wired(server) as wire:
        return wire.run(channels.facts(KEYS, "dock"))


@both_servers
@pytest.mark.parametrize("verb", ["open", "join"])
def test_one_of_many_creates_the_channel_and_all_are_in_it(server, verb):
    told = all_at_once(server, verb, [{"agent": agent} for agent in CROWD])
    assert [row["new"] for row in told].count(True) == 1
    assert {row["joined"] for row in told} == {"new"}
    assert facts(server)["count"] == str(MANY)
    with wired(server) as wire:
        assert sorted(wire.run(channels.members(KEYS, "dock"))) == sorted(CROWD)
    if verb == "open":
        assert facts(server)["topic"] == next(row["topic"] for row in told if row["new"]), "the first topic stays"


@both_servers
def test_one_agent_that_joins_many_times_at_once_is_one_member(server):
    told = all_at_once(server, "join", [{"agent": "p0"}] * MANY)
    assert sorted(row["joined"] for row in told) == ["already"] * (MANY - 1) + ["new"]
    assert facts(server)["count"] == "1"


@both_servers
def test_the_last_of_many_leavers_closes_the_channel_once(server):
    open_rooms(server, ["dock"], CROWD)
    told = all_at_once(server, "leave", [{"agent": agent} for agent in CROWD])
    assert [row["left"] for row in told] == [True] * MANY
    assert [row["closed"] for row in told].count(True) == 1
    assert sorted(row["members"] for row in told) == list(range(MANY))
    assert (facts(server)["state"], facts(server)["count"]) == ("closed", "0")
    assert [entry["s"] for entry in stored(server, "dock").values()] == ["left"] * MANY + ["closed"]


@both_servers
def test_one_agent_that_leaves_many_times_at_once_has_left_once(server):
    open_rooms(server, ["dock"], ["p0", "p1"])
    told = all_at_once(server, "leave", [{"agent": "p0"}] * MANY)
    assert [row["left"] for row in told].count(True) == 1
    assert (facts(server)["state"], facts(server)["count"]) == ("open", "1")
    assert [entry["s"] for entry in stored(server, "dock").values()] == ["left"]


@both_servers
def test_one_of_many_sessions_gets_the_name_and_its_token_is_the_one_that_counts(server):
    open_rooms(server, ["dock"], ["heron"])
    told = all_at_once(server, "identify", [{"session": f"s{i}"} for i in range(MANY)])
    won = [row for row in told if row["what"] == "identify"]
    assert [row["how"] for row in won] == ["new"]
    assert [row["code"] for row in told if row["what"] == "refused"] == ["NAME_HELD"] * (MANY - 1)
    with wired(server) as wire:
        said = wire.run(messages.post(caller("heron", won[0]["token"]), "dock", messages.Draft("it is me"), once=Once()))
        assert said["seq"] == 1
        with pytest.raises(NotYou):
            wire.run(messages.post(caller("heron", "0" * 32), "dock", messages.Draft("it is not"), once=Once()))


class Slow(Proxy):
    """Holds back the first answer to an identify."""

    def __init__(self, path):
        self.sha, self.first, self.held_back, self.go_on = script("agent_identify").sha.encode(), None, threading.Event(), threading.Event()
        super().__init__(path)

    def _asked(self, data, near, far):
        if self.sha in data and self.first is None:
            self.first = near
        super()._asked(data, near, far)

    def _replied(self, data, source, near):
        if near is self.first and not data.startswith(b"-NOSCRIPT"):
            self.held_back.set()
            self.go_on.wait()
        super()._replied(data, source, near)

    def close(self):
        self.go_on.set()
        super().close()


def waits_for_a_lock(pid):
    with open("/proc/locks", encoding="ascii") as file:
        return any("-> FLOCK" in row and f" {pid} " in row for row in file)


@one_server
def test_the_token_that_is_kept_is_the_one_that_was_drawn_last(server):
    """The first command has its token drawn but not yet kept when the second one comes."""
    open_rooms(server, ["dock"], ["heron"])
    with closing(Slow(server.address)) as proxy:
        env = {**environment(server), "REDISCHAT_SESSION": "s1", "REDISCHAT_URL": proxy.url}
        words = {"env": env, "cwd": server.home, "stdout": subprocess.DEVNULL}
        with subprocess.Popen([*CLI, "identify", "heron"], **words) as first:
            assert proxy.held_back.wait(10), "the first one has its token drawn"
            with subprocess.Popen([*CLI, "identify", "heron"], **words) as second:
                wait_until(lambda: second.poll() is not None or waits_for_a_lock(second.pid), "the second one is through, or waits for the first")
                proxy.go_on.set()
            assert [first.wait(), second.returncode] == [0, 0]
        said = subprocess.run([*CLI, "say", "dock", "here"], env=env, cwd=server.home, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr


@one_server
def test_commands_of_one_session_that_identify_at_once_can_all_speak_afterwards(server):
    open_rooms(server, ["dock"], ["heron"])
    env = {**environment(server), "REDISCHAT_SESSION": "s1"}
    starters = [subprocess.Popen([*CLI, "identify", "heron"], env=env, cwd=server.home, stdout=subprocess.DEVNULL, stderr=sys.stderr) for _ in range(MANY)]
    assert [one.wait() for one in starters] == [0] * MANY
    said = subprocess.run([*CLI, "say", "dock", "here"], env=env, cwd=server.home, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
