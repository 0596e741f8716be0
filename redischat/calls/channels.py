"""Channels: opening, joining, leaving, closing, and what each one is."""

from __future__ import annotations

from ..keys import FORMAT
from .call import Call, Caller, Once, fresh, iso, keyed, maybe, pairs, plain, run, several, yes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..keys import Keys

_BOARD = ("tasks", "texts", "links", "ready", "leases", "claims", "event_marks")
SCAN_MEMBERS = 25  # of a large channel only so many are looked at for a receipt; a small one is answered whole


def open(
    who: Caller,
    name: str,
    *,
    topic: str = "",
    briefing: str = "",
    mode: str = "",
    cap: int | None = None,
    since: int | None = None,
    members: Sequence[str] = (),
    once: Once,
) -> Call:
    """Create or join a channel (channel_open.lua). Gives ``channel new joined head ignored``."""
    keys, channel = who.keys, name.lower()
    members = [one for one in members if one.lower() != who.me]

    def opened(words: list[Any]) -> dict[str, Any]:
        new, written, joined, head, ignored = words
        return {"channel": written, "new": yes(new), "joined": joined, "last_seq": int(head), "ignored": several(ignored)}

    return run(
        "channel_open",
        {
            "world": keys.meta, **keyed(keys, channel, "meta", "members", "heads", "agents", "broadcasts"),
            "idem": keys.idem("open", who.me, once.key, channel), "opened": keys.opened, "marks": keys.marks(who.me), "bell": keys.bell(who.me),
        },
        {
            "format": FORMAT, "channel": channel, "name": name, "me": who.me, "display": who.agent, "token": who.token, "keep": once.seconds, "epoch": fresh(4),
            "topic": topic, "briefing": briefing, "mode": mode, "cap": maybe(cap), "since": maybe(since),
        },
        opened, [key for one in members for key in (keys.marks(one.lower()), keys.bell(one.lower()))], members,
    )  # fmt: skip


def leave(who: Caller, channel: str, *, once: Once) -> Call:
    """Leave (channel_leave.lua). Gives ``channel left closed members``; ``left`` is False for one who had left before."""
    keys = who.keys
    return run(
        "channel_leave",
        {
            **keyed(keys, channel, "stream", "meta", "members", "heads", "agents"), "marks": keys.marks(who.me), "owed": keys.owed(who.me),
            "scratch": keys.scratch(who.me), "idem": keys.idem("leave", who.me, once.key, channel), **keyed(keys, channel, "room", "live"), "bell": keys.bell(who.me),
        },
        {"channel": channel, "me": who.me, "token": who.token, "keep": once.seconds},
        lambda words: {"channel": words[1], "left": words[0] == "left", "closed": yes(words[2]), "members": int(words[3])},
    )  # fmt: skip


def close(who: Caller, channel: str, reason: str, *, once: Once) -> Call:
    """Close (channel_close.lua). Gives ``channel closed reason``; ``closed`` is False, with the reason it had, for one that was closed already."""
    keys = who.keys
    return run(
        "channel_close",
        {
            **keyed(keys, channel, "stream", "meta", "members", "heads", "agents"), "scratch": keys.scratch(who.me), "idem": keys.idem("close", who.me, once.key, channel),
            **keyed(keys, channel, "room", "live"),
        },
        {"channel": channel, "me": who.me, "token": who.token, "keep": once.seconds, "reason": reason},
        lambda words: {"channel": words[1], "closed": words[0] == "closed", "reason": words[2] or reason},
    )  # fmt: skip


def reopen(who: Caller, channel: str, *, cap: int | None = None, once: Once) -> Call:
    """Reopen, or raise the cap of an open one (channel_reopen.lua). Gives ``channel how max_messages messages members``."""
    keys = who.keys
    return run(
        "channel_reopen",
        {**keyed(keys, channel, "stream", "meta", "heads", "agents"), "idem": keys.idem("reopen", who.me, once.key, channel), "live": keys.live(channel)},
        {"channel": channel, "me": who.me, "token": who.token, "keep": once.seconds, "cap": maybe(cap)},
        lambda words: {"channel": words[1], "how": words[0], "max_messages": int(words[2]), "messages": int(words[3]), "members": int(words[4])},
    )


