"""Runs a bridge until its channel is gone or it is told to end: both directions side by side, each with its own pauses."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ..aio.client import AsyncClient
from ..errors import CannotKeep, ChannelClosed, NoChannel
from ..errors.bridge import BridgeRefused, BridgeRuns
from ..settings import digest
from .inward import Inward
from .memory import Memory
from .outward import Outward, Pause
from .slack import API, HOPELESS, Slack, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

    from ..aio.client import AsyncRoom
    from ..settings import Settings

    Say = Callable[[str], None]

BRIEFING = "This channel is carried to Slack: what is said here leaves this machine, and a person reads it there."


class Wanted:
    """What a bridge joins: a ``room`` here and a ``channel`` in Slack, whose bot has ``token``; it looks there every ``poll`` seconds. ``api``: where Slack is."""

    __slots__ = ("api", "channel", "poll", "room", "token")

    def __init__(self, room: str, channel: str, token: str, poll: float, api: str = API) -> None:
        self.room, self.channel, self.token, self.poll, self.api = room, channel, token, poll, api


def bridge(settings: Settings, wanted: Wanted, say: Say) -> int:
    """Until it is told to end, by ^C or a signal.

    Raises:
        BridgeRuns, BridgeRefused: it was not started.
        ChannelClosed, NoChannel: the channel is gone, and what the bridge remembered of it is cleared.
        NotMember, NotYou: the person has left, or is somebody else now.
    """
    path = place(settings, wanted)
    with _alone(path, settings, wanted):
        return asyncio.run(_until_told(settings, wanted, Memory(path, say), say))


def place(settings: Settings, wanted: Wanted) -> str:
    """Where the memory of this bridge lies. Names that cannot lead elsewhere, and tell nothing."""
    what = (f"{settings.bindings_dir()}\n{settings.agent.lower()}", wanted.room.lower(), wanted.channel)
    return os.path.join(settings.state_dir, "bridges", "-".join(digest(one) for one in what))


@contextmanager
def _alone(path: str, settings: Settings, wanted: Wanted) -> Iterator[None]:
    """One for a person and a channel on this host, whatever the channels in Slack: two would take each other's messages."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        lock = os.open(path.rpartition("-")[0] + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CannotKeep(path=path, why=error.strerror, remedy="Where it may be written says REDISCHAT_STATE: redischat bridge slack --check") from error
    try:
        if not _locked(lock):
            raise BridgeRuns(channel=wanted.room, agent=settings.agent)
        yield
    finally:
        os.close(lock)


def _locked(lock: int) -> bool:
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock
    except ImportError:  # native Windows
        return True
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _until_told(settings: Settings, wanted: Wanted, memory: Memory, say: Say) -> int:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with suppress(ValueError, NotImplementedError):  # not the main thread; a loop without signals (Windows): ^C ends it all the same
            if signal.getsignal(one) is not signal.SIG_IGN:  # nohup, and shells for what they start in the background
                loop.add_signal_handler(one, stop.set)
    carrying = asyncio.ensure_future(carry(AsyncClient(settings=settings), wanted, memory, say))
    told = asyncio.ensure_future(stop.wait())
    await asyncio.wait({carrying, told}, return_when=asyncio.FIRST_COMPLETED)
    for task in (carrying, told):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await carrying
    return 0


async def carry(chat: AsyncClient, wanted: Wanted, memory: Memory, say: Say) -> None:
    """Both directions, for ever; the first that cannot go on ends both."""
    slack = Slack(wanted.token, wanted.channel, wanted.api)
    async with chat:
        room = chat.channel(wanted.room)
        try:
            await room.pending()  # refused before anything is said
            await _greeted(slack, say)
            await _briefed(room, wanted, say)
            say(f"carrying #{wanted.room} to Slack's {wanted.channel} as @{slack.name} and back as {chat.agent}; ^C ends it")
            await _first(Outward(room, slack, memory, say).run(), Inward(room, slack, memory, say, wanted.poll).run())
        except (ChannelClosed, NoChannel):
            memory.clear()
            raise


async def _first(*works: Coroutine[Any, Any, None]) -> None:
    """Side by side until one ends, and with it all."""
    tasks = [asyncio.ensure_future(one) for one in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()


async def _briefed(room: AsyncRoom, wanted: Wanted, say: Say) -> None:
    """Whoever joins must know that what is said leaves this machine: the house rules say so, or the person is told that they do not."""
    rules = (await room.briefing()).briefing
    if rules is None:
        await room.briefing(BRIEFING)
    elif "slack" not in rules.lower():
        say(f"the house rules of #{wanted.room} do not say that it is carried to Slack: redischat briefing {wanted.room} --file F sets them")


async def _greeted(slack: Slack, say: Say) -> None:
    pause, told = Pause(), ""
    while True:
        try:
            await slack.greet()
        except Trouble as trouble:
            if trouble.error in HOPELESS:
                raise BridgeRefused(answer=trouble.error, remedy=trouble.remedy()) from None
            if trouble.error != told:
                told = trouble.error
                say(f"Slack cannot be reached ({trouble.error}): it is tried again")
            await pause.rest(trouble.wait_s)
        else:
            return
