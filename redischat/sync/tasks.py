# Made from ../aio by tests/unasync.py; edit that, not this.
"""task_create, task_list, task_show, task_next, task_claim, task_renew, task_done, task_block, task_release, task_cancel, task_reopen, task_recover, ..."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ..calls.call import Once, fresh
from ..calls.tasks import LEASE_S
from ..errors.leases import LeaseInvalidOwner
from ..errors.tasks import TaskInvalidReason
from ..flows import board, fields
from ..flows import tasks as flows
from ..models import BoardRepaired, Lease, Task, TaskChanged, TaskCreated, TaskList, TaskMoved
from ..repository import find
from .seat import Seat

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..calls.call import Caller, Show
    from ..repository import Repository

WAIT_S = 900.0


class Tasks(Seat):
    """The verbs of the board. None needs membership; each leaves an audit in the channel."""

    def task_create(
        self, channel: str, title: str, *, task: str | None = None, owner: str | None = None, depends_on: str | Sequence[str] = (),
        files_hint: str | Sequence[str] = (), acceptance: str | Sequence[str] = (), branch: str | None = None, priority: int | None = None,
        idem: str | None = None,
    ) -> TaskCreated:  # fmt: skip
        """Put a task on the board; without ``task`` (its id) it gets the next one (``T-1``, ``T-2``, never twice).

        ``depends_on``: tasks that must be done first, ``"a,b"`` or a list; ``files_hint``: files below the repository's root, likewise; ``acceptance``: a sentence, or a list.
        ``owner``: whom it is meant for; ``priority``: 0 (most urgent) to 4, default 2.

        Raises:
            TaskAlreadyExists, TaskUnknownDependency, TaskDependencyCycle, TaskChannelNotFound: nothing was stored.
            TaskInvalidId, TaskInvalidTitle, TaskPathOutsideWorkspace, ...: nothing was sent.
        """
        wanted = fields.wanted(
            task,
            title=title,
            owner=owner,
            depends_on=_texts(depends_on),
            files_hint=_texts(files_hint),
            acceptance=_texts(acceptance),
            branch=branch,
            priority=priority,
        )
        return TaskCreated.model_validate(self._drive(flows.create(self._me(), fields.channel(channel), wanted, Once(idem))))

    def task_list(self, channel: str, *, ready: bool = False, mine: bool = False, stale: bool = False, status: str | None = None) -> TaskList:
        """The board, by priority, then age: a list, whose ``damaged`` names the tasks whose record redischat did not write; they are left out.

        ``ready``: what can be started; ``mine``: held by the caller or meant for it; ``stale``: whose lease ran out.

        Changes nothing but leaves word of leases that ran out; needs no identity unless ``mine``.
        """
        wanted = board.Wanted(self._me().me if mine else "", ready=ready, stale=stale, status=None if status is None else fields.state(status))
        found = self._drive(flows.looked(self._who, fields.channel(channel)))
        return TaskList((Task.model_validate(one) for one in found["tasks"] if wanted.has(one)), damaged=found["damaged"])

    def task_show(self, channel: str, task: str) -> Task:
        """One task.

        Raises:
            TaskNotFound: with the ``nearest`` id.
        """
        return Task.model_validate(self._drive(flows.show(self._who, fields.channel(channel), fields.task(task))))

    def task_next(self, channel: str, *, claim: bool = False, ttl: float = LEASE_S, idem: str | None = None) -> Lease | Task:
        """The best task that can be started now: ready and not meant for somebody else, or one whose lease ran out; by priority, then age.

        With ``claim`` it is taken in the same step (a Lease; each caller gets another one), else only shown (a Task).

        Raises:
            NothingReady: ``why`` says what keeps the others.
        """
        flow = flows.next_(self._me(), fields.channel(channel), fields.milliseconds(ttl), Once(idem), take=claim, repository=self._repository())
        got = self._drive(flow)
        return Lease.model_validate(got) if claim else Task.model_validate(got)

    def task_claim(self, channel: str, task: str, *, ttl: float = LEASE_S, steal_expired: bool = False) -> Lease:
        """Take a task under a lease of ``ttl`` seconds, or renew the caller's own. Doing it twice does it once.

        ``steal_expired``: take it over if its holder's lease has run out; the audit names the holder.

        Raises:
            LeaseConflict: somebody else holds it (``holder expires_at``) or it is meant for somebody else (``assigned``).
            LeaseRecoveryRequired: its holder's lease ran out: :meth:`task_recover` it.
            TaskDependencyNotReady, TaskInvalidTransition, TaskNotFound: nothing was changed.
        """
        flow = flows.claim(
            self._holder(), fields.channel(channel), fields.task(task), fields.milliseconds(ttl), steal=steal_expired, repository=self._repository()
        )
        return Lease.model_validate(self._drive(flow))

    def task_renew(self, channel: str, task: str, *, ttl: float = LEASE_S, token: int | None = None) -> Lease:
        """Keep a task for ``ttl`` more seconds, also one whose lease ran out, as long as nobody recovered it (``late_ms``).

        Raises:
            LeaseStaleToken: ``token`` is given and is not the task's any more.
            LeaseNotFound, LeaseOwnerMismatch, LeaseRecoveryRequired: nothing was changed.
        """
        flow = flows.renew(self._holder(), fields.channel(channel), fields.task(task), fields.milliseconds(ttl), fence=token)
        return Lease.model_validate(self._drive(flow))

    def task_recover(self, channel: str, task: str, reason: str, *, ttl: float = LEASE_S) -> Lease:
        """Take over a task whose holder's lease ran out; the audit keeps holder, expiry and ``reason``.

        Raises:
            LeaseNotExpired, LeaseNotFound: nothing was changed.
        """
        flow = flows.recover(
            self._holder(), fields.channel(channel), fields.task(task), fields.reason(reason), fields.milliseconds(ttl), repository=self._repository()
        )
        return Lease.model_validate(self._drive(flow))

    def task_done(self, channel: str, task: str, *, result: str = "", token: int | None = None, idem: str | None = None) -> TaskMoved:
        """It is done: ends the lease, and what waited for it can be started (``freed``). ``result``: what came of it, kept with the task (16 KiB of text).

        Raises:
            LeaseStaleToken, LeaseOwnerMismatch, LeaseRecoveryRequired, TaskInvalidTransition, TaskDependencyNotReady: nothing was changed.
        """
        return self._moved("done", channel, task, fence=token, idem=idem, result=fields.result(result))

    def task_release(self, channel: str, task: str, *, reason: str = "", token: int | None = None, idem: str | None = None) -> TaskMoved:
        """Give it back, undone: ends the lease. Raises as :meth:`task_done`."""
        return self._moved("release", channel, task, fence=token, idem=idem, reason=fields.blocked(reason))

    def task_block(self, channel: str, task: str, reason: str = "", *, idem: str | None = None) -> TaskMoved:
        """It cannot go on. A task under a lease is released first.

        Raises:
            LeaseMutationRequired, LeaseOwnerMismatch, TaskInvalidTransition: nothing was changed.
        """
        return self._moved("block", channel, task, reason=fields.blocked(reason), idem=idem)

    def task_cancel(self, channel: str, task: str, reason: str, *, idem: str | None = None) -> TaskMoved:
        """It will not be done; ``waiting`` are the tasks that are stuck by it. Raises as :meth:`task_done`."""
        return self._moved("cancel", channel, task, reason=fields.reason(reason, TaskInvalidReason), idem=idem)

    def task_reopen(self, channel: str, task: str, reason: str, *, idem: str | None = None) -> TaskMoved:
        """Bring a done or cancelled task back: the one way out. ``begun`` are the tasks that were begun on its result.

        Raises:
            TaskInvalidTransition: it is neither.
        """
        return self._moved("reopen", channel, task, reason=fields.reason(reason, TaskInvalidReason), idem=idem)

    def task_update(
        self, channel: str, task: str, *, title: str | None = None, owner: str | None = None, depends_on: str | Sequence[str] | None = None,
        files_hint: str | Sequence[str] | None = None, acceptance: str | Sequence[str] | None = None, branch: str | None = None, priority: int | None = None,
        status: str | None = None, clear_owner: bool = False, clear_branch: bool = False, idem: str | None = None,
    ) -> TaskChanged:  # fmt: skip
        """Change what a task says. Under a lease only its holder may, and not its status or owner.

        Raises:
            TaskInvalidUpdate: nothing to change was given.
            LeaseMutationRequired, LeaseOwnerMismatch, LeaseRecoveryRequired, TaskInvalidTransition, TaskDependencyNotReady: nothing was changed.
            TaskUnknownDependency, TaskDependencyCycle: likewise.
        """
        changes = fields.changes(
            title=title, owner=owner, depends_on=None if depends_on is None else _texts(depends_on), files_hint=None if files_hint is None else _texts(files_hint),
            acceptance=None if acceptance is None else _texts(acceptance), branch=branch, priority=priority, status=status, cleared=clear_owner, unbranched=clear_branch,
        )  # fmt: skip
        flow = flows.update(self._holder(), fields.channel(channel), fields.task(task), changes, Once(idem))
        return TaskChanged.model_validate(self._drive(flow))

    def task_wait(
        self,
        channel: str,
        task: str,
        *,
        status: str = "done",
        timeout: float = WAIT_S,  # noqa: ASYNC109 - the verb's own word
        on_lapse: Callable[[Task], object] | None = None,
    ) -> Task:
        """Return when a task has a status; no command is sent meanwhile.

        ``on_lapse`` is called when the lease of its holder has run out, once for each lease: recover it, or raise something, which ends the wait. Else the
        wait goes on: the holder may still finish, or somebody recovers it.

        Raises:
            TaskCancelled: it will not be done.
            Deadlock: its holder waits for the caller.
            TimedOut: not within ``timeout`` seconds.
        """
        goal = flows.Goal(fields.task(task), fields.state(status), fields.waited("timeout", timeout), fresh(16))

        def show(asked: Show) -> int:
            if on_lapse is not None:
                on_lapse(Task.model_validate(asked.notes[0]["task"]))
            return 0

        return Task.model_validate(self._drive(flows.wait(self._who, fields.channel(channel), goal, time.monotonic), show))

    def task_graph(self, channel: str) -> str:
        """What waits for what, as a Mermaid flowchart."""
        return board.mermaid(self._drive(flows.board(self._who, fields.channel(channel))))

    def task_recover_pending(self, channel: str) -> BoardRepaired:
        """Check the indexes of a board against its records, and mend them. Changes nothing in a whole one."""
        return BoardRepaired.model_validate(self._drive(flows.repair(self._holder(), fields.channel(channel))))

    def _moved(self, verb: str, channel: str, task: str, *, idem: str | None, fence: int | None = None, reason: str = "", result: str = "") -> TaskMoved:
        flow = flows.move(self._holder(), fields.channel(channel), fields.task(task), verb, Once(idem), fence=fence, reason=reason, result=result)
        return TaskMoved.model_validate(self._drive(flow))

    def _holder(self) -> Caller:
        fields.agent(self._me().agent, LeaseInvalidOwner)
        return self._me()

    def _repository(self) -> Callable[[], Repository] | None:
        """Finds the repository that this program runs in, where hinted files are looked up; None where the client was not told where it is."""
        settings = self._settings
        return None if settings is None else lambda: find(settings)


def _texts(given: str | Sequence[str]) -> Sequence[str]:
    return (given,) if isinstance(given, str) else given
