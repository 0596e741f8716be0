"""The broker is killed (SIGKILL) again and again while four processes claim, lock and finish: it comes back with records, indexes and audits that agree."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import pytest
from crowd import HERE, KEYS, Crowd, both_servers, caller, environment, one_server, open_rooms, serving, wired
from waiting import wait_until

from redischat.broker.start import FSYNC
from redischat.flows import pending

pytestmark = [pytest.mark.real, pytest.mark.races]
WORKERS, KILLS, BURST = 4, 6, 150
FENCED = ("lease.claimed", "path.locked", "claim.claimed")  # the audits that tell of a new token
STATUS = {"lease.claimed": "in_progress", "lease.completed": "done", "lease.released": "open", "task.created": "open"}
PARTS = {"tasks": KEYS.channel("dock", "tasks"), "claims": KEYS.channel("dock", "claims"), "held": KEYS.held}


class Workshop(Crowd):
    """A crowd of artisans."""

    def hire(self, **order):
        ledger = os.path.join(self.server.home, f"ledger{len(self.ledgers)}")
        self.ledgers.append(ledger)
        words = [sys.executable, os.path.join(HERE, "artisan.py"), json.dumps({"url": self.server.url, "ledger": ledger, **order})]
        one = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(self.server), cwd=self.server.home)
        self.workers[one] = ("artisan", order)


@contextmanager
def at_work(server):
    """Four of them, at it."""
    crew = Workshop(server)
    try:
        for n in range(WORKERS):
            crew.hire(agent=f"p{n}", seed=n)
        crew.go()
        yield crew
    finally:
        crew.end()


def killed(server, crew):
    """Kill it in the middle of their work, and bring it back."""
    before = len(crew.told())
    wait_until(lambda: len(crew.told()) > before + BURST, "a burst before the kill", 30)
    server.kill()
    server.start()
    return assert_agrees(server)


def snapshot(server):
    """What is kept at one moment: the audits (status, of what, facts), tasks, claims and held paths."""
    server.ask("MULTI")
    server.ask("XRANGE", KEYS.channel("dock", "audits"), "-", "+")
    for key in PARTS.values():
        server.ask("HGETALL", key)
    entries, *flat = server.ask("EXEC")
    audits = []
    for _, fields in entries:
        entry = dict(zip(fields[::2], fields[1::2], strict=True))
        words = entry["d"].split("\x1f")
        audits.append((entry["s"], entry["h"], dict(zip(words[::2], words[1::2], strict=True))))
    return audits, *(dict(zip(one[::2], one[1::2], strict=True)) for one in flat)


def assert_agrees(server):
    """A check of everything finds nothing to mend, and what the audits tell of is what the records hold. Gives the audits."""
    with wired(server) as wire:
        found = wire.drive(pending.recover(caller("amy"), "dock"))
    assert (found["mended"], found["damaged"], found["dropped"], found["audits_dropped"]) == ({}, [], 0, 0)
    audits, tasks, claims, held = snapshot(server)
    board, claimed, locks = {}, {}, {}
    for status, of, facts in audits:
        if status.startswith(("task.", "lease.")):
            board[of.lower()] = (STATUS.get(status) or facts["status"], facts["token"] if status == "lease.claimed" else None)
        elif status == "claim.claimed":
            claimed[of.lower()] = facts["token"]
        elif status == "claim.released":
            del claimed[of.lower()]
        elif status == "path.locked":
            locks[of] = facts["token"]
        elif status == "path.lock.unlocked":
            del locks[of]
    rows = {task: text.split(" ") for task, text in tasks.items()}
    assert {task: (row[1], row[7] if row[8] != "0" else None) for task, row in rows.items()} == board
    assert {name: text.split(" ")[4] for name, text in claims.items()} == claimed
    assert {row.split(" ")[4]: row.split(" ")[3] for text in held.values() for row in text.split("\n")} == locks
    tokens = [int(facts["token"]) for status, _, facts in audits if status in FENCED]
    assert tokens == sorted(set(tokens)), "tokens rise over all rounds"
    return audits


@both_servers
def test_what_was_acknowledged_is_there_once_with_its_audit_and_no_token_comes_twice(binary):
    """As the embedded broker runs: each write is on the disk before its answer."""
    with serving(binary, "--appendonly", "yes", "--appendfsync", FSYNC[0]) as server:
        open_rooms(server, ["dock"], ["amy"])
        with at_work(server) as crew:
            for _ in range(KILLS):
                killed(server, crew)
            before = len(crew.told())
            wait_until(lambda: len(crew.told()) > before + BURST, "they go on after the last one", 30)
            crew.stop(crew.of("artisan"))
            told, left = crew.told(), assert_agrees(server)
    assert Counter((row["what"], row["of"], row["token"]) for row in told) == Counter(
        (status, of, int(facts["token"]) if status in FENCED else None) for status, of, facts in left
    ), "what was said to be so left its audit once, and nothing else did"
    tokens = [row["token"] for row in told if row["token"] is not None]
    assert len(tokens) == len(set(tokens))
    assert {row["what"] for row in told} >= {*FENCED, "lease.completed", "lease.released", "path.lock.unlocked", "path.lock.renewed", "claim.released"}


@one_server
def test_a_broker_that_writes_to_disk_once_a_second_loses_no_half_of_a_change(binary):
    """A kill may cost what was answered while a sync was under way: whoever had it is refused and ends, and others come in their place."""
    with serving(binary, "--appendonly", "yes", "--appendfsync", FSYNC[1]) as server:
        open_rooms(server, ["dock"], ["amy"])
        for _ in range(KILLS):
            with at_work(server) as crew:
                killed(server, crew)
        assert assert_agrees(server), "something was done"
