"""doctor: what works and what does not, each claim on its own, with its age and a command that mends it."""

from __future__ import annotations

import json
import os
import shlex
import time
from pathlib import Path

import pytest
from cli import Person
from newcomers import TICK, Newcomer, newcomers, program, tree

from redischat.__main__ import quick
from redischat.hook import build
from redischat.hook import session as cards
from redischat.install import record

pytestmark = pytest.mark.real
SESSION = "11111111-2222-3333-4444-555566667777"
OK, WRONG, COULD_NOT_LOOK = 0, 1, 5
NO_REDISCHAT = ("codex", "claude", "opencode", "gemini", "git")


@pytest.fixture
def town(real):
    with newcomers(real) as place:
        yield place


@pytest.fixture
def amy(town):
    """An agent, set up: a Claude session in a project."""
    found = Newcomer(town, "amy", SESSION)
    found("setup", "dock", "--as", "amy")
    return found


@pytest.fixture
def started(amy):
    """The same, after its session was started anew: its hooks are heard."""
    amy.hook("SessionStart", source="resume")
    return amy


def doctor(who, code, *words):
    """The claims by name, in their order: [(state, said, remedy, age)]."""
    found: dict[str, list[tuple]] = {}
    for row in who("doctor", "--json", *words, code=code).records:
        assert set(row) == {"check", "state", "said", "age_seconds", "remedy"}
        found.setdefault(row["check"], []).append((row["state"], row["said"], row["remedy"], row["age_seconds"]))
    return found


def wrong(found):
    return {check: [row for row in rows if row[0] == "wrong"] for check, rows in found.items() if any(row[0] == "wrong" for row in rows)}


# All is well.


def test_what_works_is_said_claim_by_claim_with_its_age(started):
    found = doctor(started, OK)
    for check in (
        "workspace",
        "address",
        "project",
        "broker",
        "identity",
        "program",
        "setup",
        "git",
        "claude hooks",
        "claude events",
        "hook script",
        "waker",
        "session",
        "doorbell",
    ):
        assert check in found, check
    assert "ran a script" in found["broker"][0][1]
    assert found["claude hooks"][0][1].startswith("7 of 7 in .claude/settings.local.json")
    assert found["claude hooks"][0][3] < 60
    assert found["claude events"][0][1].startswith("SessionStart came ")
    assert found["session"][0][1].startswith("this session is amy, idle")
    assert found["waking"] == [("note", "unproved: no wake of this session was seen to land yet", None, None)], "waking is no conclusion from hooks"
    assert started("doctor").out.endswith("all is well\n")


def test_looking_changes_nothing_and_starts_nothing(started, town, real):
    started("waker", "stop")
    before, stored = tree(town.root), real.everything()
    doctor(started, WRONG)
    assert tree(town.root) == before
    assert real.everything() == stored
    nobody = Newcomer(town, "nest", REDISCHAT_URL="", REDISCHAT_STATE=os.path.join(town.root, "st2"))
    found = doctor(nobody, COULD_NOT_LOOK)
    assert found["broker"][0][0] == "unasked"
    assert found["broker"][0][2] == "redischat server start"
    assert not os.path.exists(os.path.join(town.root, "st2"))


def test_a_broker_that_is_away_is_exit_5_and_the_rest_is_told_all_the_same(amy):
    amy.person.env["REDISCHAT_URL"] = "redis://:secret@127.0.0.1:1"
    done = amy("doctor", code=COULD_NOT_LOOK)
    assert "claude hooks   7 of 7" in done.out
    assert "secret" not in done.out + done.err


# Where this is.


def test_ops_01_address_database_and_workspace_are_named_with_where_they_come_from(amy, real):
    found = doctor(amy, WRONG)
    assert found["address"][0][1] == f"{real.url} (REDISCHAT_URL)"
    assert found["workspace"][0][1].endswith(os.path.join(amy.directory, ".redischat", "config") + ")")


def test_ops_01_a_shell_on_another_broker_than_its_project_is_told_so(started, real):
    started.person.env["REDISCHAT_URL"] = real.url + "?db=1"
    found = doctor(started, WRONG)
    assert "name different urls" in wrong(found)["address"][0][1]
    started.person.env.pop("REDISCHAT_URL")
    lonely = started("say", "dock", "x", "--to", "nobody-here", code=1)
    assert "compare: redischat whoami" in lonely.err


