"""Bad records in a folder of agent-chat's: each is left out and named by its code, and nothing else is lost. What it was in the middle of is settled as it would."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from typing import Any

import pytest
from folders import AMY, KEYS, fake_server, native, tree
from test_board_files import AT, LATER, a_lease, a_lock, a_task, brought, codes, leased, listed, put

from redischat.calls import claims
from redischat.errors import leases, paths, tasks
from redischat.errors import tree as every
from redischat.flows import paths as locking
from redischat.folder import disk


@pytest.fixture(scope="module")
def folder_server():
    with fake_server() as url:
        yield url


@pytest.fixture
def place(tmp_path):
    native(tmp_path / "dock", 1, "one")
    return tmp_path / "dock"


def whole(place):
    """A board with nothing wrong."""
    put(place, "tasks/G-1.json", a_task("G-1"))
    leased(place, "G-2", "amy")
    put(place, "locks/good.json", a_lock("good", "amy", "lib"))
    put(place, "task-1.CLAIMED-amy.md", b"")


def both(place, **more):
    """A task and its lease, the lease like this."""
    leased(place)
    put(place, "claims/T-1.bob.json", a_lease("T-1", "bob", **more))


def less(record, key):
    return {name: value for name, value in record.items() if name != key}


INCONSISTENT = "LEASE_INCONSISTENT"
T, C, L = "tasks/T-1.json", "claims/T-1.bob.json", "locks/x1.json"
TASKS: dict[str, list[Any]] = {  # what is in the task's file -> its code
    "TASK_INVALID_RECORD": [b"{", b"[]", b"\xff", b'{"id": "\\ud800"}', b"", b"null"],
    "TASK_REQUIRED_FIELD_MISSING": [less(a_task("T-1"), key) for key in a_task("T-1")],
    "TASK_UNKNOWN_FIELD": [a_task("T-1", priority=1), a_task("T-1", **{"\x1b[2J": 1})],
    "TASK_RECORD_ID_MISMATCH": [a_task("T-2"), a_task("t-1")],
    "TASK_CHANNEL_MISMATCH": [a_task("T-1", channel="deck")],
    "TASK_INVALID_TIMESTAMP": [
        *(a_task("T-1", updated_at=at) for at in ("", "x", "2026-02-03T04:05:06", "1969-01-01T00:00:00Z", 5, None, "0001-01-01T00:00:00+14:00")),
        a_task("T-1", lease_expires_at="tomorrow"),
    ],
    "TASK_INVALID_DEPENDS_ON": [a_task("T-1", depends_on=value) for value in (None, "G-1", {"G-1": 1})],
    "TASK_INVALID_FILES_HINT": [a_task("T-1", files_hint="src")],
    "TASK_INVALID_ID": [a_task("../T-1"), a_task(None), a_task("a b"), a_task("T\n1")],
    "TASK_INVALID_CHANNEL": [a_task("T-1", channel="a/b"), a_task("T-1", channel=None)],
    "TASK_INVALID_TITLE": [a_task("T-1", title=value) for value in (None, "a\nb", "a\u2028b", "x" * 501, "a\0")],
    "TASK_INVALID_STATUS": [a_task("T-1", status=value) for value in ("ready", None, ["open"])],
    "TASK_INVALID_OWNER": [a_task("T-1", owner=value) for value in ("", 1, "a\rb")],
    "TASK_INVALID_CREATED_BY": [a_task("T-1", created_by=value) for value in (None, " ")],
    "TASK_INVALID_BRANCH": [a_task("T-1", branch="")],
    "TASK_INVALID_ACCEPTANCE": [a_task("T-1", acceptance=value) for value in ("x", [""], ["a\nb"], [1])],
    "TASK_INVALID_DEPENDENCY_ID": [a_task("T-1", depends_on=value) for value in ([""], [1], ["a/b"], [["G-1"]])],
    "TASK_DUPLICATE_DEPENDENCY": [a_task("T-1", depends_on=["G-1", "g-1"])],
    "TASK_PATH_OUTSIDE_WORKSPACE": [a_task("T-1", files_hint=[value]) for value in ("../x", "/etc", "c:\\x", "a\\..\\..\\b", "a:b", "", 1)],
    "TASK_UNKNOWN_DEPENDENCY": [a_task("T-1", depends_on=["T-9"])],
    "TASK_DEPENDENCY_CYCLE": [a_task("T-1", depends_on=["T-1"])],
    INCONSISTENT: [a_task("T-1", lease_expires_at=LATER, owner="bob", status="in_progress")],
}
LEASES: dict[str, list[Any]] = {
    "LEASE_INVALID_RECORD": [b"{", b"[]", b"\xff"],
    "LEASE_REQUIRED_FIELD_MISSING": [less(a_lease("T-1", "bob"), key) for key in list(a_lease("x", "y"))[:6]],
    "LEASE_UNKNOWN_FIELD": [a_lease("T-1", "bob", token=1)],
    "LEASE_RECORD_ID_MISMATCH": [a_lease("T-2", "bob"), a_lease("T-1", "carl")],
    "LEASE_INVALID_TASK_ID": [a_lease("../x", "bob"), a_lease(None, "bob")],
    "LEASE_INVALID_CHANNEL": [a_lease("T-1", "bob", channel=value) for value in ("deck", "a/b", None)],
    "LEASE_INVALID_TIMESTAMP": [
        *(a_lease("T-1", "bob", **{key: "x"}) for key in ("lease_expires_at", "claimed_at", "updated_at", "previous_lease_expires_at")),
        a_lease("T-1", "bob", claimed_at=None),
    ],
    "LEASE_INVALID_OWNER": [a_lease("T-1", "b b"), a_lease("T-1", "bob", previous_owner="")],
    "LEASE_INVALID_REASON": [a_lease("T-1", "bob", recovery_reason=" ")],
}
LOCKS: dict[str, list[Any]] = {
    "PATH_LOCK_INVALID_RECORD": [
        b"{", b"[]", b"\xff", *(less(a_lock("x1", "bob", "src"), key) for key in list(a_lock("x", "y", "z"))[:7]), a_lock("x1", "bob", "src", mode="shared"),
        a_lock("x1", "bob"), a_lock("x1", "bob", "../x"), a_lock("x1", "bob", "/x"), a_lock("x1", "bob", "src", channel="deck"), a_lock("x1", "bob", "src", paths="src"),
        a_lock("x1", "bob", "src", paths=[{"normalized_path": "src"}]), a_lock("x1", "bob", "src", previous_owner="amy"), a_lock("x1", "bob", *(f"f{at}" for at in range(65))),
        a_lock("x1", "bob", "src", lease_expires_at=AT),
    ],
    "PATH_LOCK_INVALID_LOCK_ID": [a_lock("x2", "bob", "src"), a_lock("../x", "bob", "src"), a_lock(None, "bob", "src")],
    "PATH_LOCK_INVALID_TIMESTAMP": [a_lock("x1", "bob", "src", **{key: "2026-02-03T04:05:06"}) for key in ("expires_at", "locked_at", "updated_at")],
    "PATH_LOCK_INVALID_OWNER": [a_lock("x1", "b b", "src")],
    "PATH_LOCK_INVALID_CHANNEL": [a_lock("x1", "bob", "src", channel="a/b")],
}  # fmt: skip
FOLDERS = {
    "TASK_STORAGE_INVALID": ("tasks", "file"), "LEASE_STORAGE_INVALID": ("claims", "file"), "PATH_LOCK_STORAGE_INVALID": ("locks", "file"),
    "TASK_PATH_OUTSIDE_WORKSPACE": ("tasks", "link"), "LEASE_PATH_OUTSIDE_WORKSPACE": ("claims", "link"),
    "PATH_LOCK_PATH_OUTSIDE_WORKSPACE": ("locks", "link"),
}  # fmt: skip
ELSEWHERE = {"TASK_DUPLICATE_ID", "LEASE_TRANSACTION_INVALID", "LEASE_TRANSACTION_PUBLICATION_UNKNOWN", "PATH_LOCK_TRANSACTION_INVALID"}  # tests of their own


def cases(table):
    return [pytest.param(code, record, id=f"{code}-{at}") for code, records in table.items() for at, record in enumerate(records)]


def good(chat, report):
    """Is everything else there?"""
    assert {"G-1", "G-2"} <= {one["id"] for one in listed(chat)}
    assert "good" in [one["lock_id"] for one in chat.drive(locking.locks(AMY))]
    assert [one["name"] for one in chat.run(claims.every(KEYS, "dock"))] == ["task-1.md"]
    assert (report["stored"], all(one["why"] for one in report["malformed"])) == (1, True)


def test_every_code_of_a_damaged_folder_is_provoked_here():
    damaged = {
        cls.code for cls in every() if not cls.__subclasses__() and cls.origin == "store" and cls.__module__ in {one.__name__ for one in (tasks, leases, paths)}
    }
    assert damaged <= TASKS.keys() | LEASES.keys() | LOCKS.keys() | FOLDERS.keys() | ELSEWHERE


@pytest.mark.parametrize(("code", "record"), cases(TASKS))
def test_a_bad_task_is_left_out_with_who_depends_on_it(chat, place, code, record):
    whole(place)
    put(place, T, record)
    put(place, "tasks/T-7.json", a_task("T-7", depends_on=["T-1"]))
    put(place, "tasks/T-8.json", a_task("T-8", depends_on=["T-7"]))
    report = brought(chat, place)
    assert codes(report) == {T: code, "tasks/T-7.json": "TASK_UNKNOWN_DEPENDENCY", "tasks/T-8.json": "TASK_UNKNOWN_DEPENDENCY"}
    good(chat, report)
    assert len(listed(chat)) == 2


@pytest.mark.parametrize(("code", "record"), cases(LEASES))
def test_a_bad_claim_of_a_lease_is_left_out_with_its_task(chat, place, code, record):
    whole(place)
    leased(place)
    put(place, C, record)
    report = brought(chat, place)
    assert codes(report) == {T: INCONSISTENT, C: code}
    good(chat, report)


@pytest.mark.parametrize(("code", "record"), cases(LOCKS))
def test_a_bad_lock_is_left_out(chat, place, code, record):
    whole(place)
    put(place, L, record)
    report = brought(chat, place)
    assert codes(report) == {L: code}
    good(chat, report)


@pytest.mark.parametrize("code", FOLDERS)
def test_a_store_that_is_no_folder_is_named_and_a_link_not_followed(chat, place, tmp_path, code):
    part, kind = FOLDERS[code]
    put(place, "tasks/G-1.json", a_task("G-1"))
    (tmp_path / "outside").mkdir()
    if part == "tasks":
        os.rename(place / "tasks", tmp_path / "outside/tasks")
    os.symlink(tmp_path / "outside" / part, place / part) if kind == "link" else (place / part).write_text("x")
    report = brought(chat, place)
    assert codes(report) == {part: code}
    assert [one["id"] for one in listed(chat)] == ([] if part == "tasks" else ["G-1"])


@pytest.mark.parametrize("file", [T, C, L])
@pytest.mark.parametrize("kind", ["link", "pipe", "huge", "folder"])
def test_what_is_no_file_is_not_read(chat, place, tmp_path, file, kind):
    whole(place)
    leased(place)
    outside = put(tmp_path, "outside/x.json", {T: a_task("T-1"), C: a_lease("T-1", "bob"), L: a_lock("x1", "bob", "src")}[file])
    path = place / file
    path.unlink(missing_ok=True)
    {
        "link": lambda: os.symlink(outside, path), "pipe": lambda: os.mkfifo(path), "folder": path.mkdir,
        "huge": lambda: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), disk.FILE_BYTES + 1),
    }[kind]()  # fmt: skip
    name = {T: "TASK", C: "LEASE", L: "PATH_LOCK"}[file]
    also = {T: {C: INCONSISTENT}, C: {T: INCONSISTENT}, L: {}}[file]
    report = brought(chat, place)
    assert codes(report) == {file: f"{name}_{'PATH_OUTSIDE_WORKSPACE' if kind == 'link' else 'INVALID_RECORD'}", **also}
    good(chat, report)


def test_two_files_of_one_task_are_neither_taken(chat, place):
    whole(place)
    put(place, "tasks/t-1.json", a_task("t-1"))
    put(place, T, a_task("T-1"))
    report = brought(chat, place)
    assert codes(report) == {T: "TASK_DUPLICATE_ID", "tasks/t-1.json": "TASK_DUPLICATE_ID"}
    good(chat, report)


@pytest.mark.parametrize("more", [{"owner": "carl"}, {"lease_expires_at": AT}, {"status": "open"}, {"lease_expires_at": None}], ids=str)
def test_a_task_that_its_claim_contradicts_is_left_out(chat, place, more):
    whole(place)
    leased(place)
    put(place, T, {**a_task("T-1", status="in_progress", owner="bob", lease_expires_at=LATER), **more})
    report = brought(chat, place)
    assert codes(report) == {T: INCONSISTENT}
    good(chat, report)


def test_a_task_with_two_claims_is_left_out_and_so_is_a_claim_without_a_task(chat, place):
    whole(place)
    leased(place)
    put(place, "claims/T-1.carl.json", a_lease("T-1", "carl"))
    put(place, "claims/T-5.carl.json", a_lease("T-5", "carl"))
    report = brought(chat, place)
    assert codes(report) == {T: INCONSISTENT, "claims/T-5.carl.json": INCONSISTENT}
    good(chat, report)


def test_who_only_waits_for_a_circle_is_told_apart(chat, place):
    whole(place)
    for id_, on in {"A": "B", "B": "A", "C": "B", "D": "G-1", "E": "C"}.items():
        put(place, f"tasks/{id_}.json", a_task(id_, depends_on=[on]))
    found = codes(brought(chat, place))
    assert {name[6]: code for name, code in found.items()} == {
        "A": "TASK_DEPENDENCY_CYCLE", "B": "TASK_DEPENDENCY_CYCLE", "C": "TASK_UNKNOWN_DEPENDENCY", "E": "TASK_UNKNOWN_DEPENDENCY",
    }  # fmt: skip
    assert {one["id"] for one in listed(chat)} == {"G-1", "G-2", "D"}


def test_what_no_name_may_be_becomes_one_and_patterns_stay(chat, place):
    put(place, T, a_task("T-1", owner="Zoë B", created_by="all", files_hint=["./src//a.py", "src\\b.py", "src/**/*.py"]))
    report = brought(chat, place)
    (task,) = listed(chat)
    assert (task["owner"], report["renamed"]["Zoë B"], task["created_by"], report["renamed"]["all"]) == ("Zoe-B", "Zoe-B", *[report["renamed"]["all"]] * 2)
    assert task["files_hint"] == ["src/a.py", "src/b.py", "src/**/*.py"]


@pytest.mark.parametrize(
    "content",
    [b"[]", b"{", b"\xff", {"format": 2}, {"format": 1, "tasks": []}, {"format": 1, "tasks": {"T-1": {"priority": 9}}}, {"format": 1, "claims": [{}]}, {"format": 1, "claims": 3},
     {"format": 1, "locks": {"x": {"repository": None}}}, {"format": 1, "locks": {"x": {"repository": "a\nb"}}}, {"format": 1, "files": {"x": 3}},
     {"format": 1, "claims": [{"name": "a b", "owner": "amy"}]}, {"format": 1, "tasks": {"T-1": {"created_at": "x"}}}, {"format": 1, "tasks": {"T-1": {"attempt": True}}}],
    ids=str,
)  # fmt: skip
def test_a_bad_redischat_json_is_named_and_the_records_count(chat, place, content):
    whole(place)
    put(place, "redischat.json", content)
    report = brought(chat, place)
    assert codes(report) == {"redischat.json": "BAD_TEXT"}
    good(chat, report)


# What agent-chat was in the middle of.


def coded(record):
    return None if record is None else b64encode(record if isinstance(record, bytes) else json.dumps(record).encode()).decode()


BEFORE, AFTER = a_task("T-1", title="was"), a_task("T-1", status="in_progress", owner="bob", lease_expires_at=LATER)
LEASE = a_lease("T-1", "bob")
CLAIM = "claims/.lease-transaction.json"
LOCK = "locks/.path-lock-transaction.json"


def a_claiming(phase, **more):
    """The journal of bob claiming T-1."""
    changes = [{"file": "T-1.bob.json", "previous": None, "next": coded(LEASE)}]
    return {
        "version": 2, "phase": phase, "transaction_id": "abc", "task_id": "T-1", "task_file": "tasks/T-1.json", "task_before": coded(BEFORE),
        "task_after": coded(AFTER), "claim_changes": changes, "event": "lease.claimed", "details": {}, **more,
    }  # fmt: skip


def said(place):
    native(place, 2, json.dumps({"event": "lease.claimed", "transaction_id": "abc"}), status="lease.claimed")


@pytest.mark.parametrize(
    ("phase", "audit", "files", "title"),
    [
        ("prepared", False, "after", "was"), ("prepared", False, "before", "was"), ("prepared", False, "half", "was"), ("applied", False, "after", "was"),
        ("applied", True, "after", "do T-1"), ("published", False, "after", "do T-1"),
    ],
)  # fmt: skip
def test_a_lease_that_agent_chat_was_giving_is_settled_as_it_would(chat, place, phase, audit, files, title):
    whole(place)
    put(place, T, BEFORE if files == "before" else AFTER)
    if files == "after":
        put(place, C, LEASE)
    put(place, CLAIM, a_claiming(phase))
    if audit:
        said(place)
    before = tree(place)
    report = brought(chat, place)
    assert report["malformed"] == []
    found = {one["id"]: one for one in listed(chat)}["T-1"]
    assert (found["title"], found["owner"]) == (title, "bob" if title == "do T-1" else None)
    assert tree(place) == before, "no file is changed"


def test_a_lease_that_agent_chat_was_ending_is_held_again(chat, place):
    whole(place)
    put(place, T, a_task("T-1", status="done"))
    changes = [{"file": "T-1.bob.json", "previous": coded(LEASE), "next": None}]
    put(place, CLAIM, a_claiming("applied", task_before=coded(AFTER), task_after=coded(a_task("T-1", status="done")), claim_changes=changes))
    assert brought(chat, place)["malformed"] == []
    assert {one["id"]: (one["status"], one["owner"]) for one in listed(chat)}["T-1"] == ("in_progress", "bob")


@pytest.mark.parametrize("id_", [None, ""])
def test_an_old_journal_that_does_not_say_whether_it_was_published_leaves_its_task_out(chat, place, id_):
    whole(place)
    put(place, T, AFTER)
    put(place, C, LEASE)
    put(place, CLAIM, a_claiming("applied", version=1, transaction_id=id_))
    report = brought(chat, place)
    assert codes(report) == {CLAIM: "LEASE_TRANSACTION_PUBLICATION_UNKNOWN"}
    good(chat, report)
    assert {one["id"] for one in listed(chat)} == {"G-1", "G-2"}


INVALID = [
    b"{", b"[]", {"version": 3}, a_claiming("done"), a_claiming(None), a_claiming("applied", transaction_id=""), a_claiming("prepared", task_file="tasks/../T-1.json"),
    a_claiming("prepared", task_file="../../etc/T-1.json"), a_claiming("prepared", task_before=None), a_claiming("prepared", task_before="!"),
    a_claiming("prepared", task_before=coded(a_task("T-2"))), a_claiming("prepared", claim_changes=None), a_claiming("prepared", claim_changes=[{}]),
    a_claiming("prepared", claim_changes=[{"file": "../T-1.bob.json", "previous": None, "next": None}]),
    a_claiming("prepared", claim_changes=[{"file": "G-2.amy.json", "previous": None, "next": None}]), a_claiming("prepared", task_id="../x", task_file="tasks/../x.json"),
    a_claiming("published", task_after=coded(BEFORE)), a_claiming("published", claim_changes=[{"file": "T-1.bob.json", "previous": coded(LEASE), "next": None}]),
    less(a_claiming("prepared"), "event"),
]  # fmt: skip


@pytest.mark.parametrize("content", INVALID, ids=range(len(INVALID)))
def test_a_journal_of_leases_that_cannot_be_told_leaves_its_task_out(chat, place, content):
    whole(place)
    put(place, T, AFTER)
    put(place, C, LEASE)
    put(place, CLAIM, content)
    report = brought(chat, place)
    assert codes(report) == {CLAIM: "LEASE_TRANSACTION_INVALID"}
    good(chat, report)


def a_locking(phase, **more):
    return {
        "version": 1, "transaction_id": "abc", "phase": phase, "operation": "lock", "event": "path.locked", "target": "x1.json", "before": None,
        "after": coded(a_lock("x1", "bob", "src")), "actor": "bob", **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("journal", "audit", "there"),
    [
        (a_locking("prepared"), False, False), (a_locking("applied"), False, False), (a_locking("applied"), True, True), (a_locking("published"), False, True),
        (a_locking("applied", target="locks\\x1.json", version=2), False, False),
        (a_locking("applied", operation="unlock", before=coded(a_lock("x1", "bob", "src")), after=None), False, True),
    ],
)  # fmt: skip
def test_a_lock_that_agent_chat_was_giving_is_settled_as_it_would(chat, place, journal, audit, there):
    whole(place)
    put(place, L, json.dumps(a_lock("x1", "bob", "src")).encode())
    put(place, LOCK, journal)
    if audit:
        said(place)
    report = brought(chat, place)
    assert report["malformed"] == []
    assert [one["lock_id"] for one in chat.drive(locking.locks(AMY))] == (["good", "x1"] if there else ["good"])


@pytest.mark.parametrize(
    "content",
    [b"{", b"[]", a_locking("x"), a_locking("prepared", target="../x1.json"), a_locking("prepared", target=None), a_locking("prepared", before=3),
     a_locking("prepared", operation="x"), a_locking("published", after=coded(b"else")), a_locking("published", after=None), less(a_locking("prepared"), "before")],
    ids=str,
)  # fmt: skip
def test_a_journal_of_locks_that_cannot_be_told_leaves_its_lock_out(chat, place, content):
    whole(place)
    put(place, L, a_lock("x1", "bob", "src"))
    put(place, LOCK, content)
    report = brought(chat, place)
    assert codes(report) == {LOCK: "PATH_LOCK_TRANSACTION_INVALID"}
    good(chat, report)


@pytest.mark.parametrize(("file", "code"), [(CLAIM, "LEASE_TRANSACTION_INVALID"), (LOCK, "PATH_LOCK_TRANSACTION_INVALID")])
def test_a_journal_that_is_a_link_is_not_followed(chat, place, tmp_path, file, code):
    whole(place)
    os.symlink(put(tmp_path, "outside/x.json", a_claiming("prepared")), place / file)
    report = brought(chat, place)
    assert codes(report) == {file: code}
    good(chat, report)
