"""claim_task: what programs that lead agents have beside the verbs of the command."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from .. import names
from ..calls.tasks import LEASE_S
from ..flows import fields, work
from .blocks import AsyncWork, Hold
from .started import AsyncStarted
from .tasks import AsyncTasks

if TYPE_CHECKING:
    from typing import Any


class AsyncOrchestration(AsyncTasks):
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
        """
        return AsyncStarted(self._claimed(channel, task, ttl=ttl, wait=wait, steal_expired=steal_expired, on_error=on_error))

    async def _claimed(
        self, channel: str, task: str | None, *, ttl: float, wait: float | None, steal_expired: bool, on_error: Literal["release", "block"]
    ) -> AsyncWork:
        who, room, ms = self._holder(), fields.channel(channel), fields.milliseconds(ttl)
        wanted = work.Wanted(
            "" if task is None else fields.task(task), ms, wait=None if wait is None else names.seconds("wait", wait), steal=steal_expired,
            repository=self._repository(),
        )  # fmt: skip
        got: tuple[dict[str, Any], dict[str, Any]] = await self._drive(work.take(who, room, wanted, time.monotonic))
        return AsyncWork.model_validate(got[1]).hand(Hold(self._connection, who, room, ms), on_error)
