"""A client of the MCP server that writes and reads the protocol's lines itself: what the SDK's client would hide can be seen, and done."""

from __future__ import annotations

import json
import os
import subprocess
import threading

from cli import COMMAND
from waiting import wait_until

SECONDS = 20
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "lines", "version": "1"}}


class Lines:
    """A server of ``person``, started with ``words``. ``out``: all that it wrote on standard output, line by line, as it came; ``err``: the rest."""

    def __init__(self, person, *words, code=None, env=None, hello=True, wrap=()):
        given = {**person.town.env, **person.env, **(env or {})}
        command = [*wrap, *(code or COMMAND), *(() if code else ("mcp",)), *words]
        self.process = subprocess.Popen(
            command, cwd=person.directory, env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        person.town.started.append(self.process)
        self.out: list[bytes] = []
        self._err: list[bytes] = []
        self._next = 0
        self.reading = threading.Event()
        self.reading.set()
        for pipe, kept in ((self.process.stdout, self.out), (self.process.stderr, self._err)):
            threading.Thread(target=self._keep, args=(pipe, kept), daemon=True).start()
        if hello:
            self.ask("initialize", HELLO)
            self.tell("notifications/initialized")

    def _keep(self, pipe, kept):
        left = b""
        try:
            while chunk := os.read(pipe.fileno(), 1 << 16):
                *lines, left = (left + chunk).split(b"\n")
                kept += lines
                self.reading.wait()
        except (OSError, ValueError):
            return

    @property
    def err(self):
        return b"\n".join(self._err).decode()

    def send(self, line):
        """Bytes, or a value as JSON."""
        assert self.process.stdin is not None
        self.process.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")

    def tell(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def begin(self, method, params=None):
        """Send a request; its id."""
        self._next += 1
        self.send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params or {}})
        return self._next

    def call(self, name, /, **arguments):
        """Begin a call of a tool; its id."""
        return self.begin("tools/call", {"name": name, "arguments": arguments, "_meta": {"progressToken": f"p{self._next}"}})

    def heard(self):
        """Every line so far: each must be the protocol's."""
        found = [json.loads(line) for line in self.out]
        assert all(one["jsonrpc"] == "2.0" for one in found), found
        return found

    def answered(self, number):
        """The answer to a request, if it is there."""
        return [one for one in self.heard() if one.get("id") == number and "method" not in one]

    def answer(self, number, seconds=SECONDS):
        """The answer to a request, waited for."""
        return wait_until(lambda: self.answered(number), f"answer {number}\n{self.err}", seconds)[0]

    def ask(self, method, params=None):
        return self.answer(self.begin(method, params))

    def __call__(self, name, /, **arguments):
        """Call a tool; its result."""
        return self.answer(self.call(name, **arguments))["result"]

    def record(self, name, /, **arguments):
        """Call a tool that must succeed; its record."""
        result = self(name, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]

    def refusal(self, name, /, **arguments):
        """Call a tool that must be refused; its code."""
        result = self(name, **arguments)
        assert result["isError"], result
        return result["structuredContent"]["error"]

    def stop_reading(self):
        """Close its output, as a client that dies does, and leave its input open."""
        assert self.process.stdout is not None
        self.process.stdout.close()

    def hang_up(self):
        """Close its input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def close(self, seconds=SECONDS):
        """Close its input; its exit code."""
        self.hang_up()
        return self.process.wait(seconds)


def seqs(record):
    """The numbers of the messages in a record."""
    return [one["seq"] for one in record["messages"]]
