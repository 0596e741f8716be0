"""A session whose hooks are fired by hand: heron, in a project of a town, and lynx, who talks to it and locks its files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli import Person

from redischat import Client
from redischat.hook import wake
from redischat.settings import write_pairs

TICK = Path(__file__).parent.parent / "hooks" / "tick.py"
FIXTURES = Path(__file__).parent / "harness" / "fixtures"
RECORDED_HOME = "/home/dev/proj"  # where the recorded sessions worked
SECONDS = 30
LIMIT_S = 5.0  # a hook is gone within about 2 s; the machine may be busy with other tests
OPENCODE = {
    "event_session.created": "SessionStart", "chat.message": "UserPromptSubmit", "tool.execute.before": "PreToolUse", "tool.execute.after": "PostToolUse",
    "event_session.idle": "Stop",
}  # fmt: skip
SAYS = {"claude": "PostToolBatch", "codex": "PostToolUse", "gemini": "AfterTool", "opencode": "PostToolUse"}


def recorded(client):
    """The names of a client's recorded events."""
    return sorted(path.stem for path in FIXTURES.glob(f"{client}-*/*.json") if not path.name.startswith("_"))


def given(client, name):
    """What a hook of a client was given, as recorded; OpenCode's as its plugin words it."""
    (path,) = FIXTURES.glob(f"{client}-*/{name}.json")
    found = json.loads(path.read_text("utf-8"))
    return worded(name, found) if client == "opencode" else found


def worded(name, found):
    """What OpenCode's plugin makes of what it is told; what it does not hand on is no event."""
    kind = next((kind for kind in OPENCODE if name.startswith(kind)), "")
    call = found.get("input", {})
    tool = {"tool_name": call["tool"], "tool_input": found.get("args") or call.get("args")} if "tool" in call else {}
    return {"hook_event_name": OPENCODE.get(kind, ""), "cwd": RECORDED_HOME, "project": RECORDED_HOME, **tool}


