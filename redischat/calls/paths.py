"""Path locks: taking, keeping, letting go, looking, and who waits for whom.

A path is a normal form below its repository's root (``names.path``), "" the whole repository; it is kept with the repository's digest in front, so
that one set of keys serves all repositories. Times are milliseconds in scripts, ISO 8601 in what is given back.
"""

from __future__ import annotations

from .call import Call, Caller, Once, clock, iso, maybe, pairs, plain, run, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Protocol

    from ..keys import Keys

    class Repo(Protocol):
        """What is needed to know of a repository: the key that is shown, and its digest."""

        key: str
        digest: str
        how: str


MODES = {"x": "exclusive", "s": "shared"}
WHOLE = "."  # how the whole repository is shown, and typed
_BOOK = ("held", "order", "owners", "locks", "line", "requests", "asked", "asked_order")
_WORDS = {"order": "held_order", "owners": "held_owners"}


class Wanted:
    """A request for paths: its ``id`` is idempotency key, lock id and doorbell in one; for ``lease_ms``, to write or to read (``shared``); ``wait`` in seconds."""

    __slots__ = ("id", "lease_ms", "paths", "reason", "shared", "steal_expired", "wait")

    def __init__(
        self,
        paths: Sequence[str],
        request: str,
        *,
        lease_ms: int,
        reason: str = "",
        shared: bool = False,
        wait: float | None = None,
        steal_expired: bool = False,
    ) -> None:
        self.id, self.paths, self.lease_ms, self.reason, self.shared = request, effective(paths), lease_ms, reason, shared
        self.wait, self.steal_expired = wait, steal_expired


def effective(paths: Iterable[str]) -> list[str]:
    """These paths without doubles and without what lies in another of them, in the order given."""
    seen = dict.fromkeys(paths)
    return [one for one in seen if not any(other != one and (not other or one.startswith(other + "/")) for other in seen)]


def stored(repo: Repo, path: str) -> str:
    """A path as keys hold it."""
    return f"{repo.digest}/{path}" if path else repo.digest


def shown(path: str) -> str:
    """A path below its repository's root, as typed; of one that is stored."""
    return path.partition("/")[2] or WHOLE


def _keys(keys: Keys, *names: str) -> dict[str, str]:
    return {name: getattr(keys, _WORDS.get(name, name)) for name in names}


def _place(who: Caller, channel: str) -> dict[str, str]:
    return {"agents": who.keys.agents, "heads": who.keys.heads, "audits": who.keys.channel(channel, "audits"), "live": who.keys.live(channel)}


def lock(who: Caller, channel: str, repo: Repo, asked: Wanted, *, queue: bool = False) -> Call:
    """Lock or renew; with ``queue`` stand in line where that is not possible now (path_lock.lua).

    Gives ``queued`` False with ``channel owner lock_id token mode expires_at paths renewed late_seconds recovered born``; or ``queued`` True with ``channel
    position look_ms circle``.
    """
    keys = who.keys
    return run(
        "path_lock",
        {
            **_place(who, channel), "meta": keys.meta, **_keys(keys, *_BOOK, "waits", "leased", "repos"),
            "idem": keys.idem("lock", who.me, asked.id, channel),
        },
        {
            "channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep_s": Once().seconds, "door": keys.door(), "repo": repo.digest,
            "key": repo.key, "mode": "s" if asked.shared else "x", "ttl": asked.lease_ms, "patience": "wait" if queue else "steal" if asked.steal_expired or asked.wait is not None else "", "id": asked.id,
            "reason": asked.reason, "why": "steal-expired" if asked.steal_expired else "waited",
        },
        lambda words: _queued(words) if words[0] == "queued" else _locked(words),
        (), [stored(repo, one) for one in asked.paths],
    )  # fmt: skip


def _queued(words: list[Any]) -> dict[str, Any]:
    return {"queued": True, "channel": words[1], "position": int(words[2]), "look_ms": int(words[3]), "circle": words[4] or None}


def _locked(words: list[Any]) -> dict[str, Any]:
    how, channel, owner, born, late, taken, *rest = words
    end = 3 * int(taken)
    recovered = [{"path": shown(rest[i]), "previous_owner": rest[i + 1], "previous_expires_at": iso(rest[i + 2])} for i in range(0, end, 3)]
    paths = _paths(rest[end:])
    return {
        "queued": False, "channel": channel, "owner": owner, **_whole(paths), "renewed": how == "renewed",
        "late_seconds": _late(late), "recovered": recovered, "born": yes(born),
    }  # fmt: skip


