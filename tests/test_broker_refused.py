"""Where no embedded broker can be: each refusal says why and what to do, and leaves no process and no second server behind."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time

import pytest
from waiting import end_servers, servers

from redischat.broker import admin, ask, lock, served, start
from redischat.broker.place import SOCKET_BYTES, Place
from redischat.errors.broker import BrokerNotStarted, Sandboxed
from redischat.settings import host

pytestmark = pytest.mark.real
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be somebody else")


@pytest.fixture
def _as_nobody():
    """Root is refused nothing, so it is somebody else for a while; any other user stays."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(NOBODY)
    yield
    os.seteuid(mine)


@pytest.fixture
def small_disk(home):
    """A state directory on a disk of its own that is full."""
    path = os.path.join(home, "small")
    os.mkdir(path)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", path], capture_output=True, check=False).returncode:
        pytest.skip("mount is not permitted here")
    with open(os.path.join(path, "filler"), "wb", buffering=0) as file:
        file.write(bytes(64 * 1024))
    yield path
    subprocess.run(["umount", path], check=True)


@pytest.fixture
def elsewhere(home):
    """A state directory whose server was killed, and whose record says that this was on another machine."""
    start.ensure(home)
    end_servers(home)
    served.write(Place(home), served.read(Place(home)) | {"host": "elsewhere", "boot_id": "another"})
    return home


def test_a_directory_below_a_file_is_refused(home):
    with open(os.path.join(home, "file"), "w", encoding="utf-8"), pytest.raises(BrokerNotStarted):
        start.ensure(os.path.join(home, "file", "state"))


@pytest.mark.usefixtures("_as_nobody")
def test_a_directory_that_may_not_be_written_is_refused():
    with pytest.raises(BrokerNotStarted) as refused:
        start.ensure("/proc/self/state")
    assert "REDISCHAT_STATE" in refused.value.facts["remedy"]


@needs_root
def test_a_strangers_directory_is_refused(home):
    os.mkdir(Place(home).directory)
    os.chown(Place(home).directory, NOBODY, NOBODY)
    with pytest.raises(BrokerNotStarted) as refused:
        start.ensure(home)
    assert f"belongs to user {NOBODY}" in refused.value.facts["why"]
    assert os.listdir(Place(home).directory) == []


@needs_root
def test_a_strangers_link_is_refused(home):
    os.mkdir(os.path.join(home, "mine"))
    os.symlink(os.path.join(home, "mine"), Place(home).directory)
    os.lchown(Place(home).directory, NOBODY, NOBODY)
    with pytest.raises(BrokerNotStarted):
        start.ensure(home)


def test_a_path_too_long_for_a_socket_is_refused(home):
    fits = os.path.join(home, "x" * (SOCKET_BYTES - 1 - len(Place(home).socket) - 1))
    assert len(Place(fits).socket) == SOCKET_BYTES - 1
    start.ensure(fits)
    assert [lock.holder(Place(fits), None)] == servers(fits)
    with pytest.raises(BrokerNotStarted) as refused:
        start.ensure(fits + "x")
    assert "REDISCHAT_STATE" in refused.value.facts["remedy"]
    assert not os.path.exists(fits + "x")


def test_a_full_disk_is_called_a_full_disk(small_disk):
    with pytest.raises(BrokerNotStarted) as refused:
        start.ensure(small_disk)
    assert "full" in refused.value.facts["why"]
    assert servers(small_disk) == []


def test_native_windows_is_refused(home, monkeypatch):
    with monkeypatch.context() as windows:
        windows.setattr(os, "name", "nt")
        with pytest.raises(BrokerNotStarted) as refused:
            start.ensure(home)
    assert "WSL" in refused.value.facts["remedy"]


def test_an_unknown_fsync_is_refused(home, monkeypatch):
    monkeypatch.setenv(start.FSYNC_BY, "sometimes")
    with pytest.raises(BrokerNotStarted):
        start.ensure(home)
    assert os.listdir(home) == []


def test_in_a_sandbox_nothing_is_started(home, monkeypatch):
    monkeypatch.setenv(ask.SANDBOX_BY, "1")
    with pytest.raises(Sandboxed):
        start.ensure(home)
    assert os.listdir(home) == []


def test_a_server_that_can_be_reached_is_found_in_a_sandbox_too(home, monkeypatch):
    url = start.ensure(home)
    monkeypatch.setenv(ask.SANDBOX_BY, "1")
    assert start.ensure(home) == url


def test_a_connect_that_is_forbidden_means_a_sandbox(home, request):
    if os.geteuid() == 0:
        os.chown(home, NOBODY, NOBODY)
    request.getfixturevalue("_as_nobody")
    os.mkdir(Place(home).directory, 0o700)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(Place(home).socket)
        os.chmod(Place(home).socket, 0)
        for ask in (start.ensure, admin.status, admin.stop):
            with pytest.raises(Sandboxed):
                ask(home)
    assert os.listdir(Place(home).directory) == ["s"]


def test_a_directory_that_another_host_has_just_served_is_refused(elsewhere):
    with pytest.raises(BrokerNotStarted) as refused:
        start.ensure(elsewhere)
    assert "REDISCHAT_URL" in refused.value.facts["remedy"]
    assert servers(elsewhere) == []


def test_a_directory_that_another_host_left_a_minute_ago_is_taken_over(elsewhere):
    for folder, _, names in os.walk(Place(elsewhere).directory):
        for name in names:
            os.utime(os.path.join(folder, name), (0, time.time() - served.FRESH_SECONDS - 1))
    start.ensure(elsewhere)
    with open(Place(elsewhere).record, encoding="utf-8") as file:
        assert json.load(file)["host"] == host()


def test_a_directory_that_another_host_has_stopped_on_purpose_is_taken_over_at_once(elsewhere):
    served.write(Place(elsewhere), served.read(Place(elsewhere)) | {"stopped_at": served.now()})
    assert start.ensure(elsewhere) == f"unix://{Place(elsewhere).socket}"


def test_a_directory_that_another_host_is_serving_is_refused(elsewhere, monkeypatch):
    monkeypatch.setattr(start, "START_SECONDS", 0.5)
    descriptor = lock.take(Place(elsewhere))  # as seen over NFS: held, by nobody here
    assert descriptor is not None
    try:
        with pytest.raises(BrokerNotStarted) as refused:
            start.ensure(elsewhere)
    finally:
        os.close(descriptor)
    assert "REDISCHAT_URL" in refused.value.facts["remedy"]


def test_another_name_on_this_very_kernel_is_a_container_and_no_other_host(elsewhere):
    if not served.boot_id():
        pytest.skip("this system does not tell its boot id")
    served.write(Place(elsewhere), served.read(Place(elsewhere)) | {"boot_id": served.boot_id()})
    assert start.ensure(elsewhere) == f"unix://{Place(elsewhere).socket}"
