"""Transcripts: what was written to a folder, and what was read from one."""

from __future__ import annotations

from pydantic import Field

from .record import Record


class Exported(Record):
    """A channel's folder. ``kept`` files were there before; ``conflicts`` are numbers where the folder says something else; ``ended``: how a follow did.

    ``board``: files of tasks, leases, claims and locks that were written or taken away; ``board_conflicts``: files of them that are somebody else's, not touched.
    """

    channel: str
    directory: str
    written: int
    kept: int
    last_seq: int
    conflicts: list[int]
    audits: int
    events: int
    board: int
    board_conflicts: list[str]
    ended: str | None


class Double(Record):
    """A number that more than one file claims: none of them was stored."""

    seq: int
    files: list[str]


class Malformed(Record):
    """A file that holds no message, or no record that can be stored: the code and a sentence of what is wrong."""

    file: str
    code: str
    why: str


class Imported(Record):
    """A folder that was read. ``gaps`` are ``[first, last]`` of missing numbers; ``renamed`` what had no legal name; ``present`` what is not read.

    ``board``: how many ``tasks claims locks cursors`` were stored; ``board_skipped`` were there, ``board_conflicts`` are there and say something else.

    Of several folders, one that was refused has ``error`` (the code) and ``message`` instead.
    """

    channel: str
    stored: int = 0
    skipped: int = 0
    gaps: list[list[int]] = Field(default_factory=list)
    doubles: list[Double] = Field(default_factory=list)
    conflicts: list[int] = Field(default_factory=list)
    renamed: dict[str, str] = Field(default_factory=dict)
    malformed: list[Malformed] = Field(default_factory=list)
    present: dict[str, int] = Field(default_factory=dict)
    board: dict[str, int] = Field(default_factory=dict)
    board_skipped: int = 0
    board_conflicts: list[str] = Field(default_factory=list)
    error: str | None = None
    message: str | None = None
