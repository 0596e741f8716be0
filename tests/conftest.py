"""One suite, four ways: each API (sync, aio) on each backend (fakeredis, a real server). And: no test touches what it did not make.

REDISCHAT_TEST_SERVER=/usr/bin/redis-server runs the real half on that binary.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import fakeredis
import pytest
from cli import serving, town_at
from folders import Chat, fake_server, real_server
from proxies import Proxy
from seats import Seats
from waiting import state_directory

from redischat.calls.call import plain

REPO = Path(__file__).parent.parent
HOME = Path.home()
KEPT = (
    REPO / ".redischat", REPO / ".claude", HOME / ".claude" / "settings.json", HOME / ".claude" / "settings.local.json", HOME / ".codex" / "config.toml",
    HOME / ".codex" / "hooks.json", HOME / ".gemini" / "settings.json", HOME / ".config" / "opencode", HOME / ".config" / "redischat",
)  # fmt: skip
STATE = HOME / ".local" / "state" / "redischat"
CLEARED = ("REDISCHAT_", "CLAUDE_", "CODEX_", "GEMINI_", "REDIS_URL")


def fingerprint():
    """The user's and the repository's own configuration, as it is now."""
    files = [path for place in KEPT for path in ([place, *place.rglob("*")] if place.is_dir() else [place]) if path.is_file()]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files} | {"state": str(STATE.exists())}


@pytest.fixture(scope="session", autouse=True)
def _leaves_the_house_as_found():
    before = fingerprint()
    yield
    assert fingerprint() == before, "a test changed the configuration of the user or of this repository"


@pytest.fixture(autouse=True)
def _nobody_in_particular(monkeypatch, tmp_path):
    """No test finds the broker, the agent or the session of whoever runs it."""
    for name in [name for name in os.environ if name.startswith(CLEARED) and name != "REDISCHAT_TEST_SERVER"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("REDISCHAT_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(scope="session")
def shared_server():
    """One private real server for the tests of this process."""
    with serving() as server:
        yield server


@pytest.fixture(params=["fake", pytest.param("real", marks=pytest.mark.real)])
def backend(request):
    """A broker with nothing in it: a FakeServer, or the url of a real one."""
    if request.param == "fake":
        return fakeredis.FakeServer()
    server = request.getfixturevalue("shared_server")
    server.ask("FLUSHALL")
    return server.url


@pytest.fixture
def real(shared_server):
    """The shared real server, empty."""
    shared_server.ask("FLUSHALL")
    return shared_server


@pytest.fixture(params=["sync", "aio"])
async def sit(request, backend):
    """Seat agents at one broker: ``amy = sit("amy")``; ``sit()`` is nobody."""
    seats = Seats(request.param, backend)
    yield seats
    await seats.close()


@pytest.fixture
def town(real):
    """An empty town on the shared real server: people who type commands."""
    with town_at(real.url, real) as place:
        yield place


@pytest.fixture(params=["sync", "aio"])
async def seated(request):
    """Seats at any url, of either API: ``seated(url)``."""
    async with contextlib.AsyncExitStack() as stack:

        def at(url):
            seats = Seats(request.param, url)
            stack.push_async_callback(seats.close)
            return seats

        yield at


@pytest.fixture(scope="module", params=[pytest.param(real_server, marks=pytest.mark.real), fake_server], ids=["real", "fake"])
def folder_server(request):
    """A server behind a socket, of either kind, for tests of folders."""
    with request.param() as url:
        yield url


@pytest.fixture
def chat(folder_server):
    """A broker with nothing in it, as tests of folders talk to it."""
    found = Chat(folder_server)
    found.wire.run(plain("FLUSHALL"))
    yield found
    found.close()


@pytest.fixture
def home():
    """A state directory for an embedded broker, which ends with it."""
    with state_directory() as path:
        yield path


@pytest.fixture
def proxy(real):
    found = Proxy(real.socket)
    yield found
    found.close()


@pytest.fixture
def impatient(monkeypatch):
    """Clients that give up soon."""
    for api in ("aio", "sync"):
        monkeypatch.setattr(f"redischat.{api}.connection.RETRY_S", 0.1)
        monkeypatch.setattr(f"redischat.{api}.connection.LOADING_S", 0.2)
