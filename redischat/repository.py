"""Which repository a place belongs to, so that locks made from any folder, worktree, clone or machine meet; and a file's path in it.

The key is, in this order: ``--repo``; ``repository=`` of ``.redischat/config`` (the project's, the checkout's, the main worktree's); the URL of the remote
"origin"; the first commit; the folder with its host's name. An origin that is a folder here stands for that repository's own key.
"""

from __future__ import annotations

import os
from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib costs 3 ms
from stat import S_ISLNK

from . import checkout, names, remote, settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .errors.paths import PathLockPathOutsideWorkspace

ORIGINS = 20  # local origins of local origins


class Repository:
    """One repository, as its locks know it.

    ``key`` is the text that is shown, ``digest`` its 16 letters for the broker, ``how`` says in a phrase where the key came from. ``root`` is the real path
    that paths are relative to: of the worktree, or of the project where there is no git; "" when the caller named a repository that is not checked out here.
    """

    __slots__ = ("digest", "how", "key", "root")

    def __init__(self, key: str, how: str, root: str) -> None:
        self.key, self.how, self.root = key, how, root
        self.digest = str(sha1(key.encode()).hexdigest()[:16])


def find(place: settings.Settings, given: str | None = None, cwd: str | None = None) -> Repository:
    """The repository of ``cwd``; where that is in none, the project's; where there is no git at all, the project's folder.

    ``given`` is the key of ``--repo``: with this checkout's own key, its root still serves. ``cwd`` (else this process's) need not exist.

    Raises:
        BadText: ``given``, or the key in a ``.redischat/config``, is none.
        TooLarge: it is over 500 characters.
    """
    key = None if given is None else names.repository(given)
    project = os.path.realpath(place.project)
    root = checkout.above(os.path.realpath(settings.cwd() if cwd is None else cwd)) or checkout.above(project) or project
    own = _own(root, project)
    if key is None:
        return own
    return Repository(key, "--repo", own.root if key == own.key else "")


def path(repo: Repository, text: str, cwd: str, *, glob: bool = False) -> str:
    """The normal form (:func:`.names.path`) of what a caller in ``cwd`` typed, relative or absolute, with every link on its way resolved.

    A file in another worktree of the same repository is the same file. The file need not exist. On a file system without case (asked at the root), parts
    that exist are spelt as the disk spells them, others as typed: a machine whose files have case must come to the same name. ``glob``: a pattern's static
    prefix. Without a root, the text is relative to the root of the repository that was named, and no disk is looked at. Hard links are files of their own.

    Raises:
        PathLockInvalidPath: no lock can hold it, or a link on its way leads to itself.
        PathLockPathOutsideWorkspace: it is elsewhere, also in a repository within this one.
    """
    if not repo.root:
        return names.glob(text) if glob else names.path(text)
    if not (isinstance(text, str) and os.path.isabs(text)):
        names.visible(text, text)
    real = _real(os.path.join(cwd, names.prefix(text) if glob else text), text)
    root = _holder(repo, real, text)
    parts = [part for part in real[len(root) :].split(os.sep) if part]
    if _caseless(root):
        parts = list(_spelt(root, parts))
    return names.path("/".join(parts) or ".", typed=text)


def _real(typed: str, text: str) -> str:
    """``typed`` without links; the end of it need not exist."""
    try:
        real = os.path.realpath(typed)
        loop = S_ISLNK(os.lstat(real).st_mode)
    except ValueError:
        raise names.refused(text, "it has a character that no path has") from None
    except OSError as error:
        from errno import ELOOP

        loop = error.errno == ELOOP
    if loop:
        raise names.refused(text, "a link on its way leads to itself")
    return real


