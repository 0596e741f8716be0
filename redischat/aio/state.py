"""state, compact."""

from __future__ import annotations

from .. import names
from ..calls.call import Once
from ..errors import BadName
from ..errors.events import StateInvalidChannel
from ..flows import state as flows
from ..models import Compacted, State
from .seat import AsyncSeat


class AsyncStanding(AsyncSeat):
    """The verbs of where things stand."""

    async def state(self, channel: str, *, strict: bool = False) -> State:
        """Where things stand in a channel: decisions, open tasks, blockers, owners, path locks, verification. Changes nothing; needs no identity.

        The same channel gives the same state. What was written past redischat is left out and named (``damaged``).

        Raises:
            StateChannelNotFound, StateInvalidChannel: there is none of that name.
            StateMalformedSource: ``strict``, and something is damaged.
        """
        return State.model_validate(await self._drive(flows.state(self._who, _room(channel), strict=strict)))

    async def compact(self, channel: str, *, strict: bool = False, idem: str | None = None) -> Compacted:
        """Say where things stand as a summary that wakes nobody: newcomers read from there. Nothing is said when the last one says the same. Members only.

        Raises:
            StateChannelNotFound, StateInvalidChannel, StateMalformedSource: as for :meth:`state`.
            NotMember, ChannelClosed, KeyReused: nothing was said.
        """
        return Compacted.model_validate(await self._drive(flows.compact(self._me(), _room(channel), Once(idem), strict=strict)))


def _room(channel: str) -> str:
    try:
        return names.channel(channel).lower()
    except BadName as error:
        raise StateInvalidChannel(why=error.sentence(), channel=channel) from None
