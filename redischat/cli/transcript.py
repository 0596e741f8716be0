"""export, import: what to say of the folder that was written or read."""

from __future__ import annotations

from .. import names
from ..calls.call import FOREVER
from ..flows import transcript as flows
from ..text import few, inert
from .show import put, record, records, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat

NAMED = 5  # of a list of numbers or files; then a count


def export(seat: Seat, channel: str, directory: str, *, follow: bool) -> int:
    """Write a channel's folder; with ``follow`` keep it current until ^C."""
    if follow:
        say(f"keeping {directory} current; ^C ends it")
    got = seat.drive(flows.export(seat.onlooker(), channel, directory, follow=FOREVER if follow else None))
    if seat.json:
        put(record(got))
        return 0
    put(f"exported #{got['channel']} up to #{got['last_seq']} to {inert(got['directory'])}: {got['written']} new, {got['kept']} were there\n")
    if got["conflicts"]:
        put(f"  not touched, though the broker says something else: {few([str(seq) for seq in got['conflicts']], NAMED)}\n")
    if got["board"]:
        put(f"  the board: {got['board']} files brought up to date\n")
    if got["board_conflicts"]:
        put(f"  not written by an export, so not touched: {few([inert(one) for one in got['board_conflicts']], NAMED)}\n")
    if got.get("ended") == "deleted":
        put("  the channel was deleted meanwhile; the folder stays\n")
    return 0


def import_folder(seat: Seat, directory: str, channel: str | None, repo: str | None) -> int:
    """Read one folder, or each one in a folder."""
    room = names.channel(channel) if channel else ""
    reports = seat.drive(flows.import_folder(seat.caller(), directory, channel=room, repository=lambda: seat.repository(repo)))
    if seat.json:
        records(reports)
    else:
        put("".join(_imported(one) for one in reports))
    return int(any("error" in one for one in reports))


def _imported(got: dict[str, Any]) -> str:
    if "error" in got:
        return f"#{inert(got['channel'])}: {got['error']}: {inert(got['message'])}\n"
    lines = [f"imported #{got['channel']}: {got['stored']} stored, {got['skipped']} were there. Read it: redischat read {got['channel']} --all"]
    board = ", ".join(f"{count} {part if count > 1 else part[:-1]}" for part, count in got["board"].items() if count)
    if board or got["board_skipped"]:
        lines.append(f"  of the board: {board or 'nothing'} stored, {got['board_skipped']} were there. See it: redischat task list {got['channel']}")
    if got["board_conflicts"]:
        lines.append("  the channel has otherwise, not stored: " + few([inert(one) for one in got["board_conflicts"]], NAMED))
    if got["gaps"]:
        lines.append("  holes kept, nothing was renumbered: " + few([f"{first}-{last}" if first != last else str(first) for first, last in got["gaps"]], NAMED))
    if got["doubles"]:
        lines.append("  two files for one number, neither stored: " + few([f"#{one['seq']}" for one in got["doubles"]], NAMED))
    if got["conflicts"]:
        lines.append("  other text than the broker's, not stored: " + few([f"#{seq}" for seq in got["conflicts"]], NAMED))
    lines += [f"  {inert(old)} is called {new} here" for old, new in got["renamed"].items()]
    lines += [f"  skipped {inert(one['file'])}: {one['code']}: {inert(one['why'])}" for one in got["malformed"][:NAMED]]
    if len(got["malformed"]) > NAMED:
        lines.append(f"  and {len(got['malformed']) - NAMED} more files were skipped")
    if got["present"]:
        lines.append("  not read: " + ", ".join(f"{count} in {inert(name)}" for name, count in got["present"].items()))
    return "\n".join(lines) + "\n"
