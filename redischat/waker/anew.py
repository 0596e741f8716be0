"""A session that no ring reaches starts anew: the window of VS Code that it lives in is reloaded, where its user has switched that on."""

from __future__ import annotations

import os
import threading

from ..errors import ChatError
from ..hook import reload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Card = dict[str, str]


def begun(state_dir: str, card: Card, log: Callable[[str], None], declined: Callable[[str], None] | None) -> bool:
    """Let the reload of a session's window be tried, in a thread of its own, if that is wanted: a wake of it was missed just now. Gives whether it is.

    ``declined`` hears the session if nothing came of it.
    """
    found = reload.wanted(state_dir, card, os.environ)
    if not found:
        return False
    threading.Thread(target=_tried, args=(found, log, declined), name="reload", daemon=True).start()
    return True


def _tried(found: reload.Reload, log: Callable[[str], None], declined: Callable[[str], None] | None) -> None:
    try:
        found.by_itself()
        log(f"reload: the window of {found.home} was reloaded, because a wake of {found.session} was missed")
    except Exception as error:  # noqa: BLE001 - whatever is odd there, the session is rung as before
        log(f"reload: {error.code if isinstance(error, ChatError) else type(error).__name__}: {error}")
        if declined:
            declined(found.session)
