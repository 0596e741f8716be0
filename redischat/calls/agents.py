"""Agents: who holds a name, what was shown to it, what it owes."""

from __future__ import annotations

from ..keys import SHARED
from .call import Call, Caller, Once, fresh, iso, packed, pairs, plain, run, unpacked, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..keys import Keys

LIVE_MS = 120_000  # seen within 2 minutes: live; within a day: quiet; else gone
QUIET_MS = 86_400_000


def identify(
    keys: Keys, name: str, *, session: str, host: str, project: str, want: str = "take", reason: str = "", rooms: Sequence[str] = (), once: Once
) -> Call:
    """Bind ``name`` to ``session`` (agent_identify.lua). Gives ``agent token how old_session old_seen``."""
    me = name.lower()
    tail = [key for room in rooms for key in (keys.channel(room, "messages"), keys.live(room))]

    def bound(words: list[Any]) -> dict[str, Any]:
        how, display, old, seen, token = words  # under a key that came before it is the token of then
        return {"agent": display, "token": token, "how": how, "old_session": unpacked(old), "old_seen": iso(seen)}

    return run(
        "agent_identify",
        {"agents": keys.agents, "sessions": keys.sessions, "heads": keys.heads, "idem": keys.idem("identify", me, once.key, packed(session)), "bell": keys.bell(me), "ear": keys.ear(me), "presence": keys.presence},
        {
            "name": me, "display": name, "session": packed(session), "host": packed(host), "project": packed(project), "token": fresh(16), "want": want,
            "keep": once.seconds, "reason": reason,
        },
        bound, tail, rooms,
    )  # fmt: skip


def release(who: Caller) -> Call:
    """Give the caller's name back (agent_release.lua). Gives whether it was held."""
    keys = who.keys
    return run(
        "agent_release",
        {"agents": keys.agents, "sessions": keys.sessions, "scratch": keys.scratch(who.me)},
        {"me": who.me, "token": who.token},
        lambda words: yes(words[0]),
    )


def record(text: str | None) -> dict[str, Any]:
    """An agent's record as ``agent session host since seen seen_ms state project``; ``held`` says whether somebody holds the name."""
    if not text:
        return {}
    display, token, session, host, since, seen, state, project = text.split(" ")
    return {
        "agent": display, "held": token != "-", "session": unpacked(session), "host": unpacked(host), "since": iso(since), "seen": iso(seen),  # noqa: S105 - the mark of a name that nobody holds
        "seen_ms": int(seen), "state": state, "project": unpacked(project),
    }  # fmt: skip


def records(keys: Keys, names: Sequence[str]) -> Call:
    """The records of some agents, in their order; {} for one that does not exist."""
    return plain("HMGET", keys.agents, *(name.lower() for name in names), read=lambda found: [record(text) for text in found])


def everybody(keys: Keys) -> Call:
    """All agents of the workspace: name -> record."""
    return plain("HGETALL", keys.agents, read=lambda flat: {name: record(text) for name, text in pairs(flat).items()})


def rooms(keys: Keys, me: str) -> Call:
    """The channels that ``me`` is in, as compared."""
    return plain("HKEYS", keys.marks(me))


def marks(who: Caller) -> Call:
    """Channel -> ``heard read epoch maybe lease hi ends spoke`` of the caller."""
    return plain("HGETALL", who.keys.marks(who.me), read=lambda flat: {channel: mark(text) for channel, text in pairs(flat).items()})


def mark(text: str) -> dict[str, Any]:
    """One mark (scripts/parts/mark.lua)."""
    heard, read, epoch, maybe, lease, hi, ends, spoke = text.split(" ")
    return {
        "heard": int(heard), "read": int(read), "epoch": epoch, "maybe": int(maybe), "lease": lease, "hi": int(hi), "ends": int(ends), "spoke": int(spoke),
    }  # fmt: skip


def debts(who: Caller) -> Call:
    """Channel -> (first, last, count) of the messages that name the caller since it last spoke there."""
    return plain("HGETALL", who.keys.owed(who.me), read=lambda flat: {channel: tuple(map(int, text.split(" "))) for channel, text in pairs(flat).items()})


def everyone(keys: Keys) -> Call:
    """Channel -> [(seq, agent), (seq, agent)]: the last two messages for everyone, by two authors."""

    def two(text: str) -> list[tuple[int, str]]:
        a, by_a, b, by_b = text.split(" ")
        return [(int(a), by_a), (int(b), by_b)]

    return plain("HGETALL", keys.everyone, read=lambda flat: {channel: two(text) for channel, text in pairs(flat).items()})


def broadcasts(keys: Keys) -> Call:
    """The broadcast channels, open or closed: as compared -> as written."""
    return plain("HGETALL", keys.broadcasts, read=pairs)


def workspaces(cursor: str = "0") -> Call:
    """One step of the search for workspaces: ``(next cursor, names)``; for users who may see all keys."""

    def found(reply: Any) -> tuple[str, list[str]]:
        return str(reply[0]), [key.partition("{")[2].partition("}")[0] for key in reply[1]]

    return plain("SCAN", cursor, "MATCH", SHARED + "*}:meta", "COUNT", 1000, "TYPE", "hash", read=found)
