"""What a shell command writes is read from its text: enough of it to guard a locked file, and never a word about a command that only reads."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from shell_corpus import CODEX, GUARD_01, PATCH, READS, UNKNOWN, WRITES, lay

from redischat.hook.shell import consuming, patched, unknown, written

RECALL = 0.95
SECONDS = 2.0  # for 10 KB of anything: a wide limit, the real figure is some ms
PIECES = [
    "$(", "`", "((", "))", "(", ")", "{", "}", "[[", "]]", '"', "'", "\\", "\n", ";", "&&", "||", "|", "&", ">", ">>", "<", "<<EOF\n", "EOF\n", "<<<", "<(", ">(", "${x", "${x:-",
    "$x", "$", "#", "*", "**", "?", "[", "]", "{a,b}", "{1..9}", "~", "for f in ", "do ", "done ", "if ", "then ", "fi ", "case x in ", "esac ", ";;", "while ", "function f ",
    "f() ", "f ", "sed -i ", "rm ", "cp ", "mv ", "git checkout ", "find . -exec ", "xargs ", "bash -c ", "eval ", "python - ", "cd ", "x=", "x=(", "=", " ", "a", "src/a.py ", "\t",
    "\x00", "\x01", "\x02", "\ud83d", "é", "$'", "\\x41", "trap ", "tee ", "-", "--", "awk ", "perl -e ", "git apply ", "patch ", "dd of=", "curl -o ", "tar cf ",
]  # fmt: skip


@pytest.fixture
def town_(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/tmp")
    lay(tmp_path)
    return tmp_path


def named(root: Path, paths) -> set[str]:
    return {os.path.normpath(os.path.expanduser(one.replace("{root}", str(root)))) for one in paths if one != "?"}


def test_a_redirect_writes_its_file(town_):
    assert written("echo 1 >src/a.py", str(town_)) == ["src/a.py"]
    assert unknown("echo 1 >src/a.py") is None


def test_a_command_that_reads_writes_nothing(town_):
    assert written("cat src/a.py | grep x 2>&1 >/dev/null", str(town_)) == []


def test_paths_are_told_below_the_folder_that_the_command_goes_to(town_):
    assert written("cd src && rm a.py; cd /opt && touch x", str(town_)) == ["src/a.py", "/opt/x"]


@pytest.mark.parametrize("row", GUARD_01, ids=lambda row: row[0])
def test_the_shell_does_not_walk_around_the_guard(town_, row):
    assert written(row[0], str(town_)) == list(row[1:])


@pytest.mark.parametrize("row", WRITES, ids=lambda row: row[0][:60])
def test_what_a_command_writes_is_told(town_, row):
    assert named(town_, written(row[0], str(town_))) == named(town_, row[1:])
    assert (unknown(row[0], str(town_)) is not None) == ("?" in row)


@pytest.mark.parametrize("command", READS, ids=lambda command: command[:60])
def test_a_reading_command_is_no_false_alarm(town_, command):
    assert written(command, str(town_)) == []
    assert unknown(command, str(town_)) is None


@pytest.mark.parametrize("command", UNKNOWN, ids=lambda command: command[:60])
def test_what_cannot_be_seen_is_said(town_, command):
    assert written(command, str(town_)) == []
    assert unknown(command, str(town_))


def test_the_corpus_is_large_and_nearly_all_of_its_writes_are_seen(town_, capsys):
    expected = found = said = 0
    for command, *paths in [*WRITES, *((one,) for one in READS), *((one,) for one in UNKNOWN)]:
        truth, told = named(town_, paths), named(town_, written(command, str(town_)))
        expected, found, said = expected + len(truth), found + len(truth & told), said + len(told)
    alarms = [one for one in READS if written(one, str(town_))]
    with capsys.disabled():
        print(  # noqa: T201 - the figure is what the corpus is for
            f"\nshell guard: {len(WRITES) + len(READS) + len(UNKNOWN)} commands, recall {found}/{expected} = {found / expected:.3f},"
            f" precision {found}/{said} = {found / said:.3f}, false alarms {len(alarms)}/{len(READS)}"
        )
    assert len(WRITES) >= 180
    assert len(READS) >= 40
    assert found / expected >= RECALL
    assert not alarms


@pytest.mark.parametrize(
    ("command", "verbs"),
    [
        ("redischat read dock", ["read dock"]),
        ("redischat read", ["read"]),
        ("redischat wait dock --timeout 900", ["wait dock"]),
        ("redischat wait --timeout 900 dock", ["wait dock"]),
        ("redischat ack dock 5", ["ack dock"]),
        ("redischat leave dock", ["leave dock"]),
        ("redischat identify bob", ["identify bob"]),
        ("python -m redischat read dock", ["read dock"]),
        ("python3.12 -I -m redischat read dock", ["read dock"]),
        ("/opt/venv/bin/redischat read dock", ["read dock"]),
        ("env X=1 redischat read dock", ["read dock"]),
        ("X=1 timeout 5 redischat wait dock", ["wait dock"]),
        ("cd src && redischat read dock | head -5", ["read dock"]),
        ("(redischat read dock); { redischat ack dock 3; }", ["read dock", "ack dock"]),
        ('echo "$(redischat read dock)"', ["read dock"]),
        ("bash -c 'redischat read dock'", ["read dock"]),
        ("r=redischat; $r read dock", ["read dock"]),
        ("red'ischat' read dock", ["read dock"]),
        ("echo 5 | xargs redischat ack dock", ["ack dock"]),
        ("for c in a b; do redischat read $c; done", ["read a", "read b"]),
        ("uvx redischat read dock", ["read dock"]),
        ('redischat read "$C"', ["read $C"]),
        ("redischat read dock --peek", []),
        ("redischat read dock --all", []),
        ("redischat read dock --since 4", []),
        ("redischat read dock --since=4", []),
        ("redischat read dock --as bob", []),
        ("redischat read dock --as=bob", []),
        ("REDISCHAT_AGENT=bob redischat read dock", []),
        ("redischat read --help", []),
        ("redischat peek dock", []),
        ("redischat say dock 'redischat read dock'", []),
        ("redischat task wait T1", []),
        ("echo redischat read dock", []),
        ("grep -rn 'redischat read' docs", []),
        ("cat <<'EOF'\nredischat read dock\nEOF", []),
        ("", []),
    ],
)
def test_calls_that_take_the_parents_mail_are_found(command, verbs):
    assert consuming(command) == verbs


def test_the_parents_own_name_does_not_excuse():
    assert consuming("redischat read dock --as Heron", me="heron") == ["read dock"]
    assert consuming("redischat read dock --as lynx", me="heron") == []


def test_a_codex_patch_names_its_files():
    assert patched(CODEX) == ["src/a.py", "src/moved.py", "src/new.py", "src/b.py"]


def test_a_diff_names_its_files_and_not_what_stands_in_its_hunks():
    assert patched(PATCH) == ["src/a.py", "docs/old.md", "docs/new.md"]


@pytest.mark.parametrize(
    ("patch", "paths"),
    [
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", ["x.py"]),
        ("--- x.py\n+++ x.py\n@@ -1 +1 @@\n-a\n+b\n", ["x.py"]),
        ("--- x.py.orig\t2026-01-01 00:00\n+++ x.py\t2026-01-02 00:00\n@@ -1 +1 @@\n-a\n+b\n", ["x.py.orig", "x.py"]),
        ("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+b\n", ["new.py"]),
        ("--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", ["gone.py"]),
        ('--- "a/docs/se\\303\\261ales.md"\n+++ "b/docs/se\\303\\261ales.md"\n@@ -1 +1 @@\n-a\n+b\n', ["docs/señales.md"]),
        ("--- a/two words.md\t\n+++ b/two words.md\t\n@@ -1 +1 @@\n-a\n+b\n", ["two words.md"]),
        ('diff --git "a/t\\tab.md" "b/t\\tab.md"\nsimilarity index 100%\nrename from "t\\tab.md"\nrename to n.md\n', ["t\tab.md", "n.md"]),
        ("diff --git a/empty.py b/empty.py\nnew file mode 100644\nindex 000..e69\n", ["empty.py"]),
        ("diff --git a/a b.png b/a b.png\nBinary files a/a b.png and b/a b.png differ\n", ["a b.png"]),
        ("diff --git a/x b/x\r\n--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", ["x"]),
        ("--- a/one\n+++ b/one\n@@ -1,2 +1,1 @@\n--- a/no\n-x\n+y\n--- a/two\n+++ b/two\n@@ -1 +1 @@\n-a\n+b\n", ["one", "two"]),
        ("*** Begin Patch\n*** Update File: a b.py\n@@\n-x\n+y\n*** End Patch", ["a b.py"]),
        ("nothing of the kind", []),
        ("", []),
    ],
)
def test_a_patch_names_every_file_that_it_touches(patch, paths):
    assert patched(patch) == paths


def test_a_pattern_becomes_no_more_names_than_a_guard_can_ask_for(tmp_path):
    for one in range(300):
        (tmp_path / f"{one}.txt").write_text("", "utf-8")
    assert len(written("rm *.txt", str(tmp_path))) == 200
    assert unknown("rm *.txt", str(tmp_path))


@pytest.mark.parametrize(
    "command",
    [
        "(" * 10_000, "$(" * 5_000, "`" * 10_000, '"$(' * 3_000, "{" * 10_000, "{a," * 3_000, "{a,b}" * 2_000, "${x:-" * 2_000, "[[ " * 3_000, "((" * 5_000, "! " * 5_000, "f() " * 2_500,
        "case x in " * 1_000, "if " * 3_000, "<<A " * 2_500 + "\n", ">" * 10_000, "\\" * 9_999, "'" * 9_999, "a=(" * 3_000, "x;" * 5_000, "*" * 5_000, "**/" * 3_000 + "*", "[" * 5_000,
        "for i in {1..200}; do for j in {1..200}; do rm $i$j; done; done", "f() { f; f; f; }; f", "x=aaaa; " + "x=$x$x; " * 40 + "rm $x", "bash -c '" * 1_000, "eval " * 2_000,
        "xargs " * 2_000, "sudo " * 2_000, "env -S '" * 1_000, "rm ./{1..200}{1..200}{1..200}", "echo " + "$(echo " * 25 + ")" * 25, "x=(a b); " + "x=(${x[@]} ${x[@]}); " * 30 + "rm ${x[@]}",
        "awk '" + "print " * 1_600 + "'", "sed '" + "w " * 4_000 + "'", "python -c '" + "open(" * 1_900 + "'", "python -c '" + "a = " * 2_400 + "'", "perl -e '" + "open my " * 1_200 + "'",
        "x=" + "a" * 9_000 + "; rm ${x%%*b}", "find " + "-exec find " * 800, "f() { for i in {1..200}; do f; done; }; f",
        "find . -name '" + "*a" * 2_000 + "' -delete", "rm " + "*a" * 40, "set -- " + "a " * 4_000 + "; f() { rm $@; f $@ $@; }; f $@",
    ],
    ids=lambda command: command[:24],
)  # fmt: skip
def test_nothing_makes_it_stall(town_, command):
    (town_ / ("a" * 100 + "b")).write_text("", "utf-8")
    began = time.process_time()
    written(command, str(town_))
    unknown(command, str(town_))
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize("seed", range(60))
def test_what_is_no_shell_at_all_neither_raises_nor_stalls(town_, seed):
    rnd = random.Random(seed)
    texts = [
        bytes(rnd.randrange(256) for _ in range(10_000)).decode("latin-1"),
        bytes(rnd.randrange(256) for _ in range(2_000)).decode("utf-8", "surrogateescape"),
        "".join(rnd.choice(PIECES) for _ in range(rnd.randrange(2_500)))[:10_000],
        "".join(rnd.choice(PIECES) for _ in range(rnd.randrange(40))),
        "".join(rnd.choice(rnd.choice(WRITES)[0].split() or [""]) + rnd.choice(" \n;|&") for _ in range(800)),
        cut(rnd, rnd.choice(WRITES)[0]),
    ]
    began = time.process_time()
    for text in texts:
        assert all(isinstance(one, str) and "\0" not in one for one in written(text, str(town_)))
        unknown(text)
        consuming("redischat " + text)
        patched(text)
        patched(PATCH.replace("a", rnd.choice(PIECES), 3))
    assert time.process_time() - began < SECONDS * len(texts)


def cut(rnd: random.Random, text: str) -> str:
    """The text with some characters gone or doubled."""
    return "".join(char * rnd.choice((0, 1, 1, 1, 1, 2)) for char in text)


def test_the_guard_loads_nothing_of_it_before_a_command_is_asked_about():
    seen = "import sys, redischat.hook.shell as s; s.patched('x'); print('re' in sys.modules, 'redischat.hook.shell.walk' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"sys = __import__('sys'); sys.path.insert(0, {str(Path(__file__).parent.parent)!r}); {seen}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "False"]
