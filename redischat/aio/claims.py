"""claim, claims, unclaim."""

from __future__ import annotations

from .. import names
from ..calls.call import Once
from ..flows import claims as flows
from ..flows import fields
from ..models import Claim, Claimed, Unclaimed
from .seat import AsyncSeat, room


class AsyncClaims(AsyncSeat):
    """The verbs of names that are claimed."""

    async def claim(self, channel: str, name: str, *, note: str = "", ttl: float | None = None, steal_expired: bool = False) -> Claimed:
        """Claim a name before acting on it: the first one wins; the same agent again is told so (``how`` is renewed). Needs no membership.

        ``ttl``: a lease of so many seconds (default: for good). ``steal_expired``: take it over if its holder's lease has run out.

        Raises:
            ClaimTaken: with ``holder claimed_at expires_at lapsed``.
            NoChannel, BadName: nothing was changed.
        """
        ttl_ms = 0 if ttl is None else fields.milliseconds(ttl)
        flow = flows.claim(self._me(), room(channel), fields.claim(name), note=names.line("note", note), ttl_ms=ttl_ms, steal=steal_expired)
        return Claimed.model_validate({"note": note or None, **await self._drive(flow)})

    async def unclaim(self, channel: str, name: str, *, idem: str | None = None) -> Unclaimed:
        """Give a claim back.

        Raises:
            NotClaimed: it is nobody's, or (``holder``) somebody else's.
        """
        return Unclaimed.model_validate(await self._drive(flows.unclaim(self._me(), room(channel), fields.claim(name), Once(idem))))

    async def claims(self, channel: str) -> list[Claim]:
        """What is claimed, by name. Changes nothing; needs no identity.

        Raises:
            NoChannel: there is none of that name.
        """
        return [Claim.model_validate(one) for one in await self._drive(flows.every(self._who, room(channel)))]
