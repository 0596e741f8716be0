"""setup and the MCP server: put in by the client's own command, once; taken out again; and what is said where that is not to be had."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from newcomers import VERSION, Newcomer, newcomers, program

from redischat.install import servers
from redischat.install.wiring import Wiring
from redischat.settings import Settings

pytestmark = pytest.mark.real
SESSION = "11111111-2222-3333-4444-555566667777"
FAKE = """#!{python}
import json, os, sys
path, words = os.path.join(os.environ["HOME"], ".claude.json"), sys.argv[1:]
known = json.load(open(path)) if os.path.exists(path) else {{"projects": {{}}}}
held = known["projects"].setdefault(os.getcwd(), {{}}).setdefault("mcpServers", {{}})
if words == ["--version"]:
    print("{version}")
elif words[:2] == ["mcp", "add-json"]:
    held[words[-2]] = json.loads(words[-1])
elif words[:2] == ["mcp", "remove"]:
    del held[words[-1]]
json.dump(known, open(path, "w"))
"""


@pytest.fixture
def town(real):
    with newcomers(real) as place:
        (Path(place.root) / "bin" / "claude").write_text(FAKE.format(python=sys.executable, version=VERSION))
        yield place


@pytest.fixture
def amy(town):
    return Newcomer(town, "amy", SESSION)


def told(amy):
    """What Claude is told of redischat in amy's project."""
    path = Path(amy.town.env["HOME"]) / ".claude.json"
    known = json.loads(path.read_text()) if path.exists() else {"projects": {}}
    return known["projects"].get(amy.directory, {}).get("mcpServers", {}).get("redischat")


def test_the_client_is_told_by_its_own_command_and_once_is_enough(amy):
    done = amy("setup", "dock", "--as", "amy")
    assert "  claude: MCP server registered: its tools are the verbs" in done.lines
    entry = told(amy)
    assert (entry["command"], entry["args"], entry["alwaysLoad"]) == (sys.executable, ["-m", "redischat", "mcp"], True)
    assert entry["env"] == {"REDISCHAT_STATE": amy.town.state}
    assert "MCP" not in amy("setup", "dock", "--as", "amy").out
    assert told(amy) == entry


def test_a_dry_run_shows_the_command_and_runs_none(amy):
    done = amy("setup", "dock", "--as", "amy", "--dry-run")
    assert "would register the MCP server: " in done.out
    assert "mcp add-json --scope local redischat" in done.out
    assert told(amy) is None


def test_it_is_left_out_when_asked(amy):
    assert "MCP" not in amy("setup", "dock", "--as", "amy", "--no-mcp").out
    assert told(amy) is None


@pytest.mark.parametrize("words", [("teardown",), ("uninstall",), ("uninstall", "--harness", "claude")])
def test_it_is_taken_out_again_and_told_before(amy, words):
    amy("setup", "dock", "--as", "amy")
    assert "would take the MCP server out" in amy(*words, "--dry-run").out
    assert told(amy) is not None
    assert "claude: MCP server taken out" in amy(*words).out
    assert told(amy) is None


def test_another_server_of_that_name_is_left_alone(amy):
    Path(amy.town.env["HOME"], ".claude.json").write_text(json.dumps({"projects": {amy.directory: {"mcpServers": {"redischat": {"command": "theirs"}}}}}))
    assert "is not ours: left as it is" in amy("setup", "dock", "--as", "amy").out
    amy("teardown")
    assert told(amy) == {"command": "theirs"}


def test_an_old_registration_gives_way_to_this_one(amy):
    old = {"command": "/old/python", "args": ["-m", "redischat", "mcp"]}
    Path(amy.town.env["HOME"], ".claude.json").write_text(json.dumps({"projects": {amy.directory: {"mcpServers": {"redischat": old}}}}))
    amy("setup", "dock", "--as", "amy")
    assert told(amy)["command"] == sys.executable


def test_a_client_that_does_not_take_it_is_no_success(amy):
    program(amy.town, "claude")  # prints its version, whatever it is asked
    done = amy("setup", "dock", "--as", "amy")
    assert "note: claude did not register the MCP server" in done.out
    assert "MCP server registered" not in done.out


def test_without_the_package_it_is_said_how_to_get_the_tools(amy, monkeypatch):

    monkeypatch.setattr(servers, "installable", lambda: False)
    steps, notes = servers.adding(Wiring(Settings({}, {**amy.town.env, **amy.person.env}, amy.directory), "claude"))
    assert (steps, "pip install 'redischat[mcp]'" in notes[0]) == ([], True)


def test_opencodes_file_gets_one_member_and_every_other_byte_stays(town):
    dan = Newcomer(town, "dan")
    path = Path(town.env["HOME"], ".config", "opencode", "opencode.json")
    path.parent.mkdir(parents=True)
    text = '{\n    "model": "x",\n    "mcp": {"theirs": {"type": "local", "command": ["y"]}}\n}\n'
    path.write_text(text)
    dan("setup", "dock", "--as", "dan", "--harness", "opencode")
    found = json.loads(path.read_text())
    assert found["mcp"]["redischat"]["command"] == [sys.executable, "-m", "redischat", "mcp"]
    assert (found["model"], found["mcp"]["theirs"]["command"]) == ("x", ["y"])
    dan("uninstall", "--harness", "opencode")
    assert path.read_text() == text
