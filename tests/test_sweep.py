"""After a shell command: what it wrote that others hold, though nothing could foresee it, is told to its agent once, and to the holder. Elsewhere it costs nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hooked import TICK, Session, scene_in

from redischat.hook import sweep
from redischat.repository import Repository

pytestmark = pytest.mark.real


@pytest.fixture
def scene(town):
    with scene_in(town) as one:
        yield one


def put(scene, path, text):
    whole = Path(scene.heron.directory, path)
    whole.parent.mkdir(parents=True, exist_ok=True)
    whole.write_text(text)
    return whole


def seen(scene):
    folder = Path(scene.town.state, "seen")
    return sorted(os.listdir(folder)) if folder.exists() else []


def run(scene, command, act=lambda: None):
    """heron's shell runs a command that does this; what heron is told afterwards."""
    before = scene.heron.types(command)
    assert before.text == "", before
    assert not before.denied, before
    act()
    return scene.heron.works().text


def notices(scene):
    return [one.body for one in scene.lynx.history("dock").messages if one.status == "overrun"]


def test_a_write_that_nothing_foresaw_is_told_with_holder_and_what_to_do(scene):
    put(scene, "src/db.py", "a")
    scene.locked("src/db.py")
    told = run(scene, "make build", lambda: put(scene, "src/db.py", "ab"))
    assert "changed while your command ran, and locked by others: src/db.py (bob's)" in told
    assert "redischat say dock - --to bob" in told
    assert notices(scene) == ["a command of heron changed src/db.py, which bob has locked; no hook could foresee it"]


def test_it_is_told_once_and_a_second_time_only_to_its_agent(scene):
    put(scene, "src/db.py", "a")
    scene.locked("src/db.py")
    run(scene, "make", lambda: put(scene, "src/db.py", "ab"))
    scene.heron.works()  # the notice itself
    assert "locked by others" not in scene.heron.works().text
    assert "src/db.py (bob's)" in run(scene, "make", lambda: put(scene, "src/db.py", "abc"))
    assert len(notices(scene)) == 1


def test_what_did_not_change_is_not_told(scene):
    put(scene, "src/db.py", "a")
    scene.locked("src/db.py")
    assert run(scene, "make", lambda: put(scene, "src/other.py", "b")) == ""
    assert (notices(scene), seen(scene)) == ([], [])


def test_in_a_locked_folder_new_changed_and_removed_files_are_told(scene):
    for name in ("a", "b", "c"):
        put(scene, f"src/{name}.py", name)
    scene.locked("src")

    def act():
        put(scene, "src/a.py", "changed")
        put(scene, "src/new.py", "new")
        Path(scene.heron.directory, "src/b.py").unlink()
        put(scene, "src/__pycache__/a.pyc", "x")

    told = run(scene, "./generate", act)
    assert "src/a.py (bob's); src/b.py (bob's); src/new.py (bob's)." in told


def test_a_locked_path_that_comes_to_be_is_told(scene):
    scene.locked("build/out.txt")
    assert "build/out.txt (bob's)" in run(scene, "make", lambda: put(scene, "build/out.txt", "x"))


def test_ones_own_locks_are_nobodys_business(scene):
    put(scene, "src/db.py", "a")
    scene.heron("lock", "dock", "src/db.py")
    assert run(scene, "make", lambda: put(scene, "src/db.py", "ab")) == ""


def test_a_lock_taken_while_it_ran_is_no_overrun(scene):
    put(scene, "src/db.py", "a")
    scene.locked("README.md")

    def act():
        scene.locked("src/db.py")
        put(scene, "src/db.py", "ab")

    assert "locked by others" not in run(scene, "make", act)


def test_where_the_holder_was_at_work_in_the_same_folder_it_is_not_accused_in_the_room(scene):
    put(scene, "src/db.py", "a")
    scene.locked("src/db.py")
    other = Session(scene.town, "p-heron", "ffffffff-1b6d-4bba-923f-7f4f7fc27df3", "claude", REDISCHAT_SESSION="of-bob")

    def act():
        put(scene, "src/db.py", "ab")
        other.env.pop("REDISCHAT_SESSION")
        words = scene.server.ask("HGET", "rc1:{default}:agents", "bob").split(" ")
        scene.server.ask("HSET", "rc1:{default}:agents", "bob", " ".join([words[0], words[1], other.id, *words[3:]]))
        now = int(scene.server.ask("TIME")[0]) * 1000 + 999
        seat = f"bob claude {words[3]} 1 working {now} {now} {now} file 0 0 0 0 0 {scene.heron.directory}"
        scene.server.ask("HSET", "rc1:{default}:presence", other.id, seat)

    told = run(scene, "make", act)
    assert "Or it was bob, at work here meanwhile." in told
    assert notices(scene) == []


def test_a_folder_without_git_is_swept_too(scene):
    subprocess.run(["rm", "-rf", f"{scene.heron.directory}/.git"], check=True)
    scene.begins()
    put(scene, "src/db.py", "a")
    scene.locked("src/db.py")
    assert "src/db.py (bob's)" in run(scene, "make", lambda: put(scene, "src/db.py", "ab"))


def test_a_write_that_the_guard_refused_leaves_nothing_to_sweep(scene):
    put(scene, "src/db.py", "a")
    scene.locked("src/db.py")
    assert scene.heron.types("echo x > src/db.py").denied
    assert seen(scene) == []


def test_where_nobody_holds_anything_the_package_is_not_even_loaded(scene):
    scene.heron.types("make")
    assert seen(scene) == []
    lines = (
        "import sys",
        "sys.argv = ['tick.py', 'claude']",
        f"sys.path.insert(0, {str(TICK.parent)!r})",
        "import asking",
        "asking.package = lambda *a: 9",
        "sys.exit(asking.main())",
    )
    code = "\n".join(lines)
    event = scene.heron.event("PostToolUse", tool_name="Bash", tool_input={"command": "make"})
    env = {**scene.town.env, **scene.heron.env, "CLAUDE_PROJECT_DIR": scene.heron.directory}
    words = [sys.executable, "-I", "-S", "-c", code]
    assert subprocess.run(words, input=json.dumps(event).encode(), env=env, check=False).returncode == 0
    put(scene, "src/db.py", "a")
    scene.locked("src/db.py")
    assert subprocess.run(words, input=json.dumps(event).encode(), env=env, check=False).returncode == 0, "a lock, and no command ran"
    scene.heron.types("make")
    assert subprocess.run(words, input=json.dumps(event).encode(), env=env, check=False).returncode == 9, "now there is something to look at"


def test_it_looks_at_so_many_files_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "FILES", 10)
    for n in range(20):
        (tmp_path / f"{n:02d}").write_text("x")
    look = sweep.Look(str(tmp_path), [sweep.Hold("", "bob", "l-1")])
    assert (len(look.files), look.whole) == (10, False)
    (tmp_path / "00").write_text("xy")
    (tmp_path / "000-new").write_text("x")
    again = sweep.Look(str(tmp_path), [sweep.Hold("", "bob", "l-1")])
    assert list(sweep.changed(look.files, again, whole=False)) == ["00"], "what was not looked at before is not called new"


def test_it_looks_for_so_long_and_no_longer(tmp_path, monkeypatch):
    monkeypatch.setattr(sweep, "SECONDS", -1)
    (tmp_path / "a").write_text("x")
    assert sweep.Look(str(tmp_path), [sweep.Hold("", "bob", "l-1")]).whole is False
    assert Repository("k", "how", str(tmp_path)).digest
