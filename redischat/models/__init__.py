"""What callers of the Python API get back: one frozen model for each record that ``--json`` prints, with the same keys.

The key ``from`` is the attribute ``sender``; ``model_dump(by_alias=True)`` gives the JSON names. Times are aware datetimes in UTC. A newer broker may
send keys that this version does not know: they are left out.
"""

from .agents import Identity, WhoAmI
from .channels import Briefing, Channel, Closed, Deleted, Invitation, Left, Member, Mode, Opened, Reopened, Repaired, Retained, Roster
from .messages import Ack, FullReceipt, History, Message, Messages, Note, Owed, Pending, PendingMessage, Preview, Reading, Receipt
from .record import Audience, Record
from .transcripts import Double, Exported, Imported, Malformed

__all__ = [
    "Ack",
    "Audience",
    "Briefing",
    "Channel",
    "Closed",
    "Deleted",
    "Double",
    "Exported",
    "FullReceipt",
    "History",
    "Identity",
    "Imported",
    "Invitation",
    "Left",
    "Malformed",
    "Member",
    "Message",
    "Messages",
    "Mode",
    "Note",
    "Opened",
    "Owed",
    "Pending",
    "PendingMessage",
    "Preview",
    "Reading",
    "Receipt",
    "Record",
    "Reopened",
    "Repaired",
    "Retained",
    "Roster",
    "WhoAmI",
]
