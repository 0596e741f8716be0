"""What can happen on the way to a broker: lost replies, forgotten scripts, cut connections, restarts."""

from __future__ import annotations

import asyncio
import sys

import fakeredis
import pytest
import redis
from cli import Server, serving
from seats import bodies, until

from redischat import Client
from redischat.calls import messages as calls
from redischat.calls.call import Caller, Show, plain
from redischat.errors import (
    BrokerRefused,
)
from redischat.keys import Keys
from redischat.lua import script
from redischat.sync.connection import Connection
from redischat.wire import Wire

LONG = 20  # seconds; every such wait ends much earlier


@pytest.mark.real
async def test_a_post_whose_reply_is_lost_is_posted_once(seated, proxy):
    amy, bob = await seated(proxy.url).pair()
    for n in range(1, 4):
        proxy.lose(n)
        assert (await amy.post("dock", f"{n}")).seq == n
    assert proxy.lost == 6
    assert bodies(await bob.read("dock")) == ["1", "2", "3"]


@pytest.mark.real
async def test_every_verb_whose_reply_is_lost_happens_once(seated, proxy):
    amy, bob = await seated(proxy.url).pair()
    await amy.post("dock", "one")
    verbs = [
        lambda: bob.read("dock"), lambda: bob.ack("dock", 1), lambda: bob.leave("dock"), lambda: bob.join("dock"), lambda: amy.mode("dock", "broadcast", yes=True),
        lambda: amy.briefing("dock", "be kind"), lambda: amy.close("dock", "over"), lambda: amy.reopen("dock"), lambda: amy.identify(session="a"),
        lambda: amy.post("dock", "two", to="bob", receipt=True), lambda: amy.retain("dock", 3, yes=True), amy.channels,
    ]  # fmt: skip
    for n, verb in enumerate(verbs, 1):
        proxy.lose()
        await verb()
        assert proxy.lost == n
    assert [one.status for one in await amy.history("dock")] == ["closed", "reopened", "discussion"]
    assert [(one.body, one.repeat) for one in await bob.read("dock") if one.kind == "message"] == [("two", False)]


@pytest.mark.real
async def test_a_batch_whose_reply_is_lost_is_handed_out_again_without_a_mark(seated, proxy):
    amy, bob = await seated(proxy.url).pair()
    await amy.post("dock", "one")
    proxy.lose()
    assert [(one.body, one.repeat) for one in await bob.read("dock")] == [("one", False)]
    assert proxy.lost == 1


@pytest.mark.real
async def test_a_server_that_forgot_the_scripts_is_told_them_again(seated, real):
    amy, bob = await seated(real.url).pair()
    verbs = [
        lambda: amy.post("dock", "one"), lambda: amy.post("dock", "two", to="bob", receipt=True), lambda: bob.read("dock"), lambda: bob.ack("dock", 2),
        lambda: bob.leave("dock"), lambda: bob.join("dock"), lambda: amy.close("dock", "over"), lambda: amy.reopen("dock"),
        lambda: amy.mode("dock", "broadcast", yes=True), lambda: amy.briefing("dock", "x"), lambda: amy.retain("dock", 99, yes=True),
        lambda: amy.identify(session="a"), bob.sync, lambda: amy.delete("dock", yes=True), lambda: amy.open("dock"),
    ]  # fmt: skip
    for verb in verbs:
        assert real.ask("SCRIPT", "FLUSH") == "OK"
        await verb()
    assert (await amy.roster("dock")).last_seq == 0


@pytest.mark.real
def test_a_script_that_is_missing_in_the_middle_of_a_pipeline_is_sent_whole_and_the_rest_behind_it(real):
    who = Caller(Keys("default"), "amy")
    with Client(real.url, agent="amy") as amy:
        amy.open("dock")
        amy.post("dock", "loads the script")
    real.ask("SCRIPT", "FLUSH")
    look = calls.look(who, {"dock": 0})
    real.ask("SCRIPT", "LOAD", script("message_look").text)
    with redis.Redis.from_url(real.url, decode_responses=True, protocol=2) as client:
        found = Connection(lambda: client, "x").pipe([plain("PING"), look, calls.release(who, "x"), look, calls.renew(who, "x", 1), plain("ECHO", "end")])
    assert (found[0], found[2], found[4], found[5]) == (True, 0, 0, "end")


