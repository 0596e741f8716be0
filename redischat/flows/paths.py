"""Path locks: standing in line for them, and what needs to know more than one script tells.

Who waits listens at its door first and asks then, asks again when it rings and when a lock that is in its way runs out, and asks nothing in between.
"""

from __future__ import annotations

from ..calls import channels, paths
from ..calls.call import SETTLE_S, Listen, Once, Show, iso
from ..errors import ChatError, LostRace, NoChannel, Refused, TimedOut
from ..errors.paths import PathLockChannelNotFound, PathLockConflict, PathLockStaleToken
from . import tried

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Call, Caller
    from ..calls.paths import Repo, Wanted

    Flow = Generator[Any, Any, Any]

WORDS = 6  # of a held path's line


def _run(who: Caller, channel: str, call: Call) -> Flow:
    """One Call; a channel that is not there is refused with the nearest name."""
    try:
        return (yield call)
    except NoChannel:
        heads = yield channels.heads(who.keys)
    raise _no_channel(channel, heads)


def _no_channel(channel: str, heads: dict[str, tuple[int, str]]) -> ChatError:
    return PathLockChannelNotFound(channel=channel, nearest=channels.near(channel, heads))


def _told(who: Caller, repo: Repo | None, got: dict[str, Any]) -> Flow:
    """A lock as it is given back: with its repository, and a warning if nobody had heard of the caller before."""
    warning = None
    if got.pop("born", False):
        from .tasks import unknown

        warning = yield from unknown(who)
    got.pop("queued", None)
    place = {"repository": repo.key if repo else None, "how": repo.how if repo else None}
    return {**place, "renewed": False, "late_seconds": None, "recovered": [], **got, "warning": warning}


def lock(who: Caller, channel: str, repo: Repo, asked: Wanted, now: Callable[[], float]) -> Flow:
    """Lock all of these paths or none; with ``asked.wait`` stand in line for them. Gives the lock."""
    try:
        return (yield from _told(who, repo, (yield from _locked(who, channel, repo, asked, now))))
    except (GeneratorExit, ChatError):
        raise  # who was refused has nothing; where the broker is gone the lease runs out, and nobody is at the door
    except BaseException:
        yield from _given_up(who, channel, repo, asked)
        raise


def _locked(who: Caller, channel: str, repo: Repo, asked: Wanted, now: Callable[[], float]) -> Flow:
    try:
        return (yield from _run(who, channel, paths.lock(who, channel, repo, asked)))
    except PathLockConflict:
        if asked.wait is None:
            raise
    return (yield from _waited(who, channel, repo, asked, now))


def _waited(who: Caller, channel: str, repo: Repo, asked: Wanted, now: Callable[[], float]) -> Flow:
    until = look_at = now() + max(0.0, asked.wait or 0.0)
    told = False
    while True:
        heard = yield Listen([who.keys.door(asked.id)], min(until, look_at))
        over = heard is None and now() >= until
        kind, _, ms = (heard or "").partition(" ")
        if kind == "look":  # another one was offered it: look when that offer ends
            look_at = min(look_at, now() + int(ms) / 1000 + SETTLE_S)
            continue
        try:
            got = yield from _run(who, channel, paths.lock(who, channel, repo, asked, queue=True))
        except (Refused, LostRace):
            yield from tried(paths.leave(who, repo, asked))  # or whoever is behind would wait for one that is gone
            raise
        if not got["queued"]:
            return got
        if got["circle"] and not told:
            told = True
            yield circle_told(got["circle"], channel)
        if over:
            return (yield from _over(who, channel, repo, asked))
        look_at = now() + got["look_ms"] / 1000 + SETTLE_S


def circle_told(circle: str, channel: str) -> Show:
    """A circle that is only said, to whoever reads: there is nothing in it to ack."""
    return Show([], [{"kind": "read", "channel": channel, "more": 0, "gap": 0, "busy_until": None, "circle": circle}])


def _over(who: Caller, channel: str, repo: Repo, asked: Wanted) -> Flow:
    """The time is up: out of the line, and one last try, which names whoever holds it now."""
    yield paths.leave(who, repo, asked)
    try:
        return (yield from _run(who, channel, paths.lock(who, channel, repo, asked)))
    except PathLockConflict as conflict:
        facts = conflict.facts
        still = "still stands in line before you for" if facts["in_line"] else "still holds"
        until = f" until {facts['expires_at']}" if facts["expires_at"] else ""
        raise TimedOut(**facts, what=f"{facts['holder']} {still} {facts['path']}{until}; you left the line", seconds=f"{asked.wait:g}") from None


def _given_up(who: Caller, channel: str, repo: Repo, asked: Wanted) -> Flow:
    """Interrupted: the request may have happened, or happen yet. Nobody knows of what it got: it goes back."""
    for call in (paths.leave(who, repo, asked), paths.unlock(who, channel, [(asked.id, "")], once=Once())):
        yield from tried(call)


def unlock(who: Caller, channel: str, repo: Repo | None, targets: Sequence[tuple[str, str]], once: Once, *, all_: bool = False) -> Flow:
    """Let go of what ``targets`` (as typed, as stored) name, or of all. Gives ``channel owner unlocked``."""
    got = yield from _run(who, channel, paths.unlock(who, channel, targets, once=once, all_=all_))
    keys = yield paths.book(who.keys)[4]
    for one in got["unlocked"]:
        digest = one.pop("repo")
        one["repository"] = repo.key if repo and repo.digest == digest else keys.get(digest, digest)
    return got