def mode(who: Caller, channel: str, to: str, text: str, *, once: Once) -> Call:
    """Change the mode, with the notice's ``text`` (channel_mode.lua). Gives ``channel changed mode members``."""
    keys = who.keys
    return run(
        "channel_mode",
        {
            **keyed(keys, channel, "stream", "meta", "members", "heads", "agents", "broadcasts"),
            "idem": keys.idem("mode", who.me, once.key, channel),
            "live": keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "keep": once.seconds, "mode": to, "text": text},
        lambda words: {"channel": words[1], "changed": words[0] == "changed", "mode": words[2], "members": int(words[3])},
    )


def briefing(who: Caller, channel: str, rules: str, text: str, *, once: Once) -> Call:
    """Set the house rules, with the notice's ``text`` (channel_briefing.lua). Gives ``channel briefing briefing_by briefing_at``."""
    keys = who.keys
    return run(
        "channel_briefing",
        {
            **keyed(keys, channel, "stream", "meta", "members", "heads", "agents"),
            "idem": keys.idem("briefing", who.me, once.key, channel),
            "live": keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "keep": once.seconds, "briefing": rules, "text": text},
        lambda words: {"channel": words[0], "briefing": rules, "briefing_by": words[1], "briefing_at": iso(words[2])},
    )


def delete(who: Caller, channel: str, members: Sequence[str], *, once: Once) -> Call:
    """Destroy a channel and its messages (channel_delete.lua); ``members`` as read just before. Gives ``channel messages``."""
    keys = who.keys
    return run(
        "channel_delete",
        {
            **keyed(keys, channel, "stream", "audits", "events", *_BOARD, "meta", "members", "heads", "agents", "broadcasts", "everyone", "hinted", "leased"),
            "scratch": keys.scratch(who.me), "idem": keys.idem("delete", who.me, once.key, channel), **keyed(keys, channel, "room", "live"),
        },
        {"channel": channel, "me": who.me, "token": who.token, "keep": once.seconds},
        lambda words: {"channel": words[0], "messages": int(words[1])},
        [key for one in members for key in (keys.marks(one), keys.owed(one), keys.bell(one))],
    )  # fmt: skip


def retain(who: Caller, channel: str, most: int, *, once: Once) -> Call:
    """One step of forgetting all but the newest ``most`` (channel_retain.lua). Gives ``channel removed messages``."""
    keys = who.keys
    return run(
        "channel_retain",
        {
            **keyed(keys, channel, "stream", "audits", "meta", "members", "heads", "agents"),
            "scratch": keys.scratch(who.me),
            "idem": keys.idem("retain", who.me, once.key, channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "keep": once.seconds, "most": most},
        lambda words: {"channel": words[0], "removed": int(words[1]), "messages": int(words[2])},
    )


def repair(who: Caller, channel: str, members: Sequence[str] = ()) -> Call:
    """Make a damaged channel whole (channel_repair.lua); ``members`` as read just before. Gives ``channel kept dropped mended{}``; a whole one stays as it is."""
    keys = who.keys

    def repaired(words: list[Any]) -> dict[str, Any]:
        name, kept, dropped, marks, count = words
        mended = {what: int(number) for what, number in (("marks", marks), ("member count", count)) if int(number)}
        return {"channel": name, "kept": int(kept), "dropped": int(dropped), "mended": mended}

    return run(
        "channel_repair",
        keyed(keys, channel, "stream", "draft", "meta", "members", "heads", "agents"),
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent}, repaired, [keys.marks(one) for one in members],
    )  # fmt: skip


def repair_audits(who: Caller, channel: str) -> Call:
    """Make a channel's audits whole (audit_repair.lua). Gives ``channel kept dropped``."""
    keys = who.keys
    return run(
        "audit_repair",
        {"stream": keys.channel(channel, "audits"), "draft": keys.channel(channel, "draft"), "heads": keys.heads, "agents": keys.agents},
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent},
        lambda words: {"channel": words[0], "kept": int(words[1]), "dropped": int(words[2])},
    )


