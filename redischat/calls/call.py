"""What a verb asks of a carrier: a Call (one round trip), a Listen (wait for a doorbell), a Show (hand something to whoever reads)."""

from __future__ import annotations

import os
from time import gmtime

from ..errors import ChatError, OtherFormat, refusal
from ..keys import FORMAT, IDEM_NAMED_SECONDS, IDEM_SECONDS
from ..lua import Script, script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from typing import Any

    from ..keys import Keys

_OF_CHANNEL = {
    "stream": "messages",
    **{part: part for part in ("meta", "members", "audits", "events", "tasks", "texts", "links", "ready", "leases", "claims", "event_marks", "draft")},
}
OF_PRELUDE = 1  # keys that come behind those which a script names
PROBE = "?"  # rings to count who listens (scripts/prelude.lua): no reason to look
NEVER = "1970-01-01T00:00:00.000Z"  # stands for a time that nobody gave
TIME_DIGITS = 17  # microseconds up to the year 5138
STORED = "\x1f"  # between the words of a stored reply (scripts/parts/idem.lua)

# Every carrier's patience.
CONNECT_S = 2.0
ANSWER_S = 5.0
RETRY_S = 5.0  # a lost connection or a passing refusal is retried for so long
FAILOVER_S = 30.0  # where servers stand in for each other, and some of them answer
LOADING_S = 60.0
PAUSE_S = (0.01, 0.5)  # between tries: doubling from, up to
FOREVER = float("inf")  # until when whoever follows something follows it: ^C
SETTLE_S = 0.01  # the end of a lease, a lock or an offer is looked at just after it
KEEPALIVE = (("TCP_KEEPIDLE", 4), ("TCP_KEEPALIVE", 4), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 2))  # the kernel notices a half-open connection in 8 s


class Call:
    """One command, not yet sent: a script with its keys and arguments by name, or a plain command. ``read`` makes sense of the reply."""

    __slots__ = ("args", "keys", "looks", "read", "script", "whole")

    def __init__(self, script: Script | None, keys: tuple[str, ...], args: tuple[Any, ...], read: Callable[[Any], Any]) -> None:
        self.script, self.keys, self.args, self.read = script, keys, args, read
        self.whole = self.looks = False

    def words(self, *, whole: bool = False) -> tuple[Any, ...]:
        """The command to send; ``whole`` carries the script's text, for a server whose cache is empty."""
        if self.script is None:
            return self.args
        only = "_RO" if self.looks else ""
        head = ("EVAL" + only, self.script.text) if whole or self.whole else ("EVALSHA" + only, self.script.sha)
        return (*head, len(self.keys), *self.keys, *self.args)

    def otherwise(self, answer: str) -> bool:
        """Whether this refusal goes away when the call is sent again, which from now on is another command: whole, or as one that only reads."""
        if self.script is None:
            return False
        if answer.startswith("NOSCRIPT") and not self.whole:
            self.whole = True
        elif answer.startswith("NOPERM") and self.script.reads and not self.looks:
            self.looks = True
        else:
            return False
        return True


class Listen:
    """Wait for one of these doorbells until ``until`` (monotonic seconds). Answer: a payload, "again" after each (re)subscription, None in time."""

    __slots__ = ("bells", "until")

    def __init__(self, bells: Sequence[str], until: float) -> None:
        self.bells, self.until = bells, until


class Show:
    """Hand messages to whoever reads, oldest first. Answer: how many left whole. An error raised while showing carries that number in ``shown``.

    ``acking(n)`` is the Call that acks the first ``n``, for a reader that does so before the flow does; without one there is nothing in it to ack.
    """

    __slots__ = ("acking", "messages", "notes")

    def __init__(self, messages: list[dict[str, Any]], notes: list[dict[str, Any]], acking: Callable[[int], Call] | None = None) -> None:
        self.messages, self.notes, self.acking = messages, notes, acking or (lambda _: plain("PING"))


class Everywhere:
    """Drive a flow, which is told the server's name, at each server that holds keys: all masters of a Cluster, else the one that there is. Answer: their results.

    ``replicas``: at each server of the broker, its replicas too, and those that the others hold for failed.
    """

    __slots__ = ("flow", "replicas")

    def __init__(self, flow: Callable[[str], Generator[Any, Any, Any]], *, replicas: bool = False) -> None:
        self.flow, self.replicas = flow, replicas


def run(
    name: str, keys: dict[str, str], args: dict[str, Any], read: Callable[[list[Any]], Any], more_keys: Iterable[str] = (), more_args: Iterable[Any] = ()
) -> Call:
    """A Call of ``scripts/<name>.lua``; ``read`` gets the words behind "ok", any other reply is raised as the error that it stands for."""
    lua = script(name)
    if (*keys,) != lua.keys or (*args,) != lua.args:
        raise TypeError(f"{name}.lua takes {lua.keys} {lua.args}, not {(*keys,)} {(*args,)}")
    tail_keys, tail_args = tuple(more_keys), tuple(more_args)
    if (tail_keys and not lua.more_keys) or (tail_args and not lua.more_args):
        raise TypeError(f"{name}.lua takes no more keys or arguments than it names")
    world = next(iter(keys.values())).partition("}:")[0] + "}:meta"  # for the prelude: in which format it is written
    return Call(lua, (*keys.values(), *tail_keys, world), (*args.values(), *tail_args), lambda reply: read(settled(reply)))


