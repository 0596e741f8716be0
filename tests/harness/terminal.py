"""A terminal of our own for a client's full-screen interface: a pty, a screen that can be read, and the answers that a terminal owes."""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import subprocess
import termios
import threading

from waiting import wait_until

ROWS, COLUMNS = 50, 160
KEYS = {"enter": "\r", "escape": "\x1b", "ctrl-c": "\x03", "ctrl-d": "\x04", "down": "\x1b[B", "up": "\x1b[A", "tab": "\t"}
TOKEN = re.compile(
    r"\x1b\[(?P<mark>[<-?]?)(?P<numbers>[0-?]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)|\x1b[PX^_](?s:.*?)\x1b\\|\x1b(?P<escape>[ -/]*[0-OQ-WYZ`-~78=>c])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])|(?P<text>[^\x00-\x1f\x7f]+)"
)
LONGEST_SEQUENCE = 8192
START_SECONDS = 45
REPEAT_SECONDS = 1.5
GONE_SECONDS = 5
CTRL_C_SECONDS = 0.4


class Screen:
    """What a terminal shows after all that was written to it: the part of VT100 that the clients use. ``owed``: what it must answer to questions."""

    def __init__(self, rows=ROWS, columns=COLUMNS):
        self.rows, self.columns = rows, columns
        self.cells = [[" "] * columns for _ in range(rows)]
        self.row = self.column = 0
        self.top, self.bottom = 0, rows - 1
        self.saved = (0, 0)
        self.owed = ""
        self._rest = ""

    def feed(self, text):
        text, at = self._rest + text, 0
        while at < len(text):
            found = TOKEN.match(text, at)
            if not found:
                if len(text) - at < LONGEST_SEQUENCE:
                    break  # the rest of it is still to come
                at += 1
                continue
            self.take(found)
            at = found.end()
        self._rest = text[at:]

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.cells).strip("\n")

    def take(self, found):
        if found["text"]:
            for letter in found["text"]:
                self.put(letter)
        elif found["control"]:
            self.control(found["control"])
        elif found["final"]:
            numbers = [int(number) if number.isdecimal() else 0 for number in re.split("[;:]", found["numbers"])]
            self.sequence(found["mark"], found["final"], numbers, found["between"])
        elif found["osc"]:
            number, _, asked = found["osc"].partition(";")
            if asked == "?" and number in {"10", "11"}:
                shade = "ffff" if number == "10" else "0000"
                self.owed += f"\x1b]{number};rgb:{shade}/{shade}/{shade}\x1b\\"
        elif found["escape"]:
            self.escape(found["escape"])

    def put(self, letter):
        if self.column >= self.columns:
            self.column = 0
            self.line_feed()
        self.cells[self.row][self.column] = letter
        self.column += 1

    def control(self, letter):
        if letter == "\r":
            self.column = 0
        elif letter in "\n\x0b\x0c":
            self.line_feed()
        elif letter == "\b":
            self.column = max(0, self.column - 1)
        elif letter == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)

    def escape(self, letter):
        if letter == "7":
            self.saved = (self.row, self.column)
        elif letter == "8":
            self.row, self.column = self.saved
        elif letter == "M" and self.row == self.top:
            self.scroll_down(1)
        elif letter == "M":
            self.row = max(0, self.row - 1)
        elif letter in "DE":
            self.line_feed()

    def line_feed(self):
        if self.row == self.bottom:
            self.scroll_up(1)
        else:
            self.row = min(self.rows - 1, self.row + 1)

    def scroll_up(self, count):
        for _ in range(min(count, self.rows)):
            del self.cells[self.top]
            self.cells.insert(self.bottom, [" "] * self.columns)

    def scroll_down(self, count):
        for _ in range(min(count, self.rows)):
            del self.cells[self.bottom]
            self.cells.insert(self.top, [" "] * self.columns)

    def sequence(self, mark, final, numbers, between):
        if between or mark:
            self.private(mark, final, numbers)
            return
        first = numbers[0] or 1
        second = numbers[1] or 1 if len(numbers) > 1 else 1
        if final in "ABCDEFGHdf":
            self.move(final, first, second)
        elif final in "JK":
            self.erase(final, numbers[0])
        elif final in "STLMPX@":
            self.shift(final, first)
        elif final == "r":
            self.top, self.bottom = first - 1, (numbers[1] if len(numbers) > 1 and numbers[1] else self.rows) - 1
            self.row = self.column = 0
        elif final in "su":
            self.escape("7" if final == "s" else "8")
        elif final in "nct":
            self.answer(final, numbers[0])

    def answer(self, final, number):
        """Where the cursor is; how many pixels there are; what kind of terminal this is."""
        if final == "c":
            self.owed += "\x1b[?62;22c"
        elif final == "t" and number == 14:
            self.owed += f"\x1b[4;{self.rows * 16};{self.columns * 8}t"
        elif final == "n" and number == 6:
            self.owed += f"\x1b[{self.row + 1};{min(self.column, self.columns - 1) + 1}R"

    def private(self, mark, final, numbers):
        if mark == "?" and final == "p":  # a mode: unknown
            self.owed += f"\x1b[?{numbers[0]};0$y"
        if mark == "?" and final == "h" and {47, 1047, 1049} & set(numbers):
            self.erase("J", 2)
            self.row = self.column = 0

    def move(self, final, first, second):
        row, column = self.row, min(self.column, self.columns - 1)
        row, column = {
            "A": (row - first, column), "B": (row + first, column), "C": (row, column + first), "D": (row, column - first), "E": (row + first, 0),
            "F": (row - first, 0), "G": (row, first - 1), "d": (first - 1, column), "H": (first - 1, second - 1), "f": (first - 1, second - 1),
        }[final]  # fmt: skip
        self.row, self.column = min(max(row, 0), self.rows - 1), min(max(column, 0), self.columns - 1)

    def erase(self, final, how):
        line, column = self.cells[self.row], min(self.column, self.columns - 1)
        start, end = {0: (column, self.columns), 1: (0, column + 1)}.get(how, (0, self.columns))
        line[start:end] = [" "] * (end - start)
        if final == "J":
            for row in {0: range(self.row + 1, self.rows), 1: range(self.row)}.get(how, range(self.rows)):
                self.cells[row] = [" "] * self.columns

    def shift(self, final, count):
        line, column = self.cells[self.row], min(self.column, self.columns - 1)
        if final == "S":
            self.scroll_up(count)
        elif final == "T":
            self.scroll_down(count)
        elif final in "LM":
            top, self.top = self.top, self.row
            (self.scroll_down if final == "L" else self.scroll_up)(count)
            self.top = top
        elif final == "P":
            line[column:] = [*line[column + count :], *[" "] * count][: self.columns - column]
        elif final == "@":
            line[column:] = [*[" "] * count, *line[column:]][: self.columns - column]
        else:
            line[column : column + count] = [" "] * len(line[column : column + count])


