"""What an event is, schema version 1: agent-chat's fields, words and order of checks (redischat/models/event.schema.json says the same as JSON Schema)."""

from __future__ import annotations

from .call import NEVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

VERSION = 1
KIND = "event"  # the field that holds the type
TYPES = ("capability", "status")
PRIMITIVES = ("messages", "cursors", "wait", "tasks", "dependencies", "leases", "path_locks", "state_summary")
STATUSES = ("ready", "busy", "idle", "blocked", "stopped")
SHOWN_CHARS, NAMED = 60, 5  # of a value, and how many names, in a refusal
_COMMON = ("schema_version", KIND, "agent", "harness", "ts")
_FIELDS = {"capability": {*_COMMON, "primitives"}, "status": {*_COMMON, "status", "detail"}}
_NO_NAME = frozenset("/\\:")
_DELETE, _C1_END, _SURROGATES = 0x7F, 0x9F, range(0xD800, 0xE000)


def draft(
    type_: str, agent: str, harness: str, *, status: str | None = None, detail: str | None = None, primitives: Sequence[str] | None = None
) -> dict[str, Any]:
    """An event to be posted, without its time. ``primitives``: None is all eight, for a capability.

    Raises:
        EventRefused: what it would be is no event; the class says why.
    """
    given = {"status": status, "detail": detail, "primitives": None if primitives is None else list(primitives)}
    if primitives is None and type_ == "capability":
        given["primitives"] = list(PRIMITIVES)
    event = {"schema_version": VERSION, KIND: type_, "agent": agent, "harness": harness, "ts": NEVER}
    found = checked({**event, **{key: value for key, value in given.items() if value is not None}})
    return {key: value for key, value in found.items() if key != "ts"}


def of_type(type_: str | None) -> str | None:
    """``type_`` if it is a type of event, or None.

    Raises:
        EventInvalidType: it is neither.
    """
    if type_ is not None and type_ not in TYPES:
        from ..errors.events import EventInvalidType

        raise EventInvalidType(why=f"the type {shown(type_)} is neither capability nor status")
    return type_


def shown(value: Any) -> str:
    """A value in a refusal: whatever it is, quoted, and not longer than a line."""
    text = ascii(value) if isinstance(value, (str, int, float, bool, type(None))) else f"a {type(value).__name__}"
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 3] + "..."


def checked(record: Any) -> dict[str, Any]:
    """``record``, if it is an event. Nothing is added, dropped or made to fit.

    Raises:
        EventRefused: it is none; the class is what is wrong first, in agent-chat's order.
    """
    from ..errors.events import EventInvalidRecord, EventInvalidType, EventUnknownField, EventUnsupportedVersion

    if not isinstance(record, dict):
        raise EventInvalidRecord(why=f"an event is a JSON object, not {type(record).__name__}")
    if record.get("schema_version") != VERSION or type(record["schema_version"]) is not int:
        raise EventUnsupportedVersion(why=f"schema_version is {shown(record.get('schema_version'))}; this redischat knows {VERSION}")
    kind = record.get(KIND)
    if not isinstance(kind, str) or kind not in TYPES:
        raise EventInvalidType(why=f"the type {shown(kind)} is neither capability nor status")
    unknown = sorted(map(str, record.keys() - _FIELDS[kind]))
    if unknown:
        raise EventUnknownField(why=f"a {kind} event has no field {', '.join(map(shown, unknown[:NAMED]))}")
    for field in ("agent", "harness"):
        _name(record, field)
    _time(record)
    if kind == "capability":
        _primitives(record.get("primitives"))
    else:
        _status(record)
    return record


def _name(record: dict[str, Any], field: str) -> None:
    from ..errors.events import EventInvalidText, EventRequiredFieldMissing

    if field not in record:
        raise EventRequiredFieldMissing(why=f"{field} is missing")
    value = record[field]
    if not value or not _is_text(value) or not _NO_NAME.isdisjoint(value) or value[0] in "._":
        raise EventInvalidText(
            why=f"{field} {shown(value)} is no name: some letters, none of them a control character, '/', '\\' or ':', the first neither '.' nor '_'"
        )


def _is_text(value: Any) -> bool:
    """A text without control characters and lone surrogates."""
    return isinstance(value, str) and not any(c < " " or _DELETE <= ord(c) <= _C1_END or ord(c) in _SURROGATES for c in value)


def _time(record: dict[str, Any]) -> None:
    from ..errors.events import EventInvalidTimestamp, EventRequiredFieldMissing

    if "ts" not in record:
        raise EventRequiredFieldMissing(why="ts is missing")
    text = record["ts"]
    if text == NEVER:
        return
    from datetime import datetime

    try:
        at = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("z") else text) if isinstance(text, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise EventInvalidTimestamp(why=f"ts {shown(text)} is no ISO 8601 time with an offset")


def _primitives(found: Any) -> None:
    from ..errors.events import EventDuplicatePrimitive, EventInvalidPrimitives, EventUnknownPrimitive

    known = ", ".join(PRIMITIVES)
    if not isinstance(found, list) or not found or not all(isinstance(one, str) for one in found):
        raise EventInvalidPrimitives(why=f"primitives are a list with at least one of {known}")
    if len(set(found)) < len(found):
        from itertools import pairwise

        twice = next(one for one, other in pairwise(sorted(found)) if one == other)
        raise EventDuplicatePrimitive(why=f"primitives name {shown(twice)} more than once")
    unknown = next((one for one in found if one not in PRIMITIVES), None)
    if unknown is not None:
        raise EventUnknownPrimitive(why=f"{shown(unknown)} is no primitive; there are {known}")


def _status(record: dict[str, Any]) -> None:
    from ..errors.events import EventInvalidStatus, EventInvalidText

    status = record.get("status")
    if not isinstance(status, str) or status not in STATUSES:
        given = f"the status {shown(status)} is none of" if "status" in record else "a status event has a status:"
        raise EventInvalidStatus(why=f"{given} {', '.join(STATUSES)}")
    if "detail" in record and not _is_text(record["detail"]):
        raise EventInvalidText(why="detail is one line of text, without control characters")
