"""A client that is not there says why, and a run without it says so."""

from __future__ import annotations

import dataclasses

import clients
import pytest
import tally
from products import claude_lab

CLAUDE = clients.CLIENTS["claude"]


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """A folder of clients that has none."""
    monkeypatch.setattr(clients, "FOLDER", tmp_path / "clients")


@pytest.mark.usefixtures("nowhere")
def test_a_client_that_is_not_installed_says_how_to_get_it():
    with pytest.raises(clients.Missing, match=r"clients\.py claude"):
        clients.claude()


@pytest.mark.usefixtures("nowhere")
def test_a_failed_install_leaves_nothing_but_its_reason(monkeypatch):
    monkeypatch.setenv("PATH", "")
    wanted = dataclasses.replace(CLAUDE, by="npm")
    with pytest.raises(clients.Missing, match="npm is not installed"):
        wanted.install()
    assert not wanted.folder.exists()
    with pytest.raises(clients.Missing, match="could not be installed: npm is not installed"):
        wanted.command()


@pytest.mark.usefixtures("nowhere")
def test_an_installed_client_is_not_installed_again(monkeypatch):
    program = CLAUDE.folder / CLAUDE.program
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(clients, "fetch", lambda *_: pytest.fail("installed again"))
    CLAUDE.install()
    assert clients.claude() == str(program)


@pytest.mark.usefixtures("nowhere")
def test_a_test_without_its_client_is_skipped_for_that_reason():
    with pytest.raises(pytest.skip.Exception, match="is not installed"), claude_lab():
        pytest.fail("there is no client")


class Report:
    """What pytest keeps of one test."""

    def __init__(self, reason=None):
        self.user_properties = [tally.MINE]
        self.longrepr = ("file", 1, f"Skipped: {reason}") if reason else None


class Reporter:
    """pytest's own, as far as the tally needs it."""

    def __init__(self, **stats):
        self.stats, self.said = stats, []

    def section(self, title):
        self.said.append(title)

    def line(self, words):
        self.said.append(words)


def test_the_end_of_a_run_counts_what_ran_and_why_others_did_not():
    reporter = Reporter(passed=[Report(), Report()], skipped=[Report("no codex"), Report("no codex"), Report("no gemini")])
    tally.pytest_terminal_summary(reporter)
    assert reporter.said == ["real clients", "2 harness tests ran, 3 were skipped", "2 skipped: no codex", "1 skipped: no gemini"]


def test_a_run_without_harness_tests_says_nothing_of_them():
    reporter = Reporter(passed=[])
    tally.pytest_terminal_summary(reporter)
    assert reporter.said == []
