"""Which build this is: a digest of the package, its scripts and its hooks, as they lie on the disk now."""

from __future__ import annotations

import os
from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib costs 3 ms

from ..files import folder

_KINDS = (".py", ".lua", ".js")


def digest() -> str:
    """The digest; "" where something cannot be read. Two machines with one digest run the same."""
    total, package = sha1(), os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        for name, root in (("redischat", package), ("scripts", folder("scripts")), ("hooks", folder("hooks"))):
            for inside in _files(root):
                with open(os.path.join(root, inside), "rb") as file:
                    total.update(f"{name}/{inside}\0".encode() + file.read() + b"\0")
    except OSError:
        return ""
    return str(total.hexdigest())


def _files(root: str) -> list[str]:
    """What counts below a folder; an installed package holds scripts and hooks within itself, which are told once, by their own name."""
    found = []
    for at, folders, names in os.walk(root):
        folders[:] = [one for one in folders if one != "__pycache__" and not (at == root and one in ("scripts", "hooks"))]
        found += [os.path.relpath(os.path.join(at, name), root) for name in names if name.endswith(_KINDS)]
    return sorted(found)