def _late(ms: Any) -> float | None:
    """For how many seconds a lock had run out when it was renewed; None: it had not."""
    return None if int(ms) < 0 else int(ms) / 1000


def _paths(words: list[Any]) -> list[dict[str, Any]]:
    rows = zip(*[iter(words)] * 5, strict=True)
    return [{"path": shown(path), "token": int(token), "mode": MODES[mode], "lock_id": id_, "expires_at": iso(ends)} for path, mode, token, id_, ends in rows]


def _whole(paths: list[dict[str, Any]]) -> dict[str, Any]:
    """What holds for all of these: the newest lock's id and token, the soonest end."""
    newest = max(paths, key=lambda one: one["token"])
    modes = {one["mode"] for one in paths}
    return {
        "lock_id": newest["lock_id"], "token": newest["token"], "mode": "exclusive" if "exclusive" in modes else "shared",
        "expires_at": min(one["expires_at"] for one in paths), "paths": paths,
    }  # fmt: skip


def leave(who: Caller, repo: Repo, asked: Wanted) -> Call:
    """Leave the line, and let go of what was offered (path_leave.lua). Gives whether there was anything to leave."""
    keys = who.keys
    return run(
        "path_leave",
        {"agents": keys.agents, **_keys(keys, *_BOOK), "scratch": keys.scratch(who.me)},
        {"me": who.me, "token": who.token, "door": keys.door(), "request": asked.id},
        lambda words: bool(int(words[0])),
        (),
        [stored(repo, one) for one in asked.paths],
    )


def unlock(who: Caller, channel: str, targets: Sequence[tuple[str, str]], *, once: Once, all_: bool = False) -> Call:
    """Let go (path_unlock.lua) of what these (as typed: a lock's id or a path, as stored) name, or of all. Gives ``channel owner unlocked [{path lock_id repo}]``."""
    keys = who.keys
    return run(
        "path_unlock",
        {**_place(who, channel), **_keys(keys, *_BOOK, "repos"), "scratch": keys.scratch(who.me), "idem": keys.idem("unlock", who.me, once.key, channel)},
        {
            "channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep_s": once.seconds, "door": keys.door(), "all": int(all_),
        },
        lambda words: {
            "channel": words[0], "owner": words[1],
            "unlocked": [{"path": shown(path), "lock_id": id_, "repo": path.partition("/")[0]} for path, id_ in zip(words[2::2], words[3::2], strict=True)],
        },
        (), [word for pair in targets for word in pair],
    )  # fmt: skip


def renew(
    who: Caller,
    channel: str,
    targets: Sequence[tuple[str, str]],
    lease_ms: int,
    *,
    once: Once,
    fence: int | None = None,
    all_: bool = False,
    quiet: bool = False,
) -> Call:
    """Keep, ``quiet`` without an audit (path_renew.lua). Gives what :func:`lock` does."""
    keys = who.keys

    def renewed(words: list[Any]) -> dict[str, Any]:
        return {"channel": words[0], "owner": words[1], **_whole(_paths(words[3:])), "renewed": True, "late_seconds": _late(words[2])}

    return run(
        "path_renew",
        {
            **_place(who, channel), **_keys(keys, "held", "order", "owners", "locks", "repos"), "scratch": keys.scratch(who.me),
            "idem": keys.idem("renew", who.me, once.key, channel),
        },
        {
            "channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep_s": once.seconds, "ttl": lease_ms,
            "fence": maybe(fence), "all": int(all_), "quiet": int(quiet),
        },
        renewed, (), [word for pair in targets for word in pair],
    )  # fmt: skip


def recover(who: Caller, channel: str, target: tuple[str, str], lease_ms: int, reason: str, *, once: Once) -> Call:
    """Take over what ran out (path_recover.lua). Gives what :func:`lock` does."""
    keys = who.keys

    def recovered(words: list[Any]) -> dict[str, Any]:
        paths, before = _paths(words[6:]), {"previous_owner": words[4], "previous_expires_at": iso(words[5])}
        told = [{"path": one["path"], **before} for one in paths]
        return {"channel": words[0], "owner": words[1], **_whole(paths), "recovered": told, "born": yes(words[2])}

    return run(
        "path_recover",
        {
            **_place(who, channel), "meta": keys.meta, **_keys(keys, *_BOOK, "repos"), "scratch": keys.scratch(who.me),
            "idem": keys.idem("recover", who.me, once.key, channel),
        },
        {
            "channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep_s": once.seconds, "door": keys.door(), "target": target[0],
            "path": target[1], "ttl": lease_ms, "reason": reason,
        },
        recovered,
    )  # fmt: skip


