"""The server over HTTP: who may come in, and when an answer has left."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
import sys
from hmac import compare_digest
from typing import TYPE_CHECKING

from mcp.server.transport_security import TransportSecuritySettings
from uvicorn import Config, Server

from ..errors import Refused, Usage
from .delivery import AROUND, Deliveries
from .server import built
from .table import chosen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

    from .seat import Place

    Message = dict[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

VARIABLE = "REDISCHAT_MCP_TOKEN"
PATH = "/mcp"
SHORTEST = 16  # characters of a token
PORTS = 1 << 16
GOES_SECONDS = 3  # for requests that run when the server is told to end


class Door:
    """Who may come in: the token (none on the loopback alone), and the names by which the server may be called.

    Raises:
        Usage: the token cannot be read or is short.
    """

    def __init__(self, token_file: str | None, allow_host: str | None, env: Mapping[str, str]) -> None:
        self.token = _read(token_file) if token_file is not None else env.get(VARIABLE, "").strip()
        if (token_file is not None or self.token) and len(self.token) < SHORTEST:
            where = token_file if token_file is not None else VARIABLE
            raise Usage(message=f"the token in {where} is shorter than {SHORTEST} characters: python3 -c 'import secrets; print(secrets.token_urlsafe())'")
        self.hosts = [one.strip() for one in (allow_host or "").split(",") if one.strip()]

    def admits(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Whether a request brings the token; compared in a time that tells nothing of it."""
        given = [value for name, value in headers if name.lower() == b"authorization"]
        return not self.token or (len(given) == 1 and compare_digest(given[0], b"Bearer " + self.token.encode()))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError) as error:
        raise Usage(message=f"cannot read the token in {path!r}: {error}") from None


def over_http(place: Place, tools: str, where: str, door: Door) -> int:
    """Serve streamable HTTP at ``where`` (HOST:PORT) until the process is told to end.

    Raises:
        Usage: it is no such place, or is open to other machines and has no token.
    """
    host, port = _parted(where)
    local = _loopback(host)
    if not local and not door.token:
        raise Usage(
            message=f"{host} can be reached from other machines: give a token, --token-file F or {VARIABLE}. One is made by: python3 -c 'import secrets; print(secrets.token_urlsafe())'"
        )
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, force=True)
    server = Announced(Config(application(place, tools, host, door), host, port, log_config=None, access_log=False, timeout_graceful_shutdown=GOES_SECONDS))
    server.run(sockets=[_listening(host, port)])
    return 0


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except OSError as error:
        raise Refused(message=f"cannot listen at {host}:{port}: {error.strerror or error}. Another port: --http {host}:0 takes a free one") from None


class Announced(Server):
    """Says where it listens, once it does: with port 0 nobody could know."""

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and say where."""
        await super().startup(sockets)
        if self.started:
            host, port = sockets[0].getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            sys.stderr.write(f"redischat mcp: http://{shown}:{port}{PATH}\n")
            sys.stderr.flush()


def application(place: Place, tools: str, host: str, door: Door) -> Gate:
    """What answers HTTP requests."""
    names = ["127.0.0.1", "localhost", "[::1]"] if _loopback(host) else [f"[{host}]" if ":" in host else host]
    names += door.hosts
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=[form for name in names for form in (name, f"{name}:*")],
        allowed_origins=[f"{scheme}://{name}{end}" for name in names for scheme in ("http", "https") for end in ("", ":*")],
    )  # fmt: skip
    return Gate(built(place, chosen(tools)).streamable_http_app(streamable_http_path=PATH, transport_security=security, host=host), door)


class Gate:
    """In front of the SDK's application: lets in who brings the token, and settles what an answer held when it is known how that fared."""

    def __init__(self, inner: Any, door: Door) -> None:
        self._inner, self._door = inner, door

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """One request, or the beginning and end of the server."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
        elif not self._door.admits(scope["headers"]):
            await _turned_away(send)
        else:
            await self._delivered(scope, receive, send)

    async def _delivered(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        deliveries, line = Deliveries(), Line(receive, send)
        around = AROUND.set(deliveries)
        try:
            await self._inner(scope, line.receive, line.send)
        finally:
            AROUND.reset(around)
            line.close()
            await deliveries.close(left=line.whole)


class Line:
    """The way to one client: whether it was still there when the last byte of the answer went out."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send = receive, send
        self._gone, self.whole = False, False
        self._came: asyncio.Queue[Message] = asyncio.Queue()
        self._listening = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        """Hear at once that the client has gone, whether the application asks or not."""
        while not self._gone:
            message = await self._receive()
            self._gone = message["type"] == "http.disconnect"
            self._came.put_nowait(message)

    async def receive(self) -> Message:
        """The next part of the request."""
        return {"type": "http.disconnect"} if self._gone and self._came.empty() else await self._came.get()

    async def send(self, message: Message) -> None:
        """A part of the answer."""
        gone = self._gone
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.whole = not gone

    def close(self) -> None:
        """The request is over."""
        self._listening.cancel()


async def _turned_away(send: Send) -> None:
    body = b'{"error": "unauthorized: send the header Authorization: Bearer TOKEN"}'
    headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _parted(where: str) -> tuple[str, int]:
    host, colon, port = where.rpartition(":")
    host = host.strip("[]")
    if not colon or not host or not port.isdecimal() or int(port) >= PORTS:
        raise Usage(message=f"{where!r} is no place to serve at: --http HOST:PORT, for one 127.0.0.1:8765 (port 0: a free one)")
    return host, int(port)


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
