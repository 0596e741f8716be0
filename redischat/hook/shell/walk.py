"""Goes through a shell command as the shell would, without running anything, and notes what it writes."""

from __future__ import annotations

import os
import re

from .call import Call
from .commands import handler
from .letters import DEEPEST, Enough
from .tree import parse
from .words import UNSEEN, clean, joined, shown, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .letters import Word
    from .tree import Node

    Text = str | Callable[[], str | None] | None  # what a command says: known, to be looked up when somebody asks, not known

MOST_STEPS = 4_000  # commands gone through, each turn of a loop anew
MOST_TEXTS = 4_000_000  # characters that words become
MOST_DEEP = 25  # commands that run commands: sudo timeout xargs ...
MOST_LINES = 200  # turns of a loop that reads
MOST_PATHS = 1_000
MOST_SCRIPTS = 3  # scripts inside scripts: bash -c, eval
MOST_CALLS = 10  # functions that call functions
MOST_TEXT = 1 << 20  # of a patch or a list that lies in a file
_ASSIGNED = re.compile(r"(\w+)(?:\[[^\]]*\])?(\+?)=", re.ASCII)
_COPIED = re.compile(r"\d+-?|-")
_NAMES_OF_THE_SHELL = {"$": "$$", "!": "$!", "?": "0", "RANDOM": "$RANDOM", "SECONDS": "$SECONDS", "EPOCHSECONDS": "$SECONDS", "BASHPID": "$$"}


class Stand:
    """Where the shell stands: folder ("" is where the command begins), folders to go back to, variables, functions."""

    __slots__ = ("before", "folder", "functions", "stack", "values")

    def __init__(self) -> None:
        self.folder, self.before = "", ""
        self.stack: list[str] = []
        self.values: dict[str, list[str]] = {}
        self.functions: dict[str, list[list[Node]]] = {}

    def copy(self) -> Stand:
        """As it is now."""
        new = Stand()
        new.folder, new.before, new.stack, new.values, new.functions = self.folder, self.before, [*self.stack], {**self.values}, {**self.functions}
        return new


