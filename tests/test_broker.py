"""The embedded broker: started once by whoever comes first, found by all others, stopped on purpose, back with its data after a kill."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import pytest
from waiting import servers, wait_until

from redischat.broker import admin, ask, binary, lock, served, start
from redischat.broker.launch import LOG_BYTES
from redischat.broker.place import Place
from redischat.errors import Refused
from redischat.errors.broker import BrokerStuck, NotAllowed

pytestmark = pytest.mark.real
IMPATIENT = 0.5  # where a wait is known to be in vain


def say(home, *words):
    with ask.Talk(Place(home).socket, 5) as talk:
        return talk.ask(*words)


def holds(path, text):
    with open(path, "rb") as file:
        return text in file.read()


def kill(home):
    (pid,) = servers(home)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not lock.held(Place(home)), "the killed server is gone")


def pause(home):
    (pid,) = servers(home)
    os.kill(pid, signal.SIGSTOP)
    return pid


def test_the_first_caller_starts_a_server_and_the_next_one_finds_it(home):
    url = start.ensure(home)
    assert url == f"unix://{home}/broker/s"
    first = servers(home)
    assert start.ensure(home) == url
    assert servers(home) == first
    assert len(first) == 1


def test_a_state_directory_with_spaces_and_umlauts_serves(home):
    odd = os.path.join(home, 'm\u00fcller\'s "dir"')
    assert start.ensure(odd) == f"unix://{odd}/broker/s"
    assert admin.status(odd)["running"]
    assert admin.stop(odd)["stopped"]


def test_the_directory_is_made_private(home):
    os.mkdir(Place(home).directory)
    os.chmod(Place(home).directory, 0o777)
    start.ensure(home)
    assert os.stat(Place(home).directory).st_mode & 0o777 == 0o700


def test_status_tells_how_the_server_is(home):
    before = admin.status(home)
    assert (before["running"], before["why"]) == (False, "never started")
    start.ensure(home)
    say(home, "HSET", "rc1:{default}:heads", "dock", "17 e1 Dock", "pier", "3 e2 pier")
    say(home, "HSET", "rc1:{other}:heads", "dock", "5 e3 dock")
    say(home, "SET", "rc1:{odd}:heads", "4 no hash")
    now = admin.status(home)
    assert (now["running"], now["why"], now["messages"], now["aof"], now["fsync"], now["loading"]) == (True, "", 25, "ok", "always", False)
    assert (now["memory_limit"], now["clients"], now["directory"], now["socket"]) == (None, 0, f"{home}/broker", f"{home}/broker/s")
    assert [now["pid"]] == servers(home)
    assert set(now) == set(before)


def test_a_stop_saves_and_the_next_start_has_the_data(home):
    start.ensure(home)
    say(home, "SET", "word", "kept")
    (pid,) = servers(home)
    assert admin.stop(home) == {"stopped": True, "pid": pid, "forced": False}
    assert (servers(home), admin.status(home)["why"]) == ([], "stopped")
    assert admin.stop(home) == {"stopped": False, "pid": None, "forced": False}
    start.ensure(home)
    assert say(home, "GET", "word") == "kept"


def test_a_stop_is_done_even_if_somebody_starts_the_next_server_at_once(home, monkeypatch):
    start.ensure(home)
    first, held = servers(home), lock.held

    def somebody_is_quicker(place):
        if not held(place):
            start.ensure(home)
        return held(place)

    monkeypatch.setattr(lock, "held", somebody_is_quicker)
    assert [admin.stop(home)["pid"]] == first
    assert first != servers(home)


def test_logs_are_the_last_lines(home):
    assert admin.logs(home) == []
    start.ensure(home)
    admin.stop(home)
    assert len(admin.logs(home, 2)) == 2
    assert "bye bye" in admin.logs(home)[-1]


def test_a_long_log_is_put_aside_at_the_next_start(home):
    start.ensure(home)
    admin.stop(home)
    os.truncate(Place(home).log, LOG_BYTES + 1)
    start.ensure(home)
    assert os.path.getsize(Place(home).log) < LOG_BYTES < os.path.getsize(Place(home).log + ".1")


def test_fsync_can_be_chosen(home, monkeypatch):
    monkeypatch.setenv(start.FSYNC_BY, "everysec")
    start.ensure(home)
    assert admin.status(home)["fsync"] == "everysec"


@pytest.mark.parametrize("server", [shutil.which("redis-server"), shutil.which("valkey-server"), binary.in_wheel()])
def test_a_killed_server_comes_back_with_its_data(home, server, monkeypatch):
    if not server:
        pytest.skip("this server is not installed")
    monkeypatch.setenv(binary.NAMED_BY, server)
    monkeypatch.setenv("LC_ALL", "xx_YY.UTF-8")
    start.ensure(home)
    say(home, "SET", "word", "kept")
    say(home, "SET", "last", "torn")
    data = os.path.join(Place(home).data, "appendonly.aof.1.incr.aof")
    wait_until(lambda: holds(data, b"torn"), "both are in the file")
    kill(home)
    assert os.path.exists(Place(home).socket), "the socket is left behind, stale"
    assert admin.status(home)["why"] == "ended"
    os.truncate(data, os.path.getsize(data) - 3)
    start.ensure(home)
    assert (say(home, "GET", "word"), say(home, "GET", "last")) == ("kept", None)


def test_a_dead_pid_in_the_record_means_nothing(home):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    start.ensure(home)
    kill(home)
    served.write(Place(home), served.read(Place(home)) | {"pid": gone.pid})
    start.ensure(home)
    assert [served.read(Place(home))["pid"]] == servers(home)


def test_a_strangers_pid_in_the_record_is_never_signalled(home, monkeypatch):
    monkeypatch.setattr(admin, "ANSWER_SECONDS", IMPATIENT)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        start.ensure(home)
        served.write(Place(home), served.read(Place(home)) | {"pid": stranger.pid})
        pause(home)
        assert admin.stop(home, force=True)["forced"]
        assert servers(home) == []
        assert stranger.poll() is None
        stranger.communicate(b"\n")
    assert stranger.returncode == 0


def test_a_stopped_server_is_reported_and_gets_no_twin(home):
    start.ensure(home)
    pid = pause(home)
    assert ask.ping(Place(home).socket) == ask.SILENT
    with pytest.raises(BrokerStuck) as stuck:
        start.ensure(home)
    assert (stuck.value.facts["pid"], stuck.value.facts["directory"]) == (pid, f"{home}/broker")
    os.kill(pid, signal.SIGCONT)
    wait_until(lambda: ask.ping(Place(home).socket) == ask.ANSWERS, "it answers again")
    assert servers(home) == [pid]


def test_a_stopped_server_is_ended_by_force_only(home, monkeypatch):
    monkeypatch.setattr(admin, "ANSWER_SECONDS", IMPATIENT)
    start.ensure(home)
    pid = pause(home)
    assert admin.status(home)["why"].startswith(f"stuck: pid {pid} on ")
    with pytest.raises(BrokerStuck):
        admin.stop(home)
    assert servers(home) == [pid]
    assert admin.stop(home, force=True) == {"stopped": True, "pid": pid, "forced": True}
    assert servers(home) == []
    assert "bye bye" in admin.logs(home)[-1], "it could save before it ended"


def test_a_stopped_server_without_the_lock_gets_no_twin(home, monkeypatch):
    monkeypatch.setattr(start, "STUCK_SECONDS", IMPATIENT)
    start.ensure(home)
    pid = pause(home)
    os.unlink(Place(home).lock)
    with pytest.raises(BrokerStuck):
        start.ensure(home)
    assert servers(home) == [pid]


def test_a_server_whose_socket_was_deleted_gets_no_twin(home, monkeypatch):
    monkeypatch.setattr(start, "START_SECONDS", IMPATIENT)
    monkeypatch.setattr(admin, "ANSWER_SECONDS", IMPATIENT)
    start.ensure(home)
    os.unlink(Place(home).socket)
    with pytest.raises(BrokerStuck) as stuck:
        start.ensure(home)
    assert [stuck.value.facts["pid"]] == servers(home)
    assert admin.stop(home, force=True)["forced"]


def test_the_fork_of_a_killed_server_has_the_lock_until_it_ends(home, monkeypatch):
    monkeypatch.setattr(start, "START_SECONDS", IMPATIENT)
    monkeypatch.setattr(admin, "ANSWER_SECONDS", IMPATIENT)
    start.ensure(home)
    for number in range(20):
        say(home, "SET", f"word{number}", "kept")
    say(home, "CONFIG", "SET", "rdb-key-save-delay", "10000000")
    (server,) = servers(home)
    say(home, "BGREWRITEAOF")
    wait_until(lambda: len(servers(home)) == 2, "the fork that rewrites the log")
    assert lock.holder(Place(home), None) == server
    os.kill(server, signal.SIGKILL)
    wait_until(lambda: len(servers(home)) == 1, "the killed server is gone")
    with pytest.raises(BrokerStuck) as stuck:
        start.ensure(home)
    assert [stuck.value.facts["pid"]] == servers(home)
    admin.stop(home, force=True)
    monkeypatch.undo()
    start.ensure(home)
    assert say(home, "GET", "word19") == "kept"


def test_force_signals_nobody_when_the_holder_cannot_be_proved(home, monkeypatch):
    monkeypatch.setattr(admin, "ANSWER_SECONDS", IMPATIENT)
    start.ensure(home)
    admin.stop(home)
    descriptor = lock.take(Place(home))  # held by this very process, which is no server
    assert descriptor is not None
    try:
        with pytest.raises(Refused):
            admin.stop(home, force=True)
    finally:
        os.close(descriptor)


def test_who_only_has_the_lock_file_open_is_not_its_holder(home):
    start.ensure(home)
    admin.stop(home)
    with (
        open(Place(home).lock, "ab") as file,
        subprocess.Popen(["/bin/sh", "-c", "read word", Place(home).socket], stdin=subprocess.PIPE, stdout=file) as waiter,
    ):
        try:
            start.ensure(home)
            assert lock.holder(Place(home), waiter.pid) == admin.status(home)["pid"]
        finally:
            waiter.communicate(b"\n")


def test_without_proc_the_pid_in_the_record_must_run_with_our_socket(home, monkeypatch):
    start.ensure(home)
    monkeypatch.setattr(lock, "PROC", "/no/such/place")
    (pid,) = servers(home)
    assert [lock.holder(Place(home), recorded) for recorded in (pid, os.getpid(), None)] == [pid, None, None]


def test_a_server_with_a_password_counts_as_running_and_is_stopped_by_force_only(home):
    url = start.ensure(home)
    say(home, "CONFIG", "SET", "requirepass", "s3cret")
    assert start.ensure(home) == url
    now = admin.status(home)
    assert (now["running"], now["messages"], now["why"].split()[0]) == (True, None, "NOAUTH")
    with pytest.raises(NotAllowed):
        admin.stop(home)
    assert admin.stop(home, force=True)["forced"]