def renew(
    who: Caller, channel: str, repo: Repo | None, targets: Sequence[tuple[str, str]], lease: int, once: Once, *, fence: int | None = None, all_: bool = False
) -> Flow:
    """Keep what ``targets`` name, or all. Gives the lock."""
    got = yield from _run(who, channel, paths.renew(who, channel, targets, lease, once=once, fence=fence, all_=all_))
    return (yield from _told(who, None if all_ else repo, got))


def recover(who: Caller, channel: str, repo: Repo | None, target: tuple[str, str], lease: int, why: str, once: Once) -> Flow:
    """Take over what ran out. Gives the lock."""
    got = yield from _run(who, channel, paths.recover(who, channel, target, lease, why, once=once))
    return (yield from _told(who, repo, got))


def check(who: Caller, channel: str, repo: Repo, wanted: Sequence[str], *, token: int | None = None) -> Flow:
    """Who holds what overlaps. Gives ``channel repository how paths free held in_line``; ``free`` also where only the caller itself holds it.

    Raises:
        PathLockStaleToken: one of these paths is not held under ``token`` any more.
    """
    asked = paths.effective(wanted)
    got = yield from _run(who, channel, paths.check(who, channel, repo, asked))
    if token is not None:
        for path in asked:
            _fenced(got, path or paths.WHOLE, token)
    free = not got["in_line"] and all(one["mine"] for one in got["held"])
    return {
        "channel": got["channel"], "repository": repo.key, "how": repo.how, "paths": [path or paths.WHOLE for path in asked], "free": free, "held": got["held"],
        "in_line": got["in_line"],
    }  # fmt: skip


def _fenced(got: dict[str, Any], path: str, token: int) -> None:
    near = [one for one in got["held"] if one["asked"] == path and not one["offered"]]
    over = [one for one in near if one["path"] in (path, paths.WHOLE) or path.startswith(one["path"] + "/")]
    if any(one["token"] == token for one in over):
        return
    newest = max(over or near, key=lambda one: one["token"], default=None)
    raise PathLockStaleToken(
        channel=got["channel"], target=path, token=token, current=newest["token"] if newest else got["token"], holder=newest["holder"] if newest else None
    )


def locks(who: Caller, channel: str | None = None) -> Flow:
    """The locks of all repositories, or those made through one channel: by repository and path."""
    held, records, _, _, repos, now = yield paths.book(who.keys)
    return _rows(held, records, repos, now, channel)


def listing(who: Caller, channel: str | None, repo: Repo | None, *, mine: bool = False) -> Flow:
    """Who holds what, in which repository (None: all of them), and who waits. Gives ``repository how locks waiting``."""
    heads, (held, records, line, requests, repos, now) = (yield channels.heads(who.keys)), (yield paths.book(who.keys))
    if channel is not None and channel not in heads:
        raise _no_channel(channel, heads)
    waiting = [_waiting(one, requests[one], repos) for one in line if one in requests]

    def wanted(one: dict[str, Any]) -> bool:
        here = repo is None or one["repository"] in (repo.key, repo.digest)
        return here and (channel is None or one["channel"].lower() == channel) and (not mine or one["owner"].lower() == who.me)

    place = {"repository": repo.key if repo else None, "how": repo.how if repo else None}
    return {**place, "locks": [one for one in _rows(held, records, repos, now) if wanted(one)], "waiting": [one for one in waiting if wanted(one)]}


def _rows(held: dict[str, str], records: dict[str, str], repos: dict[str, str], now: int, channel: str | None = None) -> list[dict[str, Any]]:
    of_lock: dict[str, list[tuple[str, list[str]]]] = {}
    for path, text in held.items():
        for row in text.split("\n"):
            words = row.split(" ")
            if len(words) == WORDS and words[-1] == "-":
                of_lock.setdefault(words[4], []).append((path, words))
    found = [_row(id_, records.get(id_), of_lock[id_], repos, now) for id_ in of_lock]
    return sorted((one for one in found if channel in (None, one["channel"].lower())), key=lambda one: (one["repository"], one["paths"][0], one["lock_id"]))


def _row(id_: str, text: str | None, lines: list[tuple[str, list[str]]], repos: dict[str, str], now: int) -> dict[str, Any]:
    lines.sort()
    digest, (name, mode, *_) = lines[0][0].partition("/")[0], lines[0][1]
    head, why, recovered, *_ = text.split("\n") if text else (f"{name} - {digest} {mode} 0 0 - 0", "", "")
    written, channel, _, _, locked, updated, before, ended = head.split(" ")
    ends = min(int(words[2]) for _, words in lines)
    return {
        "lock_id": id_, "owner": written, "channel": channel, "repository": repos.get(digest, digest),
        "paths": [paths.shown(path) for path, _ in lines], "mode": paths.MODES[max(words[1] for _, words in lines)],
        "token": max(int(words[3]) for _, words in lines), "expires_at": iso(ends), "lapsed": ends <= now, "locked_at": iso(locked), "updated_at": iso(updated),
        "reason": why or None, "previous_owner": None if before == "-" else before, "previous_expires_at": iso(ended), "recovery_reason": recovered or None,
    }  # fmt: skip


def _waiting(request: str, text: str, repos: dict[str, str]) -> dict[str, Any]:
    head, why, *asked = text.split("\n")
    _, _, mode, name, channel, since = head.split(" ")
    digest = asked[0].partition("/")[0]
    return {
        "request": request, "owner": name, "channel": channel, "repository": repos.get(digest, digest), "mode": paths.MODES[mode],
        "since": iso(since), "reason": why or None, "paths": [paths.shown(path) for path in asked],
    }  # fmt: skip
