"""Seats agents of either API at a broker of either kind, so that one test body serves all four."""

from __future__ import annotations

import asyncio
import inspect
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import fakeredis
import redis
from waiting import POLL_SECONDS

from redischat import AsyncClient, Client

THREADS = ThreadPoolExecutor(64)  # asyncio's own are too few for a crowd that waits


async def in_thread(verb, *args, **kwargs):
    """Run a verb of the sync API beside the loop."""
    return await asyncio.get_running_loop().run_in_executor(THREADS, partial(verb, *args, **kwargs))


class Awaited:
    """Lets a test await the sync API: each verb runs in a thread of its own."""

    def __init__(self, chat):
        self.chat = chat

    def __getattr__(self, name):
        found = getattr(self.chat, name)
        wrapper = {
            "channel": Awaited,
            "as_": Awaited,
            "take": AwaitedTake,
            "listen": AwaitedListening,
            "gather": AwaitedListening,
            "events": AwaitedListening,
        }.get(name)
        if name in STARTED:
            return partial(AwaitedStarted, found)
        if wrapper is not None:
            return lambda *args, **kwargs: wrapper(found(*args, **kwargs))
        if not callable(found):
            return found

        async def awaited(*args, **kwargs):
            return await in_thread(found, *args, **kwargs)

        return awaited


STARTED = ("lock", "claim_task")  # verbs that are awaited, or entered


class AwaitedStarted:
    """A verb of the sync API that can be awaited, or entered as a block."""

    def __init__(self, verb, *args, **kwargs):
        self.verb = partial(verb, *args, **kwargs)

    def __await__(self):
        return in_thread(self.verb).__await__()

    async def __aenter__(self):
        self.held = await in_thread(self.verb)
        await in_thread(self.held.__enter__)
        return Awaited(self.held)

    async def __aexit__(self, *error):
        return await in_thread(self.held.__exit__, *error)


class AwaitedTake:
    def __init__(self, take):
        self.take = take

    async def __aenter__(self):
        return await in_thread(self.take.__enter__)

    async def __aexit__(self, *error):
        return await in_thread(self.take.__exit__, *error)


class AwaitedListening:
    def __init__(self, messages):
        self.messages = messages

    def __aiter__(self):
        return self

    async def __anext__(self):
        found = await in_thread(next, self.messages, None)
        if found is None:
            raise StopAsyncIteration
        return found

    async def aclose(self):
        await in_thread(self.messages.close)


class Seats:
    """The clients of one test, all of one API and at one broker; all of them are closed at its end."""

    def __init__(self, kind, backend):
        self.kind, self.backend = kind, backend
        self.chats, self.fakes = [], []
        if isinstance(backend, str):
            self.store: Any = redis.Redis.from_url(backend, decode_responses=True, protocol=2)
        else:
            self.store = fakeredis.FakeRedis(server=backend, decode_responses=True, protocol=2)

    def __call__(self, agent=None, **options):
        """A new client; None is nobody."""
        chat = self._made(agent, options)
        self.chats.append(chat)
        return chat if self.kind == "aio" else Awaited(chat)

    def _made(self, agent, options):
        kind = AsyncClient if self.kind == "aio" else Client
        if isinstance(self.backend, str):
            return kind(self.backend, agent=agent, **options)
        fake = fakeredis.FakeAsyncRedis if self.kind == "aio" else fakeredis.FakeRedis
        self.fakes.append(fake(server=self.backend, decode_responses=True, protocol=2))
        return kind(agent=agent, redis=self.fakes[-1], **options)

    async def pair(self, channel="dock", **options):
        """Amy and bob, who share a channel that nothing was said in."""
        amy, bob = self("Amy"), self("bob")
        await amy.open(channel, members="bob", **options)
        return amy, bob

    async def trio(self, channel="dock", **options):
        """Amy, bob and carl, likewise."""
        amy = self("Amy")
        await amy.open(channel, members="bob,carl", **options)
        return amy, self("bob"), self("carl")

    async def asleep(self, agent):
        """Come back when somebody waits at this agent's doorbell."""
        bell = f"rc1:{{default}}:bell:{agent}"
        await until(lambda: self.store.execute_command("PUBSUB", "SHARDNUMSUB", bell)[-1] not in (0, (bell, 0)), f"{agent} waits")

    def mark(self, agent, channel="dock"):
        """An agent's mark in a channel, as the store has it."""
        names = ("heard", "read", "epoch", "maybe", "lease", "hi", "ends", "spoke")
        return dict(zip(names, self.store.hget(f"rc1:{{default}}:marks:{agent}", channel).split(), strict=True))

    def lapse(self, agent, channel="dock"):
        """Let the delivery lease of an agent end, as if its time were up."""
        words = self.store.hget(f"rc1:{{default}}:marks:{agent}", channel).split()
        self.store.hset(f"rc1:{{default}}:marks:{agent}", channel, " ".join([*words[:6], "1", words[7]]))

    def unseen_for(self, agent, seconds):
        """Let it be so long since an agent was last seen."""
        words = self.store.hget("rc1:{default}:agents", agent).split()
        self.store.hset("rc1:{default}:agents", agent, " ".join([*words[:5], str(int((time.time() - seconds) * 1000)), *words[6:]]))

    def run_out(self, task, channel="dock", ago_s=1.0):
        """Let the lease of a task have ended so long ago, in its record and in both indexes, as if its time were up."""
        key = f"rc1:{{default}}:ch:{channel}:"
        words = self.store.hget(key + "tasks", task.lower()).split(" ")
        ends = int(time.time() * 1000 - ago_s * 1000)
        words[8] = str(ends)
        self.store.hset(key + "tasks", task.lower(), " ".join(words))
        self.store.zadd(key + "leases", {task.lower(): ends})
        self.store.hset("rc1:{default}:leased", f"{channel} {task.lower()}", f"{words[2].lower()} {ends}")

    def everything(self):
        """All that is stored, but for the replies kept for retries and when an agent was seen."""
        read = {"hash": self.store.hgetall, "stream": self.store.xrange, "zset": lambda key: self.store.zrange(key, 0, -1, withscores=True)}
        found = {key: read[self.store.type(key)](key) for key in sorted(self.store.keys("*")) if ":i:" not in key}
        found["rc1:{default}:agents"] = sorted(found.get("rc1:{default}:agents", {}))
        return found

    async def close(self):
        for one in [*self.chats, *self.fakes]:
            done = (one.disconnect if one in self.chats else one.aclose if self.kind == "aio" else one.close)()
            if inspect.isawaitable(done):
                await done
        self.store.close()


async def until(condition, what, seconds=10.0):
    """Come back when ``condition()`` (awaited, where it can be) is true; an assertion that names ``what`` if it does not come in time."""
    end = time.monotonic() + seconds
    while not (await found if inspect.isawaitable(found := condition()) else found):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        await asyncio.sleep(POLL_SECONDS)


async def ack(message):
    """``message.ack()`` of either API."""
    done = await in_thread(message.ack)
    if inspect.isawaitable(done):
        await done


def bodies(messages):
    """What was said."""
    return [one.body for one in messages if one.kind == "message"]
