"""Readers die at every point between take and ack, or are stopped and go on much later: nothing is lost, and what is shown twice says so."""

# ruff: noqa: T201 - breaks into a connection, and tells its figures

from __future__ import annotations

import random
import signal
import time

import pytest
from crowd import KEYS, ME, Crowd, begin, both_servers, caller, marks, open_rooms, serving, shown, stored, wired
from waiting import wait_until

from redischat import wire as wires
from redischat.calls import messages
from redischat.calls.call import Once, plain
from redischat.flows import reading

pytestmark = [pytest.mark.real, pytest.mark.races]
TALKERS = ["p0", "p1", "p2", "p3"]
ROOMS = ["a", "b", "c"]
READERS = [("read", "read"), ("read", "read"), ("read", "hear"), ("read", "hear"), ("wait", "read")]
MOST = 5_000  # messages of each talker; they go on until a hundred have died
PACE_S = 0.02
AUDIENCES = ["", "none", ME, "p0"]
FROZEN_S = 0.2  # longer than a worker's delivery lease


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        yield server


class Ward(Crowd):
    """A crowd whose readers die: each is replaced by another; one that is stopped goes on after its lease has lapsed."""

    def __init__(self, server, deaths, **dangers):
        super().__init__(server)
        self.left, self.dangers, self.frozen, self.seed = deaths, dangers, {}, 0
        self.deaths = self.freezes = 0
        self.dice = random.Random(1)

    def admit(self, role, how):
        self.seed += 1
        worker = self.add(role, rooms=ROOMS, how=how, seed=self.seed, **(self.dangers if self.left > 0 else {}))
        begin(worker)

    def round(self):
        """One visit: who is dead is replaced, who is frozen long enough is let go, and now and then somebody is shot from outside."""
        for worker in self.of("read", "wait"):
            if worker.poll() == -signal.SIGKILL:
                role, asked = self.workers[worker]
                self.workers[worker] = ("dead", asked)
                self.deaths, self.left = self.deaths + 1, self.left - 1
                self.admit(role, asked["how"])
            elif worker.poll() is None and stopped(worker.pid):
                since = self.frozen.setdefault(worker, time.monotonic())
                if time.monotonic() - since > FROZEN_S:
                    self.freezes += 1
                    del self.frozen[worker]
                    worker.send_signal(signal.SIGCONT)
            elif self.left > 0 and self.dice.random() < 0.001:
                worker.kill()
        return self.left <= 0


def stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


@both_servers
def test_a_hundred_dead_readers_lose_nothing_and_hide_no_repeat(server):
    open_rooms(server, ROOMS, [ME, *TALKERS])
    ward = Ward(server, deaths=100, die=0.2, freeze=0.03)
    try:
        for i, agent in enumerate(TALKERS):
            begin(ward.add("post", agent=agent, rooms=ROOMS, count=MOST, pace=PACE_S, audiences=AUDIENCES, seed=i))
        for role, how in READERS:
            ward.admit(role, how)
        wait_until(ward.round, "a hundred deaths", 90)
        ward.stop(ward.of("post"))
        nothing_lost(server, ward)
    finally:
        ward.end()


def nothing_lost(server, ward):
    """Whoever still lives is told to end; one last reader takes what is left; then the books are made up."""
    ward.dangers = {}
    for worker in ward.of("read", "wait"):
        worker.kill()
    last = ward.add("read", rooms=ROOMS, how="read")
    begin(last)
    ward.stop([last])
    seen = shown(ward.told())
    said = {(room, seq) for room in ROOMS for seq in stored(server, room)}
    repeats = {at: marks for at, marks in seen.items() if len(marks) > 1}
    print(f"{ward.deaths} deaths, {ward.freezes} stops, {len(said)} messages, {len(repeats)} shown more than once, {len(said - set(seen))} lost")
    assert ward.deaths >= 100
    assert said - set(seen) == set(), "lost"
    assert set(seen) - said == set(), "shown but never said"
    assert {at: marks for at, marks in repeats.items() if marks.count(False) > 1} == {}, "shown twice, and neither says so"
    assert {room: read for room, (_, read) in marks(server).items()} == {room: len(stored(server, room)) for room in ROOMS}


