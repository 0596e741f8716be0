"""A lab: one run of real clients in a home, a project and a network of its own, with a fake model that plays what the test says.

The network is a namespace that has a loopback and nothing else. What runs in it belongs to the lab, and ends with it. Unix sockets reach in and out.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from terminal import Terminal
from waiting import wait_until

HERE = Path(__file__).parent
ALONE = (("unshare", "--net"), ("unshare", "--map-root-user", "--net"))  # root; anybody, where the system allows it
JOIN = {ALONE[0]: ("nsenter", "--net"), ALONE[1]: ("nsenter", "--preserve-credentials", "--user", "--net")}
START_SECONDS = 20
GONE_SECONDS = 3
GRACE_SECONDS = 1
RUN_SECONDS = 60


def text(words):
    """A step: the model says this and ends its turn."""
    return ["text", words]


def tools(*calls):
    """A step: the model calls these tools at once, each a step made by ``tool``."""
    return ["tools", *(call[1] for call in calls)]


def tool(name, arguments=None, **more):
    """A step: the model calls this tool. A freeform tool takes a string."""
    return ["tools", [name, arguments if isinstance(arguments, str) else {**(arguments or {}), **more}]]


def hold(name, step):
    """A step that the model gives only after ``lab.release(name)``."""
    return ["hold", name, step]


def refuse(status, kind):
    """A step: the model's server answers with an error."""
    return ["refuse", status, kind]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    def lines(self):
        """Its output, one JSON value a line; what is none is left out."""
        found = []
        for line in self.out.splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found


@dataclass(frozen=True)
class Request:
    """What the model was shown once, and what it answered. ``play``: of which script; ``side``: a title, a summary."""

    at: float
    path: str
    agent: str
    body: dict
    side: bool
    play: str | None
    reply: list

    @property
    def shown(self):
        """All text of the request except the tools' descriptions, as it reads."""
        items = self.body.get("input")
        told = [item for item in items if item.get("type") != "additional_tools"] if isinstance(items, list) else items
        return "\n".join(strings({**{name: value for name, value in self.body.items() if name != "tools"}, "input": told}))

    @property
    def newest(self):
        """The text after the model's last answer."""
        turns: list[dict[str, Any]] = next((self.body[name] for name in ("messages", "input", "contents") if isinstance(self.body.get(name), list)), [])
        mine = [at for at, turn in enumerate(turns) if turn.get("role") in {"assistant", "model"} or str(turn.get("type")).endswith("_call")]
        return "\n".join(strings(turns[mine[-1] + 1 if mine else 0 :]))


def strings(value):
    """Every string in a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)


@cache
def alone():
    """The words that start a program in a network of its own. None: the system has none for us."""
    if all(map(shutil.which, ("unshare", "nsenter", "setsid", "git"))):
        for words in ALONE:
            if subprocess.run([*words, "true"], capture_output=True, check=False).returncode == 0:
                return words
    return None


def lines(path):
    """The values of a file of JSON lines; one that is being written is not there yet."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