# Hooks.


def test_hookcfg_06_a_fresh_worktree_has_no_hooks_and_is_told_how_to_get_them(started, town):
    started.git("commit", "-q", "--allow-empty", "-m", "x")
    started.git("worktree", "add", "-q", os.path.join(town.root, "tree"))
    fresh = Newcomer(town, "tree", "77777777-2222-3333-4444-555566667777")
    found = wrong(doctor(fresh, WRONG))
    assert "none of ours in .claude/settings.local.json" in found["claude hooks"][0][1]
    assert started.directory in found["setup"][0][1], "the worktree that is set up is named"
    fresh("setup", "dock")
    fresh.hook("SessionStart", source="startup")
    assert not wrong(doctor(fresh, OK))


def test_hookcfg_06_also_for_a_person_at_a_shell_without_the_client_on_the_path(amy, town):
    amy.git("commit", "-q", "--allow-empty", "-m", "x")
    amy.git("worktree", "add", "-q", os.path.join(town.root, "tree"))
    person = Newcomer(town, "tree")
    person.person.env["PATH"] = town.env["PATH"]
    assert "claude hooks" in wrong(doctor(person, WRONG))


def test_hookcfg_07_an_entry_that_another_installer_dropped_is_named(started):
    settings = json.loads(started.settings.read_text())
    del settings["hooks"]["Stop"]
    started.settings.write_text(json.dumps(settings))
    rows = wrong(doctor(started, WRONG))["claude hooks"]
    assert [row[1] for row in rows] == [".claude/settings.local.json: not registered: Stop"]
    started(*shlex.split(rows[0][2])[1:])
    assert not wrong(doctor(started, OK))


def test_hookcfg_07_each_event_is_told_with_when_it_last_came(started):
    started.hook("UserPromptSubmit", prompt="hello")
    started.hook("PostToolBatch")
    rows = doctor(started, OK)["claude events"]
    came = {row[1].split(" ")[0]: row[3] for row in rows if " came " in row[1]}
    assert came.keys() == {"SessionStart", "UserPromptSubmit", "PostToolBatch"}
    assert all(age < 60 for age in came.values())
    (silent,) = [row for row in rows if row[1].startswith("no record of")]
    assert silent[0] == "note"
    assert "Stop" in silent[1]
    assert "no proof" in silent[1]


def test_an_event_that_came_long_ago_is_told_with_its_age(started, town):
    (mark,) = (Path(town.state) / "fired").iterdir()
    os.utime(mark, (time.time() - 7_200, time.time() - 7_200))
    assert "SessionStart came 2 h ago" in [row[1] for row in doctor(started, OK)["claude events"]]
    started.hook("SessionStart", source="resume")
    assert "SessionStart came 0 s ago" in [row[1].replace("1 s", "0 s") for row in doctor(started, OK)["claude events"]]


def test_an_event_that_another_build_took_is_told(started, town):
    (mark,) = (Path(town.state) / "fired").iterdir()
    mark.write_text("/elsewhere/hooks/tick.py\n")
    assert "to another build: /elsewhere/hooks/tick.py" in doctor(started, OK)["claude events"][0][1]


def test_hookcfg_08_codex_knows_three_states_and_the_approval_is_asked_of_the_user(town):
    program(town, "codex", "codex-cli 0.171.0")
    home = Path(town.root) / "codex-home"
    home.mkdir()
    person = Newcomer(town, "nest", client="codex", CODEX_HOME=str(home))
    assert "none of ours" in wrong(doctor(person, WRONG, "--harness", "codex"))["codex hooks"][0][1]
    done = person("install", "--harness", "codex")
    assert done.lines[-1].startswith("codex: approve of the hooks once: open codex")
    assert "config.toml" not in os.listdir(home), "the approval is the user's"
    person("setup", "dock", "--as", "lynx", "--harness", "codex")
    found = doctor(person, WRONG, "--harness", "codex")
    (row,) = wrong(found)["codex trust"]
    assert row[1].startswith("installed, and not approved of")
    assert row[2] == "codex"
    assert found["codex hooks"][0][0] == "ok", "registered is one claim, approved another"
    hooks = json.loads((home / "hooks.json").read_text())["hooks"]
    codes = {
        "SessionStart": "session_start",
        "UserPromptSubmit": "user_prompt_submit",
        "PreToolUse": "pre_tool_use",
        "PostToolUse": "post_tool_use",
        "Stop": "stop",
        "SessionEnd": "session_end",
    }
    rows = [f'[hooks.state."{home}/hooks.json:{codes[event]}:0:0"]\ntrusted_hash = "sha256:x"\n' for event in hooks]
    (home / "config.toml").write_text("".join(rows))
    assert doctor(person, OK, "--harness", "codex")["codex trust"][0][0] == "ok"


