"""A channel's board as files beside its messages (redischat/folder/board.py): tasks, leases, claims, path locks and cursors written to a folder, and read back.

What the broker has is never changed by an import: a task, claim or lock of the same name that says something else is named, and stays.
"""

from __future__ import annotations

from ..calls import claims, imports, tasks
from ..calls import paths as locking
from ..calls.call import Once, iso
from ..folder import board, keep, shelf
from ..folder.form import one_line, renamed, slug
from ..names import same
from . import paths, state
from .summary import markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Caller
    from ..calls.paths import Repo

    Flow = Generator[Any, Any, Any]

PAGE = 200  # cursors a round trip
MOST = 300  # tasks, claims or locks a script: Lua unpacks 8,000 words
BATCH_BYTES = 1 << 20
_ALIKE = ("title", "status", "created_by", "depends_on", "files_hint", "acceptance", "branch")


def export_board(who: Caller, channel: str, place: str) -> Flow:
    """Bring the board's files in a channel's folder to what the board is. Gives ``(written, not touched)``: names of files that no export wrote and that say something else.

    ``state.md`` is written by :func:`export_state`.
    """
    found, claimed, numbers = yield [tasks.look(who.keys, channel), claims.every(who.keys, channel), imports.numbers(who.keys, channel)]
    locks = yield from paths.locks(who, channel)
    name, order = found["channel"], sorted(found["tasks"], key=lambda one: one["id"])
    locks.sort(key=lambda one: one["lock_id"])
    files = board.files(name, order, claimed, locks)
    written, conflicts = keep.keep(place, files, lambda known: board.beside(name, order, numbers, claimed, locks, dict(known)))
    return written, sorted({*conflicts, *board.shared(order)})


def export_cursors(who: Caller, channel: str, place: str, members: dict[str, dict[str, Any]]) -> Flow:
    """Raise ``.cursors/`` to where the members have read. Names of one slug share a file: the lowest counts, nobody misses a message."""
    here = sorted(agent for agent, one in members.items() if one["here"])
    cursors: dict[str, int] = {}
    for at in range(0, len(here), PAGE):
        part = here[at : at + PAGE]
        for agent, seq in zip(part, (yield [imports.mark(who.keys, one, channel) for one in part]), strict=True):
            file = slug(members[agent]["agent"])
            cursors[file] = min(seq, cursors.get(file, seq))
    return keep.keep_cursors(place, cursors)


def export_state(who: Caller, channel: str, place: str) -> Flow:
    """Write ``state.md`` anew: where things stand now."""
    from ..folder import disk

    disk.put(place, board.STATE, markdown((yield from state.state(who, channel))))


class Incoming:
    """A folder's board on its way in: ``names`` are those that get another one here, ``slugs`` who is meant by one; ``report`` counts."""

    __slots__ = ("find", "names", "repo", "report", "shelf", "slugs")

    def __init__(self, found: shelf.Shelf, spoke: Sequence[str], names: dict[str, str], report: dict[str, Any], repo: Callable[[], Repo] | None) -> None:
        self.shelf, self.names, self.report, self.find = found, names, report, repo
        self.repo: Repo | None = None
        self.slugs: dict[str, dict[str, str]] = {}
        for one in (*spoke, *found.people()):
            legal = self.name(one)
            self.slugs.setdefault(slug(one), {}).setdefault(same(legal), legal)

    def name(self, written: str) -> str:
        """What an agent is called here."""
        return self.names.get(written, written)

    def stored(self, part: str, count: int) -> None:
        """So many of these were stored."""
        if count:
            self.report["board"][part] = self.report["board"].get(part, 0) + count

    def there(self, what: str, *, alike: bool) -> None:
        """The broker has this one already."""
        if alike:
            self.report["board_skipped"] += 1
        else:
            self.report["board_conflicts"].append(what)


def import_board(who: Caller, channel: str, source: Incoming) -> Flow:
    """Store what the board lacks. What cannot be stored is in the report's ``malformed``."""
    have, claimed = yield [tasks.look(who.keys, channel), claims.every(who.keys, channel)]
    yield from _tasks(who, channel, source, have)
    yield from _claims(who, channel, source, {same(one["name"]): one for one in claimed})
    yield from _locks(who, channel, source)
    yield from _cursors(who, channel, source)
    source.report["malformed"] += source.shelf.left.report()


