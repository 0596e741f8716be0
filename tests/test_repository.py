"""Which repository a place is in, and which file a path means: whoever stands anywhere in one repository, on any machine, names one file the same."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import unicodedata

import pytest

from redischat import checkout, names, repository
from redischat.errors import BadText, TooLarge
from redischat.errors.paths import PathLockInvalidPath, PathLockPathOutsideWorkspace
from redischat.settings import Settings, host

NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
URL = "https://example.org/team/quay.git"
KEY = "example.org/team/quay"


def settings_at(cwd, **env):
    return Settings({}, {"HOME": str(cwd), "REDISCHAT_STATE": str(cwd / "no-state"), **{name: str(value) for name, value in env.items()}}, str(cwd))


def found(cwd, given=None, **env):
    """The repository of somebody who stands in ``cwd``."""
    return repository.find(settings_at(cwd, **env), given, str(cwd))


def meant(cwd, text, given=None, **options):
    """The normal form of what somebody types who stands in ``cwd``."""
    return repository.path(found(cwd, given), str(text), str(cwd), **options)


def by_hand(root, config=f'[remote "origin"]\n\turl = {URL}\n'):
    """A checkout as far as we read one, without git."""
    git = root / ".git"
    (git / "objects").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text(config)
    return root


def configured(root, **facts):
    (root / ".redischat").mkdir(exist_ok=True)
    (root / ".redischat" / "config").write_text("".join(f"{key}={value}\n" for key, value in facts.items()), "utf-8")
    return root


@pytest.fixture
def git(monkeypatch):
    """Run git in a folder, as nobody in particular."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name in ("GLOBAL", "SYSTEM"):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", os.devnull)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "amy")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "amy@example.org")

    def run(folder, *words, date="2026-01-01T00:00:00Z"):
        env = {**os.environ, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(["git", "-c", "protocol.file.allow=always", *map(str, words)], cwd=folder, env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    return run


@pytest.fixture
def made(git, tmp_path):
    """Make a repository with one commit: ``made("quay")``; with an origin: ``made("quay", url)``."""

    def make(name, url=None):
        root = tmp_path / name
        (root / "src").mkdir(parents=True)
        (root / "src" / "a.py").write_text(name)
        git(root, "init", "-q", "-b", "main")
        git(root, "add", ".")
        git(root, "commit", "-q", "-m", name)
        if url:
            git(root, "remote", "add", "origin", url)
        return root

    return make


# Paths.


@pytest.fixture
def quay(tmp_path):
    """A checkout with src/a.py, and lib -> src."""
    root = by_hand(tmp_path / "quay")
    (root / "src").mkdir()
    (root / "src" / "a.py").touch()
    (root / "lib").symlink_to("src")
    return root


@pytest.mark.parametrize("there", [True, False], ids=["a file that is there", "a file that is not there yet"])
def test_every_spelling_of_one_file_is_one_path(quay, there):
    """PATH-01."""
    if not there:
        (quay / "src" / "a.py").unlink()
    for text in (
        "src/a.py",
        "./src/a.py",
        "src//a.py",
        "src/../src/a.py",
        quay / "src" / "a.py",
        "src/a.py/",
        "lib/a.py",
        quay / "lib" / "a.py",
        "lib/../src/a.py",
    ):
        assert meant(quay, text) == "src/a.py", text


def test_a_path_typed_in_a_folder_is_relative_to_that_folder(tmp_path):
    """PATH-09."""
    root = by_hand(tmp_path / "quay")
    (root / "packages" / "ui").mkdir(parents=True)
    for cwd, text in ((root, "packages/ui/src/a.ts"), (root / "packages" / "ui", "src/a.ts"), (root / "packages", "../packages/ui/src/a.ts")):
        assert meant(cwd, text) == "packages/ui/src/a.ts"
        assert found(cwd).digest == found(root).digest
    assert meant(root / "packages" / "ui", ".") == "packages/ui"
    assert meant(root / "packages" / "ui", "../..") == ""


def test_square_brackets_are_letters(tmp_path):
    """PATH-04."""
    root = by_hand(tmp_path / "quay")
    (root / "app" / "[id]").mkdir(parents=True)
    for text in ("app/[id]/page.tsx", "app/[[...sign-in]]/page.tsx"):
        assert meant(root, text) == text
    assert meant(root / "app", "[id]/page.tsx") == "app/[id]/page.tsx"
    assert meant(root, "app/[id]/*.tsx", glob=True) == "app"
    with pytest.raises(PathLockInvalidPath):
        meant(root, "app/**")


def test_a_pattern_is_read_where_it_is_typed(quay):
    assert meant(quay, "src/**/*.py", glob=True) == "src"
    assert meant(quay, "lib/*", glob=True) == "src"
    assert meant(quay, f"{quay}/src/*", glob=True) == "src"
    assert meant(quay / "src", "*.py", glob=True) == "src"
    assert meant(quay / "src", "../**", glob=True) == ""
    assert meant(quay / "src", "a.py", glob=True) == "src/a.py"
    for text in ("../*", "/*", "/**"):
        with pytest.raises(PathLockPathOutsideWorkspace):
            meant(quay, text, glob=True)
    with pytest.raises(PathLockInvalidPath):
        meant(quay, "src/*/../../..", glob=True)


@pytest.mark.parametrize("text", ["..", "../quay2/a", "/", "/etc/passwd", "out/a", "out", "src/../../b", "lib/../../b"])
def test_a_path_that_leads_out_is_refused_with_the_repository_and_how_it_was_found(quay, tmp_path, text):
    (tmp_path / "quay2").mkdir()
    (quay / "out").symlink_to(tmp_path / "quay2")
    with pytest.raises(PathLockPathOutsideWorkspace) as caught:
        meant(quay, text)
    assert (caught.value.facts["path"], caught.value.facts["repository"], caught.value.facts["how"]) == (text, KEY, "origin URL")
    assert caught.value.exit == 1


@pytest.mark.parametrize(
    "text", ["", "a\0b", "a\nb", "a\x7fb", "a\x85b", "a\udc80b", "\ud83d", "a\u202eb", "a\\b", "a:b", "a*", "con", "a. ", " ", ".git", ".git/index", "lib/../.git/config", "x" * 256]
)  # fmt: skip
def test_what_no_lock_can_hold_is_refused_as_it_was_typed(quay, text):
    with pytest.raises(PathLockInvalidPath) as caught:
        meant(quay, text)
    assert caught.value.facts["path"].encode() == text.encode("utf-8", "backslashreplace")


def test_a_link_into_gits_own_folder_is_refused(quay):
    (quay / "index").symlink_to(".git/index")
    with pytest.raises(PathLockInvalidPath):
        meant(quay, "index")


def test_a_link_to_a_file_is_the_file(quay):
    (quay / "b.py").symlink_to("src/a.py")
    (quay / "c.py").symlink_to("src/not_yet.py")
    assert meant(quay, "b.py") == "src/a.py"
    assert meant(quay, "c.py") == meant(quay, "src/not_yet.py") == "src/not_yet.py"


@pytest.mark.parametrize("text", ["one", "two", "one/a", "one/a/b/c", "src/../one", "not_yet/../one", "self", "self/x"])
def test_a_link_that_leads_to_itself_is_refused(quay, text):
    (quay / "one").symlink_to("two")
    (quay / "two").symlink_to("one")
    (quay / "self").symlink_to("self/x")
    with pytest.raises(PathLockInvalidPath):
        meant(quay, text)


def test_a_checkout_that_is_reached_through_a_link_is_the_same(quay, tmp_path):
    (tmp_path / "door").symlink_to(quay)
    assert meant(tmp_path / "door", "src/a.py") == "src/a.py"
    assert meant(tmp_path / "door" / "lib", "a.py") == "src/a.py"
    assert meant(quay, tmp_path / "door" / "src" / "a.py") == "src/a.py"
    assert found(tmp_path / "door").root == found(quay).root == os.path.realpath(quay)


def test_decomposed_and_composed_names_meet(quay):
    composed = "docs/se\u00f1ales.md"
    (quay / "docs").mkdir()
    (quay / unicodedata.normalize("NFD", composed)).touch()
    assert meant(quay, composed) == meant(quay, unicodedata.normalize("NFD", composed)) == composed


def test_a_checkout_whose_folder_has_an_odd_name_is_none_the_worse(tmp_path):
    root = by_hand(tmp_path / "a:b \udc80*\u202e.")
    assert meant(root, "src/a.py") == meant(root, root / "src" / "a.py") == "src/a.py"


def test_without_case_a_name_is_spelt_as_the_disk_spells_it(quay, monkeypatch):
    (quay / "src" / "ReadMe.md").touch()
    assert meant(quay, "src/readme.md") == "src/readme.md"
    monkeypatch.setattr(repository, "_caseless", lambda _root: True)
    for text in ("src/ReadMe.md", "src/readme.md", "SRC/README.MD"):
        assert meant(quay, text) == "src/ReadMe.md"
    assert meant(quay, "SRC/Not_Yet/A.py") == "src/Not_Yet/A.py"
    (quay / "src" / "readme.md").touch()
    assert {meant(quay, text) for text in ("src/ReadMe.md", "src/readme.md")} == {"src/ReadMe.md", "src/readme.md"}


def test_this_file_system_is_asked_whether_it_has_case(quay):
    without = (quay / ".GIT").exists()
    (quay / "A").touch()
    assert (meant(quay, "a") == "A") is without


# Keys.


def test_an_origin_is_the_key_and_nothing_is_started_to_read_it(quay, monkeypatch):
    monkeypatch.setitem(sys.modules, "subprocess", None)
    repo = found(quay)
    assert (repo.key, repo.how, repo.root) == (KEY, "origin URL", os.path.realpath(quay))
    assert len(repo.digest) == 16
    assert repo.digest == found(quay / "src").digest
    assert not hasattr(repo, "__dict__")


@pytest.mark.parametrize(
    "config",
    [
        f'[remote "origin"]\nurl={URL}\n',
        f'\ufeff[core]\r\n\tbare = false\r\n[remote "origin"]\r\n\turl = {URL}\r\n\tfetch = x\r\n',
        f'[REMOTE "origin"]\n URL =   {URL}   # mine\n',
        f'[remote "origin"] url = {URL} ; mine\n',
        f"[remote.origin]\nurl = {URL}",
        f'[remote "other"]\nurl = https://example.org/x\n[remote "origin"]\n# url = https://example.org/y\n;url = z\nfetch = +x\nurl = "{URL}"\n',
        '[remote "origin"]\nurl = "https://example.org/te\\\nam/qu"ay\n',
        f'[alias]\nx = a\\\n[remote "other"]\n[remote "origin"]\nurl =\nurl = {URL}\nurl = https://example.org/second\n',
    ],
)  # fmt: skip
def test_an_origin_is_read_however_it_is_written(tmp_path, config):
    assert found(by_hand(tmp_path / "quay", config)).key == KEY


@NEEDS_GIT
@pytest.mark.parametrize("url", ["a b", 'a"b', "a\\b", "a#b", "a;b", " a ", "a\tb", "a\\", '"', "\u00e9", "a=b]c"])
def test_what_git_writes_as_an_origin_is_what_is_read(made, git, url):
    root = made("quay")
    git(root, "config", "remote.origin.url", url)
    assert checkout.origin(str(root / ".git")) == git(root, "config", "remote.origin.url").strip("\n") or url != url.strip()
    assert checkout.origin(str(root / ".git")) == url


@NEEDS_GIT
def test_worktrees_clones_and_folders_of_one_repository_meet(made, git, tmp_path):
    """PATH-03."""
    main = made("quay", URL)
    git(main, "worktree", "add", "-q", "../two", "-b", "two")
    git(main, "worktree", "add", "-q", "trees/three", "-b", "three")
    git(tmp_path, "clone", "-q", main, "by-path")
    git(tmp_path, "clone", "-q", f"file://{main}", "by-file-url")
    git(tmp_path, "clone", "-q", main / ".git", "by-git-folder")
    git(tmp_path, "clone", "-q", tmp_path / "by-path", "of-a-clone")
    git(tmp_path, "clone", "-q", tmp_path / "two", "of-a-worktree")
    git(tmp_path, "clone", "-q", main, "by-ssh")
    git(tmp_path / "by-ssh", "remote", "set-url", "origin", "ssh://git@Example.org:22/team/quay/")
    git(tmp_path, "clone", "-q", "--mirror", main, "bare.git")
    git(tmp_path, "clone", "-q", tmp_path / "bare", "by-bare")
    git(tmp_path / "bare.git", "worktree", "add", "-q", "../of-a-bare-one", "main", "-f")
    rooms = ["quay", "two", "quay/trees/three", "by-path", "by-file-url", "by-git-folder", "of-a-clone", "of-a-worktree", "by-ssh", "by-bare", "of-a-bare-one"]
    for room in rooms:
        for cwd, text in ((tmp_path / room, "src/a.py"), (tmp_path / room / "src", "a.py"), (tmp_path / room / "src" / "not" / "there", "../../a.py")):
            repo = found(cwd)
            assert (repo.key, repo.root) == (KEY, os.path.realpath(tmp_path / room)), cwd
            assert repository.path(repo, text, str(cwd)) == "src/a.py"
    assert found(tmp_path / "two").how == "origin URL"
    assert found(tmp_path / "by-path").how == "origin URL, of its local origin"


@NEEDS_GIT
def test_a_file_in_another_worktree_of_the_repository_is_the_same_file(made, git, tmp_path):
    main = made("quay", URL)
    git(main, "worktree", "add", "-q", "trees/two", "-b", "two")
    git(tmp_path, "clone", "-q", main, "clone")
    for cwd, text in ((main, "trees/two/src/a.py"), (main / "trees" / "two", main / "src" / "a.py"), (main, tmp_path / "clone" / "src" / "a.py")):
        assert meant(cwd, text) == "src/a.py"
    assert meant(main, "trees") == "trees"
    assert meant(main, "trees/two") == ""


@NEEDS_GIT
def test_a_submodule_is_a_repository_of_its_own(made, git):
    outer, inner = made("quay", URL), made("crane", "https://example.org/team/crane")
    git(outer, "submodule", "add", "-q", inner, "crane")
    assert found(outer / "crane" / "src").key == "example.org/team/crane"
    assert meant(outer / "crane", "src/a.py") == "src/a.py"
    assert meant(outer, "crane") == "crane"
    for text in ("crane/src/a.py", "crane/src", "crane/not_yet"):
        with pytest.raises(PathLockPathOutsideWorkspace) as caught:
            meant(outer, text)
        assert "example.org/team/crane" in caught.value.facts["why"]
    with pytest.raises(PathLockPathOutsideWorkspace):
        meant(outer / "crane", "../src/a.py")


@NEEDS_GIT
def test_without_an_origin_the_first_commit_is_the_key(made, git, tmp_path):
    main = made("quay")
    first = git(main, "rev-parse", "HEAD")
    git(main, "commit", "-q", "--allow-empty", "-m", "second", date="2026-01-02T00:00:00Z")
    git(main, "worktree", "add", "-q", "../two", "-b", "two")
    git(tmp_path, "clone", "-q", main, "clone")
    shutil.copytree(main, tmp_path / "copy")
    for room in ("quay", "quay/src", "two", "clone", "copy"):
        assert found(tmp_path / room).key == first, room
    assert found(main).how == "first root commit"
    assert found(tmp_path / "clone").how == "first root commit, of its local origin"


@NEEDS_GIT
def test_a_branch_without_a_past_changes_no_key(made, git, tmp_path):
    main = made("quay")
    first = git(main, "rev-parse", "HEAD")
    git(main, "worktree", "add", "-q", "--detach", "../pages")
    for number in range(8):
        git(tmp_path / "pages", "checkout", "-q", "--orphan", f"pages{number}")
        git(tmp_path / "pages", "commit", "-q", "-m", f"pages {number}", date="2026-01-03T00:00:00Z")
    assert found(tmp_path / "pages").key == found(main).key == first


@NEEDS_GIT
def test_a_hooks_environment_changes_nothing(made, git, tmp_path, monkeypatch):
    main, other = made("quay"), made("crane")
    first = git(main, "rev-parse", "HEAD")
    for name, value in (("GIT_DIR", other / ".git"), ("GIT_WORK_TREE", other), ("GIT_INDEX_FILE", other / "x"), ("GIT_OBJECT_DIRECTORY", tmp_path)):
        monkeypatch.setenv(name, str(value))
    assert found(main).key == first


@NEEDS_GIT
def test_another_users_checkout_is_read_and_nothing_of_it_is_run(made, git, tmp_path):
    main = made("quay")
    git(main, "commit", "-q", "--allow-empty", "-m", "second")
    first, ran = git(main, "rev-parse", "HEAD^"), tmp_path / "ran"
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "remote.up.uploadpack", "core.hooksPath", "core.alternateRefsCommand", "core.gitProxy"):
        git(main, "config", name, f"touch {ran};:")
    git(main, "config", "remote.up.url", f"ext::touch {ran}")
    git(main, "config", "remote.up.promisor", "true")
    git(main, "config", "extensions.partialClone", "up")
    git(main, "config", "core.repositoryFormatVersion", "1")
    git(main, "config", "protocol.allow", "always")
    git(main, "config", "protocol.ext.allow", "always")
    assert found(main).key == first
    os.unlink(main / ".git" / "objects" / first[:2] / first[2:])
    repo = found(main)
    assert (repo.key, repo.how) == (f"{host()}:{main}", "this path: git cannot read it")
    assert not ran.exists()


@NEEDS_GIT
def test_a_shallow_clones_first_commit_is_none(made, git, tmp_path):
    main = made("quay")
    git(main, "commit", "-q", "--allow-empty", "-m", "second")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{main}", "shallow")
    assert found(tmp_path / "shallow").key == found(main).key
    git(tmp_path / "shallow", "remote", "remove", "origin")
    git(tmp_path / "shallow", "worktree", "add", "-q", "../two", "-b", "two")
    for room in ("shallow", "two"):
        repo = found(tmp_path / room)
        assert (repo.key, repo.how) == (f"{host()}:{tmp_path / 'shallow'}", "this path: a shallow clone has no first commit")


@NEEDS_GIT
def test_a_repository_without_a_commit_is_its_folder(git, tmp_path):
    git(tmp_path, "init", "-q", "quay")
    repo = found(tmp_path / "quay")
    assert (repo.key, repo.how) == (f"{host()}:{tmp_path / 'quay'}", "this path: it has no commit yet")
    git(tmp_path, "clone", "-q", "quay", "clone")
    assert found(tmp_path / "clone").key == repo.key


@NEEDS_GIT
def test_worktrees_beside_a_bare_repository_meet(made, git, tmp_path):
    main = made("quay")
    home = tmp_path / "home"
    home.mkdir()
    git(tmp_path, "clone", "-q", "--bare", main, "home/.bare")
    git(home / ".bare", "remote", "remove", "origin")
    (home / ".git").write_text("gitdir: ./.bare\n")
    git(home, "worktree", "add", "-q", "one", "main")
    assert found(home / "one").key == found(home).key == git(main, "rev-parse", "HEAD")
    configured(home, repository="quay")
    assert found(home / "one").key == found(home).key == "quay"


@NEEDS_GIT
def test_a_git_folder_elsewhere_is_followed(git, tmp_path):
    git(tmp_path, "init", "-q", "--separate-git-dir", tmp_path / "store", "quay")
    git(tmp_path / "quay", "remote", "add", "origin", URL)
    assert found(tmp_path / "quay").key == KEY


def test_where_git_is_missing_the_folder_is_the_key(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    repo = found(by_hand(tmp_path / "quay", ""))
    assert (repo.key, repo.how) == (f"{host()}:{tmp_path / 'quay'}", "this path: git is not installed")


def test_a_git_that_hangs_is_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "git").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(checkout, "GIT_SECONDS", 0.05)
    repo = found(by_hand(tmp_path / "quay", ""))
    assert repo.key == f"{host()}:{tmp_path / 'quay'}"
    assert repo.how.startswith("this path: git did not")


def test_clones_in_a_circle_meet_and_end(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for one, other in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "c"), ("self", "self")):
        by_hand(tmp_path / one, f'[remote "origin"]\nurl = ../{other}\n')
    assert {found(tmp_path / one).key for one in "abcd"} == {f"{host()}:{tmp_path / 'a'}"}
    assert found(tmp_path / "self").key == f"{host()}:{tmp_path / 'self'}"


