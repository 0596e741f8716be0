"""Sessions of harnesses: that they are there, what they do, and whether waking them works."""

from __future__ import annotations

from . import agents
from .call import Call, Caller, iso, packed, pairs, plain, run, unpacked, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..keys import Keys

KEEP_LEFT_MS, KEEP_MS = 150_000, 300_000  # what has less to go than the one is kept for the other, while its holder works
SETTLE_MS = 3_000  # scripts/session_wake.lua: so long a hook may look for news at the end of a turn
BEAT_LIVE_MS = 60_000  # beaten by its waker, or active itself, within a minute: connected
_WORDS = (
    "agent",
    "harness",
    "host",
    "pid",
    "state",
    "active",
    "beat",
    "started",
    "way",
    "asked",
    "landed",
    "missed",
    "told",
    "worked",
    "project",
)  # fmt: skip  (scripts/parts/presence.lua)
_TIMES = ("active", "beat", "started", "asked", "landed", "missed", "told", "worked")


def tick(keys: Keys, session: str, me: str, event: str, repository: str = "") -> Call:
    """What a hook asks at every event (session_tick.lua); ``event``: prompt, woken, tool, talk, idle, other. Gives :func:`answers`."""
    return run(
        "session_tick",
        {
            "heads": keys.heads, "marks": keys.marks(me), "agents": keys.agents, "presence": keys.presence, "order": keys.held_order,
            "owners": keys.held_owners, "leased": keys.leased,
        },
        {"session": packed(session), "me": me, "event": event, "repo": repository},
        answers,
    )  # fmt: skip


def answers(words: Sequence[Any]) -> dict[str, bool]:
    """A hook's four answers: ``known news locks keep``, and ``missed``: a wake was, and the session was not told."""
    known, news, locks, keep = (int(word) for word in words)
    return {"known": known == 1, "news": news == 1, "locks": locks == 1, "keep": keep & 1 == 1, "missed": keep & 2 == 2}  # noqa: PLR2004 - a bit


def begin(keys: Keys, session: str, agent: str, *, harness: str, host: str, pid: int, project: str, way: str, state: str = "idle") -> Call:
    """A session is there (session_begin.lua); ``way``: how it is woken. Gives whether it is new."""
    return run(
        "session_begin",
        {"presence": keys.presence},
        {
            "session": packed(session), "agent": agent, "harness": harness, "host": packed(host), "pid": pid, "project": packed(project), "way": way,
            "state": state,
        },
        lambda words: yes(words[0]),
    )  # fmt: skip


def end(keys: Keys, session: str, me: str, *, active_ms: int | None = None) -> Call:
    """A session has ended (session_end.lua); with ``active_ms`` only if it did nothing since then. Gives whether it was known, and is over."""
    return run(
        "session_end",
        {"presence": keys.presence, "agents": keys.agents, "scratch": keys.scratch(me)},
        {"session": packed(session), "active": active_ms or ""},
        lambda words: yes(words[0]),
    )


def beat(keys: Keys, host: str, sessions: Sequence[str]) -> Call:
    """These sessions are there (session_beat.lua). Gives ``(now in ms, [record or {}])``, in their order."""
    return run(
        "session_beat", {"presence": keys.presence, "scratch": keys.scratch("waker")}, {"host": packed(host)},
        lambda words: (int(words[0]), [record(text) for text in words[1]]), (), [packed(one) for one in sessions],
    )  # fmt: skip


def prune(keys: Keys, names: Sequence[str], *, act: bool, ended_ms: int, silent_ms: int, id_ms: int) -> Call:
    """Forget those of these sessions, as stored, that are long over (session_prune.lua); without ``act`` only tell. Gives ``(sessions, ids)``."""
    return run(
        "session_prune", {"presence": keys.presence, "sessions": keys.sessions, "agents": keys.agents, "scratch": keys.scratch("waker")},
        {"act": 1 if act else 0, "ended_ms": ended_ms, "silent_ms": silent_ms, "id_ms": id_ms},
        lambda words: (list(words[0]), list(words[1])), (), list(names),
    )  # fmt: skip


