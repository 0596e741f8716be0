"""What the harness tests leave at the end of a run: how many ran with real clients, and for which reasons others did not."""

from __future__ import annotations

from collections import Counter

MINE = ("client", "real")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("harness"):
            item.user_properties.append(MINE)


def pytest_terminal_summary(terminalreporter):
    mine = {
        kind: [one for one in terminalreporter.stats.get(kind, []) if MINE in map(tuple, getattr(one, "user_properties", []))]
        for kind in ("passed", "failed", "skipped")
    }
    reasons = Counter(one.longrepr[2].removeprefix("Skipped: ") for one in mine["skipped"] if isinstance(one.longrepr, tuple))
    if any(mine.values()):
        terminalreporter.section("real clients")
        terminalreporter.line(f"{len(mine['passed']) + len(mine['failed'])} harness tests ran, {len(mine['skipped'])} were skipped")
        for reason, count in reasons.most_common():
            terminalreporter.line(f"{count} skipped: {reason}")
