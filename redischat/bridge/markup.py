"""Text between redischat and Slack's mrkdwn: out so that nothing in it acts or pretends, in so that it reads as it did there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..text import inert

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..models import Message

PART = 3_600  # characters of one post, its head not counted; Slack recommends 4,000 with it
MOST = 5  # posts of one message
PIECE = 600  # characters of a line that is too long: escaped, and with everything in it unseen, it still fits
FENCE = "```"
_EVERYBODY = re.compile(r"@(?=(?:here|channel|everyone|group)\b)", re.IGNORECASE)
_HEADLIKE = re.compile(r"\W*\*[^*\n]+\*[^\w\n]*:")
_CONTROL = re.compile(r"<([^<>\n]*)>")
_UNSEEN = "\u200b"


def escaped(text: str) -> str:
    """Text that Slack shows as it is: no link, no mention, no command, nobody pinged."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _EVERYBODY.sub("@" + _UNSEEN, text)


def posts(one: Message) -> list[str]:
    """A message as posts, each headed by who said it. A line of the body that looks like such a head is marked; a fence that is cut is closed and reopened."""
    head = f"*{escaped(one.sender)}*"
    title = f"_{escaped(inert(one.title))}_\n" if one.title else ""
    if one.kind != "message":
        return [f"_{escaped(inert(one.body))[:PART]}_"]
    found = list(_split(one.body, MOST, alone=bool(title)))
    if len(found) > MOST:
        size = len(one.body.encode())
        found[MOST - 1 :] = [f"{found[MOST - 1]}\n[cut: {size:,} bytes in all; all of it: `redischat read {one.channel.lower()} --since {one.seq} --limit 1`]"]
    return [f"{head}{f' ({n}/{len(found)})' if n > 1 else ''}: {title if n == 1 else ''}{text}" for n, text in enumerate(found, 1)]


def _split(body: str, most: int, *, alone: bool) -> Iterator[str]:
    """The body in parts that Slack takes whole; when there are more than ``most``, one more than that. ``alone``: its first line stands below the head."""
    part, fenced, count = "", False, 0
    for piece in _pieces(body, alone=alone):
        if part and len(part) + len(piece) > PART:
            yield part.strip("\n") + (f"\n{FENCE}" if fenced else "")
            count += 1
            if count > most:
                return
            part = f"{FENCE}\n" if fenced else ""
        part += piece
        fenced ^= piece.count(FENCE) % 2 == 1
    yield part.strip("\n") + (f"\n{FENCE}" if fenced else "")


def _pieces(body: str, *, alone: bool) -> Iterator[str]:
    for n, line in enumerate(body.replace("\r\n", "\n").split("\n")):
        seen = inert(line)
        mark = "| " if (n or alone) and _HEADLIKE.match(line) else ""
        for at in range(0, max(1, len(seen)), PIECE):
            yield (("\n" if n else "") + mark if not at else "") + escaped(seen[at : at + PIECE])


def plain(text: str, called: Callable[[str], str]) -> str:
    """Slack's text as its reader sees it; ``called`` gives a user's name."""

    def shown(found: re.Match[str]) -> str:
        what, bar, label = found[1].partition("|")
        if what.startswith("@"):
            return "@" + called(what[1:])
        if what.startswith("#"):
            return "#" + (label or what[1:])
        if what.startswith("!"):
            return label or "@" + what[1:].partition("^")[0]
        address = what.removeprefix("mailto:")
        return f"{label} ({address})" if bar and label not in (address, what, address.partition("://")[2]) else address

    return _CONTROL.sub(shown, text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def mentioned(text: str) -> list[str]:
    """The ids of the users that a Slack text mentions."""
    return [found.partition("|")[0][1:] for found in _CONTROL.findall(text) if found.startswith("@")]
