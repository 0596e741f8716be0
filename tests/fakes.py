"""A server that says what a test wants it to say: RESP over a unix socket."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

import hiredis
from cli import scratch

OK = b"+OK\r\n"


def error(text):
    return f"-{text}\r\n".encode()


def bulk(text):
    data = text.encode()
    return b"$%d\r\n%s\r\n" % (len(data), data)


def array(*parts):
    return b"*%d\r\n%s" % (len(parts), b"".join(part if isinstance(part, bytes) else bulk(part) for part in parts))


class Fake:
    """``answer(words)`` gives the bytes to send back, or None for silence. ``asked`` is all that was ever asked."""

    def __init__(self, home, answer):
        self.path = os.path.join(home, "s")
        self.url, self.answer, self.asked = "unix://" + self.path, answer, []
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(self.path)
        self._door.listen(64)
        self._lines, self._threads = [], []
        self._run(self._accept)

    def _run(self, work, *args):
        thread = threading.Thread(target=work, args=args)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                line, _ = self._door.accept()
                self._lines.append(line)
                self._run(self._serve, line)

    def _serve(self, line):
        reader = hiredis.Reader(encoding="utf-8", errors="replace")
        with contextlib.suppress(OSError):
            while data := line.recv(1 << 16):
                reader.feed(data)
                while (words := reader.gets()) is not False:
                    self.asked.append(words)
                    said = self.answer(words)
                    if said is not None:
                        line.sendall(said)

    def close(self):
        for one in (self._door, *self._lines):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(10)


@contextlib.contextmanager
def saying(answer):
    """A fake server."""
    with scratch() as home:
        fake = Fake(home, answer)
        try:
            yield fake
        finally:
            fake.close()


def old(version="6.2.14"):
    """Answers as Redis ``version`` does to what redischat is built on, and says so when asked; "" has no INFO."""
    failed = "ERR Error running script (call to f_0): @user_script:32: @user_script: 32: "
    info = bulk(f"# Server\r\nredis_version:{version}\r\nredis_mode:standalone\r\n") if version else error("ERR unknown command `INFO`")

    def answer(words):
        verb = words[0].upper()
        if verb in ("HKEYS", "HGETALL"):
            return array("dock", "5 ab dock") if words[1].endswith("heads") else array("dock") if verb == "HKEYS" else array()
        if verb == "EVAL":
            return error(
                failed + ("Invalid stream ID specified as stream command argument" if "XADD" in words[1] else "Unknown Redis command called from Lua script")
            )
        if verb in ("SSUBSCRIBE", "WAITAOF"):
            return error(f"ERR unknown command `{words[0]}`, with args beginning with: `{words[1]}`, ")
        if verb == "PUBSUB":
            return error("ERR Unknown PUBSUB subcommand or wrong number of arguments for 'SHARDNUMSUB'")
        return {"INFO": info, "EVALSHA": error("NOSCRIPT No matching script. Please use EVAL."), "HSCAN": array("0", array())}.get(verb, array())

    return answer
