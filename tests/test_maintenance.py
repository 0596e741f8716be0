"""maintenance: what sessions that are long over have left goes, what is alive stays, and each number that it tells was seen."""

from __future__ import annotations

import os
import time
from contextlib import closing
from pathlib import Path

import pytest
from newcomers import Newcomer, newcomers
from test_waker import awake, hurry
from test_who import seat
from waiting import wait_until

from redischat.broker import rewrite
from redischat.calls.call import plain
from redischat.flows import maintenance
from redischat.hook import tidy, wake
from redischat.keys import Keys
from redischat.settings import host, write_pairs
from redischat.wire import Wire

pytestmark = pytest.mark.real
KEYS = Keys("default")
DAY = 86_400


@pytest.fixture
def wire(real):
    with closing(Wire(real.url)) as one:
        yield one


def put(wire, session, agent, state="idle", **facts):
    for name, text in seat(session, agent, state, **facts).items():
        wire.run(plain("HSET", KEYS.presence, name, text))


def names(wire, key=KEYS.presence):
    return sorted(wire.run(plain("HKEYS", key)))


# At the broker.


def test_sessions_that_are_long_over_are_forgotten_and_counted(wire):
    put(wire, "ended", "amy", "ended", active=2 * DAY, beat=2 * DAY)
    put(wire, "silent", "bob", "idle", active=8 * DAY, beat=8 * DAY)
    put(wire, "here", "carl", "idle", active=8 * DAY, beat=5)
    found = wire.drive(maintenance.prune(KEYS, act=True))
    assert (found["sessions"], names(wire)) == (2, ["here"])
    assert found["bytes"] > 100
    assert wire.drive(maintenance.prune(KEYS, act=True)) == {"sessions": 0, "ids": 0, "bytes": 0}


def test_what_gave_a_sign_is_kept(wire):
    put(wire, "just-ended", "amy", "ended", active=60, beat=60)
    put(wire, "beaten", "bob", "idle", active=30 * DAY, beat=5)
    put(wire, "quiet", "carl", "working", active=2 * DAY, beat=2 * DAY)
    wire.drive(maintenance.prune(KEYS, act=True))
    assert names(wire) == ["beaten", "just-ended", "quiet"]


def test_to_tell_is_not_to_do(wire):
    put(wire, "ended", "amy", "ended", active=2 * DAY, beat=2 * DAY)
    assert wire.drive(maintenance.prune(KEYS, act=False))["sessions"] == 1
    assert names(wire) == ["ended"]


def test_an_earlier_id_is_forgotten_when_its_agent_went_on_long_ago_or_is_nobody(wire):
    now = int(time.time() * 1000)
    for agent, held, since in (("amy", "s-new", now - 31 * DAY * 1000), ("bob", "s-late", now), ("carl", "-", 0)):
        token = "-" if held == "-" else "t" * 32
        wire.run(plain("HSET", KEYS.agents, agent, f"{agent} {token} {held} vm {since} {now} live /p"))
    for session, agent in (("s-new", "amy"), ("s-old", "amy"), ("s-late", "bob"), ("s-before", "bob"), ("s-carl", "carl"), ("s-none", "nobody")):
        wire.run(plain("HSET", KEYS.sessions, session, agent))
    found = wire.drive(maintenance.prune(KEYS, act=True))
    assert names(wire, KEYS.sessions) == ["s-before", "s-late", "s-new"]
    assert found["ids"] == 3


def test_any_number_of_them_is_looked_at_page_by_page(wire):
    count = 3 * maintenance.AT_ONCE + 7
    texts = seat("x", "amy", "ended", active=2 * DAY, beat=2 * DAY)["x"]
    wire.run(plain("HSET", KEYS.presence, *(word for n in range(count) for word in (f"s-{n}", texts))))
    assert wire.drive(maintenance.prune(KEYS, act=True))["sessions"] == count
    assert names(wire) == []


# On this machine.


