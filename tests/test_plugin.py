"""The Claude Code plugin: its texts are those of docs/agents.md and within their budget, its hooks those that setup writes, and its launcher finds redischat."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import test_docs as docs
from cli import scratch, town_with

from redischat import __version__
from redischat.cli.verbs import VERBS, named
from redischat.files import folder
from redischat.install import claude

ROOT = Path(__file__).parent.parent
PLUGIN = Path(folder("hooks"))
SKILL, COMMAND = PLUGIN / "skills" / "peers" / "SKILL.md", PLUGIN / "commands" / "redischat.md"
SKILL_BYTES = 4_000
SHARED = ("Six rules", "Five mistakes")
RUN = PLUGIN / "run"


@pytest.fixture
def town():
    with town_with() as one:
        yield one


def manifest(name="plugin"):
    return json.loads((PLUGIN / ".claude-plugin" / f"{name}.json").read_text("utf-8"))


def section(text, title):
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0].strip()


def front(path):
    """The keys of a page's front matter."""
    head = path.read_text("utf-8").split("---\n")[1]
    return dict(line.split(": ", 1) for line in head.splitlines())


# The texts.


def test_the_skill_is_small_and_says_when_to_use_it_and_when_not():
    text = SKILL.read_text("utf-8")
    assert len(text.encode()) < SKILL_BYTES
    assert front(SKILL)["name"] == SKILL.parent.name != COMMAND.stem, "under one name the client shows the command alone"
    assert len(front(SKILL)["description"]) <= 1024
    for said in ("one agent with subagents is cheaper", "**Live or handoff.**", "Test traffic only in a channel of your own", "do not obey"):
        assert said in text, said


@pytest.mark.parametrize("title", SHARED)
def test_the_skill_and_the_page_for_other_harnesses_say_the_same(title):
    mine = section(SKILL.read_text("utf-8"), title)
    assert mine
    assert mine == section(docs.page("docs/agents.md"), title)


def test_there_are_six_rules_and_five_mistakes():
    text = SKILL.read_text("utf-8")
    assert [line.split(".")[0] for line in section(text, "Six rules").splitlines()] == list("123456")
    assert len(section(text, "Five mistakes").splitlines()) == 2 + 5


@pytest.mark.parametrize("path", [SKILL, COMMAND], ids=lambda path: path.name)
def test_the_plugin_names_no_command_that_does_not_exist(path):
    text = path.read_text("utf-8")
    assert docs.commands(text)
    for command in docs.commands(text):
        verb, rest = named(command.split())
        assert verb in VERBS or verb == "VERB", command
        assert verb == "VERB" or docs.flags(" ".join(rest)) <= docs.known(verb), command
    for span in docs.spans(text):
        first = named(span.split())[0]
        assert docs.flags(span) <= (docs.known(first) if first in VERBS else {flag for verb in VERBS for flag in docs.known(verb)}), span


def test_every_example_of_the_skill_runs(town):
    newcomer = town.person("work", PATH=f"{Path(sys.executable).parent}{os.pathsep}{town.env['PATH']}")
    (block,) = docs.blocks(SKILL.read_text("utf-8"), "sh")
    done = newcomer.shell("set -eu\n" + block)
    assert done.code == 0, done


def test_the_command_takes_a_channel_and_may_run_nothing_but_redischat():
    assert front(COMMAND)["argument-hint"] == '"[channel]"'
    assert front(COMMAND)["allowed-tools"] == "Bash(redischat:*)"
    assert "$ARGUMENTS" in COMMAND.read_text("utf-8")


# The manifests.


def test_the_manifest_is_of_this_version_and_brings_no_mcp_server():
    found = manifest()
    assert found["version"] == __version__
    assert found["mcpServers"] == {}
    assert (PLUGIN / found["hooks"]).is_file()


def test_the_marketplace_offers_the_plugin_that_lies_beside_it():
    (offered,) = manifest("marketplace")["plugins"]
    assert offered["name"] == manifest()["name"]
    assert (PLUGIN / offered["source"]).resolve() == PLUGIN.resolve()
    assert f"{offered['name']}@" == claude.PLUGIN


def test_the_hooks_are_those_that_setup_writes_for_every_version_but_for_the_program():
    """Run in exec form: no shell reads a path."""
    found = json.loads((PLUGIN / "hooks.json").read_text("utf-8"))["hooks"]
    wanted = claude.wanted("/python", "/hooks/tick.py", None)
    assert list(found) == list(wanted)
    for name, groups in found.items():
        (group,) = groups
        (mine,), (theirs,) = group["hooks"], wanted[name]["hooks"]
        assert mine.pop("command") == "${CLAUDE_PLUGIN_ROOT}/run"
        assert mine.pop("args") == ["claude", *(["start"] if name == "SessionStart" else [])]
        del theirs["command"]
        assert {**group, "hooks": [mine]} == {**wanted[name], "hooks": [theirs]}


def test_no_file_of_the_plugin_names_a_path_of_one_machine():
    for path in PLUGIN.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            text = path.read_text("utf-8")
            assert "/home/" not in text.replace("$HOME/", ""), path
            assert str(ROOT) not in text, path


# The launcher.


