"""guard install, guard uninstall, guard check: a Git pre-commit hook that keeps a commit off files that somebody else holds."""

from __future__ import annotations

from ..errors import CouldNotLook
from ..errors.paths import PathLockStaged, PathLockUnchecked
from ..settings import cwd
from ..text import inert
from .show import put, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .seat import Seat


def check(seat: Seat) -> int:
    """May what is staged be committed?"""
    from ..hook import commit
    from ..hook.guard import closed
    from ..repository import find

    found = commit.staged(cwd())
    repo = find(seat.settings, cwd=found.top)
    wanted = commit.targets(repo, found)
    try:
        no = seat.drive(commit.judge(seat.onlooker(), repo, wanted, commit.typed_in(found, cwd()))) if wanted else ""
    except CouldNotLook as error:
        shut = closed(seat.settings.project, wanted)
        if shut:
            raise PathLockUnchecked(path=shut[0], paths=shut, why=error.code) from error
        raise
    if no:
        raise PathLockStaged(message=no.removeprefix("redischat: "))
    count = len(found.names)
    put(
        record({"repository": repo.key, "how": repo.how, "staged": found.names})
        if seat.json
        else f"{count} path{'s' * (count != 1)} staged, none held by another\n"
    )
    return 0


def install(seat: Seat) -> int:
    """Put the hook in."""
    from ..install.commit import Hook

    hook = Hook(cwd())
    changed = hook.install()
    did = "each commit in this repository, from any worktree of it, is checked now" if changed else "it was there already: nothing was changed"
    put(record({"path": hook.path, "changed": changed}) if seat.json else f"{inert(hook.path)}: {did}\n    out again: redischat guard uninstall\n")
    return 0


def uninstall(seat: Seat) -> int:
    """Take the hook out."""
    from ..install.commit import Hook

    hook = Hook(cwd())
    changed = hook.uninstall()
    put(
        record({"path": hook.path, "changed": changed})
        if seat.json
        else f"{inert(hook.path)}: {'commits are not checked any more' if changed else 'nothing of ours is in it'}\n"
    )
    return 0
