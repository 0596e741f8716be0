"""Hooks put into a harness's settings and taken out: what others wrote stays, what is not sound is refused, nothing is half done."""

from __future__ import annotations

import json
import os
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_install_text import texts

from redischat import install
from redischat.errors import CannotKeep, Refused, Usage
from redischat.install import record

NEW, OLD = "2.1.332 (Claude Code)", "2.1.83 (Claude Code)"
GUARDS = [{"matcher": f"M{n}", "hooks": [{"type": "command", "command": f"guard{n}.sh  --strict"}]} for n in range(3)]


class Place:
    """A project, a home and a checkout of ours, with one client's settings."""

    def __init__(self, root, client="claude", scope=None, version=NEW, text=""):
        self.client, self.version, self.scope, self.text = client, version, scope, text
        self.project, self.home, self.state = str(root / "project"), str(root / "home"), str(root / "state")
        self.python, self.tick = str(root / "venv/bin/python"), str(root / "checkout/hooks/tick.py")
        os.makedirs(self.project, exist_ok=True)
        os.makedirs(os.path.dirname(self.tick), exist_ok=True)
        os.makedirs(os.path.dirname(self.python), exist_ok=True)
        for path in (self.tick, self.python):
            with open(path, "w", encoding="utf-8") as file:
                file.write("# ours\n")
        self.path = install.targets(self.project, self.home, client, scope, {})

    def has(self, content):
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return self

    def bytes(self):
        with open(self.path, "rb") as file:
            return file.read()

    def json(self):
        return json.loads(self.bytes())

    def plan(self, **options):
        options = {"version": self.version, "state_dir": self.state, "text": self.text} | options
        return install.plan(self.client, self.path, options.pop("python", self.python), options.pop("tick", self.tick), **options)

    def plans(self, **options):
        options = {"version": self.version, "state_dir": self.state, "scope": self.scope, "env": {}} | options
        return install.plans(self.client, self.project, self.home, self.python, self.tick, **options)

    def put(self, **options):
        return install.apply(self.plan(**options))

    def out(self, **options):
        return install.apply(self.plan(remove=True, **options))

    def backups(self):
        return sorted(os.listdir(os.path.join(self.state, "backups"))) if os.path.isdir(os.path.join(self.state, "backups")) else []

    def stamp(self):
        return record.stamp(self.state, self.path)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_install_registers_every_event_and_uninstall_leaves_nothing(place):
    done = place.put()
    assert done.made
    assert done.changes == [f"add {name}" for name in place.json()["hooks"]]
    assert place.json()["hooks"]["Stop"] == [
        {"hooks": [{"type": "command", "command": place.python, "args": ["-I", "-S", place.tick, "claude"], "timeout": 10}]}
    ]
    assert place.bytes().endswith(b"}\n")
    place.out()
    assert os.listdir(place.project) == []
    assert os.listdir(os.path.join(place.state, "installed")) == []


def test_a_plan_touches_nothing_and_lists_every_change(place):
    place.has("{}")
    plan = place.plan()
    assert plan.changes
    assert plan.before == b"{}" == place.bytes()
    assert not os.path.exists(place.state)
    assert place.plan(remove=True).changes == []
    place.put()
    plan = place.plan(remove=True)
    assert plan.changes[0] == "remove our entry from SessionStart"
    assert len(plan.changes) == len(place.json()["hooks"])


def test_a_second_install_changes_nothing(place):
    place.put()
    before, stamp = place.bytes(), place.stamp()
    mtime = os.stat(place.path).st_mtime_ns
    done = place.put()
    assert done.changes == []
    assert not done.made
    assert (place.bytes(), place.stamp(), os.stat(place.path).st_mtime_ns, place.backups()) == (before, stamp, mtime, [])


def test_hookcfg_01_foreign_hooks_keep_content_and_order(place):
    hooks = dict.fromkeys(("SessionStart", "Stop", "PreToolUse"), GUARDS)
    text = json.dumps({"permissions": {"allow": ["Bash(ls:*)"]}, "hooks": hooks, "zzz": [1, {"a": None}]}, indent=5).replace('"zzz": [', '"zzz":    [')
    place.has(text)
    place.put()
    first = place.bytes()
    for name in hooks:
        assert place.json()["hooks"][name][:3] == GUARDS
        assert len(place.json()["hooks"][name]) == 4
    assert place.put().changes == []
    assert place.bytes() == first
    assert len(place.backups()) == 1
    with open(os.path.join(place.state, "backups", place.backups()[0]), encoding="utf-8") as file:
        assert file.read() == text
    place.out()
    assert place.bytes() == text.encode()
    assert place.out().changes == []


