"""What a workspace, channel or agent may be called, and what a text may hold."""

from __future__ import annotations

from .errors import BadName, BadText, TooLarge

MESSAGE_BYTES = 256 * 1024
BRIEFING_CHARS = 2_000
LINE_CHARS = 500  # a topic, title, status, thread or reason
NAMED = 50  # recipients of one message: their bells and debts are keys of one script

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_REST = _FIRST | frozenset("._-")
_KEPT = frozenset(("all", "none", "everyone", "tool", "redischat"))
_LONGEST = 64


def name(kind: str, text: str) -> str:
    """``text`` if it may name a ``kind``. One rule for all kinds; compare with :func:`same`.

    Raises:
        BadName: it breaks the rule.
    """
    low = text.lower()
    if not 1 <= len(low) <= _LONGEST or low[0] not in _FIRST or not _REST.issuperset(low) or low[-1] == "." or low in _KEPT or not text.isascii():
        raise BadName(kind=kind, name=text)
    return text


def channel(text: str) -> str:
    """A channel's name; ``#dock`` is ``dock``."""
    return name("channel", text[1:] if text.startswith("#") else text)


def agent(text: str) -> str:
    """An agent's name."""
    return name("agent", text)


def listed(text: str) -> tuple[str, ...]:
    """The agents of ``a, b``, each once, as written."""
    seen: dict[str, str] = {}
    if not all(part.strip() for part in text.split(",")):
        raise BadName(kind="agent", name=text)
    for part in text.split(","):
        seen.setdefault(part.strip().lower(), agent(part.strip()))
    return tuple(seen.values())


def same(text: str) -> str:
    """The form that names are compared and stored in."""
    return text.lower()


def body(text: str) -> str:
    """``text`` if it may be a message.

    Raises:
        BadText: it is empty, no text, or not valid Unicode.
        TooLarge: it is over 256 KiB of UTF-8.
    """
    if not isinstance(text, str):
        raise BadText(message=f"a message is text, not {type(text).__name__}")
    if not text or text.isspace():
        raise BadText(message="an empty message was not sent. Give TEXT, --file F, or - for standard input")
    size = len(encoded(text, "message"))
    if size > MESSAGE_BYTES:
        raise TooLarge(what="message", size=size, unit="bytes", limit=MESSAGE_BYTES, remedy="Put it into a file and send its path, or send parts.")
    return text


def encoded(text: str, what: str) -> bytes:
    """``text`` as UTF-8, or BadText: bytes that are no UTF-8, and lone surrogates, would break every reader behind."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadText(message=f"the {what} is not valid UTF-8: nothing was stored. Send such bytes as a file path") from None


def decoded(data: bytes, what: str) -> str:
    """Bytes from a file or standard input as text, or BadText."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BadText(message=f"the {what} is not valid UTF-8 (byte {error.start}): nothing was stored. Send such a file by its path") from None


def briefing(text: str) -> str:
    """``text`` if it may be a briefing (2,000 characters: every joiner reads it)."""
    encoded(text, "briefing")
    if len(text) > BRIEFING_CHARS:
        raise TooLarge(what="briefing", size=len(text), unit="characters", limit=BRIEFING_CHARS, remedy="Every joiner reads it: keep the rules, link the rest.")
    return text


def line(what: str, text: str) -> str:
    """``text`` if it may be a ``what`` of one line (topic, title, status, thread, reason).

    Raises:
        BadText: it has a line break, or is not valid Unicode.
        TooLarge: it is over 500 characters.
    """
    encoded(text, what)
    if len(text) > LINE_CHARS:
        raise TooLarge(what=what, size=len(text), unit="characters", limit=LINE_CHARS, remedy="Say it in the message.")
    if len(text.splitlines()) > 1 or text.endswith(("\n", "\r")):
        raise BadText(message=f"a {what} is one line: put the rest into the message")
    return text


def nearest(wanted: str, known: list[str]) -> str | None:
    """The known name most like ``wanted``, if one is near enough to be a slip of the finger."""
    from difflib import get_close_matches

    found = get_close_matches(wanted.lower(), [one.lower() for one in known], 1, 0.6)
    return next((one for one in known if one.lower() == found[0]), None) if found else None
