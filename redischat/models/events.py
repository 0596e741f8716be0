"""Events: what a harness can do, and how it is; schema version 1 (event.schema.json beside this file says the same)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, ConfigDict, Field, Strict

from .record import Record

_CONTROLS = r"\x00-\x1f\x7f-\x9f"
Name = Annotated[str, Strict(), Field(min_length=1, pattern=rf"^[^{_CONTROLS}/\\:._][^{_CONTROLS}/\\:]*$")]
Line = Annotated[str, Strict(), Field(pattern=rf"^[^{_CONTROLS}]*$")]
Primitive = Literal["messages", "cursors", "wait", "tasks", "dependencies", "leases", "path_locks", "state_summary"]


def _iso(value: Any) -> Any:
    """Text with an offset, or a time as such; pydantic alone would take numbers, too."""
    if isinstance(value, str):
        return datetime.fromisoformat(value[:-1] + "+00:00" if value.endswith("z") else value)
    if isinstance(value, datetime):
        return value
    raise ValueError("no ISO 8601 time")


def _whole(value: Any) -> Any:
    """The number as such: to Python, True and 1.0 equal it."""
    if type(value) is not int:
        raise ValueError("no whole number")
    return value


def _once(found: list[Primitive]) -> list[Primitive]:
    if len(set(found)) < len(found):
        raise ValueError("a primitive is named twice")
    return found


class _Exact(Record):
    """An event's common fields; a field that it does not have is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Annotated[Literal[1], BeforeValidator(_whole)]
    agent: Name
    harness: Name
    ts: Annotated[AwareDatetime, BeforeValidator(_iso)]


class CapabilityEvent(_Exact):
    """What a harness can do."""

    event: Literal["capability"]
    primitives: Annotated[list[Primitive], Field(min_length=1), AfterValidator(_once)]


class StatusEvent(_Exact):
    """How an agent is: ready, busy, idle, blocked or stopped; ``detail`` is one line about it, None where there is none."""

    event: Literal["status"]
    status: Literal["ready", "busy", "idle", "blocked", "stopped"]
    detail: Line = Field(default=None)  # type: ignore[assignment]  # absent is None, but a null is no detail


class Event(Record):
    """An event in a channel, and its number there."""

    channel: str
    n: int
    event: Annotated[CapabilityEvent | StatusEvent, Field(discriminator="event")]
