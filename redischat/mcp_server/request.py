"""One request of a client, as a tool sees it: what the server was started with, and the way to show a sign of life."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from .seat import Place


class Request:
    """``place``: what the server was started with. ``context``: the SDK's."""

    __slots__ = ("context", "place")

    def __init__(self, place: Place, context: Any) -> None:
        self.place, self.context = place, context

    async def progress(self, done: float, total: float, said: str) -> None:
        """Tell the client that the request goes on, if it asked to be told."""
        await self.context.session.report_progress(done, total, said)
