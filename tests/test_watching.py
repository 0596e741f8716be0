"""Reading along: a person sees all that is said and changed, in its order, and nobody's mark moves."""

from __future__ import annotations

import random
import signal
from typing import Any

import fakeredis
import pytest
from waiting import wait_until

from redischat import Client
from redischat.calls.call import Call, Caller, Listen
from redischat.errors import NoChannel
from redischat.flows import watching
from redischat.keys import Keys

KEYS = Keys("default")
REPO = "example.org/team/boat"


class Watched:
    """Drives ``watch`` by hand over a fake broker. ``meddle()`` happens before each of its steps, ``idle()`` while it sleeps."""

    def __init__(self, rooms=(), last=0):
        self.server = fakeredis.FakeServer()
        self.store = fakeredis.FakeRedis(server=self.server, decode_responses=True)
        self.chat = Client(redis=fakeredis.FakeRedis(server=self.server, decode_responses=True), agent="amy")
        self.ear = self.store.pubsub()
        self.heard, self.rows, self.notes, self.over = set(), [], [], False
        self.flow = watching.watch(Caller(KEYS, "", ""), rooms, last=last, until=1.0, now=lambda: 2.0 if self.over else 0.0)
        self.meddle = self.idle = lambda: None

    def listen(self, bells):
        """As every carrier does it: new bells are subscribed to first; then what was rung; the time is up when nothing happens any more."""
        new = [bell for bell in bells if bell not in self.heard]
        if new:
            self.ear.ssubscribe(*new)
            self.heard.update(new)
            while self.ear.get_message(timeout=0) is not None:
                pass  # what is lost here is what "again" makes good
            return "again"
        found = self.rung()
        if found is None:
            self.idle()
            found = self.rung()
        self.over = found is None
        return found

    def rung(self):
        found = self.ear.get_message(timeout=0)
        while found is not None and found["type"] != "smessage":
            found = self.ear.get_message(timeout=0)
        return found and found["data"]

    def run(self):
        answer = None
        while True:
            try:
                asked = self.flow.send(answer)
            except StopIteration as end:
                return end.value
            self.meddle()
            if isinstance(asked, Listen):
                answer = self.listen(asked.bells)
            elif isinstance(asked, Call):
                answer = self.call(asked)
            elif isinstance(asked, list):
                answer = [self.call(one) for one in asked]
            else:
                self.rows += asked.messages
                self.notes += [(note["channel"], note["what"]) for note in asked.notes]
                answer = len(asked.messages)

    def call(self, call):
        return call.read(self.store.execute_command(*call.words(whole=True)))

    def seen(self, channel):
        return [(one["seq"], one["after"], one["n"]) for one in self.rows if one["channel"] == channel]


def script(*steps):
    """What happens before each step: one of these, in turn, then nothing more."""
    left = list(steps)

    def step():
        if left and (now := left.pop(0)) is not None:
            now()

    return step


def whole(chat, channel):
    return [(one.seq, one.after, one.n) for one in chat.history(channel, audits=True).messages]


def test_all_that_is_said_and_changed_is_shown_in_its_order():
    watched = Watched(["dock"], last=10)
    chat = watched.chat
    chat.open("dock")
    chat.post("dock", "one")
    chat.claim("dock", "x")
    chat.post("dock", "two", to="none")
    assert watched.run() == "time"
    assert [(one["kind"], one["body"].split("\n")[0]) for one in watched.rows] == [("message", "one"), ("audit", "claimed x"), ("message", "two")]


def test_from_now_on_means_that_what_was_said_before_is_not_shown():
    watched = Watched(["dock"])
    watched.chat.open("dock")
    watched.chat.post("dock", "old")
    watched.chat.claim("dock", "x")
    watched.meddle = script(None, None, lambda: watched.chat.claim("dock", "y"), lambda: watched.chat.post("dock", "new"))
    watched.run()
    assert [one["body"] for one in watched.rows] == ["claimed y", "new"]


def test_channels_that_come_and_go_are_told_when_all_are_watched():
    watched = Watched()
    chat = watched.chat
    watched.idle = script(lambda: chat.open("dock"), lambda: chat.post("dock", "hi"), lambda: chat.delete("dock", yes=True))
    assert watched.run() == "time"
    assert watched.notes == [("dock", "opened"), ("dock", "deleted")]
    assert [one["body"] for one in watched.rows] == ["hi"]


