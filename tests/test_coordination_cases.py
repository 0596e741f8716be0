"""Cases that went wrong elsewhere, each by its number: leases, locks and paths as people with real checkouts, sessions and clocks meet them at a shell."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import redis
from cli import COMMAND, Server, scratch, town_at
from waiting import wait_until

from redischat import Client
from redischat.errors.broker import Unreachable
from redischat.errors.leases import LeaseOwnerMismatch
from redischat.errors.paths import PathLockConflict, PathLockOwnerMismatch
from redischat.keys import Keys

DAY, HALF_HOUR_S, TTL_S, SKEW_S = 86_400, 1_800, 1.0, 300
SESSIONS = ("0190aaaa-0000-7000-8000-000000000001", "0190aaaa-0000-7000-8000-000000000002")
URL = "git@example.org:team/quay.git"
PAYLOAD = '{"files":[],"m":{},"n":9007199254740993,"f":1.0,"d":{"k":[[]]}}'
KEYS = Keys("default")
HERE: dict[str, Any] = {"repo": "example.org/team/quay"}
PORTABLE_GIT = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": "/dev/null"}


def git(folder, *words):
    subprocess.run(["git", *words], cwd=folder, env={**os.environ, **PORTABLE_GIT}, check=True, capture_output=True)


@pytest.fixture
def yard(town):
    """heron and crane in the main checkout, lynx and mole in two worktrees of it; src/a.py is there, lib -> src, #dock is open."""
    main = Path(town.person("quay").directory)
    (main / "src").mkdir()
    (main / "src" / "a.py").touch()
    (main / "lib").symlink_to("src")
    git(main, "init", "-q", "-b", "main")
    git(main, "add", ".")
    git(main, "commit", "-q", "-m", "first")
    git(main, "remote", "add", "origin", URL)
    for name in ("two", "three"):
        git(main, "worktree", "add", "-q", f"../{name}", "-b", name)
    heron = town.agent("heron", "quay")
    heron("open", "dock")
    return {"heron": heron, "crane": town.person("quay", REDISCHAT_AGENT="crane"), "lynx": town.agent("lynx", "two"), "mole": town.agent("mole", "three")}


def refused(done):
    """(code, holder, path) of a refusal in JSON."""
    found = json.loads(done.err.strip().split("\n")[-1])
    return found["error"], found["holder"], found["path"]


# PATH: one file, many spellings.


@pytest.mark.parametrize("there", [True, False], ids=["a file that is there", "a file that is not there yet"])
def test_path_01_every_spelling_of_a_locked_file_conflicts_and_names_its_holder(yard, there):
    heron, crane = yard["heron"], yard["crane"]
    main, file = crane.directory, "src/a.py" if there else "src/new.py"
    heron("lock", "dock", file)
    name = os.path.basename(file)
    for spelling in (
        file, f"./{file}", f"src//{name}", f"src/../{file}", f"{main}/{file}", f"{file}/", f"lib/{name}", f"{main}/lib/{name}", f"lib/../{file}", "src", "lib", ".",
    ):  # fmt: skip
        assert refused(crane("lock", "dock", spelling, "--json", code=3)) == ("PATH_LOCK_CONFLICT", "heron", file), spelling
        assert [one["path"] for one in crane("check", "dock", spelling, "--json", code=3).record["held"]] == [file], spelling
    assert crane("check", "dock", f"src/{name}x", "--json").record["free"]


def test_path_03_worktrees_of_one_repository_meet_in_locks_and_in_talk(yard):
    heron, lynx, mole = yard["heron"], yard["lynx"], yard["mole"]
    got = heron("lock", "dock", "src/a.py", "--json").record
    assert (got["repository"], got["how"]) == ("example.org/team/quay", "origin URL")
    for person, spelling in ((lynx, "src/a.py"), (mole, "lib/a.py"), (mole, f"{heron.directory}/src/a.py"), (lynx, f"{mole.directory}/src/a.py")):
        assert refused(person("lock", "dock", spelling, "--json", code=3)) == ("PATH_LOCK_CONFLICT", "heron", "src/a.py"), spelling
        assert "in example.org/team/quay (origin URL)" in person("check", "dock", spelling, code=3).out
    assert [one["owner"] for one in mole("locks", "--json").records] == ["heron"]
    lynx("join", "dock")
    heron("say", "dock", "mine for a while")
    assert [one["body"] for one in lynx("read", "dock", "--json").records if one["kind"] == "message"] == ["mine for a while"]
    heron("unlock", "dock", "src/a.py")
    lynx("lock", "dock", "src/a.py")
    assert refused(heron("lock", "dock", "src", "--json", code=3)) == ("PATH_LOCK_CONFLICT", "lynx", "src/a.py")


