"""`redischat reload`: the window of VS Code of a session that nothing wakes. macOS, its `osascript` and `claude` are played here: there is no Mac in this suite."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

import pytest
from sessions import Session
from test_waker import awake, hurry, record, said
from waiting import wait_until

from redischat.cli.perform import perform
from redischat.errors import ChatError
from redischat.hook import fired, reload
from redischat.hook import session as cards
from redischat.keys import Keys
from redischat.settings import Settings, host, read_pairs, write_pairs
from redischat.waker import world

if TYPE_CHECKING:
    from pathlib import Path

ME, OTHER = "11111111-aaaa", "22222222-bbbb"
TITLE = "-e a.py — {}"  # a file's name is anybody's: it may look like a flag

FAKE = """#!{python} -IS
import json, os, sys
with open({log!r}, "a", encoding="utf-8") as log:
    log.write(json.dumps(sys.argv) + "\\n")
answers = json.load(open({answers!r}, encoding="utf-8"))
name = os.path.basename(sys.argv[0])
key = name if name == "claude" else "act" if any("keystroke" in word for word in sys.argv) else "look"
out, err, code = answers[key]
os.write(1, out.encode()); os.write(2, err.encode()); sys.exit(code)
"""


class Mac:
    """A Mac with VS Code on which a session of Claude Code's extension lives in ``project``. ``say`` changes what its programs answer."""

    def __init__(self, directory: Path, state: str, project: str, session: str = ME):
        self.state, self.project, self.programs = state, project, directory / "programs"
        self.log, self.answers = directory / "log", directory / "answers.json"
        self.programs.mkdir()
        for name in ("claude", "osascript"):
            self.programs.joinpath(name).write_text(FAKE.format(python=sys.executable, log=str(self.log), answers=str(self.answers)))
            self.programs.joinpath(name).chmod(0o755)
        self.told = {"act": ["", "", 0]}
        self.window(TITLE.format(os.path.basename(project)))
        self.live(self.one(session))
        fired.note(state, fired.key(project), "claude", "SessionStart", "/tick.py")

    def one(self, session, status="idle", cwd=None):
        return {"sessionId": session, "status": status, "cwd": cwd or self.project, "pid": 1}

    def say(self, **told):
        self.told |= told
        self.answers.write_text(json.dumps(self.told))

    def live(self, *sessions):
        self.say(claude=[json.dumps(sessions), "", 0])

    def window(self, *titles, state="saved"):
        self.say(look=["".join(f"{state}\t{title}\n" for title in titles), "", 0])

    @property
    def ran(self):
        """All that was run: the words, the program by its name."""
        rows = self.log.read_text("utf-8").splitlines() if self.log.exists() else []
        return [[os.path.basename(words[0]), *words[1:]] for words in map(json.loads, rows)]

    @property
    def acted(self):
        return [words for words in self.ran if words[:3] == ["osascript", "-e", reload.ACT]]

    @property
    def kept(self):
        return read_pairs(os.path.join(self.state, reload.FOLDER, fired.key(self.project)))


@pytest.fixture
def mac(tmp_path, monkeypatch):
    project = tmp_path / "shop"
    project.joinpath(".git").mkdir(parents=True)
    found = Mac(tmp_path, str(tmp_path / "state"), str(project))
    monkeypatch.setattr(reload, "SYSTEM", "darwin")
    env = {
        "REDISCHAT_STATE": found.state, "CLAUDE_PROJECT_DIR": str(project), "CLAUDE_CODE_SESSION_ID": ME, "CLAUDE_CODE_ENTRYPOINT": "claude-vscode",
        "PATH": str(found.programs),
    }  # fmt: skip
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    return found


@pytest.fixture
def call(capfd):
    """The verb, in this process: its exit code, what it printed, the code of its refusal."""

    def called(*, force=False, i_know=False, auto=None, as_json=False):
        code = perform("reload", {"force": force, "i_know": i_know, "auto": auto, "json": as_json})
        out, err = capfd.readouterr()
        return code, out, err.split(": ")[1] if err else ""

    return called


