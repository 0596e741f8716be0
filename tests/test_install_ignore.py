"""What we write in a project is kept out of git: only where git does not ignore it already, and without a trace once it is taken back."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from redischat.errors import CannotKeep
from redischat.install import ignore

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def repo(tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name in ("GLOBAL", "SYSTEM"):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", os.devnull)
    path = tmp_path / "repo"
    run(tmp_path, "init", "-q", str(path))
    return path


def run(at, *words):
    return subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@e", *words], cwd=at, check=True, capture_output=True, text=True).stdout


def exclude(repo):
    return repo / ".git" / "info" / "exclude"


def test_a_line_is_added_once_and_taken_back(repo):
    before = exclude(repo).read_text()
    assert ignore.ignored(repo, ignore.FOLDER) is False
    assert ignore.add(repo) == {ignore.FOLDER: "added"}
    (repo / ".redischat").mkdir()
    (repo / ".redischat" / "config").write_text("agent=amy\n")
    assert run(repo, "status", "--porcelain") == ""
    assert ignore.add(repo) == {ignore.FOLDER: "ignored"}
    assert ignore.remove(repo, dry=True) == [ignore.FOLDER]
    assert ignore.remove(repo) == [ignore.FOLDER]
    assert exclude(repo).read_text() == before
    assert ignore.remove(repo) == []


def test_a_dry_run_writes_nothing(repo):
    before = exclude(repo).read_text()
    assert ignore.add(repo, dry=True) == {ignore.FOLDER: "added"}
    assert exclude(repo).read_text() == before


@pytest.mark.parametrize("where", [".gitignore", ".git/info/exclude"])
def test_what_is_ignored_already_gets_no_line_and_keeps_the_users(repo, where):
    (repo / where).write_text(".redischat\n*.pyc")
    before = exclude(repo).read_text() if exclude(repo).exists() else ""
    assert ignore.add(repo) == {ignore.FOLDER: "ignored"}
    assert ignore.remove(repo) == []
    assert (exclude(repo).read_text() if exclude(repo).exists() else "") == before


def test_a_file_without_a_last_line_end_is_appended_to(repo):
    exclude(repo).write_bytes(b"*.pyc\r\n\xff")
    assert set(ignore.add(repo, [ignore.FOLDER, ignore.LOCAL_SETTINGS]).values()) == {"added"}
    assert exclude(repo).read_bytes().startswith(b"*.pyc\r\n\xff\n#")
    assert ignore.remove(repo, [ignore.FOLDER]) == [ignore.FOLDER]
    assert ignore.ignored(repo, ignore.LOCAL_SETTINGS)
    assert ignore.remove(repo) == [ignore.LOCAL_SETTINGS]
    assert exclude(repo).read_bytes() == b"*.pyc\r\n\xff\n"


def test_a_repository_without_an_info_folder_gets_one(repo):
    shutil.rmtree(exclude(repo).parent)
    assert ignore.add(repo) == {ignore.FOLDER: "added"}


def test_a_rule_of_the_repository_that_names_it_wins_and_nothing_is_written(repo):
    (repo / ".gitignore").write_text("!.redischat/\n")
    before = exclude(repo).read_text()
    assert ignore.add(repo) == {ignore.FOLDER: "overruled"}
    assert exclude(repo).read_text() == before


def test_one_line_serves_projects_within_a_repository_and_its_worktrees(repo):
    (repo / "sub").mkdir()
    assert ignore.add(repo / "sub") == {ignore.FOLDER: "added"}
    run(repo, "commit", "-q", "--allow-empty", "-m", "x")
    run(repo, "worktree", "add", "-q", "../tree")
    assert ignore.ignored(repo.parent / "tree", ignore.FOLDER) is True
    assert ignore.remove(repo.parent / "tree") == [ignore.FOLDER]
    assert ignore.ignored(repo, ignore.FOLDER) is False


def test_a_file_that_is_committed_is_told_apart(repo):
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.local.json").write_text("{}")
    assert ignore.tracked(repo, ignore.LOCAL_SETTINGS) is False
    run(repo, "add", "-f", ".claude")
    assert ignore.tracked(repo, ignore.LOCAL_SETTINGS) is True
    assert ignore.add(repo, [ignore.LOCAL_SETTINGS]) == {ignore.LOCAL_SETTINGS: "added"}


@pytest.mark.parametrize("kind", ["no repository", "no git", "broken"])
def test_where_git_cannot_tell_nothing_is_written_and_that_is_the_answer(repo, tmp_path, monkeypatch, kind):
    at = repo
    if kind == "no repository":
        at = tmp_path / "bare"
        at.mkdir()
    elif kind == "no git":
        monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    else:
        (repo / ".git" / "config").write_text("[broken")
    before = exclude(repo).read_text()
    assert ignore.ignored(at, ignore.FOLDER) is None
    assert ignore.tracked(at, ignore.FOLDER) is None
    assert ignore.add(at) == {ignore.FOLDER: "cannot tell"}
    assert exclude(repo).read_text() == before


def test_an_exclude_file_that_cannot_be_written_is_refused(repo):
    shutil.rmtree(exclude(repo).parent)
    exclude(repo).parent.write_text("no folder")
    with pytest.raises(CannotKeep):
        ignore.add(repo)


def test_git_variables_of_a_hook_lead_nowhere_else(repo, tmp_path, monkeypatch):
    run(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    (tmp_path / "other" / ".git" / "info" / "exclude").write_text(".redischat/\n")
    assert ignore.ignored(repo, ignore.FOLDER) is False
