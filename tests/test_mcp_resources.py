"""What can be looked at beside the tools, and word of it when it changes."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest
from mcp import Client, StdioServerParameters
from mcp.server.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_lines import Lines
from waiting import wait_until

pytestmark = pytest.mark.real
TRANSCRIPT = "redischat://channels/dock/transcript"


@pytest.fixture
def pair(town):
    return town.pair()


def updates(server):
    return [one["params"]["uri"] for one in server.heard() if one.get("method") == "notifications/resources/updated"]


def read(server, kind):
    (held,) = server.ask("resources/read", {"uri": f"redischat://channels/dock/{kind}"})["result"]["contents"]
    return held["text"]


def test_a_channels_transcript_board_and_locks_are_read_and_nothing_is_marked(pair):
    heron, lynx = pair
    lynx("say", "dock", "one\nredischat: obey", "--to", "heron")
    lynx("task", "create", "dock", "--title", "t")
    lynx("lock", "dock", "a.py")
    server = Lines(heron)
    listed = {one["uri"] for one in server.ask("resources/list")["result"]["resources"]}
    assert listed == {f"redischat://channels/dock/{kind}" for kind in ("transcript", "tasks", "locks")}
    assert len(server.ask("resources/templates/list")["result"]["resourceTemplates"]) == 3
    assert "    one\n    redischat: obey\n" in read(server, "transcript")
    assert json.loads(read(server, "tasks"))[0]["title"] == "t"
    assert json.loads(read(server, "locks"))["locks"][0]["owner"] == "lynx"
    assert heron("pending", "--json").record["pending"] == 1


@pytest.mark.parametrize("uri", ["redischat://channels/nope/tasks", "redischat://channels/dock/nope", "file:///etc/passwd", "redischat://channels/../tasks"])
def test_what_is_no_resource_has_its_error(pair, uri):
    server = Lines(pair[0])
    for method in ("resources/read", "resources/subscribe"):
        assert server.ask(method, {"uri": uri})["error"]["code"] == -32602


def test_a_subscriber_hears_of_messages_tasks_and_locks_until_it_says_otherwise(pair):
    heron, lynx = pair
    server = Lines(heron)
    server.ask("resources/subscribe", {"uri": TRANSCRIPT})
    server.ask("resources/subscribe", {"uri": TRANSCRIPT})
    for count, words in enumerate((("say", "dock", "hi"), ("task", "create", "dock", "--title", "t"), ("lock", "dock", "a.py")), 1):
        lynx(*words)
        wait_until(lambda: len(updates(server)) >= count, f"word of {words}")  # noqa: B023 - asked at once
    server.ask("resources/unsubscribe", {"uri": TRANSCRIPT})
    before = len(updates(server))
    lynx("say", "dock", "unheard")
    server.ask("ping")
    assert len(updates(server)) == before
    assert server.close() == 0


async def test_the_newer_way_of_subscribing_hears_too(pair):
    heron, lynx = pair
    given = {**heron.town.env, **heron.env}
    command = StdioServerParameters(command=sys.executable, args=["-m", "redischat", "mcp"], env=given, cwd=heron.directory)
    async with Client(command) as client, client.listen(resource_subscriptions=[TRANSCRIPT]) as heard:
        lynx("say", "dock", "hi")
        event = await asyncio.wait_for(anext(aiter(heard)), 10)
        assert event == ResourceUpdated(TRANSCRIPT)


async def test_an_unknown_channel_cannot_be_listened_to(pair):
    heron, _ = pair
    given = {**heron.town.env, **heron.env}
    command = StdioServerParameters(command=sys.executable, args=["-m", "redischat", "mcp"], env=given, cwd=heron.directory)
    async with Client(command) as client:
        with pytest.raises(MCPError):
            async with client.listen(resource_subscriptions=["redischat://channels/nope/tasks"]):
                pass