def old(path, days, text="x"):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


def card(state, name, days, **facts):
    path = Path(state, "sessions", name)
    write_pairs(str(path), {"agent": "amy", "session": name, "on": host(), **facts})
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


def left(state):
    return sorted(os.path.relpath(one.path, state) for one in tidy.leftovers(str(state)))


def test_only_what_is_over_is_left_over(tmp_path):
    state = tmp_path
    card(state, "ended", 8, ended="other")
    card(state, "ended-yesterday", 1, ended="other")
    card(state, "alive", 400, pid=str(os.getpid()))
    card(state, "elsewhere", 400, ended="other", on="another")
    old(state / "sessions/alive.said", 400)
    old(state / "sessions/lost.said", 8)
    old(state / "bells/alive", 400)
    old(state / "bells/lost", 31)
    old(state / "bells/young", 29)
    old(state / "fired/0123.claude.Stop", 31)
    old(state / "fired/0123.claude.PreToolUse", 1)
    old(state / "sessions/x.4711.tmp", 2)
    old(state / "bindings/0123/lock.tmp", 400)
    old(state / "waker/gone/log", 31)
    old(state / "waker/gone/lock", 31)
    old(state / f"waker/{host()}/log", 31)
    assert left(state) == [
        "bells/lost", "fired/0123.claude.Stop", "sessions/ended", "sessions/lost.said", "sessions/x.4711.tmp", "waker/gone/lock", "waker/gone/log",
    ]  # fmt: skip


def test_an_address_with_its_password_goes_with_the_last_session_that_names_it(tmp_path):
    card(tmp_path, "over", 40, ended="gone", door="cafebabe")
    card(tmp_path, "here", 40, door="f00dbabe", pid=str(os.getpid()))
    for name in ("doors/cafebabe", "doors/f00dbabe", "doors/orphan", "waiters/over/rung-1", "waiters/here/rung-1"):
        old(tmp_path / name, 40)
    tidy.cleared(tidy.leftovers(str(tmp_path)))
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*")) if path.is_file()] == [
        "doors/f00dbabe",
        "sessions/here",
        "waiters/here/rung-1",
    ]


def test_a_file_that_is_written_meanwhile_stays(tmp_path):
    path = old(tmp_path / "bells/lost", 31)
    (one,) = tidy.leftovers(str(tmp_path))
    path.write_text("rung")
    assert tidy.cleared([one]) == {}
    assert path.exists()


def test_sizes_are_of_what_is_really_gone(tmp_path):
    old(tmp_path / "bells/a", 31, "x" * 1000)
    old(tmp_path / "bells/b", 31, "x" * 24)
    found = tidy.leftovers(str(tmp_path))
    Path(found[1].path).unlink()
    assert list(tidy.cleared(found).values()) == [(1, 1000)]


def test_a_waker_of_another_host_that_runs_is_let_be(tmp_path):
    from fcntl import LOCK_EX, flock

    lock = old(tmp_path / "waker/other/lock", 31)
    with lock.open("r+") as held:
        flock(held, LOCK_EX)
        assert left(tmp_path) == []
    assert left(tmp_path) == ["waker/other/lock"]


# The command.


@pytest.fixture
def town(real):
    with newcomers(real) as place:
        yield place


@pytest.fixture
def amy(town):
    return Newcomer(town, "amy", "11111111-2222-3333-4444-555566667777")


def test_nothing_to_do_is_no_success(amy):
    assert amy("maintenance").out == "nothing to do\n"


def test_it_says_what_it_would_do_then_does_it_and_then_there_is_nothing(town, amy, wire):
    put(wire, "ended", "bob", "ended", active=2 * DAY, beat=2 * DAY)
    bell = old(Path(town.state, "bells/lost"), 31, "x" * 2048)
    told = amy("maintenance", "--dry-run").out
    assert "would remove bells that no session hears: 1 (2.0 KB)" in told
    assert "would remove at the broker sessions that are long over: 1 (" in told
    assert (bell.exists(), names(wire)) == (True, ["ended"])
    assert amy("maintenance").out == told.replace("would remove", "removed")
    assert (bell.exists(), names(wire)) == (False, [])
    assert amy("maintenance").out == "nothing to do\n"


