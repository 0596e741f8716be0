"""The documents are true: their examples run, their links lead somewhere, and they name nothing that does not exist."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli import town_with

from redischat.cli.verbs import COMMON, VERBS, named
from redischat.keys import __doc__ as keys_page

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
ANCESTORS = "docs/coming_from.md"  # names the verbs and flags of others: tests/test_coming_from.py reads it
TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
SECONDS = 60
REPOSITORY = ("redischat", "scripts", "tests", "docs", "hooks", ".ci")


def page(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def title(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def spans(text: str) -> list[str]:
    """What stands between backticks in running text."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def plain(text: str) -> str:
    """A rendering without what differs from run to run."""
    return TIME.sub("TIME", text)


@pytest.fixture
def town():
    with town_with() as one:
        yield one


@pytest.fixture
def newcomer(town):
    """Somebody with the command on the PATH, in a directory where nothing is."""
    return town.person("work", PATH=f"{Path(sys.executable).parent}{os.pathsep}{town.env['PATH']}")


def begun(town, newcomer, *command):
    """A command in the background, with its standard output to read from; gone at the end of the test."""
    env = {**town.env, **newcomer.env}
    process = subprocess.Popen(command, cwd=newcomer.directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    town.started.append(process)
    return process


@pytest.mark.parametrize("name", ["docs/agents.md", "docs/coordination.md"])
def test_every_example_for_agents_runs(newcomer, name):
    examples = blocks(page(name), "sh")
    assert examples
    for block in examples:
        done = newcomer.shell("set -eu\n" + block)
        assert done.code == 0, done


def test_the_first_conversation_of_the_readme_happens_as_told(town, newcomer):
    first, second = blocks(page("README.md"), "sh")
    promised = re.search(r"^```\n(#2 .*?)^```$", page("README.md"), re.MULTILINE | re.DOTALL)
    assert promised
    asks = begun(town, newcomer, "/bin/sh", "-euc", first)
    said: list[str] = []
    while not any(line.startswith("sent #1 ") for line in said):
        said.append(asks.stdout.readline())
        assert said[-1], "".join(said)
    answer = newcomer.shell("set -eu\n" + second)
    assert answer.code == 0, answer
    rest, _ = asks.communicate(timeout=SECONDS)
    assert asks.returncode == 0, "".join(said) + rest
    assert plain(rest).endswith(plain(promised[1])), rest


def test_the_python_of_the_readme_talks_to_somebody(town, newcomer):
    (block,) = blocks(page("README.md"), "python")
    newcomer("open", "dock", "--as", "amy", "--members", "bob")
    asks = begun(town, newcomer, sys.executable, "-c", block)
    newcomer("wait", "dock", "--as", "bob", "--timeout", "30")
    newcomer("say", "dock", "4711", "--as", "bob", "--reply", "1", "--to", "amy")
    heard, _ = asks.communicate(timeout=SECONDS)
    assert asks.returncode == 0, heard
    assert heard == "2 bob 4711\n"


def test_every_python_example_runs(town, newcomer):
    examples = blocks(page("docs/python.md"), "python")
    assert examples
    for block in examples:
        ran = begun(town, newcomer, sys.executable, "-c", block)
        said, _ = ran.communicate(timeout=SECONDS)
        assert ran.returncode == 0, f"{block}\n{said}"
        assert "Warning" not in said, f"{block}\n{said}"


def test_each_section_on_python_leads_to_the_command():
    for section in re.split(r"^## ", page("docs/python.md"), flags=re.MULTILINE)[1:]:
        assert re.search(r"^In the CLI: (.|\n)+?\(cli\.md#", section, re.MULTILINE), section.splitlines()[0]


def test_the_manual_is_made_anew():
    done = subprocess.run([sys.executable, ROOT / "tests" / "manual.py", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", PAGES, ids=title)
def test_every_link_leads_somewhere(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (path.parent / file) if file else path
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found), target


def anchors(path: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def test_the_readme_is_short():
    assert len(page("README.md").splitlines()) < 200


def test_the_readme_names_the_test_command_that_ci_runs():
    ran = [line for line in page(".ci/run").splitlines() if line.endswith("-m pytest")]
    assert ran == [".venv/bin/python -m pytest"]
    assert ran[0] in page("README.md")


def test_every_verb_is_in_the_readme_and_in_the_manual():
    table = page("README.md").partition("| verb |")[2].partition("\n\n")[0]
    in_readme = {word for span in spans(table) for word in span.split()}
    for name in VERBS:
        assert name.split()[0] in in_readme or f"### {name}\n" in page("docs/cli.md"), name
    assert {name for name in VERBS if f"### {name}\n" not in page("docs/cli.md")} == set()


@pytest.mark.parametrize("path", [path for path in PAGES if title(path) != ANCESTORS], ids=title)
def test_no_page_names_a_verb_or_flag_that_does_not_exist(path):
    text = path.read_text("utf-8")
    for command in commands(text):
        verb, rest = named(command.split())
        if verb.isupper():  # redischat VERB --help
            continue
        assert verb in VERBS, command
        assert flags(" ".join(rest)) <= known(verb), command
    for span in spans(text):
        first = named(span.split())[0]
        if first in VERBS:
            assert flags(span) <= known(first), span
        elif first.startswith("--"):
            assert flags(span) <= {flag for verb in VERBS for flag in known(verb)}, span


def commands(text: str) -> list[str]:
    """Each call of the command that a page shows, without what a shell adds and without quoted words."""
    fenced = "\n".join(re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    indented = re.findall(r"^    (redischat .+)$", text, re.MULTILINE)
    shown = re.findall(r"(?:^|&& |\| |bin/)(redischat .+)$", fenced, re.MULTILINE)
    found = [*shown, *indented, *(span for span in spans(text) if span.startswith("redischat "))]
    return [re.split(r"\s(?:<<|\||>|&&)|;|\s#", re.sub(r"(['\"]).*?\1", "TEXT", one.removeprefix("redischat ")))[0] for one in found]


def flags(text: str) -> set[str]:
    return set(FLAG.findall(re.sub(r"(['\"]).*?\1", "", text)))


def known(verb: str) -> set[str]:
    return {*VERBS[verb].flags, *COMMON, "--help", "-h"}


@pytest.mark.parametrize("path", PAGES, ids=title)
def test_every_file_that_a_page_names_is_there(path):
    for span in spans(path.read_text("utf-8")):
        name = span.split()[-1].partition(":")[0]
        if "/" in name and name.partition("/")[0] in REPOSITORY and re.fullmatch(r"[\w./-]+", name):
            assert (ROOT / name).exists(), span


def test_the_design_page_has_every_room_and_no_other():
    rooms = {path.stem for path in (ROOT / "redischat").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    cells = re.findall(r"^\| \d+ \| ([^|]+) \|", page("docs/design.md"), re.MULTILINE)
    assert {span.rstrip("/") for cell in cells for span in spans(cell)} == rooms


def test_the_data_page_has_every_key():
    assert keys_page
    rows = keys_page.split("====\n")[2].splitlines()
    names = [row.split()[0] for row in rows if row and not row.startswith("=")]
    assert len(names) > 15
    for name in names:
        assert f"| `{name}` |" in page("docs/data.md"), name


def constants() -> list[tuple[str, str, str]]:
    return re.findall(r"^\| [^|]+ \| ([\d_.]+)[^|]* \| `([^`]+)` `(\w+)` \|$", page("docs/data.md"), re.MULTILINE)


@pytest.mark.parametrize(("value", "file", "name"), constants(), ids=lambda part: part)
def test_the_data_page_has_the_constants_of_the_code(value, file, name):
    assert (ROOT / file).exists(), file
    if file.endswith(".py"):
        assert getattr(importlib.import_module(file.removesuffix(".py").replace("/", ".")), name) == float(value)
    else:
        assert float(lua_constants(page(file))[name]) == float(value)


def lua_constants(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for names, values in re.findall(r"^local ([A-Z_, ]+) = ([\d, ]+)", text, re.MULTILINE):
        found |= dict(zip(names.split(", "), values.replace(" ", "").split(","), strict=False))
    return found


def test_enough_constants_are_compared():
    assert len(constants()) > 20
