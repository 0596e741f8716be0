"""say, read, ack, peek, pending, owed, wait, export, import."""

from __future__ import annotations

import time

from .. import names
from ..calls import agents
from ..calls import messages as calls
from ..calls.call import fresh
from ..errors import NotMember, Usage
from ..flows import channels, reading, standing
from ..flows import messages as flows
from ..text import block, inert, message, when
from .receipt import receipt
from .seat import once, text_of
from .show import Shower, put, record, records
from .show import say as remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..calls.call import Caller
    from .seat import Seat

SECONDS = 900
PEEKED = 3
PREVIEW = 300  # characters of a question in `owed`


def say(
    seat: Seat,
    *,
    channel: str,
    text: str | None = None,
    file: str | None = None,
    body: str | None = None,
    body_file: str | None = None,
    to: str | None = None,
    to_all: bool = False,
    to_none: bool = False,
    reply: int | None = None,
    thread: str | None = None,
    title: str | None = None,
    status: str | None = None,
    idem: str | None = None,
    stdin: bool = False,
) -> int:
    """Post a message and tell whom it reached."""
    if sum((bool(to), to_all, to_none)) > 1 or (to is not None and not to.strip()):
        raise Usage(message="give one of --to a,b, --to-all, --to-none (none of them: the channel's default)")
    everyone = to is not None and to.strip().lower() == "all"  # agent-chat's word for the default
    said = _said(text, file, body, body_file, stdin=stdin)
    draft = calls.Draft(
        names.body(said), to=names.listed(to) if to and not everyone else (), audience="all" if to_all else "none" if to_none else "", reply_to=reply,
        thread=names.line("thread", thread or ""), title=names.line("title", title or ""), status=names.line("status", status or "discussion"),
    )  # fmt: skip
    if len(draft.to) > names.NAMED:
        raise Usage(message=f"{len(draft.to)} names: more than {names.NAMED} is everyone: --to-all")
    got = seat.drive(flows.say(seat.caller(), names.room(channel), draft, once(idem)))
    put(record(got) if seat.json else receipt(got))
    return 0


def _said(text: str | None, file: str | None, body: str | None, body_file: str | None, *, stdin: bool) -> str:
    given = [one for one in ((text, None), (None, file), (body, None), (None, body_file)) if one != (None, None)]
    if len(given) > 1:
        raise Usage(message="give the message once: TEXT, --file F, or '-' for standard input")
    if not given and not stdin:
        raise Usage(message="no message: give TEXT, --file F, or '-' for standard input (the way that no shell can change)")
    if not given:
        import os

        if os.isatty(0):
            remark("type the message, end with ^D")
    said, source = given[0] if given else ("-", None)
    return text_of(said, source, "message") or ""


def read(
    seat: Seat,
    *,
    channel: str | None = None,
    all_: bool = False,
    peek: bool = False,
    since: int | None = None,
    since_summary: bool = False,
    limit: int | None = None,
    mine: bool = False,
    audit: bool = False,
) -> int:
    """Hand out what is new, or show a transcript."""
    room = names.room(channel) if channel is not None else None
    if all_ or audit or since_summary or since is not None:
        if room is None:
            raise Usage(message="which channel? redischat read CHANNEL --all")
        return _transcript(seat, room, since, limit, summary=since_summary, audits=all_ or audit)
    who = seat.caller()
    if peek:
        return _unread(seat, who, room, limit)
    limits = reading.Limits(**({} if limit is None else {"count": limit}))
    got = seat.drive(
        reading.read(who, [room] if room else [], fresh(6), limits, time.monotonic, "hear" if mine else "read"),
        Shower(who.me, as_json=seat.json, rooms=room is None),
    )
    if not got.messages and not got.notes and not seat.json:
        put(_nothing(seat, who, room))
    return 0


def _nothing(seat: Seat, who: Caller, room: str | None) -> str:
    if room is None:
        return f"nothing new for {who.agent}. What there is: redischat channels\n"
    facts, _, last_seq = seat.drive(channels.known(who, room))
    closed = f" It is closed: {inert(facts['reason'])}." if facts["state"] == "closed" else ""
    past = f"All {last_seq} again: redischat read {room} --all" if last_seq else "Nothing was ever said here."
    return f"nothing new for {who.agent} in #{facts['name']}.{closed} {past}\n"


def _transcript(seat: Seat, room: str, since: int | None, limit: int | None, *, summary: bool, audits: bool) -> int:
    who = seat.onlooker()
    if summary:
        since = seat.drive(channels.known(who, room))[0].get("summary")
        if not since:
            put(
                ""
                if seat.json
                else f"#{room} has no summary yet. Leave one: redischat say {room} --status summary --file F. What was said: redischat read {room} --all\n"
            )
            return 0
        since = int(since)
    span = flows.Span(since=since or 0, newest=limit if since is None else None, most=limit, audits=audits)
    got = seat.drive(flows.history(who, room, span))
    shown = got["messages"]
    if seat.json:
        records(shown)
        return 0
    if got["older"] and span.newest is not None:
        put(f"#{got['channel']}: {got['older']} older: redischat read {room} --all\n")
    for one in shown:
        put(message(one, who.me))
    last = (shown[-1]["seq"] or shown[-1]["after"]) if shown else got["last_seq"]
    if span.newest is None and last < got["last_seq"]:
        put(f"#{got['channel']}: {got['last_seq'] - last} more: redischat read {room} --since {last + 1}\n")
    if not shown:
        put(_end(got))
    return 0


