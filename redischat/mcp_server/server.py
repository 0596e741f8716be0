"""The server: what it says of itself, and how a call of a tool becomes an answer."""

from __future__ import annotations

import sys
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, ListToolsResult, ToolAnnotations
from mcp_types import Tool as Description

from .. import __version__
from ..errors import ChatError, Defect
from .answers import Answer, answered, record_of, refused
from .delivery import AROUND, Deliveries, Telling, apart
from .prompts import INSTRUCTIONS, get_prompt, list_prompts
from .request import Request
from .resources import Resources
from .tool import SKIP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import Any

    from mcp_types import CallToolRequestParams

    from .delivery import Held
    from .seat import Place
    from .tool import Tool

NAME = "redischat"


class ChatServer(Server["Deliveries | None"]):
    """A server that knows when an answer has left. ``arrived``: asks the carrier whether the client has taken what was written last."""

    arrived: Callable[[], Awaitable[bool]] | None = None

    async def run(self, read_stream: Any, write_stream: Any, initialization_options: Any, raise_exceptions: bool = False) -> None:  # noqa: FBT001, FBT002 - the SDK's
        """Serve one connection until its end; what was on its way then comes again."""
        deliveries = Deliveries()
        around = AROUND.set(deliveries)
        try:
            await super().run(read_stream, Telling(write_stream, deliveries, self.arrived), initialization_options, raise_exceptions)
        finally:
            AROUND.reset(around)
            await deliveries.close()


@asynccontextmanager
async def _deliveries(_: Server[Any]) -> AsyncIterator[Deliveries | None]:
    yield AROUND.get()


def built(place: Place, tools: dict[str, Tool]) -> ChatServer:
    """A server with these tools, and the resources and the prompt."""
    resources = Resources(place)
    return ChatServer(
        NAME, version=__version__, title="redischat", instructions=INSTRUCTIONS, lifespan=_deliveries, on_list_tools=partial(list_tools, tools),
        on_call_tool=partial(call_tool, place, tools), on_list_prompts=list_prompts, on_get_prompt=get_prompt, on_list_resources=resources.every,
        on_list_resource_templates=resources.templates, on_read_resource=resources.read, on_subscribe_resource=resources.subscribe,
        on_unsubscribe_resource=resources.unsubscribe, on_subscriptions_listen=resources.listen,
    )  # fmt: skip


async def list_tools(tools: dict[str, Tool], context: Any, params: Any) -> ListToolsResult:  # noqa: ARG001 - the SDK's
    """All tools, described."""
    return ListToolsResult(tools=[described(one) for one in tools.values()])


def described(tool: Tool) -> Description:
    """A tool as clients are told of it."""
    gentle = None if tool.destroys else ToolAnnotations(destructive_hint=False, open_world_hint=False)  # without both, Codex asks its user at each call
    hints = ToolAnnotations(read_only_hint=True) if tool.looks else gentle
    return Description(name=tool.name, description=tool.about, input_schema=tool.schema, output_schema=tool.output, annotations=hints)


async def call_tool(place: Place, tools: dict[str, Tool], context: Any, params: CallToolRequestParams) -> CallToolResult:
    """Run a tool. Whatever goes wrong is an answer that is marked as an error; a tool that there is not is the protocol's."""
    tool = tools.get(params.name)
    if tool is None:
        raise MCPError(code=INVALID_PARAMS, message=f"Unknown tool: {params.name[:64]!r}")
    try:
        got: tuple[CallToolResult, Held | None] = await apart(_performed(place, tool, params.arguments or {}, context), _given_back)
    except ChatError as error:
        return refused(error)
    except Exception as error:  # noqa: BLE001 - a model gets one line with a code
        sys.stderr.write(f"redischat mcp: {params.name}: {type(error).__name__}\n")
        return refused(Defect(what=f"{type(error).__name__}: {error}"))
    result, held = got
    if held is not None:
        around = AROUND.get() or context.lifespan_context
        if around is None:  # a client in this very process, which has the answer when this returns
            await held.left()
        else:
            await around.hold(context.request_id, held)
    return result


async def _performed(place: Place, tool: Tool, arguments: dict[str, Any], context: Any) -> tuple[CallToolResult, Held | None]:
    given = tool.checked(arguments)
    skip = given.pop(SKIP, 0)
    chat = place.client()
    held = None
    try:
        found = await tool(chat, given, Request(place, context))
        if isinstance(found, Answer):
            held = found.held
            return answered(found.record, found.text), held
        return answered(record_of(tool, found, skip)), None
    finally:
        if held is None:
            await chat.disconnect()


async def _given_back(outcome: tuple[CallToolResult, Held | None]) -> None:
    if outcome[1] is not None:
        await outcome[1].lost(begun=False)
