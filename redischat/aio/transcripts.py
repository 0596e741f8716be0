"""export, import_folder: channels as folders of markdown files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .. import names
from ..flows import transcript
from ..models import Exported, Imported
from .seat import AsyncSeat, room

if TYPE_CHECKING:
    import os


class AsyncTranscripts(AsyncSeat):
    """The verbs of what is kept outside the broker."""

    async def export(self, channel: str, directory: str | os.PathLike[str], *, follow: float | None = None) -> Exported:
        """Write a channel into ``directory/<channel>/`` as markdown files; again adds only what is new and changes no file. Marks nothing.

        ``follow``: keep the folder current for so many seconds, or until the channel is deleted. Needs no identity and no membership.

        Raises:
            NoChannel: there is none of that name.
            Rewound: the folder holds another history of a channel of this name.
            BadFolder: the folder cannot be written.
        """
        until = None if follow is None else time.monotonic() + follow
        return Exported.model_validate(await self._drive(transcript.export(self._who, room(channel), str(directory), follow=until)))

    async def import_folder(self, directory: str | os.PathLike[str], *, channel: str | None = None) -> list[Imported]:
        """Read a channel's folder, or each one in ``directory``; one report a folder. Numbers, times and texts stay; nobody is woken.

        ``channel``: the name to use, for one folder. The same folder again stores nothing.

        Raises:
            Rewound: the channel holds another history. Nothing was stored.
            BadFolder: the folder cannot be read, or does not fit the channel.
            NoIdentity: the client has no agent.
        """
        name = names.channel(channel) if channel else ""
        return [Imported.model_validate(one) for one in await self._drive(transcript.import_folder(self._me(), str(directory), channel=name))]
