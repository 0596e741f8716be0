"""The house keeps its own rules: floors, homes of libraries, sizes, one verb on every floor, pages that are made."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from redischat.cli.verbs import VERBS
from redischat.errors import tree

ROOT = Path(__file__).parent.parent
HOUSE = ROOT / "redischat"
FLOORS = {
    "errors": 1, "files": 1, "remote": 1, "names": 2, "settings": 2, "text": 2, "checkout": 2, "keys": 3, "lua": 3, "repository": 3, "binding": 3, "route": 3, "calls": 4, "models": 4,
    "flows": 5, "folder": 4, "wire": 5, "broker": 5, "aio": 6, "sync": 6, "hook": 6, "harness": 7, "install": 8, "waker": 8, "mcp_server": 8, "bridge": 8, "__init__": 8, "cli": 9, "__main__": 10,
}  # fmt: skip
HOMES = {
    "redis": {"aio", "sync"},
    "pydantic": {"models"},
    "click": {"cli"},
    "hiredis": {"wire"},
    "orjson": set(FLOORS),
    "slack_sdk": {"bridge"},
    **{name: {"mcp_server"} for name in ("mcp", "mcp_types", "anyio", "starlette", "uvicorn")},
}
LONG_FILES = {
    "redischat/cli/verbs.py": "the one table of verbs: click, the quick way, the manual and the MCP tools are held against it",
    "redischat/errors/__init__.py": "what all columns share, on one page: a reader of codes looks in one place",
}
LONG_FUNCTIONS: dict[str, str] = {}
MOST = {"file": 300, "function": 40, "lua": 80}
NOUNS = ("agents", "channels", "messages", "tasks", "paths", "events")


def sources() -> list[Path]:
    return sorted(path for path in HOUSE.rglob("*.py") if "__pycache__" not in path.parts and "scripts" not in path.parts)


def room(path: Path) -> str:
    part = path.relative_to(HOUSE).parts[0]
    return part.removesuffix(".py")


def imports(path: Path) -> list[str]:
    """The absolute names that a file imports at run time, relative ones resolved."""
    package = ["redischat", *path.relative_to(HOUSE).parts[:-1]]
    found = []
    tree_ = ast.parse(path.read_text("utf-8"))
    typing_only = {id(node) for test in ast.walk(tree_) if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.unparse(test.test) for node in ast.walk(test)}
    for node in ast.walk(tree_):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            found += [name, *(f"{name}.{alias.name}" for alias in node.names)]
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_and_libraries_stay_at_home(path):
    mine = room(path)
    assert mine in FLOORS, f"{mine} is on no floor"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "redischat" and len(parts) > 1 and parts[1] in FLOORS and parts[1] != mine:
            assert FLOORS[parts[1]] < FLOORS[mine], f"{mine} (floor {FLOORS[mine]}) imports {name} (floor {FLOORS[parts[1]]})"
        if parts[0] in HOMES:
            assert mine in HOMES[parts[0]], f"{parts[0]} has its home in {sorted(HOMES[parts[0]])}, not in {mine}"


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_says_what_it_is_for_and_stays_small(path):
    text = path.read_text("utf-8")
    if not text.strip():
        return
    name = str(path.relative_to(ROOT))
    tree_ = ast.parse(text)
    assert ast.get_docstring(tree_), f"{name} does not open with what it is for"
    if "sync" not in path.parts:
        assert len(text.splitlines()) <= MOST["file"] or name in LONG_FILES, f"{name} is longer than {MOST['file']} lines"
    for node in ast.walk(tree_):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.end_lineno:
            size = node.end_lineno - node.lineno + 1
            assert size <= MOST["function"] or f"{name}:{node.name}" in LONG_FUNCTIONS, f"{name}: {node.name} has {size} lines"


def test_exceptions_to_sizes_are_still_needed():
    for name in LONG_FILES:
        assert len((ROOT / name).read_text("utf-8").splitlines()) > MOST["file"], f"{name} is short enough now"


@pytest.mark.parametrize("path", sorted((ROOT / "scripts").rglob("*.lua")), ids=lambda path: path.name)
def test_a_script_opens_with_its_guarantee_builds_no_key_and_stays_small(path):
    text = path.read_text("utf-8")
    assert text.startswith("-- "), f"{path.name} does not open with what it guarantees"
    assert len(text.splitlines()) <= MOST["lua"], f"{path.name} is longer than {MOST['lua']} lines"
    code = re.sub(r"--[^\n]*", "", text)
    for never in (r"\bKEYS\s*\*", r'"KEYS"', r'"SCAN"', r"\berror\(", r"\bcmsgpack\b", r"\bbit\.", r"\bstruct\.", r"cjson\.encode", r"rc1:"):
        assert not re.search(never, code), f"{path.name}: {never}"
    if path.parent.name == "scripts" and path.name != "prelude.lua":
        assert "-- Replies: " in text, f"{path.name} does not say what it replies"
        assert re.search(r"^local .+ = unpack\(KEYS\)$", text, re.MULTILINE), f"{path.name} has no signature"


@pytest.mark.parametrize("path", sorted((ROOT / "scripts").rglob("*.lua")), ids=lambda path: path.name)
def test_a_script_has_no_globals(path):
    """fakeredis gives nil for an undefined global, a real server an error: a typo must not wait for the real one."""
    code = re.sub(r"--[^\n]*", "", path.read_text("utf-8"))
    bare = re.sub(r'"[^"]*"', '""', code)
    assigned = set(re.findall(r"^\s*([a-z_]+)(?:\s*,\s*[a-z_.\[\]]+)*\s*=[^=]", bare, re.MULTILINE))
    local = {name.strip() for group in re.findall(r"local ([\w, ]+?)(?:\s*=|\n|$)", bare) for name in group.split(",")}
    params = {name.strip() for group in re.findall(r"function\s*\w*\(([\w, ]*)\)", bare) for name in group.split(",")}
    loops = {name.strip() for group in re.findall(r"for ([\w, ]+?) (?:in|=)", bare) for name in group.split(",")}
    assert assigned <= local | params | loops, sorted(assigned - local - params - loops)


def test_every_noun_has_its_room_on_every_floor():
    for noun in NOUNS:
        for place in ("calls", "flows", "cli"):
            assert (HOUSE / place / f"{noun}.py").exists(), f"{place}/{noun}.py"


def test_every_verb_of_the_table_has_its_runner():
    import importlib

    for name, verb in VERBS.items():
        home = importlib.import_module(f"redischat.cli.{verb.noun}")
        assert callable(getattr(home, verb.runner or name, None)), name


def test_codes_and_words_are_unique():
    codes = [cls.code for cls in tree()]
    words = [cls.word for cls in tree() if cls.word]
    assert len(codes) == len(set(codes))
    assert len(words) == len(set(words))


@pytest.mark.parametrize("script", ["unasync.py", "manual.py", "reference.py"])
def test_what_is_made_is_fresh(script):
    done = subprocess.run([sys.executable, ROOT / "tests" / script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_top_level_is_the_owners_card():
    allowed = {
        "redischat", "scripts", "hooks", "docker-compose.yml", "tests", "pyproject.toml", "README.md", "docs", "CHANGELOG.md", "LICENSE", "CONTRIBUTING.md",
    }  # fmt: skip
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    assert {name.split("/")[0] for name in tracked if not name.startswith(".")} <= allowed


def test_no_path_of_one_machine_is_in_the_tree():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.splitlines()
    home = str(Path.home()) + "/"
    for name in tracked:
        path = ROOT / name
        if path.exists():
            text = path.read_text("utf-8", errors="replace")
            assert str(ROOT.parent) + "/" not in text, name
            assert home not in text or home == "/", name