def refused(call, code, **flags):
    found = call(**flags)
    assert (found[0], found[2]) == (64 if code == "USAGE" else 1, code), found


def test_a_window_is_reloaded_by_the_one_text_of_ours_with_its_title_as_a_word(mac, call):
    code, out, _ = call(force=True)
    assert (code, "this turn ends with it" in out) == (0, True)
    title = "window:" + TITLE.format("shop")
    assert mac.ran == [["claude", "agents", "--json"], ["osascript", "-e", reload.LOOK], ["osascript", "-e", reload.ACT, title]]
    assert len("window:") == 7
    assert "text 8 thru -1" in reload.ACT


def test_without_force_it_says_what_a_reload_takes_and_runs_nothing(mac, call):
    refused(call, "NOT_CONFIRMED")
    refused(call, "NOT_CONFIRMED", i_know=True)
    assert not mac.ran
    assert not mac.kept


# What nothing is run for: neither program was asked.


@pytest.mark.parametrize("system", ["linux", "win32", "cygwin"])
def test_another_platform_is_refused(mac, call, monkeypatch, system):
    monkeypatch.setattr(reload, "SYSTEM", system)
    refused(call, "RELOAD_PLATFORM", force=True, i_know=True)
    refused(call, "RELOAD_PLATFORM", auto="on")
    assert not mac.ran
    assert not mac.kept


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CLAUDE_CODE_ENTRYPOINT", "cli"), ("CLAUDE_CODE_ENTRYPOINT", ""), ("CLAUDE_CODE_ENTRYPOINT", "sdk-py"), ("SSH_CONNECTION", "10.0.0.1 1 10.0.0.2 22"),
        ("CLAUDE_CODE_SESSION_ID", ""),
    ],
)  # fmt: skip
def test_what_is_not_proved_to_be_in_a_window_here_is_refused_also_in_a_terminal_of_vs_code(mac, call, monkeypatch, variable, value):
    monkeypatch.setenv("TERM_PROGRAM", "vscode")
    monkeypatch.setenv("VSCODE_IPC_HOOK", "/tmp/vscode.sock")
    monkeypatch.setenv(variable, value)
    refused(call, "RELOAD_OUTSIDE", force=True, i_know=True)
    assert not mac.ran


def test_a_session_that_might_come_back_deaf_is_refused_unless_that_is_accepted(mac, call):
    fired.forget(mac.state, mac.project)
    refused(call, "RELOAD_UNPROVED", force=True)
    assert not mac.ran
    assert call(force=True, i_know=True)[0] == 0
    assert mac.acted


def test_a_window_is_not_reloaded_twice_in_a_minute(mac, call):
    assert call(force=True)[0] == 0
    refused(call, "RELOAD_RECENT", force=True, i_know=True)
    assert len(mac.acted) == 1
    write_pairs(os.path.join(mac.state, reload.FOLDER, fired.key(mac.project)), {**mac.kept, "at": str(int(time.time()) - 61)})
    assert call(force=True)[0] == 0


def test_one_that_is_being_reloaded_is_not_reloaded_meanwhile(mac, call):
    with reload.Reload(mac.state, mac.project, ME, os.environ).alone(60):
        refused(call, "RELOAD_RECENT", force=True)
    assert not mac.ran


# What is looked at first: nothing was typed.


@pytest.mark.parametrize("status", ["busy", "idle", "waiting"])
def test_another_session_in_this_project_keeps_the_window_whatever_it_does_and_whatever_flag_is_given(mac, call, status):
    mac.live(mac.one(ME, "busy"), mac.one(OTHER, status, cwd=os.path.join(mac.project, "src")))
    refused(call, "RELOAD_OTHERS", force=True, i_know=True)
    assert not mac.acted


