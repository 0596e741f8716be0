"""Write docs/cli.md from the table of verbs (which click is made from, too) and the tree of errors. With --check, only say whether it is fresh."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from redischat.cli.verbs import COMMON, VERBS
from redischat.errors import tree

TARGET = Path(__file__).parent.parent / "docs" / "cli.md"
NOUNS = {"agents": "Agents", "channels": "Channels", "messages": "Messages", "admin": "Broker and tour"}
HEAD = """# The command line

Made from the command itself by `python tests/manual.py`; edit `redischat/cli/verbs.py` or `redischat/errors.py`, not this.

Every verb also takes these:

{common}

Flags are never abbreviated. Message text comes from an argument, `--file F`, or standard input (`-`); standard input or a file is the way that no
shell can change. `--json` prints one record a line on standard output, and an error as one record on standard error.
"""
EXITS = """## Exit codes

| code | meaning |
|---|---|
| 0 | done; or looked, and here is what there is (also nothing, a preview without `--yes`, an owed answer) |
| 1 | refused: one line on standard error with a stable code; nothing was changed |
| 4 | time ran out (`wait`) |
| 5 | could not look: the broker cannot be reached or cannot do it now, or the output cannot be written |
| 64 | the command line is not one that this verb takes (`USAGE`) |
| 70 | redischat itself is at fault, or the broker holds what no redischat wrote (`DEFECT`) |
| 130 | interrupted |

2 and 3 are kept for tasks, leases, events, claims and path locks.
"""


def manual() -> str:
    """The whole page."""
    common = "\n".join(f"- `{flag}{'' if kind == 'flag' else ' ' + parameter.strip('_').upper()}` {help_}" for flag, (parameter, kind, help_) in COMMON.items())
    parts = [HEAD.format(common=common)]
    for noun, title in NOUNS.items():
        parts.append(f"## {title}\n")
        parts += [_verb(name) for name, verb in VERBS.items() if verb.noun == noun]
    parts += [EXITS, _errors()]
    return "\n".join(parts)


def _verb(name: str) -> str:
    verb = VERBS[name]
    places = " ".join((one.upper() if needed else f"[{one.upper()}]") + ("..." if many else "") for one, _, needed, many in verb.places)
    rows = [f"### {name}\n", f"`redischat {name}{' ' + places if places else ''}`: {verb.help}.\n", f"    {verb.example}\n"]
    flags = [(flag, *spec) for flag, spec in verb.flags.items() if flag not in COMMON]
    rows += [f"- `{flag}{'' if kind == 'flag' else ' ' + _value(parameter, kind)}` {help_}" for flag, parameter, kind, help_ in flags]
    return "\n".join(rows) + ("\n" if flags else "")


def _value(parameter: str, kind: str) -> str:
    return {"int": "N", "seconds": "SECONDS"}.get(kind, parameter.strip("_").upper().replace("_", "-"))


def _errors() -> str:
    rows = ["## Error codes\n", "| code | exit | what it says |", "|---|---|---|"]
    for cls in tree():
        if cls.__subclasses__():
            continue
        what = re.sub(r"\s+", " ", cls.__doc__ or "").strip()
        rows.append(f"| `{cls.code}` | {cls.exit} | {what} |")
    return "\n".join(rows) + "\n"


def main() -> int:
    """Write the page, or with --check compare it."""
    made = manual()
    fresh = TARGET.exists() and TARGET.read_text("utf-8") == made
    if "--check" not in sys.argv:
        TARGET.write_text(made, "utf-8")
    sys.stdout.write(f"{'fresh' if fresh else 'stale'} {TARGET.name}\n")
    return int("--check" in sys.argv and not fresh)


if __name__ == "__main__":
    raise SystemExit(main())
