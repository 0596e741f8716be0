"""A fake model on 127.0.0.1 that plays what a test wrote down, and records what it was shown: ``python fake_api.py FOLDER``.

It speaks Anthropic Messages, OpenAI Responses and Gemini generateContent, streamed or not. The newest user text with ``PLAY:<n>`` in it names the script,
FOLDER/scripts/<n>.json, a list of steps; as many assistant turns as have come since, so many steps are done: the server itself remembers nothing, so
that resumed sessions, subagents and retries are answered alike. After the last step it says ``ACK``. A request without tools (a title, a summary) is a
side matter: answered ``ok``, and recorded as such. Every request is one line of FOLDER/api.jsonl; FOLDER/port says where it listens.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import json
import os
import re
import socket
import struct
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

PLAY = re.compile(r"\bPLAY:(\d+)\b")
HOLD_SECONDS = 60
POLL_SECONDS = 0.01
PARENT_SECONDS = 1
GET_FLAGS, SET_FLAGS, UP = 0x8913, 0x8914, 0x1  # SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP
WRITING = threading.Lock()


def token(kind):
    return f"{kind}_{uuid.uuid4().hex[:20]}"


def text_of(content):
    """The text of a message, tool results left out."""
    if isinstance(content, str):
        return content
    parts = [part for part in content or [] if isinstance(part, dict) and part.get("type") in {None, "text", "input_text", "output_text"}]
    return "\n".join(part.get("text", "") for part in parts)


def step_of(folder, turns):
    """(name of the script, step) that answers ``turns``, a list of (role, text)."""
    name, since = None, 0
    for at, (role, text) in enumerate(turns):
        found = PLAY.findall(text) if role == "user" else []
        if found:
            name, since = found[-1], at + 1
    if name is None:
        return None, ["text", "ACK"]
    roles = ["user", *(role for role, _ in turns[since:])]
    done = sum(1 for before, role in pairwise(roles) if role == "assistant" != before)  # one reply may be kept as several items
    steps = json.loads((folder / "scripts" / f"{name}.json").read_text("utf-8"))
    return name, steps[done] if done < len(steps) else ["text", "ACK"]


def calls_of(step):
    """The (tool, arguments) pairs of a step; none when it is text."""
    return [tuple(call) for call in step[1:]] if step[0] == "tools" else []


class Anthropic:
    """/v1/messages."""

    @staticmethod
    def turns(body):
        return [(message["role"], text_of(message["content"])) for message in body.get("messages", [])]

    @staticmethod
    def side(body):
        return not body.get("tools")

    @staticmethod
    def message(body, step):
        calls = calls_of(step)
        blocks = [{"type": "tool_use", "id": token("toolu"), "name": name, "input": arguments} for name, arguments in calls]
        usage = {"input_tokens": 100, "output_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
        return {
            "id": token("msg"), "type": "message", "role": "assistant", "model": body.get("model"), "content": blocks or [{"type": "text", "text": step[1]}],
            "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    @classmethod
    def reply(cls, body, step, streamed):
        message = cls.message(body, step)
        return ([(event["type"], event) for event in cls.events(message)], None) if streamed else (None, message)

    @staticmethod
    def events(message):
        yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
        for index, block in enumerate(message["content"]):
            if block["type"] == "text":
                empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            yield {"type": "content_block_start", "index": index, "content_block": empty}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
            yield {"type": "content_block_stop", "index": index}
        yield {"type": "message_delta", "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None}, "usage": {"output_tokens": 10}}
        yield {"type": "message_stop"}


class Responses:
    """/v1/responses."""

    @staticmethod
    def turns(body):
        items = body.get("input") or []
        if isinstance(items, str):
            return [("user", items)]
        return [Responses.turn(item) for item in items]

    @staticmethod
    def turn(item):
        kind = item.get("type", "message")
        if kind == "message":
            return ("assistant" if item.get("role") == "assistant" else "user", text_of(item.get("content")))
        return ("assistant" if kind.endswith("_call") else "user", "")

    @staticmethod
    def side(body):
        return "format" in (body.get("text") or {})  # a title has a form; the tools are in the input

    @staticmethod
    def item(name, arguments):
        if isinstance(arguments, str):  # a freeform tool: apply_patch
            return {"type": "custom_tool_call", "id": token("ctc"), "status": "completed", "call_id": token("call"), "name": name, "input": arguments}
        return {"type": "function_call", "id": token("fc"), "status": "completed", "call_id": token("call"), "name": name, "arguments": json.dumps(arguments)}

    @classmethod
    def reply(cls, body, step, streamed):
        said = {"type": "message", "id": token("msg"), "status": "completed", "role": "assistant"}
        items = [cls.item(*call) for call in calls_of(step)] or [{**said, "content": [{"type": "output_text", "text": step[1], "annotations": []}]}]
        head = {"id": token("resp"), "object": "response", "created_at": int(time.time()), "model": body.get("model"), "status": "in_progress", "output": []}
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        usage = {**details, "input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        events: list[dict[str, Any]] = [{"type": "response.created", "response": head}]
        for index, item in enumerate(items):
            events.append(
                {
                    "type": "response.output_item.added",
                    "output_index": index,
                    "item": {**item, "status": "in_progress", **({"content": []} if "content" in item else {})},
                }
            )
            if item["type"] == "message":
                delta = {"type": "response.output_text.delta", "item_id": item["id"], "output_index": index, "content_index": 0}
                events.append({**delta, "delta": item["content"][0]["text"]})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        done = {**head, "status": "completed", "output": items, "usage": usage}
        events.append({"type": "response.completed", "response": done})
        named = [(event["type"], event) for event in events]
        return (named, None) if streamed else (None, done)


class Gemini:
    """models/<name>:generateContent and :streamGenerateContent."""

    @staticmethod
    def turns(body):
        return [("assistant" if item.get("role") == "model" else "user", text_of(item.get("parts"))) for item in body.get("contents", [])]

    @staticmethod
    def side(body):
        return not body.get("tools")

    @staticmethod
    def reply(_, step, streamed):
        parts = [{"functionCall": {"name": name, "args": arguments, "id": token("call")}} for name, arguments in calls_of(step)] or [{"text": step[1]}]
        usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
        whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "fake"}
        return ([(None, whole)], None) if streamed else (None, whole)


def dialect_of(path):
    """Which of the three a path speaks; None: no model call."""
    if "enerateContent" in path:
        return Gemini
    return {"messages": Anthropic, "responses": Responses}.get(path.rsplit("/", 1)[-1])


class Door(BaseHTTPRequestHandler):
    """One connection. Each reply leaves in one write: two would wait for each other, 40 ms a time."""

    protocol_version = "HTTP/1.1"
    folder = Path()

    def log_message(self, *_):
        """Say nothing on standard error."""

    def send(self, kind, data, status=200):
        head = f"HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\nrequest-id: {token('req')}\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n"
        self.close_connection = True
        with contextlib.suppress(OSError):  # a client that left does not hear the rest
            self.wfile.write(head.encode() + data)

    def send_json(self, value, status=200):
        self.send("application/json", json.dumps(value).encode(), status)

    def send_events(self, events):
        lines = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n" for name, event in events]
        self.send("text/event-stream", "".join(lines).encode())

    def record(self, **facts):
        line = json.dumps({"at": time.time(), "path": self.path, "agent": self.headers.get("user-agent"), **facts}) + "\n"
        with WRITING, open(self.folder / "api.jsonl", "a", encoding="utf-8") as book:
            book.write(line)

    def do_HEAD(self):
        self.send("text/plain", b"")

    def do_GET(self):
        self.send_json({"object": "list", "data": [], "models": [], "has_more": False})

    def do_POST(self):
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = self.path.split("?")[0]
        dialect = dialect_of(path)
        if dialect is None:
            return self.send_json({"input_tokens": 100, "totalTokens": 100})
        body = json.loads(raw or b"{}")
        side = dialect.side(body)
        play, step = (None, ["text", "ok"]) if side else step_of(self.folder, dialect.turns(body))
        self.record(body=body, side=side, play=play, reply=step)
        if step[0] == "hold":
            self.wait(step[1])
            step = step[2]
        if step[0] == "refuse":
            return self.send_json({"type": "error", "error": {"type": step[2], "message": step[2]}}, step[1])
        events, whole = dialect.reply(body, step, bool(body.get("stream")) or "stream" in path)
        return self.send_json(whole) if events is None else self.send_events(events)

    def wait(self, name):
        end = time.monotonic() + HOLD_SECONDS
        while not (self.folder / "released" / name).exists() and time.monotonic() < end:
            time.sleep(POLL_SECONDS)


def bring_loopback_up():
    """A fresh network namespace has a loopback that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = array.array("B", struct.pack("16sh22x", b"lo", 0))
        fcntl.ioctl(control, GET_FLAGS, request)
        flags = struct.unpack_from("h", request, 16)[0]
        if not flags & UP:
            struct.pack_into("h", request, 16, flags | UP)
            fcntl.ioctl(control, SET_FLAGS, request)


def leave_with(parent):
    """A test run that was killed leaves no server behind."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os._exit(1)


def main():
    folder = Path(sys.argv[1])
    threading.Thread(target=leave_with, args=(os.getppid(),), daemon=True).start()
    bring_loopback_up()
    Door.folder = folder
    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    (folder / "port.new").write_text(str(server.server_address[1]))
    (folder / "port.new").rename(folder / "port")
    server.serve_forever()


if __name__ == "__main__":
    main()
