"""Programs that change files where they are: sed, perl, awk, patch; and find and xargs, which run others on many."""

from __future__ import annotations

import os
import re

from .call import options
from .code import scanned
from .folders import Search, wild
from .patches import patched
from .tables import READERS
from .words import UNSEEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .call import Call
    from .walk import Text

_SED_ADDRESS = r"^\s*(?:[\d,$+~!]|/(?:\\.|[^/\\\n])*/)*\s*"
_SED_WRITES = re.compile(_SED_ADDRESS + r"(?:s([^\w\s\\])(?:\\.|(?!\1)[^\\\n])*\1(?:\\.|(?!\1)[^\\\n])*\1[gpiIeMm\d]*)?w\s+(\S+)\s*$", re.MULTILINE)
_AWK_WRITES = re.compile(r"print(?:f\b[^;}\n]*?|[^;}\n>]*)>>?\s*(?:\"([^\"]*)\"|([^\s;}\"]+))")
_AWK_RUNS = re.compile(r"\bsystem\s*\(|\|\s*\"")
_MOST_NAMES = 200
_EVERY = [("*", "-name")]


def sed(call: Call) -> None:
    """-i and --in-place: the files, and their copies with -i.bak; without it, only what w names."""
    flags, free = options(call.args, "efls", "--expression --file --line-length", own="i")
    script = flags.get("-e", flags.get("--expression"))
    if script is None and not {"-f", "--file"} & set(flags):
        if free[:1] == [""] and "-i" in flags:  # BSD: -i ''
            free.pop(0)
        script = free.pop(0) if free else ""
    call.write(*(found[2] for found in _SED_WRITES.finditer(script or "")))
    if "-i" in flags or "--in-place" in flags:
        _in_place(call, free, flags.get("-i", flags.get("--in-place", "")))


def perl(call: Call) -> None:
    """-i: the files; otherwise what the code is seen to open."""
    flags, free = options(call.args, "eEIMm", own="i0lFdDCx")
    code = flags.get("-e", flags.get("-E"))
    if "-i" in flags:
        _in_place(call, free if code is not None else free[1:], flags["-i"])
    elif code is None and free:
        call.opaque("runs a script")
    if code is not None:
        paths, may = scanned(code)
        call.write(*paths)
        if may:
            call.opaque("runs code")


def _in_place(call: Call, names: list[str], suffix: str) -> None:
    for one in names:
        call.write(one, *([one + suffix] if suffix and suffix != "e" and "*" not in suffix else []))


def awk(call: Call) -> None:
    """-i inplace: the files; and what print > "file" names."""
    flags, free = options(call.args, "Fvfi", "--include --assign --field-separator --file")
    program = free[0] if free and not {"-f", "--file"} & set(flags) else ""
    if "inplace" in {flags.get("-i"), flags.get("--include")}:
        call.write(*[one for one in (free[1:] if program else free) if "=" not in one])
    for name, other in _AWK_WRITES.findall(program):
        if name and not name.startswith("/dev/"):
            call.write(name)
        elif other and not other[0].isdigit():
            call.opaque()
    if _AWK_RUNS.search(program) or (not program and "-f" in flags):
        call.opaque("runs code")


def patch(call: Call) -> None:
    """The files that the patch names: from -i, a second word, what it reads."""
    flags, free = options(call.args, "pidorBFDVzY", "--strip --input --directory --output --reject-file")
    if {"--dry-run", "-C", "--check"} & set(flags):
        return
    output = flags.get("-o", flags.get("--output")) or (free[0] if free else "")
    if output:
        call.write(output)
        return
    source = flags.get("-i", flags.get("--input"))
    text = call.walk.text(source) if source else call.input()
    if text is None:
        call.opaque("applies a patch that cannot be seen")
        return
    strip = flags.get("-p", flags.get("--strip", ""))
    where = flags.get("-d", flags.get("--directory", ""))
    call.write(*(os.path.join(where, one) for one in patched(text, int(strip) if strip.isascii() and strip.isdigit() and len(strip) == 1 else -1)))


def apply_patch(call: Call) -> None:
    """Codex's: the patch is its argument, or what it reads."""
    text = call.args[0] if call.args else call.input()
    if text is None:
        call.opaque("applies a patch that cannot be seen")
    else:
        call.write(*patched(text))