def test_what_another_project_has_to_approve_of_is_no_fault_of_this_one(started, town):
    program(town, "codex", "codex-cli 0.171.0")
    Newcomer(town, "other")("setup", "dock", "--as", "bob", "--harness", "codex", "--no-mcp")
    assert not [name for name in doctor(started, OK) if name.startswith("codex")]
    started("install", "--harness", "codex")
    assert "codex trust" in wrong(doctor(started, WRONG, "--harness", "codex"))


def test_an_interpreter_that_is_gone_is_told_and_mended(started):
    text = started.settings.read_text()
    started.settings.write_text(text.replace('"command": "/', '"command": "/gone/', 1))
    said = [row[1] for row in wrong(doctor(started, WRONG))["claude hooks"]]
    assert any("runs what is no longer there: /gone/" in one for one in said)
    started("install")
    assert not wrong(doctor(started, OK))


def test_hooks_that_are_switched_off_are_told(started):
    settings = json.loads(started.settings.read_text())
    started.settings.write_text(json.dumps({"disableAllHooks": True, **settings}, indent=2))
    assert any("switched off by disableAllHooks" in row[1] for row in wrong(doctor(started, WRONG))["claude hooks"])


def test_the_same_hooks_in_the_users_own_file_are_told_with_the_command_that_ends_it(started):
    started("install", "--scope", "user")
    (row,) = [row for row in doctor(started, OK)["claude hooks"] if "too: both run" in row[1]]
    started(*shlex.split(row[2])[1:])
    assert not [row for row in doctor(started, OK)["claude hooks"] if "too: both run" in row[1]]


def test_a_session_that_no_hook_was_heard_of_is_told_to_start_anew(amy):
    (row,) = wrong(doctor(amy, WRONG))["session"]
    assert "no hook of it was heard" in row[1]
    assert row[2] == "claude --continue"


def test_what_is_not_set_up_is_told_how_to_start(town):
    nobody = Newcomer(town, "nest")
    found = wrong(doctor(nobody, WRONG))
    assert found["setup"][0][2].startswith("redischat setup ")
    assert found["identity"][0][2] == "redischat identify NAME"
    nobody("setup", "dock", "--as", "heron", "--harness", "none")
    assert not wrong(doctor(nobody, OK)), "who wants no hooks needs none"


def test_settings_that_git_would_commit_are_told(started):
    started.git("add", "-f", ".redischat/config")
    (row,) = wrong(doctor(started, WRONG))["git"]
    started.git(*shlex.split(row[2])[1:])
    assert not wrong(doctor(started, OK))


# The waker, wakes, ghosts, identity.


def test_a_waker_that_does_not_run_is_told_however_green_the_rest_is(started):
    started("waker", "stop")
    (row,) = wrong(doctor(started, WRONG)).pop("waker")
    assert row[1] == "none runs: 1 session here is not woken"
    started(*shlex.split(row[2])[1:])
    assert not wrong(doctor(started, OK))


def presence(real, session, **facts):
    """Let the broker know this of a session."""
    words = real.ask("HGET", "rc1:{default}:presence", session).split(" ")
    names = ("agent", "harness", "host", "pid", "state", "active", "beat", "started", "way", "asked", "landed", "missed", "told", "worked", "project")
    known = dict(zip(names, words, strict=True)) | {name: str(value) for name, value in facts.items()}
    real.ask("HSET", "rc1:{default}:presence", session, " ".join(known[name] for name in names))


def now_ms(real):
    return int(real.ask("TIME")[0]) * 1000