def test_path_04_square_brackets_are_letters_until_a_pattern_is_asked_for(yard):
    heron, lynx = yard["heron"], yard["lynx"]
    odd = ("app/[id]/page.tsx", "app/[[...sign-in]]/page.tsx")
    heron("lock", "dock", *odd)
    for path in odd:
        assert refused(lynx("lock", "dock", path, "--json", code=3)) == ("PATH_LOCK_CONFLICT", "heron", path)
    assert lynx("check", "dock", "app/i/page.tsx").lines[0] == "free"
    heron("lock", "dock", "app/**", "--glob")
    assert refused(lynx("lock", "dock", "app/i/page.tsx", "--json", code=3)) == ("PATH_LOCK_CONFLICT", "heron", "app")


def test_path_09_a_path_typed_in_a_folder_below_is_the_same_for_every_verb(yard):
    heron, lynx = yard["heron"], yard["lynx"]
    below = os.path.join(lynx.directory, "packages", "ui")
    os.makedirs(below)
    heron("lock", "dock", "packages/ui/src/a.ts")
    assert refused(lynx("lock", "dock", "src/a.ts", "--json", code=3, cwd=below)) == ("PATH_LOCK_CONFLICT", "heron", "packages/ui/src/a.ts")
    assert lynx("check", "dock", "src/a.ts", "--json", code=3, cwd=below).record["held"][0]["holder"] == "heron"
    for words in (("unlock", "dock", "src/a.ts"), ("renew", "dock", "src/a.ts")):
        assert lynx(*words, code=1, cwd=below).error == "PATH_LOCK_OWNER_MISMATCH"
    assert lynx("recover", "dock", "src/a.ts", "--reason", "x", code=1, cwd=below).error == "PATH_LOCK_NOT_STALE"
    assert lynx("check", "dock", "src/a.ts", cwd=lynx.directory).lines[0] == "free"


# GUARD: the life of a lock.


def test_guard_03_a_lock_is_held_for_its_whole_time_whatever_its_holder_goes_through(town):
    heron, lynx = town.agent("heron", "p", CLAUDE_CODE_SESSION_ID=SESSIONS[0]), town.agent("lynx", "p2")
    heron("open", "dock")
    heron("join", "dock")
    repo = ("--repo", HERE["repo"])
    first = heron("lock", "dock", "src/a.py", "--ttl", str(HALF_HOUR_S), "--json", *repo).record
    resumed = town.person("p", CLAUDE_CODE_SESSION_ID=SESSIONS[1])
    below = os.path.join(heron.directory, "below")
    os.makedirs(below)

    def resume():
        town.server.last_seen("heron", 2 * DAY)
        assert resumed("identify", "heron", "--json").record["how"] == "succeeded"

    for happens in (
        lambda: heron("identify", "heron"), lambda: lynx("recover-pending", "dock"), resume, lambda: resumed("sync"), lambda: resumed("check", "dock", "src/a.py", *repo, cwd=below),
        lambda: resumed("unlock", "dock", "other", *repo, code=1), lambda: resumed("leave", "dock"), lambda: lynx("recover-pending", "dock"),
    ):  # fmt: skip
        happens()
        (row,) = lynx("locks", "--json", *repo).records
        assert (row["owner"], row["token"], row["expires_at"], row["lapsed"]) == ("heron", first["token"], first["expires_at"], False)
        assert lynx("check", "dock", "src/a.py", "--json", *repo, code=3).record["held"][0]["holder"] == "heron"
    assert resumed("renew", "dock", "--all", "--ttl", "60", "--json").record["expires_at"] == first["expires_at"], "never shortened"
    resumed("unlock", "dock", "--all")
    for none in (("--all",), ("src/a.py", *repo)):
        assert resumed("renew", "dock", *none, code=1).error == "PATH_LOCK_NOT_FOUND", "to renew nothing is no success"


