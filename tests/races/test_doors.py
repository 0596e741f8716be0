"""Hooks and the waker at brokers that a raw socket cannot speak to: the waker's door answers for them, as fast as a plain broker would."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import hiredis
import pytest
from cli import town_at
from crowd import BINARIES, KEYS, WORKSPACE
from fleets import TLS_BINARY, certificates, cluster, needs_tls, sentinels, tls_server  # noqa: F401 - a fixture
from sessions import Session, ended_at_last, status
from waiting import wait_until

from redischat.hook import doors, wake
from redischat.hook import session as cards
from redischat.lua import script
from redischat.settings import Place

pytestmark = [pytest.mark.real, pytest.mark.races]
ONE = BINARIES["valkey"] or BINARIES["redis"]
PASSWORD = "hunter2"
MOST_S = 2.0
TLS, TLS_CLUSTER = (pytest.param(kind, marks=needs_tls) for kind in ("tls", "cluster-tls"))
KINDS = [TLS, "cluster", "sentinel", TLS_CLUSTER]
one_of_each = pytest.mark.parametrize("dock", [TLS, "cluster"], indirect=True)


@contextmanager
def broker_of(kind, request):
    """A broker of this kind, of which a replica can take over where there is one."""
    certs = request.getfixturevalue("certificates") if "tls" in kind else None
    name = kind.partition("-")[0]
    if name == "tls":
        with tls_server(certs) as one:
            one.url = one.url.replace("://", f"://:{PASSWORD}@")
            one.servers[0].ask("CONFIG", "SET", "requirepass", PASSWORD)
            one.servers[0].ask("AUTH", PASSWORD)
            yield one
        return
    with cluster(TLS_BINARY if certs else ONE, replicas=1, certificates=certs) if name == "cluster" else sentinels(ONE, password=PASSWORD) as several:
        yield several


@pytest.fixture(params=KINDS)
def dock(request):
    """(The broker, amy at a shell, bob's session, which has just started.) The waker is a real one, started by bob's hook."""
    with broker_of(request.param, request) as broker, town_at(broker.url, broker) as town, ended_at_last(town.state):
        town.env["REDISCHAT_WORKSPACE"] = WORKSPACE
        amy, bob = town.person("amy", REDISCHAT_AGENT="amy"), Session(town, "session-of-bob", "bob")
        amy("open", "dock", "--members", "bob")
        bob("SessionStart", source="startup")
        status(town.state)
        wait_until(lambda: os.path.exists(card(bob)["socket"]), "the door is there")
        yield broker, amy, bob


def card(session):
    return cards.known(session.town.state, session.id)


def asked(broker):
    """(How many connections were ever made, how many scripts run), on all servers."""
    text = "".join(one.ask("INFO", "everything") for one in broker.servers)
    return [sum(map(int, re.findall(pattern, text))) for pattern in (r"total_connections_received:(\d+)", r"cmdstat_evalsha:calls=(\d+)")]


def read_all(folder):
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


def test_a_hook_asks_through_the_door_and_no_session_file_holds_a_password(dock):
    broker, amy, bob = dock
    bob("UserPromptSubmit", prompt="go")
    found, url = card(bob), Place(broker.url)
    assert found["url"] == url.shown
    assert "auth" not in found
    if url.password:
        assert url.password.encode() not in read_all(os.path.join(bob.town.state, cards.FOLDER))
        assert url.password.encode() not in read_all(wake.folder(bob.town.state))
    assert stat.S_IMODE(os.stat(os.path.join(bob.town.state, doors.FOLDER, found["door"])).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(found["socket"])).st_mode) == 0o700
    bob("PostToolUse", tool_name="Read")
    before = asked(broker)
    for _ in range(20):
        assert bob("PostToolUse", tool_name="Read") == ""
    after = asked(broker)
    assert after[1] - before[1] >= 20
    assert after[0] - before[0] < 10, "no hook has made a connection to the broker of its own"
    amy("say", "dock", "look here", "--to", "bob")
    assert "look here" in bob("PostToolUse", tool_name="Read")
    cards.forget(bob.town.state, bob.id)
    assert os.listdir(os.path.join(bob.town.state, doors.FOLDER)) == [], "with the last session the passwords are gone"


def test_an_idle_session_is_rung_and_said_to_be_there(dock):
    broker, amy, bob = dock
    bob("UserPromptSubmit", prompt="go")
    bob("Stop")
    amy("say", "dock", "wake up", "--to", "bob")
    assert bob.rung()
    before = beat(broker)
    wait_until(lambda: beat(broker) > before, "the waker says again that bob is there", 20)


def beat(broker):
    """When it was last said of bob's session that it is there."""
    return int(broker.lead.ask("HGET", KEYS.presence, "session-of-bob").split(" ")[6])


@one_of_each
def test_without_a_waker_a_hook_takes_the_long_way_and_brings_one_back(dock):
    _, amy, bob = dock
    bob("UserPromptSubmit", prompt="go")
    pid = int(status(bob.town.state)["pid"])
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not wake.running(bob.town.state), "the waker is gone")
    amy("say", "dock", "still here", "--to", "bob")
    assert "still here" in bob("PostToolUse", tool_name="Read")
    assert int(status(bob.town.state)["pid"]) != pid
    wait_until(lambda: knock(card(bob)["socket"], "PING") is not None, "the door is open again")