@pytest.mark.parametrize("kept", [0, 1])
def test_messages_that_were_removed_before_they_were_shown_are_told_once(monkeypatch, kept):
    monkeypatch.setattr(watching, "PAGE", 2)
    watched = Watched(["dock"], last=10)
    chat = watched.chat
    chat.open("dock")
    chat.post("dock", "one")

    def busy():
        for body in ("two", "three", "four"):
            chat.post("dock", body)
        for name in "xyz":
            chat.claim("dock", name)
        chat.retain("dock", kept, yes=True)

    watched.idle = script(busy, lambda: chat.post("dock", "five"))
    assert watched.run() == "time"
    assert watched.notes == [("dock", "trimmed")]
    assert [one["body"].split("\n")[0] for one in watched.rows] == ["one", *["four"] * kept, "claimed x", "claimed y", "claimed z", "five"]


def test_a_person_is_told_which_messages_were_removed(town):
    heron, _ = town.pair()
    reader = town.person().start("watch", "dock")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", KEYS.live("dock"))[1] == 1, "somebody watches")
    reader.send_signal(signal.SIGSTOP)
    for body in ("one", "two", "three"):
        heron("say", "dock", body, "--to-none")
    heron("retain", "dock", "1", "--yes")
    reader.send_signal(signal.SIGCONT)
    assert reader.stdout.readline().decode() == "#dock: messages 1-2 (2) were removed before they were read here\n"
    assert reader.stdout.readline().decode().startswith("#3  heron -> nobody")
    reader.send_signal(signal.SIGINT)
    assert reader.wait(20) == 0


def test_a_channel_that_is_none_is_refused_with_the_nearest():
    watched = Watched(["dcok"])
    watched.chat.open("dock")
    with pytest.raises(NoChannel) as refused:
        watched.run()
    assert refused.value.facts["nearest"] == "dock"


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_between_two_commands_nothing_is_missed_and_nothing_comes_twice(monkeypatch, seed):
    dice = random.Random(seed)
    monkeypatch.setattr(watching, "PAGE", dice.choice([1, 2, 3, 50]))
    rooms, last, left = ["a", "b", "c"][: dice.choice([1, 3])], dice.choice([0, 1_000]), list(range(120))
    watched = Watched(last=last)
    chat = watched.chat
    for room in rooms:
        chat.open(room)

    def act():
        room, number = dice.choice(rooms), left.pop()
        what: Any = dice.choice([chat.post, chat.post, chat.claim, chat.claim, chat.close, chat.task_create])
        what(room, f"word-{number}")
        if what == chat.close:
            chat.reopen(room)

    def meddle():
        for _ in range(min(len(left), dice.choice([0, 0, 1, 1, 4]))):
            act()

    def idle():
        begun.update({room: whole(chat, room) for room in rooms} if not begun else {})
        if left:
            act()

    begun: dict[str, list] = {}
    watched.meddle, watched.idle = meddle, idle
    assert watched.run() == "time"
    assert not left
    for room in rooms:
        seen, all_of_it = watched.seen(room), whole(chat, room)
        assert seen == all_of_it[len(all_of_it) - len(seen) :]
        assert len(seen) >= len(all_of_it) - (0 if last else len(begun[room]))


def test_a_person_reads_along_while_agents_work_until_interrupted(town):
    heron, lynx = town.pair()
    reader = town.person().start("watch", "dock", "--last", "0")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", KEYS.live("dock"))[1] == 1, "somebody watches")
    heron("say", "dock", "look\n#9  lynx  forged", "--to", "lynx")
    lines = [reader.stdout.readline().decode() for _ in range(3)]
    assert lines[0].startswith("#1  heron -> lynx")
    assert lines[1:] == ["    look\n", "    #9  lynx  forged\n"]
    assert lynx("pending", "--json").records[0]["for_you"] == 1
    reader.send_signal(signal.SIGINT)
    assert reader.wait(20) == 0


def test_a_watch_of_no_channel_is_refused_before_anything_is_said(town):
    refused = town.person()("watch", "nowhere", code=1)
    assert (refused.error, refused.err.count("\n"), "watching" in refused.err) == ("NO_CHANNEL", 1, False)


def test_a_watch_of_one_channel_ends_with_it(town):
    heron, _ = town.pair()
    reader = town.person().start("watch", "dock", "--json")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", KEYS.live("dock"))[1] == 1, "somebody watches")
    heron("delete", "dock", "--yes")
    assert reader.stdout.read().decode().splitlines()[-1] == '{"kind": "watch", "channel": "dock", "what": "deleted"}'
    assert reader.wait(20) == 0
