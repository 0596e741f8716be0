"""The MCP server outlives its broker: a restart, a flush of scripts, a failover, a full house."""

from __future__ import annotations

import os
import time

import pytest
import redis
from cli import Server, scratch, serving, town_at, town_with
from mcp_lines import Lines, seqs
from waiting import wait_until

pytestmark = pytest.mark.real
AGAIN_SECONDS = 5
AT_REST = 2


def hears(server):
    return int(server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:bell:heron")[1])


def test_redis_01_a_wait_gives_what_was_said_after_a_restart():
    with scratch() as home:
        server = Server(home, "--appendonly", "yes", "--appendfsync", "always")
        try:
            with town_at(server.url, server) as town:
                heron, lynx = town.pair()
                tools = Lines(heron)
                number = tools.call("wait", timeout=50)
                shell = heron.start("wait", "dock", "--timeout", "50", "--json")
                wait_until(lambda: hears(server) == 2, "both wait")
                server.stop()
                said = lynx.start("say", "dock", "after it", "--to", "heron")
                os.unlink(server.socket)
                server = Server(home, "--appendonly", "yes")
                assert said.wait(20) == 0
                up = time.monotonic()
                wait_until(lambda: tools.answered(number) or shell.poll() is not None, "one of them has it", AGAIN_SECONDS)
                assert time.monotonic() - up < AGAIN_SECONDS
                if not tools.answered(number):
                    lynx("say", "dock", "and again", "--to", "heron")
                assert seqs(tools.answer(number, AGAIN_SECONDS)["result"]["structuredContent"])
                assert "Traceback" not in tools.err
        finally:
            server.stop()


def test_redis_02_scripts_that_the_broker_forgot_are_sent_again_each_effect_once():
    with town_with() as town:
        heron, lynx = town.pair()
        tools = Lines(heron, "--tools", "all")
        flush = lambda: town.server.ask("SCRIPT", "FLUSH")  # noqa: E731
        lynx("say", "dock", "one", "--to", "heron")
        flush()
        assert seqs(tools.record("read")) == [1]
        flush()
        assert tools.record("say", channel="dock", body="two")["seq"] == 2
        flush()
        assert tools.record("ack", channel="dock", seq=1)["read"] == 2
        flush()
        lock = tools.record("lock", channel="dock", paths=["a"])
        flush()
        assert tools.record("renew", channel="dock", targets=["a"])["token"] == lock["token"]
        flush()
        assert tools.record("task_create", channel="dock", title="t")["id"] == "T-1"
        flush()
        assert tools.record("task_next", channel="dock", claim=True)["id"] == "T-1"
        flush()
        assert tools.record("task_done", channel="dock", task="T-1")["moved"] is True
        assert [one["seq"] for one in lynx("read", "dock", "--since", "1", "--json").records] == [1, 2]
        assert len(tools.record("task_list", channel="dock")["tasks"]) == 1


def test_redis_04_a_server_that_became_a_replica_is_named_and_the_new_primary_is_found_by_its_name():
    with serving() as old, serving() as new, scratch() as names:
        link = os.path.join(names, "primary")
        os.symlink(old.socket, link)
        with town_at(f"unix://{link}", old) as town:
            heron, _ = town.pair()
            tools = Lines(heron, env={"REDISCHAT_URL": f"unix://{link}"})
            assert tools.record("say", channel="dock", body="one")["seq"] == 1
            for key in old.ask("KEYS", "*"):
                dumped = redis.Redis(unix_socket_path=old.socket).dump(key)
                redis.Redis(unix_socket_path=new.socket).restore(key, 0, dumped or b"")
            old.ask("REPLICAOF", "127.0.0.1", "1")
            assert tools.refusal("say", channel="dock", body="lost?") == "BROKER_READONLY"
            os.unlink(link)
            os.symlink(new.socket, link)
            assert tools.record("say", channel="dock", body="two")["seq"] == 2
            assert [one["body"] for one in heron("read", "dock", "--since", "1", "--json").records] == ["one", "two"]


def test_redis_10_a_server_holds_no_connection_at_rest_and_one_wait_holds_one():
    with town_with() as town:
        heron, _ = town.pair()
        tools = Lines(heron)
        lines = lambda: len(town.server.ask("CLIENT", "LIST").splitlines()) - 1  # noqa: E731 - without the one that asks
        numbers = [tools.call("whoami") for _ in range(20)]
        for number in numbers:
            tools.answer(number)
        wait_until(lambda: lines() == 0, "it holds none")
        tools.call("wait", timeout=50)
        wait_until(lambda: 0 < lines() <= AT_REST and hears(town.server) == 1, "one wait holds few")
        assert "Traceback" not in tools.err


def test_redis_10_ten_servers_with_a_wait_each_and_commands_fit_into_thirty_connections():
    with town_with("--maxclients", "30") as town:
        heron, lynx = town.pair()
        servers = [Lines(heron) for _ in range(10)]
        numbers = [one.call("wait", timeout=50) for one in servers]
        wait_until(lambda: hears(town.server) == 10, "all wait")
        started = [lynx.start("say", "dock", f"m{n}", "--to-none") for n in range(5)]
        assert [one.wait(20) for one in started] == [0] * 5
        lynx("say", "dock", "for one of you", "--to", "heron")
        wait_until(lambda: any(one.answered(number) for one, number in zip(servers, numbers, strict=True)), "one of them has it")


def test_redis_10_a_full_broker_is_said_and_the_server_recovers():
    with town_with("--maxclients", "8") as town:
        heron, lynx = town.pair()
        tools = Lines(heron)
        full = [redis.Redis(unix_socket_path=town.server.socket) for _ in range(7)]
        for one in full:
            one.ping()
        with redis.Redis(unix_socket_path=town.server.socket) as last:
            last.ping()
            assert tools.refusal("channels") == "BROKER_MAX_CLIENTS"
        for one in full:
            one.close()
        assert tools.record("channels")["channels"]
        number = tools.call("wait", timeout=50)
        wait_until(lambda: hears(town.server) == 1, "it waits")
        lynx("say", "dock", "hi", "--to", "heron")
        assert seqs(tools.answer(number)["result"]["structuredContent"]) == [1]
