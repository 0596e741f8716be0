"""Messages: posting, taking, acking, looking, and what one message is."""

from __future__ import annotations

from ..keys import LAST_NUMBER
from . import budgets
from .call import STORED, Call, Caller, Once, is_time, iso, maybe, ms_of, pairs, plain, run, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ..keys import Keys

LEASE_MS = 5_000  # a delivery lease: how long one reader's showing keeps the others of its agent waiting
TAKE_COUNT = 1_000
TAKE_BYTES = 1 << 20
KINDS = {"m": "message", "n": "notice", "a": "audit", "e": "event"}
HOOKS = {"0": "whole", "1": "pointed", "2": "silent"}  # scripts/parts/entry.lua
LETTERS = {kind: letter for letter, kind in KINDS.items()}
_OURS = frozenset("fkwtxb")  # the fields of whatever redischat wrote
_STRANGE = {"f": "?", "k": "?", "w": "-", "t": "1000", "x": "0", "b": ""}  # for what a stranger's entry lacks; its time is the beginning of 1970
_SEQ_DIGITS = len(str(LAST_NUMBER))
_PART = "\ufffd"  # what a character becomes that a cut went through


class Draft:
    """What is to be said: the text, to whom, and what it belongs to. ``audience``: "" (the channel's default), "all", "none", or "named" by ``to``."""

    __slots__ = ("audience", "body", "reply_to", "status", "thread", "title", "to")

    def __init__(
        self, body: str, *, to: Sequence[str] = (), audience: str = "", reply_to: int | None = None, thread: str = "", title: str = "", status: str = ""
    ) -> None:
        self.body, self.to, self.audience = body, tuple(to), "named" if to else audience
        self.reply_to, self.thread, self.title, self.status = reply_to, thread, title, status


def post(who: Caller, channel: str, draft: Draft, *, once: Once) -> Call:
    """Say something (message_post.lua). Gives the broker's part of a receipt; :func:`receipt` makes it readable."""
    keys = who.keys
    named = [name.lower() for name in draft.to]

    def read(words: list[Any]) -> dict[str, Any]:
        seq, ts, rung, talk, cap, count, state, written, display, wakes, hint, audience, *budget = words
        return {
            "channel": written, "seq": int(seq), "from": display, "ts": iso(ts), "ts_ms": int(ts), "rung": rung, "talk": int(talk), "cap": int(cap), "members": int(count),
            "closed": state == "closed", "wakes": wakes_of(audience, wakes), "hint": yes(hint),
            "budget": budgets.record(written, str(budget[1]), str(budget[2]), int(ts)) if budget and int(budget[0]) else None,
        }  # fmt: skip

    return run(
        "message_post",
        {
            "stream": keys.channel(channel, "messages"), "meta": keys.channel(channel, "meta"), "members": keys.channel(channel, "members"), "heads": keys.heads,
            "agents": keys.agents, "marks": keys.marks(who.me), "owed": keys.owed(who.me), "everyone": keys.everyone, "hinted": keys.hinted,
            "idem": keys.idem("post", who.me, once.key, channel), "room": keys.room(channel), "live": keys.live(channel),
        },
        {
            "channel": channel, "me": who.me, "token": who.token, "keep": once.seconds, "body": draft.body, "ask": "" if named else draft.audience,
            "reply_to": maybe(draft.reply_to), "thread": draft.thread, "title": draft.title, "status": draft.status,
        },
        read, [key for name in named for key in (keys.bell(name), keys.owed(name))], named,
    )  # fmt: skip


def take(
    who: Caller, channels: Sequence[str], lease: str, *, how: str = "read", lease_ms: int = LEASE_MS, count: int = TAKE_COUNT, size: int = TAKE_BYTES
) -> Call:
    """Hand out what is new under a delivery lease (message_take.lua). Gives ``{"until", "now", "rows"}``; a row is a dict with ``channel name word``."""
    keys = who.keys

    def read(words: list[Any]) -> dict[str, Any]:
        return {"until": int(words[0]), "now": int(words[1]), "rows": [_taken(row, who.me) for row in words[2]]}

    return run(
        "message_take",
        {"heads": keys.heads, "marks": keys.marks(who.me), "agents": keys.agents, "scratch": keys.scratch(who.me)},
        {"me": who.me, "token": who.token, "how": how, "lease": lease, "lease_ms": lease_ms, "max_count": count, "max_bytes": size},
        read, [keys.channel(channel, "messages") for channel in channels], channels,
    )  # fmt: skip


def _taken(row: list[Any], me: str) -> dict[str, Any]:
    channel, name, word, *rest = row
    found = {"channel": channel, "name": name, "word": word}
    if word == "busy":
        found["until"] = int(rest[0])
    elif word == "rewound":
        found["gone_from"], found["gone_to"] = int(rest[0]), int(rest[1])
    elif word == "more":
        found["more"] = int(rest[0])
    elif word == "take":
        epoch, which, hi, gap, more, passive, lo, whole, previews, above = rest
        found.update(epoch=epoch, which=which, hi=int(hi), gap=int(gap), more=int(more), passive=int(passive), lo=int(lo), above=int(above))
        found["messages"] = [message(name, int(seq), entry, me, repeat=int(again) == 1, cut=int(cut)) for seq, again, cut, entry in whole]
        found["previews"] = [{"seq": int(seq), "from": author, "start": start.rstrip(_PART)} for seq, author, start in previews]
    return found


