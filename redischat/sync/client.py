# Made from ../aio by tests/unasync.py; edit that, not this.
"""Client: every verb an agent has, for a program with threads or none."""

from __future__ import annotations

from functools import partial

from .agents import Agents
from .budgets import Budgets
from .channels import Channels
from .claims import Claims
from .events import Events
from .orchestration import Orchestration
from .paths import Paths
from .presence import Presence
from .state import Standing
from .transcripts import Transcripts
from .users import Users


class Client(
    Agents, Presence, Channels, Budgets, Transcripts, Claims, Orchestration, Paths, Events, Standing,
    Users,
):  # fmt: skip
    """One agent at one broker.

    ``url``: where the broker is (default: REDISCHAT_URL, the project's configuration, else this user's embedded broker, started when nobody answers).
    ``agent``: who speaks (default: as for the command). ``workspace``, ``token``: likewise. ``redis``: a ready client made with ``decode_responses=True``
    instead of all that; then ``agent`` and ``workspace`` are only what is given. ``settings``: where and who, found already, instead of looking.

    ``durable``: no change counts before it is on the broker's disk, ``replicas``: before so many replicas have it (with ``durable``: on their disks); else it
    raises NotDurable, whose ``done`` says whether it is stored all the same. Default: REDISCHAT_DURABLE, REDISCHAT_REPLICAS.

    Use it as ``with Client(agent="amy") as chat``, or call :meth:`disconnect` at the end. Connections are opened by the first verb. Verbs may run
    at the same time; each waiting one holds a connection of its own.

    Raises:
        BadName: of agent or workspace.
        Usage: the URL is none.
    """

    def channel(self, name: str) -> Room:
        """One channel, whose verbs need not be told which."""
        return Room(self, name)


class Room:
    """The verbs of a client with one channel filled in. Holds nothing, checks nothing."""

    def __init__(self, chat: Client, name: str) -> None:
        self.chat, self.name = chat, name
        self.open, self.join, self.leave = partial(chat.open, name), partial(chat.join, name), partial(chat.leave, name)
        self.close, self.reopen, self.delete = partial(chat.close, name), partial(chat.reopen, name), partial(chat.delete, name)
        self.mode, self.briefing, self.invite = partial(chat.mode, name), partial(chat.briefing, name), partial(chat.invite, name)
        self.budget, self.budgets = partial(chat.budget, name), partial(chat.budgets, name)
        self.roster, self.retain, self.recover_pending = partial(chat.roster, name), partial(chat.retain, name), partial(chat.recover_pending, name)
        self.post, self.say, self.ack = partial(chat.post, name), partial(chat.say, name), partial(chat.ack, name)
        self.read, self.peek, self.history = partial(chat.read, name), partial(chat.peek, name), partial(chat.history, name)
        self.pending, self.wait = partial(chat.pending, name), partial(chat.wait, name)
        self.listen, self.take, self.export = partial(chat.listen, name), partial(chat.take, name), partial(chat.export, name)
        self.claim, self.unclaim, self.claims = partial(chat.claim, name), partial(chat.unclaim, name), partial(chat.claims, name)
        self.task_create, self.task_update, self.task_wait = partial(chat.task_create, name), partial(chat.task_update, name), partial(chat.task_wait, name)
        self.task_list, self.task_show, self.task_next = partial(chat.task_list, name), partial(chat.task_show, name), partial(chat.task_next, name)
        self.task_claim, self.task_renew, self.task_recover = partial(chat.task_claim, name), partial(chat.task_renew, name), partial(chat.task_recover, name)
        self.task_done, self.task_release, self.task_block = partial(chat.task_done, name), partial(chat.task_release, name), partial(chat.task_block, name)
        self.task_cancel, self.task_reopen, self.task_graph = partial(chat.task_cancel, name), partial(chat.task_reopen, name), partial(chat.task_graph, name)
        self.task_recover_pending = partial(chat.task_recover_pending, name)
        self.lock, self.check, self.unlock = partial(chat.lock, name), partial(chat.check, name), partial(chat.unlock, name)
        self.renew, self.locks, self.recover = partial(chat.renew, name), partial(chat.locks, name), partial(chat.recover, name)
        self.event_post, self.event_read = partial(chat.event_post, name), partial(chat.event_read, name)
        self.state, self.compact = partial(chat.state, name), partial(chat.compact, name)
        self.claim_task, self.ask = partial(chat.claim_task, name), partial(chat.ask, name)
        self.gather, self.barrier = partial(chat.gather, name), partial(chat.barrier, name)
        self.events = partial(chat.events, name)

    def as_(self, agent: str, *, token: str | None = None) -> Room:
        """The same channel for another agent of this program."""
        return Room(self.chat.as_(agent, token=token), self.name)
