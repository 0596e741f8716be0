"""Each script runs for a user who has the rights of one workspace; for an observer those that only read do, and nothing is changed."""

from __future__ import annotations

import pytest
from crowd import KEYS, both_servers, serving, wired
from verbs import VERBS, furnish

from redischat.calls.users import handed
from redischat.errors import ChatError
from redischat.errors.broker import NotAllowed
from redischat.flows import users
from redischat.wire import Wire

pytestmark = [pytest.mark.real, pytest.mark.races]
READS = {"look", "task_look", "path_check"}  # session reach rings, to count who listens


@pytest.fixture
def server(binary):
    with serving(binary) as one:
        yield one


def hire(server, name, *, observer):
    with wired(server) as wire:
        wire.drive(users.add(KEYS, name, lambda: "secret", observer=observer))
    return Wire(handed(server.url, name, "secret"))


@both_servers
def test_every_script_runs_for_a_user_of_its_workspace(server):
    mine = hire(server, "heron", observer=False)
    for name, act in VERBS.items():
        for key in server.ask("KEYS", "*"):
            server.ask("DEL", key)
        furnish(mine)
        try:
            answer = act.act(mine)
        except ChatError as error:
            answer = error
        assert not isinstance(answer, NotAllowed), (name, answer)
        act.check(mine, server, answer)
    mine.close()


@both_servers
def test_an_observer_changes_nothing_by_any_script(server):
    with wired(server) as wire:
        furnish(wire)
    watch, before, read = hire(server, "watch", observer=True), server.dump(), set()
    for name, act in VERBS.items():
        refused = refusal(watch, act)
        assert refused is None or "may only look" in refused.sentence(), (name, refused)
        if refused is None:
            read.add(name)
        assert server.dump() == before, name
    assert read == READS
    watch.close()


def refusal(wire, act):
    try:
        act.act(wire)
    except NotAllowed as error:
        return error
    return None
