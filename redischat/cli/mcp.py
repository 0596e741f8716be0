"""mcp."""

from __future__ import annotations

import os
import sys

from ..errors import Usage
from .agents import become
from .seat import Seat, given, missing
from .show import say as remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..settings import Settings

SECONDS = 50.0


def mcp(
    seat: Seat,
    *,
    tools: str | None = None,
    http: str | None = None,
    token_file: str | None = None,
    allow_host: str | None = None,
    longest_wait: float = SECONDS,
) -> int:
    """Serve until the client has gone. Not a byte but the protocol's leaves on standard output."""
    from ..mcp_server import pipes

    if longest_wait <= 0:
        raise Usage(message="--longest-wait is a number of seconds above 0")
    if http is None and (token_file is not None or allow_host is not None):
        raise Usage(message="--token-file and --allow-host are for --http HOST:PORT")
    if http is None and sys.stdin is not None and os.isatty(0):
        remark("an MCP server is started by its client, which speaks to it on standard input; ^D ends it. How clients are told of it: redischat setup --help")
    ends = pipes.divert() if http is None else None
    try:
        from ..mcp_server import run
        from ..mcp_server.seat import Place
    except ImportError as error:
        raise missing(error, "the MCP server", "mcp") from None
    place = Place(given(seat.settings), _become, longest_wait)
    wanted = tools if tools is not None else run.DEFAULT
    if ends is not None:
        return run.over_pipes(place, wanted, ends)
    from ..mcp_server.http import Door, over_http

    return over_http(place, wanted, str(http), Door(token_file, allow_host, seat.settings.env))


def _become(settings: Settings, name: str, **how: Any) -> dict[str, Any]:
    """Bind a name to the session of these settings, as identify does."""
    seat = Seat(settings)
    try:
        return become(seat, name, **how)[0]
    finally:
        seat.close()
