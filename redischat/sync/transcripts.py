# Made from ../aio by tests/unasync.py; edit that, not this.
"""export, import_folder: channels as folders of markdown files."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from .. import names, repository
from ..flows import transcript
from ..models import Exported, Imported
from .seat import Seat, room

if TYPE_CHECKING:
    import os
    from collections.abc import Callable


class Transcripts(Seat):
    """The verbs of what is kept outside the broker."""

    def export(self, channel: str, directory: str | os.PathLike[str], *, follow: float | None = None) -> Exported:
        """Write a channel into ``directory/<channel>/`` as markdown files; again adds only what is new and changes no message's file. Marks nothing.

        Tasks, leases, claims and path locks lie beside them and are kept current; what somebody else wrote there stays.

        ``follow``: keep the folder current for so many seconds, or until the channel is deleted. Needs no identity and no membership.

        Raises:
            NoChannel: there is none of that name.
            Rewound: the folder holds another history of a channel of this name.
            BadFolder: the folder cannot be written.
        """
        until = None if follow is None else time.monotonic() + names.seconds("follow", follow)
        return Exported.model_validate(self._drive(transcript.export(self._who, room(channel), str(directory), follow=until)))

    def import_folder(self, directory: str | os.PathLike[str], *, channel: str | None = None, repo: str | None = None) -> list[Imported]:
        """Read a channel's folder, or each one in ``directory``; one report a folder. Numbers, times and texts stay; nobody is woken.

        Tasks, leases, claims, path locks and cursors come with the messages; what the channel has of them stays. ``channel``: the name to use, for one folder.
        ``repo``: whose path locks these are, where the folder does not say (else the current directory's). The same folder again stores nothing.

        Raises:
            Rewound: the channel holds another history. Nothing was stored.
            BadFolder: the folder cannot be read, or does not fit the channel.
            NoIdentity: the client has no agent.
        """
        name = names.channel(channel) if channel else ""
        place = self._place(repo)
        return [Imported.model_validate(one) for one in self._drive(transcript.import_folder(self._me(), str(directory), channel=name, repository=place))]

    def _place(self, repo: str | None) -> Callable[[], repository.Repository] | None:
        """Finds the repository that is meant; None where the client was not told where it is."""
        if repo is not None:
            return partial(repository.Repository, names.repository(repo), "repo=", "")
        return partial(repository.find, self._settings) if self._settings is not None else None