class Lab:
    """A folder with home/ and project/ (a git checkout), the environment of what runs here, and the fake model's ``url``."""

    program = ""  # the client's

    def __init__(self, env=None):
        if alone() is None:
            pytest.skip("no network namespace to be had: unshare, nsenter, setsid and git, and root or user namespaces, are needed")
        self.answers, self.plays, self.opened, self.network = [], itertools.count(1), contextlib.ExitStack(), None
        self.folder = Path(tempfile.mkdtemp(prefix="lab", dir="/tmp"))
        self.home, self.project, self.tmp = self.folder / "home", self.folder / "project", self.folder / "tmp"
        self.opened.callback(shutil.rmtree, self.folder)
        self.env = {**self._environment(), **(env or {})}
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self):
        for place in (self.home, self.project, self.tmp, self.folder / "scripts", self.folder / "released"):
            place.mkdir()
        self._lay_answers()
        words = [*alone(), sys.executable, "-I", str(HERE / "fake_api.py"), str(self.folder)]
        with open(self.folder / "api.err", "w", encoding="utf-8") as err:
            self.api = subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=err, stderr=err)
        self.opened.callback(ended, self.api)
        self.opened.callback(self._end_strays)
        self.url = "http://127.0.0.1:" + wait_until(lambda: self._read("port"), "the fake model listens", START_SECONDS)
        self.network = os.readlink(f"/proc/{self.api.pid}/ns/net")
        assert self.network != os.readlink("/proc/self/ns/net"), "the fake model is not in a network of its own"
        self.checkout()

    def checkout(self):
        """Make the project a git checkout."""
        subprocess.run(["git", "init", "-q", "-b", "main", str(self.project)], env=self.env, check=True)

    def beside(self, name):
        """The same lab, seen from another project of its own: what is run, started and written there is in that one. It is closed with the first."""
        other = copy.copy(self)
        other.env, other.project = dict(self.env), self.folder / name
        other.project.mkdir()
        other.checkout()
        return other

    def _read(self, name):
        path = self.folder / name
        return path.read_text("utf-8") if path.exists() else ""

    def _environment(self):
        places = [str(Path(sys.executable).parent), *(str(Path(node).parent) for node in [shutil.which("node")] if node), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "HOME": str(self.home), "PATH": ":".join(places), "LANG": "C.UTF-8", "TERM": "xterm-256color", "COLORTERM": "truecolor", "SHELL": "/bin/bash", "USER": "lab",
            "TMPDIR": str(self.tmp), "XDG_RUNTIME_DIR": str(self.tmp), "REDISCHAT_STATE": str(self.folder / "state"),
        }  # fmt: skip

    def _words(self, words):
        return [*JOIN[alone()], "--target", str(self.api.pid), *map(str, words)]

    def file(self, name, content):
        """A file of the project; its path."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
        return path

    def play(self, *steps):
        """Lay down a script; the words that make the model play it, for a prompt, a subagent's prompt or a message that wakes."""
        number = next(self.plays)
        (self.folder / "scripts" / f"{number}.json").write_text(json.dumps(steps), "utf-8")
        return f"PLAY:{number}"

    def release(self, name):
        """Let the model go on past ``hold(name, ...)``."""
        (self.folder / "released" / name).touch()

    def requests(self, *, side=False):
        """All that the model was shown so far, oldest first; without side matters."""
        found = [Request(**line) for line in lines(self.folder / "api.jsonl")]
        return [one for one in found if one.side == side]

    def asked(self, condition, what, seconds=START_SECONDS):
        """Wait for the first request for which ``condition(request)`` is true."""
        try:
            return wait_until(lambda: next(filter(condition, self.requests()), None), what, seconds)
        except AssertionError as late:
            raise AssertionError(f"{late}; the model was shown, at last:\n{self.requests()[-1].newest if self.requests() else 'nothing'}") from None

    def answer(self, event, out="", *, err="", code=0, when=""):
        """What the recording hook says to an event, first laid first: ``out`` text or a value; only where ``when`` stands in what came."""
        said = out if isinstance(out, str) else json.dumps(out)
        self.answers.append({"event": event, "when": when, "out": said, "err": err, "code": code})
        self._lay_answers()

    def _lay_answers(self):
        (self.folder / "answers.new").write_text(json.dumps(self.answers), "utf-8")
        (self.folder / "answers.new").rename(self.folder / "answers.json")

    def recorder(self):
        """The words of the recording hook."""
        return [sys.executable, "-I", "-S", str(HERE / "recorder.py"), str(self.folder)]

    def hooks(self, event=None):
        """What the recording hook was given so far: {at, pid, event, given, environment, answer}."""
        return [line for line in lines(self.folder / "hooks.jsonl") if event in {None, line["event"]}]

    def hooked(self, event, count=1, seconds=START_SECONDS):
        """Wait until the recording hook saw an event so often; its newest record."""
        return wait_until(lambda: len(self.hooks(event)) >= count and self.hooks(event), f"hook {event}, {count} times", seconds)[-1]

    def run(self, *words, env=None, given=None, seconds=RUN_SECONDS):
        """Run a command in here to its end: a Done."""
        stdin = {"stdin": subprocess.DEVNULL} if given is None else {"input": given}
        options = {"cwd": self.project, "env": {**self.env, **(env or {})}, "capture_output": True, "text": True, "timeout": seconds}
        done = subprocess.run(self._words(words), check=False, **options, **stdin)
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *words, env=None, name="started"):
        """Start a command in here; its output goes to <name>.out. The lab ends it at last."""
        with open(self.folder / f"{name}.out", "w", encoding="utf-8") as out:
            words, env = self._words(words), {**self.env, **(env or {})}
            process = subprocess.Popen(words, cwd=self.project, env=env, stdin=subprocess.PIPE, stdout=out, stderr=out)
        self.opened.callback(ended, process)
        return process

    def at_terminal(self, *words, env=None):
        """Start a command at a terminal in here: a Terminal."""
        terminal = Terminal(self._words(words), cwd=self.project, env={**self.env, **(env or {})})
        self.opened.callback(terminal.close)
        return terminal

    def processes(self):
        """The pids of all that lives in this network, the fake model left out."""
        found: list[int] = []
        if self.network is None or self.api.poll() is not None:
            return found
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/{pid}/ns/net") == self.network and int(pid) != self.api.pid:
                    found.append(int(pid))
        return found

    def close(self):
        """End what was started, what that started, and the fake model; remove the folder."""
        self.opened.close()

    def _end_strays(self):
        """Ask what is left to end, then end it."""
        for number, seconds in ((signal.SIGTERM, GRACE_SECONDS), (signal.SIGKILL, GONE_SECONDS)):
            for pid in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            with contextlib.suppress(AssertionError):
                wait_until(lambda: not self.processes(), "nothing lives in the lab", seconds)
        assert not self.processes(), "something in the lab cannot be ended"


def ended(process):
    """Ask a process of ours to end, then end it."""
    if process.stdin:
        with contextlib.suppress(OSError):
            process.stdin.close()
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GONE_SECONDS)
    process.kill()
    process.wait()
