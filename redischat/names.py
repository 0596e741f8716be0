"""What a workspace, channel or agent may be called, what a text may hold, and the normal form of a path and of a repository's key."""

from __future__ import annotations

from .errors import BadName, BadText, TooLarge, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .errors.paths import PathLockInvalidPath

MESSAGE_BYTES = 256 * 1024
BRIEFING_CHARS = 2_000
LINE_CHARS = 500  # a topic, title, status, thread or reason
NAMED = 50  # recipients of one message: their bells and debts are keys of one script
PATH_BYTES = 4_096
SEGMENT_BYTES = 255
WHOLE = (1 << 53) - 1  # the largest number that Lua and JSON keep as it is

_FIRST = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_REST = _FIRST | frozenset("._-")
_KEPT = frozenset(("all", "none", "everyone", "tool", "redischat"))
_LONGEST = 64

_WILD = frozenset("*?[{")
_WINDOWS = frozenset('<>"|?*')
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSEEN = frozenset(("Cc", "Zl", "Zp"))
_DEVICES = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$", *(port + digit for port in ("com", "lpt") for digit in "123456789\xb9\xb2\xb3")))


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


def room(text: str) -> str:
    """A channel's name as it is compared, and as keys hold it."""
    return same(channel(text))


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


def seconds(what: str, given: float) -> float:
    """``given`` if it may be how long somebody waits: 0 (look once) or more.

    Raises:
        Usage: it is less than that, or no number.
    """
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not given >= 0:  # also nan
        raise Usage(message=f"{what} is a number of seconds, 0 or more, not {given}")
    return given


def whole(least: int = 0, /, **given: int | None) -> None:
    """Refuse numbers that the broker could not keep as they are: each is a whole one from ``least`` on, or None.

    Raises:
        Usage: one of them is not.
    """
    for what, one in given.items():
        if one is not None and not (isinstance(one, int) and least <= one <= WHOLE):
            raise Usage(message=f"{what} is a whole number from {least} to {WHOLE}, not {str(one)[:LINE_CHARS]}")


def nearest(wanted: str, known: list[str]) -> str | None:
    """The known name most like ``wanted``, if one is near enough to be a slip of the finger."""
    from difflib import get_close_matches

    found = get_close_matches(wanted.lower(), [one.lower() for one in known], 1, 0.6)
    return next((one for one in known if one.lower() == found[0]), None) if found else None


def path(text: str, *, typed: str | None = None) -> str:
    """The normal form of a path below a repository's root: parts joined by one ``/``, composed (NFC), without ``.`` and ``..``; "" is the whole repository.

    The same on every system, and without looking at a disk: what Windows cannot hold is refused everywhere, so that a lock means one file to all.
    ``[`` ``]`` and a ``~`` in front are letters like any other. ``typed`` is what the refusal calls the path, when that is not ``text``.

    Raises:
        PathLockInvalidPath: it is empty or absolute, leads out by its own ``..``, is in a ``.git``, or has a part that no lock can hold.
    """
    said = text if typed is None else typed
    clean = visible(text, said)
    bad = next((c for c in clean if c in _WINDOWS), "")
    if bad:
        raise refused(said, f"no file that Windows can hold has {bad} in its name" + ("; a pattern is written as --glob" if bad in _WILD else ""))
    if ":" in clean:
        raise refused(said, "a ':' means a drive or a stream on Windows: give the path below the repository's root")
    if clean.startswith("/"):
        raise refused(said, "it is absolute: give it relative to the repository's root")
    parts: list[str] = []
    for part in clean.split("/"):
        if part == ".." and not parts:
            raise refused(said, "it leads out of the repository")
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    for part in parts:
        _part(part, said)
    found = "/".join(parts)
    if len(found.encode()) > PATH_BYTES:
        raise refused(said, f"it is longer than {PATH_BYTES:,} bytes")
    return found


def _part(part: str, said: str) -> None:
    """Refuses what no file may be called on one of the systems."""
    if part[-1] in ". ":
        raise refused(said, f"{part!r} ends in a dot or a space, which Windows drops")
    if part.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        raise refused(said, f"{part!r} is a device on Windows, with any ending")
    if part.lower() == ".git":
        raise refused(said, "git keeps .git for itself; lock the files of the repository")
    if len(part.encode()) > SEGMENT_BYTES:
        raise refused(said, f"a part of it is longer than {SEGMENT_BYTES} bytes")


def visible(text: str, said: str) -> str:
    """``text`` composed (NFC), if it is a path's text at all: not empty, valid Unicode, nothing in it that cannot be seen, no backslash.

    Raises:
        PathLockInvalidPath: it is not.
    """
    if not isinstance(text, str):
        raise refused(repr(said), f"a path is text, not {type(text).__name__}")
    if not text:
        raise refused(said, "it is empty; the whole repository is .")
    if text.isascii():
        if not text.isprintable():
            raise refused(said, "it has a control character")
    else:
        from unicodedata import category, normalize

        if any("\ud800" <= c <= "\udfff" for c in text):
            raise refused(said, "it is not valid Unicode")
        text = normalize("NFC", text)
        if any(c in _BIDI or category(c) in _UNSEEN for c in text):
            raise refused(said, "it has a control character, a line separator, or one that turns the direction of what follows")
    if "\\" in text:
        raise refused(said, "a backslash is no separator here: use /")
    return text


def refused(said: str, why: str) -> PathLockInvalidPath:
    """The refusal of a path, shown shortened and as valid text."""
    from .errors.paths import PathLockInvalidPath

    shown = said if len(said) <= LINE_CHARS else said[:100] + "..."
    return PathLockInvalidPath(path=shown.encode("utf-8", "backslashreplace").decode(), why=why)


def glob(text: str, *, typed: str | None = None) -> str:
    """The normal form of a pattern's static prefix, which is what a lock of it locks: ``src/**/*.py`` is ``src``, ``**`` is "".

    ``* ? [ {`` make a part a pattern, so ``app/[id]/*.tsx`` is ``app``. A text without any is itself.

    Raises:
        PathLockInvalidPath: as :func:`path`, or a ``..`` follows a wildcard.
    """
    return path(prefix(text), typed=text if typed is None else typed)


def prefix(text: str) -> str:
    """The parts of a pattern before its first wildcard, as written; "." when there are none."""
    parts = visible(text, text).split("/")
    first = next((n for n, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
    if ".." in parts[first:]:
        raise refused(text, "a .. after a wildcard may lead anywhere")
    return "/".join(parts[:first]) or ("/" if text.startswith("/") else ".")


def repository(text: str, what: str = "repository key") -> str:
    """A repository's key, as ``--repo`` and ``.redischat/config`` give it and as every answer shows it; given a shown one, the same.

    URLs and ssh addresses of one repository have one key (:func:`.remote.origin`); ``github.com/org/repo`` is one already. ``host:/path`` is a folder of a host;
    the same as an ssh address is written with its user, or its ``.git``. Any other text is a name of its own.

    Raises:
        BadText: it is empty, more than one line, or has characters that cannot be seen.
        TooLarge: it is over 500 characters.
    """
    from . import remote

    clean = line(what, text).strip()
    if not clean.isascii():
        from unicodedata import normalize

        clean = normalize("NFC", clean)
    found = remote.key(clean)
    if not found or not found.isprintable():
        raise BadText(message=f"a {what} is one visible line: a URL, host/org/repo, or a name that all who share it give")
    return found