def yq(call: Call) -> None:
    """-i: the files behind the expression."""
    flags, free = options([one for one in call.args if one not in {"eval", "e", "w"}], "op", "--output-format --input-format --arg")
    if {"-i", "--inplace", "--in-place", "-I"} & set(flags):
        call.write(*free[1:])


def sd(call: Call) -> None:
    """Old, new, files."""
    flags, free = options(call.args, "nf", "--max-replacements --flags")
    if not {"-p", "--preview"} & set(flags):
        call.write(*free[2:])


def xargs(call: Call) -> Text:
    """The command with the words that it reads; where those are not known, with one that is not."""
    flags, free = options(call.args, "nPIdLsEa", "--max-args --max-procs --replace --delimiter --arg-file --max-lines", first=True)
    text = call.input()
    lines = {"-0", "--null", "-I", "--replace", "-d", "--delimiter"} & set(flags)
    words = [] if text is None else text.splitlines() if lines else text.split()
    if text is None or len(words) > _MOST_NAMES:
        words = [UNSEEN + "what xargs reads"]
    mark = flags.get("-I", flags.get("--replace"))
    if not free or not mark:
        return call.again([*free, *words]) if free else None
    for word in words:
        call.again([one.replace(mark, word) for one in free])
    return None


def find(call: Call) -> Text:
    """-delete, -exec, -fprint; what it says is what it finds."""
    at = next((at for at, one in enumerate(call.args) if one[:1] in {"-", "(", "!", "\\"}), len(call.args))
    roots, rest = call.args[:at] or ["."], call.args[at:]
    names = [(rest[n + 1], one) for n, one in enumerate(rest[:-1]) if one in {"-name", "-iname"} and rest[n - 1 : n] not in (["!"], ["-not"])]
    call.write(*(rest[n + 1] for n, one in enumerate(rest[:-1]) if one in {"-fprint", "-fprint0", "-fls", "-fprintf"}))
    if "-delete" in rest:
        call.write(*_found(call, roots, names))
    for n, one in enumerate(rest):
        if one in {"-exec", "-execdir", "-ok", "-okdir"}:
            stop = next((m for m in range(n, len(rest)) if rest[m] == ";" or (rest[m] == "+" and rest[m - 1] == "{}")), len(rest))
            _each(call, rest[n + 1 : stop], lambda: _found(call, roots, names or _EVERY, files="f" in _types(rest)))
    return None if {"-printf", "-ls", "-exec"} & set(rest) else lambda: _listed(_found(call, roots, names or _EVERY, files="f" in _types(rest)))


def _types(rest: list[str]) -> list[str]:
    return [rest[n + 1] for n, one in enumerate(rest[:-1]) if one == "-type"]


def _listed(names: list[str]) -> str | None:
    return None if any(UNSEEN in one for one in names) else "\n".join([*names, ""])


def _each(call: Call, command: list[str], found: Callable[[], list[str]]) -> None:
    if not command:
        return
    for one in [UNSEEN + "what find finds"] if command[0] in READERS else found():
        call.again([word.replace("{}", one) for word in command])


def _found(call: Call, roots: list[str], names: list[tuple[str, str]], *, files: bool = False) -> list[str]:
    """What find finds, judged by its names alone; a root that stands for all below it when there are none. ``files``: no folders."""
    if not names:
        return roots
    base, found = call.walk.base(), []
    for root in roots:
        for name, how in names:
            search = Search(base, hidden=True, caseless=how == "-iname")
            whole = bool(base) and UNSEEN not in root + name and search.all(root, ["**", name.replace("\1", "")])
            found += search.found if whole or not wild(name) else [*search.found, UNSEEN + f"{root}/**/{name}"]
    return [one for one in dict.fromkeys(found) if not (files and call.folder(one))]


KNOWN = {
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), awk),
    **dict.fromkeys(("patch", "gpatch"), patch),
    **dict.fromkeys(("apply_patch", "applypatch"), apply_patch),
    "perl": perl,
    "yq": yq,
    "sd": sd,
    "xargs": xargs,
    "gxargs": xargs,
    "find": find,
    "gfind": find,
}
