"""redischat: AI coding agents talk and coordinate through one Redis or Valkey broker.

``Client`` and ``AsyncClient`` are every verb an agent has; ``errors`` every way to be refused; the rest is what the verbs give back. What is not used
is not imported.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
    "Ack",
    "AsyncClient",
    "Blocker",
    "BoardRepaired",
    "Briefing",
    "CapabilityEvent",
    "Channel",
    "ChatError",
    "Claim",
    "Claimed",
    "Client",
    "Closed",
    "Compacted",
    "Decision",
    "Deleted",
    "Double",
    "Event",
    "Evidence",
    "Exported",
    "FullReceipt",
    "Gathered",
    "Happening",
    "HeldLock",
    "HeldPaths",
    "History",
    "Holding",
    "Identity",
    "Imported",
    "InLine",
    "Invitation",
    "Lease",
    "Left",
    "LockedFile",
    "LockedPath",
    "Locks",
    "Malformed",
    "Meeting",
    "Member",
    "Message",
    "Mode",
    "Note",
    "OpenTask",
    "Opened",
    "Owed",
    "PathCheck",
    "PathHolder",
    "PathLock",
    "PathWaiter",
    "Pending",
    "PendingMessage",
    "Present",
    "Preview",
    "Reach",
    "Reading",
    "Receipt",
    "Reopened",
    "Repaired",
    "Retained",
    "Roster",
    "Session",
    "State",
    "StatusEvent",
    "TakenOver",
    "Task",
    "TaskChanged",
    "TaskCreated",
    "TaskList",
    "TaskMoved",
    "Unclaimed",
    "Unlocked",
    "UnlockedPath",
    "Waits",
    "Wake",
    "WhoAmI",
    "__version__",
    "errors",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import errors
    from .aio.client import AsyncClient
    from .errors import ChatError
    from .models import (
        Ack,
        Blocker,
        BoardRepaired,
        Briefing,
        CapabilityEvent,
        Channel,
        Claim,
        Claimed,
        Closed,
        Compacted,
        Decision,
        Deleted,
        Double,
        Event,
        Evidence,
        Exported,
        FullReceipt,
        Gathered,
        Happening,
        HeldLock,
        HeldPaths,
        History,
        Holding,
        Identity,
        Imported,
        InLine,
        Invitation,
        Lease,
        Left,
        LockedFile,
        LockedPath,
        Locks,
        Malformed,
        Meeting,
        Member,
        Message,
        Mode,
        Note,
        Opened,
        OpenTask,
        Owed,
        PathCheck,
        PathHolder,
        PathLock,
        PathWaiter,
        Pending,
        PendingMessage,
        Present,
        Preview,
        Reach,
        Reading,
        Receipt,
        Reopened,
        Repaired,
        Retained,
        Roster,
        Session,
        State,
        StatusEvent,
        TakenOver,
        Task,
        TaskChanged,
        TaskCreated,
        TaskList,
        TaskMoved,
        Unclaimed,
        Unlocked,
        UnlockedPath,
        Waits,
        Wake,
        WhoAmI,
    )
    from .sync.client import Client

_HOMES = {"AsyncClient": "aio.client", "ChatError": "errors", "Client": "sync.client"}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name == "errors":
        return import_module(".errors", __name__)
    found = globals()[name] = getattr(import_module("." + _HOMES.get(name, "models"), __name__), name)
    return found


def __dir__() -> list[str]:
    return __all__
