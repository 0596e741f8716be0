"""Clearing away at the broker: sessions that are long over, and this user's proofs of names that passed on."""

from __future__ import annotations

from ..calls import sessions
from ..calls.call import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ..keys import Keys

    Flow = Generator[Any, Any, Any]

ENDED_MS = 86_400_000  # a session that ended is shown by `who --all` for a day
SILENT_MS = 7 * 86_400_000  # without any sign for so long: its harness is gone, or its host
ID_MS = 30 * 86_400_000  # an earlier id of a session may be resumed for so long
AT_ONCE = 500


def prune(keys: Keys, *, act: bool) -> Flow:
    """Forget what is long over; without ``act`` only tell. Gives ``{"sessions": n, "ids": n, "bytes": n}``."""
    seen = yield from _sizes(keys.presence)
    bound = yield from _sizes(keys.sessions)
    names, over, ids = sorted({*seen, *bound}), [], []
    for at in range(0, len(names), AT_ONCE):
        some, others = yield sessions.prune(keys, names[at : at + AT_ONCE], act=act, ended_ms=ENDED_MS, silent_ms=SILENT_MS, id_ms=ID_MS)
        over += some
        ids += others
    return {"sessions": len(over), "ids": len(ids), "bytes": sum(seen[name] for name in over) + sum(bound[name] for name in ids)}


def _sizes(key: str) -> Flow:
    """Field -> bytes of it and its value, page by page."""
    found: dict[str, int] = {}
    cursor = "0"
    while True:
        cursor, flat = yield plain("HSCAN", key, cursor, "COUNT", AT_ONCE)
        found |= {name: len(name) + len(text) for name, text in zip(flat[::2], flat[1::2], strict=True)}
        if str(cursor) == "0":
            return found


def passed_on(keys: Keys, proofs: Sequence[tuple[str, str]]) -> Flow:
    """Of these (agent, token): whether each proves nothing any more, since another one was drawn. Gives booleans in their order."""
    if not proofs:
        return []
    found = yield plain("HMGET", keys.agents, *(agent.lower() for agent, _ in proofs))
    return [bool(text) and text.split(" ")[1] != token for text, (_, token) in zip(found, proofs, strict=True)]