def test_backups_are_private_and_outside_the_project(place):
    place.has("{}").put()
    path = os.path.join(place.state, "backups", place.backups()[0])
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    assert ".redischat-bak-" in path
    assert os.listdir(os.path.dirname(place.path)) == [os.path.basename(place.path)]


def test_what_others_wrote_since_stays_at_uninstall(place):
    place.has('{\n  "a": 1\n}\n').put()
    held = place.json()
    held["hooks"]["Stop"].append(GUARDS[0])
    place.has(json.dumps(held | {"b": 2}, indent=2)).out()
    assert place.json() == {"a": 1, "b": 2, "hooks": {"Stop": [GUARDS[0]]}}


@pytest.mark.parametrize("text", ["{}", "{ }", "{\n}\n", '{"hooks":{ } }', '{"hooks": {"Stop": [ ], "Other": []}}', "", " \n", "\n{\r\n}"])
def test_places_that_were_there_and_empty_come_back_as_they_were(place, text):
    place.has(text).put()
    place.put(python="/other/python")
    place.out()
    assert place.bytes() == text.encode()


def test_places_that_were_empty_stay_though_the_file_was_rewritten(place):
    place.has('{"hooks": {"Stop": []}}').put()
    place.has(json.dumps(place.json() | {"b": 2})).out()
    assert place.json() == {"hooks": {"Stop": []}, "b": 2}


def test_a_file_that_install_made_stays_once_others_use_it(place):
    place.put()
    place.has(json.dumps(place.json() | {"b": 2})).out()
    assert place.json() == {"b": 2}


def test_a_file_that_install_made_and_the_client_rewrote_goes(place):
    place.put()
    place.has(json.dumps(place.json())).out()
    assert not os.path.exists(place.path)


def test_hookcfg_05_a_byte_order_mark_goes_and_line_ends_stay(place):
    text = b'\xef\xbb\xbf{\r\n  "a": "\xc3\xa9"\r\n}\r\n'
    done = place.has(text).put()
    assert "drop the byte order mark" in done.changes
    assert place.bytes().startswith(b'{\r\n  "a": "\xc3\xa9",\r\n  "hooks"')
    assert place.bytes().count(b"\n") == place.bytes().count(b"\r\n")
    place.out()
    assert place.bytes() == text.removeprefix(b"\xef\xbb\xbf")
    place.put()
    place.has(b"\xef\xbb\xbf" + place.bytes())
    assert place.put().changes == ["drop the byte order mark"]
    assert not place.bytes().startswith(b"\xef\xbb\xbf")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'{\n  "a": 1,\n}\n', 3),
        (b'{\n  "a": 1\n', 3),
        (b'{"hooks":\n []}', 2),
        (b'{"hooks": {"Stop": "x"}}', 1),
        (b"[]", 1),
        (b'{\n"a": "\xe9"}', 2),
        (b"\xff\xfe{\x00}\x00", 1),
    ],
)  # fmt: skip
def test_hookcfg_05_broken_settings_are_refused_with_the_line_and_stay_as_they_are(place, content, line):
    place.has(content)
    with pytest.raises(Refused) as caught:
        place.plan()
    assert caught.value.facts["line"] == line
    assert f"line {line}" in str(caught.value)
    assert place.bytes() == content
    assert place.backups() == []


def test_hookcfg_05_an_empty_file_is_an_empty_object(place):
    place.has("").put()
    assert "Stop" in place.json()["hooks"]


def test_hookcfg_05_a_read_only_file_is_refused_and_stays_as_it_is(place):
    place.has("{}")
    os.chmod(place.path, 0o444)
    plan = place.plan()
    with pytest.raises(CannotKeep):
        install.apply(plan)
    assert place.bytes() == b"{}"
    assert place.backups() == []
    assert os.listdir(os.path.dirname(place.path)) == [os.path.basename(place.path)]


def test_a_folder_that_may_not_be_written_is_refused(place, monkeypatch):
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    place.has("{}")
    monkeypatch.setattr(os, "replace", denied)
    with pytest.raises(CannotKeep):
        place.put()
    assert place.bytes() == b"{}"
    assert os.listdir(os.path.dirname(place.path)) == [os.path.basename(place.path)]


def test_hookcfg_05_a_link_into_a_dotfiles_repository_is_kept_and_its_target_updated(place, tmp_path):
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text('{"a": 1}')
    os.makedirs(os.path.dirname(place.path))
    os.symlink(os.path.relpath(dotfiles / "claude.json", os.path.dirname(place.path)), place.path)
    place.put()
    assert os.path.islink(place.path)
    assert "hooks" in json.loads((dotfiles / "claude.json").read_text())
    place.out()
    assert (dotfiles / "claude.json").read_text() == '{"a": 1}'
    assert os.path.islink(place.path)