def _end(got: dict[str, Any]) -> str:
    """What is said of a transcript that has nothing to show."""
    return f"#{got['channel']} ends at #{got['last_seq']}\n" if got["last_seq"] else f"#{got['channel']}: nothing was ever said here\n"


def _unread(seat: Seat, who: Caller, room: str | None, limit: int | None) -> int:
    """What is new, left unread."""
    found = seat.drive(flows.unseen(who, [room] if room else []))
    _somewhere(seat, who, found)
    shown = found if limit is None else found[-limit:] if limit else []
    if seat.json:
        records(shown)
    elif not shown:
        put(f"nothing new for {who.agent}\n")
    else:
        if len(shown) < len(found):
            put(f"{len(found) - len(shown)} older ones are unread too\n")
        for one in shown:
            put(message(one, who.me, rooms=room is None))
    return 0


def _somewhere(seat: Seat, who: Caller, found: list[dict[str, Any]]) -> None:
    """Nothing for one that is in no channel is another thing than nothing new: say so."""
    if not found and not seat.run(agents.rooms(who.keys, who.me)):
        remark(NotMember(channel="", agent=who.agent).sentence())


def ack(seat: Seat, *, channel: str, seq: int) -> int:
    """Everything up to a message is dealt with."""
    got = seat.drive(flows.ack(seat.caller(), names.room(channel), seq))
    never = f"; {got['never_shown']} of these were never shown" if got["never_shown"] else ""
    put(record(got) if seat.json else f"acked #{got['channel']} up to #{got['read']}{never}\n")
    return 0


def peek(seat: Seat, *, channel: str, count: int = PEEKED, audit: bool = False) -> int:
    """The newest messages."""
    room = names.room(channel)
    who = seat.onlooker()
    got = seat.drive(flows.history(who, room, flows.Span(newest=count, audits=audit)))
    if seat.json:
        records(got["messages"])
    elif not got["messages"]:
        put(_end(got))
    else:
        put("".join(message(one, who.me) for one in got["messages"]))
        if got["older"]:
            put(f"{got['older']} older: redischat read {room} --all\n")
    return 0


def pending(seat: Seat, *, channel: str | None = None) -> int:
    """What waits, taking nothing."""
    who = seat.caller()
    found = seat.drive(flows.pending(who, [names.room(channel)] if channel is not None else []))
    _somewhere(seat, who, found)
    if seat.json:
        records(found)
        return 0
    for one in found:
        more = "+" if one["more"] else ""
        senders = f" (from {', '.join(one['senders'])})" if one["senders"] else ""
        put(
            f"#{one['channel']}: {one['for_you']}{more} for you{senders}, {one['others']}{more} for others, oldest {when(one['oldest'])}: redischat read {one['channel']}\n"
        )
    if not found:
        put(f"nothing waits for {who.agent}\n")
    return 0


def owed(seat: Seat) -> int:
    """Who waits for an answer."""
    who = seat.caller()
    found = seat.drive(flows.owed(who))
    _somewhere(seat, who, found)
    if seat.json:
        records(found)
        return 0
    for one in found:
        text = one["text"] if len(one["text"]) <= PREVIEW else one["text"][:PREVIEW] + " ..."
        count = f" ({one['unanswered']} unanswered since #{one['first_seq']})" if one["unanswered"] > 1 else ""
        put(f"#{one['channel']} #{one['seq']}: {one['from']} waits for you since {when(one['waiting_since'])}{count}\n")
        put(f"{block(text)}  answer: redischat say {one['channel']} - --reply {one['seq']} --to {one['from']}   (or --to-none to wake nobody)\n")
    if not found:
        put(f"{who.agent} owes nobody an answer\n")
    return 0


def wait(
    seat: Seat,
    *,
    channels: tuple[str, ...] = (),
    timeout: float = SECONDS,
    from_: str | None = None,
    reply_to: int | None = None,
    any_: bool = False,
    interval: float | None = None,
) -> int:
    """Return when something for me arrives, and show it."""
    if interval is not None:
        remark("--interval is not needed: wait sleeps on a doorbell and asks nothing while idle")
    who = seat.caller()
    rooms = [names.room(one) for one in channels]
    asked = reading.Waiting(
        rooms, seconds=max(0.0, timeout), which="any" if any_ else "wakes", sender=names.agent(from_) if from_ is not None else "", reply_to=reply_to
    )
    seat.drive(standing.wait(who, asked, fresh(6), time.monotonic, fresh(16)), Shower(who.me, as_json=seat.json, rooms=len(rooms) != 1))
    return 0


def export(seat: Seat, *, channel: str, directory: str, follow: bool = False) -> int:
    """A channel as a folder of markdown files."""
    from .transcript import export as run

    return run(seat, names.room(channel), directory, follow=follow)


def import_folder(seat: Seat, *, directory: str, channel: str | None = None, repo: str | None = None) -> int:
    """A folder of markdown files as a channel."""
    from .transcript import import_folder as run

    return run(seat, directory, channel, repo)
