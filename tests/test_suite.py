"""The suite itself: it touches no store that it did not start, whatever the environment points at."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from cli import serving
from mutants import MUTANTS

ROOT = Path(__file__).parent.parent


@pytest.mark.real
def test_the_suite_leaves_the_store_that_the_environment_points_at_alone():
    with serving() as store:
        stores = [redis.Redis(unix_socket_path=store.socket, db=database, decode_responses=True) for database in (0, 15)]
        for one in stores:
            one.set("canary", "sings")
        env = {**os.environ, "REDISCHAT_URL": store.url, "REDIS_URL": store.url, "REDISCHAT_WORKSPACE": "mine", "REDISCHAT_AGENT": "boss"}
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "first or conversation", "tests/test_messages.py", "tests/test_cli.py"]
        done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stdout
        for one in stores:
            assert one.keys("*") == ["canary"]
            one.close()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: one.name)
def test_a_break_is_of_code_that_there_is(mutant):
    """Breaks are planted after everything else has run: it is known before whether each still finds its place, once."""
    assert (ROOT / mutant.file).read_text("utf-8").count(mutant.old) == 1