def _holder(repo: Repository, real: str, text: str) -> str:
    """The root that ``real`` is under: the repository's, or that of another worktree of it. The folder of a nested repository belongs to the outer one."""
    at = real
    while not _same(at, repo.root):
        if checkout.common(at) is not None:
            other = _own(at, at)
            if other.key == repo.key:
                return at
            if at != real:
                raise _outside(repo, text, f"it is in the repository {other.key}, at {settings.told(at)}: lock it from there")
        below, at = at, os.path.dirname(at)
        if at == below:
            raise _outside(repo, text, f"it is {settings.told(real)}, and this checkout is {settings.told(repo.root)}")
    return at


def _same(one: str, other: str) -> bool:
    """Whether two names are one folder, also through a bind mount or in another case."""
    try:
        return one == other or os.path.samefile(one, other)
    except OSError:
        return False


def _outside(repo: Repository, text: str, why: str) -> PathLockPathOutsideWorkspace:
    from .errors.paths import PathLockPathOutsideWorkspace

    return PathLockPathOutsideWorkspace(path=names.refused(text, why).facts["path"], repository=repo.key, how=repo.how, why=why)


def _caseless(root: str) -> bool:
    """Whether the file system at ``root`` takes two spellings for one name."""
    mark = os.path.join(root, ".git")
    head, tail = os.path.split(mark if os.path.lexists(mark) else root)
    try:
        return tail != tail.swapcase() and os.path.samestat(os.lstat(os.path.join(head, tail)), os.lstat(os.path.join(head, tail.swapcase())))
    except OSError:
        return False


def _spelt(at: str, parts: list[str]) -> Iterator[str]:
    """``parts`` below ``at`` as the disk spells them."""
    from unicodedata import normalize

    for part in parts:
        try:
            there = os.listdir(at)
        except OSError:
            there = []
        wanted = normalize("NFC", part).casefold()
        found = part if part in there else next((one for one in there if normalize("NFC", one).casefold() == wanted), part)
        at = os.path.join(at, found)
        yield found


def _own(root: str, project: str) -> Repository:
    """The repository whose checkout is at ``root``; the project's own word counts where the project is in it."""
    if project.startswith(root.rstrip(os.sep) + os.sep) and (given := _given(project)):
        return Repository(given, settings.CONFIG, root)
    return Repository(*_known(root, checkout.common(root)), root)


def _known(root: str, shared: str | None) -> tuple[str, str]:
    """The key of a checkout and how it was found; through its origin, if that is a folder, and so on."""
    seen: list[tuple[str, str | None]] = []
    while True:
        key, how, url = next(filter(None, map(_given, _homes(root, shared))), ""), settings.CONFIG, ""
        if not key and shared:
            url = checkout.origin(shared)
            key, how = remote.origin(url), "origin URL"
            key = key if key.isprintable() else ""
        near = checkout.local(url, root) if url and not key else None
        if near is None or len(seen) == ORIGINS:
            break
        seen.append((root, shared))
        if near in seen:
            key, how = _unnamed(*min(seen[seen.index(near) :]))
            break
        root, shared = near
    if not key:
        key, how = _unnamed(root, shared)
    return key, how + (", of its local origin" if seen else "")


def _homes(root: str, shared: str | None) -> Iterator[str]:
    """Whose ``.redischat/config`` speaks for a checkout: its own, and the main worktree's, as git does not carry the file from one to the other."""
    yield root
    if shared and os.path.basename(shared).startswith(".") and os.path.dirname(shared) != root:
        yield os.path.dirname(shared)


def _given(folder: str) -> str:
    given = settings.read_pairs(os.path.join(folder, settings.CONFIG)).get("repository")
    return names.repository(given, f"repository in {settings.told(os.path.join(folder, settings.CONFIG))}") if given else ""


def _unnamed(root: str, shared: str | None) -> tuple[str, str]:
    """The key of a repository without an origin: its first commit, else its folder on this host, which is one for all its worktrees."""
    found, why = checkout.first_commit(shared) if shared is not None else ("", "no git repository")
    if found:
        return found, "first root commit"
    folder = (shared or root).removesuffix(os.sep + ".git").removesuffix(".git")
    return f"{settings.host()}:{settings.told(folder)}", f"this path: {why}"
