"""One command's seat: settings, connection and caller; and how a verb's end becomes an exit code."""

from __future__ import annotations

import os
import sys

from .. import names
from ..calls.call import Caller, Once
from ..errors import CannotWrite, ChatError, Defect, Interrupted, Sandboxed, Usage
from ..keys import Keys
from ..settings import Settings, here
from .verbs import COMMON, VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ..calls.call import Call, Show
    from ..wire import Wire

_COMMON = tuple(parameter for parameter, _, _ in COMMON.values())


class Seat:
    """Where one command stands: ``settings``, ``json``, and the broker, connected to on first use."""

    __slots__ = ("_wire", "json", "keys", "settings")

    def __init__(self, settings: Settings, *, json: bool = False) -> None:
        self.settings, self.json = settings, json
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
        if self.settings.env.get("CODEX_SANDBOX_NETWORK_DISABLED"):
            raise Sandboxed(why="CODEX_SANDBOX_NETWORK_DISABLED")

    def _revive(self) -> None:
        """Nobody answers where the embedded broker should be: start it, or find out why not."""
        self._forbidden()
        from ..broker.start import ensure

        ensure(self.settings.state_dir, notice=say)

    def run(self, call: Call) -> Any:
        """One Call."""
        return self.wire.run(call)

    def drive(self, flow: Generator[Any, Any, Any], show: Callable[[Show], int] | None = None) -> Any:
        """A verb of several steps."""
        return self.wire.drive(flow, show)

    def close(self) -> None:
        """Give the connection back."""
        if self._wire is not None:
            self._wire.close()


def once(key: str | None) -> Once:
    """An idempotency key: the caller's, else a fresh one."""
    return Once(names.line("idempotency key", key) if key is not None else None)


def say(sentence: str) -> None:
    """A remark beside the answer, on standard error."""
    from .show import inert

    _beside(f"redischat: {inert(sentence)}")


def perform(name: str, given: dict[str, Any]) -> int:
    """Run one verb with its parameters; its exit code. Every refusal is one line with a stable code, no traceback."""
    verb = VERBS[name]
    as_json = bool(given.get("json"))
    seat: Seat | None = None
    try:
        common = {key: given.pop(key, None) for key in _COMMON}
        if "from_" in given and name != "wait":  # agent-chat's word for --as
            common["as_"] = given.pop("from_") or common["as_"]
        settings = here(common)
        for warning in settings.warnings:
            say(warning)
        seat = Seat(settings, json=as_json)
        return _runner(verb.noun, verb.runner or name)(seat, **given, **verb.preset) or 0
    except ChatError as error:
        return refuse(error, as_json=as_json)
    except KeyboardInterrupt:
        return refuse(Interrupted(), as_json=as_json)
    except BrokenPipeError:
        return CannotWrite.exit  # the reader has gone, and with it whoever would read why
    except Exception as error:  # whatever is wrong, an agent gets one line with a code
        if os.environ.get("REDISCHAT_DEBUG"):
            raise
        return refuse(Defect(what=f"{type(error).__name__}: {error}"), as_json=as_json)
    finally:
        if seat is not None:
            seat.close()


def _runner(noun: str, verb: str) -> Callable[..., int | None]:
    if noun == "messages":
        from . import messages as home
    elif noun == "channels":
        from . import channels as home  # type: ignore[no-redef]
    elif noun == "agents":
        from . import agents as home  # type: ignore[no-redef]
    else:
        from . import admin as home  # type: ignore[no-redef]
    found: Callable[..., int | None] = getattr(home, verb)
    return found


def refuse(error: ChatError, *, as_json: bool = False) -> int:
    """Say no on standard error; the exit code of this class of refusal."""
    if as_json:
        from json import dumps

        line = dumps(error.record(), default=str)
    else:
        from .show import inert

        line = f"redischat: {error.code}: {inert(error.sentence())}"
    _beside(line)
    return error.exit


def _beside(line: str) -> None:
    """One line on standard error. It may be closed or full: the exit code still says it."""
    if sys.stderr is None:
        return
    try:
        os.write(2, f"{line}\n".encode(sys.stderr.encoding or "utf-8", "backslashreplace"))
    except OSError:
        return


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
