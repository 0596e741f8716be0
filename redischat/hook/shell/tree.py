"""A shell command as a tree: pipelines of commands, loops, functions, redirections with the bodies of heredocs.

It follows bash where agents write bash, and is never stuck on what is no shell at all: what cannot be read is stepped over.
"""

from __future__ import annotations

import re

from .letters import DEEPEST, Enough, Letters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .letters import Word

_BLANKS = re.compile(r"(?:[ \t\r]|\\\n)*(?:#[^\n]*)?")
_PIPE = re.compile(r"\|&?(?!\|)")
_REDIRECT = re.compile(r"(\d*|\{\w+\})(&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>)")
_CLOSERS = {"then", "elif", "else", "fi", "do", "done", "esac", "}"}
_CASE_END = re.compile(r";;&|;;|;&")
_PATTERN = re.compile(r"\(?(?:[^()'\"\n]|'[^'\n]*'|\"[^\"\n]*\")*\)")
_EMPTY_ARGUMENTS = re.compile(r"\([ \t]*\)")
_LOOP_NAME = re.compile(r"\w*")
_FUNCTION_NAME = re.compile(r"[^\s(){}]*")
_TIME_FLAG = re.compile(r"[ \t]+-p(?=\s)")


class Redirect:
    """``2>>file``: descriptor ("" when none is written), operator, target; a heredoc's body is its ``body``."""

    __slots__ = ("body", "fd", "op", "word")

    def __init__(self, fd: str, op: str, word: Word) -> None:
        self.fd, self.op, self.word = fd, op, word
        self.body: Word = []


class Node:
    """One command. ``kind``: simple, group, sub (a subshell), for, while, function."""

    __slots__ = ("body", "kind", "name", "redirects", "words")

    def __init__(self, kind: str, name: str = "", words: list[Word] | None = None, body: list[list[Node]] | None = None) -> None:
        self.kind, self.name, self.words, self.body = kind, name, words or [], body or []
        self.redirects: list[Redirect] = []


def parse(text: str, depth: int = 0) -> tuple[list[list[Node]], bool]:
    """The pipelines of a script, and whether it was read to its end."""
    reader, pipes = Reader(text, depth), []
    try:
        while reader.gap(()) is None:
            pipes.append(reader.pipe())
    except Enough:
        return pipes, False
    return pipes, True


