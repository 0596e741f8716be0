"""The brake of two agents who only talk: after twelve messages to and fro, with nothing done in between, they do not wake each other any more.

Anything else resets it: a tool call that is not redischat, a prompt of a person, words of a third one, a change of a task or a lock. Messages are stored and
read as ever; only automatic wakes stop (an idle session is not rung, the end of a turn is not held up). A `wait` that somebody chose is none.
"""

from __future__ import annotations

from ..calls import channels, messages, sessions
from ..calls.call import ms_of
from ..keys import LAST_NUMBER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

MOST = 12  # messages between two agents that do nothing else
_LOOK = 3 * MOST


def since(who: Caller, channel: str, name: str, other: str) -> Flow:
    """The number of the message that a stretch of mere talk between the caller and ``other`` began with; 0 while it is shorter than MOST, or one alone talks."""
    pair = {who.me, other.lower()}
    stretch = _stretch((yield messages.newest(who.keys, channel, name, who.me, to=LAST_NUMBER, count=_LOOK)), pair)
    if len(stretch) < MOST:
        return 0  # as nearly always: one read
    noted, known = yield [messages.newest_audits(who.keys, channel, name, who.me, count=MOST), sessions.every(who.keys)]
    worked = [one["worked_ms"] for one in known.values() if one["agent"].lower() in pair]  # of who has no hooks nothing is known: nothing resets
    reset_ms = max([0, *worked, *(ms_of(one["ts"]) for one in noted if one["from"].lower() in pair)])
    mere = [one for one in stretch if ms_of(one["ts"]) > reset_ms]
    both = len({one["from"].lower() for one in mere}) > 1  # reports that nobody answers are no loop
    return min(one["seq"] for one in mere) if both and len(mere) >= MOST else 0


def _stretch(found: list[dict[str, Any]], pair: set[str]) -> list[dict[str, Any]]:
    """The newest messages up to the last one of somebody else; what the room itself says is nobody's."""
    said = [one for one in found if one["kind"] == "message"]
    last = max((i for i, one in enumerate(said) if one["from"].lower() not in pair), default=-1)
    return said[last + 1 :]


def held(who: Caller, channel: str, name: str, senders: list[str]) -> Flow:
    """Whether a wake of the caller is held back: only one agent asks for it, and the two only talk. Says so in the channel, once."""
    if len(senders) != 1:
        return False
    first = yield from since(who, channel, name, senders[0])
    if not first:
        return False
    pair = sorted([who.agent, senders[0]], key=str.lower)
    text = (
        f"{pair[0]} and {pair[1]} have said {MOST} messages or more to each other and done nothing else: they do not wake each other any more. "
        "What they say is stored and read as ever. A person, a third agent, work of one of them, or a task or lock wakes them again."
    )
    yield channels.brake(who.keys, channel, " ".join(pair).lower(), first, senders[0], text)
    return True
