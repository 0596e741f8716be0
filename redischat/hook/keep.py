"""What an agent holds, as its session goes on: kept while it works, let go when the session has ended and no other one is that agent."""

from __future__ import annotations

from ..calls import agents, channels, paths, sessions
from ..calls import tasks as tasks_calls
from ..calls.call import Once, pairs, plain
from ..errors import ChatError
from ..flows import tasks as board
from ..text import field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

MOST_TASKS = 64
TOLD = 5  # of what it lost a session is told so many by name
ENDED = "its session has ended"


def keep(who: Caller) -> Flow:
    """Renew what I hold and is near its end, quietly. What ran out is never revived. Gives all that I hold: ``t <channel> <task>``, ``p <path as stored>``."""
    tasks, paths_, now = yield [_leased(who), _held(who), plain("TIME", read=lambda found: int(found[0]) * 1000)]
    near = [(channel, task) for channel, task, ends in tasks if now < ends < now + sessions.KEEP_LEFT_MS]
    yield sessions.keep(who, near[:MOST_TASKS])
    return [*(f"t {channel} {task}" for channel, task, _ in tasks), *("p " + path for path in paths_)]


def lost(who: Caller, held: Sequence[str], before: Sequence[str]) -> Flow:
    """What I held ``before`` and others hold now: a line for a session that slept over the end of its leases; "" where nothing is like that."""
    gone = [one for one in before if one not in held]
    said = []
    for one in gone:
        kind, _, rest = one.partition(" ")
        holder = yield from (_task_of(who, *rest.split(" ")) if kind == "t" else _path_of(who, rest))
        said += [holder] if holder else []
    more = f" and {len(said) - TOLD} more" if len(said) > TOLD else ""
    return f"redischat: not yours any more, your lease ran out: {'; '.join(said[:TOLD])}{more}\n" if said else ""


def _task_of(who: Caller, channel: str, task: str) -> Flow:
    try:
        found = (yield tasks_calls.look(who.keys, channel, [task]))["tasks"]
    except ChatError:
        return ""  # its channel is gone
    taken = [one for one in found if (one["previous_owner"] or "").lower() == who.me and one["owner"] and one["owner"].lower() != who.me]
    return f"{taken[0]['id']} in #{taken[0]['channel']}, now {taken[0]['owner']}'s" if taken else ""


def _path_of(who: Caller, path: str) -> Flow:
    text = yield plain("HGET", who.keys.held, path)
    locks = [words[4] for row in (text or "").split("\n") if (words := row.split(" "))[-1] == "-"]
    records = (yield plain("HMGET", who.keys.locks, *locks)) if locks else []
    holders = [words[0] for record in records if (words := (record or "").split("\n")[0].split(" "))[6:7] == [who.agent]]  # whom it was taken from
    return f"{field(paths.shown(path))}, now {', '.join(holders)}'s" if holders else ""


def _leased(who: Caller) -> Any:
    """(channel, task, end in ms) of the tasks that I hold."""

    def mine(flat: Any) -> list[tuple[str, str, int]]:
        rows = [(key.split(" "), value.split(" ")) for key, value in pairs(flat).items()]
        return sorted((key[0], key[1], int(value[1])) for key, value in rows if value[0] == who.me)

    return plain("HGETALL", who.keys.leased, read=mine)


def _held(who: Caller) -> Any:
    """The paths that I hold, as stored."""
    return plain("ZRANGEBYLEX", who.keys.held_owners, f"[{who.me} ", f"({who.me}!", read=lambda found: [row.partition(" ")[2] for row in found])


def let_go(who: Caller) -> Flow:
    """Give back the locks and tasks of an agent whose session has ended; each leaves its audit. Gives ``paths tasks``: how many.

    Raises:
        NotYou: somebody else is that agent by now.
    """
    held = yield _held(who)
    texts = (yield plain("HMGET", who.keys.held, *held)) if held else []
    locks = sorted({words[4] for text in texts for row in (text or "").split("\n") if (words := row.split(" "))[0] == who.me and words[-1] == "-"})
    count = {"paths": 0, "tasks": 0}
    for room, targets in (yield from _by_room(who, locks)).items():
        count["paths"] += len((yield paths.unlock(who, room, targets, once=Once()))["unlocked"])
    for channel, task, _ in (yield _leased(who)):
        try:
            yield from board.move(who, channel, task, "release", Once(), reason=ENDED)
        except ChatError:
            continue  # somebody recovered it meanwhile
        count["tasks"] += 1
    return count


def _by_room(who: Caller, locks: Sequence[str]) -> Flow:
    """Channel -> what to unlock there: each lock is spoken of where it was made; where that channel is gone, in another of its owner's, else it runs out."""
    if not locks:
        return {}
    records, heads, rooms = yield [plain("HMGET", who.keys.locks, *locks), channels.heads(who.keys), agents.rooms(who.keys, who.me)]
    spare = next((room for room in sorted(rooms) if room in heads), "")
    found: dict[str, list[tuple[str, str]]] = {}
    for id_, record in zip(locks, records, strict=True):
        room = (record or "- -").split("\n")[0].split(" ")[1].lower()
        found.setdefault(room if room in heads else spare, []).append((id_, ""))
    found.pop("", None)
    return found


def missed(record: dict[str, Any], now_ms: int) -> str:
    """What a session is told once of a wake that did not land; "" where all did."""
    if record.get("missed_ms", 0) <= record.get("told_ms", 0):
        return ""
    return f"redischat: a wake was asked for and never landed ({_span(now_ms - record['missed_ms'])} ago): what was for you waited until now\n"


def _span(ms: int) -> str:
    """How long, in its largest unit: 40s, 7m, 3h, 2d."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000)):
        if ms >= size:
            return f"{ms // size}{unit}"
    return f"{max(0, ms) // 1000}s"
