"""What can be found out by asking the broker and the waker: each claim on its own, like those of doctor.py. It moves nothing and starts nothing."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from .. import __version__
from ..calls import agents, channels, sessions, tasks
from ..calls.call import plain
from ..errors import ChatError, CouldNotLook, NoChannel
from ..errors.broker import NotAllowed
from ..hook import session as cards
from ..hook import wake
from ..settings import SEVERAL, host, redacted, told
from ..text import age
from . import detect
from .doctor import NOTE, OK, START, UNASKED, WRONG, Check
from .rights import Rights

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..keys import Keys
    from ..settings import Settings
    from ..wire import Wire

FULL = 0.8  # of the broker's memory
MANY = 100_000  # messages of one channel
GHOST_MS = 600_000  # a session that is not over and gave no sign for so long
YOUNG_S = 10.0  # a waker that has just started may not have reached its brokers
STALLED_S = 20.0  # a waker says every few seconds how it is


class Ground:
    """What the broker answered, once for all claims: ``took`` (ms), ``now`` (its time in ms), ``seats`` (session -> record), ``names``, ``heads``, ``info``."""

    def __init__(self, settings: Settings, keys: Keys, wire: Wire) -> None:
        self.settings, self.keys = settings, keys
        began = time.monotonic()
        looks = self._runs(wire)
        self.took = (time.monotonic() - began) * 1000
        clock = plain("TIME", read=lambda found: int(found[0]) * 1000 + int(found[1]) // 1000)
        self.now, self.seats, self.names, self.heads = wire.pipe([clock, sessions.every(keys), agents.everybody(keys), channels.heads(keys)])
        self.info = self._info(wire)
        self.rights = Rights(wire, keys, looks=looks)
        self.cards = cards.cards(settings.state_dir)

    def _runs(self, wire: Wire) -> bool:
        """Run a real script: a PING is answered by servers that can do nothing else. Gives whether only one that reads may be run."""
        try:
            wire.run(sessions.tick(self.keys, f"doctor@{host()}", "-", "other"))
        except NotAllowed:
            with suppress(NoChannel):
                wire.run(tasks.look(self.keys, "-"))
            return True
        return False

    @staticmethod
    def _info(wire: Wire) -> dict[str, str]:
        """What the server tells of itself; {} from one that does not tell this user."""
        try:
            text = "\n".join(str(wire.run(plain("INFO", part))) for part in ("server", "memory"))
        except ChatError:
            return {}
        return dict(row.strip().split(":", 1) for row in text.splitlines() if ":" in row)


def look(settings: Settings, keys: Keys, wire: Wire) -> tuple[Ground | None, Check]:
    """Ask the broker. Gives what it answered, None when it could not be asked, and the claim on it."""
    try:
        ground = Ground(settings, keys, wire)
    except CouldNotLook as error:
        starts = settings.url == settings.embedded and error.code == "BROKER_UNREACHABLE"
        return None, Check("broker", UNASKED, error.sentence(), "redischat server start" if starts else "")
    except ChatError as error:
        return None, Check("broker", WRONG, error.sentence())
    version = ground.info.get("valkey_version") or ground.info.get("redis_version") or "of unknown version"
    name = ground.info.get("server_name") or ("valkey" if "valkey_version" in ground.info else "redis" if ground.info else "a server")
    return ground, Check("broker", OK, f"{name} {version} ran a script in {ground.took:.1f} ms")


def room(ground: Ground) -> Iterator[Check]:
    """How full the broker is."""
    used, most = (int(ground.info.get(name, "0")) for name in ("used_memory", "maxmemory"))
    if most and used > FULL * most:
        yield Check("memory", WRONG, f"{used >> 20} of {most >> 20} MiB are used: messages are refused once it is full", "redischat channels --all")
    for channel, (seq, *_) in sorted(ground.heads.items()):
        if int(seq) >= MANY:
            yield Check("memory", NOTE, f"#{channel} ends at message {seq}; only a person may want them all", f"redischat retain {channel} {MANY // 10}")


def identity(ground: Ground) -> Iterator[Check]:
    """Who this caller is, and whether the broker agrees."""
    settings = ground.settings
    me, source = settings.agent, settings.sources["agent"]
    if source.startswith(SEVERAL):
        said = f"this shell is none of the agents here ({source.removeprefix(SEVERAL)}); each session knows its own name"
        yield Check("identity", NOTE, said, "redischat who")
        return
    if not me:
        yield Check("identity", WRONG, f"nobody is known here ({source})", "redischat identify NAME")
        return
    found = ground.names.get(me.lower(), {})
    ours = any(one.token == settings.token and one.session == found.get("session") for one in settings.bindings)
    if not found.get("held") and settings.only_wished():
        yield Check("identity", OK, f"{me} ({source}): the next session that starts here takes it")
    elif not found.get("held"):
        yield Check("identity", NOTE, f"{me} ({source}), held by nobody: anyone may speak under this name", f"redischat identify {me}")
    elif ours:
        yield Check("identity", OK, f"{me} ({source}), held by this caller since {found['since'][:19]}Z", seconds=(ground.now - found["seen_ms"]) / 1000)
    else:
        where = f"another session ({found['session']} on {found['host']}, last seen {age((ground.now - found['seen_ms']) // 1000)} ago)"
        yield Check("identity", WRONG, f"{me} ({source}) is held by {where}", f"redischat identify {me} --take-over")


def waking(ground: Ground) -> Iterator[Check]:
    """Of each session of this project: is it known to the broker, what does it do, by which way is it woken, did a wake ever land, was one missed?"""
    settings = ground.settings
    mine = {session: seat for session, seat in ground.seats.items() if seat["project"] == settings.home and seat["state"] != "ended"}
    if settings.session_id and settings.session_id not in mine:
        said = f"this session ({settings.session_id}) is not known to the broker: no hook of it was heard since it started"
        yield Check("session", WRONG, said, next((detect.AGAIN[one] for one in detect.inside(settings.env)), START))
    for session, seat in mine.items():
        this = "this session" if session == settings.session_id else f"session {session}"
        sign = ground.now - max(seat["active_ms"], seat["beat_ms"])
        yield Check("session", OK, f"{this} is {seat['agent']}, {seat['state']}; last sign {age(sign // 1000)} ago", seconds=sign / 1000)
        yield _bell(ground, session, seat, this)
        yield from _landed(ground, seat, this)


def _bell(ground: Ground, session: str, seat: dict[str, Any], this: str) -> Check:
    card, state_dir = ground.cards.get(cards.file_name(session), {}), ground.settings.state_dir
    if seat["host"] != host():
        return Check("doorbell", NOTE, f"{this} runs on {seat['host']}: it is rung there")
    if not card:
        return _unknown(ground, seat, f"{this} has no card in {state_dir}")
    if card.get("wake") == "wait":
        return _waited(seat, this, cards.waiting(state_dir, session))
    if card.get("http") or seat["harness"] == "codex":
        return Check("doorbell", OK, f"{this} is rung {'at ' + card['http'] if card.get('http') else 'by codex queue'}")
    if seat["harness"] in ("claude", "opencode"):
        there = os.path.exists(cards.bell_of(state_dir, session))
        return Check(
            "doorbell",
            OK if there else WRONG,
            f"{this} watches a file, which is {'there' if there else 'gone'}",
            "" if there else detect.AGAIN[seat["harness"]],
        )
    return Check("doorbell", NOTE, f"{this}: nothing wakes an idle session of {seat['harness']}. Wait by hand: redischat wait")


def _unknown(ground: Ground, seat: dict[str, Any], said: str) -> Check:
    """A session of this host that no file here knows."""
    if ground.now - max(seat["active_ms"], seat["beat_ms"]) > sessions.BEAT_LIVE_MS:
        return Check("doorbell", NOTE, f"{said} and gives no sign: most likely it is over")
    return Check("doorbell", WRONG, f"{said}: nobody rings it", detect.AGAIN.get(seat["harness"], START))


def _waited(seat: dict[str, Any], this: str, count: int) -> Check:
    """A session that is woken through a waiter (`setup --wake waiter`)."""
    if count != 1 and seat["state"] == "idle":
        said = "no waiter of it blocks" if not count else f"{count} waiters of it block"
        return Check("doorbell", NOTE, f"{this} is idle, and {said} now: the file that it watches wakes it, too")
    return Check("doorbell", OK, f"{this} is rung through its waiter{'' if count else ', which comes when its turn ends'}")


def _landed(ground: Ground, seat: dict[str, Any], this: str) -> Iterator[Check]:
    landed, missed = seat["landed_ms"], seat["missed_ms"]
    if landed:
        yield Check("waking", OK, f"the last wake of {this} landed {age((ground.now - landed) // 1000)} ago", seconds=(ground.now - landed) / 1000)
    if missed > landed:
        said = f"a wake of {this} was asked for and had not landed {age((ground.now - missed) // 1000)} ago; what was for it waits for its next step"
        yield Check("waking", WRONG, said, "redischat waker status", seconds=(ground.now - missed) / 1000)
    elif not landed:
        yield Check("waking", NOTE, f"unproved: no wake of {this} was seen to land yet")


def ghosts(ground: Ground) -> Iterator[Check]:
    """Sessions that are not over and gave no sign for long; cards here of sessions that the broker does not know."""
    for session, seat in ground.seats.items():
        silent = ground.now - max(seat["active_ms"], seat["beat_ms"])
        if seat["state"] != "ended" and silent > GHOST_MS:
            here = seat["host"] == host()
            said = f"session {session} ({seat['agent']}, {told(seat['project'])} on {seat['host']}) is not over and gave no sign for {age(silent // 1000)}"
            yield Check("ghosts", NOTE, said, "redischat waker start" if here else "", seconds=silent / 1000)
    here_ = (redacted(ground.settings.url), ground.settings.workspace)
    for card in ground.cards.values():
        if card["session"] != ground.settings.session_id and (redacted(card["url"]), card["workspace"]) == here_ and card["session"] not in ground.seats:
            yield Check("ghosts", NOTE, f"a card here says that session {card['session']} is {card['agent']}: the broker does not know it")


def waker(settings: Settings, kept: int) -> Iterator[Check]:
    """The process of this host that rings idle sessions; ``kept``: how many sessions it has to ring."""
    found = wake.status(settings.state_dir)
    if not found:
        said = (
            f"none runs: {kept} session{'s' * (kept != 1)} here {'is' if kept == 1 else 'are'} not woken"
            if kept
            else "none runs, and there is no session here to ring"
        )
        yield Check("waker", WRONG if kept else NOTE, said, "redischat waker start" if kept else "")
        return
    silent = time.time() - int(found["at"]) / 1000 if found.get("at", "").isdigit() else None
    if silent is not None and silent > STALLED_S:
        yield Check(
            "waker", WRONG, f"it runs (pid {found.get('pid')}) and said nothing of itself for {age(int(silent))}", "redischat waker stop", seconds=silent
        )
        return
    said = f"runs (pid {found.get('pid', '?')}, version {found.get('version', '?')}): {found.get('sessions', '?')} sessions at {found.get('brokers', '?')} brokers, {found.get('wakes', '?')} wakes"
    yield Check("waker", OK, said, seconds=silent)
    if wake.older(found.get("version", "")):
        yield Check("waker", NOTE, f"it is of version {found['version']}, this is {__version__}", "redischat waker start")
    if found.get("deaf", "0") not in ("", "0"):
        young = time.time() - int(found.get("since") or 0) / 1000 < YOUNG_S
        said = f"it cannot hear {found['deaf']} of its brokers {'yet' if young else 'now'}: ringing there is late"
        yield Check("waker", NOTE if young else WRONG, said, "redischat waker status")
