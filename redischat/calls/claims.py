"""Claims: names that agents claim before they act."""

from __future__ import annotations

from .call import Call, Caller, Once, iso, keyed, pairs, plain, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..keys import Keys

_NOTE = 5  # words before a note


def take(who: Caller, channel: str, name: str, *, note: str = "", ttl_ms: int = 0, steal: bool = False) -> Call:
    """Claim a name (claim_take.lua); ``ttl_ms`` 0 is for good. Gives ``how channel name owner token claimed_at lease_expires_at previous_owner``."""
    keys = who.keys
    return run(
        "claim_take",
        {
            "world": keys.meta, **keyed(keys, channel, "heads", "agents", "claims", "audits", "live"), "scratch": keys.scratch(who.me),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "written": name, "note": note, "ttl": ttl_ms, "steal": int(steal)},
        lambda words: {
            "how": words[0], "channel": words[1], "name": words[2], "owner": who.agent, "token": int(words[3]), "claimed_at": iso(words[4]),
            "lease_expires_at": iso(words[5]), "previous_owner": words[6] or None,
        },
    )  # fmt: skip


def drop(who: Caller, channel: str, name: str, *, once: Once) -> Call:
    """Give a claim back (claim_drop.lua). Gives ``channel name``."""
    keys = who.keys
    return run(
        "claim_drop",
        {
            **keyed(keys, channel, "heads", "agents", "claims", "audits"),
            "idem": keys.idem("unclaim", who.me, once.key, f"{channel}/{name.lower()}"), "live": keys.live(channel), "scratch": keys.scratch(who.me),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds, "claim": name.lower()},
        lambda words: {"channel": words[0], "name": words[1]},
    )  # fmt: skip


def every(keys: Keys, channel: str) -> Call:
    """All claims of a channel by name: ``name owner token claimed_at lease_expires_at note``; damaged ones are left out."""
    return plain("HGETALL", keys.channel(channel, "claims"), read=lambda flat: [one for _, text in sorted(pairs(flat).items()) if (one := claim(text))])


def claim(text: str) -> dict[str, Any] | None:
    """One claim as it is kept; None for what redischat did not write."""
    words = text.split(" ", _NOTE)
    if len(words) <= _NOTE or not all(word.isdigit() for word in words[2:_NOTE]):
        return None
    name, owner, since, ends, token, note = words
    return {
        "name": name,
        "owner": owner,
        "token": int(token),
        "claimed_at": iso(since),
        "lease_expires_at": iso(ends),
        "ends_ms": int(ends),
        "note": note or None,
    }
