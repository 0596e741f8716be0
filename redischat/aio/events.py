"""event_post, event_read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import names
from ..calls.call import Once
from ..calls.event_form import draft, of_type
from ..flows import events as flows
from ..models import Event
from .seat import AsyncSeat, room

if TYPE_CHECKING:
    from collections.abc import Sequence


class AsyncEvents(AsyncSeat):
    """The verbs of what harnesses tell of themselves."""

    async def event_post(
        self, channel: str, type: str, harness: str, *, status: str | None = None, detail: str | None = None,  # noqa: A002 - the field's name
        primitives: str | Sequence[str] | None = None, idem: str | None = None,
    ) -> Event:  # fmt: skip
        """Tell what a harness can do (``type`` capability) or how its agent is (status). Wakes nobody, is unread for nobody; membership is not needed.

        ``status``: ready, busy, idle, blocked or stopped, with one line of ``detail``. ``primitives``: ``"a,b"`` or a list, default all eight.

        Raises:
            EventRefused: it is no event (the class says why). Nothing was stored.
            NoChannel, NotYou, KeyReused: nothing was stored.
        """
        parts = [part.strip() for part in primitives.split(",") if part.strip()] if isinstance(primitives, str) else primitives
        event = draft(type, self._me().agent, harness, status=status, detail=detail, primitives=parts)
        return Event.model_validate(await self._drive(flows.post(self._me(), room(channel), event, Once(idem))))

    async def event_read(self, channel: str, *, type: str | None = None, since: int | None = None, new: bool = False) -> list[Event]:  # noqa: A002
        """The events of a channel, oldest first; entries that are none are passed over. Changes nothing, unless ``new``; needs no identity then.

        ``type``: capability or status. ``since``: from this number on. ``new``: what the agent has not read yet, marked as read before this returns; whoever
        names a type has a mark of its own for it. With ``since`` and ``new`` the mark rises only if nothing below ``since`` is passed over.

        Raises:
            EventInvalidType: there is no such type.
            NoChannel: there is none of that name.
            NoIdentity: ``new``, and the client has no agent.
        """
        names.whole(since=since)
        wanted = flows.Wanted(type_=of_type(type), since=since, new=new)
        got = await self._drive(flows.read(self._me() if new else self._who, room(channel), wanted))
        return [Event.model_validate(one) for one in got["events"]]