def test_a_long_line_of_clones_ends(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for number in range(30):
        by_hand(tmp_path / str(number), f'[remote "origin"]\nurl = ../{number + 1}\n')
    assert found(tmp_path / "0").key == f"{host()}:{tmp_path / '20'}"


def test_an_origin_that_is_gone_counts_for_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for number, url in enumerate(["/nowhere/quay", "file:///nowhere", "quay", "x" * 300, "a\0b", "ext::sh -c x", "https://example.org/a%0ab", "\udcff"]):
        root = by_hand(tmp_path / str(number), "")
        (root / ".git" / "config").write_bytes(f'[remote "origin"]\nurl = {url}\n'.encode("utf-8", "surrogateescape"))
        assert found(root).key == f"{host()}:{root}", url


def test_where_there_is_no_git_the_projects_folder_is_the_repository(tmp_path):
    project = configured(tmp_path, workspace="w")
    (project / "src").mkdir()
    repo = found(project / "src")
    assert (repo.key, repo.how, repo.root) == (f"{host()}:{project}", "this path: no git repository", str(project))
    assert meant(project / "src", "a.py") == "src/a.py"
    with pytest.raises(PathLockPathOutsideWorkspace):
        meant(project, "..")


def test_from_outside_the_projects_repository_is_meant(quay, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    repo = found(tmp_path / "elsewhere", CLAUDE_PROJECT_DIR=quay / "src")
    assert (repo.key, repo.root) == (KEY, os.path.realpath(quay))
    assert repository.path(repo, str(quay / "src" / "a.py"), str(tmp_path / "elsewhere")) == "src/a.py"
    with pytest.raises(PathLockPathOutsideWorkspace):
        repository.path(repo, "a.py", str(tmp_path / "elsewhere"))


def test_the_repository_where_one_stands_is_meant_not_the_projects(quay, tmp_path):
    configured(quay, repository="quays own")
    crane = by_hand(tmp_path / "crane", '[remote "origin"]\nurl = git@example.org:team/crane\n')
    assert found(crane, CLAUDE_PROJECT_DIR=quay).key == "example.org/team/crane"


def test_a_folder_that_is_gone_can_still_be_stood_in(quay, monkeypatch, tmp_path):
    gone = quay / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.setenv("PWD", str(gone))
    place = settings_at(gone)
    gone.rmdir()
    assert repository.find(place).key == KEY
    monkeypatch.chdir(tmp_path)


def test_a_project_can_say_which_repository_it_is(quay):
    configured(quay, repository="git@Example.org:team/dock.git")
    repo = found(quay / "src")
    assert (repo.key, repo.how, repo.root) == ("example.org/team/dock", ".redischat/config", os.path.realpath(quay))


@NEEDS_GIT
def test_what_the_main_worktree_says_counts_in_the_others(made, git, tmp_path):
    main = configured(made("quay"), repository="the quay")
    git(main, "worktree", "add", "-q", "../two", "-b", "two")
    git(tmp_path, "clone", "-q", main, "clone")
    for room in (main, tmp_path / "two", tmp_path / "clone"):
        assert found(room).key == "the quay"
    assert found(tmp_path / "two").how == ".redischat/config"


def test_a_bad_key_is_refused_with_where_it_stands(quay):
    configured(quay, repository="a\x1bb")
    with pytest.raises(BadText) as caught:
        found(quay)
    assert ".redischat/config" in caught.value.sentence()
    with pytest.raises(TooLarge):
        found(quay, "k" * 501)
    with pytest.raises(BadText):
        found(quay, "")


def test_this_checkouts_own_key_given_changes_nothing_but_how(quay):
    repo = found(quay / "src", "ssh://git@example.org/team/quay")
    assert (repo.key, repo.how, repo.root) == (KEY, "--repo", os.path.realpath(quay))
    assert meant(quay / "src", "a.py", KEY) == "src/a.py"


def test_the_path_that_is_a_key_can_be_given(tmp_path):
    key = found(tmp_path).key
    assert found(tmp_path, key).root == str(tmp_path)


def test_paths_of_a_repository_that_is_not_here_are_relative_to_its_root(quay, tmp_path):
    for cwd in (quay, tmp_path):
        repo = found(cwd, "example.org/team/crane")
        assert (repo.key, repo.how, repo.root) == ("example.org/team/crane", "--repo", "")
        assert repository.path(repo, "./lib/../lib/a.py", str(cwd)) == "lib/a.py"
        assert repository.path(repo, "lib/**", str(cwd), glob=True) == "lib"
        for text in (str(quay / "src"), "../a"):
            with pytest.raises(PathLockInvalidPath):
                repository.path(repo, text, str(cwd))


# Hostile folders.


@pytest.mark.parametrize(
    "said", ["gitdir: /\n", "gitdir: \n", "gitdir: /dev/zero\n", "gitdir: ../../../../etc\n", "gitdir: a\0b\n", "gitdir: .\n", "gitdir: .git\n", "junk", "", "gitdir: " + "x" * 9000]
)  # fmt: skip
def test_a_git_file_that_leads_nowhere_is_a_root_of_its_own(tmp_path, said):
    root = tmp_path / "quay"
    root.mkdir()
    (root / ".git").write_text(said)
    repo = found(root)
    assert (repo.key, repo.how, repo.root) == (f"{host()}:{root}", "this path: its .git leads nowhere", str(root))


def test_only_small_regular_files_are_read_and_none_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    for number, make in enumerate([os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path), lambda path: os.symlink(path, path)]):
        root = by_hand(tmp_path / str(number))
        (root / ".git" / "config").unlink()
        make(str(root / ".git" / "config"))
        assert found(root).how == "this path: git is not installed"
    big = by_hand(tmp_path / "big", f'[remote "origin"]\nurl = {URL}\n' + "#" * checkout.CONFIG_BYTES)
    assert found(big).how == "this path: git is not installed"


def test_what_is_no_git_folder_is_passed_by(quay):
    for number, make in enumerate([os.mkdir, os.mkfifo, lambda path: os.symlink("/dev/null", path), lambda path: os.symlink("nowhere", path)]):
        folder = quay / "src" / str(number)
        folder.mkdir()
        make(str(folder / ".git"))
        assert found(folder).root == os.path.realpath(quay)
        assert meant(folder, "x") == f"src/{number}/x"


def test_a_password_of_an_origin_is_in_no_answer(tmp_path):
    repo = found(by_hand(tmp_path / "quay", '[remote "origin"]\nurl = https://amy:hunter2@example.org/team/quay\n'))
    assert repo.key == KEY
    with pytest.raises(PathLockPathOutsideWorkspace) as caught:
        repository.path(repo, "/x", "/")
    assert "hunter2" not in repr(caught.value.record())


# The model: files are what the system says they are.


class Tree:
    """A random tree in ``root`` (and a little beside it), and what the system itself knows of it: each folder's inode and that of its parent."""

    NAMES = ("a", "b", "c", "A", "se\u00f1al", "two words", "[id]", "...x", "~", "a.b")

    def __init__(self, root, dice):
        self.root, self.dice = root, dice
        self.folders, self.files, self.links = [root], [], []
        beside = root.parent / "beside"
        beside.mkdir()
        (beside / "a").touch()
        for _ in range(dice.randint(4, 25)):
            self.grow(dice.choice(self.folders) / dice.choice(self.NAMES), beside)
        self.parents = {}
        for at, folders, files in os.walk(root.parent):
            for name in folders + files:
                path = os.path.join(at, name)
                if not os.path.islink(path):
                    self.parents[os.stat(path).st_ino] = os.stat(at).st_ino

    def grow(self, place, beside):
        if os.path.lexists(place):
            return
        kind = self.dice.random()
        if kind < 0.45:
            place.mkdir()
            self.folders.append(place)
        elif kind < 0.65:
            place.touch()
            self.files.append(place)
        else:
            target = self.dice.choice([*self.folders, *self.files, *self.links, beside, place])
            place.symlink_to(target if self.dice.random() < 0.5 else os.path.relpath(target, os.path.realpath(place.parent)))
            self.links.append(place)

    def typed(self):
        """Where somebody stands, and what is typed there."""
        cwd = str(self.dice.choice([*self.folders, *(link for link in self.links if link.is_dir())]))
        steps = [self.dice.choice([*self.NAMES, "..", "..", ".", ""]) for _ in range(self.dice.randint(1, 7))]
        text = "/".join(steps)
        if self.dice.random() < 0.4:
            known = self.dice.choice([*self.folders, *self.files, *self.links])
            text = str(known) if self.dice.random() < 0.4 else os.path.relpath(known, os.path.realpath(cwd))
            text += self.dice.choice(["", "/", "/.", "/..", "/new", "/new/er"])
        return cwd, text.lstrip("/") if text.startswith("/") and not text.startswith(str(self.root)) else text

    def where(self, cwd, text):
        """What the system says: the chain of inodes from a file up, and the names that are not there yet; None if it does not know."""
        place, missing = os.path.join(cwd, text), list[str]()
        while True:
            try:
                ino = os.stat(place).st_ino
                break
            except OSError:
                head, tail = os.path.split(place.rstrip("/"))
                if os.path.lexists(place.rstrip("/")) or tail in ("", ".", ".."):
                    return None
                place, missing = head, [tail, *missing]
        if missing and not os.path.isdir(place):
            return None
        chain = [ino]
        while chain[-1] in self.parents:
            chain.append(self.parents[chain[-1]])
        return [*chain[::-1], *missing]


@pytest.mark.parametrize("seed", range(30))
def test_what_the_system_calls_one_file_is_one_path_and_nothing_else_is(tmp_path, seed):
    tree = Tree(by_hand(tmp_path / "quay"), random.Random(seed))
    repo, top, told = found(tree.root), os.stat(tree.root).st_ino, dict[str, list[tuple[list[int | str], str, str]]]()
    for _ in range(300):
        cwd, text = tree.typed()
        chain = tree.where(cwd, text) if text else None
        if chain is None:
            continue
        if top not in chain:
            with pytest.raises(PathLockPathOutsideWorkspace):
                repository.path(repo, text, cwd)
        else:
            told.setdefault(repository.path(repo, text, cwd), []).append((chain[chain.index(top) :], cwd, text))
    assert len(told) > 3
    agree(told)


def agree(told):
    """Each path is one file, each file one path, and one path is within another exactly where the file is."""
    for group in told.values():
        assert all(chain == group[0][0] for chain, _, _ in group), group
    rows = [(path.split("/") if path else [], group[0]) for path, group in told.items()]
    for path, (chain, *typed) in rows:
        for other, (within, *also) in rows:
            assert (other[: len(path)] == path) == (within[: len(chain)] == chain), (path, typed, other, also)


def test_a_path_is_the_same_before_and_after_the_file_is_made(tmp_path):
    tree = Tree(by_hand(tmp_path / "quay"), random.Random(7))
    repo = found(tree.root)
    for folder in tree.folders:
        before = repository.path(repo, "new/er.py", str(folder))
        (folder / "new").mkdir()
        (folder / "new" / "er.py").touch()
        assert repository.path(repo, "new/er.py", str(folder)) == before
        assert names.path(before) == before
