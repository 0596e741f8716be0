"""Saying something and knowing whom it reached; looking at what was said without moving a mark; what is owed."""

from __future__ import annotations

from ..calls import agents, channels, messages, sessions
from ..calls.call import Caller, Once
from ..errors import CouldNotLook, NoChannel, NoSuchSeq, NotMember, RecipientLeft, UnknownRecipient
from . import brake
from .presence import HOW, reached
from .reading import not_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    Flow = Generator[Any, Any, Any]

NAMES_SHOWN = 20  # in a receipt; then counts
STORED_CHARS = 72
WARN_FROM = 0.9  # of the cap
OWED_LOOKED_AT = 200  # messages a channel behind my last words


def say(who: Caller, channel: str, draft: messages.Draft, once: Once) -> Flow:
    """Post, and tell what it costs and whether it reaches anyone. Gives a receipt."""
    members = yield channels.some_members(who.keys, channel)
    others = [one["agent"] for name, one in members.items() if one["here"] and name != who.me]
    asked = draft.to or others[:NAMES_SHOWN]
    doors = [sessions.reach(who.keys, asked)] if asked else []  # before it rings: whoever it wakes may be gone, or at work, a moment later
    try:
        *before, sent = yield [*doors, messages.post(who, channel, draft, once=once)]
    except (UnknownRecipient, RecipientLeft, NoChannel, NotMember) as error:
        yield from helped(who, channel, error)
        raise
    receipt = _receipt(sent, draft)
    count = sent["members"] - 1
    named = isinstance(sent["wakes"], list)
    woken = [name for name in sent["wakes"] if name.lower() != who.me] if named else others if sent["wakes"] == "all" else []
    wakes = len(woken) if named else count if sent["wakes"] == "all" else 0
    passive = [name for name in others if name not in woken]
    shown = woken if wakes == len(woken) <= NAMES_SHOWN or named else []  # of a large channel only a part is known: a count says it better
    receipt.update(wakes=shown, wakes_count=wakes, passive_count=count - wakes, passive=passive if count - wakes == len(passive) <= NAMES_SHOWN else [])
    if shown:
        known = dict(zip((name.lower() for name in asked), *before, strict=True))
        found = reached(shown, [known.get(name.lower(), (sent["ts_ms"], 0, {}, {})) for name in shown])
        receipt.update({how: [one["agent"] for one in found if one["how"] == how] for how in HOW}, reach=found)
    if sent["budget"] and sent["budget"]["level"] == "silent":
        receipt["silenced"] = [name for name in shown if name not in receipt["listening"]]
    if len(woken) == 1:
        receipt["braked"] = yield from _braked(who, channel, sent["channel"], woken)
    return receipt


def helped(who: Caller, channel: str, error: UnknownRecipient | RecipientLeft | NoChannel | NotMember) -> Flow:
    """Give a refusal the names that were probably meant."""
    from ..names import nearest

    if isinstance(error, NoChannel):
        heads = yield channels.heads(who.keys)
        error.facts["nearest"] = channels.near(channel, heads)
        return
    members = yield channels.members(who.keys, channel)
    here = sorted(one["agent"] for one in members.values() if one["here"])
    if not isinstance(error, NotMember):
        error.facts["members"] = here[:NAMES_SHOWN]
    error.facts["nearest"] = nearest(error.facts["agent"], here)


def _receipt(sent: dict[str, Any], draft: messages.Draft) -> dict[str, Any]:
    first = next((line for line in draft.body.splitlines() if line.strip()), "")
    stored = first if len(first) <= STORED_CHARS else first[: STORED_CHARS - 1] + "…"
    warning = None
    if sent["closed"]:
        warning = f"that was message {sent['talk']} of {sent['cap']}: the channel is closed. Go on: redischat reopen {sent['channel']} --max-messages {2 * sent['cap']}"
    elif sent["cap"] and sent["talk"] >= WARN_FROM * sent["cap"]:
        warning = f"{sent['talk']} of {sent['cap']} messages are used; the last one closes the channel. More: redischat reopen {sent['channel']} --max-messages {2 * sent['cap']}"
    return {
        "channel": sent["channel"], "seq": sent["seq"], "from": sent["from"], "ts": sent["ts"], "chars": len(draft.body), "stored": stored,
        "audience": sent["wakes"], "wakes": [], "wakes_count": 0, "passive": [], "passive_count": 0, **{how: [] for how in HOW}, "reach": [],
        "braked": [], "silenced": [], "budget": sent["budget"], "members": sent["members"], "closed": sent["closed"], "warning": warning, "hint": sent["hint"],
    }  # fmt: skip


