"""What is remembered of an install, in the user's state directory: what was there before, what was written, by which scripts, when."""

from __future__ import annotations

import os
from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib costs 3 ms

from ..settings import read_pairs, write_pairs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = "installed"  # in the state directory
NEEDED = ("client", "path", "tick", "scripts", "after")  # a stamp without these is none


def stamp(state_dir: str, real: str) -> dict[str, str] | None:
    """What is remembered of our install into the file ``real``; None when nothing is, or when it is not whole.

    ``client path python tick version scripts checkout at``, and for uninstall ``made folders`` (how many above the file) ``kept backup original after``.
    """
    facts = read_pairs(_place(state_dir, real))
    return facts if all(facts.get(key) for key in NEEDED) else None


def remember(state_dir: str, real: str, facts: Mapping[str, str]) -> None:
    """Keep ``facts`` with the time; the file stays as it is when they are known already."""
    if facts != {key: value for key, value in (stamp(state_dir, real) or {}).items() if key != "at"}:
        from time import gmtime, strftime

        write_pairs(_place(state_dir, real), {**facts, "at": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime())})


def forget(state_dir: str, real: str, *, folders: bool) -> None:
    """Drop what is remembered; ``folders``: and the folders that install had made, where they are empty."""
    made, folder = (stamp(state_dir, real) or {}).get("folders", "") if folders else "", real
    for _ in range(int(made) if made.isdecimal() else 0):
        folder = os.path.dirname(folder)
        try:
            os.rmdir(folder)
        except OSError:
            break
    dropped(_place(state_dir, real))


def fingerprint(tick: str) -> str:
    """A digest of the scripts beside ``tick``: a command that stays the same may run another script. "" when there are none."""
    folder, total, seen = os.path.dirname(tick), sha1(), False
    try:
        for name in sorted(os.listdir(folder)):
            if name.endswith((".py", ".js")):
                with open(os.path.join(folder, name), "rb") as file:
                    total.update(name.encode("utf-8", "surrogateescape") + b"\0" + file.read() + b"\0")
                seen = True
    except OSError:
        return ""
    return str(total.hexdigest()) if seen else ""


def digest(content: bytes | None) -> str:
    """A digest of a file's bytes; "" where there is no file."""
    return "" if content is None else str(sha1(content).hexdigest())


def named(path: str) -> str:
    """A path as part of a file's name."""
    return str(sha1(path.encode("utf-8", "surrogateescape")).hexdigest()[:16])


def dropped(path: str) -> None:
    """A file gone, if it is there."""
    try:
        os.unlink(path)
    except OSError:
        return


def _place(state_dir: str, real: str) -> str:
    return os.path.join(state_dir, FOLDER, named(real))
