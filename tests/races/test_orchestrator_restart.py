"""Programs that lead agents die by kill -9 at any moment, and what they began goes on under its name."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from crowd import one_server, serving
from waiting import wait_until

from redischat import Client

pytestmark = [pytest.mark.real, pytest.mark.races, one_server]
LEAD = """
import asyncio, sys
from redischat import AsyncClient

async def main():
    async with AsyncClient(sys.argv[1], agent="lead", workspace="w") as chat:
        await chat.open("board", members=["amy", "bob"])
        async for part in chat.gather("board", "round", {"amy": "x", "bob": "y"}, timeout=60):
            print(part.agent, part.how, part.result, flush=True)

asyncio.run(main())
"""
PARTY = """
import sys
from redischat import Client

with Client(sys.argv[1], agent=sys.argv[2], workspace="w") as chat:
    print(*sorted(chat.barrier("board", "ready", 3, timeout=60).arrived), flush=True)
"""
WORKER = """
import sys, time
from redischat import Client

with Client(sys.argv[1], agent="bob", workspace="w") as chat, chat.claim_task("board", ttl=0.6, wait=60) as task:
    print(task.id, flush=True)
    time.sleep(60)  # at work until it is killed
"""


@pytest.fixture
def server(binary):
    with serving(binary) as server:
        yield server


@pytest.fixture
def run(server):
    """Start a program; all are gone at the end."""
    begun: list[Any] = []

    def start(program, *words):
        begun.append(subprocess.Popen([sys.executable, "-c", program, server.url, *words], stdout=subprocess.PIPE, text=True))
        return begun[-1]

    yield start
    for one in begun:
        one.kill()
        one.wait()
        one.stdout.close()


def finished(chat, task, result):
    chat.task_claim("board", task)
    chat.task_done("board", task, result=result)


def test_a_gather_whose_program_was_killed_goes_on_and_gives_its_results_again(server, run):
    with Client(server.url, agent="amy", workspace="w") as amy, Client(server.url, agent="bob", workspace="w") as bob:
        first = run(LEAD)
        wait_until(lambda: "board" in [one.channel for one in amy.channels()] and len(amy.task_list("board")) == 2, "the tasks are made")
        finished(amy, "round.amy", "clean")
        assert first.stdout.readline() == "amy done clean\n"
        first.kill()
        first.wait()
        worker = run(WORKER)
        assert worker.stdout.readline() == "round.bob\n"
        second = run(LEAD)
        assert second.stdout.readline() == "amy done clean\n"
        worker.kill()
        assert second.stdout.readline() == "bob died None\n"
        bob.task_recover("board", "round.bob", "it was killed")
        bob.task_done("board", "round.bob", result="two findings")
        assert second.stdout.readline() == "bob done two findings\n"
        assert second.wait(timeout=30) == 0
        assert [(one.id, one.created_by) for one in amy.task_list("board")] == [("round.amy", "lead"), ("round.bob", "lead")]


def test_parties_of_a_barrier_that_are_killed_and_come_again_meet_the_others(server, run):
    with Client(server.url, agent="carl", workspace="w") as carl:
        carl.open("board", members=["amy", "bob"])
        here = [run(PARTY, name) for name in ("amy", "bob")]
        wait_until(lambda: len(carl.claims("board")) == 2, "two have come")
        for one in here:
            one.kill()
            one.wait()
        again = run(PARTY, "amy")
        wait_until(lambda: len(carl.history("board", audits=True)) > 2, "amy comes again")
        assert sorted(carl.barrier("board", "ready", 3, timeout=30).arrived) == ["amy", "bob", "carl"]
        assert again.stdout.readline() == "amy bob carl\n"
        late = run(PARTY, "bob")
        assert late.stdout.readline() == "amy bob carl\n"
        assert (late.wait(timeout=30), again.wait(timeout=30)) == (0, 0)
