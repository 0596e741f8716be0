"""The MCP server as a process: nothing but the protocol on standard output, text kept or refused, its end, and whom it acts as when sessions change."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli import COMMAND, town_at
from mcp_lines import HELLO, Lines, seqs
from sessions import Session as Hooked
from waiting import wait_until

from redischat.hook import alive, wake
from redischat.mcp_server.table import DEFAULT, chosen

pytestmark = pytest.mark.real
ENDS_SECONDS = 5
LIVE = "rc1:{default}:presence"
NOISY = """
import sys, warnings, os
sys.argv = ["redischat", "mcp"]
import redischat.mcp_server.table as table
real = table.chosen
def chosen(asked):
    print("a library greets")
    os.system("echo so does a child; cat")
    warnings.warn("old", DeprecationWarning)
    return real(asked)
table.chosen = chosen
import redischat.mcp_server.run as run
run.chosen = chosen
from redischat.__main__ import main
main()
"""
MISSING = """
import sys
sys.modules["mcp"] = None
sys.argv = ["redischat", "mcp"]
from redischat.__main__ import main
main()
"""


@pytest.fixture
def pair(town):
    return town.pair()


def waiting(town):
    """How many wait for heron."""
    return int(town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:bell:heron")[1])


def everything(lines):
    """Call every tool, with arguments and without."""
    for name, tool in chosen(DEFAULT).items():
        lines(name, **{one: ["a"] if one in {"paths", "targets"} else "dock" for one in tool.needs})
        lines(name, nonsense=1)


@pytest.mark.parametrize("env", [{"PYTHONWARNINGS": "always"}, {"PYTHONWARNINGS": "always", "REDISCHAT_DEBUG": "1"}, {"REDISCHAT_URL": "nonsense://x"}])
def test_mcp_01_every_line_is_the_protocols_whatever_is_wrong(pair, env):
    heron, _ = pair
    server = Lines(heron, env=env)
    everything(server)
    assert server.heard()
    assert server.close() == 0


def test_mcp_01_without_a_broker_every_tool_says_so_and_the_server_lives():
    with town_at("unix:///tmp/nobody/is/here") as town:
        server = Lines(town.person(), env={"REDISCHAT_AGENT": "heron"})
        for name in ("channels", "say", "read", "owed"):
            arguments = {"channel": "dock", "body": "x"} if name == "say" else {}
            assert server.refusal(name, **arguments) == "BROKER_UNREACHABLE"
        assert len(server.ask("tools/list")["result"]["tools"]) == 20
        assert server.close() == 0


def test_mcp_01_what_libraries_and_children_print_goes_to_standard_error(pair):
    server = Lines(pair[0], code=(sys.executable, "-c", NOISY), env={"PYTHONWARNINGS": "always"})
    assert server.record("whoami")["agent"] == "heron"
    assert server.close() == 0
    for words in ("a library greets", "so does a child", "old"):
        assert words in server.err


def test_mcp_01_without_its_package_one_line_says_how_to_get_it(town):
    person = town.person()
    done = subprocess.run([sys.executable, "-c", MISSING], env={**town.env}, cwd=person.directory, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "NOT_INSTALLED" in done.stderr
    assert "-m pip install 'redischat[mcp]'" in done.stderr


def test_mcp_01_without_its_pipes_one_line_says_so(town):
    person = town.person()
    for closed in ("<&-", ">&-"):
        done = person.shell(f"$RC mcp {closed}")
        assert (done.code, done.out, done.error) == (1, "", "REFUSED")


def test_live_01_at_a_terminal_that_is_closed_it_ends(town):
    terminal, near = os.openpty()
    process = town.person().start("mcp", stdin=near, stdout=near, start_new_session=True)
    os.close(near)
    process.stderr.readline()
    os.close(terminal)
    assert process.wait(ENDS_SECONDS) is not None


def test_words_that_are_wrong_are_refused_at_the_start(town):
    person = town.person()
    for words in (("--tools", "nope"), ("--longest-wait", "0"), ("--token-file", "x"), ("--http", "nowhere"), ("--http", "0.0.0.0:0")):
        done = person("mcp", *words, code=64)
        assert done.out == ""


def test_lines_that_are_no_message_are_passed_over(pair):
    server = Lines(pair[0])
    strange = (b"", b"   ", b"nonsense", b"5", b"[]", b"null", b"{}", b'{"jsonrpc": "2.0"}', b"\xff\xfe", b'"\\ud83d"', b"[" * 100_000)
    for line in strange:
        server.send(line + b"\n")
        assert server.record("whoami")["agent"] == "heron"
    assert len(server.heard()) == 1 + len(strange)


def test_what_is_not_asked_is_not_answered_and_what_is_unknown_has_its_error(pair):
    server = Lines(pair[0])
    server.tell("notifications/nonsense")
    assert server.ask("nonsense/method")["error"]["code"] == -32601
    assert server.ask("tools/call", {"name": "nope"})["error"]["code"] == -32602
    assert server.ask("ping")["result"] == {}
    assert len(server.heard()) == 4


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", "1999-01-01"])
def test_the_version_is_the_clients_or_one_that_is_known(pair, version):
    server = Lines(pair[0], hello=False)
    found = server.ask("initialize", {**HELLO, "protocolVersion": version})["result"]
    assert found["protocolVersion"] == (version if version.startswith("2") else "2025-11-25")
    assert found["serverInfo"]["name"] == "redischat"


def test_data_04_odd_text_is_kept_exactly_and_what_follows_is_read(pair):
    heron, lynx = pair
    server, reader = Lines(heron), Lines(lynx)
    for body in ("a\0b", "e\u0301", "\u0301", "\u202eabc", "line\r\nline\x1b[2J", "\U0001f600"):
        server.record("say", channel="dock", body=body)
        server.record("say", channel="dock", body="after it")
        assert [one["body"] for one in reader.record("read")["messages"]] == [body, "after it"]


@pytest.mark.parametrize("field", [b"body", b"channel", b"title"])
def test_data_04_what_is_no_text_is_refused_by_name_and_what_follows_is_read(pair, field):
    heron, lynx = pair
    server, reader = Lines(heron), Lines(lynx)
    for number, raw in enumerate((rb'"\ud83d"', b'"\xff\xfe"', rb'"x\udc00y"')):
        arguments = b", ".join(b'"%s": %s' % (name, raw if name == field else b'"dock"') for name in (b"channel", b"body", b"title"))
        server.send(b'{"jsonrpc": "2.0", "id": "odd%d", "method": "tools/call", "params": {"name": "say", "arguments": {%s}}}\n' % (number, arguments))
        result = server.answer(f"odd{number}")["result"]
        assert (result["isError"], result["structuredContent"]["error"]) == (True, "BAD_NAME" if field == b"channel" else "BAD_TEXT")
        server.record("say", channel="dock", body="after it")
        assert [one["body"] for one in reader.record("read")["messages"]] == ["after it"]
    assert "dock" not in server.err


def test_live_01_it_ends_when_its_client_has_gone_and_its_wait_with_it(town, pair):
    heron, lynx = pair
    server = Lines(heron)
    server.call("wait", timeout=50, sender="lynx")
    wait_until(lambda: waiting(town) == 1, "it waits")
    begun = time.monotonic()
    assert server.close() == 0
    assert time.monotonic() - begun < ENDS_SECONDS
    assert waiting(town) == 0
    lynx("say", "dock", "anybody?", "--to", "heron")
    assert heron("pending", "--json").record["pending"] == 1


@pytest.mark.parametrize("busy", [False, True])
def test_live_01_it_ends_when_its_parent_was_killed(pair, busy):
    heron, _ = pair
    relay = "import subprocess, sys; p = subprocess.Popen(sys.argv[1:]); print(p.pid, file=sys.stderr, flush=True); p.wait()"
    server = Lines(heron, code=(sys.executable, "-c", relay, *COMMAND, "mcp"))
    pid = int(wait_until(lambda: server.err, "it is started").split()[0])
    if busy:
        server.call("wait", timeout=50)
    server.process.kill()
    server.process.wait()
    server.hang_up()
    wait_until(lambda: not alive.born(pid), "it has ended", ENDS_SECONDS)


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_without_a_word(pair, sign):
    server = Lines(pair[0])
    server.call("wait", timeout=50)
    server.ask("ping")
    server.process.send_signal(sign)
    assert server.process.wait(ENDS_SECONDS) == 0
    assert "Traceback" not in server.err


def test_live_01_it_makes_no_session_that_could_outlive_it(town, pair):
    heron, lynx = pair
    server = Lines(heron)
    server.record("say", channel="dock", body="hi")
    assert town.server.ask("HLEN", LIVE) == 0
    server.process.kill()
    server.process.wait()
    town.server.last_seen("heron", 3 * 60)
    assert next(one for one in lynx("who", "--json").records if one["agent"] == "heron")["sessions"][0]["state"] != "live"


@pytest.mark.parametrize("source", ["clear", "resume"])
def test_ident_03_the_server_goes_on_as_the_agent_when_its_session_gets_another_id(town, source):
    held = wake.lock(town.state)
    assert held is not None
    heron = Hooked(town, "s-1", "heron")
    heron("SessionStart", source="startup")
    heron.person.env["CLAUDE_CODE_SESSION_ID"] = "s-1"
    lynx = town.agent("lynx")
    server = Lines(heron.person)
    server.record("join", channel="dock")
    server.record("lock", channel="dock", paths=["a.py"])
    lynx("join", "dock")
    lynx("say", "dock", "one", "--to", "heron")
    heron("SessionEnd", reason=source)
    after = Hooked(town, "s-2", "heron")
    after("SessionStart", source=source)
    assert server.record("say", channel="dock", body="from the old id")["from"] == "heron"
    assert seqs(server.record("read")) == [1]
    assert server.record("unlock", channel="dock", all=True)["unlocked"]
    assert len(lynx("who", "--json").records) == 2


def test_ident_03_a_name_that_changes_while_it_runs_is_followed_at_once(pair):
    heron, lynx = pair
    server = Lines(heron)
    assert server.record("say", channel="dock", body="as heron")["from"] == "heron"
    heron("leave", "dock")
    heron("identify", "wren")
    heron.town.person("p-heron")
    assert server.refusal("say", channel="dock", body="as whom?") == "TWO_IDENTITIES"
    assert server.record("identify", name="wren")["agent"] == "wren"
    assert lynx("peek", "dock", "--json").records


def test_of_several_agents_of_a_project_it_is_the_one_that_it_says_it_is(town):
    one, other = town.agent("heron", "nest", REDISCHAT_SESSION="s-1"), town.agent("wren", "nest", REDISCHAT_SESSION="s-2")
    other("open", "dock")
    one("join", "dock")
    nobody = town.person("nest")
    first, second = Lines(nobody), Lines(nobody)
    assert first.refusal("say", channel="dock", body="who?") == "TWO_IDENTITIES"
    for server, name in ((first, "heron"), (second, "wren")):
        assert server.record("identify", name=name)["agent"] == name
        assert server.record("say", channel="dock", body="hi")["from"] == name
        assert server.record("identify", name=name)["how"] == "mine"
    assert first.refusal("identify", name="no name") == "BAD_NAME"


def test_a_server_without_a_session_id_is_the_session_whose_hooks_have_the_same_parent(town):
    held = wake.lock(town.state)
    assert held is not None
    one, other = Hooked(town, "s-1", "heron", client="codex"), Hooked(town, "s-2", "heron", client="codex")
    apart = "import subprocess, sys, json; sys.exit(subprocess.run(sys.argv[1:], stdin=0).returncode)"
    one("SessionStart", source="startup")  # of this very process, as the server is
    name = json.dumps({"session_id": "s-2", "hook_event_name": "SessionStart", "cwd": other.person.directory, "source": "startup"})
    words = [sys.executable, "-c", apart, sys.executable, "-I", "-S", str(Path(__file__).parent.parent / "hooks" / "tick.py"), "codex"]
    subprocess.run(words, input=name.encode(), env=town.env, cwd=other.person.directory, capture_output=True, check=True)
    server = Lines(one.person)
    found = server.record("whoami")
    assert (found["agent"], found["session"]) == ("heron", "s-1")