def _tasks(who: Caller, channel: str, source: Incoming, have: dict[str, Any]) -> Flow:
    there = {same(one["id"]): one for one in have["tasks"]}
    known = {*there, *have["damaged"]}
    wanted = [_task(source, key, one) for key, one in source.shelf.tasks.items()]
    for one in wanted:
        if same(one["id"]) in known:
            source.there(f"task {one['id']}", alike=same(one["id"]) in there and _is_alike(one, there[same(one["id"])]))
    fresh = {same(one["id"]): one for one in wanted if same(one["id"]) not in known}
    order = board.ordered(fresh, known, source.shelf.left)
    numbers = {one["id"]: at for at, one in enumerate(sorted(order, key=_age), 1)}
    base = ""
    for batch in _batches([imports.task_row(one, numbers[one["id"]]) for one in order]):
        got = yield imports.tasks(who, channel, batch, base=base, total=len(order), once=Once())
        base = got["base"] if got["stored"] else base
        source.stored("tasks", got["stored"])
        source.report["board_conflicts"] += [f"task {id_}" for id_ in got["there"]]


def _age(one: dict[str, Any]) -> tuple[Any, ...]:
    """What redischat numbered, in that order; then by time and id."""
    return (0, one["number"], "") if one["number"] else (1, one["created"], same(one["id"]))


def _task(source: Incoming, key: str, one: dict[str, Any]) -> dict[str, Any]:
    """A task as it will be kept: agent-chat's record, and ours where it is of the same task; of one that agent-chat changed since, only what it cannot change."""
    more, lease, as_left = source.shelf.ours.tasks.get(key, {}), one["lease"] or {}, board.file_of(one) in source.shelf.same
    own = more if as_left else {}
    before = lease.get("before") or own.get("previous_owner")
    return {
        **one, "owner": source.name(one["owner"]) if one["owner"] else None, "created_by": source.name(one["created_by"]),
        "priority": tasks.PRIORITY if more.get("priority") is None else more["priority"], "attempt": more.get("attempt") or 1, "number": more.get("number") or 0,
        "fenced": bool(lease or more.get("token")), "claimed": lease.get("claimed") or own.get("claimed_at") or 0,
        "created": more.get("created_at") or one["updated"], "before": source.name(before) if before else None,
        "before_expires": lease.get("before_expires") or own.get("previous_lease_expires_at") or 0, "finisher": own.get("finished_by"),
        "reason": own.get("reason") or lease.get("reason"), "result": own.get("result"),
    }  # fmt: skip


def _is_alike(one: dict[str, Any], there: dict[str, Any]) -> bool:
    """Does a task of the folder say what the board's says? agent-chat's keys count."""
    times = iso(one["expires"]) == there["lease_expires_at"] and iso(one["updated"]) == there["updated_at"]
    owner = same(one["owner"] or "") == same(there["owner"] or "")
    mine = {**one, "depends_on": [same(other) for other in one["depends_on"]]}
    return (
        times and owner and all(mine[key] == there[key] for key in _ALIKE if key != "depends_on") and mine["depends_on"] == list(map(same, there["depends_on"]))
    )


def _batches(rows: list[list[Any]]) -> list[list[list[Any]]]:
    found: list[list[list[Any]]] = []
    size = 0
    for row in rows:
        more = sum(len(str(word)) for word in row)
        if not found or len(found[-1]) >= MOST or size + more > BATCH_BYTES:
            found.append([])
            size = 0
        found[-1].append(row)
        size += more
    return found


def _claims(who: Caller, channel: str, source: Incoming, there: dict[str, dict[str, Any]]) -> Flow:
    rows = []
    for one in _claimed(source):
        mine = there.get(same(one["name"]))
        if mine is None:
            rows.append(one)
        else:
            source.there(f"claim {one['name']}", alike=same(mine["owner"]) == same(one["owner"]) and (mine["note"] or "") == one["note"])
    for at in range(0, len(rows), MOST):
        got = yield imports.claims(who, channel, rows[at : at + MOST], once=Once())
        source.stored("claims", got["stored"])
        source.report["board_conflicts"] += [f"claim {name}" for name in got["there"]]