def _braked(who: Caller, channel: str, name: str, woken: list[str]) -> Flow:
    """``woken`` if that one is not woken, because the two have only talked. The message is stored: where the broker cannot be asked now, nothing is said of it."""
    try:
        return woken if (yield from brake.since(Caller(who.keys, woken[0]), channel, name, who.me)) else []
    except CouldNotLook:
        return []


def ack(who: Caller, channel: str, seq: int) -> Flow:
    """I have dealt with everything up to ``seq``. Gives ``channel read never_shown``; refuses a number that the channel has not reached."""
    row = (yield messages.ack(who, "-", [(channel, "", "both", seq, 0)]))[0]
    if row["word"] == "gone":
        yield from not_there(who, channel)
    if row["word"] == "beyond":
        raise NoSuchSeq(channel=row["name"], seq=seq, head=row["head"])
    unseen, at = 0, row["read_before"]
    while at < seq:
        passed, at = yield from page(who, channel, row["name"], at, seq)
        unseen += sum(1 for one in passed if unread(one, row["heard_before"]))
    return {"channel": row["name"], "agent": who.agent, "read": row["read"], "never_shown": unseen}


def page(who: Caller, channel: str, name: str, above: int, to: int, count: int = messages.TAKE_COUNT) -> Flow:
    """The next messages above a number, and how far was looked: all of a page may be a stranger's entries, which are no messages."""
    found = yield messages.entries(who.keys, channel, name, who.me, above=above, to=to, count=count)
    return found, found[-1]["seq"] if found else min(to, above + count)


def unread(message: dict[str, Any], heard: int) -> bool:
    """Is this, above my read mark, something that I was not handed whole?"""
    if message["mine"] or message["kind"] == "audit":
        return False
    return not (message["seq"] <= heard and message["for_me"] and message["hooks"] == "whole")


def pending(who: Caller, rooms: Sequence[str] = ()) -> Flow:
    """What waits for me, channel by channel, taking nothing: repeatable with the same answer."""
    pages = yield from _unread(who, rooms)
    return [_waiting(who, name, page, full=full) for name, page, full in pages]


def unseen(who: Caller, rooms: Sequence[str] = ()) -> Flow:
    """The messages that are unread, left unread."""
    pages = yield from _unread(who, rooms)
    return [one for _, page, _ in pages for one in page]


def _unread(who: Caller, rooms: Sequence[str]) -> Flow:
    """(name, unread messages, whether there may be more) of each channel with news."""
    marks, heads = yield [agents.marks(who), channels.heads(who.keys)]
    for room in rooms:
        if room not in marks or room not in heads:
            yield from not_there(who, room)
    asked = [room for room in (rooms or sorted(marks)) if room in heads and heads[room][0] > marks[room]["read"]]
    found = yield [messages.entries(who.keys, room, heads[room][1], who.me, above=marks[room]["read"]) for room in asked]
    rows = []
    for room, some in zip(asked, found, strict=True):
        (head, name), heard = heads[room], marks[room]["heard"]
        at = some[-1]["seq"] if some else min(head, marks[room]["read"] + messages.TAKE_COUNT)
        news = [one for one in some if unread(one, heard)]
        while not news and at < head:  # a page of my own words only
            some, at = yield from page(who, room, name, at, head)  # noqa: PLW2901
            news = [one for one in some if unread(one, heard)]
        if news:
            rows.append((name, news, at < head))
    return rows


