"""Which program is understood how; and the programs whose writing follows a rule of :mod:`~.tables`."""

from __future__ import annotations

import os

from . import code, edits, files, git, shells
from .call import options
from .tables import ALL, ALL_LONGS, FLAGGED, FORMATTERS, PREFIXES, READERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .call import Call
    from .walk import Text

    Handler = Callable[[Call], Text]

_TELLS = {"--version", "--help", "-V"}  # then a program only says something
_RUNNERS = {"yarn", "pnpm", "bun"}  # they run a package's program by its bare name


def handler(name: str) -> Handler:
    """What understands the command of this name."""
    name = os.path.basename(name)
    for rule, table in ((_everything, ALL), (_flagged, FLAGGED), (_formatter, FORMATTERS), (_prefix, PREFIXES)):
        if name in table:
            return rule
    if name in READERS:
        return reads
    for home in (files, edits, shells, git):
        if name in home.KNOWN:
            known: Handler = home.KNOWN[name]
            return known
    return code.KNOWN.get(name.rstrip("0123456789."), strange)


def reads(_call: Call) -> Text:
    """It writes no file."""
    return None


def strange(call: Call) -> Text:
    """A program of which nothing is known, or one whose first word tells which it is."""
    for size in (2, 1):
        two = " ".join([call.name, *call.args[:size]])
        rest = call.args[size:]
        if two in FORMATTERS:
            return _formatted(call, two, rest)
        if two in PREFIXES:
            return _prefixed(call, two, rest)
    if call.name in _RUNNERS and call.args[:1] and handler(call.args[0]) is not strange:
        return call.again(call.args)
    if not _TELLS & set(call.args):
        call.opaque("does what cannot be seen from here")
    return None


def _everything(call: Call) -> Text:
    call.write(*options(call.args, ALL[call.name], ALL_LONGS.get(call.name, ""))[1])
    return call.given if call.name == "tee" else None


def _flagged(call: Call) -> Text:
    letters, longs, outs = FLAGGED[call.name]
    flags, _ = options(call.args, letters, longs)
    call.write(*(flags[one] for one in outs.split() if flags.get(one, "-") != "-"))
    return None


def _formatter(call: Call) -> Text:
    return _formatted(call, call.name, call.args)


def _formatted(call: Call, name: str, args: list[str]) -> Text:
    needs, bars, letters, longs, otherwise = FORMATTERS[name]
    flags, free = options(args, letters, longs)
    given = {flag for flag in args if flag.startswith("--")} | set(flags) | {word for word in args if word[:1] == "-"}
    if (not needs or given & set(needs.split())) and not given & {*bars.split(), *_TELLS}:
        call.write(*([one for one in free if one != "-"] or ([otherwise] if otherwise else [])))
    return None


def _prefix(call: Call) -> Text:
    return _prefixed(call, call.name, call.args)


def _prefixed(call: Call, name: str, args: list[str]) -> Text:
    letters, longs, before = PREFIXES[name]
    flags, free = options(args, letters, longs, first=True)
    rest = free[before:]
    if name == "flock" and rest[:1] == ["-c"]:
        return call.walk.script(" ".join(rest[1:]), [])
    if name == "watch" and len(rest) == 1:
        return call.walk.script(rest[0], [])
    if name == "uv run" and rest and ("-m" in flags or rest[0].endswith(".py")):
        rest = ["python", *(["-m"] if "-m" in flags else []), *rest]
    if rest and "@" in rest[0][1:] and name in {"npx", "bunx", "uvx", "pnpm dlx", "yarn dlx"}:
        rest[0] = rest[0][0] + rest[0][1:].partition("@")[0]
    return call.again(shells.set_for_it(call, rest))