@pytest.mark.real
def test_guard_05_a_holder_that_renews_in_time_is_never_robbed_and_others_see_its_end_move(real):
    heron, lynx = Client(real.url, agent="heron"), Client(real.url, agent="lynx")
    heron.open("dock")
    heron.lock("dock", "src/a.py", ttl=TTL_S, **HERE)
    ends, began = [], time.monotonic()
    renew_at = began + TTL_S / 3
    while time.monotonic() < began + 5 * TTL_S:
        if time.monotonic() >= renew_at:
            assert heron.renew("dock", "src/a.py", ttl=TTL_S, **HERE).late_seconds is None
            renew_at += TTL_S / 3
        with pytest.raises(PathLockConflict) as no:
            lynx.lock("dock", "src/a.py", steal_expired=True, **HERE)
        assert no.value.facts["holder"] == "heron"
        assert no.value.facts["expires_at"] in str(no.value)
        ends.append(no.value.facts["expires_at"])
    assert ends == sorted(ends)
    assert len(set(ends)) >= 12, "it moves with every renewal"
    for one in (heron, lynx):
        one.disconnect()


def writes(server, asked):
    """The commands, of scripts too, that write while ``asked()`` runs."""
    with redis.Redis(unix_socket_path=server.socket, decode_responses=True) as store, store.monitor() as monitor:
        asked()
        server.ask("ECHO", "the end")
        names = set()
        for line in monitor.listen():
            if line["command"] == "ECHO the end":
                break
            names.add(line["command"].split(" ")[0].upper())
    assert names & {"EVAL", "EVALSHA"}
    return {name for name in names if "write" in server.ask("COMMAND", "INFO", name)[0][2]}


def test_guard_07_my_own_lock_is_free_to_me_in_any_spelling_and_session_and_a_check_writes_nothing(town):
    heron = town.agent("heron", "p", CLAUDE_CODE_SESSION_ID=SESSIONS[0])
    heron("open", "dock")
    words = ("check", "dock", "src/a.py", "--repo", HERE["repo"], "--json")
    heron("lock", *words[1:-1])
    town.server.last_seen("heron", 2 * DAY)
    resumed = town.person("p", CLAUDE_CODE_SESSION_ID=SESSIONS[1])
    resumed("identify", "HERON")
    seen = []
    for more in ((), ("--as", "Heron"), ("--as", "HERON")):
        assert writes(town.server, lambda more=more: seen.append(resumed(*words, *more).record)) == set()
    assert [(one["free"], one["held"][0]["mine"], one["held"][0]["holder"]) for one in seen] == [(True, True, "heron")] * 3
    assert writes(town.server, lambda: town.person("p2")(*words, code=3)) == set()


