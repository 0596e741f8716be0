"""A bridge between a Slack on this machine and a channel of a test: heron and lynx are in it, alice is who the bridge speaks for."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

from seats import Seats, until
from slack import CHANNEL

from redischat import AsyncClient
from redischat.bridge.memory import Memory
from redischat.bridge.run import Wanted, carry

POLL_S = 0.02


class Bridged:
    """``heron`` and ``lynx`` are agents, ``alice`` reads along as the bridge does; ``said`` is what the bridge told the person who runs it."""

    def __init__(self, backend, slack, path):
        self.seats, self.slack, self.path, self.way = Seats("aio", backend), slack, str(path), backend
        self.said: list[str] = []
        self._doing: Any = None
        self.heron, self.lynx, self.alice = (self.seats(name) for name in ("heron", "lynx", "alice"))

    async def open(self, **options):
        await self.heron.open("dock", members="lynx,alice", **options)
        return self

    async def start(self):
        """Run the bridge from now on, as a new process of it would; it has read Slack up to now once this comes back."""
        self.memory = memory = Memory(self.path, self.said.append)
        looked = len(self.slack.calls("conversations.history"))
        self._doing = asyncio.ensure_future(carry(self._seat(), Wanted("dock", CHANNEL, "xoxb-1", POLL_S, self.slack.url), memory, self.said.append))
        await until(lambda: len(self.slack.calls("conversations.history")) > looked + 1 or self._doing.done(), "the bridge looks into Slack")
        if self._doing.done():
            raise await self.ended()
        return self

    def _seat(self):
        """The bridge's own client, which may go another way than the test's."""
        return self.seats("alice") if self.way is self.seats.backend else AsyncClient(self.way, agent="alice")

    async def stop(self):
        doing, self._doing = self._doing, None
        if doing is not None:
            doing.cancel()
            with suppress(asyncio.CancelledError):
                await doing

    async def ended(self):
        """Come back when the bridge has ended by itself, with why."""
        await until(self._doing.done, "the bridge ends")
        doing, self._doing = self._doing, None
        return doing.exception()

    async def posts(self, count):
        """The texts of the bridge's posts, once there are so many."""
        await until(lambda: len(self.slack.posted) >= count, f"{count} posts in Slack: {self.slack.texts} {self.said}")
        await self.looked()
        return self.slack.texts

    async def looked(self):
        """Come back when the bridge has looked into Slack anew, and is done with it."""
        seen = len(self.slack.calls("conversations.history"))
        await until(lambda: len(self.slack.calls("conversations.history")) > seen + 3, "the bridge looks into Slack again")

    async def carried(self, count=None):
        """What was said in the channel by alice, once it is so much."""

        async def mine():
            return [one for one in await self.heron.history("dock") if one.sender == "alice" and one.kind == "message"]

        if count is not None:
            await until(lambda: _enough(mine, count), f"{count} messages from Slack; the bridge said {self.said}")
        await self.looked()
        return await mine()

    def remembered(self):
        return Path(self.path).read_text()

    def remember(self, text):
        """Let its memory say this."""
        Path(self.path).write_text(text)

    async def close(self):
        await self.stop()
        await self.seats.close()


async def _enough(mine, count):
    return len(await mine()) >= count
