"""Real clients with redischat's MCP server, registered as setup registers it: its tools work where the shell may open no socket."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import clients
import pytest
from cli import serving, town_at
from products import claude_lab, codex_lab, gemini_lab, hold, opencode_lab, text, tool
from waiting import wait_until
from wired import peer, read_by, redischat

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]

READY_SECONDS = 30
SANDBOX = ("--sandbox", "workspace-write", "--dangerously-bypass-hook-trust")  # what a trusted project has by default
COMMAND = str(Path(sys.executable).with_name("redischat"))


def set_up(lab, client):
    """Amy's project, set up by the command, with the client on the PATH; and bob, who sits in the same channel."""
    bin_ = lab.folder / "bin"
    bin_.mkdir()
    (bin_ / client).symlink_to(lab.program)
    lab.env["PATH"] = f"{bin_}{os.pathsep}{lab.env['PATH']}"
    done = redischat(lab, "setup", "dock", "--as", "amy", "--harness", client, "--anyway")
    bob = peer(lab, "bob")
    bob("join", "dock")
    return done, bob


def by_script(name, **arguments):
    """A step: Codex's model calls a tool of a server, as it does: from a script."""
    return tool("exec", f"text(JSON.stringify(await tools.mcp__redischat__{name}({json.dumps(arguments)})))")


def transcript(bob):
    return [json.loads(line) for line in bob("read", "dock", "--since", "1", "--json").splitlines()]


def codex_with_tools(lab, *steps):
    """A headless run of Codex whose steps are played once its server is ready: it does not wait for one by itself, and this model answers at once."""
    first, *rest = steps
    words = lab.play(lab.shell("echo begun"), hold("ready", first), *rest, text("done"))
    run = lab.start(lab.program, "exec", "--json", "--skip-git-repo-check", *SANDBOX, words, name="run", env={"RUST_LOG": "rmcp=info"})
    run.stdin.close()
    wait_until(lambda: "Service initialized" in (lab.folder / "run.out").read_text("utf-8"), "its server is ready", READY_SECONDS)
    lab.release("ready")
    assert run.wait(READY_SECONDS) == 0


def test_a_sandboxed_codex_talks_by_tools_where_its_shell_cannot():
    with codex_lab() as lab:
        done, bob = set_up(lab, "codex")
        assert "codex: MCP server registered" in done
        shell = lab.shell(f"{COMMAND} say dock 'from the shell' --to bob; echo exit $?")
        codex_with_tools(lab, shell, by_script("say", channel="dock", body="from the sandbox", to=["bob"]))
        shown = [one.newest for one in lab.requests()]
        assert any("SANDBOXED" in one and "exit 5" in one for one in shown)
        assert [(one["from"], one["body"]) for one in transcript(bob)] == [("amy", "from the sandbox")]


def test_a_sandboxed_codex_reads_by_tools_and_what_it_was_given_is_read():
    with codex_lab() as lab:
        _, bob = set_up(lab, "codex")
        bob("say", "dock", "for the record", "--to-none")
        codex_with_tools(lab, lab.shell("echo work"), by_script("read", channel="dock"))
        assert "for the record" in lab.requests()[-1].newest
        assert read_by(lab, "amy", "dock") == 1


def test_claude_has_the_tools_in_its_first_request_and_talks_by_them():
    with claude_lab() as lab:
        done, bob = set_up(lab, "claude")
        assert "claude: MCP server registered" in done
        lab.ask(tool("mcp__redischat__say", channel="dock", body="by a tool", to=["bob"]), text("done"), flags=("--allowedTools", "mcp__redischat"))
        first = next(one for one in lab.requests() if not one.side)
        assert "mcp__redischat__say" in {one.get("name") for one in first.body["tools"]}
        assert [(one["from"], one["body"]) for one in transcript(bob)] == [("amy", "by a tool")]


@pytest.mark.parametrize("kind", [claude_lab, codex_lab, gemini_lab, opencode_lab])
def test_the_server_is_put_in_once_and_taken_out_again(kind):
    client = kind.__name__.removesuffix("_lab")
    with kind() as lab:
        files = tree(lab)
        done, _ = set_up(lab, client)
        assert f"{client}: MCP server registered" in done
        after = tree(lab)
        assert "MCP server" not in redischat(lab, "setup", "dock", "--as", "amy", "--harness", client, "--anyway")
        assert "take the MCP server out" in redischat(lab, "teardown", "--dry-run")
        assert tree(lab) == after
        assert f"{client}: MCP server taken out" in redischat(lab, "teardown")
        assert {name for name, held in tree(lab).items() if "redischat" in held and "mcp" in held} <= {
            name for name, held in files.items() if "redischat" in held
        }


def tree(lab):
    """The client's own settings: what a registration could be in."""
    places = (".claude.json", ".codex/config.toml", ".gemini/settings.json", ".config/opencode/opencode.json")
    return {one: (lab.home / one).read_text("utf-8") for one in places if (lab.home / one).exists()}


def test_the_inspector_lists_calls_and_is_refused(tmp_path):
    try:
        program = clients.CLIENTS["inspector"].command()
    except clients.Missing as missing:
        pytest.skip(str(missing))
    with serving() as broker, town_at(broker.url, broker) as town:
        heron, lynx = town.pair()

        def asks(*words):
            given = [word for name, value in {**town.env, **heron.env}.items() for word in ("-e", f"{name}={value}")]
            command = [program, "--cli", *given, sys.executable, "-m", "redischat", "mcp", *words]
            done = subprocess.run(
                command, cwd=heron.directory, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False
            )
            return json.loads(done.stdout)

        assert len(asks("--method", "tools/list")["tools"]) == 20
        said = asks("--method", "tools/call", "--tool-name", "say", "--tool-arg", "channel=dock", "--tool-arg", "body=from the inspector")
        assert said["structuredContent"]["seq"] == 1
        assert lynx("read", "dock", "--json").record["body"] == "from the inspector"
        assert asks("--method", "tools/call", "--tool-name", "say", "--tool-arg", "channel=nowhere", "--tool-arg", "body=x")["isError"] is True
