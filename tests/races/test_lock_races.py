"""Twenty processes want one file: each gets it, in the order it came, at no cost while it waits; who dies or is stopped is passed over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from contender import Repo
from crowd import HERE, KEYS, both_servers, caller, environment, one_server, open_rooms, serving, wired
from waiting import wait_until

from redischat.calls import paths as calls
from redischat.calls.call import Once, fresh

pytestmark = [pytest.mark.real, pytest.mark.races]
MANY, HOLD_S = 20, 0.03
OFFER_S = 3
RATIO, HELD = 1.5, (10, 100_000)


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        open_rooms(server, ["dock"], ["boss"])
        yield server


class Contenders:
    """Processes that come one after the other and all want the same file."""

    def __init__(self, server):
        self.server, self.ledger, self.all = server, os.path.join(server.home, "served"), []

    def come(self, **asked):
        order = {"url": self.server.url, "ledger": self.ledger, "agent": f"c{len(self.all)}", "hold": HOLD_S, **asked}
        words = [sys.executable, os.path.join(HERE, "contender.py"), json.dumps(order)]
        one = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(self.server), cwd=self.server.home)
        self.all.append(one)
        return one

    def stand_in_line(self):
        """One after the other."""
        for number, one in enumerate(self.all, 1):
            assert one.stdout.readline() == "ready\n"
            one.stdin.write("go\n")
            one.stdin.flush()
            wait_until(lambda number=number: self.server.ask("ZCARD", KEYS.line) == number, f"{number} stand in line", 20)

    def served(self):
        try:
            with open(self.ledger, encoding="utf-8") as file:
                return [json.loads(row) for row in file.read().split("\n")[:-1]]
        except FileNotFoundError:
            return []

    def done(self, count, seconds=30.0):
        wait_until(lambda: len(self.served()) == count, f"{count} were served", seconds)
        return [int(row["agent"][1:]) for row in self.served()]

    def end(self):
        for one in self.all:
            if one.poll() is None:
                one.send_signal(signal.SIGKILL)
            one.wait()
            one.stdin.close()
            one.stdout.close()


@pytest.fixture
def contenders(server):
    found = Contenders(server)
    yield found
    found.end()


def hold(server, lease_ms=60_000):
    """The boss has the file. Gives what lets go of it."""
    asked = calls.Wanted(["src/a.py"], fresh(16), lease_ms=lease_ms)
    with wired(server) as wire:
        wire.run(calls.lock(caller("boss"), "dock", Repo, asked))

    def let_go():
        with wired(server) as wire:
            wire.run(calls.unlock(caller("boss"), "dock", [(asked.id, "")], once=Once()))

    return let_go


def evals(server):
    found = server.calls()
    return found.get("eval", 0) + found.get("evalsha", 0)


@both_servers
def test_twenty_are_served_in_the_order_they_came_and_ask_nothing_while_they_wait(server, contenders):
    let_go = hold(server)
    for _ in range(MANY):
        contenders.come()
    contenders.stand_in_line()
    before = evals(server)
    with pytest.raises(subprocess.TimeoutExpired):
        contenders.all[0].wait(1)
    assert evals(server) == before, "no script in a second of waiting"
    let_go()
    assert contenders.done(MANY) == list(range(MANY))
    tokens = [row["token"] for row in contenders.served()]
    assert tokens == sorted(set(tokens)), "tokens rise"
    wait_until(lambda: all(one.poll() == 0 for one in contenders.all), "all ended well")
    per_head = (evals(server) - before) / MANY
    assert per_head <= 3.5, f"one confirms and one unlocks, {per_head} scripts a contender"
    assert server.ask("HLEN", KEYS.held) == server.ask("HLEN", KEYS.asked) == server.ask("HLEN", KEYS.requests) == 0


@both_servers
def test_the_dead_are_passed_over_at_once(server, contenders):
    let_go = hold(server)
    for _ in range(MANY):
        contenders.come()
    contenders.stand_in_line()
    for number in (0, 3, 7):
        contenders.all[number].kill()
        contenders.all[number].wait()
    began = time.monotonic()
    let_go()
    assert contenders.done(MANY - 3) == [n for n in range(MANY) if n not in (0, 3, 7)]
    assert time.monotonic() - began < OFFER_S, "nobody waited for an offer to end"


@both_servers
def test_one_that_is_stopped_at_its_ring_holds_up_the_others_for_an_offer_and_no_longer(server, contenders):
    let_go = hold(server)
    for number in range(MANY):
        contenders.come(stops=number == 2)
    contenders.stand_in_line()
    began = time.monotonic()
    let_go()
    assert contenders.done(MANY - 1) == [n for n in range(MANY) if n != 2]
    assert OFFER_S - 0.1 < time.monotonic() - began < 2 * OFFER_S
    contenders.all[2].send_signal(signal.SIGCONT)
    assert contenders.done(MANY)[-1] == 2, "it asks again, and has it last"


@both_servers
def test_a_holder_that_never_lets_go_is_followed_when_its_lease_is_over_also_past_a_dead_first(server, contenders):
    hold(server, lease_ms=6_000)
    for _ in range(MANY):
        contenders.come()
    contenders.stand_in_line()
    contenders.all[0].kill()
    contenders.all[0].wait()
    assert contenders.done(MANY - 1) == list(range(1, MANY))
    assert contenders.served()[0]["from"] == ["boss"]


@one_server
def test_a_free_file_costs_the_same_beside_ten_locks_as_beside_a_hundred_thousand(server):
    costs = []
    with wired(server) as wire:
        held = 0
        for count in HELD:
            paths = [f"{Repo.digest}/pkg{n % 97}/src/m{n}.py" for n in range(held, count)]
            for at in range(0, len(paths), 1000):
                some = paths[at : at + 1000]
                server.ask("HSET", KEYS.held, *(word for path in some for word in (path, "boss x 99999999999999 1 b -")))
                server.ask("ZADD", KEYS.held_order, *(word for path in some for word in (0, path)))
                server.ask("ZADD", KEYS.held_owners, *(word for path in some for word in (0, "boss " + path)))
            held = count
            for n in range(20):  # what comes first costs more
                wire.run(calls.lock(caller("amy"), "dock", Repo, calls.Wanted([f"x/y/z/warm{count}.{n}"], fresh(16), lease_ms=60_000)))
            server.ask("CONFIG", "RESETSTAT")
            for n in range(400):
                wire.run(calls.lock(caller("amy"), "dock", Repo, calls.Wanted([f"x/y/z/f{count}.{n}"], fresh(16), lease_ms=60_000)))
            rows = server.ask("INFO", "commandstats").split("\r\n")
            costs.append(float(next(row for row in rows if row.startswith("cmdstat_evalsha")).partition("usec_per_call=")[2].partition(",")[0]))
    assert costs[1] / costs[0] <= RATIO, costs
