"""Who is there: sessions as their hooks and wakers tell, agents without hooks as their acts tell; and where a message finds an agent."""

from __future__ import annotations

from ..calls import agents, sessions
from ..calls.call import clock
from ..errors.broker import NotAllowed
from .budgets import of_agents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from typing import Any

    from ..keys import Keys

    Flow = Generator[Any, Any, Any]

GONE_MS = agents.QUIET_MS  # ended, or no sign for so long
AT_ONCE = 1_000  # agents asked for in one call
HOW = ("listening", "working", "proved", "unproved", "failed", "absent")


def who(keys: Keys, host: str, *, ended: bool = False) -> Flow:
    """Who is there: ``[{agent sessions[] budgets[]}]`` by name, of this host and of others; ``ended``: also who is gone, and names that never did anything.

    ``budgets``: its own, in any channel. A session: ``session pid host here dir harness state connected last_active silent_s wake how holds inferred``. ``state``: working, idle, waiting, gone;
    where no hook tells (``inferred``) live, quiet, waiting or gone. ``silent_s``: seconds since its last sign. ``wake``: ``way proof at``, None without hooks.
    """
    everybody, seats = yield [agents.everybody(keys), sessions.every(keys)]
    seated: dict[str, dict[str, dict[str, Any]]] = {}
    for session, seat in seats.items():
        seated.setdefault(seat["agent"].lower(), {})[session] = seat
    names = sorted(everybody.keys() | seated.keys())
    try:
        found = yield [sessions.reach(keys, names[at : at + AT_ONCE]) for at in range(0, len(names), AT_ONCE)]
    except NotAllowed:  # an observer: it may not ring, not even to count who listens
        now_ms = yield clock()
        found = [[(now_ms, 0, everybody.get(name, {}), {}) for name in names]]
    rows, own = [], (yield from of_agents(keys, names))
    for name, (now, sleepers, record, _) in zip(names, (one for some in found for one in some), strict=True):
        mine = seated.get(name, {})
        shown = [_session(now, host, session, seat, record, sleepers) for session, seat in mine.items()]
        if _acts(now, record, mine.get(record.get("session", ""), {})) or sleepers > any(one["state"] == "waiting" for one in shown):
            shown.append(_inferred(now, host, record, sleepers))
        shown = [one for one in shown if ended or one["state"] != "gone"]
        if shown or ended:
            agent = record.get("agent") or next(iter(mine.values()))["agent"]
            rows.append({"agent": agent, "sessions": sorted(shown, key=_order), "budgets": [{**one, "agent": agent} for one in own.get(name, [])]})
    return rows


def _order(one: dict[str, Any]) -> tuple[Any, ...]:
    return (one["state"] == "gone", not one["here"], one["silent_s"], one["session"] or "")


def _acts(now: int, record: dict[str, Any], seat: dict[str, Any]) -> bool:
    """Is there somebody of whom only acts tell: no hook knows the session that holds the name, or it is over and the name is used all the same?"""
    if not record.get("seen_ms"):
        return False
    return not seat or (_over(now, seat) and record["state"] != "ended" and now - record["seen_ms"] < GONE_MS and record["seen_ms"] > seat["active_ms"])


def _over(now: int, seat: dict[str, Any]) -> bool:
    return bool(seat["state"] == "ended" or now - _sign(seat) > GONE_MS)


def _sign(seat: dict[str, Any]) -> int:
    """When a session was last known to be there, working or not."""
    return int(max(seat["active_ms"], seat["beat_ms"]))


def _connected(now: int, seat: dict[str, Any]) -> bool:
    return bool(seat["state"] != "ended" and now - _sign(seat) < sessions.BEAT_LIVE_MS)