@both_servers
def test_a_wait_looks_again_when_the_lease_of_a_dead_reader_ends(server):
    """Nothing rings when a lease lapses: whoever was told "busy" has to look by itself."""
    open_rooms(server, ["a"], [ME, "p0"])
    with wired(server) as wire:
        wire.run(messages.post(caller("p0"), "a", messages.Draft("wake up"), once=Once()))
        wire.run(messages.take(caller(ME), ["a"], "dead", lease_ms=400))
        begun = time.monotonic()
        got = wire.drive(reading.wait(caller(ME), reading.Waiting(["a"], seconds=20), "l1", time.monotonic))
        assert time.monotonic() - begun < 10, "it waited for its last look"
    assert [(one["seq"], one["repeat"]) for one in got.messages] == [(1, True)]


@both_servers
@pytest.mark.parametrize("came", [False, True], ids=["no answer yet", "the answer lost"])
def test_a_reader_interrupted_before_it_knows_what_it_was_handed_gives_it_back(server, monkeypatch, came):
    open_rooms(server, ["a"], [ME, "p0"])
    with wired(server) as wire:
        wire.drive(reading.hand_out(caller(ME), ["a"], "l0", reading.Limits()))
        wire.run(messages.release(caller(ME), "l0"))  # the server has the scripts now
        wire.run(messages.post(caller("p0"), "a", messages.Draft("here"), once=Once()))
        reply = wires.Line.reply
        monkeypatch.setattr(wires.Line, "reply", interrupted_late if came else interrupted)
        flow = reading.hand_out(caller(ME), ["a"], "l1", reading.Limits())
        with pytest.raises(KeyboardInterrupt):
            wire.drive(restoring(flow, lambda: monkeypatch.setattr(wires.Line, "reply", reply)))
        assert wire.run(plain("ECHO", "in step")) == "in step"
    assert server.ask("HGET", KEYS.marks(ME), "a").split(" ")[4] == "-", "no lease is left"
    with wired(server) as wire:
        got = wire.drive(reading.hand_out(caller(ME), ["a"], "l2", reading.Limits()))
    assert [(one["seq"], one["repeat"]) for one in got.messages] == [(1, False)]


def interrupted(*_):
    raise KeyboardInterrupt


def interrupted_late(line, _):
    """^C between taking an answer from the socket and having it: it is nowhere any more."""
    assert line.sock.recv(1 << 16)
    raise KeyboardInterrupt


def restoring(flow, restore):
    """The flow; after its first step things are as they were."""
    try:
        answer = yield next(flow)
    except KeyboardInterrupt as error:
        restore()
        asked = flow.throw(error)
        while True:
            asked = flow.send((yield asked))
    return answer


@both_servers
def test_marks_only_rise_whoever_acks_last(server):
    """The slow reader's ack comes after the lapse, and after another reader showed more."""
    open_rooms(server, ["a"], [ME, "p0"])
    with wired(server) as wire:
        for n in range(2):
            wire.run(messages.post(caller("p0"), "a", messages.Draft(f"m{n}"), once=Once()))
        slow = wire.run(messages.take(caller(ME), ["a"], "slow", lease_ms=1))["rows"][0]
        for n in range(2):
            wire.run(messages.post(caller("p0"), "a", messages.Draft(f"m{n}"), once=Once()))
        quick = wait_until(lambda: taken(wire, "quick"), "the lease has lapsed")
        assert [(one["seq"], one["repeat"]) for one in quick["messages"]] == [(1, True), (2, True), (3, False), (4, False)]
        wire.run(messages.ack(caller(ME), "quick", [("a", quick["epoch"], "both", 4, 0)]))
        wire.run(messages.ack(caller(ME), "slow", [("a", slow["epoch"], "both", slow["hi"], 0)]))
        assert marks(server)["a"] == (4, 4)


def taken(wire, lease):
    row = wire.run(messages.take(caller(ME), ["a"], lease))["rows"][0]
    return row["word"] == "take" and row


@both_servers
def test_an_own_message_does_not_carry_the_mark_over_what_others_said_before_it(server):
    open_rooms(server, ["a"], [ME, "p0"])
    with wired(server) as wire:
        for who in (ME, "p0", ME):
            wire.run(messages.post(caller(who), "a", messages.Draft(f"by {who}"), once=Once()))
        assert marks(server)["a"] == (1, 1)
        got = wire.drive(reading.hand_out(caller(ME), ["a"], "l1", reading.Limits()))
    assert [one["body"] for one in got.messages] == ["by p0"]
    assert marks(server)["a"] == (3, 3)
