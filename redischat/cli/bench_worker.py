"""A worker process of bench: posts as fast as it can, through Client or by redis-py's bare EVALSHA, waits to be woken, or stands in line. Orders come as JSON lines."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from functools import partial
from itertools import pairwise
from threading import Thread
from typing import TYPE_CHECKING

from .. import AsyncClient, Client
from ..calls import messages
from ..calls.call import Caller, Once
from ..keys import Keys
from ..settings import Place
from ..sync.connection import client_of
from .bench_world import BODY, WORKSPACE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from redis import Redis

FOREVER_S = 3_600.0
MS = 1000


def main() -> None:
    """Take orders until they end. ^C is the business of whoever gives them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    url = sys.argv[1]
    orders: dict[str, Callable[..., None]] = {"post": post, "wait": wait, "queue": queue}
    for line in sys.stdin:
        order = json.loads(line)
        orders[order.pop("do")](url, **order)


def answer(**record: Any) -> None:
    """One line to whoever gave the order."""
    os.write(1, (json.dumps(record) + "\n").encode())  # whole, whichever thread gives it


def post(url: str, *, how: str, agent: str, channel: str, count: int) -> None:
    """Post ``count`` messages one after the other, from the moment when "go" comes; says when it began and ended, and what each took."""
    with Client(url, agent=agent, workspace=WORKSPACE) as chat, client_of(Place(url)) as redis:
        chat.post(channel, BODY)  # both know the script and are connected
        steps = _bare(redis, agent, channel, count) if how == "raw" else [partial(chat.post, channel, BODY)] * count
        redis.ping()
        answer(ready=True)
        sys.stdin.readline()
        clock, times = time.perf_counter, [time.perf_counter()]
        for step in steps:
            step()
            times.append(clock())
    answer(began=times[0], ended=times[-1], ms=[round(MS * (b - a), 4) for a, b in pairwise(times)])


def _bare(redis: Redis, agent: str, channel: str, count: int) -> list[Callable[[], Any]]:
    """The same script with the same keys and arguments, made before the clock runs: what redis-py can do at most."""
    who = Caller(Keys(WORKSPACE), agent)
    made = [messages.post(who, channel, messages.Draft(BODY), once=Once()).words()[1:] for _ in range(count)]
    return [partial(redis.evalsha, *words) for words in made]


def queue(url: str, *, agent: str, channel: str, path: str) -> None:
    """Stand in line for a path that another has; answers with the time when it has come, and lets go."""
    with Client(url, agent=agent, workspace=WORKSPACE) as chat:
        lock = chat.lock(channel, path, wait=FOREVER_S)
        at = time.perf_counter()
        chat.unlock(channel, lock.lock_id)
    answer(at=at)


def wait(url: str, *, how: str, agents: list[str], channel: str) -> None:
    """Sleep until woken, for ever; each wake is answered with its time. In threads: this process ends with its input all the same."""
    if how == "loop":
        jobs: list[Callable[[], object]] = [lambda: asyncio.run(_loop(url, agents, channel))]
    elif how == "bell":
        jobs = [partial(_bell, url, agents[0])]
    else:
        jobs = [partial(_sleep, url, agent, channel) for agent in agents]
    for job in jobs:
        Thread(target=_whole, args=(job,), daemon=True).start()


def _whole(job: Callable[[], object]) -> None:
    """A waiter that fails ends the process: whoever counts on its answer must not wait for ever."""
    try:
        job()
    except Exception as error:  # noqa: BLE001 - whatever it is
        os.write(2, f"bench: {error!r}\n".encode())
        os._exit(1)


def _sleep(url: str, agent: str, channel: str) -> None:
    with Client(url, agent=agent, workspace=WORKSPACE) as chat:
        while True:
            chat.wait(agent, channel, timeout=FOREVER_S)
            answer(agent=agent, at=time.perf_counter())


async def _loop(url: str, agents: list[str], channel: str) -> None:
    async def one(agent: str) -> None:
        async with AsyncClient(url, agent=agent, workspace=WORKSPACE) as chat:
            while True:
                await chat.wait(agent, channel, timeout=FOREVER_S)
                answer(agent=agent, at=time.perf_counter())

    await asyncio.gather(*(one(agent) for agent in agents))


def _bell(url: str, agent: str) -> None:
    """A bare subscriber of redis-py: what a doorbell costs before anything is looked at."""
    with client_of(Place(url)) as redis, redis.pubsub() as pubsub:
        pubsub.ssubscribe(Keys(WORKSPACE).bell(agent))
        while True:
            found = pubsub.get_message(timeout=FOREVER_S)
            if found is not None and found["type"] == "smessage":
                answer(agent=agent, at=time.perf_counter())


if __name__ == "__main__":
    main()
