"""A Slack that lies on this machine: the Web API's methods that the bridge uses, over HTTP, with its refusals, and people who write there."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

CHANNEL, BOT, BOT_USER = "C0DOCK", "B0BRIDGE", "U0BRIDGE"
SCOPES = "chat:write,channels:history,users:read"
NAMES = {"U0ANN": "Ann Lee", BOT_USER: "redischat"}


class Slack:
    """``said``: all messages, oldest first. ``asked``: ``(method, arguments)`` of each request, ``times`` when. ``answers``: what the next posts get instead of success."""

    def __init__(self):
        self.said, self.asked = [], []
        self.ways: dict[str, Any] = {}  # method -> what it gets, each time; or what says so when it is asked
        self.times: dict[str, list[float]] = {}
        self.answers: deque[Any] = deque()
        self.scopes, self.page, self.newest_first = SCOPES, 200, True
        self.silent, self.shows_metadata, self._over = False, True, threading.Event()
        self._clock, self._lock = 1_900_000_000, threading.Lock()
        slack = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                slack._handle(self)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/api/"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self):
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # What people do.

    def ts(self):
        self._clock += 1
        return f"{self._clock}.000100"

    def write(self, text, user="U0ANN", thread=None, **more):
        """Somebody writes; when."""
        with self._lock:
            one = {"type": "message", "user": user, "text": text, "ts": self.ts(), **({"thread_ts": thread} if thread else {}), **more}
            self.said.append(one)
            return one["ts"]

    def refuse(self, *answers):
        """What the next posts get, one each: an error's word, a status with its headers, "cut" (done, and no answer), "stall" (done, and an
        answer that never comes), "html" (done, and an answer that is not Slack's), "drop" (not done, no answer)."""
        self.answers.extend(answers)

    @property
    def posted(self):
        """What the bridge posted."""
        return [one for one in self.said if one.get("bot_id") == BOT]

    @property
    def texts(self):
        return [one["text"] for one in self.posted]

    def calls(self, method):
        return [given for name, given in self.asked if name == method]

    # What Slack does.

    def _handle(self, http):
        raw = http.rfile.read(int(http.headers.get("Content-Length") or 0)).decode()
        given = json.loads(raw) if http.headers.get("Content-Type", "").startswith("application/json") else {k: v[0] for k, v in parse_qs(raw).items()}
        method = http.path.rpartition("/")[2]
        with self._lock:
            self.asked.append((method, given))
            self.times.setdefault(method, []).append(time.monotonic())
        if self.silent:
            self._over.wait()
            return
        with self._lock:
            way = self.ways.get(method) or (self.answers.popleft() if self.answers and method == "chat.postMessage" else None)
            if callable(way):
                way = way(given)
            if way == "drop":
                return
            status, headers, body = (
                (way[0], way[1], {"ok": False, "error": "ratelimited"}) if isinstance(way, tuple) else (200, {}, {"ok": False, "error": way})
            )
            if isinstance(way, dict):
                body = way
            if way in (None, "cut", "stall", "html"):
                body = getattr(self, "_" + method.replace(".", "_"))(given)
        if way == "stall":
            self._over.wait()
        if way in ("cut", "stall"):
            return
        data = b"<html>a door in between</html>" if way == "html" else json.dumps(body).encode()
        http.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), "X-OAuth-Scopes": self.scopes, **headers}.items():
            http.send_header(name, value)
        http.end_headers()
        http.wfile.write(data)

    def _auth_test(self, _):
        return {"ok": True, "user": "redischat", "user_id": BOT_USER, "bot_id": BOT}

    def _users_info(self, given):
        name = NAMES.get(given["user"])
        return {"ok": True, "user": {"profile": {"display_name": name}}} if name else {"ok": False, "error": "user_not_found"}

    def _chat_postMessage(self, given):  # noqa: N802 - Slack's name
        root = given.get("thread_ts")
        if root and all(one["ts"] != root for one in self.said):
            return {"ok": False, "error": "thread_not_found"}
        one = {
            "type": "message",
            "subtype": "bot_message",
            "bot_id": BOT,
            "user": BOT_USER,
            "text": given["text"],
            "ts": self.ts(),
            "metadata": given["metadata"],
        }
        self.said.append(one | ({"thread_ts": root} if root else {}))
        return {"ok": True, "ts": one["ts"]}

    def _conversations_history(self, given):
        top = [self._parent(one) for one in self.said if one.get("thread_ts") in (None, one["ts"]) or one.get("subtype") == "thread_broadcast"]
        return self._paged(top, given)

    def _conversations_replies(self, given):
        root = [one for one in self.said if one["ts"] == given["ts"]]
        if not root:
            return {"ok": False, "error": "thread_not_found"}
        answer = self._paged([one for one in self.said if one.get("thread_ts") == given["ts"] and one["ts"] != given["ts"]], given)
        return {**answer, "messages": [*root, *answer["messages"]]}

    def _parent(self, one):
        hung = [other["ts"] for other in self.said if other.get("thread_ts") == one["ts"] and other is not one]
        return one | ({"thread_ts": one["ts"], "reply_count": len(hung), "latest_reply": max(hung)} if hung else {})

    def _paged(self, found, given):
        oldest, at = float(given.get("oldest", 0)), int(given.get("cursor") or 0)
        inside = [one for one in found if float(one["ts"]) > oldest or (given.get("inclusive") in ("1", "true") and float(one["ts"]) == oldest)]
        inside.sort(key=lambda one: float(one["ts"]), reverse=self.newest_first)
        limit = min(int(given.get("limit", 100)), self.page)
        shown = [
            one if self.shows_metadata and given.get("include_all_metadata") in ("1", "true") else {k: v for k, v in one.items() if k != "metadata"}
            for one in inside[at : at + limit]
        ]
        more = at + limit < len(inside)
        return {"ok": True, "messages": shown, "has_more": more, "response_metadata": {"next_cursor": str(at + limit) if more else ""}}


@contextmanager
def slack_here():
    """A Slack, gone afterwards."""
    found = Slack()
    try:
        yield found
    finally:
        found.close()
