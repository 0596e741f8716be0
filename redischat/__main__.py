"""The quick way in: a plainly well-formed call is parsed from the table of verbs without click (40 ms); everything else is click's, which alone refuses."""

from __future__ import annotations

import sys
from gc import freeze

from .cli.verbs import VERBS, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .cli.verbs import Verb


INTERRUPTED = 130  # errors.Interrupted.exit, known before anything is imported


def main() -> NoReturn:
    """Run the command line and exit with its code."""
    words = sys.argv[1:]
    try:
        parsed = quick(words)
        if parsed is None:
            from .cli.full import main as slow

            slow(words)
        from .cli.perform import perform

        code = perform(named(words)[0], parsed)
        freeze()  # what is going away anyway needs no search for cycles at the end: 1.3 of 14 ms
        sys.exit(code)
    except KeyboardInterrupt:  # while starting or ending: what is shown and acked is perform's business
        sys.exit(INTERRUPTED)


def quick(words: list[str]) -> dict[str, Any] | None:
    """The parameters of a plainly well-formed call, else None (help, typos, odd values)."""
    verb = VERBS.get(named(words)[0])
    if verb is None:
        return None
    found: dict[str, Any] = {}
    free: list[str] = []
    rest = iter(named(words)[1])
    for word in rest:
        if word == "-" or not word.startswith("-"):
            free.append(word)
            continue
        name, equals, value = word.partition("=")
        parameter, kind, _ = verb.flags.get(name, (None, "", ""))
        if parameter is None or (parameter in found and kind != "texts") or (equals and (kind == "flag" or not name.startswith("--"))):
            return None
        if kind != "flag" and not equals:
            value = next(rest, "--")
            if value.startswith("-") and value != "-":
                return None
        found[parameter] = True if kind == "flag" else (*found.get(parameter, ()), value) if kind == "texts" else _value(kind, value)
        if found[parameter] is None:
            return None
    if not _places(verb, free, found) or any(one not in found for one in verb.required):
        return None
    return found


def _places(verb: Verb, free: list[str], found: dict[str, Any]) -> bool:
    for parameter, kind, needed, many in verb.places:
        if many:
            found[parameter], free = tuple(free), []
        elif free:
            found[parameter] = _value(kind, free.pop(0))
            if found[parameter] is None:
                return False
        elif needed:
            return False
    return not free


def _value(kind: str, text: str) -> Any:
    """The value, or None for one that click shall look at."""
    if kind == "text":
        return text
    if not text.isascii():
        return None
    if kind == "int":
        return int(text) if text.isdigit() and len(text) < 16 else None  # noqa: PLR2004 - what a Lua number holds exactly
    whole, _, part = text.partition(".")
    return float(text) if whole.isdigit() and (not part or part.isdigit()) and not text.endswith(".") else None


if __name__ == "__main__":
    main()
