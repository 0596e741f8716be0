"""Brokers that a bare socket cannot speak to: hooks ask them through the waker, who alone reads their URLs, each from a file of its own."""

from __future__ import annotations

import os

from ..settings import digest, read_pairs, write_pairs
from . import wake

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settings import Place, Settings

FOLDER = "doors"
SOCKET_BYTES = 104  # macOS: sun_path with its closing zero


def words(settings: Settings, place: Place) -> dict[str, str]:
    """What a session's card says of such a broker: its URL without passwords, and the socket at which the waker answers for it."""
    name = digest(place.shown)
    path = path_of(settings.state_dir, name)
    if read_pairs(path).get("url") != settings.url:
        write_pairs(path, {"url": settings.url})
    socket = os.path.join(wake.folder(settings.state_dir), name)
    facts = {"url": place.shown, "door": name, "db": "0", "socket": socket}
    return facts if len(os.fsencode(socket)) < SOCKET_BYTES else {**facts, "socket": "", "sha": ""}  # then the package asks


def path_of(state_dir: str, name: str) -> str:
    """Where the URL of one is kept."""
    return os.path.join(state_dir, FOLDER, name)


def address(state_dir: str, card: dict[str, str]) -> str:
    """The URL of a card's broker, passwords and all."""
    return read_pairs(path_of(state_dir, card["door"])).get("url", card["url"]) if card.get("door") else card["url"]
