"""The terminal of the lab shows what a terminal shows, answers what a terminal answers, and ends what it started."""

from __future__ import annotations

import os

import pytest
from terminal import Screen, Terminal

ESC = "\x1b"


def shown(*pieces, rows=5, columns=20):
    screen = Screen(rows, columns)
    for piece in pieces:
        screen.feed(piece)
    return screen.text()


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["one\r\ntwo"], "one\ntwo"),
        (["old\rnew"], "new"),
        ([f"one{ESC}[2Ctwo"], "one  two"),
        ([f"{ESC}[2;3Hx{ESC}[1;1Hy"], "y\n  x"),
        ([f"one two{ESC}[4D{ESC}[K"], "one"),
        ([f"one{ESC}[2J{ESC}[Htwo"], "two"),
        ([f"{ESC}[1;31mred{ESC}[0m{ESC}]0;title\x07"], "red"),
        ([f"re{ESC}[", "31md"], "red"),
        (["1\r\n2\r\n3\r\n4\r\n5\r\n6"], "2\n3\n4\n5\n6"),
        ([f"1\r\n2\r\n3\r\n4{ESC}[2;3r{ESC}[3;1H\nx"], "1\n3\nx\n4"),
        ([f"1\r\n2\r\n3{ESC}[2;1H{ESC}[Lx"], "1\nx\n2\n3"),
        (["x" * 21], "x" * 20 + "\nx"),
        ([f"shell{ESC}[?1049hfull"], "full"),
    ],
)
def test_a_screen_shows_what_was_written(pieces, text):
    assert shown(*pieces) == text


@pytest.mark.parametrize(("question", "answer"), [(f"ab{ESC}[6n", f"{ESC}[1;3R"), (f"{ESC}[c", f"{ESC}[?62;22c"), (f"{ESC}[?u", ""), (f"{ESC}[>0q", "")])
def test_a_screen_answers_what_a_terminal_answers(question, answer):
    screen = Screen()
    screen.feed(question)
    assert screen.owed == answer


@pytest.fixture
def at(tmp_path):
    """Start a command at a terminal."""
    started = []

    def start(*words):
        started.append(Terminal(words, cwd=tmp_path, env=dict(os.environ)))
        return started[-1]

    yield start
    for terminal in started:
        terminal.close()


def test_a_program_at_a_terminal_reads_what_is_typed(at):
    terminal = at("sh", "-c", "echo ready; read line; echo got $line; read line")
    terminal.shows("ready")
    terminal.type("hello")
    terminal.press("enter", lambda: "got hello" in terminal.text, "the answer is there")
    assert terminal.text.count("got hello") == 1


def test_a_program_that_ended_is_said_to_have_ended(at):
    terminal = at("sh", "-c", "echo last words; exit 3")
    with pytest.raises(AssertionError, match="ended with 3"):
        terminal.shows("never")


def test_a_program_leaves_by_ctrl_c_and_one_that_does_not_is_ended(at, monkeypatch):
    monkeypatch.setattr("terminal.GONE_SECONDS", 1)
    polite = at("sh", "-c", "trap 'exit 7' INT; echo ready; while :; do read line; done")
    deaf = at("sh", "-c", "trap '' INT; echo ready; while :; do read line; done")
    for terminal in (polite, deaf):
        terminal.shows("ready")
        terminal.close()
    assert polite.process.returncode == 7
    assert deaf.process.returncode < 0