def _claimed(source: Incoming) -> list[dict[str, Any]]:
    """The folder's claims: its claimed markers, with what redischat.json says of them, and the claims that only that file holds."""
    from ..errors import BadText

    found, ours = {}, {same(one["name"]): one for one in source.shelf.ours.claims}
    for name, owner, text in source.shelf.markers:
        more = ours.get(same(name))
        named = source.slugs.get(owner, {})
        mine = more if more and slug(more["owner"]) == owner else None
        if same(name) in found or (mine is None and len(named) != 1 and owner == slug("")):
            source.shelf.left.add(f"{name.removesuffix('.md')}.CLAIMED-{owner}.md", BadText(message="it cannot be told whose it is"))
            continue
        who = source.name(mine["owner"]) if mine else next(iter(named.values())) if len(named) == 1 else renamed([owner], "agent").get(owner, owner)
        found[same(name)] = _claim(name, who, mine or {"note": one_line(text.strip())})
    for one in source.shelf.ours.claims:
        if board.MARKER.fullmatch(one["name"]) and same(one["name"]) not in found:
            source.shelf.left.add(board.marker(one["name"], one["owner"]), BadText(message="redischat.json knows of this claim, and the file is gone"))
        elif not board.MARKER.fullmatch(one["name"]):
            found[same(one["name"])] = _claim(one["name"], source.name(one["owner"]), one)
    return [found[key] for key in sorted(found)]


def _claim(name: str, owner: str, more: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "owner": owner, "claimed": more.get("claimed_at") or 0, "expires": more.get("lease_expires_at") or 0, "note": more.get("note") or ""}


def _locks(who: Caller, channel: str, source: Incoming) -> Flow:
    if not source.shelf.locks:
        return
    there = {one["lock_id"]: one for one in (yield from paths.locks(who))}
    rows = []
    for one in source.shelf.locks:
        repo = _repository(source, one["id"])
        if repo is None:
            source.report["present"]["locks"] = source.report["present"].get("locks", 0) + 1
            continue
        mine, row = there.get(one["id"]), _lock(source, one, repo)
        if mine is None:
            rows.append(row)
        else:
            said = (same(mine["owner"]), mine["repository"], sorted(mine["paths"]))
            source.there(f"lock {one['id']}", alike=said == (same(row["owner"]), repo.key, sorted(map(locking.shown, row["paths"]))))
    for at in range(0, len(rows), MOST):
        got = yield imports.locks(who, channel, rows[at : at + MOST], once=Once())
        source.stored("locks", got["stored"])
        source.report["board_conflicts"] += [f"lock {id_}" for id_ in got["there"]]


def _repository(source: Incoming, lock: str) -> Repo | None:
    """Which repository a lock is of: the one that redischat.json names, else the importer's."""
    more = source.shelf.ours.locks.get(lock)
    if more is None:
        source.repo = source.repo or (source.find() if source.find else None)
        return source.repo
    from ..repository import Repository

    return Repository(more["repository"], "", "")


def _lock(source: Incoming, one: dict[str, Any], repo: Repo) -> dict[str, Any]:
    more = source.shelf.ours.locks.get(one["id"], {})
    return {
        **one, "owner": source.name(one["owner"]), "mode": "s" if more.get("mode") == locking.MODES["s"] else "x",
        "before": source.name(one["before"]) if one["before"] else "-", "reason": more.get("reason") or "", "why": one["why"] or "", "repo": repo.digest, "key": repo.key,
        "paths": [locking.stored(repo, path) for path in locking.effective(one["paths"])],
    }  # fmt: skip


def _cursors(who: Caller, channel: str, source: Incoming) -> Flow:
    from ..errors import BadText

    marks = {}
    for file, seq in sorted(source.shelf.cursors.items()):
        named = source.slugs.get(file, {})
        if len(named) != 1:
            why = f"{' and '.join(sorted(named.values()))} share it: each reads on from where it stands" if named else "nobody in this folder is called like it"
            source.shelf.left.add(f"{board.CURSORS}/{file}.txt", BadText(message=why))
        elif seq:
            marks.update({next(iter(named.values())): seq})
    agents = sorted(marks)
    for at in range(0, len(agents), PAGE):
        got = yield imports.cursors(who, channel, {agent: marks[agent] for agent in agents[at : at + PAGE]})
        source.stored("cursors", len(got["set"]))
        source.report["board_conflicts"] += [f"cursor {agent}" for agent in got["stay"]]
