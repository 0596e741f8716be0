"""Setting up, as a newcomer does it: one command, and what was said is heard; undone, nothing is left."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from newcomers import Newcomer, folders, newcomers, program, tree

from redischat.errors import Usage
from redischat.install import detect
from redischat.install.wiring import chosen

pytestmark = pytest.mark.real
FIRST, SECOND = "11111111-2222-3333-4444-555566667777", "99999999-8888-7777-6666-555544443333"


@pytest.fixture
def town(real):
    with newcomers(real) as place:
        yield place


@pytest.fixture
def heron(town):
    """A person at a shell in a project."""
    return Newcomer(town, "nest")


@pytest.fixture
def amy(town):
    """An agent: a Claude session in a project."""
    return Newcomer(town, "amy", FIRST)


# One command.


def test_one_command_makes_an_agent_that_can_talk(amy):
    done = amy("setup", "dock", "--as", "amy")
    assert len(done.lines) <= 15
    assert done.lines[0].startswith("you are amy, in #dock (new), workspace default")
    assert "redischat say dock - --to NAME" in done.out
    assert "redischat wait dock" in done.out
    assert "claude --continue" in done.out, "a session that runs read its hooks before they were there"
    assert set(json.loads(amy.settings.read_text())["hooks"]) >= {"SessionStart", "Stop", "FileChanged"}
    amy("say", "dock", "hello", "--to-none")


def test_two_who_set_up_in_one_channel_hear_each_other_at_their_next_step(town, amy):
    bob = Newcomer(town, "bob", SECOND)
    amy("setup", "dock", "--as", "amy", "--topic", "the eq regression")
    done = bob("setup", "dock", "--as", "bob")
    assert "with amy" in done.out
    assert "the eq regression" in done.out
    amy.hook("SessionStart", source="startup")
    bob("say", "dock", "look at #42", "--to", "amy")
    assert "look at #42" in json.dumps(amy.hook("PostToolBatch"))
    assert amy.hook("PostToolBatch") == {}


def test_the_session_that_starts_next_is_the_agent_that_a_person_set_up(heron, town):
    heron("setup", "dock", "--as", "heron")
    session = Newcomer(town, "nest", FIRST)
    assert "you are heron" in json.dumps(session.hook("SessionStart", source="startup"))
    assert session("whoami", "--json").record["token"]
    again = heron("setup", "dock", "--as", "heron")
    assert again.lines[0].startswith("you are heron, as before")
    assert session("whoami", "--json").record["token"], "setting up again took the name away from its session"
    other = Newcomer(town, "nest", SECOND)
    assert "you are nest-44443333" in json.dumps(other.hook("SessionStart", source="startup"))


def test_a_second_session_that_sets_up_leaves_the_first_one_its_name(town, amy):
    amy("setup", "dock", "--as", "amy")
    beside = Newcomer(town, "amy", SECOND)
    assert beside("setup", "dock", "--as", "bob").lines[0].startswith("you are bob")
    assert "agent=amy\n" in (Path(amy.directory) / ".redischat" / "config").read_text()
    assert amy("whoami", "--json").record["agent"] == "amy"
    refused = beside("setup", "dock", "--as", "amy", code=1)
    assert refused.error == "NAME_HELD"


def test_without_a_name_it_is_the_projects_and_the_next_clone_gets_another(town):
    assert Newcomer(town, "one/nest", FIRST)("setup", "dock").lines[0].startswith("you are nest,")
    assert Newcomer(town, "two/nest", SECOND)("setup", "dock").lines[0].startswith("you are nest-44443333,")


def test_a_project_keeps_broker_workspace_and_name_for_its_owner_alone(heron, real):
    heron("setup", "dock", "--as", "heron", "--workspace", "birds")
    config = Path(heron.directory) / ".redischat" / "config"
    assert config.read_text() == f"agent=heron\nurl={real.url}\nworkspace=birds\n"
    assert config.stat().st_mode & 0o777 == 0o600
    assert heron.git("status", "--porcelain") == ""
    assert heron("whoami", "--json").record["workspace"] == "birds"


def test_what_is_asked_of_the_channel_is_given_to_it(heron):
    done = heron("setup", "dock", "--as", "heron", "--topic", "eq", "--briefing", "be brief", "--max-messages", "40")
    assert "be brief" in done.out
    found = heron("channels", "--json").record
    assert (found["topic"], found["max_messages"]) == ("eq", 40)


def test_setting_up_twice_changes_no_byte(town, amy):
    amy("setup", "dock", "--as", "amy")
    before = tree(amy.directory, town.env["HOME"])
    kept = {path: content for path, content in tree(town.state).items() if f"{os.sep}waker{os.sep}" not in path and f"{os.sep}bindings{os.sep}" not in path}
    done = amy("setup", "dock", "--as", "amy")
    assert done.lines[0].startswith("you are amy, as before, in #dock,")
    assert "as before" in done.out
    assert tree(amy.directory, town.env["HOME"]) == before
    assert {path: content for path, content in tree(town.state).items() if path in kept} == kept
    assert amy.members() == ["amy"]


def test_a_dry_run_tells_every_change_and_makes_none(town, real):
    nobody = Newcomer(town, "nest", REDISCHAT_URL="")
    before, stored = tree(town.root), real.everything()
    told = nobody("setup", "dock", "--as", "heron", "--dry-run").out
    for step in ("start the embedded broker", "be heron", "join #dock", "agent=heron", "git ignore .redischat/", "start the waker", '+    "SessionStart": ['):
        assert step in told, step
    assert "add Stop" in nobody("install", "--dry-run").out
    assert tree(town.root) == before
    nobody.person.env["REDISCHAT_URL"] = real.url
    nobody("setup", "dock", "--as", "heron")
    before, stored = tree(nobody.directory, town.env["HOME"]), real.everything()
    told = nobody("teardown", "--dry-run").out
    for step in ("leave #dock", "give the name back", "agent=heron", "remove our entry from Stop", '-    "SessionStart": ['):
        assert step in told, step
    assert "remove our entry from Stop" in nobody("uninstall", "--dry-run").out
    assert tree(nobody.directory, town.env["HOME"]) == before
    assert real.everything() == stored


def test_what_cannot_be_wired_is_refused_before_anything_is_done(amy, real):
    amy.settings.parent.mkdir()
    amy.settings.write_text('{\n  "hooks": {},\n}\n')
    before = tree(amy.directory)
    refused = amy("setup", "dock", "--as", "amy", "--json", code=1)
    error = json.loads(refused.err)
    assert (error["error"], error["line"]) == ("BAD_SETTINGS", 3)
    assert tree(amy.directory) == before
    assert not real.everything()


def test_a_broker_that_is_away_leaves_everything_as_it_was(town):
    nobody = Newcomer(town, "nest", REDISCHAT_URL="redis://127.0.0.1:1")
    before = tree(nobody.directory)
    assert nobody("setup", "dock", "--as", "heron", code=5).error == "BROKER_UNREACHABLE"
    assert tree(nobody.directory) == before


# Which harness.


def test_the_harness_of_this_shell_is_meant_else_those_on_the_path():
    assert detect.harnesses({"CLAUDECODE": "1", "PATH": ""})[0] == ["claude"]
    assert detect.harnesses({"CODEX_SANDBOX": "seatbelt", "PATH": ""})[0] == ["codex"]
    assert detect.harnesses({"GEMINI_CLI": "1", "PATH": ""})[0] == ["gemini"]
    assert detect.harnesses({"CODEX_HOME": "/x", "PATH": ""})[0] == [], "a place is no sign of running"
    assert chosen("codex,claude", {})[0] == ["claude", "codex"]
    assert chosen("none", {})[0] == []
    for wrong in ("claud", "none,codex"):
        with pytest.raises(Usage):
            chosen(wrong, {})


def test_none_is_wired_where_none_is_asked_for_and_the_name_is_the_shells(heron):
    done = heron("setup", "dock", "--as", "heron", "--harness", "none")
    assert not heron.settings.exists()
    assert "hooks" in done.out
    assert heron("whoami", "--json").record["held"]
    assert heron("waker", "status", "--json").record["running"] is False


def test_each_of_several_is_wired_in_its_own_file(heron, town):
    heron("setup", "dock", "--as", "heron", "--harness", "claude,codex,gemini,opencode")
    home = Path(town.env["HOME"])
    assert heron.settings.exists()
    for name in (".codex/hooks.json", ".gemini/settings.json", ".config/opencode/plugin/redischat.js"):
        assert "tick.py" in (home / name).read_text(), name
    plugin = (home / ".config/opencode/plugin/redischat.js").read_text()
    assert "@PYTHON@" not in plugin


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/home/x/.cache/uv/archive-v0/Ab3/bin/python", "uvx"),
        ("/home/x/.cache/uv/environments-v2/tool-1/bin/python", "uv"),
        ("/home/x/.local/pipx/.cache/d3/bin/python", "pipx"),
        ("/home/x/.cache/pipx/d3/bin/python", "pipx"),
        ("/tmp/venv/bin/python", "temporary"),
        ("/var/folders/zz/T/venv/bin/python", "temporary"),
        ("/home/x/.local/share/uv/tools/redischat/bin/python", ""),
        ("/home/x/.local/share/pipx/venvs/redischat/bin/python", ""),
        ("/home/x/project/.venv/bin/python", ""),
    ],
)
def test_an_environment_that_will_soon_be_gone_is_known_by_its_place(path, why):
    found = detect.fleeting(path, {})
    assert why in found
    assert bool(found) is bool(why)


def test_from_a_temporary_environment_nothing_is_wired_and_the_lasting_way_is_named(town):
    nobody = Newcomer(town, "nest")
    venv = Path(town.root) / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    (venv / "pyvenv.cfg").write_text(f"home = {os.path.dirname(os.path.realpath(sys.executable))}\n")
    places = os.pathsep.join([nobody.town.env["PYTHONPATH"], *(path for path in sys.path if path.endswith("site-packages"))])
    before = tree(nobody.directory)
    words = f"{venv}/bin/python -m redischat setup dock --as heron"
    refused = nobody.person.shell(words, PYTHONPATH=places)
    assert refused.code == 1, refused
    assert refused.error == "NOT_LASTING"
    assert "uv tool install redischat" in refused.err
    assert "redischat setup dock --as heron" in refused.err
    assert tree(nobody.directory) == before
    assert nobody.person.shell(words + " --harness none", PYTHONPATH=places).code == 0, "what names no environment may be done from any"


def test_where_the_plugin_is_enabled_no_hook_is_put_beside_it(town, amy):
    settings = Path(town.env["HOME"]) / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"enabledPlugins": {"redischat@redischat": true}}')
    assert "plugin is enabled, and brings the hooks" in amy("setup", "dock", "--as", "amy").out
    assert not amy.settings.exists()
    assert "plugin" in amy("install", code=1).err


# install and uninstall alone.


def test_install_alone_wires_and_uninstall_restores_the_bytes(amy):
    amy.settings.parent.mkdir()
    amy.settings.write_text('{\n\t"permissions": {"allow": ["Bash(ls)"]}\n}')
    before = amy.settings.read_bytes()
    assert amy("install", "--check", code=1).out.startswith("claude hooks: none of ours")
    assert "add SessionStart" in amy("install").out
    assert amy("install", "--check").code == 0
    assert "as before" in amy("install").out
    assert not (Path(amy.directory) / ".redischat").exists()
    assert "remove our entry" in amy("uninstall").out
    assert amy.settings.read_bytes() == before
    assert "nothing to do" in amy("uninstall").out


def test_install_and_what_it_changed_as_records(amy):
    (row,) = amy("install", "--json").records
    assert (row["client"], row["path"], row["dry_run"]) == ("claude", str(amy.settings), False)
    assert "add Stop" in row["changes"]


def test_a_scope_that_no_harness_has_is_refused(amy):
    assert amy("install", "--scope", "world", code=64).error == "USAGE"
    assert amy("install", "--harness", "codex", "--scope", "local", code=64).error == "USAGE"


# Undoing.


def test_teardown_leaves_nothing_of_files_leases_locks_memberships_and_names(town, amy, real):
    (Path(amy.directory) / "a.txt").write_text("a")
    files, places = tree(amy.directory, town.env["HOME"]), folders(amy.directory)
    bob = Newcomer(town, "bob", SECOND)
    bob("setup", "dock", "--as", "bob")
    amy("setup", "dock", "--as", "amy")
    amy("open", "side")
    amy.hook("SessionStart", source="startup")
    amy("lock", "dock", "a.txt")
    amy("task", "create", "dock", "--title", "parse")
    amy("task", "claim", "dock", "T-1")
    amy("claim", "dock", "the-door")
    done = amy("teardown")
    said = done.out
    for step in ("ended the session", "gave back 1 lock, 1 task, 1 claim", "left #dock", "left #side", "gave the name back"):
        assert step in said, step
    assert said.index("gave back 1 lock") < said.index("left #dock") < said.index("gave the name back")
    assert tree(amy.directory, town.env["HOME"]) == files
    assert folders(amy.directory) == places
    assert bob("locks", "--all", "--json").out == ""
    assert bob("claims", "dock", "--json").out == ""
    assert bob("task", "show", "dock", "T-1", "--json").record["status"] == "open"
    assert bob.members() == ["bob"]
    assert real.ask("HGET", "rc1:{default}:agents", "amy").split(" ")[1] == "-"
    assert not [name for name in os.listdir(os.path.join(town.state, "sessions")) if name.startswith(FIRST)]
    assert bob("waker", "status", "--json").record["running"], "bob's session still needs it"
    assert amy.hook("PostToolBatch") == {}


def test_teardown_leaves_every_channel_of_every_session_of_the_project(town, amy):
    amy("setup", "dock", "--as", "amy")
    Newcomer(town, "amy", SECOND)("setup", "side", "--as", "bob")
    said = amy("teardown").out
    assert "amy: left #dock" in said
    assert "bob: left #side" in said


def test_what_a_person_set_up_and_no_session_took_is_left_too(heron):
    heron("setup", "dock", "--as", "heron")
    assert "heron: left #dock" in heron("teardown").out


def test_teardown_twice_is_once_and_setup_works_after_it(amy):
    amy("setup", "dock", "--as", "amy")
    amy("teardown")
    assert amy("teardown").out == "nothing is set up here\n"
    amy("reopen", "dock", "--as", "amy")
    assert amy("setup", "dock", "--as", "amy").lines[0].startswith("you are amy")


@pytest.mark.parametrize("name", ["caf\udce9", "a\tb", "a\nb", "a=b"])
def test_a_project_of_any_name_is_set_up_and_taken_down_without_a_trace(town, name):
    """A folder from an old disk may be called what is no UTF-8."""
    there = Newcomer(town, name)
    before = folders(there.directory), tree(there.directory)
    there("setup", "dock", "--as", "heron", "--harness", "claude")
    assert "you are heron" in str(there.hook("SessionStart", session="of-heron", source="startup"))
    there("teardown")
    assert (folders(there.directory), tree(there.directory)) == before


def test_a_file_that_another_project_counts_on_stays(town):
    program(town, "codex", "codex-cli 0.171.0")
    one, two = Newcomer(town, "one"), Newcomer(town, "two")
    for who, name in ((one, "heron"), (two, "lynx")):
        who("setup", "dock", "--as", name, "--harness", "codex")
    hooks = Path(town.env["HOME"]) / ".codex" / "hooks.json"
    before = hooks.read_bytes()
    for words in (["uninstall", "--dry-run"], ["uninstall"], ["teardown"], ["uninstall"]):
        said = one(*words).out
        assert f"it stays: {two.directory} counts on it. All the same: redischat uninstall --harness codex" in said, (words, said)
        assert hooks.read_bytes() == before, words
    two("teardown")
    assert not hooks.exists()


def test_a_file_that_another_project_counts_on_goes_when_its_harness_is_named_and_says_for_whom_it_was(town):
    one, two = Newcomer(town, "one"), Newcomer(town, "two")
    for who, name in ((one, "heron"), (two, "lynx")):
        who("setup", "dock", "--as", name, "--harness", "gemini")
    assert f"{two.directory} counted on it, too: redischat install --harness gemini" in one("uninstall", "--harness", "gemini").out
    assert not (Path(town.env["HOME"]) / ".gemini" / "settings.json").exists()


def test_what_somebody_else_wrote_into_the_projects_file_stays(heron):
    config = Path(heron.directory) / ".redischat" / "config"
    config.parent.mkdir()
    config.write_text("repository=host/repo\n")
    heron("setup", "dock", "--as", "heron")
    heron("teardown")
    assert config.read_text() == "repository=host/repo\n"


def test_a_project_belongs_to_one_workspace_and_the_one_before_is_left_by_name(town, amy):
    amy("setup", "dock", "--as", "amy", "--workspace", "old")
    assert os.listdir(os.path.join(town.state, "sessions"))
    done = amy("setup", "dock", "--as", "amy", "--workspace", "new")
    assert "redischat teardown --workspace old" in done.out
    assert amy("whoami", "--json").record["workspace"] == "new"
    assert "workspace=new\n" in (Path(town.state) / "sessions" / FIRST).read_text()
    assert "amy: left #dock" in amy("teardown", "--workspace", "old").out
    assert amy.settings.exists(), "the hooks are the new workspace's"
    assert amy.members() == ["amy"]


def test_teardown_of_an_embedded_broker_stops_it_when_nobody_needs_it(town):
    nobody = Newcomer(town, "nest", REDISCHAT_URL="")
    nobody("setup", "dock", "--as", "heron", "--harness", "none")
    try:
        assert nobody("server", "status", "--json").record["running"]
        assert "stopped the embedded broker" in nobody("teardown").out
        assert not nobody("server", "status", "--json").record["running"]
    finally:
        nobody("server", "stop", code=None)
