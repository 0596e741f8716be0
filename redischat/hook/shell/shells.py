"""The shell's own commands, shells inside the shell, what only says something, and redischat itself."""

from __future__ import annotations

import os
import re

from .call import options
from .words import UNSEEN, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call
    from .walk import Text

_ASSIGNED = re.compile(r"(\w+)=(.*)", re.DOTALL | re.ASCII)
_FORMAT = re.compile(r"%s|%%|\\n|\\t")
_PLAIN_FORMAT = re.compile(r"(?:[^%\\]|%s|%%|\\n|\\t)*")
_CONSUMING = {"read", "wait", "ack", "leave", "identify"}
_HARMLESS = {"--peek", "--all", "--since", "--since-summary", "--help", "-h"}
_SHELL_FLAGS = {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}
_MOST_NUMBERS = 200
_MADE_UP = "tmp.XXXXXXXXXX"


def set_for_it(call: Call, words: list[str]) -> list[str]:
    """The words behind ``NAME=value``, which are noted as the command's own."""
    while words and (found := _ASSIGNED.fullmatch(words[0])):
        call.mine = {**call.mine, found[1]: [found[2]]}
        words = words[1:]
    return words


def env(call: Call) -> Text:
    """The command with variables of its own, maybe in another folder."""
    flags, free = options(call.args, "uCS", "--unset --chdir --split-string", first=True)
    text = flags.get("-S", flags.get("--split-string"))
    if text is not None:
        return call.walk.script(text, [])
    where = flags.get("-C", flags.get("--chdir", ""))

    def go() -> Text:
        move(call, where)
        return call.again(set_for_it(call, free))

    return call.walk.apart(go) if where else call.again(set_for_it(call, free))


def command(call: Call) -> Text:
    """The command behind it; with -v only a question."""
    return None if call.args[:1] in (["-v"], ["-V"]) else call.again([one for one in call.args if one not in {"-p", "--"}])


def move(call: Call, where: str) -> None:
    """Stand in another folder."""
    stand = call.walk.stand
    target = stand.before if where == "-" else os.path.join(stand.folder, os.path.expanduser(where or "~"))
    stand.before, stand.folder = stand.folder, target


def cd(call: Call) -> None:
    """Also pushd."""
    names = [one for one in call.args if one == "-" or one[:1] not in {"-", "+"}]
    if call.name == "pushd":
        call.walk.stand.stack.append(call.walk.stand.folder)
    move(call, names[0] if names else "")


def popd(call: Call) -> None:
    """Back to where pushd came from."""
    stack = call.walk.stand.stack
    call.walk.stand.folder = stack.pop() if stack else UNSEEN + "the folder before"


def export(call: Call) -> None:
    """Also declare, local, readonly, typeset."""
    for one in call.args:
        found = _ASSIGNED.fullmatch(one)
        if found:
            call.walk.stand.values[found[1]] = [found[2]]


def forget(call: Call) -> None:
    """unset, getopts: the variables are not known from here on."""
    for one in call.args:
        call.walk.stand.values.pop(one, None)


def read(call: Call) -> None:
    """The words of a line, where that is known; all its lines for mapfile."""
    names = options(call.args, "adinNptu" if call.name == "read" else "dnOsucC")[1]
    text = call.input()
    for one in names:
        call.walk.stand.values.pop(one, None)
    if text is None or not names or {"-a", "-d"} & set(options(call.args)[0]):
        return
    if call.name != "read":
        call.walk.stand.values[names[-1]] = text.splitlines()
        return
    words = text.partition("\n")[0].split(None, len(names) - 1)
    call.walk.stand.values |= {name: [one.strip()] for name, one in zip(names, words, strict=False)}


def positional(call: Call) -> None:
    """``set -- a b``."""
    if call.args[:1] == ["--"]:
        call.walk.place(["", *call.args[1:]])


def trap(call: Call) -> None:
    """What runs at the end runs."""
    names = call.args[1:] if call.args[:1] == ["--"] else call.args
    if len(names) > 1 and names[0] not in {"", "-", "-l", "-p"}:
        call.walk.script(names[0], [])


def evaluate(call: Call) -> Text:
    """Words that become a command."""
    if any(UNSEEN in one for one in call.args):
        call.opaque("runs what is not known before it runs")
    return call.walk.script(" ".join(call.args), [])


def source(call: Call) -> None:
    """A file of commands, which may also set variables and move."""
    call.opaque("runs a script")


def shell(call: Call) -> Text:
    """-c TEXT, commands that it reads, or a script."""
    rest = [*call.args]
    asked = ""
    while rest and rest[0][:1] in {"-", "+"} and rest[0] not in {"-", "--"}:
        flag = rest.pop(0)
        if flag in _SHELL_FLAGS or (flag[-1] == "o" and not flag.startswith("--")):
            rest = rest[1:]
        asked += "" if flag.startswith("--") else flag[1:]
        if flag == "--version":
            return None
    rest = rest[rest[:1] == ["--"] :]
    if "n" in asked:
        return None
    if "c" in asked:
        return _within(call, rest[0], rest[1:]) if rest else None
    text = call.input() if not rest or rest[0] == "-" or "s" in asked else None
    if text is None:
        call.opaque("runs a script")
        return None
    return _within(call, text, [])


