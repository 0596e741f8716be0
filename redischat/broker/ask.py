"""A few questions to a server over its unix socket, in RESP, without any client library."""

from __future__ import annotations

import socket

from ..errors.broker import Sandboxed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO, Self

ANSWERS = "answers"  # a reply came, an error included: somebody is there
LOADING = "loading"  # there, still reading its data
SILENT = "silent"  # the connection stands, no reply: stopped, or busy
ABSENT = "absent"  # nobody listens
PING_SECONDS = 0.5
SANDBOX_BY = "CODEX_SANDBOX_NETWORK_DISABLED"


class ServerError(Exception):
    """The server's answer was an error; its text begins with a word such as LOADING or NOAUTH."""


class Talk:
    """One connection to the server at ``path``; a reply that takes longer than ``seconds`` is a TimeoutError.

    Raises:
        Sandboxed: this process may not connect.
        OSError: nobody listens, the connection broke (TimeoutError: no reply in time).
    """

    def __init__(self, path: str, seconds: float) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(seconds)
        try:
            self._socket.connect(path)
        except PermissionError as error:
            self._socket.close()
            raise Sandboxed(why=f"connect to {path}: {error.strerror}") from error
        except OSError:
            self._socket.close()
            raise
        self._replies: BinaryIO = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._replies.close()
        self._socket.close()

    def ask(self, *words: str) -> Any:
        """The reply to one command: text, an integer, None, or a list of these.

        Raises:
            ServerError: the reply is an error.
        """
        parts = [word.encode() for word in words]
        self._socket.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts))
        return self._reply()

    def info(self, *section: str) -> dict[str, str]:
        """What the server tells of itself."""
        return dict(line.split(":", 1) for line in str(self.ask("INFO", *section)).split("\r\n") if ":" in line)

    def _reply(self) -> Any:
        line = self._replies.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode(errors="replace")
        if kind == b"-":
            raise ServerError(rest.decode(errors="replace"))
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self._text(int(rest))
        if kind == b"*":
            return [self._reply() for _ in range(int(rest))]
        raise ConnectionResetError("this is no Redis or Valkey server")

    def _text(self, size: int) -> str | None:
        if size < 0:
            return None
        data = self._replies.read(size + len(b"\r\n"))
        if len(data) < size:
            raise ConnectionResetError("the server closed the connection")
        return data[:size].decode(errors="replace")


def leave(env: Mapping[str, str]) -> None:
    """Whether anybody may be asked from here at all.

    Raises:
        Sandboxed: the harness says that this process may not.
    """
    if env.get(SANDBOX_BY, "") not in ("", "0"):
        raise Sandboxed(why=f"{SANDBOX_BY} is set")


def ping(path: str, seconds: float = PING_SECONDS) -> str:
    """How the server at ``path`` is: ANSWERS, LOADING, SILENT or ABSENT.

    Raises:
        Sandboxed: this process may not connect.
    """
    try:
        with Talk(path, seconds) as talk:
            talk.ask("PING")
    except ServerError as error:
        return LOADING if str(error).startswith("LOADING") else ANSWERS
    except (TimeoutError, BlockingIOError):  # BlockingIOError: a stopped server's queue of connections is full (Linux)
        return SILENT
    except OSError:
        return ABSENT
    return ANSWERS
