"""Write docs/cli.md from the table of verbs (which click is made from, too) and the tree of errors. With --check, only say whether it is fresh."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from making import page

from redischat.cli.verbs import COMMON, DURABLE, VERBS
from redischat.errors import events, leases, paths, tasks, tree

if TYPE_CHECKING:
    from redischat.cli.verbs import Verb

TARGET = Path(__file__).parent.parent / "docs" / "cli.md"
NOUNS = {
    "setup": "Setting up", "hooks": "The hooks alone", "doctor": "What works",
    "agents": "Agents", "who": "Who is there", "channels": "Channels", "budgets": "Budgets", "messages": "Messages", "watch": "Reading along",
    "claims": "Claims", "tasks": "Tasks", "paths": "Path locks", "events": "Events", "mcp": "MCP server", "bridge": "A person in Slack", "guard": "Commits", "plugin": "Claude Code plugin", "state": "Where things stand",
    "waker": "The waker", "reload": "A window that nothing wakes", "maintenance": "Clearing away", "users": "Users of a team's broker", "admin": "Broker and tour",
}  # fmt: skip
ORIGINS = {"verb": "a verb", "store": "a damaged or imported store"}
HEAD = """# The command line

Made from the command itself by `python tests/manual.py`; edit `redischat/cli/verbs.py` or `redischat/errors/`, not this.

Every verb also takes these:

{common}

Every verb that changes what somebody relies on also takes these ([team.md](team.md) says what they promise):

{durable}

Flags are never abbreviated. Message text comes from an argument, `--file F`, or standard input (`-`); standard input or a file is the way that no
shell can change. `--json` prints one record a line on standard output, and an error as one record on standard error.
"""
EXITS = """## Exit codes

| code | meaning |
|---|---|
| 0 | done; or looked, and here is what there is (also nothing, a preview without `--yes`, an owed answer) |
| 1 | refused: one line on standard error with a stable code; nothing was changed. `recover-pending`: something is left that cannot be mended |
| 2 | every `TASK_*`, `LEASE_*` and `EVENT_*` refusal, agent-chat's contract |
| 3 | somebody else has it: a claim, a path (live or lapsed); or `task next` found nothing to start |
| 4 | time ran out (`wait`, `task wait`, `lock --wait`) |
| 5 | could not look: the broker cannot be reached or cannot do it now, or the output cannot be written; or `NOT_DURABLE`, which says whether it is stored |
| 64 | the command line is not one that this verb takes (`USAGE`; within `task` it is 2, `TASK_INVALID_COMMAND` or `TASK_INVALID_ARGUMENT`) |
| 70 | redischat itself is at fault, or the broker holds what no redischat wrote (`DEFECT`) |
| 130 | interrupted |
"""


def manual() -> str:
    """The whole page."""
    parts = [HEAD.format(common=_listed(COMMON), durable=_listed(DURABLE))]
    for noun, title in NOUNS.items():
        parts.append(f"## {title}\n")
        parts += [_verb(name) for name, verb in VERBS.items() if verb.noun == noun]
    parts += [EXITS, _errors()]
    return "\n".join(parts)


def _listed(flags: dict[str, tuple[str, str, str]]) -> str:
    return "\n".join(f"- `{flag}{'' if kind == 'flag' else ' ' + _value(parameter, kind)}` {help_}" for flag, (parameter, kind, help_) in flags.items())


def _verb(name: str) -> str:
    verb = VERBS[name]
    places = " ".join((one.upper() if needed else f"[{one.upper()}]") + ("..." if many else "") for one, _, needed, many in verb.places)
    rows = [f"### {name}\n", f"`redischat {name}{' ' + places if places else ''}`: {verb.help}.\n", f"    {verb.example}\n"]
    flags = list(_spellings(verb).values())
    rows += [f"- {_flags(spellings, parameter, kind)} {help_}" for parameter, spellings, kind, help_ in flags]
    return "\n".join(rows) + ("\n" if flags else "")


def _spellings(verb: Verb) -> dict[str, tuple[str, list[str], str, str]]:
    common = {parameter for parameter, _, _ in (*COMMON.values(), *DURABLE.values())}
    return {parameter: (parameter, flags, kind, help_) for parameter, (flags, kind, help_) in verb.spellings().items() if parameter not in common}


def _flags(spellings: list[str], parameter: str, kind: str) -> str:
    return ", ".join(f"`{flag}{'' if kind == 'flag' else ' ' + _value(parameter, kind)}`" for flag in spellings)


def _value(parameter: str, kind: str) -> str:
    return {"int": "N", "seconds": "SECONDS", "lease": "SECONDS"}.get(kind, parameter.strip("_").upper().replace("_", "-"))


def _errors() -> str:
    rows = ["## Error codes\n", "| code | exit | comes from | what it says |", "|---|---|---|---|"]
    for cls in tree():
        if cls.__subclasses__():
            continue
        what = re.sub(r"\s+", " ", cls.__doc__ or "").strip()
        rows.append(f"| `{cls.code}` | {cls.exit} | {ORIGINS[cls.origin]} | {what} |")
    rows += ["", "Names of agent-chat that nothing here raises:\n", "| code | why |", "|---|---|"]
    rows += [f"| `{code}` | {why} |" for page in (tasks, leases, paths, events) for code, why in page.KEPT.items()]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    raise SystemExit(page(TARGET, manual()))
