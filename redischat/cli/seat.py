"""Where one command stands: settings, caller, the broker; and what it was given to say."""

from __future__ import annotations

import os

from .. import names
from ..calls.call import Caller, Once
from ..errors import Usage
from ..flows.format import alone, checked
from ..keys import Keys
from .show import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ..calls.call import Call, Show
    from ..repository import Repository
    from ..settings import Settings
    from ..wire import Wire


class Seat:
    """One command's place: ``settings``, ``json``, and the broker, connected to on first use."""

    __slots__ = ("_wire", "copies", "json", "keys", "settings")

    def __init__(self, settings: Settings, *, json: bool = False, durable: bool = False, replicas: int | None = None) -> None:
        self.settings, self.json, self.copies = settings, json, None
        if durable or replicas or settings.env.get("REDISCHAT_DURABLE") or settings.env.get("REDISCHAT_REPLICAS"):
            from ..flows.durable import wanted

            self.copies = wanted(settings.env, durable=durable, replicas=replicas)
        self.keys = Keys(names.name("workspace", settings.workspace))
        self._wire: Wire | None = None

    def caller(self) -> Caller:
        """Who acts; refused when nobody is known."""
        return Caller(self.keys, names.agent(self.settings.me()), self.settings.token)

    def onlooker(self) -> Caller:
        """Who looks: an agent if there is one; verbs that move nothing need none."""
        agent = self.settings.agent
        return Caller(self.keys, names.agent(agent) if agent else "", self.settings.token)

    @property
    def wire(self) -> Wire:
        """The connection to the broker."""
        if self._wire is None:
            from ..wire import Wire

            settings = self.settings
            revive = self._revive if settings.url == settings.embedded else self._forbidden
            self._wire = Wire(settings.url, revive=revive, notice=say)
        return self._wire

    def _forbidden(self) -> None:
        from ..broker import ask

        ask.leave(self.settings.env)

    def _revive(self) -> None:
        """Nobody answers where the embedded broker should be: start it, or find out why not."""
        self._forbidden()
        from ..broker.start import ensure

        ensure(self.settings.state_dir, notice=say)

    def repository(self, given: str | None = None) -> Repository:
        """The repository that is meant, by its key; else the one that this command runs in."""
        from ..repository import find

        return find(self.settings, given)

    def run(self, call: Call) -> Any:
        """One Call."""
        return self.drive(alone(call))

    def drive(self, flow: Generator[Any, Any, Any], show: Callable[[Show], int] | None = None) -> Any:
        """A verb of several steps."""
        flow = checked(flow, self.keys)
        if self.copies:
            from ..flows.durable import durably

            flow = durably(flow, self.copies)
        return self.wire.drive(flow, show)

    def close(self) -> None:
        """Give the connection back."""
        if self._wire is not None:
            self._wire.close()


def given(settings: Settings) -> dict[str, Any]:
    """What was given on the command line, as flags for other settings."""
    found = {"as_": settings.agent if settings.sources["agent"] == "--as" else None}
    return found | {what: str(getattr(settings, what)) if settings.sources[what] == f"--{what}" else None for what in ("url", "workspace")}


def missing(error: ImportError, what: str, extra: str) -> Exception:
    """What an import that failed means: the packages of an extra are not installed, or it is ours that fails."""
    if (error.name or "").partition(".")[0] in ("redischat", ""):
        return error
    from sys import executable

    from ..errors import NotInstalled

    return NotInstalled(what=what, why=f"no module {error.name}", python=executable, extra=extra)


def once(key: str | None) -> Once:
    """An idempotency key: the caller's, else a fresh one."""
    return Once(names.line("idempotency key", key) if key is not None else None)


def text_of(text: str | None, file: str | None, what: str) -> str | None:
    """A text from an argument, a file or standard input ("-"), verbatim; None when none was given.

    Raises:
        Usage: both were given, or the file cannot be read.
    """
    if text is not None and file is not None:
        raise Usage(message=f"give the {what} once: as TEXT, or with --file F, or '-' for standard input")
    if text is not None and text != "-":
        return text
    source = file if file is not None else text
    if source is None:
        return None
    try:
        if source == "-":
            with open(0, "rb", closefd=False) as stdin:
                return names.decoded(stdin.read(), what)
        with open(source, "rb") as opened:
            return names.decoded(opened.read(), what)
    except OSError as error:
        raise Usage(message=f"cannot read {source!r}: {os.strerror(error.errno or 0)}") from None