def test_a_link_in_a_folder_that_everybody_may_write_to_is_not_followed(place, tmp_path):
    victim = tmp_path / "victim.json"
    victim.write_text("{}")
    os.makedirs(os.path.dirname(place.path))
    os.symlink(victim, place.path)
    os.chmod(os.path.dirname(place.path), 0o1777)
    with pytest.raises(Refused):
        place.plan()
    assert victim.read_text() == "{}"


def test_links_that_lead_in_a_circle_are_refused(place):
    os.makedirs(os.path.dirname(place.path))
    os.symlink(place.path, place.path + "2")
    os.symlink(place.path + "2", place.path)
    with pytest.raises(Refused):
        place.plan()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_file_is_refused_without_waiting_for_it(place, kind):
    os.makedirs(os.path.dirname(place.path))
    {"folder": os.mkdir, "pipe": os.mkfifo}[kind](place.path)
    with pytest.raises(Refused):
        place.plan()


def test_the_mode_of_the_file_is_kept(place):
    place.has("{}")
    os.chmod(place.path, 0o640)
    place.put()
    assert stat.S_IMODE(os.stat(place.path).st_mode) == 0o640


def test_a_change_of_the_file_after_the_plan_is_planned_again(place):
    plan = place.has('{"a": 1}').plan()
    place.has('{"b": 2}')
    install.apply(plan)
    assert place.json()["b"] == 2
    assert "hooks" in place.json()
    place.out()
    assert place.bytes() == b'{"b": 2}'


def test_a_change_of_the_file_while_it_is_written_is_not_lost(place, monkeypatch):
    plan, changes = place.has('{"a": 1}').plan(), iter(['{"b": 2}'])
    monkeypatch.setattr(os, "fsync", lambda _: [place.has(text) for text in changes])
    install.apply(plan)
    assert place.json()["b"] == 2
    assert "hooks" in place.json()
    assert len(place.backups()) == 1


def test_a_file_that_keeps_changing_is_refused_and_left(place, monkeypatch):
    plan, count = place.has('{"a": 0}').plan(), iter(range(1, 9))
    monkeypatch.setattr(os, "fsync", lambda _: place.has(json.dumps({"a": next(count)})))
    with pytest.raises(Refused):
        install.apply(plan)
    assert place.json() == {"a": 2}
    assert os.listdir(os.path.dirname(place.path)) == [os.path.basename(place.path)]
    assert place.backups() == []
    assert place.stamp() is None


def test_a_write_that_fails_leaves_the_file_whole(place, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    place.has('{"a": 1}')
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotKeep):
        place.put()
    assert place.bytes() == b'{"a": 1}'
    assert os.listdir(os.path.dirname(place.path)) == [os.path.basename(place.path)]


def test_a_state_directory_that_cannot_be_made_is_refused_before_anything_is_written(place, tmp_path):
    (tmp_path / "state").write_text("a file")
    with pytest.raises(CannotKeep):
        place.put()
    assert not os.path.exists(place.path)


def test_u03_a_stamp_tells_scripts_and_checkout_and_a_damaged_one_is_none(place):
    place.put()
    stamp = place.stamp()
    assert stamp["tick"] == place.tick
    assert stamp["checkout"] == os.path.dirname(os.path.dirname(place.tick))
    assert stamp["scripts"] == record.fingerprint(place.tick)
    assert (stamp["version"], stamp["client"], stamp["made"]) == (NEW, "claude", "yes")
    assert stamp["at"].endswith("Z")
    held = os.path.join(place.state, "installed", os.listdir(os.path.join(place.state, "installed"))[0])
    for damage in (b"", b"\xff\xfe\x00", b"client=claude\n", b"garbage"):
        with open(held, "wb") as file:
            file.write(damage)
        assert place.stamp() is None
    os.unlink(held)
    assert place.stamp() is None
    assert place.out().changes
    assert place.json() == {}


def test_a_stamp_follows_the_scripts_though_the_command_stays_the_same(place):
    place.put()
    before = place.stamp()["scripts"]
    with open(place.tick, "a", encoding="utf-8") as file:
        file.write("# more\n")
    assert place.put().changes == []
    assert place.stamp()["scripts"] != before


