"""What callers of the Python API get back: one frozen model for each record that ``--json`` prints, with the same keys.

The key ``from`` is the attribute ``sender``; ``model_dump(by_alias=True)`` gives the JSON names. Times are aware datetimes in UTC. A newer broker may
send keys that this version does not know: they are left out.
"""

from .agents import Identity, WhoAmI
from .channels import Briefing, Budget, Channel, Closed, Deleted, Invitation, Left, Member, Mode, Opened, Reopened, Repaired, Retained, Roster
from .events import CapabilityEvent, Event, StatusEvent
from .messages import Ack, FullReceipt, History, Message, Messages, Note, Owed, Pending, PendingMessage, Preview, Reading, Receipt
from .orchestration import Gathered, Happening, Meeting
from .paths import HeldLock, InLine, LockedPath, Locks, PathCheck, PathHolder, PathLock, PathWaiter, TakenOver, Unlocked, UnlockedPath
from .record import Audience, InHand, Record
from .sessions import Present, Reach, Session, Wake
from .state import Blocker, Compacted, Decision, Evidence, HeldPaths, Holding, OpenTask, State
from .tasks import BoardRepaired, Claim, Claimed, Lease, LockedFile, Task, TaskChanged, TaskCreated, TaskList, TaskMoved, Unclaimed, Waits
from .transcripts import Double, Exported, Imported, Malformed
from .users import User, UserAdded, UserRevoked, UsersUpdated

__all__ = [
    "Ack",
    "Audience",
    "Blocker",
    "BoardRepaired",
    "Briefing",
    "Budget",
    "CapabilityEvent",
    "Channel",
    "Claim",
    "Claimed",
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
    "InHand",
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
    "Messages",
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
    "Record",
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
    "User",
    "UserAdded",
    "UserRevoked",
    "UsersUpdated",
    "Waits",
    "Wake",
    "WhoAmI",
]
