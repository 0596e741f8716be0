"""Who waits costs nothing: no command, two connections, no wake for other people's mail; and a post costs the broker the same, whoever listens."""

from __future__ import annotations

import subprocess

import pytest
from crowd import CLI, KEYS, ME, both_servers, caller, crowd_on, environment, open_rooms, serving, shown, wired
from waiting import wait_until

from redischat.calls import messages
from redischat.calls.call import Once
from redischat.flows import messages as flows

pytestmark = [pytest.mark.real, pytest.mark.races]
IDLE_S = 3
OTHERS = 1_000  # posts, and members


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        yield server


@pytest.fixture
def waiter(server):
    """The real command, waiting in two channels; it has looked and listens."""
    open_rooms(server, ["dock", "quay"], [ME, "amy", "carl"])
    open_rooms(server, ["elsewhere"], ["amy", "carl"])
    before = server.calls()["eval"]
    with subprocess.Popen([*CLI, "wait", "--json"], env=environment(server, ME), cwd=server.home, stdout=subprocess.PIPE, text=True) as waiter:
        wait_until(lambda: server.ask("PUBSUB", "SHARDNUMSUB", KEYS.room("quay"))[1] == 1, "it listens")
        wait_until(lambda: server.calls()["eval"] > before, "it has looked: that is the first script it sends, and its last command")
        yield waiter
        waiter.kill()


def commands(server):
    """How many commands the server has run; the one that asks is counted the next time."""
    return int(server.ask("INFO", "stats").partition("total_commands_processed:")[2].partition("\r\n")[0])


def still_waits(waiter, seconds):
    with pytest.raises(subprocess.TimeoutExpired):
        waiter.wait(seconds)


@both_servers
def test_a_wait_asks_nothing_while_nothing_happens_and_holds_two_connections(server, waiter):
    before = commands(server)
    still_waits(waiter, IDLE_S)
    assert commands(server) == before + 1, "the observer's own, and no other"
    clients = server.ask("CLIENT", "LIST").splitlines()
    assert len(clients) - 1 <= 2, clients


@both_servers
def test_a_thousand_posts_for_others_wake_no_wait(server, waiter):
    own = server.calls()
    with wired(server) as wire:
        for room, draft in (
            ("elsewhere", messages.Draft("hello all")),
            ("dock", messages.Draft("carl!", to=["carl"])),
            ("dock", messages.Draft("fyi", audience="none")),
        ):
            for _ in range(4):
                wire.pipe([messages.post(caller("amy"), room, draft, once=Once()) for _ in range(OTHERS // 12 + 1)])
        still_waits(waiter, 0.2)
        now = server.calls()
        grown = {name for name in now if now[name] > own.get(name, 0)}
        looks = {"xrange"} & grown  # a post of ours reads no stream
        assert not looks, "the wait did not look"
        wire.drive(flows.say(caller("amy"), "quay", messages.Draft("now you", to=[ME]), Once()))
    out, _ = waiter.communicate(timeout=5)
    assert '"body": "now you"' in out


@both_servers
@pytest.mark.parametrize("to", ["", ME])
def test_a_post_runs_the_same_commands_for_two_members_as_for_a_thousand(server, to):
    open_rooms(server, ["small"], ["amy", ME])
    open_rooms(server, ["large"], ["amy", ME, *(f"m{n}" for n in range(OTHERS))])
    costs = []
    with wired(server) as wire:
        for room in ("small", "large"):
            wire.run(messages.post(caller("amy"), room, messages.Draft("a first one has its own cost"), once=Once()))  # the hint is given once
            before = server.calls()
            for n in range(10):
                wire.run(messages.post(caller("amy"), room, messages.Draft(f"m{n}", to=[to] if to else ()), once=Once()))
            after = server.calls()
            costs.append({name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0) and name != "info"})
    one_look = 0 if to else 10  # from three members on: was narrowing hinted at before?
    assert costs[1] == {**costs[0], "hget": costs[0]["hget"] + one_look}
    assert costs[0]["xadd"] == 10


@both_servers
def test_ten_waits_of_one_agent_hand_a_message_out_once(server):
    """All are rung; one takes, the others look and go on waiting."""
    open_rooms(server, ["dock"], [ME, "amy"])
    with crowd_on(server) as crowd:
        waiters = [crowd.add("once", rooms=["dock"]) for _ in range(10)]
        crowd.go()
        wait_until(lambda: server.ask("PUBSUB", "SHARDNUMSUB", KEYS.room("dock"))[1] == 10, "ten listen")
        with wired(server) as wire:
            for n in range(1, 11):
                wire.drive(flows.say(caller("amy"), "dock", messages.Draft(f"m{n}"), Once()))
                wait_until(lambda n=n: sum(one.poll() is not None for one in waiters) == n, f"message {n} ends one wait")
        seen = shown(crowd.told())
    assert seen == {("dock", n): [False] for n in range(1, 11)}


@both_servers
def test_my_own_words_end_no_wait_of_mine_even_when_something_for_others_is_unread(server):
    """An agent talks in the foreground while its wait sleeps in the background; both hang on the same bell."""
    open_rooms(server, ["dock"], [ME, "amy"])
    with crowd_on(server) as crowd, wired(server) as wire:
        waiter = crowd.add("once", rooms=["dock"])
        crowd.go()
        wait_until(lambda: server.ask("PUBSUB", "SHARDNUMSUB", KEYS.room("dock"))[1] == 1, "it listens")
        wire.drive(flows.say(caller("amy"), "dock", messages.Draft("for nobody", audience="none"), Once()))
        wire.drive(flows.say(caller(ME), "dock", messages.Draft("by myself, to all"), Once()))
        still_waits(waiter, 0.3)
        wire.drive(flows.say(caller("amy"), "dock", messages.Draft("for you", to=[ME]), Once()))
        wait_until(lambda: waiter.poll() is not None, "what is for me ends it")
        assert sorted(shown(crowd.told())) == [("dock", 1), ("dock", 3)]
