"""claim_task, ask, gather, barrier, events: what programs that lead agents have beside the verbs of the command."""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Literal

from .. import names
from ..calls.call import Once, fresh
from ..calls.messages import Draft
from ..calls.tasks import LEASE_S
from ..errors import Usage
from ..errors.broker import NotDurable
from ..flows import asking, fields, gathering, happenings, meeting, work
from ..flows import tasks as board
from ..models import Gathered, Happening, Meeting, Message
from .blocks import AsyncWork, Hold, undone
from .channels import listed
from .delivery import streaming
from .messages import STATUS, AsyncMessages
from .seat import room
from .started import AsyncStarted
from .tasks import AsyncTasks

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence
    from typing import Any


ASK_S = 600.0
GATHER_S = 3_600.0
MEET_S = 600.0


class AsyncOrchestration(AsyncTasks, AsyncMessages):
    """Steps that belong together, each safe to cancel."""

    def claim_task(
        self,
        channel: str,
        task: str | None = None,
        *,
        ttl: float = LEASE_S,
        wait: float | None = None,
        steal_expired: bool = False,
        on_error: Literal["release", "block"] = "release",
    ) -> AsyncStarted[AsyncWork]:
        """Work on a task: ``async with chat.claim_task("board") as task`` takes the next one that can be started, or a named one, under a lease of ``ttl`` seconds.

        The lease is renewed in the background until the end of the block. A clean end is done; ``await task.done("what came of it")`` leaves a result with it.
        An error gives the task back, with the error as reason, or blocks it (``on_error``); a cancelled block gives it back. ``task.lost`` is an event that is
        set if it became somebody else's. ``wait``: for so many seconds until there is one. ``steal_expired``: take a named one over if its holder's lease has
        run out (the next one may be such a one). Awaited without a block it is only claimed, and nothing renews it.

        Raises:
            NothingReady: there is none, or none within ``wait`` seconds; ``why`` says what keeps the others.
            LeaseConflict, LeaseRecoveryRequired, TaskNotFound, ...: as of :meth:`task_claim`.
            LeaseStaleToken, LeaseOwnerMismatch: at the clean end of a block whose task was lost.
            NotDurable: there are too few copies. A task that was taken just now was given back (``given_back``).
        """
        return AsyncStarted(self._claimed(channel, task, ttl=ttl, wait=wait, steal_expired=steal_expired, on_error=on_error))

    async def _claimed(
        self, channel: str, task: str | None, *, ttl: float, wait: float | None, steal_expired: bool, on_error: Literal["release", "block"]
    ) -> AsyncWork:
        if on_error not in ("release", "block"):
            raise Usage(message=f"on_error is 'release' or 'block', not {on_error!r}")
        who, name, ms = self._holder(), fields.channel(channel), fields.milliseconds(ttl)
        wanted = work.Wanted(
            "" if task is None else fields.task(task), ms, wait=None if wait is None else fields.waited("wait", wait), steal=steal_expired,
            repository=self._repository(),
        )  # fmt: skip
        try:
            got: tuple[dict[str, Any], dict[str, Any]] = await self._drive(work.take(who, name, wanted, time.monotonic))
        except NotDurable as error:
            if error.facts["done"] and error.facts["how"] != "renewed":
                task, fence = error.facts["task"], error.facts["token"]
                await undone(self._connection, error, board.move(who, name, task, "release", Once(), fence=fence, reason="not as durable as asked"))
            raise
        return AsyncWork.model_validate(got[1]).hand(Hold(self._connection, self._wrapped, who, name, ms), on_error)

    async def ask(
        self,
        channel: str,
        agent: str,
        question: str,
        *,
        timeout: float = ASK_S,  # noqa: ASYNC109 - the verb's own
        thread: str = "",
        title: str = "",
        status: str = STATUS,
        idem: str | None = None,
    ) -> Message:
        """Ask one agent in a channel, which rings it, and wait for the answer: its message that replies to the question (``reply_to``).

        Nothing else is taken: other messages stay unread. The answer counts as read unless something unread stands before it; then it comes once more in its
        turn. Cancelled, the question stands and the answer stays unread; with the same ``idem`` (24 hours) it is not asked twice, and an answer that came
        meanwhile is found.

        Raises:
            TimedOut: no answer within ``timeout`` seconds; ``live``, ``how`` and ``last_active`` say how it is with ``agent``, ``seq`` which message stands,
                ``silenced`` (with ``budget``) whom a budget kept from being woken.
            NotDurable: there are too few copies of the question, which stands; nobody waited. With ``idem`` as it says it is asked no second time.
            UnknownRecipient, NotMember, NoChannel, KeyReused: nothing was asked.
            RecipientLeft: before (nothing was asked), or meanwhile. ChannelClosed: likewise.
        """
        name, whom = room(channel), names.agent(agent)
        if whom.lower() == self._me().me:
            raise Usage(message=f"{whom} cannot ask itself: an agent never hears its own voice")
        draft = Draft(
            names.body(question), to=(whom,), thread=names.line("thread", thread), title=names.line("title", title), status=names.line("status", status)
        )
        asked = asking.Question(whom, draft, Once(idem), seconds=names.seconds("timeout", timeout), request=fresh(16), lease=fresh(6))
        return Message.model_validate(await self._shown(asking.ask(self._me(), name, asked, time.monotonic)))

    def gather(
        self,
        channel: str,
        name: str,
        tasks: Mapping[str, str],
        *,
        brief: str = "",
        priority: int | None = None,
        timeout: float = GATHER_S,
    ) -> AsyncGenerator[Gathered]:
        """One task for each agent (``tasks``: agent -> title), and what becomes of them as it comes: ``async for part in chat.gather("board", "round-1", {...})``.

        The tasks are ``<name>.<agent>`` on the channel's board, meant for these agents; a message rings those that have not begun (``brief`` is added to it).
        An agent answers by ``task done --result``, or refuses by ``task block --reason``. It ends when all are over, or after ``timeout`` seconds, and then
        the others come as late. A lease that runs out comes as died at once, and does not end anything: ``task_recover``, or another worker, may finish it.

        The state is the board. A gather of the same name goes on, after a restart, too: no task is made twice, and results that were given come again.
        Cancelled, it leaves only the tasks.

        Raises:
            UnknownRecipient, RecipientLeft, NotMember, TaskChannelNotFound: no task was made.
            KeyReused: there is a gather of that name with another title for an agent.
            NotDurable: tasks and message are made, with too few copies. The same gather again asks for copies again, and makes nothing twice.
            TaskInvalidId, TaskInvalidTitle, Usage: nothing was sent.
        """
        if not tasks or len({agent.lower() for agent in tasks}) < len(tasks):
            raise Usage(message="a gather is for one or more agents, each named once: {'amy': 'Review src/a.py'}")
        wanted = gathering.Wanted(name, tasks, brief=brief, priority=priority, seconds=names.seconds("timeout", timeout))
        flow = gathering.gather(self._holder(), fields.channel(channel), wanted, time.monotonic)
        return streaming(self._connection, self._wrapped(flow), Gathered)

    async def barrier(self, channel: str, name: str, parties: int | Sequence[str], *, timeout: float = MEET_S) -> Meeting:  # noqa: ASYNC109 - the verb's own
        """Wait until so many agents, or all that are named (``"a,b"`` or a list), have come to the barrier ``name``: then all of them go on.

        The state are claims of the channel (``<name>.<agent>``, and ``<name>`` once they have met): whoever restarts and comes again is there already, and of
        those who met nobody waits again. The next round needs another name. Cancelled or out of time, the caller has not come.

        Raises:
            TimedOut: with ``arrived`` and ``missing``.
            NoChannel, BadName, Usage: nothing was changed.
        """
        named = listed(parties) if isinstance(parties, str) else parties
        wanted = meeting.Barrier(name, named, names.seconds("timeout", timeout))
        return Meeting.model_validate(await self._drive(meeting.meet(self._me(), room(channel), wanted, time.monotonic)))

    def events(self, *channels: str, since: str | None = None, timeout: float | None = None) -> AsyncGenerator[Happening]:
        """What happens in these channels (none named: in all of the workspace), as it happens: ``async for happening in chat.events("board")``.

        Changes of tasks, claims and locks, leases and locks that run out, who left, closed or changed a channel, and what harnesses tell, each of these three in its
        order. Talk is not in it: that is for :meth:`listen`. It begins now, with what has run out already, or behind ``since``, the ``position`` of a happening, which survives
        restarts. Marks nothing, needs no identity and no membership, asks nothing while nothing happens. ``timeout``: raise when nothing happens for so long.

        Raises:
            NoChannel: there is none of that name, or not any more.
            TimedOut: nothing happened for ``timeout`` seconds.
            Usage: ``since`` is no position.
        """
        seconds = inf if timeout is None else names.seconds("timeout", timeout)
        watcher = happenings.Watch(self._who, [room(one) for one in channels], since, seconds)
        return streaming(self._connection, self._wrapped(happenings.watch(watcher, time.monotonic)), Happening)
