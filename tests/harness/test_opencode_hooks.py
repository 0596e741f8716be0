"""OpenCode with our plugin: it is told who it is, hears what is said, may not write what another holds, and is woken when idle."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli import scratch, serving
from products import opencode_lab, text
from waiting import wait_until

from redischat.calls import sessions
from redischat.keys import Keys
from redischat.wire import Wire

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]
ROOT = Path(__file__).parent.parent.parent


class Chat:
    """The command, in a lab's project and beside it."""

    def __init__(self, lab, url, state):
        self.lab, self.url = lab, url
        lab.env.update(REDISCHAT_URL=url, REDISCHAT_STATE=state, PYTHONPATH=str(ROOT))

    def __call__(self, *words, cwd=None, given=None):
        done = subprocess.run(
            [sys.executable, "-m", "redischat", *words], cwd=cwd or self.lab.project, env=self.lab.env, capture_output=True, text=True, input=given, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def session(self):
        wire = Wire(self.url)
        try:
            return next(iter(wire.run(sessions.every(Keys("default"))).values()), {})
        finally:
            wire.close()


def test_an_opencode_session_is_told_is_kept_from_a_locked_file_and_is_woken():
    with serving() as server, scratch() as state, opencode_lab() as lab:
        chat = Chat(lab, server.url, state)
        other = lab.folder / "other"
        other.mkdir()
        chat("identify", "lynx", cwd=other)
        chat("setup", "dock", "--as", "heron", "--harness", "opencode", "--anyway")
        chat("join", "dock", "--as", "lynx", cwd=other)
        lab.file("locked.txt", "alpha\n")
        lab.file("free.txt", "alpha\n")
        chat(
            "lock",
            "dock",
            "locked.txt",
            "--as",
            "lynx",
            "--repo",
            chat("check", "dock", "free.txt", "--json").partition('"repository": "')[2].partition('"')[0],
            cwd=other,
        )
        chat("say", "dock", "rebase before you push", "--to", "heron", "--as", "lynx", cwd=other)
        client = lab.serve()
        client.turn(lab.edit("locked.txt", "alpha", "beta"), lab.edit("free.txt", "alpha", "beta"), text("done"))
        shown = "\n".join(one.shown for one in lab.requests())
        assert "you are heron" in shown
        assert "rebase before you push" in shown
        assert "locked.txt is locked by lynx" in shown
        assert (lab.project / "locked.txt").read_text() == "alpha\n"
        assert (lab.project / "free.txt").read_text() == "beta\n"
        wait_until(lambda: chat.session().get("state") == "idle", "the turn is over")
        chat("say", "dock", "are you awake", "--to", "heron", "--as", "lynx", cwd=other)
        lab.asked(lambda request: "are you awake" in request.shown, "the idle session was woken and told")
        wait_until(lambda: chat.session().get("proof") == "proved", "the wake was seen to land")
        assert os.path.exists(os.path.join(state, "fired"))
        chat("waker", "stop")
