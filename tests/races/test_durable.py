"""--durable and --replicas: done only once it is on the broker's disk, or on so many replicas; else it is said what is stored and what is not safe."""

from __future__ import annotations

import json
import signal
from contextlib import contextmanager

import pytest
from crowd import BINARIES, KEYS, ME, both_servers, caller, cli, open_rooms, serving, stored, wired
from waiting import wait_until

from redischat import AsyncClient, Client
from redischat.calls import agents, messages, tasks
from redischat.calls.call import Once, plain
from redischat.errors import ChatError
from redischat.errors.broker import NotDurable
from redischat.flows import durable, reading
from redischat.flows.durable import Copies, durably
from redischat.flows.format import alone
from redischat.flows.messages import say

pytestmark = [pytest.mark.real, pytest.mark.races]
HERE = "127.0.0.1"
AOF = ("--appendonly", "yes")


@contextmanager
def pair(binary, *flags):
    """A primary with a channel, and its replica."""
    with serving(binary, *flags, host=HERE) as primary, serving(binary, *flags, host=HERE) as replica:
        open_rooms(primary, ["dock"], [ME, "lynx"])
        replica.ask("REPLICAOF", HERE, primary.port)
        wait_until(lambda: "state=online" in primary.ask("INFO", "replication"), "the replica is there")
        wait_until(lambda: replica.ask("EXISTS", KEYS.heads), "it has the channel")
        try:
            yield primary, replica
        finally:
            replica.process.send_signal(signal.SIGCONT)


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr("redischat.flows.durable.WAIT_MS", 300)


def post(text, key=None):
    return say(caller(ME), "dock", messages.Draft(text), Once(key))


@both_servers
def test_a_message_is_on_a_replica_before_it_counts(binary):
    with pair(binary) as (primary, replica), wired(primary) as wire:
        for number in range(1, 51):
            got = wire.drive(durably(post(f"m{number}"), Copies(replicas=1)))
            assert (got["seq"], got["replicas"], got["durable"]) == (number, 1, False)
            assert len(stored(replica, "dock")) == number
        primary.kill()
        assert replica.ask("REPLICAOF", "NO", "ONE") == "OK"
        with wired(replica) as other:
            assert other.drive(durably(post("on"), Copies()))["seq"] == 51


@both_servers
def test_too_few_copies_are_a_refusal_that_says_what_is_stored(binary):
    with pair(binary) as (primary, replica), wired(primary) as wire:
        replica.process.send_signal(signal.SIGSTOP)
        with pytest.raises(NotDurable) as refused:
            wire.drive(durably(post("m1"), Copies(replicas=1)))
        facts = refused.value.facts
        assert (facts["done"], facts["seq"], facts["channel"], facts["replicas"], refused.value.exit) == (True, 1, "dock", 0, 5)
        assert [one["b"] for one in stored(primary, "dock").values()] == ["m1"]
        with wired(primary) as fresh, pytest.raises(NotDurable) as again:  # a connection that wrote nothing: it must not count as safe
            fresh.drive(durably(post("m1", facts["idem"]), Copies(replicas=1)))
        assert again.value.facts["seq"] == 1
        replica.process.send_signal(signal.SIGCONT)
        wait_until(lambda: len(stored(replica, "dock")) == 1, "the replica has heard of it")
        with wired(primary) as fresh:
            assert fresh.drive(durably(post("m1", facts["idem"]), Copies(replicas=1)))["seq"] == 1
        assert len(stored(primary, "dock")) == 1


@both_servers
def test_what_is_refused_is_refused_as_ever_and_a_look_waits_for_nothing(binary):
    with pair(binary) as (primary, replica), wired(primary) as wire:
        replica.process.send_signal(signal.SIGSTOP)
        with pytest.raises(ChatError) as refused:
            wire.drive(durably(say(caller(ME), "nowhere", messages.Draft("x"), Once()), Copies(replicas=1)))
        assert refused.value.code == "NO_CHANNEL"
        replica.process.send_signal(signal.SIGCONT)
        before = primary.calls().get("wait", 0)
        wire.drive(durably(alone(tasks.look(KEYS, "dock")), Copies(replicas=1)))
        wire.drive(durably(alone(agents.everybody(KEYS)), Copies(replicas=1)))
        wire.run(messages.post(caller("lynx"), "dock", messages.Draft("to you"), once=Once()))
        got = wire.drive(durably(reading.read(caller(ME), ["dock"], "l", reading.Limits(), lambda: 0.0), Copies(replicas=1)))
        assert [one["body"] for one in got.messages] == ["to you"]
        assert primary.calls().get("wait", 0) == before, "marks are not waited for"


