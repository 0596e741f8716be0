"""In a Cluster every script touches one slot only and only keys that it declares; while the slot migrates it is done whole or not at all."""

from __future__ import annotations

import glob
import os
import re
from contextlib import closing, contextmanager

import pytest
from crowd import BOTH, KEYS, ME, Talk, both_servers, caller, crowd_on, free_port, granted, open_rooms, serving, shown, stored, wired
from verbs import VERBS, furnish, script_call
from waiting import wait_until

from redischat import wire as wires
from redischat.calls import messages
from redischat.calls.call import Once
from redischat.errors.broker import BrokerUnable
from redischat.files import folder
from redischat.flows import messages as flows

pytestmark = [pytest.mark.real, pytest.mark.races]
SLOTS = 16_384
WORDS = re.compile(r'"((?:[^"\\]|\\.)*)"')
KEYLESS = {"TIME"}
ASKS = {"PUBSUB"}  # its key, a doorbell, is its third word


def node(binary):
    bus = free_port()  # the default, port + 10000, may be above 65535
    return serving(binary, "--cluster-enabled", "yes", "--cluster-port", str(bus), "--cluster-node-timeout", "2000", host="127.0.0.1")


def settled(*nodes):
    wait_until(lambda: all("cluster_state:ok" in one.ask("CLUSTER", "INFO") for one in nodes), "the cluster is up", 30)


