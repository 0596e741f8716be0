"""Path locks at a shell: what an agent that knows nothing is told, and the exit codes that scripts live by."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess

import pytest
from waiting import wait_until

from redischat.keys import Keys

KEYS = Keys("default")


@pytest.fixture
def crew(town):
    """heron and lynx share a channel and a checkout."""
    heron = town.agent("heron")
    subprocess.run(["git", "init", "-q"], cwd=heron.directory, check=True)
    subprocess.run(["git", "remote", "add", "origin", "git@example.org:team/boat.git"], cwd=heron.directory, check=True)
    lynx = town.person("p-heron", REDISCHAT_AGENT="lynx")
    heron("open", "dock")
    return heron, lynx


def in_line(town, count):
    wait_until(lambda: town.server.ask("ZCARD", KEYS.line) == count, f"{count} stand in line")


def run_remedy(person, text, code=0):
    """The last command that a text gives, run."""
    return person(*shlex.split(re.findall(r"redischat (.+?)(?:; or|\n|$)", text)[-1]), code=code)


def test_a_lock_tells_what_until_when_where_and_what_next(crew):
    heron, lynx = crew
    got = heron("lock", "dock", "src/main.py", "app/[id]/two words.tsx", "--ttl", "600", "--reason", "the parser")
    assert "locked src/main.py, app/[id]/two words.tsx until " in got.out
    assert "(600 s), token 1" in got.out
    assert "in example.org/team/boat (origin URL)" in got.out
    assert "heron (exclusive) until " in lynx("check", "dock", "src/main.py", code=3).out
    assert lynx("check", "dock", "src/other.py").lines[0] == "free"
    assert "you (exclusive)" in heron("check", "dock", "src").out
    assert "renewed" in run_remedy(heron, got.lines[-2] + "\n").out
    assert "unlocked src/main.py" in run_remedy(heron, got.out).out
    assert lynx("check", "dock", "src/main.py").lines[0] == "free"


def test_a_conflict_names_the_holder_and_a_command_that_runs_from_here(crew):
    heron, lynx = crew
    heron("lock", "dock", "src", "--reason", "all of it")
    refused = lynx("lock", "dock", "two words.py", code=3, cwd=_folder(lynx, "src"))
    assert refused.error == "PATH_LOCK_CONFLICT"
    assert "heron holds src (all of it) until " in refused.err
    assert "redischat lock dock 'two words.py' --wait 600" in refused.err
    record = json.loads(lynx("lock", "dock", "src", "--json", code=3).err)
    assert (record["error"], record["holder"], record["path"], record["reason"], record["in_line"]) == (
        "PATH_LOCK_CONFLICT",
        "heron",
        "src",
        "all of it",
        False,
    )


def _folder(person, name):
    path = os.path.join(person.directory, name)
    os.makedirs(path, exist_ok=True)
    return path


def test_records_have_the_same_keys_for_every_reader(crew):
    heron, lynx = crew
    locked = heron("lock", "dock", "a", "--json").record
    assert {"channel", "owner", "repository", "how", "lock_id", "token", "mode", "expires_at", "paths", "renewed", "recovered", "warning"} <= set(locked)
    checked = lynx("check", "dock", "a", "b", "--json", code=3).record
    assert (checked["free"], checked["held"][0]["lock_id"], checked["repository"]) == (False, locked["lock_id"], "example.org/team/boat")
    (row,) = lynx("locks", "--json").records
    assert (row["kind"], row["owner"], row["paths"], row["how"]) == ("lock", "heron", ["a"], "origin URL")
    assert heron("unlock", "dock", "a", "--json").record["unlocked"][0]["path"] == "a"
    assert lynx("locks").lines[0] == "nothing is locked"


def test_a_wait_is_granted_or_ends_with_4_and_is_left_by_an_interrupt(crew, town):
    heron, lynx = crew
    heron("lock", "dock", "a")
    timed = lynx("lock", "dock", "a", "--wait", "0.2", code=4)
    assert (timed.error, "heron still holds a" in timed.err) == ("TIMED_OUT", True)
    waiting = lynx.start("lock", "dock", "a", "--wait", "30", text=True)
    in_line(town, 1)
    assert "in line 1: lynx for a" in heron("locks").out
    waiting.send_signal(signal.SIGINT)
    waiting.communicate(timeout=20)
    assert waiting.returncode == 130
    in_line(town, 0)
    waiting = lynx.start("lock", "dock", "a", "--wait", "30", text=True)
    in_line(town, 1)
    heron("unlock", "dock", "--all")
    assert waiting.communicate(timeout=20)[0].startswith("locked a until ")
    assert waiting.returncode == 0


def test_what_ran_out_is_named_with_the_commands_that_take_it_over(crew):
    heron, lynx = crew
    heron("lock", "dock", "a", "--lease-seconds", "0.001")
    refused = lynx("lock", "dock", "a", code=3)
    assert refused.error == "PATH_LOCK_RECOVERY_REQUIRED"
    assert "ran out" in lynx("check", "dock", "a", code=3).out
    assert "a was heron's, whose lease ran out" in run_remedy(lynx, refused.err).out
    assert heron("unlock", "dock", "a", code=1).error == "PATH_LOCK_OWNER_MISMATCH"
    assert "taken over from heron" in heron("locks").out
    assert heron("recover", "dock", "a", "--reason", "x", code=1).error == "PATH_LOCK_NOT_STALE"


def test_renewing_nothing_is_no_success_and_an_old_token_is_told(crew):
    heron, lynx = crew
    assert heron("renew", "dock", "--all", code=1).error == "PATH_LOCK_NOT_FOUND"
    heron("lock", "dock", "a")
    heron("unlock", "dock", "a")
    assert "nothing was locked by heron" in heron("unlock", "dock", "--all").out
    token = str(lynx("lock", "dock", "a", "--json").record["token"])
    assert heron("check", "dock", "a", "--token", "1", code=3).error == "PATH_LOCK_STALE_TOKEN"
    lynx("check", "dock", "a", "--token", token)
    assert "renewed a until " in lynx("renew", "dock", "a", "--token", token).out


def test_a_circle_through_a_wait_for_word_is_said_on_standard_error(crew, town):
    heron, lynx = crew
    lynx("join", "dock")
    heron("lock", "dock", "a")
    blocked = lynx.start("lock", "dock", "a", "--wait", "30")
    in_line(town, 1)
    told = []
    for more in ((), ("--json",)):
        waiting = heron.start("wait", "dock", "--from", "lynx", "--timeout", "30", *more, text=True)
        wait_until(lambda: town.server.ask("HLEN", KEYS.waits) == 1, "heron waits for lynx")
        lynx("say", "dock", "a, please")
        told.append(waiting.communicate(timeout=20))
        assert town.server.ask("HLEN", KEYS.waits) == 0
    (out, err), (records, quiet) = told
    assert "heron waits for lynx (wait --from); lynx waits for heron (lock a)" in err
    first = json.loads(records.split("\n")[0])
    assert (first["kind"], first["circle"][:5], quiet) == ("read", "heron", "")
    assert out.count("a, please") == records.count("a, please") == 1
    heron("unlock", "dock", "a")
    blocked.communicate(timeout=20)
    assert blocked.returncode == 0


@pytest.mark.parametrize(
    ("words", "error", "code"),
    [
        (("lock", "dock"), "USAGE", 64), (("unlock", "dock"), "USAGE", 64), (("unlock", "dock", "a", "--all"), "USAGE", 64),
        (("lock", "dcok", "a"), "PATH_LOCK_CHANNEL_NOT_FOUND", 1), (("lock", "d ck", "a"), "PATH_LOCK_INVALID_CHANNEL", 1),
        (("lock", "dock", "a", "--ttl", "0"), "PATH_LOCK_INVALID_DURATION", 1), (("lock", "dock", "../x"), "PATH_LOCK_PATH_OUTSIDE_WORKSPACE", 1),
        (("lock", "dock", "a\nb"), "PATH_LOCK_INVALID_PATH", 1), (("lock", "dock", "a", "--reason", "x\ny"), "PATH_LOCK_INVALID_REASON", 1),
        (("recover", "dock", "a", "--reason", ""), "PATH_LOCK_INVALID_REASON", 1), (("recover", "dock", "a", "--reason", "x"), "PATH_LOCK_NOT_FOUND", 1),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_by_its_code(crew, words, error, code):
    heron, _ = crew
    assert heron(*words, code=code).error == error


@pytest.mark.usefixtures("crew")
def test_a_bad_name_is_an_invalid_owner_and_a_new_one_is_warned_about(town):
    stranger = town.person("p-heron", REDISCHAT_AGENT="her on")
    assert stranger("lock", "dock", "a", code=1).error == "PATH_LOCK_INVALID_OWNER"
    warned = town.person("p-heron", REDISCHAT_AGENT="heronn")("lock", "dock", "a")
    assert "heronn was not known in this workspace before; did you mean heron?" in warned.err
    assert warned.code == 0
