"""Random readers and writers against a small model of who was shown what: nothing is lost, doubled without a mark, or passed over.

Some agents read, some hear (as hooks do), some die with messages in hand, some show less than they took. What each one was handed whole is a set; the broker's
marks must never pass what is not in it, and everything must come out in the end.
"""

from __future__ import annotations

import random

import fakeredis
import pytest
import redis

from redischat.calls import channels, messages
from redischat.calls.call import Caller, Once, fresh
from redischat.flows import messages as flows
from redischat.keys import Keys
from redischat.sync.connection import Connection
from redischat.sync.errand import drive

KEYS = Keys("model")
CHANNELS, AGENTS = ("dock", "kiln", "q"), ("heron", "lynx", "mole")
WHOLE = 4_000  # bytes; hooks only point at what is longer
SIZES = (3, 3, 3, 60, 400, 4_001, 9_000)
AUDIENCES = ("all", "all", "none", "heron", "lynx,mole", "mole")
LIMITS = ((1_000, 1 << 20), (2, 1 << 20), (1_000, 100), (1_000, 5_000), (1, 10))  # messages, bytes
LONG_MS, STEPS = 600_000, 250


class Said:
    """One entry, as the model remembers it."""

    def __init__(self, seq, author, to, size, kind="message"):
        self.seq, self.author, self.to, self.size, self.kind = seq, author, to, size, kind

    def whole_for(self, agent):
        """Would a hook show this to the agent in full?"""
        return self.kind == "message" and self.size <= WHOLE and (self.to == "all" or agent in self.to.split(","))


