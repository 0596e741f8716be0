"""The commit guard: a commit of what somebody else holds is stopped, whatever the file is called; everything else goes through."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli import scratch, town_with

TTL = ("--ttl", "600")


class Checkout:
    """lynx's checkout of a repository; heron works in another worktree of it."""

    def __init__(self, town):
        self.town = town
        self.lynx = town.person("tree", CLAUDE_CODE_SESSION_ID="lynx-session", PATH=town.env["PATH"])
        self.folder = self.lynx.directory
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "lynx")
        self.git("config", "user.email", "lynx@example.org")
        for name in ("docs/señales.md", "docs/two words.md", "docs/free.md", "packages/ui/src/a.ts"):
            self.write(name, f"{name}\n" * 9)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "first")
        self.git("worktree", "add", "-q", "-b", "heron", os.path.join(town.root, "heron"))
        self.heron = town.person("heron", CLAUDE_CODE_SESSION_ID="heron-session")
        self.heron("identify", "heron")
        self.lynx("identify", "lynx")
        self.heron("open", "dock")

    def write(self, name, text="changed\n"):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def git(self, *words, code=0, cwd=None, **env):
        given = {**self.town.env, **self.lynx.env, "GIT_CONFIG_NOSYSTEM": "1", **env}
        done = subprocess.run(["git", *words], cwd=cwd or self.folder, env=given, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        said = done.stdout.decode() + done.stderr.decode()
        assert code is None or (done.returncode != 0) == bool(code), said
        return said

    def commit(self, *words, code=0, **more):
        return self.git("commit", "-m", "x", *words, code=code, **more)

    def hold(self, *names, reason="T-1"):
        return self.heron("lock", "dock", *names, *TTL, "--reason", reason, "--json").record

    def log(self):
        return self.git("log", "--format=%s").split()


@pytest.fixture
def town():
    with town_with() as one:
        yield one


@pytest.fixture
def checkout(town):
    made = Checkout(town)
    made.lynx("guard", "install")
    return made


def test_a_commit_of_what_another_holds_is_stopped_and_says_who(checkout):
    checkout.hold("docs/free.md")
    checkout.write("docs/free.md")
    said = checkout.commit("-a", code=1)
    assert "docs/free.md is locked by heron (T-1), until " in said
    assert "Nothing was committed" in said
    assert "redischat lock dock docs/free.md --wait 600" in said
    assert checkout.log() == ["first"]


def test_the_way_out_of_a_stopped_commit_works_as_it_is_typed_where_it_was_typed(checkout):
    checkout.hold("docs/two words.md")
    checkout.write("docs/two words.md")
    checkout.git("add", "-A")
    for said in (
        checkout.commit(code=1, cwd=os.path.join(checkout.folder, "packages")),
        checkout.lynx("guard", "check", code=3, cwd=os.path.join(checkout.folder, "packages")).err,
    ):
        assert "Wait for it: redischat lock dock '../docs/two words.md' --wait 600" in said


def test_a_commit_of_free_files_and_of_ones_own_goes_through(checkout):
    checkout.hold("docs/two words.md")
    checkout.lynx("lock", "dock", "docs/free.md", *TTL)
    checkout.write("docs/free.md")
    checkout.write("new/file.md")
    checkout.git("add", "-A")
    assert "redischat" not in checkout.commit()
    assert checkout.log() == ["x", "first"]


@pytest.mark.parametrize("name", ["docs/señales.md", "docs/two words.md"])
@pytest.mark.parametrize(
    "change",
    [
        lambda checkout, name: checkout.write(name),
        lambda checkout, name: checkout.git("rm", "-q", name),
        lambda checkout, name: checkout.git("mv", name, "docs/elsewhere.md"),
        lambda checkout, name: checkout.git("mv", "-f", "docs/free.md", name),
    ],
    ids=["edit", "deletion", "renamed away", "renamed onto"],
)
def test_a_name_that_git_would_quote_is_guarded_in_every_change_and_said_readably(checkout, name, change):  # PATH-07
    checkout.hold("docs/señales.md", "docs/two words.md")
    change(checkout, name)
    said = checkout.commit("-a", code=1)
    assert f"{name} is locked by heron" in said
    assert checkout.log() == ["first"]


def test_names_in_any_encoding_are_asked_about_without_harm(checkout):
    checkout.hold("docs/e\N{COMBINING ACUTE ACCENT}.md")
    raw = os.fsencode(checkout.folder) + b"/docs/\xe9\n\xff.md"
    with open(raw, "wb") as file:
        file.write(b"x\n")
    checkout.git("add", "-A")
    checkout.commit()
    checkout.write("docs/é.md")
    checkout.git("add", "-A")
    assert "is locked by heron" in checkout.commit(code=1)


def test_lock_check_unlock_and_commit_mean_one_file_from_any_folder(checkout):  # PATH-09; the edit hook: test_hook_events.py
    checkout.hold("packages/ui/src/a.ts")
    inside = os.path.join(checkout.folder, "packages", "ui")
    assert "heron" in checkout.lynx("lock", "dock", "src/a.ts", cwd=inside, code=3).err
    assert "heron" in checkout.lynx("check", "dock", "src/a.ts", cwd=inside, code=3).out
    assert "heron" in checkout.lynx("unlock", "dock", "src/a.ts", cwd=inside, code=1).err
    checkout.write("packages/ui/src/a.ts")
    assert "packages/ui/src/a.ts is locked by heron" in checkout.commit("src/a.ts", code=1, cwd=inside)
    checkout.git("add", "src/a.ts", cwd=inside)
    checkout.git("config", "diff.relative", "true")
    assert checkout.lynx("guard", "check", cwd=inside, code=3).error == "PATH_LOCK_STAGED"
    assert checkout.lynx("guard", "check", cwd=os.path.join(checkout.folder, "docs"), code=3).error == "PATH_LOCK_STAGED"


def test_who_slept_past_its_lock_is_told_that_it_was_lost_before_it_commits_over_it(checkout):  # GUARD-08
    first = checkout.lynx("lock", "dock", "docs/free.md", "--ttl", "0.05", "--json").record
    taken = checkout.heron("lock", "dock", "docs/free.md", "--wait", "20", *TTL, "--json").record
    assert taken["token"] > first["token"]
    checkout.write("docs/free.md")
    said = checkout.commit("-a", code=1)
    assert "docs/free.md is locked by heron" in said
    assert "docs/free.md was yours until 20" in said
    assert "and lost to heron at 20" in said


def test_the_tokens_of_a_path_rise_over_its_life(checkout):  # GUARD-08
    tokens = []
    for holder in (checkout.heron, checkout.lynx, checkout.heron):
        tokens.append(holder("lock", "dock", "docs/free.md", *TTL, "--json").record["token"])
        holder("unlock", "dock", "--all")
    tokens.append(checkout.lynx("lock", "dock", "docs/free.md", "--ttl", "0.05", "--json").record["token"])
    tokens.append(checkout.heron("lock", "dock", "docs/free.md", "--wait", "20", *TTL, "--json").record["token"])
    assert tokens == sorted(set(tokens))


def test_a_lock_that_ran_out_still_stops_a_commit_and_names_the_way_to_take_it_over(checkout):
    checkout.heron("lock", "dock", "docs/free.md", "--ttl", "0.001")
    checkout.write("docs/free.md")
    said = checkout.commit("-a", code=1)
    assert "its lease ran out" in said
    assert "redischat recover dock docs/free.md --reason WHY" in said


def test_whoever_nobody_knows_is_told_how_to_say_who_they_are(checkout, town):
    checkout.hold("docs/free.md")
    checkout.write("docs/free.md")
    stranger = {"CLAUDE_CODE_SESSION_ID": "", "REDISCHAT_STATE": os.path.join(town.root, "other")}
    assert "REDISCHAT_AGENT=NAME git commit" in checkout.commit("-a", code=1, **stranger)
    assert "REDISCHAT_AGENT" not in checkout.commit("-a", code=1)


def test_a_conflict_that_is_concluded_is_not_held_against_those_who_wrote_the_other_side(checkout):
    tree = checkout.heron.directory
    for name in ("docs/free.md", "docs/two words.md"):
        with open(os.path.join(tree, name), "w", encoding="utf-8") as file:
            file.write("heron's\n")
    checkout.git("commit", "-q", "-a", "-m", "theirs", cwd=tree, CLAUDE_CODE_SESSION_ID="heron-session")
    checkout.write("docs/free.md", "lynx's\n")
    checkout.commit("-a")
    checkout.hold("docs/two words.md")
    checkout.git("merge", "heron", code=1)
    checkout.write("docs/free.md", "both\n")
    checkout.git("add", "-A")
    checkout.hold("docs/free.md")
    assert "docs/free.md is locked by heron" in checkout.commit(code=1)
    checkout.heron("unlock", "dock", "docs/free.md")
    checkout.commit()
    assert checkout.log()[0] == "x"


def test_thousands_of_staged_files_are_asked_about(checkout):
    checkout.hold("many/1999.md")
    for number in range(2000):
        checkout.write(f"many/{number}.md", "x\n")
    checkout.git("add", "-A")
    assert "many/1999.md is locked by heron" in checkout.commit(code=1)


def test_without_a_broker_the_commit_goes_on_and_says_that_it_was_not_checked(checkout):
    checkout.hold("docs/free.md")
    checkout.write("docs/free.md")
    with scratch() as nowhere:
        said = checkout.commit("-a", REDISCHAT_URL=f"unix://{nowhere}/s")
    assert "BROKER_UNREACHABLE" in said
    assert "redischat guard: not checked, the commit goes on" in said
    assert checkout.log() == ["x", "first"]


def test_without_a_broker_a_closed_path_is_not_committed(checkout):
    checkout.write(".redischat/config", "closed=docs, other/thing\n")
    checkout.write("docs/free.md")
    with scratch() as nowhere:
        away = {"REDISCHAT_URL": f"unix://{nowhere}/s"}
        said = checkout.commit("-a", code=1, **away)
        assert "PATH_LOCK_UNCHECKED: docs/free.md is closed" in said
        checkout.git("reset", "-q", "--hard")
        checkout.write("packages/ui/src/a.ts")
        checkout.commit("-a", **away)
    checkout.write("docs/free.md")
    checkout.commit("-a")


def test_without_redischat_the_commit_goes_on(checkout):
    path = os.path.join(checkout.folder, ".git", "hooks", "pre-commit")
    with open(path, encoding="utf-8") as file:
        lines = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(lines.replace(str(Path(sys.executable).parent), "/gone"))
    checkout.write("docs/free.md")
    assert "not checked" in checkout.commit("-a", PATH="/usr/bin:/bin")


def test_the_first_commit_of_a_repository_is_checked(town):
    person = town.agent("lynx", "fresh")
    person("open", "dock")
    subprocess.run(["git", "init", "-q", person.directory], check=True)
    other = town.person("fresh", CLAUDE_CODE_SESSION_ID="heron-session")
    other("identify", "heron")
    other("lock", "dock", "a", *TTL)
    person.shell("echo x > a && git add a")
    assert person("guard", "check", "--json", code=3, env={"REDISCHAT_AGENT": "lynx"}).error == "PATH_LOCK_STAGED"
    assert other("guard", "check", "--json").record["staged"] == ["a"]


def test_outside_of_a_checkout_it_is_refused(town):
    assert town.agent("lynx")("guard", "check", code=1).error == "REFUSED"
    assert town.agent("lynx")("guard", "install", code=1).error == "REFUSED"


# The hook's file.


@pytest.fixture
def hook(checkout):
    checkout.lynx("guard", "uninstall")
    return os.path.join(checkout.folder, ".git", "hooks", "pre-commit")


def content(path):
    with open(path, "rb") as file:
        return file.read()


def test_installed_twice_it_is_there_once_and_taken_out_nothing_is_left(checkout, hook):
    assert not os.path.exists(hook)
    checkout.lynx("guard", "install")
    first = content(hook)
    assert "nothing was changed" in checkout.lynx("guard", "install").out
    assert content(hook) == first
    assert os.access(hook, os.X_OK)
    checkout.lynx("guard", "uninstall")
    assert not os.path.exists(hook)
    assert "nothing of ours" in checkout.lynx("guard", "uninstall").out


def test_a_hook_of_others_runs_as_before_and_keeps_every_byte(checkout, hook):
    theirs = b"#!/usr/bin/env bash\nset -eu\n# caf\xe9\necho theirs >&2\n[ ! -e stop ]\n"
    with open(hook, "wb") as file:
        file.write(theirs)
    os.chmod(hook, 0o750)
    checkout.lynx("guard", "install")
    assert os.stat(hook).st_mode & 0o777 == 0o750
    checkout.hold("docs/free.md")
    checkout.write("docs/free.md")
    said = checkout.commit("-a", code=1)
    assert "is locked by heron" in said
    assert "theirs" not in said
    checkout.heron("unlock", "dock", "--all")
    assert "theirs" in checkout.commit("-a")
    checkout.write("stop")
    checkout.git("add", "-A")
    checkout.commit(code=1)
    checkout.lynx("guard", "uninstall")
    assert content(hook) == theirs
    assert os.stat(hook).st_mode & 0o777 == 0o750


@pytest.mark.parametrize("why", ["python", "link", "not executable", "hooksPath"])
def test_where_its_lines_do_not_belong_it_says_what_to_put_there(checkout, hook, why):
    with open(hook, "w", encoding="utf-8") as file:
        file.write("#!/usr/bin/env python3\n" if why == "python" else "#!/bin/sh\n")
    os.chmod(hook, 0o644 if why == "not executable" else 0o755)
    if why == "link":
        os.rename(hook, hook + ".theirs")
        os.symlink(hook + ".theirs", hook)
    if why == "hooksPath":
        checkout.git("config", "core.hooksPath", ".husky/_")
    before = content(hook)
    done = checkout.lynx("guard", "install", code=1)
    assert "run this line" in done.err
    assert "redischat guard check" in done.err
    assert content(hook) == before
