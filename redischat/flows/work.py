"""Taking a task to work on it: the next one or a named one, at once or when there is one; given back when whoever asked is gone."""

from __future__ import annotations

from ..calls import tasks
from ..calls.call import SETTLE_S, Listen, Once, clock, plain
from ..errors import ChatError, NoIdentity
from ..errors.tasks import NothingReady
from .board import why
from .tasks import granted, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ..calls import paths
    from ..calls.call import Caller
    from ..keys import Keys

    Flow = Generator[Any, Any, Any]

NEVER_MS = 1 << 40


class Wanted:
    """Which task: a named one, or "" (the next); for how long; ``wait``: for so many seconds until there is one; ``steal``: also one whose lease ran out."""

    __slots__ = ("once", "repository", "steal", "task", "ttl_ms", "wait")

    def __init__(self, task: str, ttl_ms: int, *, wait: float | None = None, steal: bool = False, repository: Callable[[], paths.Repo] | None = None) -> None:
        self.task, self.ttl_ms, self.wait, self.steal, self.repository = task, ttl_ms, wait, steal, repository
        self.once = Once()


def take(who: Caller, channel: str, wanted: Wanted, now: Callable[[], float]) -> Flow:
    """Take a task under a lease. Gives ``(grant, record)``; interrupted, it holds nothing that it did not hold before."""
    if not who.me:
        raise NoIdentity
    kept = wanted.task != "" and _is_mine(who, (yield from show(who, channel, wanted.task)))
    try:
        grant = yield from _waited(who, channel, wanted, now)
        return grant, (yield from show(who, channel, grant["id"]))
    except (GeneratorExit, ChatError):
        raise  # who was refused has nothing; where the broker is gone, the lease runs out
    except BaseException:
        if not kept:
            yield from _given_back(who, channel, wanted)
        raise


def _is_mine(who: Caller, found: dict[str, Any]) -> bool:
    return found["lease_expires_at"] is not None and (found["owner"] or "").lower() == who.me


def _waited(who: Caller, channel: str, wanted: Wanted, now: Callable[[], float]) -> Flow:
    """Ask; where nothing is ready and there is time, listen and ask again: at each change of the board, and when a lease runs out."""
    until = look_at = now() + (wanted.wait or 0.0)
    heard: str | None = "again"
    while True:
        if heard is None or heard == "again" or heard.startswith("audit "):
            try:
                return (yield from _asked(who, channel, wanted))
            except NothingReady as error:
                if now() >= until:
                    error.facts["why"] = why((yield tasks.look(who.keys, channel))["tasks"], who.me)
                    raise
            look_at = now() + (yield from next_lapse(who.keys, channel))
        heard = yield Listen([who.keys.live(channel)], min(until, look_at))


def next_lapse(keys: Keys, channel: str) -> Flow:
    """Seconds until just after the end of the next lease of a channel's tasks; very many where there is none."""
    ends, at = yield [
        plain("ZRANGE", keys.channel(channel, "leases"), 0, -1, "WITHSCORES", read=lambda found: [int(float(end)) for end in found[1::2]]),
        clock(),
    ]
    return min((end - at for end in ends if end > at), default=NEVER_MS) / 1000 + SETTLE_S


def _asked(who: Caller, channel: str, wanted: Wanted) -> Flow:
    if wanted.task:
        call = tasks.claim(who, channel, wanted.task.lower(), ttl_ms=wanted.ttl_ms, steal=wanted.steal, reason="taken over by claim_task")
    else:
        call = tasks.next_(who, channel, take=True, ttl_ms=wanted.ttl_ms, once=wanted.once)
    return (yield from granted(who, channel, call, wanted.repository))


def _given_back(who: Caller, channel: str, wanted: Wanted) -> Flow:
    """Interrupted: it may have been taken, or be taken yet. Asked again with the same key, the broker says what it was; then it goes back."""
    try:
        if wanted.task:
            found = (yield tasks.look(who.keys, channel, [wanted.task.lower()]))["tasks"]
            held = [(one["id"], one["token"]) for one in found if _is_mine(who, one)]
        else:
            got = yield tasks.next_(who, channel, take=True, ttl_ms=wanted.ttl_ms, once=wanted.once)
            held = [(got["id"], got["token"])] if got["how"] != "renewed" else []
        for task, fence in held:
            yield tasks.move(who, channel, task.lower(), "release", fence=fence, once=Once())
    except ChatError:
        return  # it got nothing, or what it got runs out
