"""Which files a patch changes: Codex's apply_patch, and a unified diff as git or diff writes it."""

from __future__ import annotations

_CODEX = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_GIT = ("rename from ", "rename to ", "copy to ")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_EITHER = -1  # a/ and b/ are dropped where both sides have them


def patched(patch: str, strip: int = _EITHER) -> list[str]:
    """The paths that the patch changes, creates, deletes or renames (both sides), in its order.

    ``strip`` is patch's ``-p``: so many folders are dropped in front. Lines inside a hunk are counted, not looked at.
    """
    lines = patch.splitlines() if "\r" in patch else patch.split("\n")
    found = [line.partition(": ")[2].strip() for line in map(str.lstrip, lines) if line.startswith(_CODEX)] if "*** " in patch else []
    return list(dict.fromkeys(filter(None, found or _unified(lines, strip))))


def _unified(lines: list[str], strip: int) -> list[str]:
    found: list[str] = []
    section: list[str] = []  # what the section's "diff --git" names: used where no other line names a file
    old = new = at = 0
    while at < len(lines):
        line, after = lines[at], lines[at + 1] if at + 1 < len(lines) else ""
        at += 1
        if old > 0 or new > 0:
            old -= line[:1] in {"-", " ", ""}
            new -= line[:1] in {"+", " ", ""}
        elif line.startswith("@@ "):
            old, new = _counts(line)
        elif line.startswith("diff --git "):
            found += section
            section = _both(line.removeprefix("diff --git "), strip)
        elif line.startswith("--- ") and after.startswith("+++ "):
            found += _pair(_name(line[4:]), _name(after[4:]), strip)
            section, at = [], at + 1
        elif line.startswith(_GIT):
            found.append(_name(line.partition(" ")[2].partition(" ")[2]))
            section = []
    return found + section


def _counts(line: str) -> tuple[int, int]:
    """How many old and new lines the hunk has: "@@ -1,4 +1,6 @@"."""
    sizes = []
    for one in line.split(" ")[1:3]:
        _, comma, size = one.partition(",")
        sizes.append(int(size) if comma and size.isascii() and size.isdigit() and len(size) < 9 else 1)  # noqa: PLR2004 - no patch has so many lines
    return (sizes[0], sizes[1]) if len(sizes) > 1 else (0, 0)


def _pair(old: str, new: str, strip: int) -> list[str]:
    sides = [one for one in (old, new) if one != "/dev/null"]
    if strip == _EITHER:
        strip = int(all(one[1:2] == "/" for one in sides))
    return [_stripped(one, strip) for one in sides]


def _both(text: str, strip: int) -> list[str]:
    """The two names of a "diff --git" line; none where it cannot be told where one ends."""
    if text.startswith('"'):
        first, _, second = text[1:].partition('" ')
        return _pair(_name(f'"{first}"'), _name(second), strip)
    middle = len(text) // 2
    first, second = text[:middle], text[middle + 1 :]
    return _pair(first, second, strip) if first.partition("/")[2] == second.partition("/")[2] else []


def _stripped(path: str, strip: int) -> str:
    for _ in range(strip):
        path = path.partition("/")[2].lstrip("/") or path
    return path


def _name(text: str) -> str:
    """A file's name as git writes it: a time behind a tab, quotes with octal escapes."""
    if not text.startswith('"'):
        return text.partition("\t")[0].rstrip("\r")
    out, at, end = bytearray(), 1, len(text)
    while at < end and text[at] != '"':
        char, three = text[at + 1 : at + 2], text[at + 1 : at + 4]
        if text[at] != "\\":
            out += text[at].encode("utf-8", "surrogateescape" if text[at] <= "\udcff" else "replace")
            at += 1
        elif len(three) == 3 and all(one in "01234567" for one in three):  # noqa: PLR2004 - three octal digits
            out.append(int(three, 8) & 255)
            at += 4
        else:
            out += bytes([_ESCAPES[char]]) if char in _ESCAPES else char.encode("utf-8", "replace")
            at += 2
    return out.decode("utf-8", "surrogateescape")
