"""The base of all models, and what their fields share."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from pydantic import BaseModel, ConfigDict

Audience = list[str] | str  # names as written, or "all", or "none"


class Record(BaseModel):
    """Base of all models: frozen, tolerant of keys that are not known yet."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class InHand(Record):
    """A record in somebody's hand, who may settle it. Deep-copied, or sent to another process, it is the record alone: the hand stays where it is."""

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        record = next(base for base in type(self).__bases__ if issubclass(base, Record) and base is not InHand)
        return record.model_validate, (self.model_dump(),)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Any:
        make, given = self.__reduce__()
        return make(deepcopy(given[0], memo))