class Walk:
    """One command's way. ``paths``, ``reasons`` and ``verbs`` are what was noted."""

    def __init__(self, cwd: str, me: str) -> None:
        self.cwd, self.me = cwd, me
        self.paths: dict[str, None] = {}
        self.reasons: dict[str, None] = {}
        self.verbs: list[str] = []
        self.stand = Stand()
        self.steps = self.texts = self.deep = self.scripts = self.calls = 0

    # what is noted

    def write(self, path: str) -> None:
        """This path, as written where the shell stands, is written, made, renamed or deleted."""
        whole = os.path.join(self.stand.folder, path)
        if not path or os.path.normpath(whole).startswith("/dev/"):
            return
        if UNSEEN in whole:
            self.opaque(f"writes {shown(whole)}, which is not known before it runs")
        elif len(self.paths) < MOST_PATHS:
            self.paths[whole] = None
        else:
            self.opaque(f"writes more than {MOST_PATHS} files")

    def opaque(self, why: str) -> None:
        """It may write what cannot be seen."""
        self.reasons[why] = None

    def spend(self, texts: int) -> None:
        """Count what words become, so that doubling ends."""
        self.texts += texts
        if self.texts > MOST_TEXTS:
            raise Enough

    # what is looked up

    def base(self) -> str:
        """The folder where the shell stands; "" when it is not known."""
        place = os.path.join(self.cwd, self.stand.folder)
        return (place.rstrip("/") or "/") if UNSEEN not in place and place.startswith("/") else ""

    def real(self, path: str) -> str:
        """The path from the root on; "" when it is not known."""
        place = os.path.join(self.cwd, self.stand.folder, path)
        return place if UNSEEN not in place and place.startswith("/") else ""

    def text(self, path: str) -> str | None:
        """What lies in a file, if it is no large one."""
        try:
            if not os.path.isfile(self.real(path)) or os.path.getsize(self.real(path)) > MOST_TEXT:
                return None
            with open(self.real(path), encoding="utf-8", errors="surrogateescape") as file:
                return clean(file.read())
        except (OSError, ValueError):
            return None

    def known(self, name: str) -> list[str] | None:
        """The values of a variable that this command sets, or that every shell has."""
        if name in self.stand.values:
            return self.stand.values[name]
        if name == "PWD":
            return [self.base()] if self.base() else None
        if name == "OLDPWD":
            return [self.stand.before]
        if name == "HOME":
            return [os.path.expanduser("~")]
        if name == "TMPDIR":
            return [os.environ.get("TMPDIR", "/tmp")]  # noqa: S108 - where mktemp makes a name
        return [_NAMES_OF_THE_SHELL[name]] if name in _NAMES_OF_THE_SHELL else None

    # going

    def run(self, pipes: list[list[Node]], given: Text = None) -> Text:
        """Go through pipelines; what they say, where all of it is known."""
        said: list[Text] = []
        for pipe in pipes:
            text = given
            for node in pipe:
                text = self.node(node, text)
            said.append(text)
        if len(said) == 1:
            return said[0]
        return "".join(str(one) for one in said) if all(isinstance(one, str) for one in said) else None

    def node(self, node: Node, given: Text) -> Text:
        """Go through one command of any kind; what it says."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise Enough
        if node.kind == "simple":
            return self.simple(node, given)
        if node.kind == "function":
            self.stand.functions[node.name] = node.body
            return ""
        given = self.redirects(node, given)
        if node.kind == "for":
            return self.loop(node)
        if node.kind == "while":
            return self.turns(node, given)
        for word in node.words:
            words(self, word)
        return self.run(node.body, given) if node.kind == "group" else self.apart(lambda: self.run(node.body, given))

    def apart(self, go: Callable[[], Text]) -> Text:
        """As a subshell: folder and variables are its own."""
        stand, self.stand = self.stand, self.stand.copy()
        try:
            return go()
        finally:
            self.stand = stand

    def aside(self, pipes: list[list[Node]]) -> None:
        """``<(..)`` and ``>(..)``."""
        self.apart(lambda: self.run(pipes))

    def output(self, pipes: list[list[Node]]) -> str | None:
        """What ``$(..)`` becomes."""
        said = self.apart(lambda: self.run(pipes))
        return said() if callable(said) else said

    def loop(self, node: Node) -> Text:
        """Each turn with its value."""
        values = [value for word in node.words for value in words(self, word)] if node.words else self.known("@")
        for value in values if values is not None else [UNSEEN + "$" + node.name]:
            self.stand.values[node.name] = [value]
            self.run(node.body)
        return None

    def turns(self, node: Node, given: Text) -> Text:
        """A turn for each line that it reads; two where those are not known, for what the first turn changes."""
        text = given() if callable(given) else given
        lines = text.splitlines(keepends=True) if text else []
        for line in lines if 0 < len(lines) <= MOST_LINES else [None, None]:
            self.run(node.body, line)
        return None

    def simple(self, node: Node, given: Text) -> Text:
        """Assignments, redirections, then the command."""
        rest, mine = [*node.words], {}
        while rest and (found := self.assigned(rest[0])):
            name, values = found
            mine[name] = values
            rest.pop(0)
        args = [one for word in rest for one in words(self, word)]
        given = self.redirects(node, given)
        if not args:
            self.stand.values |= mine
            return ""
        return self.call(args, given, mine)

    def assigned(self, word: Word) -> tuple[str, list[str]] | None:
        """Name and values, if the word assigns."""
        kind, text, quoted = word[0] if word else ("", "", True)
        found = _ASSIGNED.match(text) if kind == "text" and not quoted else None
        if not found:
            return None
        lists = [value for kind, value, _ in word if kind == "array"]
        before = self.stand.values.get(found[1], []) if found[2] else []
        if lists:
            return found[1], [*before, *(one for each in lists[0] for one in words(self, each))]
        return found[1], ["".join(before[:1]) + joined(self, [("text", text[found.end() :], False), *word[1:]])]

    def redirects(self, node: Node, given: Text) -> Text:
        """Note what redirections write. What the command gets to read."""
        for one in node.redirects:
            if one.op in {"<<", "<<-"}:
                given = joined(self, one.body)
                continue
            target = " ".join(words(self, one.word))
            if one.op == "<<<":
                given = target + "\n"
            elif one.op == "<":
                given = self.file(target)
            elif one.op != "<&" and not (one.op == ">&" and _COPIED.fullmatch(target)):
                self.write(target)
        return given

    def file(self, path: str) -> Text:
        """What lies in a file, once somebody asks."""
        stand = self.stand.copy()

        def look() -> str | None:
            return self.text(os.path.join(stand.folder, path))

        return look

    def call(self, args: list[str], given: Text, mine: dict[str, list[str]] | None = None) -> Text:
        """Go through one command, its words known as far as they are."""
        self.steps += 1
        if self.steps > MOST_STEPS or self.deep > MOST_DEEP:
            raise Enough
        if UNSEEN in args[0]:
            self.opaque(f"runs {shown(args[0])}, which is not known before it runs")
            return None
        if args[0] in self.stand.functions:
            return self.function(args, given)
        self.deep += 1
        said = handler(args[0])(Call(self, args, given, mine or {}))
        self.deep -= 1
        return said

    def function(self, args: list[str], given: Text) -> Text:
        """A function of the same command."""
        if self.calls >= MOST_CALLS:
            self.opaque(f"runs {args[0]} inside itself")
            return None
        self.calls += 1
        self.place(args)
        try:
            return self.run(self.stand.functions[args[0]], given)
        finally:
            self.calls -= 1

    def place(self, args: list[str]) -> None:
        """``$0``, ``$1``, ``$@``."""
        self.stand.values |= {str(at): [one] for at, one in enumerate(args)}
        self.stand.values["@"] = self.stand.values["*"] = args[1:]

    def script(self, text: str, args: list[str]) -> Text:
        """Go through a text that is run as a script."""
        if self.scripts >= MOST_SCRIPTS:
            self.opaque("runs scripts inside scripts")
            return None
        self.scripts += 1
        if args:
            self.place(args)
        pipes, whole = parse(shown(text), DEEPEST * self.scripts // (2 * MOST_SCRIPTS))
        if not whole:
            self.opaque("is too long to follow")
        try:
            return self.run(pipes)
        finally:
            self.scripts -= 1
