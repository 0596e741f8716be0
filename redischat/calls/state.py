"""A channel's transcript for whoever sums it up: what redischat wrote, and what was written past it."""

from __future__ import annotations

from .call import Call, Caller, plain
from .messages import is_ours, message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAGE = 500


def entries(who: Caller, channel: str, name: str, *, after: str = "-") -> Call:
    """The entries behind an id, oldest first: ``{"messages", "damaged": ids, "last": the last id, None at the end}``."""

    def read(found: Any) -> dict[str, Any]:
        told, damaged = [], []
        for id_, fields in found or ():
            left, _, seq = id_.partition("-")
            one = message(name, int(seq), fields, who.me) if left == "0" and is_ours(fields) else None
            told += [one] if one else []
            damaged += [] if one else [id_]
        return {"messages": told, "damaged": damaged, "last": found[-1][0] if found and len(found) == PAGE else None}

    return plain("XRANGE", who.keys.channel(channel, "messages"), after if after == "-" else f"({after}", "+", "COUNT", PAGE, read=read)
