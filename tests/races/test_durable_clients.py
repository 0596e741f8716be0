"""Durable clients and tools where there are too few copies: what was taken goes back or is named, what was said is not waited on, blocks and streams are no way round."""

from __future__ import annotations

import inspect
import json
from contextlib import asynccontextmanager

import pytest
from crowd import BINARIES, KEYS, cli, serving

from redischat import AsyncClient, Client
from redischat.errors.broker import NotDurable

pytestmark = [pytest.mark.real, pytest.mark.races]
BINARY = next((one for one in BINARIES.values() if one), None)
both_clients = pytest.mark.parametrize("chat", [Client, AsyncClient], ids=["sync", "aio"])
SHORT = 20  # seconds; nothing here waits for so long


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr("redischat.flows.durable.WAIT_MS", 20)


async def got(answer):
    return await answer if inspect.isawaitable(answer) else answer


@asynccontextmanager
async def alone(chat):
    """A broker without replicas: its server, amy who cares for none, and amy who asks for one replica."""
    with serving(BINARY) as server:
        plain = chat(url=server.url, agent="amy", workspace=KEYS.workspace)
        safe = chat(url=server.url, agent="amy", workspace=KEYS.workspace, replicas=1)
        bob = chat(url=server.url, agent="bob", workspace=KEYS.workspace)
        await got(plain.open("dock", members=["bob"]))
        await got(bob.join("dock"))
        try:
            yield server, plain, safe
        finally:
            for one in (plain, safe, bob):
                await got(one.disconnect())


async def block(started, inside=None):
    """Enter a block of either client, and do something in it."""
    if hasattr(started, "__aenter__"):
        async with started as held:
            await got(inside(held) if inside else None)
    else:
        with started as held:
            if inside:
                inside(held)


async def stream(found):
    """Everything that a generator of either client gives."""
    return [one async for one in found] if hasattr(found, "__aiter__") else list(found)


@both_clients
async def test_a_lock_that_is_not_safe_enough_is_not_held_by_nobodys_block(chat):
    async with alone(chat) as (_, plain, safe):
        with pytest.raises(NotDurable) as refused:
            await block(safe.lock("dock", "src/x.py", ttl=600, repo="r"), lambda _: pytest.fail("the block must not run"))
        assert (refused.value.facts["done"], refused.value.facts["given_back"]) == (False, True)
        assert "given back" in str(refused.value)
        assert (await got(plain.locks(all=True))).locks == []
        mine = await got(plain.lock("dock", "src/y.py", ttl=600, repo="r"))
        with pytest.raises(NotDurable) as kept:
            await got(safe.lock("dock", "src/y.py", ttl=600, repo="r"))
        assert (kept.value.facts["done"], kept.value.facts["lock_id"]) == (True, mine.lock_id)
        assert str(kept.value).endswith(f"redischat unlock dock {mine.lock_id}")
        assert [one.lock_id for one in (await got(plain.locks(all=True))).locks] == [mine.lock_id]


@both_clients
async def test_a_task_that_is_not_safe_enough_is_not_held_by_nobodys_block(chat):
    async with alone(chat) as (_, plain, safe):
        task = (await got(plain.task_create("dock", title="t"))).id
        for named in (None, task):
            with pytest.raises(NotDurable) as refused:
                await block(safe.claim_task("dock", named), lambda _: pytest.fail("the block must not run"))
            assert (refused.value.facts["task"], refused.value.facts["given_back"]) == (task, True)
            assert (await got(plain.task_show("dock", task))).status == "open"
        await got(plain.task_claim("dock", task))
        with pytest.raises(NotDurable) as kept:
            await block(safe.claim_task("dock", task))
        assert (kept.value.facts["done"], kept.value.facts["how"]) == (True, "renewed")
        assert (await got(plain.task_show("dock", task))).status == "in_progress"


async def test_the_next_task_that_was_taken_is_named_with_what_keeps_it_and_what_gives_it_back():
    async with alone(AsyncClient) as (server, plain, _):
        for title in ("one", "two"):
            await plain.task_create("dock", title=title)
        done = cli(server, "task", "next", "dock", "--claim", "--replicas", "1", "--json", agent="amy", check=False)
        error = json.loads(done.stderr)
        assert (error["error"], error["done"], error["task"], error["channel"]) == ("NOT_DURABLE", True, "T-1", "dock")
        assert (error["token"], "the same command" in error["message"]) == ((await plain.task_show("dock", "T-1")).token, False)
        assert error["message"].startswith("you hold T-1 of #dock")
        renew, release = (part.split(": redischat ")[1] for part in error["message"].split("To ask again")[1].split(";"))
        cli(server, *renew.split(), agent="amy")
        cli(server, *release.split(), agent="amy")
        assert [one.status for one in await plain.task_list("dock")] == ["open", "open"]