def brake(keys: Keys, channel: str, pair: str, since: int, sender: str, text: str) -> Call:
    """Say once that two agents do not wake each other any more (channel_brake.lua). Gives whether it was said now."""
    return run(
        "channel_brake",
        keyed(keys, channel, "stream", "heads", "hinted", "live"),
        {"channel": channel, "pair": pair, "since": since, "from": sender, "text": text},
        lambda words: yes(words[0]),
    )


def facts(keys: Keys, channel: str) -> Call:
    """What a channel is, as its hash says; {} when there is none."""
    return plain("HGETALL", keys.channel(channel, "meta"), read=pairs)


def members(keys: Keys, channel: str) -> Call:
    """Agent, as compared -> ``agent here since``, whoever is or was in the channel."""
    return plain("HGETALL", keys.channel(channel, "members"), read=lambda flat: {name: member(text) for name, text in pairs(flat).items()})


def some_members(keys: Keys, channel: str) -> Call:
    """As :func:`members`; of a large channel only a few, at no cost that grows with it."""
    return plain(
        "HSCAN", keys.channel(channel, "members"), 0, "COUNT", SCAN_MEMBERS, read=lambda reply: {name: member(text) for name, text in pairs(reply[1]).items()}
    )


def member(text: str) -> dict[str, Any]:
    """One member's record (scripts/parts/join.lua)."""
    display, place, since = text.split(" ")[:3]
    return {"agent": display, "here": place == "in", "since": iso(since)}


def heads(keys: Keys) -> Call:
    """Every channel of the workspace, as compared -> (last seq, name as written)."""
    return plain("HGETALL", keys.heads, read=lambda flat: {channel: _place(text)[::2] for channel, text in pairs(flat).items()})


def places(keys: Keys) -> Call:
    """Every channel of the workspace, as compared -> (last seq, epoch, name as written)."""
    return plain("HGETALL", keys.heads, read=lambda flat: {channel: _place(text) for channel, text in pairs(flat).items()})


def place(keys: Keys, channel: str) -> Call:
    """``(last seq, epoch, name as written)`` of a channel; None if there is none."""
    return plain("HGET", keys.heads, channel, read=lambda text: _place(text) if text else None)


def near(channel: str, known: dict[str, tuple[int, str]]) -> str | None:
    """The one of these :func:`heads` that was probably meant."""
    from ..names import nearest

    return nearest(channel, [name for _, name in known.values()])


def _place(text: str) -> tuple[int, str, str]:
    """A channel's head as it is kept (scripts/parts/head.lua)."""
    head, epoch, name = text.split(" ")
    return int(head), epoch, name


def length(keys: Keys, channel: str) -> Call:
    """How many messages are kept."""
    return plain("XLEN", keys.channel(channel, "messages"), read=int)


def board_size(keys: Keys, channel: str) -> Call:
    """How many tasks there are."""
    return plain("HLEN", keys.channel(channel, "tasks"), read=int)


def record(found: dict[str, Any], here: list[str], done: list[str], last_seq: int) -> dict[str, Any]:
    """One channel as the record that ``channels --json`` gives."""
    state = found["state"]
    return {
        "channel": found["name"], "topic": found["topic"] or None, "members": here, "done": done, "broadcast": found["mode"] == "broadcast",
        "closed": state == "closed", "closed_reason": found["reason"] or None, "briefing": found["briefing"] or None,
        "briefing_by": found["briefing_by"] or None, "briefing_at": iso(found["briefing_at"]), "messages": int(found["talk"]),
        "max_messages": int(found["cap"]), "last_seq": last_seq, "joinable": state == "open",
        "summary": int(found["summary"]) if found.get("summary") else None,
        "created_by": found["created_by"] or None, "created_at": iso(found["created_at"]),
    }  # fmt: skip
