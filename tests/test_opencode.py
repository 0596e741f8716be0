"""OpenCode: what its plugin says is understood, what it is answered it can read, and the plugin's own text is sound."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from newcomers import Newcomer, newcomers

from redischat.files import folder
from redischat.harness import opencode
from redischat.harness.event import Answer

PLUGIN = Path(folder("hooks")) / "opencode.js"
SESSION = "ses_dd1de1a4bffeMJgFPgKCvGb7bC"


def event(name, **facts):
    return opencode.read({"hook_event_name": name, "session_id": SESSION, "cwd": "/p", **facts})


def test_a_tool_call_is_read_with_the_files_that_it_writes():
    assert event("PreToolUse", tool_name="edit", tool_input={"filePath": "/p/a.py"}).paths == ("/p/a.py",)
    assert event("PreToolUse", tool_name="read", tool_input={"filePath": "/p/a.py"}).paths == ()
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"
    assert event("PreToolUse", tool_name="apply_patch", tool_input={"patchText": patch}).paths == ("a.py",)
    assert event("PreToolUse", tool_name="bash", tool_input={"command": "rm a.py"}).command == "rm a.py"


def test_each_event_of_the_plugin_has_its_role_and_a_subagent_is_none():
    said = set(re.findall(r'event\("(\w+)"', PLUGIN.read_text("utf-8"))) | {"SessionStart"}
    roles = {name: event(name).role for name in said}
    assert all(roles.values()), roles
    assert set(roles.values()) == {"start", "prompt", "before", "after", "stop", "changed", "end"}
    assert event("Stop", agent_id="ses_child").child
    assert event("SessionStart", server="http://127.0.0.1:4096/").server == "http://127.0.0.1:4096/"


def test_an_answer_holds_what_the_plugin_reads_and_nothing_else():
    given = opencode.write(event("SessionStart"), Answer(context="you are amy", watch=["/s/bells/x"]))
    assert (given.out, given.code) == ({"context": "you are amy", "watch": "/s/bells/x"}, 0)
    assert opencode.write(event("PreToolUse"), Answer(deny="locked")).out == {"deny": "locked"}
    assert opencode.write(event("FileChanged"), Answer(wake="1 message")).out == {"wake": "1 message"}
    assert opencode.write(event("Stop"), Answer()).out is None
    text = PLUGIN.read_text("utf-8")
    assert all(re.search(rf"\b{key}\b", text) for key in ("context", "deny", "wake", "watch"))


def test_the_plugin_without_its_interpreter_does_nothing(tmp_path):
    assert run(tmp_path, PLUGIN.read_text("utf-8"), "console.log(Object.keys(await Redischat({})).length)") == "0"


DRIVER = """
const said = [];
const client = { session: { promptAsync: async (asked) => said.push(asked) } };
const hooks = await Redischat({ client, directory: process.cwd(), worktree: process.cwd(), serverUrl: undefined });
const ID = "ses_one";
await hooks.event({ event: { type: "session.created", properties: { sessionID: ID, info: { id: ID } } } });
const first = { message: { id: "msg_1" }, parts: [{ type: "text", text: "hello" }] };
await hooks["chat.message"]({ sessionID: ID }, first);
const again = { message: { id: "msg_2" }, parts: [{ type: "text", text: "hello" }] };
await hooks["chat.message"]({ sessionID: ID }, again);
let denied = "";
try {
  await hooks["tool.execute.before"]({ tool: "edit", sessionID: ID }, { args: { filePath: process.cwd() + "/locked.txt" } });
} catch (error) {
  denied = error.message;
}
await hooks.event({ event: { type: "session.created", properties: { sessionID: "ses_two", info: { id: "ses_two", parentID: ID } } } });
const child = { message: { id: "msg_3" }, parts: [{ type: "text", text: "hello" }] };
await hooks["chat.message"]({ sessionID: "ses_two" }, child);
await hooks.event({ event: { type: "session.idle", properties: { sessionID: ID } } });
console.log(JSON.stringify({ first: first.parts, again: again.parts.length, child: child.parts.length, denied }));
console.log("ready");
const end = Date.now() + 20000;
while (!said.length && Date.now() < end) await new Promise((done) => setTimeout(done, 20));
console.log(JSON.stringify(said[0] ?? null));
process.exit(0);
"""


def node():
    found = shutil.which("node")
    if not found:
        pytest.skip("no node here: the plugin runs in the harness tests, where OpenCode is installed")
    return found


def run(tmp_path, text, driver, **popen):
    """The plugin's text and a driver behind it, in one module; what it printed."""
    module = tmp_path / "driven.mjs"
    module.write_text(text + driver)
    done = subprocess.run([node(), str(module)], capture_output=True, text=True, timeout=60, check=False, **popen)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.real
def test_a_session_is_told_once_is_refused_a_locked_file_and_is_called_in_when_idle(real, tmp_path):
    """As in OpenCode's own terminal, which listens nowhere: the plugin watches a file."""
    with newcomers(real) as town:
        heron, lynx = Newcomer(town, "nest"), Newcomer(town, "nest2")
        heron("setup", "dock", "--as", "heron", "--harness", "opencode")
        lynx("setup", "dock", "--as", "lynx", "--harness", "none")
        repo = heron("check", "dock", "locked.txt", "--json").record["repository"]
        lynx("lock", "dock", "locked.txt", "--repo", repo)
        text = (Path(town.env["HOME"]) / ".config/opencode/plugin/redischat.js").read_text("utf-8")
        module = tmp_path / "driven.mjs"
        module.write_text(text + DRIVER)
        env = {**town.env, "PATH": os.environ["PATH"]}
        with subprocess.Popen([node(), str(module)], cwd=heron.directory, env=env, stdout=subprocess.PIPE, text=True) as session:
            assert session.stdout is not None
            found = json.loads(session.stdout.readline())
            (part,) = [one for one in found["first"] if one.get("synthetic")]
            assert "you are heron" in part["text"]
            assert (found["again"], found["child"]) == (1, 1), "told once, and a subagent nothing"
            assert found["denied"].startswith("redischat: locked.txt is locked by lynx")
            assert session.stdout.readline() == "ready\n"
            lynx("say", "dock", "are you awake", "--to", "heron")
            woken = json.loads(session.stdout.readline())
            assert woken["path"] == {"id": "ses_one"}
            assert "1 message for you in #dock (lynx)" in woken["body"]["parts"][0]["text"]
            assert session.wait(20) == 0
