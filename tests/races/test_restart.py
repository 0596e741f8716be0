"""The broker is killed and comes back, forgets its scripts, loses an answer, or vanishes from the network: each act has happened once, and a wait goes on."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import types
from contextlib import closing

import pytest
from crowd import KEYS, ME, both_servers, caller, crowd_on, granted, one_server, open_rooms, serving, shown, stored, wired
from proxies import Proxy
from verbs import VERBS, furnish
from waiting import wait_until

from redischat import wire as wires
from redischat.calls import messages
from redischat.calls.call import KEEPALIVE, Once
from redischat.flows import messages as flows
from redischat.settings import Place

pytestmark = [pytest.mark.real, pytest.mark.races]
DURABLE = ("--appendonly", "yes", "--appendfsync", "everysec")
WRITERS = ["p0", "p1", "p2", "p3"]
KILLS = 4
NOTICED_S = 10  # 4 s idle and 2 probes of 2 s each, and some
BACK_S = 5  # a wait that was blocked has what it waits for so soon after the broker is back


@both_servers
def test_no_acknowledged_message_is_lost_or_doubled_when_the_broker_is_killed(binary):
    with serving(binary, *DURABLE) as server, crowd_on(server) as crowd:
        open_rooms(server, ["a", "b"], [ME, *WRITERS])
        for i, agent in enumerate(WRITERS):
            crowd.add("post", agent=agent, rooms=["a", "b"], count=5_000, pace=0, seed=i)
        crowd.go()
        for kill in range(1, KILLS + 1):
            wait_until(lambda kill=kill: len(said(crowd)) > 100 * kill, f"a burst before kill {kill}")
            server.kill()
            server.start()
        before = len(said(crowd))
        wait_until(lambda: len(said(crowd)) > before + 100, "they go on after the last one")
        crowd.stop(crowd.of("post"))
        told = said(crowd)
        for room in ("a", "b"):
            kept = stored(server, room)
            assert sorted(kept) == list(range(1, len(kept) + 1))
            mine = {row["seq"]: row["body"] for row in told if row["channel"] == room}
            assert {seq: kept[seq]["b"] for seq in mine} == mine
            assert len({(entry["f"], entry["b"]) for entry in kept.values() if len(entry["b"]) > 3}) == len([e for e in kept.values() if len(e["b"]) > 3])
            assert len(kept) == len(mine), "what was stored was said to be so, once"


def said(crowd):
    return [row for row in crowd.told() if row.get("what") == "said"]


@both_servers
def test_a_wait_that_the_broker_left_alone_hears_the_next_message(binary):
    with serving(binary, *DURABLE) as server, crowd_on(server) as crowd:
        open_rooms(server, ["a"], [ME, "amy"])
        waiter = crowd.add("once", rooms=["a"])
        crowd.go()
        listens(server, KEYS.bell(ME))
        server.kill()
        server.start()
        with wired(server) as wire:
            wire.drive(flows.say(caller("amy"), "a", messages.Draft("back again"), Once()))
        wait_until(lambda: waiter.poll() is not None, "the wait has its message", BACK_S)
        assert list(shown(crowd.told())) == [("a", 1)]


def listens(server, bell):
    wait_until(lambda: server.ask("PUBSUB", "SHARDNUMSUB", bell)[1] == 1, f"somebody listens to {bell}")


@both_servers
@pytest.mark.parametrize("verb", VERBS)
def test_a_broker_that_forgot_its_scripts_does_each_act_once(binary, verb):
    with serving(binary) as server, wired(server) as wire:
        furnish(wire)
        server.ask("SCRIPT", "FLUSH")
        with granted(verb):
            answer = VERBS[verb].act(wire)
        VERBS[verb].check(wire, server, answer)


@one_server
@pytest.mark.parametrize("verb", VERBS)
def test_an_act_whose_answer_was_lost_is_done_once(binary, verb):
    with serving(binary) as server:
        with wired(server) as wire:
            furnish(wire)
        with closing(Proxy(server.address)) as proxy, wired(proxy) as wire, granted(f"{verb}, asked again"):
            proxy.lose()
            answer = VERBS[verb].act(wire)
            assert proxy.lost == 1
        with wired(server) as wire:
            VERBS[verb].check(wire, server, answer)


@pytest.fixture
def cable():
    """A network of one cable: here 10.213.7.1, there 10.213.7.2. Only root may lay it."""
    name, here = f"rr{os.getpid()}", "10.213.7.1"
    laid = [
        f"netns add {name}",
        f"link add {name}a type veth peer name {name}b netns {name}",
        f"addr add {here}/30 dev {name}a",
        f"link set {name}a up",
        f"-n {name} addr add 10.213.7.2/30 dev {name}b",
        f"-n {name} link set {name}b up",
    ]
    try:
        for line in laid:
            if (done := ip(*line.split())).returncode:
                pytest.skip(f"no network namespaces here: ip {line}: {done.stderr.strip()}")
        yield name, here
    finally:
        ip("netns", "del", name)


def ip(*words):
    try:
        return subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return subprocess.CompletedProcess(words, 1, "", "no ip command")


def established(name):
    """How many connections a namespace believes in."""
    rows = ip("netns", "exec", name, "cat", "/proc/net/tcp").stdout.splitlines()[1:]
    return sum(row.split()[3] == "01" for row in rows)


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_the_kernel_watches_over_a_connection(scheme, monkeypatch):
    """Plain or TLS; the TLS of this one is none."""
    monkeypatch.setattr(ssl, "create_default_context", lambda: types.SimpleNamespace(wrap_socket=lambda sock, **_: sock))
    with socket.create_server(("127.0.0.1", 0)) as door, closing(wires.Line(Place(f"{scheme}://127.0.0.1:{door.getsockname()[1]}"))) as line:
        assert line.sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        for option, seconds in KEEPALIVE:
            if hasattr(socket, option):
                assert line.sock.getsockopt(socket.IPPROTO_TCP, getattr(socket, option)) == seconds


@one_server
def test_a_wait_on_a_dead_cable_notices_and_survives(binary, cable):
    name, here = cable
    with serving(binary, host=here) as server, crowd_on(server) as crowd:
        open_rooms(server, ["a"], [ME, "amy"])
        waiter = crowd.add("once", rooms=["a"], before=("ip", "netns", "exec", name))
        crowd.go()
        listens(server, KEYS.bell(ME))
        assert established(name) >= 1
        ip("link", "set", f"{name}a", "down")
        wait_until(lambda: established(name) == 0, "the wait has given the dead connection up", NOTICED_S)
        assert waiter.poll() is None
        ip("link", "set", f"{name}a", "up")
        with wired(server) as wire:
            wire.drive(flows.say(caller("amy"), "a", messages.Draft("the cable is back"), Once()))
        wait_until(lambda: waiter.poll() is not None, "the wait has its message", BACK_S)
        assert list(shown(crowd.told())) == [("a", 1)]