def ack(who: Caller, lease: str, items: Iterable[tuple[str, str, str, int, int]]) -> Call:
    """Say what was shown: ``(channel, epoch, both|heard, up to, maybe up to)`` each (message_ack.lua). Gives rows ``{"channel" "name" "word" ...}``."""
    keys = who.keys

    def read(words: list[Any]) -> list[dict[str, Any]]:
        rows = []
        for channel, name, word, *numbers in words[0]:
            names = ("heard", "read", "heard_before", "read_before") if word == "ok" else ("head",)
            rows.append({"channel": channel, "name": name, "word": word, **dict(zip(names, map(int, numbers), strict=False))})
        return rows

    return run(
        "message_ack",
        {"heads": keys.heads, "marks": keys.marks(who.me), "agents": keys.agents, "scratch": keys.scratch(who.me), "bell": keys.bell(who.me)},
        {"me": who.me, "token": who.token, "lease": lease},
        read, (), [part for item in items for part in item],
    )  # fmt: skip


def release(who: Caller, lease: str) -> Call:
    """Give back what a lease still holds (message_release.lua). Gives the number of channels."""
    return run(
        "message_release",
        {"marks": who.keys.marks(who.me), "scratch": who.keys.scratch(who.me), "bell": who.keys.bell(who.me)},
        {"lease": lease},
        lambda words: int(words[0]),
    )


def renew(who: Caller, lease: str, lease_ms: int) -> Call:
    """Keep what a lease holds for ``lease_ms`` more (message_renew.lua). Gives the number of channels."""
    return run(
        "message_renew",
        {"marks": who.keys.marks(who.me), "scratch": who.keys.scratch(who.me)},
        {"lease": lease, "lease_ms": lease_ms},
        lambda words: int(words[0]),
    )


def look(who: Caller, positions: dict[str, int], *, which: str = "wakes", sender: str = "", reply_to: int | None = None) -> Call:
    """Is there something to be woken by above these positions? (message_look.lua). Gives ``{"now", "rows"}``; a row is ``{"channel" "name" "word" "at"}``."""
    keys = who.keys

    def read(words: list[Any]) -> dict[str, Any]:
        rows = [{"channel": row[0], "name": row[1], "word": row[2], "at": int(row[3]) if len(row) > 3 else 0} for row in words[1]]  # noqa: PLR2004
        return {"now": int(words[0]), "rows": rows}

    return run(
        "message_look",
        {"heads": keys.heads, "marks": keys.marks(who.me)},
        {"me": who.me, "which": which, "from": sender.lower(), "reply_to": maybe(reply_to)},
        read, [keys.channel(channel, "messages") for channel in positions], [part for item in positions.items() for part in item],
    )  # fmt: skip


def entries(keys: Keys, channel: str, name: str, me: str, *, above: int = 0, to: int | None = None, count: int = TAKE_COUNT) -> Call:
    """Messages above a number, oldest first, moving no mark."""
    words = ("XRANGE", keys.channel(channel, "messages"), f"(0-{above}", "+" if to is None else f"0-{to}", "COUNT", count)
    return plain(*words, read=lambda found: _entries(found, name, me))


def newest(keys: Keys, channel: str, name: str, me: str, *, to: int, count: int, above: int = 0) -> Call:
    """The newest messages up to the channel's last (``to``), oldest first, moving no mark."""
    return plain("XREVRANGE", keys.channel(channel, "messages"), f"0-{to}", f"(0-{above}", "COUNT", count, read=lambda found: _entries(found[::-1], name, me))


def audits(keys: Keys, channel: str, name: str, me: str, *, above: int = 0, to: int | None = None) -> Call:
    """The audits that follow messages ``above .. to``, oldest first."""
    words = ("XRANGE", keys.channel(channel, "audits"), f"{above}-0", "+" if to is None else f"{to}-{(1 << 63) - 1}")
    return plain(*words, read=lambda found: _beside(found, "audits", name, me))


def newest_audits(keys: Keys, channel: str, name: str, me: str, *, count: int) -> Call:
    """The newest audits, oldest first."""
    return plain("XREVRANGE", keys.channel(channel, "audits"), "+", "-", "COUNT", count, read=lambda found: _beside(found[::-1], "audits", name, me))


def beside(keys: Keys, channel: str, part: str, name: str, me: str, *, start: str = "-", count: int = TAKE_COUNT) -> Call:
    """A page of what stands beside the messages (``part``: audits or events), from the id ``start`` on, oldest first."""
    return plain("XRANGE", keys.channel(channel, part), start, "+", "COUNT", count, read=lambda found: _beside(found, part, name, me))


