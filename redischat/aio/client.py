"""AsyncClient: every verb an agent has, for a program that runs an event loop."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from .agents import AsyncAgents
from .budgets import AsyncBudgets
from .channels import AsyncChannels
from .claims import AsyncClaims
from .events import AsyncEvents
from .orchestration import AsyncOrchestration
from .paths import AsyncPaths
from .presence import AsyncPresence
from .state import AsyncStanding
from .transcripts import AsyncTranscripts
from .users import AsyncUsers

if TYPE_CHECKING:
    from collections.abc import Callable

Rest = ParamSpec("Rest")
Given = TypeVar("Given")


class AsyncClient(
    AsyncAgents, AsyncPresence, AsyncChannels, AsyncBudgets, AsyncTranscripts, AsyncClaims, AsyncOrchestration, AsyncPaths, AsyncEvents, AsyncStanding,
    AsyncUsers,
):  # fmt: skip
    """One agent at one broker.

    ``url``: where the broker is (default: REDISCHAT_URL, the project's configuration, else this user's embedded broker, started when nobody answers).
    ``agent``: who speaks (default: as for the command). ``workspace``, ``token``: likewise. ``redis``: a ready client made with ``decode_responses=True``
    instead of all that; then ``agent`` and ``workspace`` are only what is given. ``settings``: where and who, found already, instead of looking.

    ``durable``: no change counts before it is on the broker's disk, ``replicas``: before so many replicas have it (with ``durable``: on their disks); else it
    raises NotDurable, whose ``done`` says whether it is stored all the same. Default: REDISCHAT_DURABLE, REDISCHAT_REPLICAS.

    Use it as ``async with AsyncClient(agent="amy") as chat``, or call :meth:`disconnect` at the end. Connections are opened by the first verb. Verbs may run
    at the same time; each waiting one holds a connection of its own.

    Raises:
        BadName: of agent or workspace.
        Usage: the URL is none.
    """

    def channel(self, name: str) -> AsyncRoom:
        """One channel, whose verbs need not be told which."""
        return AsyncRoom(self, name)


class AsyncRoom:
    """The verbs of a client with one channel filled in. Holds nothing, checks nothing."""

    def __init__(self, chat: AsyncClient, name: str) -> None:
        self.chat, self.name = chat, name
        self.open, self.join, self.leave = _here(chat.open, name), _here(chat.join, name), _told(partial(chat.leave, name))
        self.close, self.reopen, self.delete = _here(chat.close, name), _here(chat.reopen, name), _here(chat.delete, name)
        self.mode, self.briefing, self.invite = _here(chat.mode, name), _here(chat.briefing, name), _here(chat.invite, name)
        self.budget, self.budgets = _here(chat.budget, name), _here(chat.budgets, name)
        self.roster, self.retain, self.recover_pending = _here(chat.roster, name), _here(chat.retain, name), _here(chat.recover_pending, name)
        self.post, self.say, self.ack = _told(partial(chat.post, name)), _told(partial(chat.say, name)), _here(chat.ack, name)
        self.read, self.peek, self.history = _here(chat.read, name), _here(chat.peek, name), _here(chat.history, name)
        self.pending, self.wait = _here(chat.pending, name), _here(chat.wait, name)
        self.listen, self.take, self.export = _here(chat.listen, name), _here(chat.take, name), _here(chat.export, name)
        self.claim, self.unclaim, self.claims = _here(chat.claim, name), _here(chat.unclaim, name), _here(chat.claims, name)
        self.task_create, self.task_update, self.task_wait = _here(chat.task_create, name), _here(chat.task_update, name), _here(chat.task_wait, name)
        self.task_list, self.task_show, self.task_next = _here(chat.task_list, name), _here(chat.task_show, name), _here(chat.task_next, name)
        self.task_claim, self.task_renew, self.task_recover = _here(chat.task_claim, name), _here(chat.task_renew, name), _here(chat.task_recover, name)
        self.task_done, self.task_release, self.task_block = _here(chat.task_done, name), _here(chat.task_release, name), _here(chat.task_block, name)
        self.task_cancel, self.task_reopen, self.task_graph = _here(chat.task_cancel, name), _here(chat.task_reopen, name), _here(chat.task_graph, name)
        self.task_recover_pending = _here(chat.task_recover_pending, name)
        self.lock, self.check, self.unlock = _here(chat.lock, name), _here(chat.check, name), _here(chat.unlock, name)
        self.renew, self.locks, self.recover = _here(chat.renew, name), _here(chat.locks, name), _here(chat.recover, name)
        self.event_post, self.event_read = _here(chat.event_post, name), _here(chat.event_read, name)
        self.state, self.compact = _here(chat.state, name), _here(chat.compact, name)
        self.claim_task, self.ask = _here(chat.claim_task, name), _here(chat.ask, name)
        self.gather, self.barrier = _here(chat.gather, name), _here(chat.barrier, name)
        self.events = _here(chat.events, name)

    def as_(self, agent: str, *, token: str | None = None) -> AsyncRoom:
        """The same channel for another agent of this program."""
        return AsyncRoom(self.chat.as_(agent, token=token), self.name)


def _here(verb: Callable[Concatenate[str, Rest], Given], name: str) -> Callable[Rest, Given]:
    """A verb with its channel filled in, and all that it says of itself."""
    return _told(partial(verb, name))


def _told(made: partial[Given]) -> partial[Given]:
    """So that ``help`` tells of the verb. By itself it is for verbs that give one of two things: typed by :func:`_here` they would take what gives the first."""
    made.__doc__ = made.func.__doc__
    return made
