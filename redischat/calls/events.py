"""Events: what one is (schema version 1), posting and reading them, and how far each agent has read."""

from __future__ import annotations

from ..errors import TooLarge
from ..keys import LAST_NUMBER
from ..names import MESSAGE_BYTES
from .call import NEVER, Call, Caller, Once, is_time, iso, pairs, plain, run
from .event_form import KIND, checked, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..keys import Keys

PAGE = 200
STRANGERS = 20  # entries beyond the last number that are named in one look
_OURS = frozenset("fkwtb")  # the fields of whatever redischat wrote


def post(who: Caller, channel: str, event: dict[str, Any], *, once: Once) -> Call:
    """Store an event (event_post.lua), as :func:`redischat.calls.event_form.draft` made it. Gives ``{"channel", "n", "event"}``.

    The time is the broker's: what is stored is the event without it, as JSON with sorted keys; whoever reads it adds the time.
    """
    keys, body = who.keys, written(event)

    def read(words: list[Any]) -> dict[str, Any]:
        n, ts, name, display = words
        return {"channel": name, "n": int(n), "event": {**event, "agent": display, "ts": iso(ts)}}

    return run(
        "event_post",
        {
            "stream": keys.channel(channel, "events"), "heads": keys.heads, "agents": keys.agents,
            "idem": keys.idem("event_post", who.me, once.key, channel), "live": keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds, "kind": event[KIND], "body": body},
        read,
    )  # fmt: skip


def written(event: dict[str, Any]) -> str:
    """An event as it is stored: JSON with sorted keys, without its time."""
    from _json import encode_basestring as quoted  # json brings re and enum along: 5 ms of a 15 ms command

    def value(found: Any) -> str:
        return f"[{','.join(map(quoted, found))}]" if isinstance(found, list) else str(found) if isinstance(found, int) else quoted(found)

    body = "{" + ",".join(f"{quoted(key)}:{value(event[key])}" for key in sorted(event) if key != "ts") + "}"
    size = len(body.encode())
    if size > MESSAGE_BYTES:
        raise TooLarge(what="event", size=size, unit="bytes", limit=MESSAGE_BYTES, remedy="Say the details in a message.")
    return body


def ack(who: Caller, channel: str, epoch: str, field: str, to: int) -> Call:
    """Raise a mark (event_ack.lua); ``field`` as :func:`mark_field` names it. Gives where it stands."""
    keys = who.keys
    return run(
        "event_ack",
        {"marks": keys.channel(channel, "event_marks"), "heads": keys.heads, "agents": keys.agents, "scratch": keys.scratch(who.me)},
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "field": field, "of": epoch, "to": to},
        lambda words: int(words[2]),
    )


def repair(who: Caller, channel: str) -> Call:
    """Make a channel's events whole (event_repair.lua). Gives ``channel kept dropped``; nothing is dropped from one that is whole."""
    keys = who.keys
    parts = {"stream": "events", "draft": "draft", "marks": "event_marks"}
    return run(
        "event_repair",
        {**{name: keys.channel(channel, part) for name, part in parts.items()}, "heads": keys.heads, "agents": keys.agents},
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent},
        lambda words: {"channel": words[0], "kept": int(words[1]), "dropped": int(words[2])},
    )


def mark_field(who: Caller, type_: str | None) -> str:
    """Whoever reads only one type has a mark of its own for it: the events of the other one stay new."""
    return f"{who.me} {type_}" if type_ else who.me


def marks(who: Caller, channel: str, type_: str | None) -> Call:
    """``[(n, epoch), ...]``: up to where the caller has read everything, and where the type."""
    fields = dict.fromkeys((who.me, mark_field(who, type_)))

    def read(found: list[str | None]) -> list[tuple[int, str]]:
        return [(int(n), epoch) for n, _, epoch in (text.partition(" ") for text in found if text)]

    return plain("HMGET", who.keys.channel(channel, "event_marks"), *fields, read=read)


def page(keys: Keys, channel: str, name: str, *, above: int, count: int = PAGE) -> Call:
    """The entries above a number, oldest first: ``{"n", "id", "event"}`` each, or ``error``, why it is none, in its place."""
    words = ("XRANGE", keys.channel(channel, "events"), f"(0-{above}", f"0-{LAST_NUMBER}", "COUNT", count)
    return plain(*words, read=lambda found: [_row(name, id_, fields) for id_, fields in found or ()])


def strangers(keys: Keys, channel: str, name: str) -> Call:
    """What was written beyond all numbers, past redischat: rows as of :func:`page`, none of which is an event."""
    words = ("XRANGE", keys.channel(channel, "events"), f"(0-{LAST_NUMBER}", "+", "COUNT", STRANGERS)
    return plain(*words, read=lambda found: [{"n": None, "id": id_, "error": _malformed(name, id_)} for id_, _ in found or ()])


def _row(name: str, id_: str, fields: Any) -> dict[str, Any]:
    from ..errors.events import EventRefused

    n = int(id_.partition("-")[2])
    try:
        return {"n": n, "id": id_, "event": _event(pairs(fields))}
    except EventRefused as error:
        return {"n": n, "id": id_, "error": type(error)(why=f"event {n} of #{name} is passed over: {error.facts['why']}", channel=name, id=id_).record()}


def _event(fields: dict[str, Any]) -> dict[str, Any]:
    """The event that an entry holds, with the time at which it came and the author that the broker checked."""
    from json import loads

    from ..errors.events import EventInvalidText, EventInvalidTimestamp, EventMalformedBody

    if not fields.keys() >= _OURS:
        raise EventMalformedBody(why="it was written past the clients")
    try:
        found = loads(fields["b"])
    except (ValueError, RecursionError):
        raise EventMalformedBody(why="it is no JSON") from None
    if not is_time(fields["t"]):
        raise EventInvalidTimestamp(why="its time is none that the broker gave")
    event = checked({**found, "ts": NEVER} if isinstance(found, dict) else found)
    if event["agent"].lower() != fields["f"].lower():
        raise EventInvalidText(why=f"it names {shown(event['agent'])} as its agent, but {shown(fields['f'])} posted it")
    return {**event, "agent": fields["f"], "ts": iso(int(fields["t"]) // 1000) or NEVER}


def _malformed(name: str, id_: str) -> dict[str, Any]:
    from ..errors.events import EventMalformedBody

    return EventMalformedBody(why=f"entry {id_} in the events of #{name} is passed over: it was written past the clients", channel=name, id=id_).record()
