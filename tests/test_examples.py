"""The programs of docs/examples run as they stand, on the embedded broker, and say what their pages promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli import town_with

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
SECONDS = 60
LINES = 60  # short enough to be read
SAID = {
    "review_pair": ["author holds src/parser.py under token 1", "reviewer says: Yes: the tests cover it."],
    "fan_out": [
        *(f"T-{n + 1} done: src/part_{n}.py: clean" for n in range(5)),
        "T-6 blocked: src/part_5.py does not parse",
    ],
    "watchdog": ["ann works on T-1", "watchdog: the lease of ann on T-1 ran out", "ben works on T-1 again", "ben finished it"],
}  # fmt: skip


def test_every_example_is_run_and_short():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == SAID.keys()
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) <= LINES, path.name


@pytest.mark.parametrize("name", SAID)
def test_an_example_runs_twice_and_says_what_happened(name):
    with town_with() as town:
        place = town.person("work")
        for _ in range(2):
            run = [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py")]
            done = subprocess.run(run, cwd=place.directory, env={**town.env, **place.env}, capture_output=True, text=True, timeout=SECONDS, check=False)
            assert (done.returncode, done.stderr) == (0, ""), done
            said = [line.partition(" 0.")[0] for line in done.stdout.splitlines()]
            assert [line.partition("token")[0] for line in said] == [line.partition("token")[0] for line in SAID[name]], done.stdout
