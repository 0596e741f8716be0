"""Durable clients and tools where there are too few copies: what was taken goes back or is named, what was said is not waited on, blocks and streams are no way round."""

from __future__ import annotations

import inspect
import json
from contextlib import asynccontextmanager

import pytest
from crowd import BINARIES, KEYS, cli, serving
from mcp import Client as MCPClient

from redischat import AsyncClient, Client
from redischat.errors import OtherFormat, TimedOut
from redischat.errors.broker import NotDurable
from redischat.mcp_server.seat import Place
from redischat.mcp_server.server import built
from redischat.mcp_server.table import DEFAULT, chosen

pytestmark = [pytest.mark.real, pytest.mark.races]
BINARY = next((one for one in BINARIES.values() if one), None)
both_clients = pytest.mark.parametrize("chat", [Client, AsyncClient], ids=["sync", "aio"])
SHORT = 5  # seconds; nothing here waits for so long


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


@both_clients
async def test_the_end_of_a_block_waits_for_copies_and_over_is_over(chat):
    async with alone(chat) as (_, plain, safe):
        copies = safe._copies  # noqa: SLF001 - the replica is lost while the block goes on

        async def ended(started, end=lambda _: None):
            def inside(held):
                copies.replicas = 1
                return end(held)

            with pytest.raises(NotDurable) as refused:
                await block(started, inside)
            copies.replicas = 0
            assert refused.value.facts["done"]

        copies.replicas = 0
        for title in ("one", "two", "three"):
            await got(plain.task_create("dock", title=title))
        await ended(safe.claim_task("dock", "T-1"))
        await ended(safe.claim_task("dock", "T-2"), lambda task: task.done("so"))
        await ended(safe.claim_task("dock", "T-3"), lambda task: task.release("no"))
        await ended(safe.lock("dock", "src/x.py", repo="r"))
        assert {one.id: one.status for one in await got(plain.task_list("dock"))} == {"T-1": "done", "T-2": "done", "T-3": "open"}
        assert (await got(plain.locks(all=True))).locks == []


@both_clients
async def test_a_gather_is_refused_before_it_waits_and_goes_on_under_its_name(chat):
    async with alone(chat) as (_, plain, safe):
        for _ in range(2):
            with pytest.raises(NotDurable) as refused:
                await stream(safe.gather("dock", "round", {"bob": "review"}, timeout=SHORT))
            assert (refused.value.facts["done"], refused.value.facts["channel"], refused.value.facts["seq"]) == (True, "dock", 1)
            assert str(refused.value).endswith("the same command")
        assert [one.id for one in await got(plain.task_list("dock"))] == ["round.bob"]
        assert (await got(plain.history("dock"))).last_seq == 1


@both_clients
async def test_a_question_with_too_few_copies_is_not_waited_on_and_its_answer_is_found_by_its_key(chat):
    async with alone(chat) as (server, plain, safe):
        with pytest.raises((NotDurable, TimedOut)) as refused:
            await got(safe.ask("dock", "bob", "which?", timeout=SHORT))
        assert (refused.value.code, refused.value.facts["seq"], server.ask("HLEN", KEYS.waits)) == ("NOT_DURABLE", 1, 0)
        cli(server, "say", "dock", "4711", "--reply", "1", "--to", "amy", agent="bob")
        assert (await got(plain.ask("dock", "bob", "which?", timeout=SHORT, idem=refused.value.facts["idem"]))).body == "4711"


@both_clients
async def test_a_stream_of_a_workspace_of_another_format_is_refused(chat):
    async with alone(chat) as (server, plain, _):
        server.ask("HSET", KEYS.meta, "format", "2")
        with pytest.raises(OtherFormat):
            await stream(plain.events("dock", timeout=0))
        with pytest.raises(OtherFormat):
            await stream(plain.listen("dock", timeout=0))
        with pytest.raises(OtherFormat):
            await stream(plain.gather("dock", "round", {"bob": "review"}, timeout=0))


async def test_a_tool_says_that_it_is_done_and_is_not_to_be_called_again(monkeypatch):
    async with alone(AsyncClient) as (server, plain, _):
        for name, value in {"REDISCHAT_URL": server.url, "REDISCHAT_WORKSPACE": KEYS.workspace, "REDISCHAT_AGENT": "amy", "REDISCHAT_REPLICAS": "1"}.items():
            monkeypatch.setenv(name, value)
        await plain.task_create("dock", title="t")
        async with MCPClient(built(Place({}, lambda *_: {}, 1.0), chosen(DEFAULT))) as client:
            said = await client.call_tool("say", {"channel": "dock", "body": "hi"})
            taken = await client.call_tool("task_next", {"channel": "dock", "claim": True})
        for result, stands, way in ((said, "#dock 1 is stored", "do it twice"), (taken, "you hold T-1 of #dock", "task_release")):
            message = result.structured_content["message"]
            assert (result.is_error, result.structured_content["error"], "idem" in result.structured_content) == (True, "NOT_DURABLE", False)
            assert stands in message
            assert "do not call this tool again" in message
            assert way in message
            assert "the same command" not in message
            assert message in str(result.content[0])
