"""People who set redischat up: a town with a fake claude on the PATH, projects under git, and hooks that fire as the client fires them."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

from cli import town_at

from redischat.files import folder
from redischat.install import detect

TICK = os.path.join(folder("hooks"), "tick.py")
VERSION = "2.1.332 (Claude Code)"
FLEETING = bool(detect.fleeting(sys.executable, os.environ) or detect.fleeting(TICK, os.environ))  # a suite that lies in a temporary folder itself
WIRING = ("setup", "install")


class Newcomer:
    """Somebody with a project; ``session``: the id of the Claude session that they are, "" for a person at a shell."""

    def __init__(self, town, place, session="", client="claude", **env):
        self.town, self.session, self.client = town, session, client
        signs = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": session} if session else {}
        self.person = town.person(place, PATH=f"{town.root}/bin{os.pathsep}{os.environ['PATH']}", **signs, **env)
        self.directory = self.person.directory
        if not os.path.exists(os.path.join(self.directory, ".git")):
            self.git("init", "-q", "-b", "main")

    def __call__(self, *words, **given):
        words = (*words, "--anyway") if FLEETING and words[0] in WIRING else words
        return self.person(*words, **given)

    def git(self, *words):
        env = {"PATH": os.environ["PATH"], "HOME": self.town.env["HOME"], "GIT_CONFIG_GLOBAL": os.devnull}
        who = ("-c", "user.name=x", "-c", "user.email=x@y")
        return subprocess.run(["git", *who, *words], cwd=self.directory, env=env, check=True, capture_output=True, text=True).stdout

    def hook(self, event, session=None, **facts):
        """An event of a session, as its client would fire it; its answer, parsed ({}: silence)."""
        told = {"hook_event_name": event, "session_id": session or self.session, "cwd": self.directory, **facts}
        env = {**self.town.env, **self.person.env, "CLAUDE_PROJECT_DIR": self.directory}
        done = subprocess.run([sys.executable, "-I", "-S", TICK, self.client], input=json.dumps(told), env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def members(self, channel="dock"):
        return next(one["members"] for one in self("channels", "--all", "--json").records if one["channel"] == channel)

    @property
    def settings(self):
        return Path(self.directory) / ".claude" / "settings.local.json"

    @property
    def exclude(self):
        return Path(self.directory) / ".git" / "info" / "exclude"


def program(town, name, prints=VERSION):
    """A program of that name on the PATH of newcomers."""
    path = Path(town.root) / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{prints}'\n")
    path.chmod(0o755)


def tree(*roots):
    """Every file below these folders: path -> bytes and mode. What git keeps for itself is left out, but for its exclude file."""
    found = {}
    for root in map(Path, roots):
        for path in root.rglob("*"):
            inside = path.relative_to(root).parts
            if path.is_file() and (".git" not in inside or inside[-2:] == ("info", "exclude")):
                found[str(path)] = (path.read_bytes(), path.stat().st_mode)
    return found


def folders(root):
    return sorted(str(path.relative_to(root)) for path in Path(root).rglob("*") if path.is_dir() and ".git" not in path.parts)


@contextlib.contextmanager
def newcomers(server):
    """A town of newcomers at a server; no waker of it is left."""
    with town_at(server.url, server) as town:
        program(town, "claude")
        try:
            yield town
        finally:
            town.person()("waker", "start", code=None)  # one that a hook has just let start may not be there yet: this waits for it
            town.person()("waker", "stop", code=None)
