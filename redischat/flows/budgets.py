"""Budgets of a channel: setting one, and how much of each is used."""

from __future__ import annotations

from ..calls import budgets, channels
from ..calls.call import clock, plain
from ..errors import BadText, NoChannel, NotMember, UnknownRecipient
from .channels import known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any

    from ..calls.call import Caller, Once
    from ..keys import Keys

    Flow = Generator[Any, Any, Any]

LONGEST_S = 366 * 86_400


def put(who: Caller, channel: str, bound: budgets.Bound, once: Once) -> Flow:
    """Set a budget, or take it off. Gives ``channel how budget``."""
    if not 0 <= bound.per_ms <= LONGEST_S * 1000 or bound.messages < 0 or bound.characters < 0:
        raise BadText(message=f"a budget is a number of messages or characters, in at most a year: redischat budget {channel} --messages 50 --per 1h")
    try:
        return (yield budgets.put(who, channel, bound, _text(bound, channel), once=once))
    except (NoChannel, NotMember, UnknownRecipient) as error:
        from .messages import helped  # which looks at presence, which looks here

        error.facts.setdefault("done", "no budget was set")
        yield from helped(who, channel, error)
        raise


def _text(bound: budgets.Bound, channel: str) -> str:
    whose = f"{bound.whose}'s words in" if bound.whose else "what is said in"
    if not bound.messages and not bound.characters:
        return f"took the budget off {whose} this channel"
    what = " and ".join(f"{count:,} {unit}" for count, unit in ((bound.messages, "messages"), (bound.characters, "characters")) if count)
    return f"set a budget for {whose} this channel: {what} in {span(bound.per_ms // 1000)}; over it hooks only point at messages, then wake nobody. See: redischat budget {channel}"


def every(who: Caller, channel: str) -> Flow:
    """The budgets of a channel, its own first. Gives ``[budget]``."""
    facts, members, _ = yield from known(who, channel)
    now = yield clock()
    return budgets.of(facts, {name: one["agent"] for name, one in members.items()}, now)


def of_agents(keys: Keys, names: Iterable[str]) -> Flow:
    """The budgets that are some agents' own, in any channel: agent, as compared -> ``[budget]``."""
    asked = [name.lower() for name in names]
    heads = yield channels.heads(keys)
    if not heads or not asked:
        return {}
    fields = [f"{budgets.FIELD} {name}" for name in asked]
    now, *found = yield [clock(), *(plain("HMGET", keys.channel(room, "meta"), *fields) for room in heads)]
    own: dict[str, list[dict[str, Any]]] = {}
    for (_, written), texts in zip(heads.values(), found, strict=True):
        for name, text in zip(asked, texts, strict=True):
            if one := budgets.record(written, name, text or "", now):
                own.setdefault(name, []).append(one)
    return own


def unwoken(sent: dict[str, Any]) -> str:
    """Why a message (as its post gave it) wakes nobody, if a budget is why; else ""."""
    over = sent["budget"]
    if not over or over["level"] != "silent":
        return ""
    why = f"{over['agent']} is far over a budget in #{sent['channel']}" if over["agent"] else f"#{sent['channel']} is far over its budget"
    return f"nobody was woken: {why} (see: redischat budget {sent['channel']})"


def span(seconds: int) -> str:
    """A span of time as ``--per`` takes it: 90s, 15m, 1h, 1d."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def seconds(text: str) -> int:
    """``90``, ``90s``, ``15m``, ``1h``, ``2d`` in seconds.

    Raises:
        BadText: it is none of these.
    """
    size = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}.get(text[-1:].lower(), 1)
    digits = text[:-1] if text[-1:].lower() in "smhd" and text else text
    if not (digits.isascii() and digits.isdigit() and 0 < int(digits) * size <= LONGEST_S):
        raise BadText(message=f"{text!r} is no span of time: say 90s, 15m, 1h or 1d, at most a year")
    return int(digits) * size
