"""Two hundred agents in one process, one channel of ten thousand messages: each message is handed out once to each agent that it is for.

Each message wakes one agent, and is handed out whole to that one and no other (``read(mine=True)``): 10,000 handed out, not 200 times as many. The whole
channel is then shared by consumers of one name, some of which fail: each message is dealt with once. The same with threads.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from crowd import one_server, serving

from redischat import AsyncClient, Client

pytestmark = [pytest.mark.real, pytest.mark.races, pytest.mark.timeout(240), one_server]
AGENTS, EACH = 200, 50
THREADS, EACH_THREAD = 16, 100
CONSUMERS = 8
ROUND = 10  # posts between two looks
BATCH = 100
FAILS = 0.05  # of the batches


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        yield server


def handed(got, count, each):
    """Each agent was handed exactly what is for it, each message once, in order."""
    for me, seqs in got.items():
        assert seqs == sorted(seqs), me
        assert len(set(seqs)) == len(seqs) == each, me
    every = [seq for seqs in got.values() for seq in seqs]
    assert sorted(every) == list(range(1, count * each + 1))


def shared(dealt, failed, total):
    """Consumers of one name: nothing was dealt with twice, nothing was left; what failed came again and said so."""
    assert sorted(seq for seq, _ in dealt) == list(range(1, total + 1))
    again = Counter(seq for seq, repeat in dealt if repeat)
    assert failed, "nobody failed: the test would be weaker than it says"
    assert set(again) == failed


async def test_two_hundred_agents_in_one_process_are_each_handed_what_is_for_them_once(server):  # noqa: C901 - two kinds of agents at work
    got: dict[str, list[Any]] = {f"a{n}": [] for n in range(AGENTS)}
    all_posted = asyncio.Barrier(AGENTS)

    async def agent(n):
        me, other = f"a{n}", f"a{(n + 1) % AGENTS}"
        async with AsyncClient(server.url, agent=me, workspace="w") as chat:
            for at in range(0, EACH, ROUND):
                for i in range(at, at + ROUND):
                    await chat.post("hall", f"{me} {i}", to=[other])
                got[me] += [one.seq for one in await chat.read("hall", mine=True)]
            await all_posted.wait()
            while more := await chat.read("hall", mine=True):
                got[me] += [one.seq for one in more]

    async with AsyncClient(server.url, agent="lead", workspace="w") as lead:
        await lead.open("hall", members=["heron", *got], max_messages=0)
        async with asyncio.TaskGroup() as group:
            for n in range(AGENTS):
                group.create_task(agent(n))
        handed(got, AGENTS, EACH)

        dealt, failed = list[Any](), set[Any]()
        dice = random.Random(3)

        async def consumer(chat):
            while True:
                try:
                    async with chat.take("hall", limit=BATCH) as batch:
                        if not batch.messages:
                            return
                        await asyncio.sleep(0)
                        if dice.random() < FAILS:
                            raise ZeroDivisionError
                except ZeroDivisionError:
                    failed.update(one.seq for one in batch)
                else:
                    dealt.extend((one.seq, one.repeat) for one in batch)

        async with asyncio.TaskGroup() as group:
            for _ in range(CONSUMERS):
                group.create_task(consumer(lead.as_("heron")))
    shared(dealt, failed, AGENTS * EACH)


def test_sixteen_threads_with_clients_of_their_own_and_a_shared_one(server):  # noqa: C901 - two kinds of agents at work
    got: dict[str, list[Any]] = {f"a{n}": [] for n in range(THREADS)}
    all_posted = threading.Barrier(THREADS)

    def agent(n):
        me, other = f"a{n}", f"a{(n + 1) % THREADS}"
        with Client(server.url, agent=me, workspace="w") as chat:
            for at in range(0, EACH_THREAD, ROUND):
                for i in range(at, at + ROUND):
                    chat.post("hall", f"{me} {i}", to=[other])
                got[me] += [one.seq for one in chat.read("hall", mine=True)]
            all_posted.wait(timeout=100)
            while more := chat.read("hall", mine=True):
                got[me] += [one.seq for one in more]

    dealt, failed = list[Any](), set[Any]()
    dice = random.Random(3)

    def consumer(chat):
        while True:
            try:
                with chat.take("hall", limit=BATCH // 10) as batch:
                    if not batch.messages:
                        return
                    if dice.random() < FAILS:
                        raise ZeroDivisionError
            except ZeroDivisionError:
                failed.update(one.seq for one in batch)
            else:
                dealt.extend((one.seq, one.repeat) for one in batch)

    with Client(server.url, agent="lead", workspace="w") as lead, ThreadPoolExecutor(THREADS) as pool:
        lead.open("hall", members=["heron", *got], max_messages=0)
        list(pool.map(agent, range(THREADS)))
        handed(got, THREADS, EACH_THREAD)
        list(pool.map(consumer, [lead.as_("heron") for _ in range(CONSUMERS)]))
    shared(dealt, failed, THREADS * EACH_THREAD)
