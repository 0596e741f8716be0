"""The base of all models, and what their fields share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

Audience = list[str] | str  # names as written, or "all", or "none"


class Record(BaseModel):
    """Base of all models: frozen, tolerant of keys that are not known yet."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)
