"""What a broker that cannot or will not do it becomes: an error that names it, and never a password."""

from __future__ import annotations

import asyncio
import traceback

import pytest
import redis
from cli import Server, serving
from seats import bodies, until

from redischat import Client
from redischat.errors import ChatError, CouldNotLook, TimedOut, Usage
from redischat.errors.broker import Loading, MaxClients, NotAllowed, OutOfMemory, ReadOnly, Unreachable

PASSWORD = "hunter2"


@pytest.mark.real
@pytest.mark.usefixtures("impatient")
async def test_a_wait_for_a_broker_that_is_gone_could_not_look(seated):
    with serving() as server:
        sit = seated(server.url)
        _, bob = await sit.pair()
        server.stop()
        with pytest.raises(Unreachable) as no:
            await bob.wait("dock", timeout=0.2)
        assert not isinstance(no.value, TimedOut)
        for verb in (bob.read("dock"), bob.post("dock", "x"), bob.channels(), bob.pending()):
            with pytest.raises(Unreachable) as no:
                await verb
            assert (no.value.code, no.value.facts["url"]) == ("BROKER_UNREACHABLE", server.url)


@pytest.mark.real
@pytest.mark.usefixtures("impatient")
async def test_a_replica_is_named(seated):
    with serving() as server:
        amy, _ = await seated(server.url).pair()
        server.ask("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(ReadOnly) as no:
            await amy.post("dock", "x")
        assert (no.value.code, no.value.facts["url"]) == ("BROKER_READONLY", server.url)


@pytest.mark.real
async def test_a_replica_that_is_promoted_takes_the_post_that_waited_for_it(seated):
    with serving() as server:
        amy, _ = await seated(server.url).pair()
        server.ask("REPLICAOF", "127.0.0.1", "1")
        task = asyncio.create_task(amy.post("dock", "x"))
        await until(lambda: int(refusals(server)) >= 2, "the post was refused twice")
        server.ask("REPLICAOF", "NO", "ONE")
        assert (await task).seq == 1


def refusals(server):
    """How often the server said READONLY."""
    rows = dict(row.split(":", 1) for row in server.ask("INFO", "errorstats").splitlines() if ":" in row)
    return rows.get("errorstat_READONLY", "count=0").partition("=")[2]


@pytest.mark.real
async def test_too_many_clients_are_named(seated):
    with serving() as server, redis.Redis.from_url(server.url, protocol=2) as holder:
        sit = seated(server.url)
        amy, _ = await sit.pair()
        holder.config_set("maxclients", len(holder.client_list()))
        late = sit("bob")
        with pytest.raises(MaxClients) as no:
            await late.read("dock")
        assert no.value.code == "BROKER_MAX_CLIENTS"
        holder.config_set("maxclients", 100)
        await amy.post("dock", "room again")
        assert bodies(await late.read("dock")) == ["room again"]


@pytest.mark.real
async def test_a_full_broker_refuses_what_adds_and_lets_what_settles_through(seated):
    with serving() as server:
        amy, bob = await seated(server.url).pair(max_messages=0)
        await amy.open("kiln", members="bob")
        await amy.post("dock", "before")
        server.ask("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(OutOfMemory) as no:
            await amy.post("dock", "too much")
        assert no.value.code == "BROKER_OUT_OF_MEMORY"
        assert bodies(await bob.read("dock")) == ["before"]
        assert (await bob.ack("dock", 1)).read == 1
        assert (await bob.leave("kiln")).left
        assert (await amy.close("kiln", "full")).closed
        assert (await amy.retain("dock", 0, yes=True)).removed == 1
        server.ask("CONFIG", "SET", "maxmemory", "0")
        assert (await amy.post("dock", "after")).seq == 2


ANSWERS = {
    b"-LOADING Redis is loading the dataset in memory\r\n": Loading, b"-NOPERM this user has no permissions to run the 'evalsha' command\r\n": NotAllowed,
    b"-TRYAGAIN Multiple keys request during rehashing of slot\r\n": CouldNotLook, b"-WHAT is this\r\n": ChatError,
}  # fmt: skip


@pytest.mark.real
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("answer", "error"), ANSWERS.items(), ids=[cls.code for cls in ANSWERS.values()])
async def test_what_a_server_says_becomes_an_error_of_ours(seated, proxy, answer, error):
    amy, _ = await seated(proxy.url).pair()
    proxy.answer = answer
    with pytest.raises(error) as no:
        await amy.post("dock", "x")
    assert isinstance(no.value.__cause__, redis.RedisError)
    proxy.answer = None
    assert (await amy.post("dock", "y")).seq == 1


@pytest.mark.real
async def test_a_broker_that_loads_its_data_is_waited_for(seated, proxy):
    amy, _ = await seated(proxy.url).pair()
    proxy.answer = b"-LOADING Redis is loading the dataset in memory\r\n"
    task = asyncio.create_task(amy.post("dock", "x"))
    await until(lambda: proxy.answered >= 2, "the post was put off twice")
    proxy.answer = None
    assert (await task).seq == 1


@pytest.mark.real
@pytest.mark.usefixtures("impatient")
async def test_a_password_is_shown_nowhere(seated):
    with serving("--requirepass", PASSWORD) as server:
        good = f"unix://:{PASSWORD}@{server.socket}"
        sit = seated(good)
        amy, _ = await sit.pair()
        shown = [repr(amy.url), str(await amy.whoami())]
        server.stop()
        bad = [f"unix://:{PASSWORD}@{server.socket}", f"redis://u:{PASSWORD}@127.0.0.1:1/0", f"rediss://:{PASSWORD}@127.0.0.1:1"]
        for url in bad:
            with pytest.raises(Unreachable) as no:
                await seated(url)("amy").channels()
            shown += told(no.value)
        server.process = Server(server.home, "--requirepass", "another").process
        with pytest.raises(NotAllowed) as refused:
            await seated(good)("amy").channels()
        shown += told(refused.value)
    for url in (f"redis://:hunt er2@:{PASSWORD}", f"redis://u:{PASSWORD}@h:port", f"http://u:{PASSWORD}@h", f"{PASSWORD}"):
        with pytest.raises(Usage) as wrong:
            Client(url)
        shown += told(wrong.value) if "@" in url else []
    assert all(PASSWORD not in text for text in shown)


def told(error):
    """All that an error shows of itself and of what caused it."""
    return [str(error), repr(error), str(error.record()), "".join(traceback.format_exception(error))]
