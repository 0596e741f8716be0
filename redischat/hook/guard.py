"""May this tool call write where it is about to? A path that somebody else holds is refused; reading passes, and so does what is one's own."""

from __future__ import annotations

import os

from ..calls import paths as calls
from ..errors import ChatError
from ..names import path as normal
from ..repository import find, path
from ..settings import CONFIG, read_pairs
from ..text import field, quoted, when
from .shell import consuming, written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ..calls.call import Caller
    from ..repository import Repository
    from ..settings import Settings

    Flow = Generator[Any, Any, Any]

NAMED = 3  # paths in a refusal
CLOSED = "closed"  # in .redischat/config: a,b below the repository's root


def targets(settings: Settings, cwd: str, files: Sequence[str], command: str) -> dict[str, tuple[Repository, list[str]]]:
    """What a tool call writes, by repository: digest -> (repository, normal forms). What is in no repository, or cannot be locked, is nobody's."""
    found: dict[str, tuple[Repository, list[str]]] = {}
    for one in [*files, *(written(command, cwd) if command else ())]:
        try:
            whole = os.path.join(cwd, one)
            repo = find(settings, cwd=os.path.dirname(whole) or cwd)
            _, inside = found.setdefault(repo.digest, (repo, []))
            inside.append(path(repo, whole, cwd))
        except (ChatError, OSError, ValueError):
            continue
    return {digest: (repo, list(dict.fromkeys(inside))) for digest, (repo, inside) in found.items() if inside}


def judge(who: Caller, targets_: dict[str, tuple[Repository, list[str]]], cwd: str) -> Flow:
    """Who else holds what this call writes. Gives the refusal, for whoever types in ``cwd``, or ""."""
    held: list[dict[str, Any]] = []
    for repo, inside in targets_.values():
        found = yield calls.check(who, "", repo, inside)
        held += foreign(found["held"], repo, cwd)
    return refusal(held) if held else ""


def foreign(rows: Sequence[dict[str, Any]], repo: Repository, cwd: str) -> list[dict[str, Any]]:
    """What others hold, each with ``cd`` and ``typed``: how its path is named in a command that is typed in ``cwd``."""
    here, root = os.path.realpath(cwd), os.path.realpath(repo.root or cwd)
    within = here == root or here.startswith(os.path.join(root, ""))
    return [
        {
            **one,
            "cd": "" if within else f"cd {quoted(root)} && ",
            "typed": quoted(_plain(os.path.relpath(os.path.join(root, one["path"]), here if within else root))),
        }
        for one in rows
        if not one["mine"] and not one["offered"]
    ]


def _plain(path_: str) -> str:
    return "./" + path_ if path_.startswith("-") else path_  # else it is taken for a flag


def refusal(held: list[dict[str, Any]], done: str = "written") -> str:
    """Why nothing was ``done``, who holds it (:func:`foreign`), until when, and what to do instead."""
    said = []
    for one in held[:NAMED]:
        reason = f" ({field(one['reason'])})" if one["reason"] else ""
        until = f"its lease ran out {when(one['expires_at'])}" if one["lapsed"] else f"until {when(one['expires_at'])}"
        said.append(f"{one['path']} is locked by {one['holder']}{reason}, {until}")
    more = f" and {len(held) - NAMED} more" if len(held) > NAMED else ""
    first, channel = held[0], held[0]["channel"] or "CHANNEL"
    way = f"{first['cd']}redischat lock {channel} {first['typed']} --wait 600"
    if first["lapsed"]:
        way = f"{first['cd']}redischat recover {channel} {first['typed']} --reason WHY"
    what = "Take it over" if first["lapsed"] else "Wait for it"
    return f"redischat: {'; '.join(said)}{more}. Nothing was {done}. {what}: {way}; or ask: redischat say {channel} - --to {first['holder']}"


def child(command: str) -> str:
    """Why a subagent's shell may not do this; "" where it may. It shares its parent's name, and would take its parent's mail."""
    verbs = consuming(command)
    if not verbs:
        return ""
    return (
        f"redischat: a subagent shares its parent's name, so 'redischat {verbs[0]}' would take the parent's mail. "
        f"Look without taking: redischat read CHANNEL --peek. Or be somebody else: --as NAME"
    )


def closed(project: str, wanted: Sequence[str]) -> list[str]:
    """Which of these paths must not be written unchecked: those below a path that the project's ``closed=a,b`` names ("." is all of them)."""
    kept = [normal(one.strip()) for one in read_pairs(os.path.join(project, CONFIG)).get(CLOSED, "").split(",") if one.strip()]
    return [one for one in wanted if any(not shut or one == shut or one.startswith(shut + "/") for shut in kept)]


def shut(settings: Settings, targets_: dict[str, tuple[Repository, list[str]]], why: str) -> str:
    """The refusal of a write to a closed path that cannot be checked, because the broker could not be asked; "" where none is closed."""
    kept = [one for _, inside in targets_.values() for one in closed(settings.project, inside)]
    if not kept:
        return ""
    return (
        f"redischat: {', '.join(kept[:NAMED])} may not be written unchecked here ({CLOSED}= in {CONFIG}), and the broker could not be asked ({why}). "
        "Nothing was written. What is wrong: redischat doctor"
    )
