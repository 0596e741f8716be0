"""Budgets: how much may be said in a channel within a span of time, and how much was."""

from __future__ import annotations

from .call import Call, Caller, Once, iso, keyed, run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELD = "budget"  # of a channel's meta; followed by an agent's name, that agent's
LEVELS = ("within", "warned", "pointed", "silent")  # scripts/parts/budget.lua
WARN, OVER, MUTE = 0.8, 1, 1.5  # likewise: shares of a budget
_WORDS = 7


class Bound:
    """What is allowed: so many ``messages`` or ``characters`` (0: not bounded) in ``per_ms``; of everybody, or of the agent ``whose``."""

    __slots__ = ("characters", "messages", "per_ms", "whose")

    def __init__(self, *, messages: int = 0, characters: int = 0, per_ms: int = 0, whose: str = "") -> None:
        self.messages, self.characters, self.per_ms, self.whose = messages, characters, per_ms, whose


def put(who: Caller, channel: str, bound: Bound, text: str, *, once: Once) -> Call:
    """Set a budget, or take it off, with the notice's ``text`` (channel_budget.lua). Gives ``how`` (set, off, already), ``channel``, ``budget`` or None."""
    keys = who.keys

    def done(words: list[Any]) -> dict[str, Any]:
        how, name, text, now = words
        return {"channel": name, "how": how, "budget": record(name, bound.whose, text, int(now))}

    return run(
        "channel_budget",
        {
            **keyed(keys, channel, "stream", "meta", "members", "heads", "agents"), "idem": keys.idem("budget", who.me, once.key, channel), "live": keys.live(channel),
        },
        {
            "channel": channel, "me": who.me, "token": who.token, "keep": once.seconds, "whose": bound.whose.lower(), "messages": bound.messages,
            "characters": bound.characters, "per_ms": bound.per_ms, "text": text,
        },
        done,
    )  # fmt: skip


def record(channel: str, whose: str, text: str, now_ms: int) -> dict[str, Any] | None:
    """One budget as it is now: ``channel agent messages characters per_s used_messages used_characters until level by``; None where there is none.

    ``agent`` None: everybody's. ``until``: the end of the span that is counted, None when none has begun. ``level``: within, warned, pointed or silent.
    """
    words = text.split(" ")
    if len(words) != _WORDS:
        return None
    most, characters, per_ms, since, said, used = (int(word) for word in words[:-1])
    over = now_ms - since >= per_ms
    if over:
        said = used = 0
    share = max(said / most if most else 0, used / characters if characters else 0)
    level = 3 if share > MUTE else 2 if share > OVER else 1 if share >= WARN else 0
    return {
        "channel": channel, "agent": whose or None, "messages": most or None, "characters": characters or None, "per_s": per_ms // 1000, "used_messages": said,
        "used_characters": used, "until": None if over else iso(since + per_ms), "level": LEVELS[level], "by": words[-1],
    }  # fmt: skip


def of(facts: dict[str, Any], names: dict[str, str], now_ms: int) -> list[dict[str, Any]]:
    """The budgets of a channel, its own first; ``facts``: its meta; ``names``: how its agents are written."""
    found = []
    for field in sorted(field for field in facts if field.split(" ")[0] == FIELD):
        whose = field.partition(" ")[2]
        one = record(facts.get("name", ""), names.get(whose, whose), facts[field] or "", now_ms)
        found += [one] if one else []
    return found
