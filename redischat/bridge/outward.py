"""redischat -> Slack: each message once and in order; it counts as read only when Slack has said ok."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from typing import TYPE_CHECKING

from ..errors import ChannelClosed, CouldNotLook
from .markup import escaped, posts
from .slack import LIMITED, MARK, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..aio.client import AsyncRoom
    from ..models import Message
    from .memory import Memory
    from .slack import Slack

FIRST_S, LONGEST_S = 1.0, 120.0  # the pauses before it is tried again, each twice the one before
LEASE_S = 20.0  # what a bridge that was killed had in hand comes again after so long
HOLD_S = 3_000.0  # a message stays in hand for an hour at most: before that it is given back, and comes again
SLOWED = 3  # so often may one post be slowed down before that is told: in a burst it is nothing special
TEXT = frozenset(("msg_too_long", "no_text", "msg_blocks_too_long", "invalid_blocks"))  # of this one text, however often it is sent
THREAD = frozenset(("thread_not_found", "message_not_found", "cannot_reply_to_message", "restricted_action_thread_locked"))


class Later(Exception):
    """It was in hand for too long: it is given back, and taken again."""


class Pause:
    """How long to rest between tries."""

    def __init__(self) -> None:
        self._next = FIRST_S

    async def rest(self, wait_s: float | None = None) -> None:
        """As long as Slack says, else longer each time."""
        await asyncio.sleep(self._next if wait_s is None else wait_s)
        self._next = min(2 * self._next, LONGEST_S)


class Outward:
    """Carries what is said in a channel to Slack, as the person reads it whom the bridge speaks for."""

    def __init__(self, room: AsyncRoom, slack: Slack, memory: Memory, say: Callable[[str], None]) -> None:
        self._room, self._slack, self._memory, self._say = room, slack, memory, say
        self._trouble = ""

    async def run(self) -> None:
        """For ever.

        Raises:
            ChannelClosed, NoChannel, NotMember: there is nothing to carry any more.
        """
        pause, away = Pause(), ""
        while True:
            try:
                async with aclosing(self._room.listen(lease=LEASE_S)) as messages:
                    async for one in messages:
                        pause, away = Pause(), ""
                        for note in one.notes:
                            if note.gap:
                                self._say(f"#{one.channel}: {note.gap} messages were removed before the bridge read them: they are not in Slack")
                        await self.carry(one)
                        await one.ack()
                found = await self._room.roster()
                if found.closed:
                    raise ChannelClosed(channel=found.channel, reason=found.closed_reason or "")
            except Later:
                continue
            except CouldNotLook as error:
                if error.code != away:
                    self._say(f"the broker cannot be asked ({error.code}): what is said there waits, and is carried later")
                away = error.code
                await pause.rest()

    async def carry(self, one: Message) -> None:
        """Post one message, in as many parts as it needs; what is posted already, by this bridge or the one before it, is not posted again."""
        memory = self._memory
        key = f"{one.channel.lower()} {one.seq} {one.ts.isoformat() if one.ts else ''}"
        unsure = one.repeat
        if memory.sending.get("key") != key:
            root = memory.place(one.sender, one.thread, one.reply_to) if one.kind == "message" else ""
            memory.sending = {"key": key, "root": root, "loose": False, "since": memory.cursor or "0", "parts": []}
            memory.keep()
        parts, until = posts(one), time.monotonic() + HOLD_S
        while len(done := memory.sending["parts"]) < len(parts):
            done.append(await self._posted(parts[len(done)], one, unsure=unsure, until=until))
            unsure = False
            memory.keep()
        if memory.sending["root"]:
            memory.answered(memory.sending["root"], one.sender, one.seq or 0)
        else:
            memory.hang(memory.sending["parts"][0], *((one.sender, one.seq or 0) if one.kind == "message" else ()))
        memory.keep()

    async def _posted(self, text: str, one: Message, *, unsure: bool, until: float) -> str:
        """When one part stands in Slack. Tried until it does; looked for before each new try, where one may have arrived whose answer was lost."""
        sending, pause, slowed = self._memory.sending, Pause(), 0
        payload = {"key": sending["key"], "part": len(sending["parts"])}
        while True:
            thread = sending["root"] or next(iter(sending["parts"] if not sending["loose"] else ()), "")
            try:
                ts = (await self._found(payload, thread, sending["since"]) if unsure else "") or await self._slack.post(text, thread, payload)
            except Trouble as trouble:
                unsure = unsure or trouble.unsure
                slowed = slowed + 1 if trouble.error == LIMITED else SLOWED
                if slowed >= SLOWED:
                    self._told(one, trouble)
                if trouble.error in THREAD and thread:
                    sending["root"], sending["loose"] = "", True  # it was deleted in Slack
                    continue
                if trouble.error in TEXT:
                    text = f"*{escaped(one.sender)}*: [Slack does not take message {one.seq} ({trouble.error}): `redischat read {one.channel.lower()} --since {one.seq} --limit 1`]"
                if time.monotonic() > until:
                    raise Later from None
                await pause.rest(trouble.wait_s)
            else:
                if self._trouble:
                    self._trouble = ""
                    self._say(f"delivered after all: #{one.channel} {one.seq} from {one.sender} is in Slack")
                return ts

    def _told(self, one: Message, trouble: Trouble) -> None:
        """Say loudly what did not arrive, once for each message and reason."""
        what = f"{one.seq} {trouble.error}"
        if what != self._trouble:
            self._trouble, cure = what, trouble.remedy(self._slack.name)
            self._say(
                f"NOT DELIVERED to Slack: #{one.channel} {one.seq} from {one.sender} ({trouble.error}). It stays unread and is tried again; what comes after it waits"
                + (f". To do: {cure}" if cure else "")
            )

    async def _found(self, payload: dict[str, object], thread: str, since: str) -> str:
        """Whether a part stands in Slack already: when, else ""."""
        here = await (
            self._slack.replies(thread, since if since != "0" else thread) if thread else self._slack.history(since, pages=None if since != "0" else 1)
        )
        for found in here:
            if found.get("metadata") == {"event_type": MARK, "event_payload": payload}:
                return str(found["ts"])
        return ""
