"""read, wait, peek: messages on their way to a model, whole where they fit, and read only once they have left."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from .. import names
from ..aio.errand import AsyncErrand
from ..calls.call import fresh
from ..errors import Refused, TimedOut, Usage
from ..flows import channels, reading, standing
from ..flows import messages as flows
from ..text import after, before, message
from .answers import MOST, Answer, size
from .delivery import Held

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ..aio.client import AsyncClient
    from .request import Request

WAIT_S = 50.0  # clients give up after 60
WAITS = 4  # at once
TELL_S = 5.0  # between two signs of life
BODIES = 8_000  # bytes of text that one answer takes in hand: it is there as text and in the record
ROOM = MOST - 1_500  # the rest: notes and the envelope
COUNT = 100


async def read(
    chat: AsyncClient, *, channel: str | None = None, limit: int | None = None, since: int | None = None, offset: int = 0, mine: bool = False,
    audits: bool = False, since_summary: bool = False,
) -> Answer:  # fmt: skip
    """What is new; with ``since`` a transcript."""
    rooms = [room(channel)] if channel else []
    names.whole(1, limit=limit)
    if since is not None or audits or since_summary:
        if not rooms:
            raise Usage(message="which channel? A transcript is of one: give channel")
        return await transcript(chat, rooms[0], Part(since=since or 0, limit=limit, offset=offset, audits=audits, summary=since_summary))
    limits = reading.Limits(min(limit or COUNT, COUNT), BODIES)
    flow = reading.read(chat.seat(), rooms, fresh(6), limits, time.monotonic, "hear" if mine else "read")
    return await _handed(chat, flow, rooms, "nothing new")


async def wait(
    chat: AsyncClient, *, call: Request, channels: Sequence[str] = (), timeout: float = WAIT_S, sender: str | None = None, reply_to: int | None = None,  # noqa: ASYNC109 - the verb's own
    any: bool = False,  # noqa: A002
) -> Answer:  # fmt: skip
    """Sleep until a message wakes the agent, and give it; nothing is consumed when nobody is there to take it."""
    place = call.place
    if place.waits >= WAITS:
        raise Refused(message=f"{WAITS} waits are running already, and one is enough: without channels it listens to all of yours. Wait for them to end")
    rooms = [room(one) for one in channels]
    seconds = min(max(0.0, timeout), place.longest)
    asked = reading.Waiting(
        rooms,
        seconds=seconds,
        which="any" if any else "wakes",
        sender=names.agent(sender) if sender else "",
        reply_to=reply_to,
        limits=reading.Limits(COUNT, BODIES),
    )
    flow = standing.wait(chat.seat(), asked, fresh(6), time.monotonic, fresh(16))
    place.waits += 1
    alive = asyncio.create_task(_tell(call, seconds))
    try:
        return await _handed(chat, flow, rooms, "nothing yet")
    except TimedOut:
        said = f"nothing yet in {seconds:g} s, and nothing was consumed: call wait again, or go on with something else"
        return Answer({"messages": [], "timed_out": True, "next": said}, said + "\n")
    finally:
        place.waits -= 1
        alive.cancel()


async def _tell(call: Request, seconds: float) -> None:
    """Let the client see that the wait lives."""
    begun = time.monotonic()
    while True:
        await asyncio.sleep(TELL_S)
        await call.progress(time.monotonic() - begun, seconds, "waiting")


async def _handed(chat: AsyncClient, flow: Generator[Any, Any, Any], rooms: list[str], nothing: str) -> Answer:
    """Take in hand what the flow shows, as much as one answer holds. It stays in hand until the answer has left."""
    errand, told = AsyncErrand(chat.connection, flow), []
    try:
        show = await errand.go()
        while show is not None and not show.messages and any(note.get("circle") for note in show.notes):
            told += show.notes  # the wait goes on: others wait for this one in a circle
            show = await errand.go(0)
        if show is None:
            found = errand.result
            await errand.close()
            notes = [*told, *(getattr(found, "notes", None) or ())]
            text = "".join(map(before, notes)) + f"{nothing} for {chat.agent}\n"
            return Answer({"messages": [], **_noted(notes)}, text)
        rows, text, shown = _filled(show.messages, str(chat.agent).lower(), rooms=len(rooms) != 1)
        notes = _left([*told, *show.notes], show.messages[shown:])
    except BaseException:
        await errand.close()
        raise
    whole = "".join(map(before, notes)) + text + "".join(map(after, notes)).replace("redischat read ", "read ")
    return Answer({"messages": rows, **_noted(notes)}, whole, Held(chat, errand, shown))


def _left(notes: list[dict[str, Any]], over: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The notes, with what was taken in hand and had no room counted as unread."""
    made = [dict(one) for one in notes]
    for one in over:
        note = next((note for note in made if note["channel"] == one["channel"] and "more" in note), None)
        if note is None:
            note = {"kind": "read", "channel": one["channel"], "more": 0, "gap": 0, "busy_until": None}
            made.append(note)
        note["more"] += 1
    return made