def _waiting(who: Caller, name: str, page: list[dict[str, Any]], *, full: bool) -> dict[str, Any]:
    mine = [one for one in page if one["for_me"]]
    rows = [{key: one[key] for key in ("seq", "kind", "from", "to", "wakes", "for_me", "ts")} for one in page]
    return {
        "channel": name, "agent": who.agent, "pending": len(page), "for_you": len(mine), "others": len(page) - len(mine), "wakes_me": bool(mine),
        "senders": sorted({one["from"] for one in mine}), "oldest": page[0]["ts"] if page else None, "more": full, "messages": rows,
    }  # fmt: skip


def owed(who: Caller) -> Flow:
    """Who waits for my answer: messages that woke me, newer than my last words there. Two round trips, however many channels."""
    marks, heads, everyone, debts = yield [agents.marks(who), channels.heads(who.keys), agents.everyone(who.keys), agents.debts(who)]
    asked = []
    for room, mark in marks.items():
        first, last, count = debts.get(room, (0, 0, 0))
        known = {seq for seq in (first, last, *(seq for seq, by in everyone.get(room, ()) if by != who.me)) if seq > mark["spoke"]}
        if room in heads and known:
            asked.append((count, _asks(who, room, heads[room], mark["spoke"], known)))
    found = iter((yield [call for _, calls in asked for call in calls]))
    rows = []
    for count, calls in asked:
        facts, *pages = [next(found) for _ in calls]
        if facts.get("state") == "open":
            rows.append(_debt(who, {one["seq"]: one for page in pages for one in page}, count))
    return [row for row in rows if row]


def _asks(who: Caller, room: str, head: tuple[int, str], spoke: int, known: set[int]) -> list[Any]:
    """What to read of one channel: its facts, its newest messages, and those that are known to wait, however long ago they were."""
    last, name = head
    newest = messages.newest(who.keys, room, name, who.me, to=last, count=OWED_LOOKED_AT, above=spoke)
    return [channels.facts(who.keys, room), newest, *(messages.entries(who.keys, room, name, who.me, above=seq - 1, to=seq, count=1) for seq in sorted(known))]


def _debt(who: Caller, seen: dict[int, dict[str, Any]], count: int) -> dict[str, Any] | None:
    asks = [seen[seq] for seq in sorted(seen) if seen[seq]["for_me"] and not seen[seq]["mine"] and seen[seq]["kind"] == "message"]
    if not asks:
        return None
    last = asks[-1]
    return {
        "channel": last["channel"], "agent": who.agent, "from": last["from"], "seq": last["seq"], "first_seq": asks[0]["seq"], "unanswered": max(len(asks), count),
        "waiting_since": asks[0]["ts"], "text": last["body"],
    }  # fmt: skip


class Span:
    """Which part of a transcript: from ``since`` on (``most`` of it), or the ``newest`` N; with the audits between or without."""

    __slots__ = ("audits", "most", "newest", "since")

    def __init__(self, *, since: int = 0, newest: int | None = None, most: int | None = None, audits: bool = False) -> None:
        self.since, self.newest, self.audits, self.most = since, newest, audits, most


def history(who: Caller, channel: str, span: Span) -> Flow:
    """A transcript, or a part of it, moving no mark and needing no membership.

    Gives ``{"channel" "last_seq" "messages" "older"}``, the last one how many older ones are still there.
    """
    heads, kept = yield [channels.heads(who.keys), channels.length(who.keys, channel)]
    if channel not in heads:
        yield from not_there(who, channel)
    head, name = heads[channel]
    above, found = max(0, span.since - 1), []
    if span.newest is not None:
        found = yield messages.newest(who.keys, channel, name, who.me, to=head, count=span.newest, above=above) if span.newest > 0 else []
    else:
        at, most = above, head if span.most is None else span.most
        while at < head and len(found) < most:
            some, at = yield from page(who, channel, name, at, head, min(messages.TAKE_COUNT, most - len(found)))
            found += some
    oldest, newest = (found[0]["seq"], found[-1]["seq"]) if found else (head + 1, head)
    older = max(0, kept - len(found) - (head - newest))
    if span.audits:
        noted = yield messages.audits(who.keys, channel, name, who.me, above=oldest - 1 if found else above, to=head if span.most is None else newest)
        found = sorted([*found, *noted], key=lambda one: (one["seq"] or one["after"], one["n"] or 0))
    return {"channel": name, "last_seq": head, "messages": found, "older": older}
