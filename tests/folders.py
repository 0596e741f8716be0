"""What tests of folders share: a private server (real or fake) to ask, and the records and files that they start from."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager

from cli import serving

from redischat.calls.call import Caller, Once
from redischat.calls.messages import Draft
from redischat.errors import Refused
from redischat.flows import channels, messages, reading, transcript
from redischat.keys import Keys
from redischat.wire import Wire

KEYS = Keys("folders")
AMY, BOB, NOBODY = Caller(KEYS, "Amy"), Caller(KEYS, "bob"), Caller(KEYS)
TS = "2026-02-03T04:05:06.789Z"
HELLO = """---
seq: 1
from: amy
to: all
channel: dock
ts: 2026-02-03T04:05:06+00:00
status: discussion
title: hello
ts_utc: 2026-02-03T04:05:06.789Z
kind: message
wakes: all
exact: {"title": null, "status": null}
---
hello
"""


def a_record(**fields):
    """A message's record as the broker gives it, with what is said about it."""
    return {
        "channel": "dock", "seq": 1, "kind": "message", "from": "amy", "to": None, "wakes": "all", "title": None, "status": None, "reply_to": None,
        "thread": None, "ts": TS, "body": "hello", "mine": False, "for_me": False, "repeat": False, "cut": None, "after": None, "n": None, "facts": None, "hooks": "whole", **fields,
    }  # fmt: skip


@contextmanager
def real_server():
    """The URL of a server of our own."""
    with serving() as server:
        yield server.url


@contextmanager
def fake_server():
    """The URL of a fakeredis behind a socket."""
    from fakeredis import TcpFakeServer

    server = TcpFakeServer(("127.0.0.1", 0), server_type="valkey")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield "redis://{}:{}/0".format(*server.server_address)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Chat:
    """A broker as a test talks to it."""

    def __init__(self, url):
        self.url, self.wire = url, Wire(url)
        self.run, self.pipe, self.drive, self.close = self.wire.run, self.wire.pipe, self.wire.drive, self.wire.close

    def open(self, name="dock", *who, **wanted):
        """A channel with these in it (amy and bob)."""
        for one in who or (AMY, BOB):
            self.drive(channels.enter(one, name, channels.Wanted(**wanted), Once()))

    def say(self, body, who=AMY, channel="dock", **draft):
        return self.drive(messages.say(who, channel, Draft(body, **draft), Once()))

    def all(self, channel="dock", who=NOBODY):
        """Every message of a channel, as records."""
        return self.drive(messages.history(who, channel, messages.Span()))["messages"]


def tree(place):
    """Every file below a folder: relative name -> bytes."""
    found = {}
    for above, _, names in os.walk(place):
        for name in names:
            path = os.path.join(above, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, place)] = file.read()
    return found


def talk(place):
    """The files of a channel's folder that a board and its readers do not add to, by name."""
    return [name for name in sorted(os.listdir(place)) if name not in (".cursors", "state.md", "redischat.json")]


def native(place, number, body, **heads):
    """A message file as agent-chat 0.7.5 writes it. Gives its name."""
    given = {"seq": number, "from": "amy", "to": "all", "channel": "dock", "ts": "2026-01-02T03:04:05+01:00", "status": "discussion", "title": "hi", **heads}
    front = "\n".join(["---", *(f"{key}: {value}" for key, value in given.items() if value is not None), "---", ""])
    name = f"{number:04d}-{given['from']}-hi.md"
    os.makedirs(place, exist_ok=True)
    with open(os.path.join(place, name), "w", encoding="utf-8", newline="\n") as file:
        file.write(front + body.rstrip() + "\n")
    return name


def export(chat, place, channel="dock", **how):
    return chat.drive(transcript.export(NOBODY, channel, str(place), **how))


def import_folder(chat, place, who=AMY, **how):
    reports = chat.drive(transcript.import_folder(who, str(place), **how))
    assert len(reports) == 1
    return reports[0]


def by_hand(chat, flow, look):
    """Drive a flow, with a look at the answers of each step before it goes on."""
    step, value = flow.send, None
    while True:
        try:
            asked = step(value)
        except StopIteration as end:
            return end.value
        try:
            answers = chat.pipe(asked if isinstance(asked, list) else [asked])
            look(answers)
            step, value = flow.send, answers if isinstance(asked, list) else answers[0]
        except Refused as error:
            step, value = flow.throw, error


def unread(chat, who, channel="dock"):
    found = chat.drive(reading.read(who, [channel], "lease", reading.Limits(), time.monotonic))
    return [one["seq"] for one in found.messages]


def talked(chat):
    """A channel with a bit of everything."""
    chat.open(topic="the pier")
    chat.say("hello\n\nworld \n", title="greeting")
    chat.say("---\nseq: 9\n---\nfor you", to=["BOB"], reply_to=1, thread="t-1")
    chat.say("for all", audience="all", who=BOB, status="decision")
    chat.drive(channels.mode(AMY, "dock", "broadcast", Once(), yes=True))
    chat.say("passive")
    chat.say("x" * 5_000 + "\r\n é 🙂", audience="none")


def stored(records):
    return [{field: one[field] for field in (*transcript.SAID, "seq", "ts")} for one in records]
