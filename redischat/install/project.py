"""What a project keeps of its setup (``.redischat/config``), and which projects of this user are set up."""

from __future__ import annotations

import os
from contextlib import suppress

from .. import checkout
from ..errors import CannotKeep
from ..settings import CONFIG, note_of, read_pairs, redacted, told, write_pairs
from . import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..settings import Settings

FOLDER = "projects"  # in the state directory
OURS = ("agent", "url", "workspace", "wake")
IGNORE = "*\n"  # .redischat/.gitignore: what lies there is nobody else's business, wherever the checkout is copied to


class Project:
    """A project's own file, and this user's note of it. ``facts``: what the file says; ``noted``: ``project url workspace harnesses`` of the last setup."""

    def __init__(self, settings: Settings) -> None:
        self.folder, self.home, self.state_dir = settings.project, settings.home, settings.state_dir
        self.path = os.path.join(self.folder, CONFIG)
        self._note = note_of(self.state_dir, self.home)
        self.facts, self.noted = read_pairs(self.path), read_pairs(self._note)

    @property
    def harnesses(self) -> list[str]:
        """Those that setup wired here; [] where it was never run, or wired none."""
        return self.noted.get("harnesses", "").split()

    def changes(self, wanted: Mapping[str, str]) -> list[str]:
        """What writing ``wanted`` would change, as ``key=value``; passwords hidden."""
        return [f"{key}={redacted(value) if key == 'url' else value}" for key, value in wanted.items() if self.facts.get(key) != value]

    def write(self, wanted: Mapping[str, str], harnesses: list[str]) -> None:
        """Write what ``wanted`` says into the project's file, beside what is there, and note the project.

        Raises:
            CannotKeep: one of them cannot be written.
        """
        note = {"project": self.home, **{key: wanted[key] for key in ("url", "workspace")}, "harnesses": " ".join(harnesses)}
        try:
            if self.changes(wanted):
                write_pairs(self.path, {**self.facts, **wanted})
            ignore = os.path.join(os.path.dirname(self.path), ".gitignore")
            if not os.path.exists(ignore):
                with open(ignore, "w", encoding="utf-8") as file:
                    file.write(IGNORE)
            if self.noted != note:
                write_pairs(self._note, note)
        except OSError as error:
            raise CannotKeep(path=told(self.path), why=error.strerror or str(error), remedy="Make the folder writable for you, then try again") from error
        self.facts, self.noted = {**self.facts, **wanted}, note

    def leftovers(self) -> list[str]:
        """What of ours stands in the project's file, as ``key=value``."""
        return [f"{key}={redacted(self.facts[key]) if key == 'url' else self.facts[key]}" for key in OURS if key in self.facts]

    def erase(self) -> None:
        """Take our lines out of the project's file, the file and the folder away where nothing else is in them, and forget the project."""
        kept = {key: value for key, value in self.facts.items() if key not in OURS}
        folder = os.path.dirname(self.path)
        try:
            if kept and kept != self.facts:
                write_pairs(self.path, kept)
            elif not kept and os.path.exists(self.path):
                os.unlink(self.path)
            if set(os.listdir(folder)) == {".gitignore"} and _text(os.path.join(folder, ".gitignore")) == IGNORE:
                os.unlink(os.path.join(folder, ".gitignore"))
                os.rmdir(folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise CannotKeep(path=told(self.path), why=error.strerror or str(error), remedy="Make the folder writable for you, then try again") from error
        record.dropped(self._note)
        with suppress(OSError):
            os.rmdir(os.path.dirname(self._note))
        self.facts, self.noted = kept, {}

    def others(self) -> list[dict[str, Any]]:
        """The other projects of this user that are set up, and still there: ``project url workspace harnesses``, the last a list."""
        folder = os.path.dirname(self._note)
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        notes = [read_pairs(os.path.join(folder, name)) for name in names if not name.endswith(".tmp")]
        there = [one for one in notes if one.get("project", self.home) != self.home and os.path.exists(os.path.join(one["project"], CONFIG))]
        return [{**one, "harnesses": one.get("harnesses", "").split()} for one in there]

    @property
    def counted(self) -> dict[str, list[str]]:
        """Client -> the other projects that setup wired it for: what lies in this user's own file serves them, too."""
        found: dict[str, list[str]] = {}
        for one in self.others():
            for client in one["harnesses"]:
                found.setdefault(client, []).append(one["project"])
        return found

    def siblings(self) -> list[dict[str, Any]]:
        """Those of them that are other worktrees of this clone."""
        mine = self._clone(self.folder)
        return [one for one in self.others() if mine and self._clone(one["project"]) == mine]

    @staticmethod
    def _clone(folder: str) -> str:
        root = checkout.above(os.path.realpath(folder))
        return checkout.common(root) or "" if root else ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError):
        return ""
