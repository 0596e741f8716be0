"""answer-when-asked: a turn does not end while an answer is owed. Opt-in, at most three times a question, always with a way out."""

from __future__ import annotations

import os

from ..flows.messages import owed
from ..settings import CONFIG, read_pairs
from ..text import INDENT, field
from . import session as cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

MOST = 3  # times that one question holds a turn up
SWITCH = "gate"  # in .redischat/config: gate=answer
_QUESTION = 300  # characters of it that are shown


def wanted(project: str) -> bool:
    """Does the project want it?"""
    return read_pairs(os.path.join(project, CONFIG)).get(SWITCH) == "answer"


def judge(who: Caller, state_dir: str, session: str) -> Flow:
    """Why the turn may not end yet: a question that waits for me and has not held me up three times. "" lets it end."""
    for one in (yield from owed(who)):
        if _counted(state_dir, session, f"{one['channel']} {one['seq']}") <= MOST:
            return _reason(one)
    return ""


def _counted(state_dir: str, session: str, question: str) -> int:
    """How often this question has held the session up, this time included."""
    count = int(cards.said(state_dir, session, "gate " + question) or 0) + 1
    cards.say(state_dir, session, "gate " + question, str(count))
    return count


def _reason(one: dict[str, Any]) -> str:
    text = field(one["text"])
    asked = text if len(text) <= _QUESTION else text[: _QUESTION - 1] + "…"
    room, seq, asker = one["channel"], one["seq"], one["from"]
    return (
        f"redischat: {asker} waits for your answer in #{room} (#{seq}):\n{INDENT}{asked}\n"
        f"Answer: redischat say {room} - --reply {seq} --to {asker}\n"
        f"Nothing to answer? Say so and wake nobody: redischat say {room} 'no answer needed' --reply {seq} --to-none\n"
        f"Not your room any more? redischat leave {room}. A question holds a turn up {MOST} times, no more."
    )