@one_of_each
def test_a_broker_that_hangs_or_is_gone_holds_no_hook_up_for_long(dock):
    broker, _, bob = dock
    bob("UserPromptSubmit", prompt="go")
    for blow in (signal.SIGSTOP, signal.SIGKILL):
        for one in broker.servers:
            one.process.send_signal(blow)
        for _ in range(3):
            began = time.monotonic()
            assert bob("PostToolUse", tool_name="Read") == ""
            assert time.monotonic() - began < MOST_S + 0.5, "and the start of a process on a busy machine"
    for one in broker.servers:
        one.process.wait()


def knock(path, *words):
    """What the door says to these words; None when it hangs up."""
    with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
        line.settimeout(10)
        line.connect(path)
        line.sendall(hiredis.pack_command(words))
        reader = hiredis.Reader(encoding="utf-8")
        while data := line.recv(4096):
            reader.feed(data)
            if (found := reader.gets()) is not False:
                return found
    return None


@one_of_each
def test_the_door_takes_one_question_only(dock):
    broker, _, bob = dock
    path, sha, keys = card(bob)["socket"], card(bob)["sha"], card(bob)["keys"].split(" ")
    args = ["x"] * len(script("session_tick").args)
    elsewhere = [keys[0].replace(f"{{{WORKSPACE}}}", "{other}"), *keys[1:]]
    other = script("message_post").sha
    size = asked(broker)[1]
    for words in (
        ["FLUSHALL"], ["GET", keys[0]], ["EVAL", "return 1", "0"], ["EVALSHA", other, str(len(keys)), *keys, *args], ["EVALSHA", sha, "0"], ["EVALSHA", sha, "x", "y"],
        ["EVALSHA", sha, str(len(keys)), *elsewhere, *args], ["EVALSHA", sha, str(len(keys)), *keys], ["EVALSHA", sha, str(len(keys) - 1), *keys[1:], *args],
        ["evalsha", sha, str(len(keys)), *["k"] * len(keys), *args],
    ):  # fmt: skip
        assert isinstance(knock(path, *words), hiredis.ReplyError), words
    assert knock(path, "EVALSHA", sha, str(len(keys)), *keys, *args) == ["ok", 0, 0, 0, 0]
    assert knock(path, "HGET", KEYS.presence, "session-of-bob").split(" ")[0] == "bob", "a waiter asks how its session is"
    assert knock(path, "HGET", KEYS.presence, "nobody") is None
    assert isinstance(knock(path, "HGET", KEYS.agents, "bob"), hiredis.ReplyError)
    with suppress(OSError), socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        line.sendall(b"*1\r\n$-5\r\n\r\nGET / HTTP/1.0\r\n\r\n")
        assert b"ok" not in line.recv(100)
    assert knock(path, "EVALSHA", sha, str(len(keys)), *keys, *args) == ["ok", 0, 0, 0, 0]
    assert asked(broker)[1] - size < 10


@pytest.mark.parametrize("dock", ["cluster", "sentinel"], indirect=True)
def test_when_the_master_dies_the_door_and_the_doorbells_find_the_new_one(dock):
    broker, amy, bob = dock
    bob("UserPromptSubmit", prompt="go")
    bob("Stop")
    old = broker.lead
    old.kill()
    amy("say", "dock", "are you there?", "--to", "bob")
    assert bob.rung(30)
    asks = ["EVALSHA", card(bob)["sha"], str(len(card(bob)["keys"].split(" "))), *card(bob)["keys"].split(" "), *["x"] * len(script("session_tick").args)]
    wait_until(lambda: isinstance(knock(card(bob)["socket"], *asks), list), "the door answers again", 30)
    assert "are you there?" in bob("UserPromptSubmit", prompt="what?")