def test_a_wake_that_landed_and_one_that_did_not_are_told_with_their_ages(started, real):
    presence(real, SESSION, landed=now_ms(real) - 180_000)
    assert doctor(started, OK)["waking"][0][1] == "the last wake of this session landed 3 min ago"
    presence(real, SESSION, missed=now_ms(real) - 120_000)
    rows = doctor(started, WRONG)["waking"]
    assert [row[0] for row in rows] == ["ok", "wrong"]
    assert "had not landed 2 min ago" in rows[1][1]


def test_a_session_that_gave_no_sign_for_long_is_a_ghost_and_no_fault_of_this_one(started, real):
    Newcomer(started.town, "bob", "99999999-2222-3333-4444-555566667777").hook("SessionStart", source="startup")
    ghost = "77777777-2222-3333-4444-555566667777"
    real.ask("HSET", "rc1:{default}:presence", ghost, real.ask("HGET", "rc1:{default}:presence", SESSION))
    presence(real, ghost, agent="bob", host="elsewhere", active=now_ms(real) - 3_600_000, beat=now_ms(real) - 3_600_000, project="/p")
    (row,) = doctor(started, OK)["ghosts"]
    assert row[0] == "note"
    assert f"session {ghost} (bob, /p on elsewhere) is not over and gave no sign for 1 h" in row[1]


def test_a_name_that_another_session_holds_is_told_with_who_and_since_when(started, town):
    Person(town, started.directory, REDISCHAT_SESSION="another")("identify", "amy", "--take-over", "--force", "--reason", "test")
    (row,) = wrong(doctor(started, WRONG))["identity"]
    assert "is held by another session (another on " in row[1]


@pytest.mark.parametrize(("silent_ms", "state"), [(0, "WRONG"), (90_000, "note")])
def test_a_session_whose_card_is_gone_is_to_start_anew_and_one_that_gives_no_sign_is_no_fault(started, town, real, silent_ms, state):
    started("waker", "stop")  # it speaks for the session until it looks again
    os.unlink(cards.path_of(town.state, SESSION))
    presence(real, SESSION, active=now_ms(real) - silent_ms, beat=now_ms(real) - silent_ms)
    (row,) = doctor(started, None)["doorbell"]
    assert row[0] == state.lower(), row
    assert row[2] == ("claude --continue" if state == "WRONG" else None), row


# Remedies and the fingerprint.


def test_every_remedy_is_a_command_that_runs(town):
    remedies = set()
    nobody, amy = Newcomer(town, "nest"), Newcomer(town, "amy", SESSION)
    remedies |= {row[2] for rows in doctor(nobody, WRONG).values() for row in rows}
    amy("setup", "dock", "--as", "amy", "--harness", "claude,codex")
    amy.settings.write_text("{}")
    amy("waker", "stop")
    remedies |= {row[2] for rows in doctor(amy, WRONG).values() for row in rows}
    assert len(remedies - {None}) > 5
    for one in remedies - {None}:
        program_, *words = shlex.split(one)
        assert program_ in NO_REDISCHAT or quick(words) is not None, one


def test_the_fingerprint_is_that_of_the_scripts_that_hooks_run(town):
    nobody = Newcomer(town, "nest")
    assert nobody("fingerprint").lines[0] == record.fingerprint(TICK)
    found = nobody("fingerprint", "--json").record
    assert found == {"fingerprint": record.fingerprint(TICK), "tick": TICK, "build": build.digest(), "session": None, "started_with": None, "same": None}


def test_a_session_is_told_whether_it_started_with_the_build_that_is_there(started, town):
    assert "as this session started with" in started("fingerprint").out
    card = Path(town.state, "sessions", SESSION)
    card.write_text(card.read_text().replace(f"build={build.digest()}", "build=" + "0" * 40))
    assert "NOT what this session started with (" + "0" * 40 in started("fingerprint").out
    started.hook("SessionStart", source="compact")
    assert not started("fingerprint", "--json").record["same"], "compacting starts nothing anew"
    started.hook("SessionEnd", reason="other")
    started.hook("SessionStart", source="resume")
    assert started("fingerprint", "--json").record["same"]


def test_the_digest_of_the_build_follows_its_files(tmp_path, monkeypatch):
    before = build.digest()
    (tmp_path / "a.lua").write_text("-- a")
    monkeypatch.setattr(build, "folder", lambda _: str(tmp_path))
    first = build.digest()
    (tmp_path / "a.lua").write_text("-- b")
    assert len({before, first, build.digest()}) == 3
