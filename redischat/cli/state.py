"""state, compact: where things stand in a channel."""

from __future__ import annotations

import os

from .. import names
from ..errors import BadFolder, BadName
from ..flows import state as flows
from ..flows.summary import markdown
from ..text import inert
from .seat import once
from .show import put, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat

FILE = "state.md"
OWN = ".redischat"  # the project's own folder, which git ignores


def state(seat: Seat, *, channel: str, write: bool = False, directory: str | None = None, strict: bool = False, no_audit: bool = False) -> int:  # noqa: ARG001 - agent-chat's flag
    """Show where things stand, or write it to a file."""
    got = seat.drive(flows.state(seat.onlooker(), _room(channel), strict=strict))
    path = _write(seat, got, directory) if write or directory is not None else None
    if seat.json:
        put(record({**got, **({"path": path} if path else {})}))
    else:
        put(f"wrote {inert(path)}\n" if path else markdown(got))
    return 0


def compact(seat: Seat, *, channel: str, strict: bool = False, no_audit: bool = False, idem: str | None = None) -> int:  # noqa: ARG001 - agent-chat's flag
    """Say where things stand, as a summary."""
    got = seat.drive(flows.compact(seat.caller(), _room(channel), once(idem), strict=strict))
    if seat.json:
        put(record(got))
        return 0
    name = got["channel"]
    if got["posted"]:
        put(f"summed up #{name} as #{got['seq']} ({got['chars']} characters, covers up to #{got['covers']}); nobody was woken\n")
    else:
        put(f"nothing has changed since the summary #{got['seq']}: no second one was made\n")
    put(f"  whoever comes later reads from there: redischat read {name} --since-summary\n")
    if got["warning"]:
        put(f"  {got['warning']}\n")
    return 0


def _room(channel: str) -> str:
    try:
        return names.room(channel)
    except BadName as error:
        from ..errors.events import StateInvalidChannel

        raise StateInvalidChannel(why=error.sentence(), channel=channel) from None


def _write(seat: Seat, got: dict[str, Any], directory: str | None) -> str:
    """``state.md`` in the channel's folder of ``directory``, else of the project's own folder: replaced as a whole, no link is followed."""
    from ..errors.events import StateIoError
    from ..folder import disk

    own = os.path.join(seat.settings.project, OWN)
    try:
        if directory is None and os.path.islink(own):
            raise BadFolder(message=f"{own} is a link: nothing was written. Say where: --directory")
        place = disk.opened(own if directory is None else directory, got["channel"])
        if directory is None:
            disk.add(own, ".gitignore", "*\n")
        return disk.put(place, FILE, markdown(got))
    except BadFolder as error:
        raise StateIoError(why=error.sentence(), channel=got["channel"]) from None