def apart(*spaces):
    """What stands before a command that is to run in namespaces of its own (--net, --mount)."""
    words = ["unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), *spaces]
    if not shutil.which("unshare") or subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
        pytest.skip(f"no namespace to be had ({' '.join(spaces)})")
    return words


class Fired:
    """What one event did: ``code``, both outputs as bytes, ``seconds``; ``strings``: all that it says."""

    def __init__(self, event, code, out, err, seconds):
        self.event, self.code, self.out, self.err, self.seconds = event, code, out, err, seconds

    def __repr__(self):
        return f"{self.event.get('hook_event_name')}: exit {self.code} after {self.seconds:.2f} s\n{self.out!r}\n{self.err!r}"

    @property
    def silent(self):
        return (self.code, self.out, self.err) == (0, b"", b"")

    @property
    def answer(self) -> Any:
        return json.loads(self.out) if self.out else {}

    @property
    def own(self):
        return self.answer.get("hookSpecificOutput", {})

    @property
    def text(self):
        """What the model is told."""
        return self.own.get("additionalContext") or self.answer.get("reason") or self.answer.get("context") or ""

    @property
    def denied(self):
        """Why a tool call was refused; "" where it was not."""
        gemini = self.answer.get("reason", "") if self.event.get("hook_event_name") == "BeforeTool" else ""
        return self.own.get("permissionDecisionReason") or gemini or self.answer.get("deny", "")


class Session(Person):
    """A session of a harness; its hooks get what ``fire`` says, its shell types commands."""

    def __init__(self, town, place, id_, client="claude", **env):
        found = town.person(place)
        super().__init__(
            town, found.directory, **({"CLAUDE_CODE_SESSION_ID": id_, "AI_AGENT": "claude-code_2-1-332_harness"} if client == "claude" else {}), **env
        )
        self.id, self.client = id_, client

    def event(self, name, **facts):
        return {"hook_event_name": name, "session_id": self.id, "cwd": self.directory, **facts}

    def begin(self, event, *, tick=TICK, stdout=subprocess.PIPE, stdin=subprocess.PIPE, prefix=(), **env):
        """Start tick.py for an event, which it has still to be given."""
        given = {**self.town.env, **self.env, "CLAUDE_PROJECT_DIR": self.directory, **env}
        words = [*prefix, sys.executable, "-I", "-S", str(tick), self.client]
        directory = event.get("cwd", self.directory)
        cwd = directory if os.path.isdir(directory) else self.directory
        process = subprocess.Popen(words, env=given, cwd=cwd, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE)
        self.town.started.append(process)
        return process

    def feed(self, raw, *, event=None, **options):
        """Give tick.py these bytes, and wait for it."""
        start = time.monotonic()
        process = self.begin(event or {}, **options)
        out, err = process.communicate(raw, timeout=SECONDS)
        return Fired(event or {}, process.returncode, out or b"", err, time.monotonic() - start)

    def fire(self, name, *, options=None, **facts):
        """An event; what came of it."""
        event = self.event(name, **facts)
        return self.feed(json.dumps(event).encode(), event=event, **(options or {}))

    def replay(self, name):
        """A recorded event, as if it were of this session."""
        found = {**given(self.client, name), "session_id": self.id}
        event = json.loads(json.dumps(found).replace(RECORDED_HOME, self.directory))
        return self.feed(json.dumps(event).encode(), event=event)

    def at_once(self, events, **env):
        """Events at the same time; what came of each."""
        start = time.monotonic()
        running = [(event, self.begin(event, **env)) for event in events]
        for event, process in running:
            process.stdin.write(json.dumps(event).encode())
            process.stdin.close()
        found = []
        for event, process in running:
            code = process.wait(SECONDS)
            found.append(Fired(event, code, process.stdout.read(), process.stderr.read(), time.monotonic() - start))
        return found

    def types(self, command, **facts):
        """The hook before a shell command."""
        tool = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command", "opencode": "bash"}[self.client]
        return self.fire("BeforeTool" if self.client == "gemini" else "PreToolUse", tool_name=tool, tool_input={"command": command}, **facts)

    def edit(self, path, **facts):
        """The hook before an edit by Claude Code."""
        return self.fire("PreToolUse", tool_name="Edit", tool_input={"file_path": path, "old_string": "a", "new_string": "b"}, **facts)

    def works(self):
        """A tool was used: what the model is told."""
        return self.fire(SAYS[self.client])


class Scene:
    """heron's session, which has begun, and lynx, with a channel for both. No waker starts: nothing happens but what the test does."""

    def __init__(self, town, client="claude"):
        self.town, self.server = town, town.server
        self.heron = Session(town, "p-heron", "0a08b5c3-1b6d-4bba-923f-7f4f7fc27df3", client)
        Path(self.heron.directory, ".redischat").mkdir()
        Path(self.heron.directory, ".redischat", "config").write_text("agent=heron\n", "utf-8")
        subprocess.run(["git", "init", "-q", "-b", "main", self.heron.directory], check=True)
        self.lynx = Client(town.env["REDISCHAT_URL"], agent="lynx")
        self.lynx.open("dock", members="heron")

    def begins(self):
        """heron's session starts."""
        found = self.heron.fire("SessionStart", source="startup")
        assert found.code == 0, found
        return found

    def mark(self, agent="heron", channel="dock"):
        """An agent's mark in a channel: heard, read, lease."""
        words = self.server.ask("HGET", f"rc1:{{default}}:marks:{agent}", channel).split(" ")
        return {"heard": int(words[0]), "read": int(words[1]), "lease": words[4]}

    def lapse(self, agent="heron", channel="dock"):
        """Let the delivery lease of an agent end, as if its time were up."""
        key = f"rc1:{{default}}:marks:{agent}"
        words = self.server.ask("HGET", key, channel).split(" ")
        self.server.ask("HSET", key, channel, " ".join([*words[:6], "1", words[7]]))

    def agents(self):
        return self.server.ask("HGETALL", "rc1:{default}:agents")[::2]

    def locked(self, *paths, by="bob", ttl=300):
        """Let somebody who types commands in heron's project lock paths there."""
        other = self.town.person("p-heron", REDISCHAT_SESSION=f"of-{by}")
        other("identify", by) if by not in self.agents() else None
        other("lock", "dock", *paths, "--reason", "release", "--ttl", str(ttl))
        return other

    def log(self):
        path = Path(self.town.state, "hook.log")
        return path.read_text("utf-8").splitlines() if path.exists() else []


@contextmanager
def scene_in(town, client="claude", *, begun=True):
    """A Scene; ``begun``: heron's session has started."""
    held = wake.lock(town.state)
    assert held is not None
    write_pairs(os.path.join(wake.folder(town.state), "status"), {"version": "9.9.9"})
    scene = Scene(town, client)
    try:
        if begun:
            scene.begins()
        yield scene
    finally:
        scene.lynx.disconnect()
        os.close(held)