@pytest.fixture
def single(binary):
    with node(binary) as one:
        one.ask("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
        settled(one)
        yield one


@pytest.fixture
def sent(monkeypatch):
    """Each call that a wire sends."""
    seen = []
    pipe = wires.Wire.pipe

    def piped(wire, calls):
        seen.extend(calls)
        return pipe(wire, calls)

    monkeypatch.setattr(wires.Wire, "pipe", piped)
    return seen


@both_servers
def test_every_verb_works_on_a_cluster_node_and_stays_in_one_slot(single, sent):
    with wired(single) as wire:
        for act in VERBS.values():
            single.ask("FLUSHALL")
            with granted("a verb on a cluster node"):
                furnish(wire)
                act.check(wire, single, act.act(wire))
    home = {single.ask("CLUSTER", "KEYSLOT", KEYS.heads)}
    scripts = [call for call in sent if call.script]
    whole = {"session_reach"}  # sent with its text at once
    assert {call.script.name for call in scripts} == script_names() - whole
    for call in scripts:
        assert {single.ask("CLUSTER", "KEYSLOT", key) for key in call.keys} == home, call.script.name


def script_names():
    return {os.path.basename(path).removesuffix(".lua") for path in glob.glob(os.path.join(folder("scripts"), "*_*.lua"))}


@both_servers
def test_a_wait_sleeps_through_a_cluster_that_is_down(single):
    single.ask("CONFIG", "SET", "cluster-allow-pubsubshard-when-down", "no")
    open_rooms(single, ["a"], [ME, "amy"])
    other = (single.ask("CLUSTER", "KEYSLOT", KEYS.heads) + 1) % SLOTS
    with crowd_on(single) as crowd, wired(single) as wire:
        waiter = crowd.add("once", rooms=["a"])
        crowd.go()
        wait_until(lambda: single.ask("PUBSUB", "SHARDNUMSUB", KEYS.room("a"))[1] == 1, "it listens")
        single.ask("CLUSTER", "DELSLOTS", other)
        wait_until(lambda: "cluster_state:fail" in single.ask("CLUSTER", "INFO"), "the cluster is down")
        single.ask("CLIENT", "KILL", "TYPE", "pubsub")
        wait_until(lambda: refusals(single, "CLUSTERDOWN") > 1, "it is refused, and tries again")
        assert waiter.poll() is None
        single.ask("CLUSTER", "ADDSLOTS", other)
        settled(single)
        wire.drive(flows.say(caller("amy"), "a", messages.Draft("up again"), Once()))
        crowd.done([waiter])
        assert list(shown(crowd.told())) == [("a", 1)]


@both_servers
def test_every_key_that_a_script_touches_is_declared(binary):
    with serving(binary) as server, wired(server) as wire, monitoring(server) as monitor:
        for name, act in VERBS.items():
            server.ask("FLUSHALL")
            furnish(wire)
            act.act(wire)
            server.ask("ECHO", f"end of {name}")
            undeclared, touched = [], 0
            for declared, words in lines_of_scripts(monitor, f"end of {name}"):
                keys = set() if words[0] in KEYLESS else set(words[2:]) if words[0] in ASKS else set(words[1:]) if words[0] == "DEL" else {words[1]}
                touched += len(keys)
                undeclared += [(words, key) for key in keys - declared if words[0] not in {"SPUBLISH", *ASKS} or not key.startswith(KEYS.door())]
            assert touched > 0
            assert undeclared == [], name


def lines_of_scripts(monitor, end):
    """(keys declared, command) of all that scripts ran, up to a mark."""
    declared = set()
    while end not in (line := monitor.next()):
        words = WORDS.findall(line)
        if words[0].upper() in ("EVALSHA", "EVAL"):
            declared = set(words[3 : 3 + int(words[2])])
        if " lua]" in line:
            yield declared, words


@contextmanager
def monitoring(server):
    """What the server is asked by anyone, line by line."""
    with closing(Talk(server.address)) as talk:
        assert talk.ask("MONITOR") == "OK"
        yield talk


def test_no_script_builds_a_key():
    """Each command in Lua is given a key by a name that came from KEYS, or as KEYS[...]."""
    for path in glob.glob(os.path.join(folder("scripts"), "**", "*.lua"), recursive=True):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for command, key in re.findall(r'redis\.p?call\("(\w+)",?\s*([^,)]*(?:\([^)]*\))?)', text):
            rings = command == "SPUBLISH" and key.startswith("bell .. ")  # whose it is stands in a record; the prefix came as ARGV
            assert command in KEYLESS or rings or re.fullmatch(r"[a-z_]+|(?:BOOK|keys)\.[a-z_]+|KEYS\[[\w *+-]+\]", key.strip()), (path, command, key)


@pytest.fixture(scope="module", params=BOTH)
def pair(request):
    """Two masters, half the slots each."""
    with node(request.param) as a, node(request.param) as b:
        a.ask("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS // 2 - 1)
        b.ask("CLUSTER", "ADDSLOTSRANGE", SLOTS // 2, SLOTS - 1)
        a.ask("CLUSTER", "SET-CONFIG-EPOCH", 1)
        b.ask("CLUSTER", "SET-CONFIG-EPOCH", 2)
        a.ask("CLUSTER", "MEET", "127.0.0.1", b.port, b.flags[b.flags.index("--cluster-port") + 1])
        settled(a, b)
        yield a, b


@pytest.fixture
def masters(pair):
    """(The master that owns our workspace, the other one, the slot), nothing in them."""
    a, b = pair
    settled(a, b)
    slot = a.ask("CLUSTER", "KEYSLOT", KEYS.heads)
    wait_until(lambda: owns(a) != owns(b), "one master owns the workspace")
    source, target = (a, b) if owns(a) else (b, a)
    yield source, target, slot
    stable(source, target, slot)


def owns(one):
    return not isinstance(one.ask("EXISTS", KEYS.heads), Exception)


def migrating(source, target, slot):
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", source.ask("CLUSTER", "MYID"))
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", target.ask("CLUSTER", "MYID"))


def stable(source, target, slot):
    for one in (source, target):
        one.ask("CLUSTER", "SETSLOT", slot, "STABLE")
        one.ask("FLUSHALL")


def move(source, target, key):
    assert source.ask("MIGRATE", "127.0.0.1", target.port, key, 0, 5_000) == "OK"


def held(one):
    """Every key of a node and what it holds, whoever owns the slot."""
    return {key: (one.ask("ASKING"), one.ask("DUMP", key)) for key in sorted(one.ask("KEYS", "*"))}


def test_while_the_slot_migrates_a_script_is_done_whole_or_not_at_all(masters):
    """Key by key; before each move every verb is tried on both nodes."""
    source, target, slot = masters
    passing = 0
    for name, act in VERBS.items():
        with wired(source) as wire:
            furnish(wire)
        migrating(source, target, slot)
        call = script_call(act)
        for key in ["", *source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100)]:
            if key:
                move(source, target, key)
            before = (held(source), held(target))
            for one in masters[:2]:
                if len(call.keys) == 1 and not has(one, target, call.keys[0]):
                    continue  # one key is on one node: a client is sent there
                if one is target:
                    one.ask("ASKING")
                answer = one.ask(*call.words(whole=True))
                if isinstance(answer, Exception):
                    assert str(answer).startswith(("TRYAGAIN", "ASK", "MOVED")), (name, key, answer)
                    assert (held(source), held(target)) == before, (name, key)
                    passing += 1
                else:
                    reads = name in {"look", "task_look", "path_check", "session reach"}
                    assert reads or all(has(one, target, its) for its in call.keys), (name, key, answer)
                    before = (held(source), held(target))
        stable(source, target, slot)
    assert passing > 100


def has(one, target, key):
    """Is this key on this node? Those on their way in are told only to who asks for them."""
    if one is target:
        one.ask("ASKING")
    return one.ask("EXISTS", key) == 1


def test_a_slot_that_has_moved_is_served_by_its_new_owner(masters):
    source, target, slot = masters
    with wired(source) as wire:
        furnish(wire)
    migrating(source, target, slot)
    for key in source.ask("CLUSTER", "GETKEYSINSLOT", slot, 100):
        move(source, target, key)
    for one in (target, source):
        one.ask("CLUSTER", "SETSLOT", slot, "NODE", target.ask("CLUSTER", "MYID"))
    assert str(source.ask(*script_call(VERBS["post"]).words(whole=True))).startswith("MOVED")
    with wired(target) as wire:
        VERBS["post"].check(wire, target, VERBS["post"].act(wire))


def test_posts_during_a_migration_wait_for_its_end_and_happen_once(masters):
    source, target, slot = masters
    open_rooms(source, ["a"], [ME, "p0"])
    with crowd_on(source) as crowd:
        crowd.add("post", agent="p0", rooms=["a"], count=20_000, pace=0)
        crowd.go()
        for round_ in range(1, 4):
            wait_until(lambda round_=round_: len(crowd.told()) > 20 * round_, "posts between migrations")
            migrating(source, target, slot)
            refused = refusals(source)
            wait_until(lambda refused=refused: refusals(source) > refused + 2, "a post is refused and tried again")
            for one in masters[:2]:
                one.ask("CLUSTER", "SETSLOT", slot, "STABLE")
        crowd.stop(crowd.of("post"))
        told = crowd.told()
    assert [row["seq"] for row in told] == list(range(1, len(told) + 1))
    assert len(stored(source, "a")) == len(told)


def refusals(server, word="TRYAGAIN"):
    """How often the server has said no with this word."""
    found = re.search(rf"errorstat_{word}:count=(\d+)", server.ask("INFO", "errorstats"))
    return int(found[1]) if found else 0


def test_a_migration_that_does_not_end_is_said_and_stores_nothing(masters, monkeypatch):
    source, target, slot = masters
    open_rooms(source, ["a"], [ME, "amy"])
    before = held(source)
    migrating(source, target, slot)
    monkeypatch.setattr(wires, "RETRY_S", 0.1)
    with wired(source) as wire, pytest.raises(BrokerUnable):
        wire.drive(flows.say(caller("amy"), "a", messages.Draft("now?"), Once()))
    assert held(source) == before
