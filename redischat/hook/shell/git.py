"""Git's verbs: which of them touch the files of a working tree, and which files."""

from __future__ import annotations

import os

from ...checkout import above
from .call import Call, options
from .files import copy
from .patches import patched
from .words import UNSEEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .walk import Text

# Only the index, the history, a remote or the screen.
_READING = frozenset(
    """
    add annotate blame branch bundle cat-file check-attr check-ignore cherry commit commit-tree config count-objects credential describe diff diff-files diff-index
    diff-tree difftool fast-export fetch for-each-ref fsck gc grep hash-object help init log ls-files ls-remote ls-tree merge-base mktree name-rev notes pack-refs
    prune push reflog remote rev-list rev-parse shortlog show show-branch show-ref status stripspace symbolic-ref tag update-index update-ref var verify-commit
    version whatchanged write-tree maintenance range-diff request-pull send-email
    """.split()  # noqa: SIM905 - a page of words is read, a page of quotes is not
)
_LOOKING = {"--check", "--stat", "--numstat", "--summary", "--cached"}  # git apply touches no file


def git(call: Call) -> Text:
    """The verb behind git's own flags, in the folder that -C names."""
    flags, free = options(call.args, "Cc", "--git-dir --work-tree --namespace --config-env", first=True)
    if not free:
        return None
    rest = Call(call.walk, ["git " + free[0], *free[1:]], call.given, call.mine)
    rest.name = "git " + free[0]
    if "--work-tree" in flags or "--git-dir" in flags:
        call.opaque("works in another tree")

    def go() -> Text:
        call.walk.stand.folder = os.path.join(call.walk.stand.folder, flags.get("-C", ""))
        return _verb(rest, free[0])

    return call.walk.apart(go)


def _verb(call: Call, verb: str) -> Text:
    flags, _ = options(call.args, longs="--output", own="o")
    if verb in _READING and "--output" in flags:
        call.write(flags["--output"])
    if verb in _VERBS:
        return _VERBS[verb](call)
    if verb not in _READING and not {"--version", "--help"} & {verb, *flags}:
        call.opaque("changes files that cannot be seen before it runs")
    return _top(call) + "\n" if verb == "rev-parse" and "--show-toplevel" in flags and _top(call) else None


def _top(call: Call) -> str:
    base = call.walk.base()
    return above(base) if base else ""


def _paths(call: Call, names: list[str]) -> None:
    """Pathspecs: with magic in front they are not known."""
    call.write(*(UNSEEN + one if one.startswith(":") else one for one in names))


def _checkout(call: Call) -> None:
    flags, free = options(call.args, "bB", "--orphan --conflict")
    if "-p" in flags or "--patch" in flags or "--pathspec-from-file" in flags:
        call.opaque()
    elif "--" in call.args:
        _paths(call, call.args[call.args.index("--") + 1 :])
    elif {"-b", "-B", "--orphan"} & set(flags):
        if free:
            call.opaque("changes branch")
    elif {"--ours", "--theirs"} & set(flags):
        _paths(call, free)
    elif len(free) > 1:
        _paths(call, free if _is_file(call, free[0]) else free[1:])
    elif free and _is_file(call, free[0]):
        _paths(call, free)
    elif free or "--detach" in flags:
        call.write(*[one for one in free if "/" in one and "." in os.path.basename(one)])
        call.opaque("changes branch, or brings files back")


def _is_file(call: Call, name: str) -> bool:
    return bool(call.walk.real(name)) and os.path.lexists(call.walk.real(name))


def _restore(call: Call) -> None:
    flags, free = options(call.args, "s", "--source --conflict")
    if "-p" in flags or "--patch" in flags or "--pathspec-from-file" in flags:
        call.opaque()
    elif not {"-S", "--staged"} & set(flags) or {"-W", "--worktree"} & set(flags):
        _paths(call, free)


def _rm(call: Call) -> None:
    flags, free = options(call.args)
    if "--pathspec-from-file" in flags:
        call.opaque()
    elif not {"--cached", "-n", "--dry-run"} & set(flags):
        _paths(call, free)


def _mv(call: Call) -> None:
    flags, free = options(call.args)
    if not {"-n", "--dry-run"} & set(flags):
        copy(Call(call.walk, ["mv", *free], None, {}))


def _apply(call: Call) -> None:
    flags, free = options(call.args, "pC", "--directory --exclude --include --whitespace")
    if _LOOKING & set(flags) and "--apply" not in flags and "--index" not in flags:
        return
    texts = [call.walk.text(one) for one in free if one != "-"] if [one for one in free if one != "-"] else [call.input()]
    strip = flags.get("-p", "")
    for text in texts:
        if text is None:
            call.opaque("applies a patch that cannot be seen")
            continue
        top = _top(call)
        root = "" if top in {"", os.path.normpath(call.walk.base())} else top
        names = patched(text, int(strip) if len(strip) == 1 and strip in "0123456789" else -1)
        call.write(*(os.path.join(root, flags.get("--directory", ""), one) for one in names))


def _stash(call: Call) -> None:
    if call.args[:1] not in (["list"], ["show"], ["drop"], ["clear"], ["create"], ["store"]):
        call.opaque("changes files that cannot be seen before it runs")


def _reset(call: Call) -> None:
    if {"--hard", "--merge", "--keep"} & set(call.args):
        call.opaque("changes files that cannot be seen before it runs")


def _clean(call: Call) -> None:
    flags, _ = options(call.args, "e", "--exclude")
    if not {"-n", "--dry-run"} & set(flags):
        call.opaque("deletes files that cannot be seen before it runs")


def _switch(call: Call) -> None:
    flags, free = options(call.args, "cC", "--create --force-create --orphan")
    if free or not {"-c", "-C", "--create", "--force-create", "--orphan"} & set(flags):
        call.opaque("changes branch")


def _worktree(call: Call) -> None:
    free = options(call.args[1:], "bB", "--reason")[1]
    if call.args[:1] == ["add"] or call.args[:1] == ["remove"]:
        call.write(*free[:1])
    elif call.args[:1] == ["move"]:
        call.write(*free[:2])


def _archive(call: Call) -> None:
    flags, _ = options(call.args, "o", "--output --format --prefix --remote")
    call.write(*(flags[one] for one in ("-o", "--output") if one in flags))


def _plumb(call: Call) -> None:
    """read-tree without -u, submodule status and its like touch no file."""
    if call.args[:1] not in (["status"], ["summary"], ["list"], ["get-url"]):
        call.opaque("changes files that cannot be seen before it runs")


_VERBS = {
    "checkout": _checkout,
    "restore": _restore,
    "rm": _rm,
    "mv": _mv,
    "apply": _apply,
    "stash": _stash,
    "reset": _reset,
    "clean": _clean,
    "switch": _switch,
    "worktree": _worktree,
    "archive": _archive,
    "submodule": _plumb,
    "bisect": _plumb,
    "sparse-checkout": _plumb,
}
KNOWN = {"git": git}
