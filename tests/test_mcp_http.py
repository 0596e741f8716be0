"""The MCP server over HTTP: who may come in, and that what did not go out whole comes again."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess

import pytest
from mcp import Client
from mcp_lines import HELLO, seqs
from waiting import wait_until

from redischat.errors import Usage
from redischat.mcp_server.http import Door

pytestmark = pytest.mark.real
TOKEN = "a-token-that-is-long-enough"
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}


@pytest.fixture
def pair(town):
    return town.pair()


class Served:
    """A server over HTTP of one person; ``post`` sends one request without the SDK: (status, text)."""

    def __init__(self, person, *words, host="127.0.0.1", env=None):
        self.process = person.start("mcp", "--http", f"{host}:0", *words, env=env, stderr=subprocess.PIPE)
        line = self.process.stderr.readline().decode()
        self.url = line.split()[-1]
        self.port = int(self.url.removesuffix("/mcp").rpartition(":")[2])
        self.session = {}

    def begin(self, method, params=None, **headers):
        """Send a request; the connection that its answer comes on."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}})
        line.request("POST", "/mcp", body, {**JSON, **self.session, **headers})
        return line

    def post(self, method, params=None, **headers):
        line = self.begin(method, params, **headers)
        answer = line.getresponse()
        text = answer.read().decode()
        if answer.headers.get("mcp-session-id"):
            self.session = {"mcp-session-id": answer.headers["mcp-session-id"]}
        line.close()
        return answer.status, text


def unread(person):
    return sum(one["pending"] for one in person("pending", "--json").records)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_client_talks_and_what_it_got_is_read(pair, mode):
    heron, lynx = pair
    lynx("say", "dock", "one", "--to", "heron")
    async with Client(Served(heron).url, mode=mode) as client:
        got = await client.call_tool("read", {})
        assert seqs(got.structured_content) == [1]
        wait_until(lambda: unread(heron) == 0, "it is read")
        assert seqs((await client.call_tool("read", {})).structured_content) == []
        lynx("say", "dock", "two", "--to", "heron")
        assert seqs((await client.call_tool("wait", {"timeout": 20})).structured_content) == [2]
        wait_until(lambda: unread(heron) == 0, "it is read")


def test_a_client_that_goes_while_it_waits_consumes_nothing(town, pair):
    heron, lynx = pair
    server = Served(heron)
    server.post("initialize", HELLO)
    line = server.begin("tools/call", {"name": "wait", "arguments": {"timeout": 50}})
    bells = lambda: int(town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:bell:heron")[1])  # noqa: E731
    wait_until(lambda: bells() == 1, "it waits")
    line.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # gone without a word
    line.close()
    lynx("say", "dock", "for whoever is there", "--to", "heron")
    assert wait_until(lambda: heron("read", "--json").records, "it comes again")[0]["seq"] == 1


def test_on_the_loopback_no_token_is_needed_and_foreign_names_are_turned_away(pair):
    server = Served(pair[0])
    assert server.post("initialize", HELLO)[0] == 200
    assert server.post("initialize", HELLO, host="evil.example")[0] == 421
    assert server.post("initialize", HELLO, origin="http://evil.example")[0] == 403
    assert server.post("initialize", HELLO, host=f"localhost:{server.port}", origin="http://localhost:5000")[0] == 200


def test_with_a_token_only_who_brings_it_comes_in(pair, tmp_path):
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    server = Served(pair[0], "--token-file", str(file), "--allow-host", "build-box", host="0.0.0.0")
    host = {"host": f"build-box:{server.port}"}
    for header in ({}, {"authorization": TOKEN}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": "Bearer "}, {"authorization": f"bearer {TOKEN}"}):
        status, text = server.post("initialize", HELLO, **host, **header)
        assert (status, TOKEN in text) == (401, False)
    assert server.post("initialize", HELLO, **host, authorization=f"Bearer {TOKEN}")[0] == 200
    assert server.post("initialize", HELLO, authorization=f"Bearer {TOKEN}", host="elsewhere")[0] == 421


def test_off_the_loopback_a_token_is_demanded_and_a_short_one_is_none(pair, tmp_path):
    heron, _ = pair
    assert "--token-file" in heron("mcp", "--http", "0.0.0.0:0", code=64).err
    assert "shorter" in heron("mcp", "--http", "127.0.0.1:0", code=64, env={"REDISCHAT_MCP_TOKEN": "short"}).err
    heron("mcp", "--http", "127.0.0.1:0", "--token-file", str(tmp_path / "none"), code=64)
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(Usage):
        Door(str(tmp_path / "empty"), None, {})


def test_a_port_that_is_taken_is_no_success(pair):
    server = Served(pair[0])
    done = pair[0]("mcp", "--http", f"127.0.0.1:{server.port}", code=1)
    assert (done.error, "in use" in done.err) == ("REFUSED", True)


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")  # in the newest protocol; today's clients speak it
async def test_a_client_that_leaves_takes_its_subscription_along(town, pair):
    server = Served(pair[0])
    rings = lambda: int(town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:live:dock")[1])  # noqa: E731
    async with Client(server.url, mode="legacy") as client:
        await client.session.subscribe_resource("redischat://channels/dock/tasks")
        assert rings() == 1
    wait_until(lambda: rings() == 0, "nobody listens any more")
