"""What events and the state summary refuse: EVENT_* and STATE_*, agent-chat's names with agent-chat's triggers.

EVENT_* have exit status 2, STATE_* 1, as there.
"""

from __future__ import annotations

from . import Refused, no_channel


class EventRefused(Refused):
    """An event is not one. Nothing was stored."""

    code, exit = "EVENT_REFUSED", 2
    text = "{why}. What an event is: redischat event schema"


class StateRefused(Refused):
    """The summary cannot be made, or not be written."""

    code = "STATE_REFUSED"
    text = "{why}"


class EventInvalidRecord(EventRefused):
    """An event is no JSON object."""

    code, origin = "EVENT_INVALID_RECORD", "store"


class EventUnsupportedVersion(EventRefused):
    """schema_version is missing, or not the number 1."""

    code, origin = "EVENT_UNSUPPORTED_VERSION", "store"


class EventInvalidType(EventRefused):
    """The type is neither capability nor status."""

    code = "EVENT_INVALID_TYPE"


class EventUnknownField(EventRefused):
    """A field that this type of event does not have."""

    code = "EVENT_UNKNOWN_FIELD"


class EventRequiredFieldMissing(EventRefused):
    """Agent, harness or time is missing."""

    code, origin = "EVENT_REQUIRED_FIELD_MISSING", "store"


class EventInvalidText(EventRefused):
    """Agent or harness is no name, or a text holds control characters."""

    code = "EVENT_INVALID_TEXT"


class EventInvalidTimestamp(EventRefused):
    """The time is not ISO 8601 with an offset."""

    code, origin = "EVENT_INVALID_TIMESTAMP", "store"


class EventInvalidPrimitives(EventRefused):
    """Primitives are missing, empty, or no list of texts."""

    code = "EVENT_INVALID_PRIMITIVES"


class EventDuplicatePrimitive(EventRefused):
    """A primitive is named twice."""

    code = "EVENT_DUPLICATE_PRIMITIVE"


class EventUnknownPrimitive(EventRefused):
    """A primitive is none of the eight."""

    code = "EVENT_UNKNOWN_PRIMITIVE"


class EventInvalidStatus(EventRefused):
    """A status event has no status, or none of the five."""

    code = "EVENT_INVALID_STATUS"


class EventMalformedBody(EventRefused):
    """What stands in the stream of events is no JSON: it is passed over and named, later events are read."""

    code, origin = "EVENT_MALFORMED_BODY", "store"


class StateInvalidChannel(StateRefused):
    """The channel's name breaks the rule for names."""

    code = "STATE_INVALID_CHANNEL"


class StateChannelNotFound(StateRefused):
    """There is no channel of that name."""

    code = "STATE_CHANNEL_NOT_FOUND"

    def sentence(self) -> str:
        return no_channel(self.facts)


class StateMalformedSource(StateRefused):
    """--strict: a message, a task or a lock was written past redischat."""

    code, origin = "STATE_MALFORMED_SOURCE", "store"


class StateIoError(StateRefused):
    """state.md cannot be written."""

    code = "STATE_IO_ERROR"


KEPT: dict[str, str] = {
    "STATE_INVALID_RECORD": "what a channel is lies in a hash, which cannot be another kind of record",
    "STATE_RECORD_NOT_FOUND": "the summary is made when it is asked for; no saved one is read",
    "STATE_AUDIT_FAILED": "a summary is a view: making one leaves no audit",
}