def test_u01_an_older_install_in_the_committed_settings_moves(place):
    tracked = Place.__new__(Place)
    tracked.__dict__ |= place.__dict__ | {"path": install.targets(place.project, place.home, "claude", "project", {})}
    text = json.dumps({"hooks": {"Stop": GUARDS}}, indent=2)
    tracked.has(text).put(tick="/old/hooks/tick.py")
    todo = place.plans()
    assert [one.path for one in todo] == [place.path, tracked.path]
    assert todo[1].changes[0].startswith(f"drop our old entry in {tracked.path}: ")
    for one in todo:
        install.apply(one)
    assert tracked.bytes() == text.encode()
    assert [one.changes for one in place.plans()] == [[]]
    assert "Stop" in place.json()["hooks"]


def test_an_install_for_one_project_leaves_the_users_own_settings(place, tmp_path):
    user = Place(tmp_path, scope="user")
    user.put()
    (todo,) = place.plans()
    assert todo.warnings == []
    user.put(tick="/old/hooks/tick.py")
    before = user.bytes()
    (todo,) = place.plans()
    assert len(todo.warnings) == 1
    install.apply(todo)
    for one in place.plans(remove=True):
        install.apply(one)
    assert user.bytes() == before


def test_broken_settings_elsewhere_are_a_warning(place, tmp_path):
    Place(tmp_path, scope="project").has("{,}")
    todo = place.plans()
    assert len(todo) == 1
    assert any("project/.claude/settings.json" in one for one in todo[0].warnings)


def test_u05_uninstall_takes_older_entries_from_every_file_of_the_project(place, tmp_path):
    tracked = Place(tmp_path, scope="project")
    tracked.put(tick="/old/hooks/tick.py")
    place.put(elsewhere=())
    for one in place.plans(remove=True):
        install.apply(one)
    assert not os.path.exists(place.path)
    assert not os.path.exists(tracked.path)
    assert [one.changes for one in place.plans(remove=True)] == [[]]
    place.put()
    assert "Stop" in place.json()["hooks"]


def test_never_plugin_and_settings_at_once(place, tmp_path):
    Place(tmp_path, scope="user").has('{"enabledPlugins": {"redischat@market": true, "other@market": true}}')
    with pytest.raises(Refused):
        place.plans()
    assert place.plans(remove=True)[0].changes == []
    place.has('{"enabledPlugins": {"redischat@market": false}}')
    assert place.plans()[0].changes
    place.has('{"enabledPlugins": {"redischat@market": true}}')
    with pytest.raises(Refused):
        place.plan()


def test_an_unknown_client_or_scope_is_a_usage_error(place):
    for client, scope in (("cursor", None), ("codex", "local"), ("claude", "global")):
        with pytest.raises(Usage):
            install.targets(place.project, place.home, client, scope, {})


def test_every_client_has_its_files(place):
    def at(client, scope=None, **env):
        return install.targets("/p", "/h", client, scope, env)

    assert at("claude") == "/p/.claude/settings.local.json"
    assert at("claude", "project") == "/p/.claude/settings.json"
    assert at("claude", "user") == "/h/.claude/settings.json"
    assert at("claude", "user", CLAUDE_CONFIG_DIR="/c") == "/c/settings.json"
    assert at("codex") == "/h/.codex/hooks.json"
    assert at("codex", CODEX_HOME="/c") == "/c/hooks.json"
    assert at("codex", "project") == "/p/.codex/hooks.json"
    assert at("gemini") == "/h/.gemini/settings.json"
    assert at("gemini", "project") == "/p/.gemini/settings.json"
    assert at("opencode") == "/h/.config/opencode/plugin/redischat.js"
    assert at("opencode", "project") == "/p/.opencode/plugin/redischat.js"
    assert install.others("/p", "/h", "claude", "/p/.claude/settings.json", {}) == ["/p/.claude/settings.local.json", "/h/.claude/settings.json"]
    assert place.scope is None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts(), st.sampled_from(["claude", "codex", "gemini"]), st.booleans(), st.sampled_from([NEW, OLD, None]))
def test_install_twice_and_uninstall_gives_back_every_byte_of_the_file(tmp_path, text, client, mark, version):
    place = Place(tmp_path, client, version=version).has((b"\xef\xbb\xbf" if mark else b"") + text.encode())
    try:
        place.put()
    except Refused:  # an event of this client whose value is no list of groups
        assert place.bytes() == (b"\xef\xbb\xbf" if mark else b"") + text.encode()
        return
    once = place.bytes()
    assert place.put().changes == []
    assert place.bytes() == once
    place.put(python="/other/python")
    place.out()
    assert place.bytes() == text.encode()
    assert place.out().changes == []