def _noted(notes: list[dict[str, Any]]) -> dict[str, Any]:
    shown = [{name: value for name, value in note.items() if value not in (None, 0, "", [])} for note in notes]
    more = sum(note.get("more", 0) for note in notes)
    said = {"more": more, "next": f"{more} more unread: call read again"} if more else {}
    return {"notes": shown, **said} if shown else said


def _filled(messages: list[dict[str, Any]], me: str, *, rooms: bool, used: int = 0) -> tuple[list[dict[str, Any]], str, int]:
    """As many of these messages as one answer holds, at least one: as records, as text, and how many."""
    rows: list[dict[str, Any]] = []
    text = ""
    for one in messages:
        row, said = _shown(one, me, rooms=rooms)
        if rows and used + size(row, said) > ROOM:
            break
        if not rows and size(row, said) > ROOM:
            row, said = _shown(_shortened(one, me), me, rooms=rooms)
        rows.append(row)
        text += said
        used += size(row, said)
    return rows, text, len(rows)


def _shown(one: dict[str, Any], me: str, *, rooms: bool) -> tuple[dict[str, Any], str]:
    row = {name: value for name, value in one.items() if value is not None and name != "facts"}
    text = message(one, me, rooms=rooms)
    if one["cut"] and one["seq"] is not None:
        row["next_offset"] = one.get("offset", 0) + len(one["body"])
        head, _, _ = text.rpartition("    [cut: ")
        text = f"{head}    [cut: {one['cut']} bytes in all; the rest: read(channel={one['channel']!r}, since={one['seq']}, offset={row['next_offset']})]\n"
    return row, text


def _shortened(one: dict[str, Any], me: str) -> dict[str, Any]:
    """A message whose text alone is more than an answer holds: its beginning. Control characters take up to ten times their room."""
    body, low, high = one["body"], 1, len(one["body"])
    cut = one["cut"] or one.get("whole") or len(body.encode("utf-8", "replace"))
    while low < high:
        middle = (low + high + 1) // 2
        if size(*_shown({**one, "body": body[:middle], "cut": cut}, me, rooms=True)) <= ROOM:
            low = middle
        else:
            high = middle - 1
    return {**one, "body": body[:low], "cut": cut}


class Part:
    """Which part of a transcript: from ``since`` on, or the ``newest``; ``offset``: the first message's text from this character on."""

    __slots__ = ("audits", "limit", "newest", "offset", "since", "summary")

    def __init__(
        self, *, since: int = 0, newest: int | None = None, limit: int | None = None, offset: int = 0, audits: bool = False, summary: bool = False
    ) -> None:
        self.since, self.newest, self.limit, self.offset, self.audits, self.summary = since, newest, limit, offset, audits, summary


async def peek(chat: AsyncClient, channel: str, *, limit: int = 3, audits: bool = False) -> Answer:
    """The newest messages, moving nothing."""
    return await transcript(chat, room(channel), Part(newest=max(1, min(limit, COUNT)), audits=audits))


async def transcript(chat: AsyncClient, name: str, part: Part) -> Answer:
    """A part of what was said; no mark moves."""
    who = chat.seat(anybody=True)
    if part.summary:
        facts = (await chat.drive(channels.known(who, name)))[0]
        if not facts.get("summary"):
            said = f"#{name} has no summary yet: say one with status 'summary'"
            return Answer({"channel": name, "messages": [], "next": said}, said + "\n")
        part.since = int(facts["summary"])
    most = None if part.newest is not None else min(part.limit or COUNT, COUNT)
    got = await chat.drive(flows.history(who, name, flows.Span(since=part.since, newest=part.newest, most=most, audits=part.audits)))
    found = got["messages"]
    if found and part.offset:
        rest, whole = found[0]["body"][part.offset :], len(found[0]["body"].encode("utf-8", "replace"))
        found[0] = {**found[0], "body": rest, "offset": part.offset, "whole": whole}
    if part.newest is not None:
        found = _newest(found, who.me)
    rows, text, shown = _filled(found, who.me, rooms=False)
    record = {"channel": got["channel"], "messages": rows, "last_seq": got["last_seq"]}
    last = next((one["seq"] or one["after"] for one in reversed(found[:shown])), got["last_seq"])
    if part.newest is None and last < got["last_seq"]:
        record["more"] = got["last_seq"] - last
        record["next"] = f"{record['more']} more: read(channel={got['channel']!r}, since={last + 1})"
    older = found[0]["seq"] - 1 if part.newest is not None and found and found[0]["seq"] else 0
    if older:
        record["older"] = older
        record["next"] = f"{older} older: read(channel={got['channel']!r}, since=1)"
    text += f"#{got['channel']}: {record['next']}\n" if "next" in record else "" if rows else f"#{got['channel']} ends at #{got['last_seq']}\n"
    return Answer(record, text)


def _newest(found: list[dict[str, Any]], me: str) -> list[dict[str, Any]]:
    """The newest that one answer holds: the older ones give way."""
    while len(found) > 1 and sum(size(*_shown(one, me, rooms=False)) for one in found) > ROOM:
        found = found[1:]
    return found


def room(channel: str) -> str:
    """A channel's name as keys hold it."""
    return names.channel(channel).lower()