class Launch:
    """hooks/run as a plugin's copy of it, with programs on the PATH that say what they were called with."""

    def __init__(self, root):
        self.root, self.bin, self.state = root, os.path.join(root, "bin"), os.path.join(root, "a state")
        os.mkdir(self.bin)
        self.copy = os.path.join(root, "cache", "run")
        os.mkdir(os.path.dirname(self.copy))
        Path(self.copy).write_bytes(RUN.read_bytes())
        os.chmod(self.copy, RUN.stat().st_mode)

    def program(self, name, text):
        path = os.path.join(self.bin, name)
        Path(path).write_text("#!/bin/sh\n" + text, "utf-8")
        os.chmod(path, 0o755)
        return path

    def tick(self, name="tick.py"):
        path = os.path.join(self.root, name)
        Path(path).touch()
        return path

    def redischat(self, python, tick):
        self.program("redischat", f'echo "$@" >>{self.root}/asked\nprintf "%s\\n%s\\n" "{python}" "{tick}"\n')

    def __call__(self, *words, **env):
        given = {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": self.root, "REDISCHAT_STATE": self.state, **env}
        done = subprocess.run([self.copy, *words], env=given, input="{}", capture_output=True, text=True, check=False, timeout=20)
        return done.returncode, done.stdout, done.stderr

    @property
    def asked(self):
        path = Path(self.root, "asked")
        return path.read_text("utf-8").splitlines() if path.exists() else []


@pytest.fixture
def launch():
    with scratch() as root:
        yield Launch(root)


def test_it_hands_over_to_the_redischat_on_the_path_and_asks_for_it_once_a_session(launch):
    python, tick = launch.program("python", 'echo "$@"; cat'), launch.tick()
    launch.redischat(python, tick)
    for words in (("claude", "start"), ("claude",), ("claude",)):
        assert launch(*words) == (0, f"-I -S {tick} claude\n{{}}", "")
    assert launch.asked == ["plugin --run"]
    assert os.stat(launch.state).st_mode & 0o777 == 0o700


def test_a_newer_redischat_is_found_when_the_next_session_starts(launch):
    launch.redischat(launch.program("old", "echo old"), launch.tick())
    assert launch("claude", "start")[1] == "old\n"
    launch.redischat(launch.program("new", "echo new"), launch.tick())
    assert launch("claude")[1] == "old\n"
    assert launch("claude", "start")[1] == "new\n"
    assert launch("claude")[1] == "new\n"


def test_one_that_was_moved_is_looked_for_again(launch):
    launch.redischat(launch.program("old", "echo old"), launch.tick())
    launch("claude")
    os.unlink(os.path.join(launch.bin, "old"))
    launch.redischat(launch.program("new", "echo new"), launch.tick())
    assert launch("claude") == (0, "new\n", "")


def test_where_there_is_no_redischat_it_is_silent_and_fails_nothing(launch):
    assert launch("claude", "start") == (0, "", "")
    assert launch("claude") == (0, "", "")
    assert not os.path.exists(launch.state)
    launch.program("redischat", "exit 1")
    assert launch("claude", "start") == (0, "", "")
    launch.redischat("/nowhere/python", "/nowhere/tick.py")
    assert launch("claude", "start") == (0, "", "")


def test_one_that_lost_the_path_goes_on_with_what_it_knew(launch):
    launch.redischat(launch.program("python", "echo hello"), launch.tick())
    launch("claude", "start")
    os.unlink(os.path.join(launch.bin, "redischat"))
    assert launch("claude", "start") == (0, "hello\n", "")


def test_a_state_directory_that_cannot_be_written_breaks_nothing(launch):
    launch.redischat(launch.program("python", "echo hello"), launch.tick())
    Path(launch.state).touch()
    assert launch("claude", "start") == (0, "", "")


def test_the_real_command_tells_the_launcher_what_to_run(town):
    newcomer = town.person("work")
    python, tick = newcomer("plugin", "--run").out.splitlines()
    assert os.access(python, os.X_OK)
    assert Path(tick) == PLUGIN / "tick.py"
    assert newcomer("plugin").out == f"{PLUGIN}\n"
    assert newcomer("plugin", "--json").record == {"folder": str(PLUGIN), "python": python, "tick": tick}


def test_a_session_of_the_plugin_is_told_who_it_is(town):
    heron = town.person("work", PATH=f"{Path(sys.executable).parent}{os.pathsep}{town.env['PATH']}")
    heron("open", "dock", "--as", "heron", "--topic", "the eq regression")
    heron("identify", "heron", "--project", env={"CLAUDE_CODE_SESSION_ID": "one"})
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "one", "cwd": heron.directory, "prompt": "go on"}
    env = {**town.env, **heron.env}
    words = [str(RUN), "claude"]
    done = subprocess.run(words, cwd=heron.directory, env=env, input=json.dumps(event), capture_output=True, text=True, check=True, timeout=30)
    assert (done.stdout, done.stderr) == ("", "")
    heron("join", "dock", "--as", "lynx", env={"CLAUDE_CODE_SESSION_ID": "two", "REDISCHAT_AGENT": "lynx"})
    heron("say", "dock", "hello", env={"REDISCHAT_AGENT": "lynx"})
    done = subprocess.run(words, cwd=heron.directory, env=env, input=json.dumps(event), capture_output=True, text=True, check=True, timeout=30)
    assert "hello" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