def wake(keys: Keys, session: str, what: str, way: str = "", ring: str = "") -> Call:
    """Note down what becomes of a wake: ask, miss, rest, drop, told (session_wake.lua); ``ring``: the agent to ring. Gives ``done state asked_ms look_ms``."""
    return run(
        "session_wake", {"presence": keys.presence, "scratch": keys.scratch("waker")},
        {"session": packed(session), "what": what, "way": way, "bell": keys.bell(ring) if ring else ""},
        lambda words: {"done": yes(words[0]), "state": words[1], "asked_ms": int(words[2]), "look_ms": int(words[5])},
    )  # fmt: skip


def keep(who: Caller, tasks: Sequence[tuple[str, str]]) -> Call:
    """Keep the caller's locks, and these (channel, task) that it holds, while it works (session_keep.lua). Gives ``paths tasks``: how many."""
    keys = who.keys
    return run(
        "session_keep",
        {
            "agents": keys.agents, "held": keys.held, "order": keys.held_order, "owners": keys.held_owners, "leased": keys.leased,
            "scratch": keys.scratch(who.me),
        },
        {"me": who.me, "token": who.token, "agent": who.agent, "left": KEEP_LEFT_MS, "ttl": KEEP_MS},
        lambda words: {"paths": int(words[0]), "tasks": int(words[1])},
        [keys.channel(channel, part) for channel, _ in tasks for part in ("tasks", "leases")], [word for pair in tasks for word in pair],
    )  # fmt: skip


def follow(who: Caller, session: str, host: str, old: str = "") -> Call:
    """The caller goes on in this session (session_follow.lua); ``old``: the one it was, "" = whichever holds its name. Gives ``(agent, whether held)``."""
    keys = who.keys
    return run(
        "session_follow", {"agents": keys.agents, "sessions": keys.sessions, "presence": keys.presence},
        {"me": who.me, "token": who.token, "session": packed(session), "host": packed(host), "old": packed(old) if old else ""},
        lambda words: (str(words[0]), yes(words[1])),
    )  # fmt: skip


def reach(keys: Keys, names: Sequence[str]) -> Call:
    """Where some agents are (session_reach.lua): ``[(now in ms, how many sleep at a wait of its, agent's record, its session's record)]``, {} for none."""
    asked = [name.lower() for name in names]
    call = run(
        "session_reach", {"agents": keys.agents, "presence": keys.presence}, {},
        lambda words: [(int(words[0]), int(sleepers), agents.record(one), record(seat)) for sleepers, one, seat in words[1]],
        [keys.ear(name) for name in asked], asked,
    )  # fmt: skip
    return plain(*call.words(whole=True), read=call.read)  # were it not in the server's cache, the post behind it would ring before it looked


def every(keys: Keys) -> Call:
    """All sessions ever seen: session -> record."""
    return plain("HGETALL", keys.presence, read=lambda flat: {unpacked(one): found for one, text in pairs(flat).items() if (found := record(text))})


def some(keys: Keys, sessions: Sequence[str]) -> Call:
    """These sessions' records, in their order; {} for one that is not known."""
    return plain("HMGET", keys.presence, *(packed(one) for one in sessions), read=lambda found: [record(text) for text in found])


def record(text: str | None) -> dict[str, Any]:
    """One session: ``agent harness host pid state way project``, times as ``*_ms`` and as text, ``proof``: unproved, proved or failed."""
    words = (text or "").split(" ")
    if len(words) != len(_WORDS):
        return {}
    found: dict[str, Any] = dict(zip(_WORDS, words, strict=True))
    found["settling"] = found["state"] == "settling"  # its turn is about to end: so it works
    found["state"] = "working" if found["settling"] else found["state"]
    for name in _TIMES:
        found[name + "_ms"] = int(found[name])
        found[name] = iso(found[name])
    found.update(host=unpacked(found["host"]), project=unpacked(found["project"]), pid=int(found["pid"]), proof=proof(found["landed_ms"], found["missed_ms"]))
    return found


def proof(landed_ms: int, missed_ms: int) -> str:
    """What is known of waking a session."""
    if missed_ms > landed_ms:
        return "failed"
    return "proved" if landed_ms else "unproved"
