"""Resources: a channel's transcript, board and locks to look at, and word of it when one of them changes."""

from __future__ import annotations

import asyncio
import sys
import time
from json import dumps
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from ..aio.doorbell import AsyncDoorbell
from ..calls.call import Listen
from ..errors import ChatError, Refused
from .answers import clean, dumped
from .delivery import apart
from .reading import Part, room, transcript

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from ..aio.client import AsyncClient
    from .seat import Place

SCHEME = "redischat://channels/"
KINDS = {"transcript": "the newest messages", "tasks": "the board", "locks": "the path locks"}
LISTED = 50  # channels
NEWEST = 50
WATCHED = 32  # at once: each is a connection
AWAKE_S = 3_600.0
FORMS = {"transcript": "text/plain", "tasks": "application/json", "locks": "application/json"}


class Resources:
    """What a client may look at, and who watches what."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._bus = InMemorySubscriptionBus()
        self._serve = ListenHandler(self._bus)
        self._watched: dict[tuple[int, str], asyncio.Task[None]] = {}

    async def every(self, context: Any, params: Any) -> ListResourcesResult:  # noqa: ARG002 - the SDK's
        """Those of the open channels."""
        found = await self._looked(lambda chat: chat.channels())
        rows = [one.channel for one in found if not one.closed][:LISTED]
        return ListResourcesResult(
            resources=[
                Resource(uri=f"{SCHEME}{name}/{kind}", name=f"{name}/{kind}", description=f"#{name}: {about}", mime_type=FORMS[kind])
                for name in rows
                for kind, about in KINDS.items()
            ]
        )

    async def templates(self, context: Any, params: Any) -> ListResourceTemplatesResult:  # noqa: ARG002 - the SDK's
        """Those of any channel."""
        made = [
            ResourceTemplate(uri_template=f"{SCHEME}{{channel}}/{kind}", name=kind, description=f"{about} of a channel", mime_type=FORMS[kind])
            for kind, about in KINDS.items()
        ]
        return ListResourceTemplatesResult(resource_templates=made)

    async def read(self, context: Any, params: Any) -> ReadResourceResult:  # noqa: ARG002 - the SDK's
        """One of them as it is now; nothing is marked as read."""
        name, kind = _parted(str(params.uri))
        text = await self._looked(lambda chat: _text(chat, name, kind))
        return ReadResourceResult(contents=[TextResourceContents(uri=str(params.uri), mime_type=FORMS[kind], text=clean(text))])

    async def subscribe(self, context: Any, params: Any) -> EmptyResult:
        """Tell this client when it changes, until it says otherwise or goes."""
        uri, peer = str(params.uri), _peer(context)
        if await self._watch(id(peer), uri, lambda: context.session.send_resource_updated(uri)) and peer is not None:
            peer.exit_stack.callback(self._drop, id(peer), uri)
        return EmptyResult()

    async def unsubscribe(self, context: Any, params: Any) -> EmptyResult:
        """No more of that."""
        self._drop(id(_peer(context)), str(params.uri))
        return EmptyResult()

    def _drop(self, client: int, uri: str) -> None:
        task = self._watched.pop((client, uri), None)
        if task is not None:
            task.cancel()

    async def listen(self, context: Any, params: Any) -> Any:
        """The newer way of the protocol: one request is the subscription, for as long as it runs."""
        wanted = list(params.notifications.resource_subscriptions or ())
        key = id(context)
        try:
            for uri in wanted:
                await self._watch(key, uri, lambda uri=uri: self._bus.publish(ResourceUpdated(uri)))  # type: ignore[misc]
            return await self._serve(context, params)
        finally:
            for uri in wanted:
                self._drop(key, uri)

    async def _watch(self, client: int, uri: str, tell: Callable[[], Awaitable[None]]) -> bool:
        """Begin to tell a client; whether that is new."""
        name, _ = _parted(uri)
        if (client, uri) in self._watched:
            return False
        if len(self._watched) >= WATCHED:
            raise _refusal(Refused(message=f"{WATCHED} subscriptions are open already: end one of them"))
        heard = asyncio.Event()
        self._watched[client, uri] = task = asyncio.create_task(self._told(name, tell, heard))
        waiting = asyncio.create_task(heard.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if task.done():
            del self._watched[client, uri]
            error = task.exception()
            raise _refusal(error) if isinstance(error, ChatError) else error or RuntimeError(uri)
        task.add_done_callback(_ended)
        return True

    async def _told(self, name: str, tell: Callable[[], Awaitable[None]], heard: asyncio.Event) -> None:
        """Each ring of a channel is a reason to look again; so is each time that a ring may have been missed, but for the first."""
        chat = self._place.client()
        doorbell = AsyncDoorbell(chat.connection)
        try:
            await chat.history(name, limit=1)  # a channel that there is not is refused here
            while True:
                ring = await doorbell.listen(Listen([chat.seat(anybody=True).keys.live(name)], time.monotonic() + AWAKE_S))
                if heard.is_set() and ring is not None:
                    await tell()
                heard.set()
        finally:
            await doorbell.close()
            await chat.disconnect()

    async def _looked(self, look: Callable[[AsyncClient], Awaitable[Any]]) -> Any:
        try:
            return await apart(self._asked(look))
        except ChatError as error:
            raise _refusal(error) from error

    async def _asked(self, look: Callable[[AsyncClient], Awaitable[Any]]) -> Any:
        chat = self._place.client()
        try:
            return await look(chat)
        finally:
            await chat.disconnect()


def _peer(context: Any) -> Any:
    """The client's connection, which the SDK shows to nobody; without it a subscription lasts until it is ended, or the server is."""
    return getattr(context.session, "_connection", None)


def _ended(task: asyncio.Task[None]) -> None:
    """The channel is gone, or the broker refuses for good: said once, where a person looks."""
    if not task.cancelled() and (error := task.exception()):
        sys.stderr.write(f"redischat mcp: a subscription has ended: {getattr(error, 'code', type(error).__name__)}\n")


async def _text(chat: AsyncClient, name: str, kind: str) -> str:
    if kind == "transcript":
        return (await transcript(chat, name, Part(newest=NEWEST, audits=True))).text
    if kind == "tasks":
        rows: Any = [dumped(one) for one in await chat.task_list(name)]
    else:
        found = await chat.locks(name, all=True)
        rows = dumped(found)
    return dumps(rows, ensure_ascii=False)


def _parted(uri: str) -> tuple[str, str]:
    name, _, kind = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or kind not in KINDS:
        raise MCPError(code=INVALID_PARAMS, message=f"no such resource: {clean(uri)[:200]!r}")
    try:
        return room(unquote(name)), kind
    except ChatError as error:
        raise _refusal(error) from error


def _refusal(error: ChatError) -> MCPError:
    return MCPError(code=INVALID_PARAMS, message=clean(f"{error.code}: {error.sentence()}")[:2_000], data=clean({"error": error.code}))