def test_guard_08_whoever_wakes_up_after_its_lock_was_lost_is_refused_and_told_to_whom(town):
    heron, lynx = town.pair()
    repo = f"--repo {HERE['repo']}"
    script = f"""
        $RC lock dock src/a.py --ttl 0.5 --json {repo} >locked || exit 9
        token=$(sed 's/.*"token": *\\([0-9]*\\).*/\\1/' locked)
        kill -STOP $$
        $RC check dock src/a.py --token $token --json {repo} 2>checked; echo $?
        $RC renew dock src/a.py --token $token --json {repo} 2>renewed; echo $?
    """
    env = {**town.env, "RC": " ".join(COMMAND)}
    holder = subprocess.Popen(["/bin/sh", "-c", script], cwd=heron.directory, env=env, stdout=subprocess.PIPE, text=True)
    town.started.append(holder)
    wait_until(lambda: os.waitpid(holder.pid, os.WUNTRACED | os.WNOHANG)[0] == holder.pid, "the holder is stopped", 30)
    old = json.loads(Path(heron.directory, "locked").read_text("utf-8"))["token"]
    wait_until(lambda: lynx("check", "dock", "src/a.py", "--json", *repo.split(), code=3).record["held"][0]["lapsed"], "its lease runs out")
    new = lynx("lock", "dock", "src/a.py", "--steal-expired", "--json", *repo.split()).record
    assert (new["token"] > old, new["recovered"][0]["previous_owner"]) == (True, "heron")
    holder.send_signal(signal.SIGCONT)
    assert holder.communicate(timeout=40)[0].split() == ["3", "1"]
    checked, renewed = (json.loads(Path(heron.directory, name).read_text("utf-8")) for name in ("checked", "renewed"))
    assert (checked["error"], checked["holder"], checked["token"], checked["current"]) == ("PATH_LOCK_STALE_TOKEN", "lynx", old, new["token"])
    assert (renewed["error"], renewed["holder"], renewed["expires_at"]) == ("PATH_LOCK_OWNER_MISMATCH", "lynx", new["expires_at"])


@pytest.mark.real
def test_guard_08_tokens_rise_over_unlock_expiry_and_a_restart_with_its_data():
    kept = ("--appendonly", "yes", "--appendfsync", "always")
    with scratch() as home:
        server = Server(home, *kept)
        try:
            with town_at(server.url, server) as town:
                heron, lynx = town.pair()
                words = ("lock", "dock", "src/a.py", "--repo", HERE["repo"], "--json")
                tokens = [heron(*words).record["token"]]
                heron("unlock", "dock", "--all")
                tokens.append(heron(*words, "--ttl", "0.001").record["token"])
                tokens.append(lynx(*words, "--steal-expired").record["token"])
                server.stop()
                server = Server(home, *kept)
                lynx("check", "dock", "src/a.py", "--repo", HERE["repo"], "--token", str(tokens[-1]))
                lynx("unlock", "dock", "--all")
                tokens.append(heron(*words).record["token"])
                tokens.append(lynx("claim", "dock", "x", "--json").record["token"])
                assert tokens == sorted(set(tokens))
        finally:
            server.stop()


def test_a_lock_of_which_one_path_was_renewed_passes_on_to_nobody_but_path_by_path(town):
    heron, lynx = town.pair()
    repo = ("--repo", HERE["repo"])
    id_ = heron("lock", "dock", "a", "b", "--shared", "--ttl", "0.001", "--json", *repo).record["lock_id"]
    heron("renew", "dock", "a", "--ttl", "60", *repo)
    for target in ((id_,), ("b", *repo)):
        refusal = json.loads(lynx("recover", "dock", *target, "--reason", "x", "--json", code=1).err)
        assert (refusal["error"], refusal["holder"]) == ("PATH_LOCK_NOT_STALE", "heron")
    assert lynx("lock", "dock", "b", "--steal-expired", "--json", *repo).record["recovered"][0]["previous_owner"] == "heron"
    assert [(one["owner"], one["paths"]) for one in lynx("locks", "--json", *repo).records] == [("heron", ["a"]), ("lynx", ["b"])]


def all_run_out(sit):
    """Let every lock have run out."""
    for path, text in sit.store.hgetall(KEYS.held).items():
        rows = [row.split(" ") for row in text.split("\n")]
        sit.store.hset(KEYS.held, path, "\n".join(" ".join([*row[:2], "1000", *row[3:]]) for row in rows))


async def test_an_exclusive_lock_that_ran_out_is_no_right_once_others_read_there(sit):
    amy, bob = await sit.pair()
    dan = sit("dan")
    await dan.lock("dock", "a/b", "p", shared=True, **HERE)
    await dan.lock("dock", "p", **HERE)
    await bob.lock("dock", "a", shared=True, **HERE)
    all_run_out(sit)
    await amy.recover("dock", "p", "dan is gone", **HERE)  # the lock passes on whole, to write
    all_run_out(sit)
    await bob.renew("dock", "a", **HERE)
    with pytest.raises(PathLockConflict):
        await amy.renew("dock", "a/b", **HERE)
    assert (await amy.lock("dock", "a/b", shared=True, **HERE)).mode == "shared"
    with pytest.raises(PathLockConflict):
        await amy.lock("dock", "a/b", **HERE)