def test_a_session_elsewhere_keeps_nothing(mac, call):
    mac.live(mac.one(ME, "busy"), mac.one(OTHER, cwd=mac.project + "-2"))
    assert call(force=True)[0] == 0


def test_another_session_that_only_we_know_of_keeps_the_window_until_it_has_ended(mac, call):
    card = {"agent": "lynx", "session": OTHER, "harness": "codex", "project": mac.project, "on": host()}
    write_pairs(cards.path_of(mac.state, OTHER), card)
    refused(call, "RELOAD_OTHERS", force=True, i_know=True)
    assert not mac.acted
    write_pairs(cards.path_of(mac.state, OTHER), {**card, "ended": "logout"})
    assert call(force=True)[0] == 0


@pytest.mark.parametrize(
    "answer", [["", "no such command", 1], ["nonsense", "", 0], ["{}1", "", 0], ['[{"pid": 1}]', "", 0], ["[1]", "", 0], ["{}", "", 0], ["[]", "", 0]]
)
def test_a_claude_code_that_does_not_say_who_lives_here_is_no_empty_house(mac, call, answer):
    mac.say(claude=answer)
    refused(call, "RELOAD_UNSURE", force=True)
    assert not mac.acted
    assert call(force=True, i_know=True)[0] == 0


def test_who_is_known_to_be_here_keeps_the_window_although_the_caller_is_not_named(mac, call):
    mac.live(mac.one(OTHER))
    refused(call, "RELOAD_OTHERS", force=True, i_know=True)
    assert not mac.acted


def test_no_claude_on_the_path_is_no_empty_house(mac, call):
    mac.programs.joinpath("claude").unlink()
    refused(call, "RELOAD_UNSURE", force=True)
    assert not mac.acted


@pytest.mark.parametrize("titles", [(), ("a.py — other",), ("shop-2", "workshop", "shop — other"), ("shop", "b.py — shop")])
def test_no_window_and_more_than_one_are_refused(mac, call, titles):
    mac.window(*titles)
    refused(call, "RELOAD_WINDOW", force=True, i_know=True)
    assert not mac.acted


@pytest.mark.parametrize(
    ("title", "mine"),
    [
        ("shop", True), ("a.py — shop", True), ("a.py — shop — Work", True), ("a.py — shop — Visual Studio Code", True), ("shop — Visual Studio Code", True), ("● shop", True),
        ("shop — other", False), ("a.py — other — shop", False), ("a.py", False), ("my shop", False), ("a.py — shop [SSH: box]", False), ("", False),
    ],
)  # fmt: skip
def test_a_window_is_known_by_its_folder_and_not_by_a_file_of_that_name(title, mine):
    assert reload.shows(title, "shop") == mine


@pytest.mark.parametrize(("title", "state"), [("a.py — shop", "edited"), ("● a.py — shop", "saved"), ("● shop", "unknown")])
def test_a_window_with_a_file_that_is_not_saved_is_refused(mac, call, title, state):
    mac.window(title, state=state)
    refused(call, "RELOAD_UNSAVED", force=True, i_know=True)
    assert not mac.acted


def test_a_window_that_does_not_tell_whether_all_is_saved_is_refused_unless_that_is_known(mac, call):
    mac.window("a.py — shop", state="unknown")
    refused(call, "RELOAD_UNSURE", force=True)
    assert not mac.acted
    assert call(force=True, i_know=True)[0] == 0


def test_what_macos_refuses_is_told_and_not_tried_again_at_once(mac, call):
    mac.say(act=["", "osascript is not allowed to send keystrokes. (1002)\n\x1b[31m", 1])
    refused(call, "RELOAD_FAILED", force=True)
    refused(call, "RELOAD_RECENT", force=True)
    assert len(mac.acted) == 1


