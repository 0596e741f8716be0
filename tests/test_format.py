"""A workspace that a redischat of another format wrote: every verb refuses it, naming both formats, and leaves it as it is."""

from __future__ import annotations

import os
import shlex

import pytest
from hooked import scene_in

from redischat.calls.call import plain
from redischat.cli.verbs import VERBS
from redischat.errors import OtherFormat
from redischat.flows.format import alone, checked
from redischat.keys import FORMAT, Keys
from redischat.lua import script

QUICK_S = 1.5  # no hook waits for an answer that does not come
META = "rc1:{default}:meta"
LOCAL = {  # verbs that ask no broker, or nothing of a workspace, or nothing before Slack's token is there
    "install", "uninstall", "fingerprint", "event schema", "server", "waker", "plugin", "mcp", "bridge slack", "demo", "bench", "guard install", "guard uninstall", "guard check", "teardown", "reload",
    "workspaces", "admin user add", "admin user revoke", "admin user rotate", "admin user update", "admin user list",
}  # fmt: skip


@pytest.fixture
def newer(town):
    """heron in a furnished workspace that a later version has taken over."""
    heron, lynx = town.pair()
    lynx("say", "dock", "to you", "--to", "heron")
    heron("task", "create", "dock", "--title", "parser")
    heron("claim", "dock", "x")
    heron("lock", "dock", "src/main.py", "--repo", "r")
    town.server.ask("HSET", META, "format", "2")
    return heron


def test_every_verb_refuses_a_workspace_of_another_format(town, newer):
    directory = os.path.join(newer.directory, "examples")
    os.makedirs(os.path.join(directory, "agent-chat", "review"))
    os.makedirs(os.path.join(directory, ".git"))
    for name in ("rules.md", "note.md", os.path.join("agent-chat", "review", "channel.md")):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write("text")
    before = town.server.everything()
    for name, verb in VERBS.items():
        if name in LOCAL or name == "import":
            continue
        done = newer(*without(shlex.split(verb.example)[1:], "--as", "--from", "--workspace"), code=None, cwd=directory, env={"REDISCHAT_AGENT": "heron"})
        if name in ("doctor", "maintenance"):  # they tell what else they can
            assert "format 2" in done.out + done.err, done
        else:
            assert (done.code, done.error) == (1, "OTHER_FORMAT"), done
            assert f"format 2, this redischat writes format {FORMAT}" in done.err, done
        assert town.server.everything() == before, done


def without(words, *flags):
    """``words`` but for these flags and their values."""
    return [word for before, word in zip(["", *words], words, strict=False) if word not in flags and before not in flags]


async def test_the_clients_refuse_it_too(sit):
    amy = sit("amy")
    await amy.open("dock")
    await amy.post("dock", "hi")
    sit.store.hset(META, "format", "2")
    for name, *words in (
        ("post", "dock", "more"), ("read", "dock"), ("history", "dock"), ("peek", "dock"), ("channels",), ("who",), ("pending",), ("owed",), ("wait", "dock"),
        ("task_list", "dock"), ("task_create", "dock"), ("claims", "dock"), ("claim", "dock", "x"), ("state", "dock"), ("roster", "dock"), ("identify", "zoe"), ("sync",),
    ):  # fmt: skip
        with pytest.raises(OtherFormat) as refused:
            await getattr(amy, name)(*words, **({"title": "t"} if name == "task_create" else {}))
        assert (refused.value.facts["found"], refused.value.facts["ours"]) == ("2", FORMAT), name


def test_a_look_costs_no_round_trip_more():
    driven = checked(alone(plain("PING")), Keys("default"))
    assert [call.args[0] for call in driven.send(None)] == ["HGET", "PING"]


def test_what_the_prelude_refuses_is_what_the_package_writes():
    assert f'WRITTEN ~= "{FORMAT}"' in script("message_post").text


def test_a_hook_says_nothing_writes_nothing_and_is_quick(town):
    with scene_in(town) as scene:
        scene.lynx.post("dock", "news", to="heron")
        town.server.ask("HSET", META, "format", "2")
        before = town.server.everything()
        for fired in (scene.heron.works(), scene.heron.edit("a.py"), scene.heron.fire("UserPromptSubmit", prompt="x"), scene.heron.fire("Stop")):
            assert (fired.code, fired.out) == (0, b""), fired
            assert fired.seconds < QUICK_S, fired
            assert town.server.everything() == before, fired
        assert any("format 2" in row for row in scene.log())
