"""reload."""

from __future__ import annotations

from ..errors import NotConfirmed, Usage
from ..hook import reload as windows
from ..text import inert
from .show import put, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .seat import Seat

_UNASKED = (
    "a reload takes the whole window of VS Code, ends the turn of this session, and types into its command palette: nothing was done. What costs nothing comes first: "
    "mail is shown at the next prompt or tool call, and redischat doctor says what keeps a wake from landing. If that says to start anew: redischat reload --force"
)


def reload(seat: Seat, *, force: bool = False, i_know: bool = False, auto: str | None = None) -> int:
    """Reload this session's window of VS Code, or switch whether a missed wake does it."""
    settings = seat.settings
    if auto is not None:
        if force or i_know or auto not in ("on", "off"):
            raise Usage(message="--auto takes on or off, and nothing beside it: redischat reload --auto off")
        window = windows.Reload(settings.state_dir, settings.home, settings.session_id, settings.env)
        window.switch(on=auto == "on")
        return _tell(seat, window, reloaded=False)
    window = windows.asked(settings.env, settings.state_dir, settings.home, settings.session_id)
    window.allowed(i_know=i_know)
    if not force:
        raise NotConfirmed(message=_UNASKED)
    window.run(i_know=i_know)
    return _tell(seat, window, reloaded=True)


def _tell(seat: Seat, window: windows.Reload, *, reloaded: bool) -> int:
    if seat.json:
        put(record({"project": window.home, "auto": window.auto, "reloaded": reloaded}))
    elif reloaded:
        put("VS Code was told to reload the window; this turn ends with it. What came of it: redischat doctor, once the session is back\n")
    elif window.auto:
        put(
            f"on for {inert(window.home)}: when a wake of an idle session in its window of VS Code was missed, the window is reloaded, at most once an hour\n"
            "  only sessions that start in Claude Code's extension; off again: redischat reload --auto off\n"
        )
    else:
        put(f"off for {inert(window.home)}: a missed wake reloads nothing\n")
    return 0