def test_no_osascript_is_told(mac, call):
    mac.programs.joinpath("osascript").unlink()
    refused(call, "RELOAD_FAILED", force=True)
    assert not mac.acted


def test_a_program_that_hangs_is_given_up(mac, call, monkeypatch):
    monkeypatch.setattr(reload, "ASK_S", 0.2)
    mac.programs.joinpath("osascript").write_text("#!/bin/sh\nexec /bin/sleep 20\n")
    began = time.monotonic()
    refused(call, "RELOAD_FAILED", force=True)
    assert time.monotonic() - began < 10


# By itself.


def test_the_switch_is_off_until_it_is_on_lies_with_the_user_and_goes_with_the_project(mac, call):
    assert call(auto="off", as_json=True)[1] == json.dumps({"project": mac.project, "auto": False, "reloaded": False}) + "\n"
    code, out, _ = call(auto="on")
    assert (code, "at most once an hour" in out, mac.kept["auto"]) == (0, True, "on")
    assert not os.path.exists(os.path.join(mac.project, ".redischat"))
    assert call(auto="off")[0] == 0
    assert mac.kept["auto"] == "off"
    assert not mac.ran
    reload.forget(mac.state, mac.project)
    assert not mac.kept


def test_a_switch_that_a_repository_brings_is_none(mac):
    write_pairs(os.path.join(mac.project, ".redischat", "config"), {"auto": "on", "reload": "on"})
    assert not reload.Reload(mac.state, mac.project, ME, {}).auto


def test_it_can_be_switched_off_where_it_cannot_be_done(mac, call, monkeypatch):
    assert call(auto="on")[0] == 0
    monkeypatch.setattr(reload, "SYSTEM", "linux")
    assert call(auto="off")[0] == 0
    assert mac.kept["auto"] == "off"


@pytest.mark.parametrize("flags", [{"auto": "yes"}, {"auto": "on", "force": True}, {"auto": "off", "i_know": True}])
def test_a_switch_takes_on_or_off_alone(mac, call, flags):
    refused(call, "USAGE", **flags)
    assert not mac.kept


@pytest.mark.parametrize(("entrypoint", "window"), [("claude-vscode", "vscode"), ("cli", None), (None, None)])
def test_a_session_knows_by_its_card_that_it_lives_in_a_window(mac, entrypoint, window):
    env = {"REDISCHAT_STATE": mac.state, "CLAUDE_CODE_SESSION_ID": ME, **({"CLAUDE_CODE_ENTRYPOINT": entrypoint} if entrypoint else {})}
    settings = Settings({}, env, mac.project)
    assert cards.card(settings, Keys("default"), "bob", harness="claude").get("window") == window
    assert "window" not in cards.card(settings, Keys("default"), "bob", harness="codex")


CARD = {"session": ME, "window": "vscode"}


@pytest.mark.parametrize(("card", "system", "on"), [({**CARD, "window": ""}, "darwin", True), (CARD, "linux", True), (CARD, "darwin", False)])
def test_a_missed_wake_reloads_nothing_elsewhere_or_unasked(mac, monkeypatch, card, system, on):
    write_pairs(os.path.join(mac.state, reload.FOLDER, fired.key(mac.project)), {"auto": "on" if on else "off"})
    monkeypatch.setattr(reload, "SYSTEM", system)
    assert reload.wanted(mac.state, {**card, "project": mac.project}, os.environ) is None


def test_by_itself_it_reloads_at_most_once_an_hour(mac, call):
    call(auto="on")
    found = reload.wanted(mac.state, {**CARD, "project": mac.project}, os.environ)
    assert found
    found.by_itself()
    with pytest.raises(ChatError):
        found.by_itself()
    assert len(mac.acted) == 1
    assert reload.wanted(mac.state, {**CARD, "project": mac.project}, os.environ) is None
    assert mac.kept["auto"] == "on"


