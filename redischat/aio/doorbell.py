"""Doorbells: one pub/sub connection that waits for a ring, asks nothing while nothing happens, and survives a restart of the broker."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from redis.exceptions import ConnectionError as LostConnection
from redis.exceptions import RedisError

from ..calls.call import ANSWER_S, PROBE
from ..errors.broker import MaxClients, of_server
from .connection import Patience, heeding, passing, words_of

if TYPE_CHECKING:
    from typing import Any

    from ..calls.call import Listen
    from .connection import AsyncConnection, At

NAP_S = 3_600.0  # one read of a socket waits for so long at most; then it is read again


class AsyncDoorbell:
    """The ear of one flow. Open it by listening, close it with the flow."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._at: At | None = None
        self._pubsub: Any = None
        self._heard: set[str] = set()
        self._worked = False

    async def listen(self, asked: Listen) -> str | None:
        """A ring's payload; "again" after each (re)subscription: look, something may have been missed; None when the time is up."""
        patience = Patience()
        while True:
            try:
                heard = await self._once(asked)
            except (RedisError, OSError) as error:
                at = self._at
                await self.close()
                self._refuse(error, at)
                if time.monotonic() >= asked.until:
                    return None
                await self._connection.revive()
                await asyncio.sleep(max(0.0, min(patience.pause(), asked.until - time.monotonic())))
            else:
                self._worked = True
                return heard

    def _refuse(self, error: Exception, at: At | None) -> None:
        """Raise what no waiting will cure. A full broker may have room again, for one who was connected."""
        answer = words_of(error)
        if not answer:
            self._connection.astray(at)
        elif at is not None:
            self._connection.heed(answer, at)
        if answer and not passing(error):
            ours = of_server(answer, self._connection.shown)
            if not (self._worked and isinstance(ours, MaxClients)):
                raise ours from error

    async def _once(self, asked: Listen) -> str | None:
        if self._pubsub is None:
            self._at = await self._connection.node()
            self._pubsub = self._at.redis.pubsub()
        new = [bell for bell in asked.bells if bell not in self._heard]
        if new:
            await self._subscribe(self._pubsub, new)
            return "again"
        while True:
            nap = max(0.0, min(asked.until - time.monotonic(), NAP_S))
            found = await heeding(self._pubsub.get_message(timeout=nap), nap + ANSWER_S)
            if found is not None and (heard := _meaning(found)) is not None:
                return heard
            if time.monotonic() >= asked.until:
                return None

    async def _subscribe(self, pubsub: Any, bells: list[str]) -> None:
        """Subscribe and see it confirmed. A ring that comes between is no loss: whoever hears "again" looks at everything."""
        await heeding(pubsub.ssubscribe(*bells))
        left = set(bells)
        while left:
            found = await heeding(pubsub.get_message(timeout=ANSWER_S), 2 * ANSWER_S)
            if found is None:
                raise LostConnection("the broker does not confirm a doorbell")
            if found["type"] == "ssubscribe":
                left.discard(found["channel"])
        self._heard.update(bells)

    async def close(self) -> None:
        """Hear nothing more."""
        pubsub, self._pubsub = self._pubsub, None
        self._heard.clear()
        if pubsub is not None:
            self._connection.later(pubsub.aclose())  # not awaited: a cancellation here would lose what the flow has just got


def _meaning(found: dict[str, Any]) -> str | None:
    if found["type"] == "smessage":
        return None if found["data"] == PROBE else str(found["data"])
    if found["type"] == "ssubscribe":
        return "again"  # redis-py connected anew and subscribed by itself
    raise LostConnection("the doorbell moved")  # sunsubscribe: its slot did
