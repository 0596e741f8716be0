"""maintenance."""

from __future__ import annotations

from ..broker import rewrite
from ..errors import ChatError
from ..flows import maintenance as flows
from ..flows.format import checked
from ..hook import tidy
from ..text import inert
from ..wire import Wire
from .show import put, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..hook.tidy import Left
    from .seat import Seat

_COULD_NOT_LOOK = 5
_UNITS = (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10))


def maintenance(seat: Seat, *, dry_run: bool = False) -> int:
    """Clear away what is over, and say what that freed. Starts no broker; what could not be asked is said, and the rest is done."""
    left, asked = tidy.leftovers(seat.settings.state_dir), {"sessions": 0, "ids": 0, "bytes": 0}
    why = ""
    wire = Wire(seat.settings.url)  # not the seat's, which would start the embedded broker
    try:
        left += _proofs(seat, wire)
        asked = wire.drive(checked(flows.prune(seat.keys, act=not dry_run), seat.keys))
    except ChatError as error:
        why = error.sentence()
    finally:
        wire.close()
    file = _file(seat, dry=dry_run)
    found = tidy.summed(left) if dry_run else tidy.cleared(left)
    if not dry_run and not why:
        tidy.stamp(seat.settings.state_dir)
    if seat.json:
        files = {what: {"count": count, "bytes": size} for what, (count, size) in found.items()}
        put(record({"dry_run": dry_run, "broker": None if why else asked, "why": why or None, "files": files, "aof": file}))
    else:
        put("".join(line + "\n" for line in _said(found, asked, file, why, dry=dry_run)))
    return _COULD_NOT_LOOK if why else 0


def _proofs(seat: Seat, wire: Wire) -> list[Left]:
    old = tidy.proofs(seat.settings.bindings_dir())
    dead = wire.drive(checked(flows.passed_on(seat.keys, [(agent, token) for _, agent, token in old]), seat.keys))
    return [one for (one, _, _), over in zip(old, dead, strict=True) if over]


def _file(seat: Seat, *, dry: bool) -> dict[str, Any] | None:
    """What became of the embedded broker's file; None where another broker is used."""
    settings = seat.settings
    return rewrite.rewrite(settings.state_dir, dry=dry) if settings.url == settings.embedded else None


def _said(found: dict[str, tuple[int, int]], asked: dict[str, int], file: dict[str, Any] | None, why: str, *, dry: bool) -> list[str]:
    """What was done, in numbers that were seen; where nothing was, that it was nothing."""
    did = "would remove" if dry else "removed"
    lines = [f"{did} {what}: {count} ({size(taken)})" for what, (count, taken) in sorted(found.items())]
    records = [f"{name}: {asked[what]}" for what, name in (("sessions", "sessions that are long over"), ("ids", "earlier ids of sessions")) if asked[what]]
    lines += [f"{did} at the broker {', '.join(records)} ({size(asked['bytes'])})"] if records else []
    if file and file["done"]:
        lines.append(f"would write the broker's file anew ({size(file['before'])} now)" if dry else _rewritten(file))
    if why:
        lines.append(f"the broker could not be asked, its part is left: {inert(why)}")
    elif not lines:
        lines.append("nothing to do" + (f" (the broker's file: {size(file['before'])}, {inert(file['why'])})" if file and file["why"] else ""))
    return lines


def _rewritten(file: dict[str, Any]) -> str:
    before, after = file["before"], file["after"]
    if after is None:
        return f"the broker writes its file anew ({size(before)} now); how large it is then: redischat maintenance --dry-run"
    freed = f"{size(before - after)} freed" if after < before else "nothing freed"
    return f"the broker's file was written anew: {size(before)} before, {size(after)} now, {freed}"


def size(count: int) -> str:
    """Bytes, in the largest unit that they fill: 12 bytes, 3.4 KB, 5.6 MB."""
    for unit, many in _UNITS:
        if count >= many:
            return f"{count / many:.1f} {unit}"
    return f"{count} byte{'s' * (count != 1)}"