def _session(now: int, host: str, session: str, seat: dict[str, Any], record: dict[str, Any], sleepers: int) -> dict[str, Any]:
    holds = record.get("session") == session
    waits = sleepers > 0 and holds
    over = _over(now, seat) and not waits
    beaten = not over and seat["beat_ms"] > seat["active_ms"] and now - seat["beat_ms"] < sessions.BEAT_LIVE_MS
    return {
        "session": session, "pid": seat["pid"], "host": seat["host"], "here": seat["host"] == host, "dir": seat["project"], "harness": seat["harness"],
        "state": "gone" if over else "waiting" if waits else "idle" if seat["state"] == "ended" else seat["state"], "connected": waits or _connected(now, seat),
        "last_active": seat["active"], "silent_s": max(0, now - seat["active_ms"]) // 1000, "wake": wake(now, seat),
        "how": ["hooks", *(["waker"] if beaten else ()), *(["wait"] if waits else ())], "holds": holds, "inferred": False,
    }  # fmt: skip


def _inferred(now: int, host: str, record: dict[str, Any], sleepers: int) -> dict[str, Any]:
    """A session of which no hook tells."""
    silent, session = now - record.get("seen_ms", 0), record.get("session") or None
    over = record.get("state") == "ended" or silent > GONE_MS
    state = "waiting" if sleepers else "gone" if over else "live" if silent < agents.LIVE_MS else "quiet"
    return {
        "session": session, "pid": None, "host": record.get("host") or None, "here": record.get("host") == host, "dir": record.get("project") or None,
        "harness": None, "state": state, "connected": sleepers > 0, "last_active": record.get("seen"), "silent_s": max(0, silent) // 1000, "wake": None,
        "how": ["acts", *(["wait"] if sleepers else ())], "holds": record.get("held", False), "inferred": True,
    }  # fmt: skip


def wake(now: int, seat: dict[str, Any]) -> dict[str, Any]:
    """What is known of waking a session: ``way``, ``proof`` (unproved, proved, failed), when that was seen (``at``) and how long ago (``age_s``)."""
    at = max(seat["landed_ms"], seat["missed_ms"])
    when = seat["landed"] if seat["landed_ms"] == at else seat["missed"]
    return {"way": seat["way"], "proof": seat["proof"], "at": when, "age_s": (now - at) // 1000 if at else None}


def reached(names: Iterable[str], found: list[tuple[int, int, dict[str, Any], dict[str, Any]]]) -> list[dict[str, Any]]:
    """Where a message found each of ``names``: ``agent how state last_active silent_s wake``.

    ``how``: listening (a wait of its sleeps), working (sees it at its next step), proved / unproved / failed (idle: ringing it is known to wake it, is not
    known to, did not lately or cannot), unproved also for one that was seen in the last 2 minutes and has no hooks, absent (no live session).
    """
    return [_reach(name, *one) for name, one in zip(names, found, strict=True)]


def _reach(name: str, now: int, sleepers: int, record: dict[str, Any], seat: dict[str, Any]) -> dict[str, Any]:
    live = bool(seat) and not _over(now, seat)
    last = max(record.get("seen_ms", 0), seat.get("active_ms", 0))
    at = seat["active"] if seat and seat["active_ms"] == last else record.get("seen")
    return {
        "agent": record.get("agent") or name, "how": _how(now, sleepers, record, seat if live else {}), "state": seat["state"] if live else None, "last_active": at,
        "silent_s": max(0, now - last) // 1000 if last else None, "wake": wake(now, seat) if live else None,
    }  # fmt: skip


def _how(now: int, sleepers: int, record: dict[str, Any], seat: dict[str, Any]) -> str:
    if sleepers:
        return "listening"
    if seat and seat["state"] == "working":
        return "working"
    if seat and _connected(now, seat):
        return "failed" if seat["way"] == "none" else str(seat["proof"])
    if seat:
        return "absent"  # idle, and no waker speaks for it any more: nobody rings it
    return "unproved" if now - record.get("seen_ms", 0) < agents.LIVE_MS and record.get("state") != "ended" else "absent"
