"""The two clients against each other, and the face of the package."""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import re
import subprocess
import sys
from contextlib import aclosing
from typing import Any

import fakeredis
import pytest
import unasync

import redischat
from redischat import AsyncClient, Client
from redischat.errors import ChannelClosed, Usage
from redischat.errors.paths import PathLockConflict
from redischat.settings import Settings, write_pairs


@pytest.mark.real
async def test_environment_and_arguments_say_where_and_who(monkeypatch, real):
    monkeypatch.setenv("REDISCHAT_URL", real.url)
    monkeypatch.setenv("REDISCHAT_WORKSPACE", "Quay")
    monkeypatch.setenv("REDISCHAT_AGENT", "amy")
    async with AsyncClient() as chat:
        me = await chat.whoami()
        assert (me.agent, me.workspace, me.url, me.url_from) == ("amy", "Quay", real.url, "REDISCHAT_URL")
    with Client(agent="bob", workspace="dock") as chat:  # a program may speak under any name that nobody holds
        me = chat.whoami()
        assert (me.agent, me.agent_from, me.workspace, me.workspace_from) == ("bob", "the program", "dock", "the program")


@pytest.mark.real
def test_a_name_that_this_user_holds_needs_no_token_to_be_given(real, tmp_path):
    with Client(real.url, agent="amy") as amy:
        token = amy.identify().token
        amy.open("dock")
    place = Settings({"url": real.url}, {"REDISCHAT_STATE": str(tmp_path / "state")}, os.getcwd())
    session = Client(real.url)
    with session, Client(real.url, agent="amy") as stranger:
        facts: dict[str, Any] = {"agent": "amy", "token": token, "session": session.whoami().session, "project": session.whoami().project, "host": "here"}
        assert stranger.whoami().token is False
    write_pairs(place.binding("amy"), facts)
    with Client(real.url, agent="amy") as again, Client(real.url) as default:
        assert again.post("dock", "x").seq == 1
        assert (default.agent, default.whoami().token) == ("amy", True)


def test_a_redis_client_that_is_given_must_decode_and_stays_its_givers():
    with pytest.raises(Usage):
        Client(redis=fakeredis.FakeRedis())
    client = fakeredis.FakeRedis(decode_responses=True, protocol=2)
    with Client(redis=client, agent="amy") as amy:
        amy.open("dock")
    assert client.ping()
    client.close()


def signature(verb):
    """A verb's parameters and what it gives, without what differs by nature."""
    return re.sub(r"Started\[(\w+)\]", r"\1", str(inspect.signature(verb)).replace("Async", ""))


def public(kind):
    return {name: member for name, member in inspect.getmembers(kind) if not name.startswith("_")}


def test_both_clients_have_the_same_verbs_with_the_same_parameters_and_words():
    aio, sync = public(AsyncClient), public(Client)
    assert sorted(aio) == sorted(sync)
    for name, member in sync.items():
        if callable(member):
            assert signature(member) == signature(aio[name]), name
        assert member.__doc__ == aio[name].__doc__.replace("async with", "with").replace("async for", "for").replace("await ", ""), name
        assert member.__doc__, f"{name} says nothing"


@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy], ids=["sent", "copied"])
async def test_what_is_given_and_what_is_raised_can_be_sent_to_another_process(sit, copied):
    amy, bob = await sit.pair()
    await amy.task_create("dock", "parse")
    await amy.post("dock", "hi")
    async with amy.lock("dock", "a", repo="team/x") as lock, bob.claim_task("dock") as task, aclosing(bob.listen("dock")) as listening:
        message = await anext(listening)
        for one in (getattr(lock, "chat", lock), getattr(task, "chat", task), message, await amy.history("dock")):
            found = copied(one)
            assert isinstance(one, type(found))
            assert {name: getattr(found, name) for name in type(found).model_fields} == {name: getattr(one, name) for name in type(found).model_fields}
        with pytest.raises(PathLockConflict) as refused:
            await bob.lock("dock", "a", repo="team/x")
    again = copied(refused.value)
    assert (type(again), again.facts, str(again)) == (PathLockConflict, refused.value.facts, str(refused.value))


def test_a_channel_object_has_each_verb_that_takes_a_channel():
    firsts = {name: [*inspect.signature(verb).parameters][1:2] for name, verb in public(Client).items() if callable(verb)}
    verbs = {name for name, first in firsts.items() if first in (["channel"], ["channels"])}
    amy = Client(redis=fakeredis.FakeRedis(decode_responses=True), agent="amy")
    found = {name: verb for name, verb in vars(amy.channel("dock")).items() if callable(verb) and name != "chat"}
    assert found.keys() == verbs
    assert all(verb.__doc__ == getattr(Client, name).__doc__ for name, verb in found.items()), "help() tells of something else"


def test_a_substitution_that_is_no_longer_used_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(unasync, "WORDS", [*unasync.WORDS, (r"nobody writes this", "")])
    monkeypatch.setattr(sys, "argv", ["unasync.py", "--check"])
    assert unasync.main() == 1
    assert "nobody writes this" in capsys.readouterr().out


def test_importing_redischat_imports_neither_redis_nor_pydantic():
    code = "import sys, redischat, redischat.errors; print(sorted({'redis', 'pydantic', 'asyncio', 'click'} & sys.modules.keys()), redischat.__version__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("]")[0] == "["


def test_the_face_is_sorted_whole_and_refuses_what_it_does_not_have():
    assert redischat.__all__ == sorted(redischat.__all__) == dir(redischat)
    assert all(getattr(redischat, name) is not None for name in redischat.__all__)
    with pytest.raises(AttributeError):
        _ = redischat.Clint
    assert issubclass(redischat.errors.ChannelClosed, redischat.ChatError)
    assert redischat.errors.ChannelClosed is ChannelClosed