def import_batch(who: Caller, channel: str, rows: Sequence[Sequence[Any]], *, after: int | None = None) -> Call:
    """Append messages that keep their number (message_import.lua); at most 500 rows, as :func:`row` gives them. Gives ``channel last_seq stored``.

    With ``after`` only where the channel ends there (else NoSuchSeq), and the same batch sent twice is stored once.
    """
    keys = who.keys
    return run(
        "message_import",
        {
            "stream": keys.channel(channel, "messages"), "meta": keys.channel(channel, "meta"), "members": keys.channel(channel, "members"), "heads": keys.heads,
            "agents": keys.agents, "marks": keys.marks(who.me), "live": keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "after": maybe(after)},
        lambda words: {"channel": words[0], "last_seq": int(words[1]), "stored": int(words[2])},
        (), [part for one in rows for part in one],
    )  # fmt: skip


def row(record: dict[str, Any]) -> tuple[Any, ...]:
    """The inverse of :func:`message`: a record as message_import.lua takes it."""
    to, wakes = record["to"], record["wakes"]
    audience = {"all": "*", "none": "-"}[wakes] if isinstance(wakes, str) else f",{','.join(wakes).lower()},"
    given = [record[field] or "" for field in ("reply_to", "thread", "title", "status")]
    written = to if isinstance(to, str) else ",".join(to or ())
    return record["seq"], LETTERS[record["kind"]], record["from"], ms_of(record["ts"]) * 1000, record["body"], written, audience, *given


def is_ours(entry: Any) -> bool:
    """Did redischat write it? A stranger's raw XADD lacks a field, or its time, or what it answers, is no number."""
    fields = pairs(entry)
    return fields.keys() >= _OURS and is_time(fields["t"]) and ("r" not in fields or _seq(fields["r"]) is not None)


def _seq(text: str | None) -> int | None:
    """The number of a message, if it can be one."""
    return int(text) if text and text.isdecimal() and len(text) <= _SEQ_DIGITS else None


def _entries(found: Any, name: str, me: str) -> list[dict[str, Any]]:
    """A stranger's raw XADD is no message, whatever its id."""
    rows = [(id_.partition("-"), fields) for id_, fields in found or () if is_ours(fields)]
    return [message(name, int(seq), fields, me) for (left, _, seq), fields in rows if left == "0"]


def _beside(found: Any, part: str, name: str, me: str) -> list[dict[str, Any]]:
    """Audits are numbered behind a message (``after``, ``n``); events are numbered on their own (``n``)."""
    rows = [(id_.partition("-"), fields) for id_, fields in found or () if is_ours(fields)]
    audits = part == "audits"
    return [
        {**message(name, 0, fields, me), "seq": None, "after": int(after) if audits else None, "n": int(n), **({"facts": _facts(fields)} if audits else {})}
        for (after, _, n), fields in rows
    ]


def _facts(fields: Any) -> dict[str, Any]:
    """What an audit says for programs (scripts/parts/audit.lua): words and values in turn; times become ISO 8601, "-" is None."""
    words = pairs(fields).get("d", "").split(STORED)
    found = zip(words[::2], words[1::2], strict=False)
    return {key: iso(value) if key.endswith("_at") and value.isdecimal() else None if value == "-" else value for key, value in found}


def message(channel: str, seq: int, entry: Any, me: str, *, repeat: bool = False, cut: int = 0) -> dict[str, Any]:
    """One message as the record that ``--json`` gives. ``cut`` is its size in bytes when the body is only its beginning.

    A stranger's entry that looks like one to the broker is shown as far as it can be: whoever reads goes on behind it.
    """
    fields = pairs(entry)
    try:
        return _record(channel, seq, fields, me, repeat=repeat, cut=cut)
    except (KeyError, ValueError, OverflowError):
        odd = {} if is_time(fields.get("t", "")) else {"t": _STRANGE["t"]}
        return _record(channel, seq, {**_STRANGE, **fields, **odd, "r": _seq(fields.get("r"))}, me, repeat=repeat, cut=cut)


def _record(channel: str, seq: int, fields: dict[str, Any], me: str, *, repeat: bool, cut: int) -> dict[str, Any]:
    wakes, to = fields["w"], fields.get("to", "")
    reply = fields.get("r")
    return {
        "channel": channel, "seq": seq, "kind": KINDS.get(fields["k"], fields["k"]), "from": fields["f"],
        "to": None if not to else to if to in ("all", "none") else to.split(","), "wakes": wakes_of(fields.get("wa", wakes), to),
        "title": fields.get("h"), "status": fields.get("s"), "reply_to": int(reply) if reply else None, "thread": fields.get("th"),
        "ts": iso(int(fields["t"]) // 1000), "body": fields["b"].rstrip(_PART) if cut else fields["b"], "mine": fields["f"].lower() == me,
        "for_me": wakes == "*" or f",{me}," in wakes, "repeat": repeat, "cut": cut or None, "after": None, "n": None, "facts": None,
        "hooks": HOOKS.get(fields["x"], HOOKS["0"]),
    }  # fmt: skip


def wakes_of(audience: str, names: str) -> Any:
    """A stored audience as records show it: "all", "none" or the names as written."""
    return {"*": "all", "-": "none"}.get(audience) or names.split(",")
