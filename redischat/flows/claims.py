"""Claims: taking a name first, giving it back, seeing who has what."""

from __future__ import annotations

from ..calls import agents, claims
from ..calls.call import clock
from ..errors import NoChannel, NoIdentity
from .channels import known
from .reading import not_there
from .tasks import unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..calls.call import Call, Caller, Once

    Flow = Generator[Any, Any, Any]


def claim(who: Caller, channel: str, name: str, *, note: str = "", ttl_ms: int = 0, steal: bool = False) -> Flow:
    """Claim a name. Gives ``how channel name owner token claimed_at lease_expires_at previous_owner warning``."""
    return (yield from _acted(who, channel, claims.take(who, channel, name, note=note, ttl_ms=ttl_ms, steal=steal)))


def unclaim(who: Caller, channel: str, name: str, once: Once) -> Flow:
    """Give a claim back. Gives ``channel name warning``."""
    return (yield from _acted(who, channel, claims.drop(who, channel, name, once=once)))


def every(who: Caller, channel: str) -> Flow:
    """All claims of a channel by name: ``channel name owner token claimed_at lease_expires_at lapsed note``."""
    facts, _, _ = yield from known(who, channel)
    found, now = yield [claims.every(who.keys, channel), clock()]
    rows = []
    for one in found:
        ends = one.pop("ends_ms")
        rows.append({"channel": facts["name"], **one, "lapsed": 0 < ends <= now})
    return rows


def _acted(who: Caller, channel: str, call: Call) -> Flow:
    if not who.me:
        raise NoIdentity
    try:
        (known_before,), got = yield [agents.records(who.keys, [who.me]), call]
    except NoChannel:
        yield from not_there(who, channel)
    got["warning"] = None if known_before else (yield from unknown(who))
    return got
