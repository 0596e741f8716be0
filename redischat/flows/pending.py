"""recover-pending: there is no half-done transaction to finish, so it holds every index against the records, mends what can be derived, and names what cannot."""

from __future__ import annotations

from ..calls import channels, events, paths, tasks
from .channels import known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]


def recover(who: Caller, channel: str) -> Flow:
    """Check a channel's streams and marks, its board, and the locks and the line of the workspace. Changes nothing where all agree.

    Gives ``channel kept dropped audits_dropped events_dropped tasks locks waiting struck[] mended{index: count} damaged[]``: ``dropped`` entries are a
    stranger's; ``struck`` are who stood in line and does not listen any more; ``damaged`` records are left as they are.
    """
    _, members, _ = yield from known(who, channel)
    messages, audits, told, board, locks = yield [
        channels.repair(who, channel, list(members)), channels.repair_audits(who, channel), events.repair(who, channel), tasks.repair(who, channel),
        paths.repair(who, channel),
    ]  # fmt: skip
    mended = {**messages["mended"], **board["mended"]}
    mended.update({what: locks[key] for what, key in (("locks", "mended"), ("locks that no redischat wrote", "dropped")) if locks[key]})
    return {
        "channel": messages["channel"], "kept": messages["kept"], "dropped": messages["dropped"], "audits_dropped": audits["dropped"],
        "events_dropped": told["dropped"], "tasks": board["tasks"], "locks": locks["locks"], "waiting": locks["waiting"], "struck": locks["struck"], "mended": mended,
        "damaged": board["damaged"],
    }  # fmt: skip