@pytest.mark.parametrize("status", ["busy", "waiting", ""])
def test_by_itself_it_reloads_no_session_that_is_not_known_to_be_idle(mac, call, status):
    call(auto="on")
    found = reload.wanted(mac.state, {**CARD, "project": mac.project}, os.environ)
    assert found
    for code, live in (("RELOAD_WORKING", [mac.one(ME, status)]), ("RELOAD_UNSURE", []), ("RELOAD_OTHERS", [mac.one(ME), mac.one(OTHER)])):
        mac.live(*live)
        with pytest.raises(ChatError) as refusal:
            found.by_itself()
        assert refusal.value.code == code
    assert not mac.acted


@pytest.mark.real
def test_teardown_takes_the_switch_along(town):
    amy = town.person("amy")
    amy("identify", "amy", "--project")
    project = Settings({}, {**town.env}, amy.directory).home
    amy("reload", "--auto", "off")
    kept = reload.Reload(town.state, project, "", {}).path
    assert read_pairs(kept)["auto"] == "off"
    amy("teardown")
    assert not os.path.exists(kept)


@pytest.mark.real
def test_the_command_says_on_this_machine_that_it_cannot(town):
    amy = town.person("amy", CLAUDE_CODE_ENTRYPOINT="claude-vscode", CLAUDE_CODE_SESSION_ID=ME)
    if sys.platform != "darwin":
        done = amy("reload", "--force", code=1)
        assert (done.error, sys.platform in done.err, len(done.err.splitlines())) == ("RELOAD_PLATFORM", True, 1)


@pytest.fixture
def missed(town, tmp_path, monkeypatch):
    """Amy, and bob's session in a window, whose wakes do not land; a waker in this process that soon knows. Yields (town, amy, bob, the Mac)."""
    hurry(monkeypatch)
    monkeypatch.setattr(world, "GRACE_MS", 200)
    monkeypatch.setattr(world, "ROUNDS", 2)
    amy = town.person("amy", REDISCHAT_AGENT="amy")
    bob = Session(town, "session-of-bob", "bob")
    amy("open", "dock", "--members", "bob")
    town.env["CLAUDE_CODE_ENTRYPOINT"] = "claude-vscode"
    with awake(town.state):  # before the hooks would start one
        bob("SessionStart", source="startup")
        mac = Mac(tmp_path, town.state, cards.known(town.state, bob.id)["project"], bob.id)
        monkeypatch.setattr(reload, "SYSTEM", "darwin")
        monkeypatch.setenv("PATH", str(mac.programs))
        yield town, amy, bob, mac


@pytest.mark.real
@pytest.mark.parametrize("switched", [True, False])
def test_a_missed_wake_reloads_the_window_once_where_that_is_switched_on(missed, switched):
    town, amy, bob, mac = missed
    reload.Reload(town.state, mac.project, bob.id, {}).switch(on=switched)
    said(amy, "are you there?", "bob")
    wait_until(lambda: record(town, bob.id)["missed"] != "0", "the wake is missed")
    if switched:
        wait_until(lambda: mac.acted, "the window is reloaded")
    first = record(town, bob.id)["missed"]
    said(amy, "and now?", "bob")
    wait_until(lambda: record(town, bob.id)["missed"] != first, "another wake is missed")
    assert len(mac.acted) == (1 if switched else 0)
    assert bool(mac.ran) == switched


@pytest.mark.real
def test_a_session_whose_window_is_not_reloaded_is_rung_as_before(missed):
    town, amy, bob, mac = missed
    mac.live(mac.one(bob.id, "busy"))
    reload.Reload(town.state, mac.project, bob.id, {}).switch(on=True)
    said(amy, "are you there?", "bob")
    bob.rung()
    wait_until(lambda: mac.ran, "its window was thought of")
    first = record(town, bob.id)["missed"]
    wait_until(lambda: record(town, bob.id)["missed"] != first, "it was rung again, and missed again")
    assert not mac.acted
