# Made from ../aio by tests/unasync.py; edit that, not this.
"""What is held for the length of a block: paths and tasks, renewed in the background, given back at its end whatever happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..calls import paths, tasks
from ..calls.call import Once
from ..errors import ChatError
from ..errors.broker import NotDurable
from ..flows import fields
from ..flows import paths as locking
from ..flows import tasks as board
from ..models import InHand, PathLock, Task
from ..text import inert
from .errand import drive
from .renewal import Keeping

if TYPE_CHECKING:
    import threading
    from collections import Counter
    from collections.abc import Callable, Generator
    from types import TracebackType
    from typing import Any, Literal, Self

    from ..calls.call import Caller
    from .connection import Connection

    Flow = Generator[Any, Any, Any]

REASON_CHARS = 200  # of what an error says, in a task's reason


class Hold:
    """Who holds something, in which channel (as keys hold it), for how long at a time, over which connection, and how a flow is wrapped there."""

    __slots__ = ("_wrapped", "channel", "connection", "ms", "who")

    def __init__(self, connection: Connection, wrapped: Callable[[Flow], Flow], who: Caller, channel: str, ms: int) -> None:
        self.connection, self._wrapped, self.who, self.channel, self.ms = connection, wrapped, who, channel, ms

    def drive(self, flow: Flow) -> Any:
        """Run a flow as the client does whose block it is: with as many copies."""
        return drive(self.connection, self._wrapped(flow))


class Locked(InHand, PathLock):
    """Paths that the caller holds now, as :class:`PathLock` says.

    As a block, ``with chat.lock(...) as lock``, they are renewed until its end and let go of there. ``lost`` is set if they became somebody else's
    before: then the clean end of the block raises ``PathLockOwnerMismatch`` or ``PathLockNotFound``. Of a durable client the end waits for copies and may
    raise ``NotDurable``; renewals do not wait: one that is lost shortens the lease.
    """

    _hold: Hold
    _blocks: Counter[str]
    _keeping: Keeping

    def hand(self, hold: Hold, blocks: Counter[str]) -> Self:
        """This lock, in the hand of whoever may renew it. ``blocks``: how many blocks are under which lock: the last one lets go of it."""
        self._hold, self._blocks = hold, blocks
        self._keeping = Keeping(self._renew, hold.ms / 1000)
        return self

    @property
    def lost(self) -> threading.Event:
        """Set once the paths are somebody else's, or ran out while the broker could not be asked. Only within a block."""
        return self._keeping.lost

    @property
    def _ids(self) -> list[str]:
        return sorted({one.lock_id for one in self.paths})

    def _renew(self) -> None:
        hold, ids = self._hold, self._ids
        hold.connection.run(paths.renew(hold.who, hold.channel, [(one, "") for one in ids], hold.ms, once=Once(), quiet=True))

    def __enter__(self) -> Self:
        self._keeping.start()
        self._blocks.update(self._ids)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._blocks.subtract(self._ids)
        last = [one for one in self._ids if self._blocks[one] <= 0]
        try:
            self._keeping.close()
        finally:
            self._let_go(last, error)

    def _let_go(self, ids: list[str], error: BaseException | None) -> None:
        if not ids:
            return
        hold = self._hold
        try:
            hold.drive(locking.unlock(hold.who, hold.channel, None, [(one, "") for one in ids], Once()))
        except ChatError as refused:
            _tell(error, refused)


class Work(InHand, Task):
    """A task in hand, as :class:`Task` says, for one block: ``with chat.claim_task("board") as task``.

    Its lease is renewed until the end of the block. A clean end is done; an error gives it back with the error as reason, or blocks it (``on_error``);
    cancelled it goes back. :meth:`done`, :meth:`block` and :meth:`release` end it before. ``lost`` is set if it became somebody else's: then ending it raises.
    Of a durable client ending it waits for copies, and ``NotDurable`` with ``done`` says that it is over all the same; renewals do not wait.
    """

    _hold: Hold
    _keeping: Keeping
    _on_error: str = "release"
    _over: bool = False

    def hand(self, hold: Hold, on_error: Literal["release", "block"]) -> Self:
        """This task, in the hand of whoever may renew and end it."""
        self._hold, self._on_error = hold, on_error
        self._keeping = Keeping(self._renew, hold.ms / 1000)
        return self

    @property
    def lost(self) -> threading.Event:
        """Set once the task is somebody else's, or its lease ran out while the broker could not be asked. Only within the block."""
        return self._keeping.lost

    def done(self, result: str = "") -> None:
        """It is done, with what came of it (16 KiB of text): whoever asks for the task gets that.

        Raises:
            LeaseStaleToken, LeaseOwnerMismatch, LeaseRecoveryRequired: it is somebody else's by now.
        """
        self._move("done", result=fields.result(result))

    def block(self, reason: str) -> None:
        """It cannot go on: blocked until somebody opens it again. Raises as :meth:`done`."""
        self._move("fail", reason=fields.blocked(reason))

    def release(self, reason: str = "") -> None:
        """Give it back, undone. Raises as :meth:`done`."""
        self._move("release", reason=fields.blocked(reason))

    def _renew(self) -> None:
        hold = self._hold
        hold.connection.run(tasks.claim(hold.who, hold.channel, self.id.lower(), want="keep", ttl_ms=hold.ms, fence=self.token))

    def _move(self, verb: str, *, reason: str = "", result: str = "") -> None:
        hold = self._hold
        try:
            hold.drive(board.move(hold.who, hold.channel, self.id, verb, Once(), fence=self.token, reason=reason, result=result))
        except NotDurable as error:
            self._over = bool(error.facts["done"])
            raise
        self._over = True

    def __enter__(self) -> Self:
        self._keeping.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._keeping.close()
        finally:
            if not self._over:
                self._end(error)

    def _end(self, error: BaseException | None) -> None:
        failed = isinstance(error, Exception)
        verb = "done" if error is None else "fail" if failed and self._on_error == "block" else "release"
        try:
            self._move(verb, reason=_why(error) if failed else "")
        except ChatError as refused:
            _tell(error, refused)


def undone(connection: Connection, error: NotDurable, flow: Flow) -> None:
    """What was taken and is not as safe as asked goes back (``flow``), for nobody gets it into a hand; the error says so."""
    if not error.facts["done"]:
        flow.close()
        return

    def back() -> None:
        try:
            drive(connection, flow)
        except ChatError:
            return  # it was held before and stays so, or the broker is gone and the lease runs out: the error says that it is held
        error.facts.update(done=False, given_back=True)

    back()


def _tell(error: BaseException | None, refused: ChatError) -> None:
    """What cannot be given back does not hide why the block failed; after a clean end it is raised."""
    if error is None:
        raise refused
    error.add_note(f"redischat: {refused.code}: {refused}")


def _why(error: Any) -> str:
    """An error as a reason: one line."""
    return inert(" ".join(f"{type(error).__name__}: {error}".split()))[:REASON_CHARS]