def test_the_first_refusal_of_a_pipeline_is_raised_after_all_were_answered():
    client = fakeredis.FakeRedis(decode_responses=True, protocol=2)
    connection = Connection(lambda: client, "x")
    with pytest.raises(BrokerRefused):
        connection.pipe([plain("SET", "a", "1"), plain("LPUSH", "a", "x"), plain("SET", "a", "2")])
    assert client.get("a") == "2"
    client.close()


@pytest.mark.real
async def test_a_wait_survives_a_restart_of_the_broker(seated):
    with serving("--appendonly", "yes") as server:
        sit = seated(server.url)
        amy, bob = await sit.pair()
        task = asyncio.create_task(bob.wait("dock", timeout=LONG))
        await sit.asleep("bob")
        server.stop()
        server.process = Server(server.home, "--appendonly", "yes").process
        assert (await amy.post("dock", "we are back")).seq == 1
        assert bodies(await task) == ["we are back"]


@pytest.mark.real
async def test_a_wait_whose_connection_is_cut_subscribes_again_and_looks(seated, real):
    sit = seated(real.url)
    amy, bob = await sit.pair()
    task = asyncio.create_task(bob.wait(timeout=LONG))
    await sit.asleep("bob")
    assert real.ask("CLIENT", "KILL", "TYPE", "pubsub") == 1
    await amy.post("dock", "still there?")
    assert bodies(await task) == ["still there?"]


@pytest.mark.real
async def test_a_wait_asks_nothing_while_nothing_happens(seated, real):
    sit = seated(real.url)
    _, bob = await sit.pair()
    task = asyncio.create_task(bob.wait("dock", timeout=LONG))
    await sit.asleep("bob")

    def silent():
        rows = [dict(word.split("=", 1) for word in row.split()) for row in real.ask("CLIENT", "LIST", "TYPE", "pubsub").splitlines()]
        return rows and all(row["cmd"] == "ssubscribe" and int(row["idle"]) >= 2 for row in rows)

    await until(silent, "the doorbell's connection has said nothing for 2 s")
    seats_amy = sit("amy")
    await seats_amy.post("dock", "enough")
    assert bodies(await task) == ["enough"]


@pytest.mark.real
async def test_a_client_can_be_used_again_after_it_disconnected(seated, real):
    amy, bob = await seated(real.url).pair()
    await amy.disconnect()
    await amy.disconnect()
    await amy.post("dock", "back")
    assert bodies(await bob.read("dock")) == ["back"]


@pytest.mark.real
async def test_an_idle_connection_that_the_server_closed_is_replaced_without_a_word(seated, real):
    amy, _ = await seated(real.url).pair()
    real.ask("CLIENT", "KILL", "TYPE", "normal")
    assert (await amy.post("dock", "x")).seq == 1


def test_an_interrupt_between_any_two_steps_of_a_verb_is_settled_by_it():
    """^C at each line of the loop that drives a verb: the verb hears of it, once it has begun."""
    told = []
    for at in range(1, 100):
        heard: list[str] = []
        broken = interrupted(at, lambda: Wire("unix:///nowhere").drive(showing(heard)))  # noqa: B023 - called at once
        if not broken:
            break
        told.append(heard[-1] if heard else "not begun")
    assert told.count("told") > 3 * SHOWS
    assert [one for one in told if one not in ("not begun", "told", "done")] == []


SHOWS = 3


def showing(heard):
    """A verb that asks for nothing but what needs no broker."""
    heard.append("begun")
    try:
        for _ in range(SHOWS):
            yield Show([], [], plain)
        heard.append("done")
    except KeyboardInterrupt:
        heard.append("told")
        raise


def interrupted(at, work):
    """Do the work, with ^C where its driver reaches its line number ``at``. False: it has fewer."""
    reached = 0

    def trace(frame, event, _):
        nonlocal reached
        if frame.f_code is not Wire.drive.__code__:
            return None
        reached += event == "line"
        if event == "line" and reached == at:
            raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False
