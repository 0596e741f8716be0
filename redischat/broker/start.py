"""Make sure that the embedded broker runs: whoever comes first starts it, all others find it."""

from __future__ import annotations

import os
import time

from ..errors.broker import BrokerNotStarted, BrokerStuck, Loading
from ..settings import host
from . import ask, lock, served
from .launch import Launched, launch, was_told_to_end, why_it_ended
from .place import Place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

STUCK_SECONDS = 5.0  # a server that takes connections and does not answer
START_SECONDS = 15.0  # the lock is held and nobody listens yet: a server is being started, or ends
LOADING_SECONDS = 60.0
POLL_SECONDS = 0.02
FSYNC = ("always", "everysec")  # decisions/0010: only always keeps every acknowledged message when the server is killed
FSYNC_BY = "REDISCHAT_FSYNC"


def ensure(state_dir: str, *, notice: Callable[[str], None] | None = None, fsync: str = FSYNC[0]) -> str:
    """The url ``unix://<state_dir>/broker/s`` of this user's running server, started now if there was none.

    ``notice`` is called at most once, with a sentence to show, when a server loads its data and is waited for (up to 60 s). ``fsync`` is ``always`` or
    ``everysec``; REDISCHAT_FSYNC wins over it; both only count for a server that is started now.

    Raises:
        Sandboxed: this process may not connect, so nothing was started.
        BrokerStuck: a server holds the directory and does not answer.
        Loading: it is still loading after 60 s.
        BrokerTooOld, BrokerNotStarted: none can be started here.
    """
    place = Place(state_dir)
    place.check()
    if ask.ping(place.socket) == ask.ANSWERS:
        return place.url
    ask.leave(os.environ)
    fsync = _fsync(fsync)
    place.prepare()
    patience, launched = _Patience(place, notice), None
    while (state := ask.ping(place.socket)) != ask.ANSWERS:
        # Silence never starts a second server, it may be a stopped one. Nobody listening and a free lock means that there is none.
        if state == ask.ABSENT:
            launched = _started(place, fsync, launched)
        patience.spend(state)
        time.sleep(POLL_SECONDS)
    return place.url


def _fsync(given: str) -> str:
    wanted = os.environ.get(FSYNC_BY) or given
    if wanted not in FSYNC:
        raise BrokerNotStarted(
            why=f"{FSYNC_BY} is {wanted!r}", remedy=f"Set it to always or everysec (faster; up to 2 seconds may be lost), or: unset {FSYNC_BY}"
        )
    return wanted


def _started(place: Place, fsync: str, launched: Launched | None) -> Launched | None:
    """Start a server if its lock is free. The lock free again after we started one means that it has ended: that is told, unless somebody stopped it."""
    with place.writing():
        descriptor = lock.take(place)
        if descriptor is None:
            return launched
        try:
            if launched and not was_told_to_end(place, launched):
                raise why_it_ended(place, launched)
            _refuse_other_host(place, descriptor)
            return launch(place, descriptor, fsync)
        finally:
            os.close(descriptor)


def _refuse_other_host(place: Place, descriptor: int) -> None:
    facts = served.read(place)
    if served.elsewhere(facts) and served.fresh(place, facts, lock.disk_clock(descriptor)):
        raise _other_host(place, facts["host"])


def _other_host(place: Place, name: str) -> BrokerNotStarted:
    return BrokerNotStarted(
        why=f"{place.directory} is served by host {name}, or was within the last minute, and this is {host()}; a shared home directory can have one broker only",
        remedy=f"Set REDISCHAT_URL to a Redis or Valkey server that both hosts reach, or REDISCHAT_STATE to a local directory. If {name} has stopped, try again in a minute",
    )


class _Patience:
    """How long to wait for a server that is there: by the most hopeful state seen so far."""

    def __init__(self, place: Place, notice: Callable[[str], None] | None) -> None:
        self._place, self._notice = place, notice
        self._began, self._limit = time.monotonic(), 0.0

    def spend(self, state: str) -> None:
        """Raise when time is up."""
        self._limit = max(self._limit, {ask.SILENT: STUCK_SECONDS, ask.ABSENT: START_SECONDS, ask.LOADING: LOADING_SECONDS}[state])
        if state == ask.LOADING and self._notice:
            self._notice(f"the embedded broker is loading its data; waiting up to {LOADING_SECONDS:.0f} s")
            self._notice = None
        if time.monotonic() - self._began < self._limit:
            return
        if state == ask.LOADING:
            raise Loading(url=self._place.url)
        raise self._stuck()

    def _stuck(self) -> BrokerStuck | BrokerNotStarted:
        """A holder that is seen from here is ours whatever the host was called when it started (laptops change names)."""
        facts = served.read(self._place)
        seen = lock.holder(self._place, facts.get("pid"))
        if seen is None and served.elsewhere(facts):
            return _other_host(self._place, facts["host"])
        return BrokerStuck(pid=seen or facts.get("pid"), host=host() if seen else facts.get("host", host()), directory=self._place.directory)
