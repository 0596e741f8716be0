"""who."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..flows import presence as flows
from ..models import Present
from ..settings import host
from .seat import AsyncSeat

if TYPE_CHECKING:
    from typing import Any


class AsyncPresence(AsyncSeat):
    """The verb of who is there."""

    async def who(self, *, ended: bool = False) -> list[Present]:
        """Every agent that has a session, by name, with its sessions on this host and on others. Changes nothing; needs no identity.

        ``ended``: also sessions that are over (or gave no sign for a day), and names that never did anything.
        """
        found: list[dict[str, Any]] = await self._drive(flows.who(self._keys, host(), ended=ended))
        return [Present.model_validate(one) for one in found]
