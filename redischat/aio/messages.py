"""post (say), read, ack, peek, history, pending, owed, wait, listen, take."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Literal, overload

from .. import names
from ..calls import messages as calls
from ..calls.call import Once, fresh
from ..errors import NoChannel, NotMember, RecipientLeft, TooLarge, UnknownRecipient
from ..flows import messages as flows
from ..flows import reading, standing
from ..flows.durable import Copies
from ..models import Ack, FullReceipt, History, Owed, Pending, Reading, Receipt
from .channels import listed
from .delivery import AsyncTake, Lease, listening
from .seat import AsyncSeat, room

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Sequence
    from typing import Any

    from ..calls.call import Show
    from .delivery import AsyncHeld

LEASE_S = 60.0  # how long what listen and take hand out stays with them; renewed
PEEKED = 3
WAIT_S = 900.0
STATUS = "discussion"  # what a message is when nothing is said


class AsyncMessages(AsyncSeat):
    """The verbs of what is said."""

    @overload
    async def post(
        self, channel: str, body: str, *, receipt: Literal[True], to: str | Sequence[str] | None = None, reply_to: int | None = None,
        thread: str = "", title: str = "", status: str = STATUS, durable: bool = False, idem: str | None = None,
    ) -> FullReceipt: ...  # fmt: skip
    @overload
    async def post(
        self, channel: str, body: str, *, receipt: bool = False, to: str | Sequence[str] | None = None, reply_to: int | None = None,
        thread: str = "", title: str = "", status: str = STATUS, durable: bool = False, idem: str | None = None,
    ) -> Receipt: ...  # fmt: skip
    async def post(
        self, channel: str, body: str, *, receipt: bool = False, to: str | Sequence[str] | None = None, reply_to: int | None = None,
        thread: str = "", title: str = "", status: str = STATUS, durable: bool = False, idem: str | None = None,
    ) -> Receipt:  # fmt: skip
        """Say something in a channel; also called ``say``. Members only.

        ``body``: up to 256 KiB of UTF-8, kept as it is. ``to``: ``"a,b"`` or a list wakes those, ``"all"`` everyone, ``"none"`` nobody; without it the
        channel's mode decides. Whoever is not woken sees it all the same. ``receipt`` asks whom it reaches (one more round trip), ``durable`` also waits until the
        broker has it on disk, if the client does not do so anyway. A lost answer is asked for again, never posted twice; ``idem`` makes that so over your own retries, for 24 hours.

        Raises:
            UnknownRecipient, RecipientLeft, NoSuchSeq, ChannelClosed, NotMember, NoChannel, KeyReused: nothing was stored.
            BadText, TooLarge, BadName: nothing was sent.
            NotDurable: not on disk in time; with ``done`` it is stored.
        """
        who, name = self._me(), room(channel)
        draft = _draft(body, to, reply_to, thread, title, status)
        if receipt or durable:
            return FullReceipt.model_validate(await self._drive(flows.say(who, name, draft, Once(idem)), copies=self._durable() if durable else None))
        try:
            sent = await self._run(calls.post(who, name, draft, once=Once(idem)))
        except (UnknownRecipient, RecipientLeft, NoChannel, NotMember) as error:
            await self._drive(flows.helped(who, name, error))
            raise
        return Receipt.model_validate({**sent, "audience": sent["wakes"]})

    say = post

    def _durable(self) -> Copies:
        return Copies(disk=True, replicas=self._copies.replicas)

    async def read(self, *channels: str, limit: int | None = None, mine: bool = False, peek: bool = False) -> Reading:
        """What is new in these channels (none named: all of the agent's), oldest first, and marked as read before this returns.

        ``limit``: so many at most (``more`` tells how many are left). ``mine``: only what wakes the agent; the rest is counted and stays for a later read.
        ``peek``: leave all of it unread, with ``limit`` the newest. While another reader of the agent shows some of it, this waits for that one to end.

        Raises:
            NoChannel, NotMember: there is nothing to read from.
        """
        rooms = [room(one) for one in channels]
        names.whole(1, limit=limit)
        if peek:
            found = await self._drive(flows.unseen(self._me(), rooms))
            return Reading.model_validate({"messages": found[-(limit or 0) :], "notes": []})
        return await self._handed(rooms, reading.read(self._me(), rooms, fresh(6), _limits(limit), time.monotonic, "hear" if mine else "read"))

    async def _handed(self, rooms: list[str], flow: Generator[Any, Any, Any]) -> Reading:
        kept = self._kept.give(rooms)
        if kept is not None:
            return kept
        got = await self._shown(flow)
        return Reading.model_validate({"messages": got.messages, "notes": got.notes})

    async def _shown(self, flow: Generator[Any, Any, Any]) -> Any:
        """A flow's result. What it showed is kept if this is interrupted: it is acked, or about to be."""
        shown: list[Show] = []

        async def show(asked: Show) -> int:
            if not any(note.get("circle") for note in asked.notes):
                shown.append(asked)
            return len(asked.messages)

        try:
            return await self._drive(flow, show)
        except BaseException:
            for one in shown:
                self._kept.keep(one)
            raise

    async def ack(self, channel: str, seq: int) -> Ack:
        """Everything in a channel up to message ``seq`` is dealt with, seen or not. Marks only rise: acking again, or less, changes nothing.

        Raises:
            NoSuchSeq: the channel has not come so far.
            NoChannel, NotMember: nothing was changed.
        """
        names.whole(seq=seq)
        return Ack.model_validate(await self._drive(flows.ack(self._me(), room(channel), seq)))

    async def peek(self, channel: str, *, limit: int = PEEKED) -> History:
        """The newest ``limit`` messages of a channel, oldest first. Marks nothing; needs no identity and no membership.

        Raises:
            NoChannel: there is none of that name.
        """
        return await self.history(channel, limit=limit)

    async def history(self, channel: str, *, since: int | None = None, limit: int | None = None, audits: bool = False) -> History:
        """A transcript, own words included: all of it, from message ``since`` on, or the newest ``limit``; with both the first ``limit`` from there.

        ``audits``: with what tasks and locks left between. Marks nothing; needs no identity and no membership.

        Raises:
            NoChannel: there is none of that name.
        """
        names.whole(since=since, limit=limit)
        span = flows.Span(since=since or 0, newest=limit if since is None else None, most=limit, audits=audits)
        got = await self._drive(flows.history(self._who, room(channel), span))
        return History.model_validate(got)

    async def pending(self, *channels: str) -> list[Pending]:
        """What waits for the agent, channel by channel, without its text. Takes nothing: asking again gives the same answer.

        Raises:
            NoChannel, NotMember: of a channel that was named.
        """
        return [Pending.model_validate(one) for one in await self._drive(flows.pending(self._me(), [room(one) for one in channels]))]

    async def owed(self) -> list[Owed]:
        """Who waits for the agent's answer: what woke it and is newer than its last words there. Reading clears nothing, answering or leaving does."""
        return [Owed.model_validate(one) for one in await self._drive(flows.owed(self._me()))]

    async def wait(
        self,
        *channels: str,
        timeout: float = WAIT_S,  # noqa: ASYNC109 - the verb's own
        any: bool = False,  # noqa: A002
        sender: str | None = None,
        reply_to: int | None = None,
    ) -> Reading:
        """Sleep until something wakes the agent in these channels (none named: all of its, also those it joins meanwhile), and read what is new there.

        ``timeout`` in seconds. ``any``: also what wakes nobody. ``sender``, ``reply_to``: only such a message ends the wait. Asks nothing while idle and
        survives a restart of the broker; the end of a channel ends it too. Cancelled, it has taken nothing.

        Raises:
            TimedOut: nothing came.
            UnknownRecipient, NoSuchSeq: ``sender`` is in none of these channels, or none has the message ``reply_to``.
            ChannelClosed: all these channels are closed.
            NoChannel, NotMember: there is nothing to wait for.
        """
        rooms = [room(one) for one in channels]
        names.whole(reply_to=reply_to)
        asked = reading.Waiting(
            rooms, seconds=names.seconds("timeout", timeout), which="any" if any else "wakes", sender=names.agent(sender) if sender else "", reply_to=reply_to
        )
        return await self._handed(rooms, standing.wait(self._me(), asked, fresh(6), time.monotonic, fresh(16)))

    def listen(self, *channels: str, as_: str | None = None, lease: float = LEASE_S, timeout: float | None = None) -> AsyncGenerator[AsyncHeld]:
        """Messages of these channels (none named: all of the agent's), one by one as they come, for ever, or until all of them are closed.

        A message is acked when the next one is asked for, or by its own ``ack()``. Whoever breaks out or fails leaves the one in hand to come again, marked
        ``repeat``. It stays in hand for ``lease`` seconds, renewed for an hour: so long no other reader of the agent gets it. ``as_``: for another agent of
        this program, as :meth:`as_` gives it. ``timeout``: raise when nothing comes for so many seconds.

        Raises:
            TimedOut: nothing came for ``timeout`` seconds after the last message was dealt with.
            NoChannel, NotMember: there is nothing to listen to.
        """
        held = Lease((self if as_ is None else self.as_(as_))._me(), fresh(6), lease)  # noqa: SLF001 - of the same class
        seconds = inf if timeout is None else names.seconds("timeout", timeout)
        asked = reading.Waiting([room(one) for one in channels], seconds=seconds, which="any", limits=reading.Limits(1, lease_ms=held.ms), endless=True)
        return listening(self._connection, self._wrapped(reading.wait(held.who, asked, held.key, time.monotonic)), held)

    def take(self, *channels: str, limit: int | None = None, lease: float = LEASE_S) -> AsyncTake:
        """What is new, for one ``async with``: acked at its clean end; given back when it fails, to come again, marked ``repeat``.

        It stays in hand for ``lease`` seconds, renewed for an hour: so long no other reader of the agent gets it.

        Raises:
            NoChannel, NotMember: there is nothing to read from.
        """
        held = Lease(self._me(), fresh(6), lease)
        rooms = [room(one) for one in channels]
        flow = reading.read(held.who, rooms, held.key, _limits(limit, held.ms), time.monotonic)
        return AsyncTake(self._connection, self._wrapped(flow), held)


def _limits(count: int | None, lease_ms: int = calls.LEASE_MS) -> reading.Limits:
    names.whole(1, limit=count)
    return reading.Limits(calls.TAKE_COUNT if count is None else count, lease_ms=lease_ms)


def _draft(body: str, to: str | Sequence[str] | None, reply_to: int | None, thread: str, title: str, status: str) -> calls.Draft:
    """What is to be said, checked before anything is sent."""
    names.whole(reply_to=reply_to)
    audience = to if to in ("all", "none") else ""
    named = () if to is None or audience else listed(to)
    if len(named) > names.NAMED:
        raise TooLarge(what="list of recipients", size=len(named), unit="names", limit=names.NAMED, remedy="More than that is everyone: to='all'.")
    for what, text in (("thread", thread), ("title", title), ("status", status)):
        if text:
            names.line(what, text)
    return calls.Draft(names.body(body), to=named, audience=str(audience), reply_to=reply_to, thread=thread, title=title, status=status)
