"""Where things stand in a channel: read from its messages, tasks and locks, moving nothing; and said in the channel as a summary, from which newcomers read."""

from __future__ import annotations

from ..calls import messages, tasks
from ..calls.state import entries
from ..errors import NoChannel, NotMember
from ..names import MESSAGE_BYTES
from . import summary
from .channels import known
from .messages import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..calls.call import Caller, Once

    Flow = Generator[Any, Any, Any]

NAMED = 20  # damaged entries; then a count


def state(who: Caller, channel: str, *, strict: bool = False) -> Flow:
    """The record that :func:`redischat.flows.summary.state` makes, and ``damaged``: what was written past redischat and left out.

    Raises:
        StateChannelNotFound: there is no such channel.
        StateMalformedSource: ``strict``, and something is damaged.
    """
    return (yield from _gathered(who, channel, strict=strict))[0]


def compact(who: Caller, channel: str, once: Once, *, strict: bool = False) -> Flow:
    """Say where things stand, as a summary that wakes nobody. Gives ``channel seq posted covers chars warning``.

    Nothing is said (``posted`` False, ``seq`` the last summary's) where the last summary says the same already.

    Raises:
        StateChannelNotFound, StateMalformedSource: as for :func:`state`.
        NotMember, ChannelClosed: nothing was said.
    """
    found, facts, members = yield from _gathered(who, channel, strict=strict)
    if not members.get(who.me, {}).get("here"):
        raise NotMember(channel=facts["name"], agent=who.agent)
    text = summary.fitted(summary.markdown(found), MESSAGE_BYTES, facts["name"])
    done = {"channel": facts["name"], "covers": found["last_seq"], "chars": len(text)}
    last = int(facts.get("summary") or 0)
    before = (yield messages.entries(who.keys, channel, facts["name"], who.me, above=last - 1, to=last, count=1)) if last else ()
    if before and before[0]["body"] == text:
        return {**done, "seq": last, "posted": False, "warning": None}
    draft = messages.Draft(text, audience="none", status=summary.SUMMARY, title=f"State of #{facts['name']}")
    receipt = yield from say(who, channel, draft, once)
    return {**done, "seq": receipt["seq"], "posted": True, "warning": receipt["warning"]}


def _gathered(who: Caller, channel: str, *, strict: bool) -> Flow:
    """``(state, facts, members)``."""
    try:
        facts, members, _ = yield from known(who, channel)
        board = yield tasks.look(who.keys, channel)
        locks, odd = yield from _locks(who, channel)
    except NoChannel as error:
        from ..errors.events import StateChannelNotFound

        raise StateChannelNotFound(**error.facts) from None
    told, damaged = yield from _transcript(who, channel, facts["name"])
    damaged += [*(f"task {one}" for one in board["damaged"]), *odd]
    if damaged and strict:
        from ..errors.events import StateMalformedSource

        raise StateMalformedSource(
            why=f"#{facts['name']} holds what redischat did not write: {', '.join(_few(damaged))}", channel=facts["name"], damaged=damaged
        )
    return {**summary.state(facts, members, told, board["tasks"], locks), "damaged": _few(damaged)}, facts, members


def _few(found: list[str]) -> list[str]:
    return found[:NAMED] + ([f"and {len(found) - NAMED} more"] if len(found) > NAMED else [])


def _transcript(who: Caller, channel: str, name: str) -> Flow:
    """All that was said, and the ids of what redischat did not write."""
    told, damaged, after = [], [], "-"
    while after:
        page = yield entries(who, channel, name, after=after)
        told += page["messages"]
        damaged += [f"entry {id_}" for id_ in page["damaged"]]
        after = page["last"]
    return told, damaged


def _locks(who: Caller, channel: str) -> Flow:
    """The path locks that were made through the channel, by repository and path; and what cannot be read."""
    from .paths import locks

    try:
        return (yield from locks(who, channel)), []
    except (ValueError, LookupError):
        return [], ["path locks"]