# LEASE-05, TIME-01, DATA-06.


@pytest.mark.real
@pytest.mark.usefixtures("impatient")
def test_lease_05_a_broker_that_was_away_for_less_than_a_lease_costs_nothing_and_for_longer_it_is_said():
    """Leases of half a second lapse while it is away; those of a minute do not notice."""
    kept = ("--appendonly", "yes", "--appendfsync", "always")
    with scratch() as home:
        server = Server(home, *kept)
        heron, lynx = Client(server.url, agent="heron"), Client(server.url, agent="lynx")
        try:
            heron.open("dock")
            for name, ttl in (("long", 60), ("short", 0.5), ("lost", 0.5)):
                heron.task_create("dock", "x", task=name)
                heron.task_claim("dock", name, ttl=ttl)
                heron.lock("dock", name, ttl=ttl, **HERE)
            ends = time.monotonic() + 0.5
            server.stop()
            for verb in (lambda: heron.task_renew("dock", "long"), lambda: heron.renew("dock", "long", **HERE)):
                with pytest.raises(Unreachable):
                    verb()
            wait_until(lambda: time.monotonic() > ends, "the short ones run out")
            server = Server(home, *kept)
            assert heron.task_renew("dock", "long").late_ms is heron.renew("dock", "long", **HERE).late_seconds is None, "kept"
            assert [one.id for one in lynx.task_list("dock", stale=True)] == ["short", "lost"]
            lynx.task_recover("dock", "lost", "heron is silent")
            lynx.lock("dock", "lost", steal_expired=True, **HERE)
            assert heron.task_renew("dock", "short").late_ms
            assert heron.renew("dock", "short", **HERE).late_seconds
            with pytest.raises(LeaseOwnerMismatch):
                heron.task_renew("dock", "lost")
            with pytest.raises(PathLockOwnerMismatch):
                heron.renew("dock", "lost", **HERE)
            assert [one.owner for one in lynx.locks(**HERE).locks] == ["heron", "lynx", "heron"]
        finally:
            for one in (heron, lynx):
                one.disconnect()
            server.stop()


def clock(town, name, wrong_s):
    """Somebody whose machine's clock is wrong by so much."""
    place = os.path.join(town.root, f"clock-{name}")
    os.makedirs(place)
    text = (
        f"import time\nnow, now_ns = time.time, time.time_ns\ntime.time, time.time_ns = (lambda: now() + {wrong_s}), (lambda: now_ns() + {wrong_s} * 10**9)\n"
    )
    Path(place, "sitecustomize.py").write_text(text, "utf-8")
    env = {**town.env, "PYTHONPATH": place + os.pathsep + town.env["PYTHONPATH"]}
    told = subprocess.run([*COMMAND[:1], "-c", "import time; print(time.time())"], env=env, capture_output=True, text=True, check=True)
    assert abs(float(told.stdout) - time.time() - wrong_s) < 30
    return town.agent(name, PYTHONPATH=env["PYTHONPATH"])