def check(who: Caller, channel: str, repo: Repo, paths: Sequence[str]) -> Call:
    """Who holds what overlaps (path_check.lua), and who stands in line for it.

    Gives ``channel token held [{path asked holder mine mode expires_at lapsed token lock_id offered channel reason}] in_line [{agent path}]``.
    """
    keys = who.keys
    fields = ("path", "asked", "holder", "owner", "mode", "ends", "token", "lock_id", "offered", "channel", "reason")

    def checked(words: list[Any]) -> dict[str, Any]:
        now = int(words[1])
        held = [_held(dict(zip(fields, row, strict=True)), who.me, now) for row in words[4:]]
        line = [{"agent": name, "path": path} for name, path in zip(words[3][::2], words[3][1::2], strict=True)]
        return {"channel": words[0], "token": int(words[2]), "held": held, "in_line": line}

    return run(
        "path_check",
        {"heads": keys.heads, "meta": keys.meta, **_keys(keys, "held", "order", "locks", "line", "requests", "asked", "asked_order")},
        {"channel": channel, "me": who.me},
        checked,
        (),
        [stored(repo, one) for one in effective(paths)],
    )


def _held(row: dict[str, Any], me: str, now: int) -> dict[str, Any]:
    ends = int(row["ends"])
    return {
        "path": row["path"], "asked": row["asked"], "holder": row["holder"], "mine": bool(me) and row["owner"] == me, "mode": MODES[row["mode"]],
        "expires_at": iso(ends), "lapsed": ends <= now, "token": int(row["token"]), "lock_id": row["lock_id"], "offered": yes(row["offered"]),
        "channel": row["channel"] or None, "reason": row["reason"] or None,
    }  # fmt: skip


def overrun(who: Caller, channel: str, lock: str, text: str) -> Call:
    """Say once in a lock's channel that a command of the caller wrote what it locks (path_overrun.lua). Gives whether it was said now."""
    return run(
        "path_overrun",
        {
            "stream": who.keys.channel(channel, "messages"), "heads": who.keys.heads, "agents": who.keys.agents, "hinted": who.keys.hinted,
            "live": who.keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "lock": lock, "text": text},
        lambda words: yes(words[0]),
    )  # fmt: skip


def book(keys: Keys) -> list[Call]:
    """All that ``locks`` shows, as it is kept: held, locks, the line in order, its requests, the repositories' keys, the server's time in ms."""
    return [
        plain("HGETALL", keys.held, read=pairs), plain("HGETALL", keys.locks, read=pairs), plain("ZRANGE", keys.line, 0, -1),
        plain("HGETALL", keys.requests, read=pairs), plain("HGETALL", keys.repos, read=pairs),
        clock(),
    ]  # fmt: skip


def repair(who: Caller, channel: str) -> Call:
    """Hold locks, line and indexes against each other (path_repair.lua). Gives ``locks waiting mended dropped struck[names]``."""
    keys = who.keys
    return run(
        "path_repair",
        {"agents": keys.agents, "meta": keys.meta, **_keys(keys, *_BOOK, "waits"), "scratch": keys.scratch(who.me)},
        {"me": who.me, "token": who.token, "door": keys.door(), "channel": channel},
        lambda words: {**dict(zip(("locks", "waiting", "mended", "dropped"), map(int, words[:4]), strict=True)), "struck": sorted(words[4])},
    )


def stand(who: Caller, request: str, kind: str, target: str) -> Call:
    """Note down that the caller waits for an agent (``kind`` "from") or for whoever holds a task ("task", ``<channel>/<task>``), and at which door (path_stand.lua).

    Listen at ``keys.door(request)`` before. Gives ``circle``, what this wait closes, or None; and ``hard``: it would never end, and nothing was noted down.
    """
    keys = who.keys
    return run(
        "path_stand",
        {"agents": keys.agents, **_keys(keys, *_BOOK, "waits", "leased"), "scratch": keys.scratch(who.me)},
        {"me": who.me, "token": who.token, "door": keys.door(), "request": request, "kind": kind, "target": target.lower()},
        lambda words: {"circle": words[0] or None, "hard": yes(words[1])},
    )


def stand_down(who: Caller, request: str) -> Call:
    """The wait is over, however it ended."""
    return plain("HDEL", who.keys.waits, request)
