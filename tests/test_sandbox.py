"""Does a shell inside a harness reach the broker? Tried where the harness can, else as its settings say, with what to do."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from newcomers import Newcomer, newcomers

from redischat.install import sandbox
from redischat.install.wiring import Wiring
from redischat.settings import Settings

pytestmark = pytest.mark.real
RUN = """#!{python}
import os, sys
words = sys.argv[1:]
open({log!r}, "w").write("\\n".join(words))
at = words.index("--")
{before}
os.execv(words[at + 1], words[at + 1:])
"""
CLOSED = "import socket; print('SANDBOXED'); sys.exit(0)"


@pytest.fixture
def amy(real):
    with newcomers(real) as town:
        yield Newcomer(town, "amy", "11111111-2222-3333-4444-555566667777")


def shell(amy, client, **env):
    """What is said of a shell of this client."""
    found = sandbox.shell(wiring(amy, **env), client)
    assert found
    return found


def wiring(amy, **env):
    return Wiring(Settings({}, {**amy.town.env, **amy.person.env, **env}, amy.directory), "codex,claude")


def codex(amy, before="pass"):
    """A codex whose sandbox is as ``before`` says; where it writes how it was called."""
    folder = Path(amy.town.root, "codex-bin")
    folder.mkdir(exist_ok=True)
    log = folder / "log"
    program = folder / "codex"
    program.write_text(RUN.format(python=sys.executable, log=str(log), before=before))
    program.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}, log


def configured(amy, text):
    path = Path(amy.town.env["HOME"], ".codex", "config.toml")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_shell_that_reaches_it_is_tried_and_said_so(amy):
    env, log = codex(amy)
    configured(amy, "[sandbox_workspace_write]\nnetwork_access = true\n")
    found = shell(amy, "codex", **env)
    assert (found.state, "reaches the broker: tried now" in found.said) == ("ok", True), found.said
    assert sandbox.NETWORK in log.read_text()


def test_a_shell_that_does_not_is_said_with_the_way_to_let_it(amy):
    env, log = codex(amy, CLOSED)
    found = shell(amy, "codex", **env)
    assert found.state == "note"
    assert "does not reach the broker: tried now" in found.said
    assert "MCP server" in found.said
    assert found.remedy == "codex -c sandbox_workspace_write.network_access=true"
    assert sandbox.NETWORK not in log.read_text()


def test_a_switched_off_sandbox_is_not_tried(amy):
    env, log = codex(amy)
    configured(amy, 'sandbox_mode = "danger-full-access"\n')
    assert shell(amy, "codex", **env).state == "ok"
    assert not log.exists()


@pytest.mark.parametrize("before", ["sys.exit(3)", "print('\\x1b[31mboom!'); sys.exit(0)"])
def test_what_could_not_be_tried_is_not_called_an_answer(amy, before):
    env, _ = codex(amy, before)
    found = shell(amy, "codex", **env)
    assert (found.state, found.said.startswith("cannot tell")) == ("note", True)


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({}, "ok"), ({"enabled": False}, "ok"), ({"enabled": True}, "wrong"), ({"enabled": True, "network": {"allowAllUnixSockets": True}}, "ok"),
        ({"enabled": True, "excludedCommands": ["redischat *"]}, "ok"), ({"enabled": True, "excludedCommands": ["git *"]}, "wrong"),
        ({"enabled": True, "network": "odd"}, "wrong"),
    ],
)  # fmt: skip
def test_claudes_sandbox_is_read_from_its_settings(amy, said, state):
    amy.settings.parent.mkdir(exist_ok=True)
    amy.settings.write_text(json.dumps({"sandbox": said}))
    assert shell(amy, "claude").state == state


def test_doctor_and_setup_say_it(amy):
    env, _ = codex(amy, CLOSED)
    amy.person.env |= env
    said = amy("setup", "dock", "--as", "amy", "--harness", "codex").out
    assert "codex: a shell in its sandbox (workspace-write, network_access=false) does not reach the broker" in said
    rows = {row["check"]: row for row in amy("doctor", "--harness", "codex", "--json", code=None).records}
    assert rows["codex shell"]["state"] == "note"