def test_time_01_five_minutes_ahead_and_five_behind_lose_nothing_early_and_take_nothing_late(town):
    ahead, behind = clock(town, "heron", SKEW_S), clock(town, "lynx", -SKEW_S)
    ahead("open", "dock")
    ahead("task", "create", "dock", "A", "--title", "x")
    repo = ("--repo", HERE["repo"])
    for holder, other in ((ahead, behind), (behind, ahead)):
        now = int(town.server.ask("TIME")[0])
        locked = holder("lock", "dock", "a", "--ttl", "60", "--json", *repo).record
        leased = holder("task", "claim", "dock", "A", "--lease", "60", "--json").record
        claimed = holder("claim", "dock", "x", "--lease", "60", "--json").record
        for ends in (locked["expires_at"], leased["lease_expires_at"], claimed["lease_expires_at"]):
            assert 59 < datetime.fromisoformat(ends).timestamp() - now < 90
        assert other("lock", "dock", "a", "--steal-expired", *repo, code=3).error == "PATH_LOCK_CONFLICT"
        assert other("recover", "dock", "a", "--reason", "x", *repo, code=1).error == "PATH_LOCK_NOT_STALE"
        assert other("task", "recover", "dock", "A", "--reason", "x", code=2).error == "LEASE_NOT_EXPIRED"
        assert other("claim", "dock", "x", "--steal-expired", code=3).error == "CLAIM_TAKEN"
        assert other("lock", "dock", "a", "--wait", "0.2", *repo, code=4).error == "TIMED_OUT"
        assert [one["lapsed"] for one in other("locks", "--json", *repo).records] == [False]
        assert not other("task", "show", "dock", "A", "--json").record["stale"]
        assert holder("renew", "dock", "a", "--ttl", "90", "--json", *repo).record["late_seconds"] is None
        assert holder("task", "renew", "dock", "A", "--json").record["late_ms"] is None
        for words in (("unlock", "dock", "a", *repo), ("task", "release", "dock", "A"), ("unclaim", "dock", "x")):
            holder(*words)


def test_data_06_json_in_texts_comes_back_to_the_letter_and_lists_are_lists(town):
    heron, lynx = town.pair()
    heron("task", "create", "dock", "A", "--title", PAYLOAD, "--acceptance", PAYLOAD, "--acceptance", "[]")
    heron("task", "create", "dock", "B", "--title", "bare")
    heron("task", "cancel", "dock", "B", "--reason", PAYLOAD)
    heron("claim", "dock", "x", "--note", PAYLOAD)
    heron("event", "post", "dock", "--type", "status", "--harness", "codex", "--status", "busy", "--detail", PAYLOAD)
    one, bare = lynx("task", "list", "dock", "--json").records
    assert (one["title"], one["acceptance"], bare["reason"]) == (PAYLOAD, [PAYLOAD, "[]"], PAYLOAD)
    assert all(bare[key] == [] for key in ("depends_on", "files_hint", "acceptance", "waits_for", "dependents"))
    assert one["depends_on"] == one["files_hint"] == []
    assert lynx("claims", "dock", "--json").record["note"] == PAYLOAD
    assert lynx("event", "read", "dock", "--json").record["event"]["detail"] == PAYLOAD
    assert [one["facts"]["reason"] for one in lynx("read", "dock", "--audit", "--json").records if one.get("facts", {}).get("reason")] == [PAYLOAD]
    leased = lynx("task", "claim", "dock", "A", "--json").record
    assert leased["files_hint"] == leased["locked"] == []
    moved = lynx("task", "done", "dock", "A", "--json").record
    assert moved["freed"] == moved["begun"] == moved["waiting"] == []
    repo = ("--repo", HERE["repo"])
    assert lynx("check", "dock", "a", "--json", *repo).record["held"] == []
    assert lynx("unlock", "dock", "--all", "--json").record["unlocked"] == []
    assert lynx("lock", "dock", "a", "--reason", PAYLOAD, "--json", *repo).record["recovered"] == []
    assert lynx("locks", "--json", *repo).record["reason"] == PAYLOAD


def test_a_board_whose_audits_a_stranger_ended_changes_nothing_says_so_and_is_mended(town):
    heron, _ = town.pair()
    heron("task", "create", "dock", "A", "--title", "x")
    town.server.ask("XADD", "rc1:{default}:ch:dock:audits", "9-1", "x", "y")
    before = town.server.everything()
    repo = ("--repo", HERE["repo"])
    for words in (("task", "claim", "dock", "A"), ("claim", "dock", "x"), ("lock", "dock", "a", *repo), ("task", "create", "dock", "--title", "y")):
        assert heron(*words, code=1).error == "CHANNEL_DAMAGED"
    assert town.server.everything() == before
    heron("recover-pending", "dock")
    heron("task", "claim", "dock", "A")
    heron("lock", "dock", "a", *repo)
