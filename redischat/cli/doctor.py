"""doctor, fingerprint."""

from __future__ import annotations

from ..hook import build
from ..hook import session as cards
from ..install import checkup, rights, sandbox
from ..install import doctor as checks
from ..install.project import Project
from ..install.wiring import Wiring
from ..text import inert
from ..wire import Wire
from .show import put, record, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..install.doctor import Check
    from .seat import Seat

_MARKS = {checks.OK: "ok   ", checks.NOTE: "note ", checks.WRONG: "WRONG", checks.UNASKED: "WRONG"}
_ALL_WELL = "all is well\n"


def doctor(seat: Seat, *, harness: str | None = None) -> int:
    """Each claim on its own; starts nothing and changes nothing."""
    found = list(_claims(seat, harness))
    if seat.json:
        records(one.record() for one in found)
        return checks.code(found)
    put("".join(_line(one) for one in found))
    wrong = [one for one in found if one.state in (checks.WRONG, checks.UNASKED)]
    put(f"{len(wrong)} of {len(found)} need something done\n" if wrong else _ALL_WELL)
    return checks.code(found)


def _line(one: Check) -> str:
    return f"{_MARKS[one.state]} {one.about:<14} {one.said}\n" + (f"      {'':<14} do: {one.remedy}\n" if one.remedy else "")


def _claims(seat: Seat, harness: str | None) -> Iterator[Check]:
    settings = seat.settings
    wiring, project = Wiring(settings, harness), Project(settings)
    yield from checks.place(settings)
    wire = Wire(settings.url)  # not the seat's, which would start the embedded broker
    try:
        ground, asked = checkup.look(settings, seat.keys, wire)
    finally:
        wire.close()
    yield asked
    if ground:
        yield rights.told(settings, ground.rights)
        yield from rights.alike(ground.rights)
        yield from checkup.room(ground)
        yield from checkup.identity(ground)
    yield from checks.disk(settings)
    yield from checks.program(wiring)
    yield from checks.setup(project)
    clients = wiring.clients if harness else checks.clients(project, wiring)
    for client in clients:
        yield from checks.hooks(wiring, client)
        yield from checks.came(wiring, client)
        if ground and (reach := sandbox.shell(wiring, client)):
            yield reach
    if clients:
        yield from checks.runs(wiring)
    else:
        yield checks.unwired(project)
    yield from checkup.waker(settings, len(cards.cards(settings.state_dir)))
    if ground:
        yield from checkup.waking(ground)
        yield from checkup.ghosts(ground)


def fingerprint(seat: Seat) -> int:
    """The digests of the hooks' scripts and of all of redischat, and whether this session started with these: two checkouts of one digest run the same."""
    wiring, settings = Wiring(seat.settings, "none"), seat.settings
    hooks, now = checks.fingerprint(wiring), build.digest()
    then = cards.known(settings.state_dir, settings.session_id).get("build", "") if settings.session_id else ""
    found = {
        "fingerprint": hooks, "tick": wiring.tick, "build": now, "session": settings.session_id or None, "started_with": then or None,
        "same": then == now if then else None,
    }  # fmt: skip
    if seat.json:
        put(record(found))
        return 0
    put(f"{hooks}\n  redischat {now}, hooks run {inert(wiring.tick)}\n")
    if then and then != now:
        put(f"  NOT what this session started with ({then}): its hooks run the new one already; what it was told at its start is the old one's\n")
    elif settings.session_id:
        put("  as this session started with\n" if then else "  what this session started with is not known\n")
    return 0