def _within(call: Call, text: str, args: list[str]) -> Text:
    """Another shell with this text: what it sets is its own, what is set for it is known to it."""

    def go() -> Text:
        call.walk.stand.values |= call.mine
        return call.walk.script(text, args)

    return call.walk.apart(go)


def echo(call: Call) -> Text:
    """Its words."""
    words = [*call.args]
    while words and words[0] in {"-n", "-e", "-E", "-ne", "-en"}:
        words.pop(0)
    return " ".join(words) + "\n"


def printf(call: Call) -> Text:
    """Its words, where the format is a plain one."""
    flags, free = options(call.args, "v", first=True)
    if not free or "-v" in flags or not _PLAIN_FORMAT.fullmatch(free[0]):
        call.walk.stand.values.pop(flags.get("-v", ""), None)
        return None
    count, words, out = free[0].count("%s"), free[1:], []
    while True:
        turn, words = iter(words[:count]), words[count:]
        out.append(_FORMAT.sub(lambda m, turn=turn: {"%s": "", "%%": "%", "\\n": "\n", "\\t": "\t"}[m[0]] or next(turn, ""), free[0]))  # type: ignore[misc]
        if not words or not count:
            return "".join(out)


def cat(call: Call) -> Text:
    """What it reads."""
    names = [one for one in call.args if one == "-" or one[:1] != "-"]
    if not names or names == ["-"]:
        return call.given
    return call.walk.file(names[0]) if len(names) == 1 else None


def pwd(call: Call) -> Text:
    """Where the shell stands."""
    return call.walk.base() or None


def name_of(call: Call) -> Text:
    """dirname, basename, realpath, readlink: made of the name alone."""
    flags, free = options(call.args, "s" if call.name == "basename" else "", "--suffix --relative-to")
    if not free or UNSEEN in free[0] or "--relative-to" in flags:
        return None
    if call.name == "basename":
        return os.path.basename(free[0].rstrip("/")).removesuffix(flags.get("-s", free[1] if len(free) > 1 else ""))
    return (os.path.dirname(free[0].rstrip("/")) or ".") if call.name == "dirname" else free[0]


def mktemp(call: Call) -> Text:
    """A new name: no file that anybody could have locked, unless a pattern says where."""
    flags, free = options(call.args, "p", "--tmpdir --suffix")
    if not free or {"-t", "-p", "--tmpdir"} & set(flags):
        where = flags.get("-p") or (call.walk.known("TMPDIR") or [""])[0]
        return os.path.join(where, free[0] if free else _MADE_UP)
    call.write(free[0])
    return free[0]


def ls(call: Call) -> Text:
    """The files that it is given, where it is given files."""
    names = [one for one in call.args if one[:1] != "-"]
    return None if not names or any(UNSEEN in one or call.folder(one) for one in names) else "\n".join([*names, ""])


def made_up(call: Call) -> Text:
    """date, uuidgen: part of a name that nobody has yet."""
    return f"$({call.name})"


def seq(call: Call) -> Text:
    """Its numbers."""
    names = call.args
    if not names or len(names) > 2 or not all(one.isascii() and one.isdigit() and len(one) < 6 for one in names):  # noqa: PLR2004 - first and last
        return None
    first, last = (int(names[0]) if len(names) > 1 else 1), int(names[-1])
    return "\n".join(str(one) for one in range(first, last + 1)) if last - first < _MOST_NUMBERS else None


def redischat(call: Call) -> None:
    """Notes verbs that take mail or change who one is; export writes a folder."""
    words = [shown(one) for one in call.args]
    names = {one.partition("=")[0] for one in words}
    verb = words[0] if words else ""
    free = options(call.args, "n", "--as --workspace --url --timeout --from --reply-to --interval --limit --reason --idem")[1]
    if verb == "export":
        call.write(*free[2:3])
    other = _another(call, words)
    if verb in _CONSUMING and not other and not names & _HARMLESS:
        call.walk.verbs.append(" ".join(shown(one) for one in free[:2]))


def _another(call: Call, words: list[str]) -> bool:
    """It says who acts, and that is not the asker's own name."""
    stated = [one.partition("=")[2] or (words[at + 1] if words[at + 1 :] else "") for at, one in enumerate(words) if one.partition("=")[0] == "--as"]
    said = stated or call.mine.get("REDISCHAT_AGENT") or call.walk.stand.values.get("REDISCHAT_AGENT") or []
    return bool(said and said[-1]) and said[-1].casefold() != call.walk.me.casefold()


KNOWN = {
    **dict.fromkeys(("cd", "chdir", "pushd"), cd),
    **dict.fromkeys(("export", "declare", "local", "readonly", "typeset"), export),
    **dict.fromkeys(("read", "mapfile", "readarray"), read),
    **dict.fromkeys(("unset", "getopts"), forget),
    **dict.fromkeys(("bash", "sh", "zsh", "dash", "ksh", "ash", "fish"), shell),
    **dict.fromkeys(("source", "."), source),
    **dict.fromkeys(("dirname", "basename", "realpath", "readlink", "grealpath"), name_of),
    **dict.fromkeys(("date", "uuidgen"), made_up),
    "cat": cat,
    "command": command,
    "echo": echo,
    "env": env,
    "eval": evaluate,
    "ls": ls,
    "mktemp": mktemp,
    "popd": popd,
    "printf": printf,
    "pwd": pwd,
    "redischat": redischat,
    "seq": seq,
    "set": positional,
    "trap": trap,
}
