"""Code that a command hands to an interpreter: which files it is plainly seen to write. More than a look at literals it is not."""

from __future__ import annotations

import re

from .call import options

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .call import Call
    from .walk import Text

_STRING = r"""[rbuf]{0,2}(?:"([^"\\\n]*)"|'([^'\\\n]*)'|`([^`\\\n$]*)`)"""
_PLACE = rf"(?:{_STRING}|([A-Za-z_$][\w$]*))"
_ASSIGNED = re.compile(rf"(?:^|[;\n(,]|const |let |var |my )[ \t]*([$]?[A-Za-z_][\w$]*)[ \t]*(?::[^=\n]*)?=[ \t]*(?:pathlib\.)?(?:Path\()?[ \t]*{_STRING}")
_LISTED = re.compile(r"\bfor\s+(\w+)\s+in\s+[\[({]([^\])}]*)[\])}]")
_ONE_STRING = re.compile(_STRING)
_OPENED = re.compile(rf"\bopen\(\s*{_PLACE}\s*,\s*(?:mode\s*=\s*)?['\"][rbt]*[waxr]?[bt]*[+]?[bt]*['\"]", re.IGNORECASE)
_MODE = re.compile(r"['\"]([rwaxbt+]+)['\"]$", re.IGNORECASE)
_METHOD = re.compile(rf"(?:\bPath\(\s*{_STRING}\s*\)|\b([A-Za-z_]\w*))\.(?:write_text|write_bytes|unlink|touch|rmdir|open\(\s*['\"][wax][^'\"]*['\"])")
_ONE = re.compile(
    r"(?:os\.(?:remove|unlink|truncate|removedirs|rmdir)|shutil\.rmtree|(?:fs|fsp|promises|fs\.promises|Deno|Bun)\.(?:writeFile|appendFile|unlink|rm|rmdir|truncate|"
    r"createWriteStream|writeTextFile|remove|write|outputFile|writeJson)(?:Sync)?|\b(?:writeFile|appendFile|unlink|rm)(?:Sync)|(?:File|IO)\.(?:write|delete|unlink|binwrite)|FileUtils\.(?:rm|rm_f|rm_rf|"
    rf"touch)|file_put_contents|\bunlink|\.(?:to_csv|to_json|to_parquet|to_excel|savefig))[ (]\s*{_PLACE}"
)
_TWO = re.compile(
    r"(?:os\.(?:rename|renames|replace|link|symlink)|shutil\.(?:move|copy|copy2|copyfile|copytree)|fs\.(?:rename|copyFile|cp)(?:Sync)?|File\.rename|FileUtils\.(?:mv|cp|cp_r)|\brename)[ (]"
    rf"\s*{_PLACE}\s*,\s*{_PLACE}"
)
_COPIES = re.compile(r"copy|cp|link")
_PERL = re.compile(r"""\bopen\s*\(?\s*(?:my\s*)?[$\w]+\s*,\s*(?:['"]\+?>{1,2}[^'",]*['"]\s*,\s*['"]([^'"]+)['"]|['"]\+?>{1,2}\s*([^'"]+)['"])""")
_MAY = re.compile(r"open|unlink|rename|system|exec|qx|`|truncate|require|import|\buse\b")
_INPUT = {"-", "/dev/stdin"}
_MOST_ARGUMENTS = 9

# name -> (flags whose value is code, letters that take a value).
_LANGUAGES = {
    "python": ("-c", "cmWX"),
    "pypy": ("-c", "cmWX"),
    "node": ("-e -p --eval --print", "epr"),
    "nodejs": ("-e -p --eval --print", "epr"),
    "bun": ("-e --eval", "e"),
    "deno": ("", ""),
    "ruby": ("-e", "erI"),
    "php": ("-r", "rdc"),
    "lua": ("-e", "el"),
    "tsx": ("-e --eval", "e"),
    "Rscript": ("-e", "e"),
    "osascript": ("-e", "e"),
}
_MODULES = {"black", "isort", "ruff", "autopep8", "yapf", "autoflake", "pyupgrade", "docformatter", "redischat"}  # that are commands, too
_READING = {"http.server", "this", "site", "platform", "json.tool"}


def scanned(code: str) -> tuple[list[str], bool]:
    """The files that the code is plainly seen to write, and whether it may write others."""
    known: dict[str, list[str]] = {}
    for found in _ASSIGNED.finditer(code):
        known.setdefault(found[1].lstrip("$"), []).append(found[2] or found[3] or found[4] or "")
    for found in _LISTED.finditer(code):
        known.setdefault(found[1], []).extend(one[1] or one[2] or one[3] or "" for one in _ONE_STRING.finditer(found[2]))
    paths: list[str] = []
    for found in _OPENED.finditer(code):
        mode = _MODE.search(found[0])
        if mode and set(mode[1].lower()) & set("wax+"):
            paths += _named(found.groups(), known)
    for found in (*_METHOD.finditer(code), *_ONE.finditer(code)):
        paths += _named(found.groups(), known)
    for found in _TWO.finditer(code):
        paths += [] if _COPIES.search(found[0].partition("(")[0]) else _named(found.groups()[:4], known)
        paths += _named(found.groups()[4:], known)
    paths += [found[1] or found[2].strip() for found in _PERL.finditer(code)]
    return list(dict.fromkeys(filter(None, paths))), bool(_MAY.search(code))


def _named(groups: tuple[str | None, ...], known: dict[str, list[str]]) -> list[str]:
    """A literal, or what a variable is seen to be."""
    *literals, variable = groups
    literal = next((one for one in literals if one), "")
    return [literal] if literal else known.get((variable or "").lstrip("$"), [])


def interpreter(call: Call) -> Text:
    """python, node, ruby and their like: -c, -e, -m, a script, or code that they read."""
    name = call.name.rstrip("0123456789.")
    codes, letters = _LANGUAGES[name]
    flags, free = options(call.args, letters, "--eval --print --require --import", first=True)
    at = next((flags[one] for one in codes.split() if one in flags), None)
    module = flags.get("-m") if name in {"python", "pypy"} else None
    if module is not None and at is None:
        return _module(call, module)
    if at is None and not free and set(flags) & {"-V", "--version", "-h", "--help", "-v"}:
        return None
    if at is None:
        at = call.input() if not free or free[0] in _INPUT else None
    if at is not None:
        call.write(*scanned(_with_arguments(at, free if flags.keys() & set(codes.split()) else free[1:]))[0])
    call.opaque("runs code" if at is not None else "runs a script")
    return None


def _with_arguments(code: str, args: list[str]) -> str:
    """The code with the words of the command where it takes them from."""
    for at, one in enumerate(args[:_MOST_ARGUMENTS], 1):
        code = code.replace(f"sys.argv[{at}]", repr(one)).replace(f"process.argv[{at + 1}]", repr(one))
    return code


def _module(call: Call, module: str) -> Text:
    rest = call.args[next(at for at, one in enumerate(call.args) if one.startswith("-") and "m" in one and not one.startswith("--")) + 1 :]
    rest = rest[rest[:1] == [module] :]
    if module in _MODULES:
        return call.again([module, *rest])
    if module == "json.tool":
        call.write(*options(rest, "", "--indent")[1][1:2])
    elif module not in _READING:
        call.opaque(f"runs the module {module}")
    return None


KNOWN = dict.fromkeys(_LANGUAGES, interpreter)
