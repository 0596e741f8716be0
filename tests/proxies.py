"""A TCP proxy in front of a server that loses replies, or answers in the server's place."""

from __future__ import annotations

import contextlib
import socket
import threading

CHUNK = 1 << 16


class Proxy:
    """In front of the unix socket ``path``. ``lose(n)``: the next ``n`` replies are dropped, and their connections with them. ``answer``: said to all that is asked."""

    def __init__(self, path):
        self.path, self.answer = path, None
        self.lost = self.answered = 0  # how often it did either
        self._losing, self._sockets, self._threads = 0, [], []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self._door.getsockname()[1]}"
        self._run(self._accept)

    def lose(self, count=1):
        self._losing = count

    def _run(self, work, *args):
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._door.accept()
                far = socket.socket(socket.AF_UNIX)
                self._sockets += [near, far]
                with contextlib.suppress(OSError):
                    far.connect(self.path)
                    self._run(self._pass, near, far, self._asked)
                    self._run(self._pass, far, near, self._replied)

    def _pass(self, source, target, through):
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                through(data, source, target)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _asked(self, data, near, far):
        if self.answer is None:
            far.sendall(data)
        else:
            self.answered += 1
            near.sendall(self.answer)

    def _replied(self, data, _, near):
        if self._losing:
            self._losing -= 1
            self.lost += 1
            raise OSError
        near.sendall(data)

    def close(self):
        self._door.shutdown(socket.SHUT_RDWR)
        for one in [self._door, *self._sockets]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for one in [self._door, *self._sockets]:
            one.close()