def keyed(keys: Keys, channel: str, *names: str) -> dict[str, str]:
    """The keys that a script asks for by these names, for one channel."""
    found = {}
    for name in names:
        if name in _OF_CHANNEL:
            found[name] = keys.channel(channel, _OF_CHANNEL[name])
        else:
            found[name] = keys.live(channel) if name == "live" else keys.room(channel) if name == "room" else str(getattr(keys, name))
    return found


def plain(*words: Any, read: Callable[[Any], Any] = lambda reply: reply) -> Call:
    """A Call of one plain command."""
    return Call(None, (), words, read)


def clock() -> Call:
    """The server's clock, in ms."""
    return plain("TIME", read=lambda found: int(found[0]) * 1000 + int(found[1]) // 1000)


def settled(reply: list[Any]) -> list[Any]:
    """The words behind "ok" of a script's reply, also of one that was stored when the same key came before."""
    if reply[0] == "again":
        reply = reply[1].split(STORED)
    if reply[0] != "ok":
        raise _readable(refusal(reply))
    return reply[1:]


def _readable(error: ChatError) -> ChatError:
    """A refusal with its words as people and programs read them."""
    for field, read in _FIELDS.items():
        if field in error.facts:
            error.facts[field] = read(error.facts[field])
    if isinstance(error, OtherFormat):
        error.facts["ours"] = FORMAT
    return error


def pairs(flat: Any) -> dict[str, Any]:
    """A hash as a dict: RESP2 sends it flat, redis-py may have paired it already."""
    return dict(flat) if isinstance(flat, dict) else dict(zip(flat[::2], flat[1::2], strict=True))


def yes(word: Any) -> bool:
    """What a script says with 1 and 0, also in a stored reply."""
    return str(word) == "1"


def several(text: str) -> list[str]:
    """What a script says as ``a,b``; "" and "-" are none."""
    return [] if text in ("", "-") else text.split(",")


def maybe(value: int | None) -> int | str:
    """A number that may be left out, as scripts take it: "" is none."""
    return "" if value is None else value


def fresh(size: int = 11) -> str:
    """A new random id (idempotency key, delivery lease, token, epoch)."""
    return os.urandom(size).hex()


def iso(ms: int | str) -> str | None:
    """Milliseconds since 1970 as ISO 8601 UTC; 0 is never."""
    ms = int(ms)
    if not ms:
        return None
    at = gmtime(ms // 1000)
    return f"{at.tm_year:04}-{at.tm_mon:02}-{at.tm_mday:02}T{at.tm_hour:02}:{at.tm_min:02}:{at.tm_sec:02}.{ms % 1000:03}Z"


def is_time(us: str) -> bool:
    """May an entry have this time? Whatever else stands there, no redischat wrote it."""
    return us.isdecimal() and len(us) <= TIME_DIGITS


def ms_of(text: str | None) -> int:
    """What :func:`iso` was given, or any other ISO 8601 time with an offset; None is 0.

    Raises:
        ValueError: it is no such time, or lies before 1970.
    """
    from datetime import UTC, datetime, timedelta

    at = datetime.fromisoformat(text) if text else datetime.fromtimestamp(0, UTC)
    ms = (at - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1) if at.tzinfo else -1
    if ms < 0:
        raise ValueError(text)
    return ms


def packed(text: str) -> str:
    """``text`` as one word of an agent's record (paths may hold spaces)."""
    return "".join(_PACKED.get(c, c) for c in text) or "-"


def unpacked(word: str) -> str:
    """What :func:`packed` was given."""
    for char, code in reversed(_PACKED.items()):
        word = word.replace(code, char)
    return "" if word == "-" else word


_PACKED = {"%": "%25", " ": "%20", "\n": "%0A", "\r": "%0D", "\t": "%09"}
_FIELDS: dict[str, Callable[[Any], Any]] = {
    "since": iso, "seen": iso, "session": unpacked, "host": unpacked, "project": unpacked, "seq": int, "head": int, "cap": int, "used": int,
    "expires_at": iso, "claimed_at": iso, "current": int, "token": int, "lapsed": yes, "assigned": yes, "in_line": yes, "most": int,
}  # fmt: skip


class Caller:
    """Who asks: the workspace's keys, the agent's name as given (``agent``) and as compared (``me``), and the token that proves it."""

    __slots__ = ("agent", "keys", "me", "token")

    def __init__(self, keys: Keys, agent: str = "", token: str = "") -> None:
        self.keys, self.agent, self.me, self.token = keys, agent, agent.lower(), token


class Once:
    """A mutation's idempotency key: made here and kept 10 minutes, or the caller's own and kept 24 hours."""

    __slots__ = ("key", "seconds")

    def __init__(self, key: str | None = None) -> None:
        self.key = key or fresh()
        self.seconds = IDEM_NAMED_SECONDS if key else IDEM_SECONDS