@pytest.mark.skipif(not BINARIES["valkey"], reason="no valkey server here")
@pytest.mark.parametrize("chat", [Client, AsyncClient], ids=["sync", "aio"])
async def test_a_durable_client_waits_for_the_disk_with_each_change(chat):
    async def got(answer):
        return await answer if hasattr(answer, "__await__") else answer

    with serving(BINARIES["valkey"], *AOF, "--appendfsync", "everysec") as server:
        amy = chat(url=server.url, agent="amy", workspace="w", durable=True)
        await got(amy.open("dock"))
        assert (await got(amy.post("dock", "one", receipt=True))).durable is True
        await got(amy.claim("dock", "x"))
        await got(amy.task_create("dock", title="t"))
        await got(amy.lock("dock", "a", repo="r"))
        assert server.calls()["waitaof"] >= 5
        plain_one = chat(url=server.url, agent="amy", workspace="w")
        before = server.calls()["waitaof"]
        await got(plain_one.post("dock", "two"))
        assert server.calls()["waitaof"] == before
        assert (await got(plain_one.post("dock", "three", durable=True))).durable is True
        assert server.calls()["waitaof"] > before
        await got(amy.disconnect())
        await got(plain_one.disconnect())


@both_servers
def test_a_promise_that_the_server_cannot_keep_is_refused_before_anything_is_done(binary):
    with serving(binary) as server:  # without an append-only file; and Redis 7.0 could not tell anyway
        open_rooms(server, ["dock"], [ME])
        before = server.dump()
        done = cli(server, "say", "dock", "keep this", "--durable", "--json", agent=ME, check=False)
        error = json.loads(done.stderr)
        assert (done.returncode, error["error"], error.get("done"), done.stdout) == (5, "NOT_DURABLE", False, "")
        assert server.dump() == before
        assert cli(server, "task", "create", "dock", "--title", "t", "--durable", agent=ME, check=False).returncode == 5
        assert server.dump() == before


@pytest.mark.skipif(not BINARIES["valkey"], reason="no valkey server here")
def test_the_command_says_how_many_copies_there_are():
    with pair(BINARIES["valkey"], *AOF) as (primary, replica):
        done = cli(primary, "say", "dock", "keep this", "--durable", "--replicas", "1", agent=ME)
        assert "it is on the broker's disk and 1 replica (on disk there)" in done.stdout
        record = json.loads(cli(primary, "claim", "dock", "x", "--replicas", "1", "--json", agent=ME).stdout)
        assert (record["replicas"], record["durable"]) == (1, False)
        replica.process.send_signal(signal.SIGSTOP)
        done = cli(primary, "say", "dock", "and this", "--replicas", "1", agent=ME, check=False)
        assert (done.returncode, done.stdout) == (5, "")
        assert "NOT_DURABLE: #dock 2 is stored" in done.stderr
        key = done.stderr.split("--idem ")[1].strip()
        replica.process.send_signal(signal.SIGCONT)
        record = json.loads(cli(primary, "say", "dock", "and this", "--replicas", "1", "--idem", key, "--json", agent=ME).stdout)
        assert (record["seq"], record["replicas"]) == (2, 1)


def test_what_only_costs_a_repetition_is_not_waited_for():
    assert durable.changes(messages.post(caller(ME), "dock", messages.Draft("x"), once=Once()))
    assert not durable.changes(messages.take(caller(ME), ["dock"], "l"))
    assert not durable.changes(tasks.look(KEYS, "dock"))
    assert not durable.changes(plain("PING"))


def test_what_is_given_back_when_interrupted_waits_for_no_copies():
    def flow():
        try:
            yield messages.post(caller(ME), "dock", messages.Draft("x"), once=Once())
        except BaseException:
            yield tasks.move(caller(ME), "dock", "t-1", "release", once=Once())
            raise

    driven = durably(flow(), Copies(replicas=1))
    assert len(driven.send(None)) == 2, "the post, and the wait"
    assert driven.throw(KeyboardInterrupt()).script.name == "task_move"
    with pytest.raises(KeyboardInterrupt):
        driven.send({})
