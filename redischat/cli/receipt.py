"""What whoever said something is told: what was stored, what it cost, and whether it reaches anyone."""

from __future__ import annotations

from ..text import INDENT, age, inert, listed
from .budgets import told as told_of_budget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SILENT_S = 600  # from then on it is said when somebody was last active
_FOUND = {
    "listening": "waiting for it now: {}",
    "working": "at work: {} (sees it at its next step)",
    "proved": "idle, rung now: {} (that has woken it before)",
    "unproved": "idle, rung now: {} (not proved yet that this wakes it)",
    "seen": "seen in the last 2 minutes, not waiting: {} (sees it at its next read)",
    "failed": "NOT WOKEN {}: sees it at its next prompt",
    "absent": "LEFT FOR {}: no live session, so nobody was woken",
}


def receipt(got: dict[str, Any]) -> str:
    """What it cost, and whether it reaches anyone."""
    lines = [f"sent #{got['seq']} to {got['channel']} as {got['from']} ({got['chars']} characters)", f"{INDENT}stored: {inert(got['stored'])}"]
    if got["members"] <= 1:
        lines.append("  nobody else is in this channel now; whoever comes reads it with join --since 0")
    else:
        lines += [f"  {line}" for line in _reach(got)]
    if got["hint"]:
        count = got["members"]
        lines.append(f"  ({count} agents are in #{got['channel']}: --to NAME wakes one, --to-none nobody; @names in the text wake nobody.")
        lines.append(f"   Announcements rather than conversation? redischat mode {got['channel']} broadcast --yes)")
    lines += [f"  {line}" for line in told_of_budget(got["budget"])]
    if got["warning"]:
        lines.append(f"  {got['warning']}")
    return "\n".join(lines) + "\n"


def _reach(got: dict[str, Any]) -> list[str]:
    """Who is woken, who sees it passively, and who has no session: never worded like a delivery that reached somebody."""
    silent = {*got["braked"], *got["silenced"]}
    asleep = {*got["absent"], *got["failed"], *silent}
    woken = [name for name in got["wakes"] if name not in asleep]
    count = got["wakes_count"] - len(asleep)
    passive = f"passive for {listed(got['passive'], got['passive_count'])}" if got["passive_count"] else ""
    told = ["; ".join(part for part in (f"wakes {listed(woken, count)}" if count or not asleep else "", passive) if part)]
    for how, words in _FOUND.items():
        there = [_found(one) for one in got["reach"] if one["agent"] not in silent and _how(one) == how]
        told += [words.format(", ".join(there))] if there else []
    told += [
        f"NOT WOKEN {name}: brake, you two have only talked for 12 messages; reset by a person, a third agent, work, or a task or lock of this channel"
        for name in got["braked"]
    ]
    told += [f"NOT WOKEN {', '.join(got['silenced'])}: budget"] if got["silenced"] else []
    return [line for line in told if line]


def _found(one: dict[str, Any]) -> str:
    """An agent that a message was for; when it was last active, if that is long ago."""
    silent, wake = one["silent_s"] or 0, one["wake"]
    failed = one["how"] == "failed" and wake["way"] != "none"
    said = [f"last active {age(silent)} ago"] if silent >= SILENT_S else []
    said += [f"the last ring, {age(wake['age_s'])} ago, woke nobody" if failed else "nothing can ring it"] if one["how"] == "failed" else []
    return f"{one['agent']} ({', '.join(said)})" if said else str(one["agent"])


def _how(one: dict[str, Any]) -> str:
    """As in a receipt; "seen" for one that has no hooks and was there lately."""
    return "seen" if one["how"] == "unproved" and not one["state"] else str(one["how"])