class World:
    """The broker and the model, moved together; ``done``: handed out whole, ``told``: pointed at, ``maybe``: shown by a reader that died."""

    def __init__(self, client, seed):
        self.dice, self.client, self.connection = random.Random(seed), client, Connection(lambda: client, "model")
        self.log: dict[str, list[Said]] = {channel: [] for channel in CHANNELS}
        self.pairs = [(agent, channel) for agent in AGENTS for channel in CHANNELS]
        self.done: dict[tuple[str, str], set[int]] = {pair: set() for pair in self.pairs}
        self.told: dict[tuple[str, str], set[int]] = {pair: set() for pair in self.pairs}
        self.maybe: dict[tuple[str, str], set[int]] = {pair: set() for pair in self.pairs}
        self.held: dict[tuple[str, str], tuple[set[int], bool]] = {}  # pair -> (seqs, whether its lease lives)
        self.seen = dict.fromkeys(("posts", "handed", "busy", "repeats", "lapses", "partial", "cut"), 0)
        for channel in CHANNELS:
            self.run(channels.open(Caller(KEYS), channel, cap=0, members=AGENTS, once=Once()))

    def run(self, call):
        return self.connection.run(call)

    def owing(self, agent, channel):
        """What this agent was not yet handed whole."""
        return [said for said in self.log[channel] if said.author != agent and said.seq not in self.done[agent, channel]]

    def step(self):
        roll = self.dice.random()
        if roll < 0.40:
            self.post()
        elif roll < 0.45:
            self.notice()
        elif roll < 0.50:
            self.ack_by_hand()
        elif roll < 0.55:
            self.look()
        else:
            self.take()
        self.check()

    def post(self):
        channel, agent, to, size = self.dice.choice(CHANNELS), self.dice.choice(AGENTS), self.dice.choice(AUDIENCES), self.dice.choice(SIZES)
        draft = messages.Draft("x" * size, audience=to) if to in ("all", "none") else messages.Draft("x" * size, to=to.split(","))
        sent = self.run(messages.post(Caller(KEYS, agent), channel, draft, once=Once()))
        assert sent["seq"] == len(self.log[channel]) + 1, "a gap"
        self.log[channel].append(Said(sent["seq"], agent, to, size))
        self.seen["posts"] += 1

    def notice(self):
        channel, agent = self.dice.choice(CHANNELS), self.dice.choice(AGENTS)
        self.run(channels.briefing(Caller(KEYS, agent), channel, f"{self.dice.random()}", "changed the rules", once=Once()))
        self.log[channel].append(Said(len(self.log[channel]) + 1, agent, "none", 1, "notice"))

    def ack_by_hand(self):
        agent, channel = self.dice.choice(self.pairs)
        if not self.log[channel]:
            return
        seq = self.dice.randint(1, len(self.log[channel]))
        self.run(messages.ack(Caller(KEYS, agent), "-", [(channel, "", "both", seq, 0)]))
        self.done[agent, channel] |= set(range(1, seq + 1))

    def look(self):
        """A look and a count agree with the model, and change nothing."""
        agent, channel = self.dice.choice(self.pairs)
        owing, who = self.owing(agent, channel), Caller(KEYS, agent)
        (row,) = self.run(messages.look(who, {channel: 0}, which="any"))["rows"]
        live = self.held.get((agent, channel), (None, False))[1]
        assert row["word"] == ("quiet" if not owing else "busy" if live else "news")
        counted = {one["channel"]: one for one in drive(self.connection, flows.pending(who))}
        assert counted.get(channel, {}).get("pending", 0) == len(owing)

    def take(self):
        agent, how, lives, lease = self.dice.choice(AGENTS), self.dice.choice(("read", "hear")), self.dice.random() < 0.6, fresh(6)
        (count, size), rooms, who = self.dice.choice(LIMITS), self.dice.sample(CHANNELS, self.dice.randint(1, 3)), Caller(KEYS, agent)
        call = messages.take(who, rooms, lease, how=how, lease_ms=LONG_MS if lives else 0, count=count, size=size)
        taken = self.run(call)["rows"]
        if lives and self.dice.random() < 0.2:  # the reply was lost: the same again
            assert [row for row in self.run(call)["rows"] if row["word"] == "take"] == [row for row in taken if row["word"] == "take"]
        rows = {channel: [row for row in taken if row["channel"] == channel] for channel in rooms}
        items = [item for channel in rooms for item in self.handed(agent, channel, rows[channel], how, lives=lives)]
        if items:
            self.run(messages.ack(who, lease, items))
        elif self.dice.random() < 0.1 and lives:  # cancelled: gives back by the lease's id alone
            self.run(messages.release(who, lease))
            for channel in rooms:
                if any(row["word"] == "take" for row in rows[channel]):
                    del self.held[agent, channel]
        if self.dice.random() < 0.3:
            self.lapse()

    def handed(self, agent, channel, rows, how, *, lives):
        """Judge what was handed out of one channel, and decide what its reader does with it."""
        pair, words = (agent, channel), {row["word"] for row in rows}
        owing, held = self.owing(agent, channel), self.held.get(pair)
        if "busy" in words:
            assert held, "busy without a lease"
            assert held[1], "busy with a lease that lapsed"
            self.seen["busy"] += 1
            return []
        if "take" not in words:
            assert how == "hear" or not owing or "more" in words or "again" in words, "nothing handed out of what is owing"
            return []
        assert not (held and held[1]), "handed out under another's live lease"
        if held:
            self.maybe[pair] |= held[0]
            self.seen["lapses"] += 1
            del self.held[pair]
        (row,) = [row for row in rows if row["word"] == "take"]
        seqs = self.judge(pair, row, owing, how)
        return self.deal_with(pair, row, seqs, lives=lives)

    def judge(self, pair, row, owing, how):
        seqs, agent = [one["seq"] for one in row["messages"]], pair[0]
        want = [said.seq for said in owing if how == "read" or said.whole_for(agent)]
        assert seqs == want[: len(seqs)], "not the oldest of what is owing"
        assert len(seqs) == len(want) or row["more"], "held back without a word"
        assert row["gap"] == 0
        for one in row["messages"]:
            assert one["repeat"] or one["seq"] not in self.maybe[pair], "shown again without a mark"
            self.seen["repeats"] += one["repeat"]
            self.seen["cut"] += one["cut"] is not None
        if how == "hear":
            pointed = [said.seq for said in owing if not said.whole_for(agent) and said.seq not in self.told[pair] and said.seq <= row["hi"]]
            assert row["passive"] == len(pointed), "not pointed at once"
            row["pointed"] = pointed
        self.seen["handed"] += len(seqs)
        return seqs

    def deal_with(self, pair, row, seqs, *, lives):
        """Shows all, a part, nothing (gives it back), or dies."""
        roll = self.dice.random()
        if roll > 0.85:
            self.held[pair] = (set(seqs), lives)
            return []
        to = row["hi"] if roll < 0.55 else self.dice.choice(seqs) if roll < 0.75 and seqs else 0
        self.seen["partial"] += 0 < to < row["hi"]
        self.done[pair] |= {seq for seq in seqs if seq <= to}
        self.told[pair] |= {seq for seq in row.get("pointed", ()) if seq <= to}
        return [(pair[1], row["epoch"], row["which"], to, 0)]

    def lapse(self):
        """Time passes: the leases of the dead end."""
        for (agent, channel), (seqs, lives) in self.held.items():
            if lives:
                words = self.client.hget(KEYS.marks(agent), channel).split()
                self.client.hset(KEYS.marks(agent), channel, " ".join([*words[:6], "1", words[7]]))
                self.held[agent, channel] = (seqs, False)

    def check(self):
        """No mark has passed what was not shown."""
        for agent, channel in self.pairs:
            heard, read = map(int, self.client.hget(KEYS.marks(agent), channel).split()[:2])
            for said in self.owing(agent, channel):
                assert said.seq > read, f"read passed {channel} {said.seq} of {agent}"
                assert said.seq > heard or (said.seq in self.told[agent, channel] and not said.whole_for(agent)), (
                    f"heard passed {channel} {said.seq} of {agent}"
                )

    def drain(self):
        """In the end everything comes out, once."""
        self.lapse()
        for agent, channel in self.pairs:
            who, got = Caller(KEYS, agent), []
            want = [said.seq for said in self.owing(agent, channel)]
            while rows := self.run(messages.take(who, [channel], lease := fresh(6)))["rows"]:
                taken = [row for row in rows if row["word"] == "take"]
                got += [one["seq"] for row in taken for one in row["messages"]]
                self.run(messages.ack(who, lease, [(channel, row["epoch"], row["which"], row["hi"], 0) for row in taken]))
            assert got == want


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.real)])
def client(request):
    if request.param == "fake":
        found: redis.Redis = fakeredis.FakeRedis(decode_responses=True, protocol=2)
    else:
        found = redis.Redis.from_url(request.getfixturevalue("real").url, decode_responses=True, protocol=2)
    found.flushall()
    yield found
    found.close()


@pytest.mark.parametrize("seed", range(8))
def test_whatever_readers_and_writers_do_nothing_is_lost_or_shown_twice_unmarked(client, seed):
    world = World(client, seed)
    for _ in range(STEPS):
        world.step()
    world.drain()
    assert all(world.seen.values()), f"the dice left something out: {world.seen}"