def test_a_proof_goes_only_when_it_proves_nothing_any_more(town, amy):
    amy("identify", "amy")
    (proof,) = [path for path in Path(town.state, "bindings").rglob("*") if path.is_file() and path.suffix != ".tmp"]
    stale = proof.with_name("0-0-0")
    write_pairs(str(stale), {"agent": "amy", "token": "0" * 32, "session": "x", "project": "/p"})
    for path in (proof, stale):
        os.utime(path, (time.time() - 31 * DAY,) * 2)
    assert "removed proofs of names that passed on: 1" in amy("maintenance").out
    assert (proof.exists(), stale.exists()) == (True, False)


def test_a_broker_that_is_away_is_a_reason_and_the_rest_is_done(town):
    lone = Newcomer(town, "nest", REDISCHAT_URL="")
    bell = old(Path(town.state, "bells/lost"), 31)
    done = lone("maintenance", code=5)
    assert "the broker could not be asked, its part is left: " in done.out
    assert not bell.exists()
    assert not Path(town.state, "broker", "s").exists(), "it starts none"


def test_the_embedded_brokers_file_is_written_anew_when_that_pays(town, monkeypatch):
    lone = Newcomer(town, "nest", REDISCHAT_URL="")
    lone("open", "dock", "--as", "heron", "--max-messages", "0")
    try:
        assert "it would free little" in lone("maintenance").out
        for _ in range(20):
            lone("say", "dock", "--file", "-", "--to-none", "--as", "heron", stdin="x" * 250_000)
        lone("retain", "dock", "1", "--yes", "--as", "heron")
        said = lone("maintenance").out
        assert "the broker's file was written anew: " in said
        assert "MB freed" in said
        monkeypatch.setattr(rewrite, "PAYS_FROM", 0)
        assert rewrite.rewrite(town.state, dry=True)["before"] < 1 << 20, "it is as small as it says"
    finally:
        lone("server", "stop", code=None)


def test_the_waker_does_it_once_a_day(town, wire, monkeypatch):
    hurry(monkeypatch)
    amy = Newcomer(town, "amy", "11111111-2222-3333-4444-555566667777")
    amy("setup", "dock", "--as", "amy", "--harness", "none")
    put(wire, "ended", "bob", "ended", active=2 * DAY, beat=2 * DAY)
    Path(town.state, tidy.STAMP).unlink(missing_ok=True)
    amy("install", "--harness", "claude")
    with awake(town.state):
        amy.hook("SessionStart", source="startup")
        wait_until(lambda: Path(town.state, tidy.STAMP).exists(), "it was done")
        bell = old(Path(town.state, "bells/lost"), 31)
        wait_until(lambda: int(wake.status(town.state).get("sessions") or 0) == 1, "the session is known")
        assert bell.exists(), "not twice a day"
        os.utime(Path(town.state, tidy.STAMP), (time.time() - 2 * DAY,) * 2)
        wait_until(lambda: not bell.exists(), "the next day the bell is removed")
        wait_until(lambda: "ended" not in names(wire), "and the session at the broker")


def test_after_teardown_nobody_of_this_project_is_there(amy, town):
    bob = Newcomer(town, "bob", "99999999-8888-7777-6666-555544443333")
    bob("setup", "dock", "--as", "bob")
    amy("setup", "dock", "--as", "amy")
    amy.hook("SessionStart", source="startup")
    assert "amy" in bob("who").out
    amy("teardown")
    assert [one["agent"] for one in bob("who", "--json").records] == ["bob"]
    said = bob("say", "dock", "x", code=None).out
    assert "amy" not in said
