"""Verbs of several steps, as generators: they yield Calls, lists of Calls (one round trip), Listens, Shows and Everywheres, and know no carrier.

Here is how one that took or noted something down ends: it is given back, whatever interrupts the flow; where the broker cannot be asked, it lapses by itself.
"""

from __future__ import annotations

from ..errors import ChatError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ..calls.call import Call

    Flow = Generator[Any, Any, Any]


def tried(call: Call) -> Flow:
    """One Call, whose refusal changes nothing: what it would have ended ends without it."""
    try:
        yield call
    except ChatError:
        return


def left(flow: Flow, leave: Callable[[], Call | None]) -> Flow:
    """Run a flow; at its end, and whatever interrupts it, ``leave`` (if there is anything to leave). Gives what the flow gives."""
    try:
        found = yield from flow
    except GeneratorExit:
        raise
    except BaseException:
        yield from _gone(leave())
        raise
    yield from _gone(leave())
    return found


def _gone(call: Call | None) -> Flow:
    if call is not None:
        yield from tried(call)