class Terminal:
    """A program at a terminal: ``type`` and ``key`` to it, read its ``text``. ``close`` ends it."""

    def __init__(self, words, *, cwd, env):
        self.screen, self.lock, self.closed = Screen(), threading.Lock(), False
        self.killed = False  # it did not leave by itself
        self.master, slave = os.openpty()
        termios.tcsetwinsize(slave, (ROWS, COLUMNS))
        self.process = subprocess.Popen(["setsid", "--ctty", *map(str, words)], cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        letters = codecs.getincrementaldecoder("utf-8")("replace")
        with contextlib.suppress(OSError):
            while data := os.read(self.master, 1 << 16):
                with self.lock:
                    self.screen.feed(letters.decode(data))
                    owed, self.screen.owed = self.screen.owed, ""
                if owed:
                    os.write(self.master, owed.encode())

    @property
    def text(self):
        with self.lock:
            return self.screen.text()

    def shows(self, *any_of, seconds=START_SECONDS):
        """Wait until the screen shows one of these texts; which one."""
        try:
            return wait_until(lambda: self._shown(any_of) or self._ended(), f"the screen shows {any_of}", seconds)
        except AssertionError as late:
            raise AssertionError(f"{late}; it shows:\n{self.text}") from None

    def _shown(self, any_of):
        text = self.text
        return next((one for one in any_of if one in text), None)

    def _ended(self):
        assert self.process.poll() is None, f"the client ended with {self.process.returncode}; its screen:\n{self.text}"

    def type(self, text):
        os.write(self.master, text.encode())

    def key(self, name):
        self.type(KEYS[name])

    def press(self, name, until, what, seconds=START_SECONDS):
        """Press a key until ``until()`` is true: an interface that was still busy may have missed it."""
        for _ in range(int(seconds / REPEAT_SECONDS)):
            self.key(name)
            with contextlib.suppress(AssertionError):
                return wait_until(lambda: until() or self._ended(), what, REPEAT_SECONDS)
        raise AssertionError(f"not within {seconds} s: {what}; the screen shows:\n{self.text}")

    def close(self):
        """Leave as a person would, by ctrl-c; who does not go is ended. Once is enough."""
        if self.closed:
            return
        self.closed = True
        if self.process.poll() is None:
            with contextlib.suppress(AssertionError, OSError):
                self.press_until_gone()
        if self.process.poll() is None:
            self.process.kill()
            self.killed = True
        self.process.wait()
        os.close(self.master)
        self.reader.join(GONE_SECONDS)

    def press_until_gone(self):
        """Ctrl-c again and again: the clients want it twice, and not too soon."""
        for _ in range(int(GONE_SECONDS / CTRL_C_SECONDS)):
            self.key("ctrl-c")
            with contextlib.suppress(AssertionError):
                return wait_until(lambda: self.process.poll() is not None, "the client is gone", CTRL_C_SECONDS)
        return None
