"""budget, budgets."""

from __future__ import annotations

from .. import names
from ..calls.budgets import Bound
from ..calls.call import Once
from ..errors import BadText
from ..flows import budgets as flows
from ..models import Budget
from .seat import AsyncSeat, room

PER_S = 3_600


class AsyncBudgets(AsyncSeat):
    """The verbs of how much may be said."""

    async def budget(
        self,
        channel: str,
        *,
        agent: str | None = None,
        messages: int | None = None,
        characters: int | None = None,
        per: float = PER_S,
        off: bool = False,
        idem: str | None = None,
    ) -> Budget | None:
        """Bound how much may be said in a channel in ``per`` seconds, by everybody or by one ``agent``; ``off`` takes the bound off (None). Members only.

        From 80 % on authors are warned; over it hooks only point at messages; over 150 % they wake nobody for them. Everything is stored, and :meth:`read` and
        :meth:`wait` give it as ever. A span begins with the first message after the last one's end. The same again changes nothing.

        Raises:
            BadText, Usage: there is no number above 0, or a number and ``off``.
            NoChannel, NotMember, UnknownRecipient: nothing was changed.
        """
        given = [one for one in (messages, characters) if one is not None]
        names.whole(messages=messages, characters=characters)
        if off == bool(given) or 0 in given:
            raise BadText(message="a budget is a number of messages or characters above 0, or off")
        whose = names.agent(agent) if agent else ""
        bound = Bound(messages=messages or 0, characters=characters or 0, per_ms=0 if off else round(1000 * names.seconds("per", per)), whose=whose)
        got = await self._drive(flows.put(self._me(), room(channel), bound, Once(idem)))
        return Budget.model_validate(got["budget"]) if got["budget"] else None

    async def budgets(self, channel: str) -> list[Budget]:
        """The budgets of a channel, its own first, and how much of each is used. Changes nothing; needs no identity.

        Raises:
            NoChannel: there is none of that name.
        """
        return [Budget.model_validate(one) for one in await self._drive(flows.every(self._who, room(channel)))]
