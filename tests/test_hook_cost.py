"""What a hook costs is bought with what it does not import; JSON is read and written as the json package does it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import hiredis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redischat.harness.notation import dumps, loads

ROOT = Path(__file__).parent.parent
NEVER = {
    "asyncio", "click", "collections", "contextlib", "dataclasses", "enum", "functools", "hashlib", "importlib.metadata", "json", "logging", "orjson", "pathlib", "pydantic", "re",
    "redis", "secrets", "signal", "socket", "ssl", "subprocess", "typing", "unicodedata",
}  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def imported(code):
    """The modules that are there after ``code`` in an interpreter as hooks have it."""
    places = [str(ROOT), os.path.dirname(os.path.dirname(hiredis.__file__)), str(ROOT / "hooks")]
    text = f"import sys\nsys.path[:0] = {places!r}\n{code}\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-I", "-S", "-c", text], capture_output=True, text=True, check=True).stdout.split())


def test_a_hook_with_nothing_to_say_imports_nothing_of_ours_and_little_of_python():
    bare = imported("")
    assert {name for name in imported("import asking") - bare if not name.startswith("_")} <= {"asking", "posix", "time"}


def test_a_delivery_imports_nothing_that_takes_its_time():
    imported("import redischat.harness.entry")  # whoever compiles a source with \N{...} in it imports unicodedata
    assert not NEVER & imported("import redischat.harness.entry")


@given(VALUES)
def test_what_is_written_is_read_by_everybody_and_what_others_write_is_read(value):
    assert json.loads(dumps(value)) == value
    assert loads(dumps(value)) == value
    assert loads(f" {json.dumps(value)}\n") == value
    assert dumps(value).isascii()


@pytest.mark.parametrize("text", ["", "{", "[1", "nul", "{} {}", "1 2", "'a'", '{"a"}'])
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError, match="no JSON"):
        loads(text)
