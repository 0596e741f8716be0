"""plugin: where the Claude Code plugin lies, and what its hooks run."""

from __future__ import annotations

import os
import sys

from ..files import folder
from .show import put, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .seat import Seat


def plugin(seat: Seat, *, run: bool = False) -> int:
    """Its folder; with ``run`` the interpreter and the script, a line each, for ``hooks/run``."""
    place = folder("hooks")
    found = {"folder": place, "python": os.path.abspath(sys.executable), "tick": os.path.join(place, "tick.py")}
    if seat.json:
        put(record(found))
    else:
        put(f"{found['python']}\n{found['tick']}\n" if run else f"{place}\n")
    return 0
