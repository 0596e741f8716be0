"""Text for people and agents that a body cannot forge: what a peer wrote stands indented below a header that redischat wrote, and can neither act nor pretend."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

INDENT = "    "
_KEPT = frozenset("\u200d\u200c\u00a0\u3000\u2009\u202f\t")  # joiners of emoji and scripts, spaces: printable in all but name


def inert(text: str) -> str:
    """One line with every control character, direction override and line break made visible: it can neither act nor pretend."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else c.encode("ascii", "backslashreplace").decode() if c > "\x7f" else f"\\x{ord(c):02x}" for c in text)


def field(text: str) -> str:
    """A value in a header line: inert, and without the double spaces that part one field from the next."""
    return inert(" ".join(text.split()))


def quoted(text: str) -> str:
    """``text`` as one word of a command that a shell reads."""
    plain = text.isascii() and all(letter.isalnum() or letter in "%+,-./:=@_" for letter in text)
    return text if plain and text else "'" + text.replace("'", "'\\''") + "'"


def block(text: str, prefix: str = INDENT) -> str:
    """A text of many lines, each inert and indented: no line of it can stand where the tool's own lines stand."""
    lines = text.replace("\r\n", "\n").split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return "".join(f"{prefix}{inert(line)}\n" for line in lines)


def message(one: dict[str, Any], me: str, *, rooms: bool = False) -> str:
    """One message: a header that the tool wrote, the body indented below."""
    number = f"#{one['seq']}" if one["seq"] is not None else f"#{one['after']}.{one['n']}"
    parts = [f"{one['channel']} {number}" if rooms else number, field(one["from"] + aimed(one, me)), when(one["ts"])]
    if one["kind"] != "message":
        parts.append(one["kind"])
    if one["reply_to"]:
        parts.append(f"answers #{one['reply_to']}")
    parts += [f"{key}: {field(one[key])}" for key in ("status", "thread", "title") if one[key] and (key, one[key]) != ("status", "discussion")]
    if one["repeat"]:
        parts.append("repeat: may have been shown before")
    text = "  ".join(parts) + "\n" + block(one["body"])
    if one["cut"]:
        text += f"{INDENT}[cut: {one['cut']} bytes in all; the rest: redischat read {one['channel']} --since {one['seq']} --limit 1]\n"
    return text


def aimed(one: dict[str, Any], me: str) -> str:
    """Whom it wakes; nothing for an unaddressed one."""
    to = one["to"]
    if to is None or one["kind"] != "message":
        return ""
    if isinstance(to, str):
        return " -> everyone" if to == "all" else " -> nobody"
    return " -> " + ", ".join(["you"] * (me in [name.lower() for name in to]) + [name for name in to if name.lower() != me])


def before(note: dict[str, Any]) -> str:
    """What must be known before the first message: a hole where messages were removed, or history that went back."""
    text = ""
    if note.get("gap"):
        first = note["first"]
        low, high = first - note["gap"], first - 1
        text += f"#{note['channel']}: messages {low}-{high} ({note['gap']}) were removed before they were read here\n"
    if note.get("gone_from"):
        text += f"REWOUND #{note['channel']}: messages {note['gone_from']}-{note['gone_to']} are gone (the broker's data was set back); new ones will use these numbers again\n"
    if note.get("busy_until"):
        text += f"#{note['channel']}: another reader of yours is showing this until {when(note['busy_until'])}; what it does not show comes here\n"
    return text


def after(note: dict[str, Any]) -> str:
    """What is left: unread and not shown, or only for others."""
    text = ""
    if note.get("more"):
        text += f"#{note['channel']}: {note['more']} more unread: redischat read {note['channel']}\n"
    if note.get("passive"):
        people = ", ".join(sorted({one["from"] for one in note["previews"]}))
        text += f"#{note['channel']}: {note['passive']} not for you (from {people}), still unread: redischat read {note['channel']}\n"
    return text


def rules(found: dict[str, Any]) -> str:
    """A channel's briefing: fenced, attributed, labelled as the channel's claim. Whoever opened the room wrote it; the tool does not vouch for it."""
    if not found.get("briefing"):
        return ""
    author = found.get("briefing_by") or "someone"
    head = f"House rules of #{found['channel']}, written by {author} on {when(found['briefing_at'])}. They are {author}'s claim, not an instruction from redischat:\n"
    return head + block(found["briefing"], "  | ") + f"End of the house rules of #{found['channel']}.\n"


def when(iso: str | None) -> str:
    """``2026-11-30T22:25:44.123Z`` as ``2026-11-30 22:25:44Z``."""
    return f"{iso[:10]} {iso[11:19]}Z" if iso else "never"


def age(seconds: float) -> str:
    """How long ago, in its largest unit: ``40 s``, ``7 min``, ``3 h``, ``2 d``."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def few(items: Sequence[str], most: int) -> str:
    """The first of these, then a count."""
    return ", ".join(items[:most]) + (f" and {len(items) - most} more" if len(items) > most else "")


def listed(names: list[str], count: int) -> str:
    """Names up to the number a receipt shows, then a count."""
    if count <= len(names):
        return ", ".join(names) or "nobody"
    return f"{', '.join(names)} and {count - len(names)} more" if names else f"{count} agents"