class Reader(Letters):
    """Reads commands; words are its base's business."""

    def __init__(self, text: str, depth: int) -> None:
        super().__init__(text, depth)
        self.due: list[Redirect] = []  # heredocs whose bodies begin at the next line

    def gap(self, ends: tuple[str, ...]) -> str | None:
        """Step over what lies between commands. The one of ``ends`` that came, "" at the end of the text, None before a command."""
        while True:
            self.skip(_BLANKS)
            char, word = self.char(), self.keyword()
            if not char:
                return ""
            if self.skip(_CASE_END):
                word = ";;"
            elif char == "\n":
                self.newline()
            elif char == ")" or (char in ";&|" and not self.text.startswith("&>", self.at)):
                self.at += 1
                word = char
            elif word in _CLOSERS:
                self.at += len(word)
            else:
                return None
            if word in ends:
                return word

    def lines(self) -> None:
        """Step over blanks, comments and line ends."""
        self.skip(_BLANKS)
        while self.char() == "\n":
            self.newline()
            self.skip(_BLANKS)

    def newline(self) -> None:
        """Step over a line end, and the bodies of heredocs behind it."""
        self.at += 1
        due, self.due = self.due, []
        for one in due:
            end = "".join(str(value) for _, value, _ in one.word)
            lines: list[str] = []
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                line = self.text[self.at : stop if stop >= 0 else len(self.text)].removesuffix("\r")
                self.at = stop + 1 if stop >= 0 else len(self.text)
                line = line.lstrip("\t") if one.op == "<<-" else line
                if line == end:
                    break
                lines.append(line)
            text = "\n".join([*lines, ""])
            one.body = [("text", text, True)] if any(quoted for _, _, quoted in one.word) else Reader(text, self.depth + 1).quoted("")

    def block(self, *ends: str) -> tuple[list[list[Node]], str]:
        """The pipelines up to one of ``ends``, and which one it was ("" at the end of the text)."""
        pipes: list[list[Node]] = []
        while (end := self.gap(ends)) is None:
            pipes.append(self.pipe())
        return pipes, end

    def pipe(self) -> list[Node]:
        """Commands with ``|`` between them."""
        before = self.at
        nodes = [self.command()]
        while True:
            self.skip(_BLANKS)
            if not self.skip(_PIPE):
                break
            self.lines()
            nodes.append(self.command())
        self.at += self.at == before
        return nodes

    def command(self) -> Node:
        """One command with its redirections."""
        self.deeper()
        word = self.keyword()
        if self.text.startswith("((", self.at) and self.arithmetic():
            node = Node("simple")
        elif self.next("("):
            node = Node("sub", body=self.block(")")[0])
        elif word in _COMPOUND:
            self.at += len(word)
            node = _COMPOUND[word](self)
        else:
            node = self.simple()
        while node.kind != "simple" and self.redirect(node):
            pass
        self.depth -= 1
        return node

    def simple(self) -> Node:
        """Words and redirections; or, with ``()`` behind the first word, a function."""
        node = Node("simple")
        while True:
            if self.redirect(node):
                continue
            char, before = self.char(), self.at
            if not char or char in "\n;&|)":
                return node
            if char != "(":
                node.words.append(self.word())
            elif len(node.words) == 1 and self.skip(_EMPTY_ARGUMENTS):
                self.lines()
                return Node("function", "".join(str(value) for _, value, _ in node.words[0]), body=[[self.command()]])
            self.at += self.at == before

    def redirect(self, node: Node) -> bool:
        """Add the redirection that stands here, if one does."""
        self.skip(_BLANKS)
        found = _REDIRECT.match(self.text, self.at)
        if not found or (found[0] in {"<", ">"} and self.text.startswith("(", found.end())):
            return False
        self.at = found.end()
        self.skip(_BLANKS)
        one = Redirect(found[1], found[2], self.word())
        node.redirects.append(one)
        if one.op in {"<<", "<<-"}:
            self.due.append(one)
        return True

    def script(self, text: str) -> list[list[Node]]:
        """The pipelines of a text in backticks."""
        pipes, whole = parse(text, self.depth + 1) if self.depth < DEEPEST else ([], False)
        if not whole:
            raise Enough
        return pipes

    # what has a word in front and one behind

    def until_last(self, *words: str) -> Node:
        """``if a; then b; else c; fi``: all of it, one after the other."""
        body: list[list[Node]] = []
        while True:
            pipes, end = self.block(*words)
            body += pipes
            if end in {"", words[-1]}:
                return Node("group", body=body)

    def loop(self) -> Node:
        """``for name in words; do ..; done``."""
        self.skip(_BLANKS)
        node = Node("for", self.skip(_LOOP_NAME))
        if not node.name and self.text.startswith("((", self.at):
            self.arithmetic()
        self.lines()
        if self.keyword() == "in":
            self.at += 2
            while self.skip(_BLANKS) or self.char() not in {"", "\n", ";"}:
                before = self.at
                if self.char() not in {"", "\n", ";"}:
                    node.words.append(self.word())
                    self.at += self.at == before
        self.block("do")
        node.body = self.block("done")[0]
        return node

    def case(self) -> Node:
        """All that any of the patterns would run."""
        self.lines()
        self.word()
        self.lines()
        self.at += 2 * (self.keyword() == "in")
        body: list[list[Node]] = []
        end = ";;"
        while end == ";;":
            self.lines()
            if self.keyword() == "esac":
                self.at += len("esac")
                break
            if not self.skip(_PATTERN):
                break
            pipes, end = self.block(";;", "esac")
            body += pipes
        return Node("group", body=body)

    def function(self) -> Node:
        """``function name { ..; }``."""
        self.skip(_BLANKS)
        name = self.skip(_FUNCTION_NAME)
        self.skip(_BLANKS)
        self.skip(_EMPTY_ARGUMENTS)
        self.lines()
        return Node("function", name, body=[[self.command()]])

    def again(self) -> Node:
        """``time``, ``!``: the command behind it."""
        self.skip(_TIME_FLAG)
        self.skip(_BLANKS)
        return self.command()

    def test(self) -> Node:
        """``[[ .. ]]``, in which < and > compare."""
        node = Node("group")
        while self.char():
            self.lines()
            before = self.at
            if self.next("]]"):
                break
            if self.char() not in "<>()&|;":
                node.words.append(self.word())
            self.at += self.at == before
        return node


_COMPOUND: dict[str, Callable[[Reader], Node]] = {
    "{": lambda reader: Node("group", body=reader.block("}")[0]),
    "if": lambda reader: reader.until_last("then", "elif", "else", "fi"),
    "while": lambda reader: Node("while", body=reader.until_last("do", "done").body),
    "until": lambda reader: Node("while", body=reader.until_last("do", "done").body),
    "for": Reader.loop,
    "select": Reader.loop,
    "case": Reader.case,
    "function": Reader.function,
    "!": Reader.again,
    "time": Reader.again,
    "coproc": Reader.again,
    "[[": Reader.test,
}
