"""What each client is told, and what is said of what it was told: versions, shells, approvals, and each claim of a status on its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from test_install import NEW, OLD, Place

from redischat import install
from redischat.errors import Refused
from redischat.install import claude, codex, gemini, opencode, record
from redischat.install.command import words

BASH = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
BASE = ["SessionStart", "UserPromptSubmit", "PreToolUse"]


def status(place, **options):
    return install.installed(place.client, place.path, place.python, place.tick, **{"version": place.version, "state_dir": place.state} | options)


def handler(group):
    return group["hooks"][0]


def test_claude_is_told_only_the_events_that_its_version_knows():
    new, old = claude.wanted("/p", "/t/hooks/tick.py", NEW), claude.wanted("/p", "/t/hooks/tick.py", OLD)
    assert list(new) == [*BASE, "PostToolBatch", "Stop", "SessionEnd", "FileChanged"]
    assert list(old) == [*BASE, "PostToolUse", "PostToolUseFailure", "Stop", "SessionEnd", "FileChanged"]
    assert old == claude.wanted("/p", "/t/hooks/tick.py", None)
    assert list(claude.wanted("/p", "/t/hooks/tick.py", "2.1.196")) == list(old)
    assert list(claude.wanted("/p", "/t/hooks/tick.py", "2.1.197")) == list(new)
    assert new["PreToolUse"]["matcher"] == "Edit|MultiEdit|Write|NotebookEdit|Bash"
    assert [name for name in new if "matcher" in new[name]] == ["PreToolUse"]
    assert {name: handler(group)["timeout"] for name, group in new.items()} == dict.fromkeys(new, 10) | {"SessionEnd": 5}
    assert [name for name in new if "asyncRewake" in handler(new[name])] == ["FileChanged"]


def test_claude_gets_words_once_it_knows_them_and_a_line_before():
    def of(version):
        return handler(claude.wanted("/a b/python", "/t/hooks/tick.py", version)["Stop"])

    assert of("2.1.139") == {"type": "command", "command": "/a b/python", "args": ["-I", "-S", "/t/hooks/tick.py", "claude"], "timeout": 10}
    assert of("2.1.138") == {"type": "command", "command": "'/a b/python' -I -S /t/hooks/tick.py claude", "timeout": 10}


def test_a_claude_that_is_too_old_is_refused_and_an_unknown_one_is_a_warning(tmp_path):
    with pytest.raises(Refused):
        Place(tmp_path, version="2.1.82 (Claude Code)").plan()
    assert Place(tmp_path, version="2.1.82").plan(remove=True).changes == []
    assert len(Place(tmp_path, version=None).plan().warnings) == 1
    assert len(Place(tmp_path, version="claude: not found").plan().warnings) == 1
    assert Place(tmp_path, version="2.2.0-beta.1 (Claude Code)").plan().warnings == []


def test_after_an_update_of_claude_the_events_follow(tmp_path):
    place = Place(tmp_path, version=OLD)
    place.put()
    place.version = NEW
    assert [one for one in place.put().changes if "PostTool" in one] == [
        "remove our entry from PostToolUse",
        "remove our entry from PostToolUseFailure",
        "add PostToolBatch",
    ]
    assert status(place).complete


@BASH
@pytest.mark.parametrize("folder", ["plain", "Ana Li", "it's", 'say "hi"', "a$HOME`id`", "b\\c", "semi;colon & co", "\u00e9\u4e16"])
def test_hookcfg_03_the_command_line_runs_in_bash(tmp_path, folder):
    home = tmp_path / folder / "hooks"
    home.mkdir(parents=True)
    (home / "tick.py").write_text("import sys; print(sys.argv[1:], sys.flags.isolated, sys.flags.no_site, sys.stdin.read())")
    python = tmp_path / folder / "python 3"
    os.symlink(sys.executable, python)
    line = install.command_line(str(python), str(home / "tick.py"), "claude")
    for shell in ("bash", "sh"):
        done = subprocess.run([shell, "-c", line], input="event", capture_output=True, text=True, check=True, env={"HOME": "/x"})
        assert done.stdout == "['claude'] 1 1 event\n"


@BASH
def test_hookcfg_03_a_windows_path_reaches_its_program_with_forward_slashes(tmp_path):
    python, tick = "C:\\Users\\Ana Li\\AppData\\Local\\python.exe", "C:\\Users\\Ana Li\\redischat\\hooks\\tick.py"
    line = install.command_line(python, tick, "claude")
    assert line == '"C:/Users/Ana Li/AppData/Local/python.exe" -I -S "C:/Users/Ana Li/redischat/hooks/tick.py" claude'
    assert "cmd" not in line.split()
    done = subprocess.run(["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == words(python, tick, "claude")
    assert install.command_line("C:\\py\\python.exe", "\\\\srv\\x\\hooks\\tick.py", "codex") == "C:/py/python.exe -I -S //srv/x/hooks/tick.py codex"


def test_codex_gets_one_line_and_gemini_milliseconds():
    told, asked = codex.wanted("/p", "/t/hooks/tick.py", None), gemini.wanted("/p", "/t/hooks/tick.py", None)
    assert list(told) == ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd"]
    assert handler(told["Stop"]) == {"type": "command", "command": "/p -I -S /t/hooks/tick.py codex", "timeout": 10}
    assert told["PreToolUse"]["matcher"] == "Bash|apply_patch"
    assert handler(told["SessionEnd"])["timeout"] == 3
    assert list(asked) == ["SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent", "SessionEnd"]
    assert asked["BeforeTool"]["matcher"] == "replace|write_file|run_shell_command"
    assert {name: handler(group)["timeout"] for name, group in asked.items()} == dict.fromkeys(asked, 10_000) | {"SessionEnd": 5_000}


def approve(place, skip=(), spell=None, **more):
    """What Codex writes once its user has said yes."""
    rows = []
    for name, groups in place.json()["hooks"].items():
        for number, group in enumerate(groups):
            for at, _ in enumerate(group["hooks"]):
                if name not in skip:
                    key = f"{spell or place.path}:{codex.EVENTS[name]}:{number}:{at}"
                    rows += [f"[hooks.state.{json.dumps(key)}]", 'trusted_hash = "sha256:00"', *(f"{key} = {value}" for key, value in more.items())]
    with open(os.path.join(os.path.dirname(place.path), "config.toml"), "w", encoding="utf-8") as file:
        file.write("\n".join(rows))


def test_hookcfg_08_codex_hooks_are_absent_untrusted_or_trusted(tmp_path):
    place = Place(tmp_path, "codex")
    home = os.path.dirname(place.path)
    assert install.trust(home, place.path) == "absent"
    place.put()
    assert os.listdir(home) == ["hooks.json"]
    assert install.trust(home, place.path) == "untrusted"
    assert not status(place).complete
    approve(place, skip=["Stop"])
    assert install.trust(home, place.path) == "untrusted"
    approve(place)
    assert install.trust(home, place.path) == "trusted"
    assert status(place).trust == "trusted"
    approve(place, enabled="false")
    assert install.trust(home, place.path) == "untrusted"
    (tmp_path / "link").symlink_to(home)
    approve(place, spell=str(tmp_path / "link" / "hooks.json"))
    assert install.trust(home, place.path) == "trusted"
    with open(os.path.join(home, "config.toml"), "a", encoding="utf-8") as file:
        file.write("\n[features]\nhooks = false\n")
    assert install.trust(home, place.path) == "untrusted"
    with open(os.path.join(home, "config.toml"), "w", encoding="utf-8") as file:
        file.write("not toml")
    assert install.trust(home, place.path) == "untrusted"


def test_hookcfg_08_the_approval_is_never_written(tmp_path):
    place = Place(tmp_path, "codex")
    config = os.path.join(os.path.dirname(place.path), "config.toml")
    os.makedirs(os.path.dirname(config))
    with open(config, "w", encoding="utf-8") as file:
        file.write('model = "x"\n')
    place.put()
    place.out()
    with open(config, encoding="utf-8") as file:
        assert file.read() == 'model = "x"\n'


def test_an_update_keeps_the_places_of_codex_hooks_and_uninstall_warns_of_what_moves(tmp_path):
    place = Place(tmp_path, "codex")
    place.put(tick="/old/hooks/tick.py")
    held = place.json()
    held["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "guard"}]})
    place.has(json.dumps(held))
    approve(place)
    place.put()
    assert [handler(one)["command"] for one in place.json()["hooks"]["Stop"]] == [install.command_line(place.python, place.tick, "codex"), "guard"]
    todo = place.plan(remove=True)
    assert len(todo.warnings) == 1
    assert "Stop" in todo.warnings[0]


def test_opencode_gets_a_plugin_file_of_its_own(tmp_path):
    place = Place(tmp_path, "opencode", text='const python = "@PYTHON@", tick = "@TICK@";\n')
    assert place.put().changes == ["write the plugin"]
    assert place.bytes().decode() == f'{opencode.MARK}const python = "{place.python}", tick = "{place.tick}";\n'
    assert place.put().changes == []
    assert place.put(python="/other").changes == ["update the plugin"]
    assert status(place, text=place.text).drifted == ["plugin"]
    place.put()
    assert status(place, text=place.text).complete
    place.out()
    assert not os.path.exists(place.home)
    assert place.out().changes == []
    assert status(place, text=place.text).missing == ["plugin"]


def test_a_plugin_of_that_name_that_is_not_ours_is_left(tmp_path):
    place = Place(tmp_path, "opencode", text="x").has("export const mine = 1\n")
    with pytest.raises(Refused):
        place.plan()
    assert place.out().changes == []
    assert place.bytes() == b"export const mine = 1\n"


def test_hookcfg_06_a_fresh_worktree_has_no_hooks_and_is_told_so(tmp_path):
    first, second = Place(tmp_path / "one"), Place(tmp_path / "two")
    first.put()
    found = status(second)
    assert not found.exists
    assert found.missing == found.wanted == list(claude.wanted("/p", "/t", NEW))
    assert (found.registered, found.stamp, found.stale, found.complete) == ([], None, None, False)


def test_hookcfg_07_an_event_that_another_installer_dropped_is_named_and_put_back(tmp_path):
    place = Place(tmp_path)
    place.put()
    assert status(place).complete
    held = place.json()
    del held["hooks"]["Stop"]
    place.has(json.dumps(held))
    found = status(place)
    assert found.missing == ["Stop"]
    assert not found.complete
    assert place.put().changes == ["add Stop"]
    found = status(place)
    assert found.missing == []


def test_each_claim_of_a_status_stands_alone(tmp_path):
    place, user = Place(tmp_path), Place(tmp_path, scope="user")
    user.put()
    place.put(tick="/old/hooks/tick.py")
    held = place.json()
    mine = json.loads(json.dumps(held["hooks"]["Stop"][0]).replace("/old/hooks/tick.py", place.tick))
    held["hooks"] |= {"Stop": [mine, mine], "SessionEnd": [{**mine, "matcher": "x"}], "Notification": [mine]}
    place.has(json.dumps(held | {"disableAllHooks": True}))
    found = status(place, elsewhere=[user.path])
    assert found.doubled == ["Stop"]
    assert found.drifted == ["SessionEnd"]
    assert found.strays == ["Notification"]
    assert found.builds == ["/old/hooks/tick.py"]
    assert found.gone == ["/old/hooks/tick.py"]
    assert found.off == ["disableAllHooks"]
    assert found.elsewhere == {user.path: list(user.json()["hooks"])}
    assert (found.missing, found.error, found.plugin, found.trust) == ([], "", False, "")


def test_a_status_says_what_it_could_not_look_at(tmp_path):
    place, user = Place(tmp_path).has('{\n"a": 1,}'), Place(tmp_path, scope="user").has('{"enabledPlugins": {"redischat@x": true}}')
    found = status(place, elsewhere=[user.path])
    assert "line 2" in found.error
    assert found.plugin is True
    user.has("{,}")
    found = status(place.has("{}"), elsewhere=[user.path])
    assert (found.error, found.plugin) == ("", None)
    odd = Place(tmp_path / "odd", "codex")
    os.makedirs(odd.path)
    found = status(odd)
    assert found.error
    assert (found.trust, found.complete) == ("absent", False)


def test_scripts_that_changed_behind_the_same_command_are_stale(tmp_path):
    place = Place(tmp_path)
    place.put()
    assert status(place).stale is False
    with open(place.tick, "a", encoding="utf-8") as file:
        file.write("# more\n")
    assert status(place).stale is True
    assert record.fingerprint("/nowhere/hooks/tick.py") == ""


def test_gemini_says_which_switches_silence_it(tmp_path):
    place = Place(tmp_path, "gemini")
    place.has('{"hooksConfig": {"enabled": false, "disabled": ["redischat"]}}').put()
    assert len(status(place).off) == 2
