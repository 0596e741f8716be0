"""The board as files: tasks, leases, claims, path locks and cursors go out in agent-chat's layout and come back; one bad record never takes another with it."""

from __future__ import annotations

import json
import os

import pytest
from folders import AMY, BOB, KEYS, NOBODY, by_hand, export, import_folder, native, tree

from redischat.calls import claims, imports, paths, tasks
from redischat.calls.call import Caller, Listen, Once, plain
from redischat.calls.paths import Wanted
from redischat.errors import NotYou
from redischat.flows import agents as binding
from redischat.flows import channels as rooms
from redischat.flows import fields, transcript
from redischat.flows import paths as locking
from redischat.flows import tasks as board
from redischat.folder import disk
from redischat.folder.ours import digest
from redischat.models import Exported, Imported
from redischat.repository import Repository

AT, LATER, AGO = "2026-02-03T04:05:06+00:00", "2999-01-01T00:00:00+00:00", "2026-02-03T05:00:00+01:00"
REPO = Repository("github.com/team/dock", "--repo", "")


@pytest.fixture
def place(tmp_path):
    """A folder of agent-chat's with one message."""
    native(tmp_path / "dock", 1, "one")
    (tmp_path / "dock/_meta.json").write_text(json.dumps({"channel": "dock", "members": ["Bob X"], "topic": "", "created": AT}))
    return tmp_path / "dock"


def put(place, name, record):
    path = place / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(record if isinstance(record, bytes) else json.dumps(record).encode())
    return path


def a_task(id_, **more):
    return {
        "id": id_, "channel": "dock", "title": f"do {id_}", "status": "open", "owner": None, "created_by": "amy", "depends_on": [], "files_hint": [],
        "acceptance": [], "lease_expires_at": None, "branch": None, "updated_at": AT, **more,
    }  # fmt: skip


def a_lease(id_, owner, **more):
    return {
        "task_id": id_, "channel": "dock", "owner": owner, "lease_expires_at": LATER, "claimed_at": AT, "updated_at": AT, "previous_owner": None,
        "previous_lease_expires_at": None, "recovery_reason": None, **more,
    }  # fmt: skip


def a_lock(id_, owner, *files, **more):
    rows = [{"normalized_path": file, "display_path": file, "kind": "file"} for file in files]
    return {
        "lock_id": id_, "channel": "dock", "owner": owner, "paths": rows, "expires_at": LATER, "locked_at": AT, "updated_at": AT, "previous_owner": None,
        "previous_expires_at": None, "recovery_reason": None, **more,
    }  # fmt: skip


def leased(place, id_="T-1", owner="bob", **more):
    """A task under a lease."""
    put(place, f"tasks/{id_}.json", a_task(id_, status="in_progress", owner=owner, lease_expires_at=LATER, **more))
    put(place, f"claims/{id_}.{owner}.json", a_lease(id_, owner))


def listed(chat, channel="dock"):
    return chat.drive(board.board(NOBODY, channel))


def brought(chat, place, who=AMY, **how):
    """Import; path locks are of REPO."""
    got = import_folder(chat, place, who, repository=lambda: REPO, **how)
    Imported.model_validate(got)
    return got


def codes(report):
    return {one["file"]: one["code"] for one in report["malformed"]}


def create(chat, title, who=AMY, channel="dock", id_=None, **more):
    given = {"owner": None, "depends_on": (), "files_hint": (), "acceptance": (), "branch": None, "priority": None, **more}
    return chat.drive(board.create(who, channel, fields.wanted(id_, title=title, **given), Once()))["id"]


def busy(chat):
    """A board with a bit of everything."""
    chat.open()
    chat.say("hello")
    create(chat, "Paint ü", acceptance=["dry, and blue"], files_hint=["src/a.py", "src"], branch="paint", priority=0)
    create(chat, "Second", depends_on=["T-1"], owner="carl")
    create(chat, "Third", priority=0)
    create(chat, "Fourth", id_="Fix.it")
    chat.drive(board.claim(BOB, "dock", "T-1", 600_000))
    chat.drive(board.claim(BOB, "dock", "T-3", 600_000))
    chat.drive(board.move(BOB, "dock", "T-3", "done", Once()))
    chat.drive(board.move(AMY, "dock", "Fix.it", "cancel", Once(), reason="not ours"))
    chat.run(claims.take(AMY, "dock", "task-12.md", note="the third pier"))
    chat.run(claims.take(BOB, "dock", "release-7", ttl_ms=600_000))
    chat.run(paths.lock(AMY, "dock", REPO, Wanted(["src/main.py", "docs"], "0" * 31 + "1", lease_ms=600_000, reason="the parser")))


def without(records, *keys):
    return [{key: value for key, value in one.items() if key not in keys} for one in records]


# Out.


def test_a_board_is_written_as_agent_chat_lays_it_out(chat, tmp_path):
    busy(chat)
    report = export(chat, tmp_path)
    Exported.model_validate(report)
    files = tree(tmp_path / "dock")
    assert {name for name in files if "/" in name or name.startswith("task-")} == {
        "tasks/T-1.json", "tasks/T-2.json", "tasks/T-3.json", "tasks/Fix.it.json", "claims/T-1.bob.json", f"locks/{'0' * 31}1.json", "task-12.CLAIMED-amy.md",
        ".cursors/amy.txt",
    }  # fmt: skip
    assert (report["board"], report["board_conflicts"]) == (7, [])
    task = json.loads(files["tasks/T-1.json"])
    assert list(task) == list(a_task("x"))
    assert (task["title"], task["owner"], task["acceptance"], task["files_hint"]) == ("Paint ü", "bob", ["dry, and blue"], ["src/a.py", "src"])
    lease = json.loads(files["claims/T-1.bob.json"])
    assert list(lease) == list(a_lease("x", "y"))
    assert (lease["owner"], lease["lease_expires_at"]) == ("bob", task["lease_expires_at"])
    assert [one["normalized_path"] for one in json.loads(files[f"locks/{'0' * 31}1.json"])["paths"]] == ["docs", "src/main.py"]
    assert files["task-12.CLAIMED-amy.md"] == b"the third pier\n"
    assert b"T-2" in files["state.md"]


def test_the_same_board_gives_the_same_bytes(chat, tmp_path):
    busy(chat)
    export(chat, tmp_path / "one")
    before = tree(tmp_path / "one")
    assert export(chat, tmp_path / "one")["board"] == 0
    export(chat, tmp_path / "two")
    assert tree(tmp_path / "one") == before == tree(tmp_path / "two")


def test_a_channel_without_a_board_has_no_files_of_one(chat, tmp_path):
    chat.open()
    export(chat, tmp_path)
    assert sorted(os.listdir(tmp_path / "dock")) == ["_meta.json", "state.md"]


def test_what_changed_is_written_again_and_what_is_over_is_taken_away(chat, tmp_path):
    busy(chat)
    export(chat, tmp_path)
    chat.drive(board.move(BOB, "dock", "T-1", "done", Once()))
    chat.run(paths.unlock(AMY, "dock", [("0" * 31 + "1", "")], once=Once()))
    chat.run(claims.drop(AMY, "dock", "task-12.md", once=Once()))
    report = export(chat, tmp_path)
    files = tree(tmp_path / "dock")
    assert json.loads(files["tasks/T-1.json"])["status"] == "done"
    assert [name for name in files if name.startswith(("claims", "locks", "task-"))] == []
    assert (report["board"], report["board_conflicts"]) == (4, [])
    export(chat, tmp_path / "new")
    assert files.items() >= {**tree(tmp_path / "new/dock")}.items()


def test_files_that_no_export_wrote_are_not_touched(chat, tmp_path):
    busy(chat)
    export(chat, tmp_path)
    place = tmp_path / "dock"
    own = {
        "tasks/T-1.json": json.dumps(a_task("T-1", title="mine")).encode(), "tasks/T-9.json": b"{}", "claims/T-9.carl.json": b"mine",
        "locks/mine.json": b"mine", "task-12.CLAIMED-amy.md": b"all of the specification\n", "task-9.CLAIMED-carl.md": b"", "notes.json": b"x",
    }  # fmt: skip
    for name, content in own.items():
        (place / name).write_bytes(content)
    chat.drive(board.move(BOB, "dock", "T-1", "done", Once()))
    chat.run(claims.drop(AMY, "dock", "task-12.md", once=Once()))
    report = export(chat, tmp_path)
    assert report["board_conflicts"] == ["task-12.CLAIMED-amy.md", "tasks/T-1.json"]
    assert tree(place).items() >= own.items()


def test_a_redischat_json_of_somebody_else_makes_nothing_in_the_folder_ours(chat, tmp_path):
    busy(chat)
    export(chat, tmp_path)
    chat.drive(board.move(BOB, "dock", "T-1", "done", Once()))
    (tmp_path / "dock/redischat.json").write_text("[]")
    before = tree(tmp_path / "dock")
    report = export(chat, tmp_path)
    assert report["board_conflicts"] == ["redischat.json", "tasks/T-1.json"]
    grown = {"state.md": b"", "_audit.jsonl": b""}
    assert {**tree(tmp_path / "dock"), **grown} == {**before, **grown}


def test_a_redischat_json_cannot_name_a_file_elsewhere_to_be_taken_away(chat, tmp_path):
    chat.open()
    (tmp_path / "dock").mkdir()
    victims = [tmp_path / "victim.json", tmp_path / "dock" / "0001-a-b.md", tmp_path / "dock" / "notes.md"]
    for one in victims:
        one.write_text("x")
    names = ["../victim.json", "tasks/../../victim.json", "0001-a-b.md", "notes.md", str(victims[0])]
    put(tmp_path / "dock", "redischat.json", {"format": 1, "files": {name: [digest(b"x")] for name in names}})
    export(chat, tmp_path)
    assert all(one.read_text() == "x" for one in victims)


def test_two_leases_that_agent_chat_would_keep_in_one_file_are_named(chat, tmp_path):
    chat.open()
    for id_, who in (("T", Caller(KEYS, "x.y")), ("T.x", Caller(KEYS, "y"))):
        create(chat, "x", id_=id_)
        chat.drive(board.claim(who, "dock", id_, 600_000))
    assert export(chat, tmp_path)["board_conflicts"] == ["claims/T.x.y.json"]


@pytest.mark.parametrize("part", ["tasks", "claims", "locks", ".cursors"])
@pytest.mark.parametrize("kind", ["link", "file"])
def test_no_export_writes_through_a_link(chat, tmp_path, part, kind):
    busy(chat)
    (tmp_path / "outside").mkdir()
    (tmp_path / "dock").mkdir()
    if kind == "link":
        os.symlink(tmp_path / "outside", tmp_path / "dock" / part)
    else:
        (tmp_path / "dock" / part).write_text("mine")
    report = export(chat, tmp_path)
    assert os.listdir(tmp_path / "outside") == []
    assert report["board_conflicts"] == ([part] if part != ".cursors" else [])
    assert report["board"] > 0
    assert export(chat, tmp_path)["board"] == 0


def test_an_export_that_was_stopped_still_knows_its_files(chat, tmp_path, monkeypatch):
    busy(chat)
    export(chat, tmp_path)
    chat.drive(board.move(BOB, "dock", "T-1", "done", Once()))
    chat.drive(board.move(AMY, "dock", "Fix.it", "reopen", Once(), reason="ours"))
    written = disk.put

    def stopped(place, name, text):
        if name == "T-1.json":
            raise KeyboardInterrupt
        return written(place, name, text)

    monkeypatch.setattr(disk, "put", stopped)
    with pytest.raises(KeyboardInterrupt):
        export(chat, tmp_path)
    monkeypatch.undo()
    chat.drive(board.move(AMY, "dock", "Fix.it", "cancel", Once(), reason="after all"))
    report = export(chat, tmp_path)
    assert report["board_conflicts"] == []
    export(chat, tmp_path / "new")
    assert {**tree(tmp_path / "dock"), "state.md": b""} == {**tree(tmp_path / "new/dock"), "state.md": b""}


def test_a_followed_folder_keeps_the_board_current(chat, tmp_path):
    busy(chat)
    acts = iter([lambda: chat.drive(board.move(BOB, "dock", "T-1", "done", Once())), lambda: chat.drive(rooms.delete(AMY, "dock", Once(), yes=True))])
    flow, answer, seen = transcript.export(NOBODY, "dock", str(tmp_path), follow=1e9), None, []
    while True:
        try:
            asked = flow.send(answer)
        except StopIteration as end:
            report = end.value
            break
        if isinstance(asked, Listen):
            seen.append(json.loads((tmp_path / "dock/tasks/T-1.json").read_text())["status"])
            next(acts)()
            answer = "audit t-1"
        else:
            answers = chat.pipe(asked if isinstance(asked, list) else [asked])
            answer = answers if isinstance(asked, list) else answers[0]
    assert (seen, report["ended"]) == (["in_progress", "done"], "deleted")


def test_a_cursor_is_raised_and_never_lowered(chat, tmp_path):
    chat.open()
    for _ in range(3):
        chat.say("x")
    for file, text in {"amy": "1", "bob": "7"}.items():
        put(tmp_path / "dock", f".cursors/{file}.txt", text.encode())
    export(chat, tmp_path)
    assert ((tmp_path / "dock/.cursors/amy.txt").read_text(), (tmp_path / "dock/.cursors/bob.txt").read_text()) == ("3", "7")
    (tmp_path / "dock/.cursors/amy.txt").write_text("mine")
    export(chat, tmp_path)
    assert (tmp_path / "dock/.cursors/amy.txt").read_text() == "mine"


# And back.


def test_a_board_comes_back_whole(chat, tmp_path):
    busy(chat)
    export(chat, tmp_path)
    before, claimed, locks = listed(chat), chat.run(claims.every(KEYS, "dock")), chat.drive(locking.locks(AMY, "dock"))
    chat.run(plain("FLUSHALL"))
    report = brought(chat, tmp_path / "dock")
    assert (report["malformed"], report["board"], report["board_conflicts"]) == ([], {"tasks": 4, "claims": 2, "locks": 1}, [])
    assert without(listed(chat), "token") == without(before, "token")
    assert without(chat.run(claims.every(KEYS, "dock")), "token") == without(claimed, "token")
    assert without(chat.drive(locking.locks(AMY, "dock")), "token") == without(locks, "token")
    assert {one["id"]: bool(one["token"]) for one in listed(chat)} == {one["id"]: bool(one["token"]) for one in before}
    again = brought(chat, tmp_path / "dock")
    assert (again["board"], again["board_skipped"], again["board_conflicts"], again["malformed"]) == ({}, 7, [], [])
    assert chat.drive(board.repair(AMY, "dock"))["mended"] == {}


def test_what_comes_in_goes_on(chat, place):
    leased(place)
    put(place, "tasks/T-2.json", a_task("T-2", depends_on=["T-1"], updated_at=AGO))
    put(place, "tasks/T-10.json", a_task("T-10", updated_at=AGO))
    assert brought(chat, place)["board"] == {"tasks": 3}
    found = {one["id"]: one for one in listed(chat)}
    assert list(found) == ["T-10", "T-2", "T-1"], "by time, then id"
    assert (found["T-1"]["owner"], found["T-1"]["lease_expires_at"], found["T-1"]["token"]) == ("bob", "2999-01-01T00:00:00.000Z", 1)
    assert (found["T-2"]["ready"], found["T-2"]["waits_for"], found["T-1"]["dependents"]) == (False, [{"id": "T-1", "status": "in_progress"}], ["T-2"])
    assert chat.run(tasks.next_(AMY, "dock", take=False, ttl_ms=1000, once=Once()))["id"] == "T-10"
    assert chat.drive(board.move(BOB, "dock", "T-1", "done", Once(), fence=1))["freed"] == ["T-2"]
    assert create(chat, "new") == "T-3"
    assert chat.drive(board.repair(AMY, "dock"))["mended"] == {}
    assert (found["T-1"]["created_at"], found["T-1"]["claimed_at"]) == ("2026-02-03T04:05:06.000Z", "2026-02-03T04:05:06.000Z")


def test_one_audit_tells_of_the_tasks_and_nobody_is_woken(chat, place):
    chat.open("dock", BOB)
    put(place, "tasks/T-1.json", a_task("T-1", owner="bob"))
    put(place, "tasks/T-2.json", a_task("T-2"))
    brought(chat, place)
    (audit,) = chat.run(plain("XRANGE", KEYS.channel("dock", "audits"), "-", "+"))
    assert "imported 2 tasks: T-1, T-2" in audit[1]
    assert "task.imported" in audit[1]


def test_a_lapsed_lease_comes_in_as_it_is(chat, place):
    put(place, "tasks/T-1.json", a_task("T-1", status="in_progress", owner="bob", lease_expires_at=AT))
    put(place, "claims/T-1.bob.json", a_lease("T-1", "bob", lease_expires_at="2026-02-03T05:05:06+01:00"))
    assert brought(chat, place)["malformed"] == []
    assert [one["stale"] for one in listed(chat)] == [True]
    got = chat.drive(board.recover(AMY, "dock", "T-1", "gone", 1000))
    assert (got["previous_owner"], got["token"]) == ("bob", 2)


def test_what_the_channel_has_stays(chat, place):
    chat.open()
    create(chat, "mine", id_="t-1")
    chat.run(claims.take(AMY, "dock", "task-12.md"))
    chat.run(paths.lock(AMY, "dock", REPO, Wanted(["src"], "0" * 32, lease_ms=600_000)))
    leased(place)
    put(place, "tasks/T-2.json", a_task("T-2", depends_on=["T-1"]))
    put(place, "task-12.CLAIMED-bob.md", b"")
    put(place, "locks/x1.json", a_lock("x1", "bob", "src/a.py"))
    put(place, "locks/x2.json", a_lock("x2", "bob", "lib/a.py"))
    put(place, "locks/x3.json", a_lock("x3", "carl", "lib"))
    before = chat.run(tasks.look(KEYS, "dock", ["t-1"]))["tasks"]
    report = brought(chat, place)
    assert report["board_conflicts"] == ["task T-1", "claim task-12.md", "lock x1", "lock x3"]
    assert report["board"] == {"tasks": 1, "locks": 1}
    assert without(chat.run(tasks.look(KEYS, "dock", ["t-1"]))["tasks"], "dependents") == without(before, "dependents")
    assert [one["owner"] for one in chat.run(claims.every(KEYS, "dock"))] == ["Amy"]
    assert [one["lock_id"] for one in chat.drive(locking.locks(AMY))] == ["x2", "0" * 32]


def test_what_agent_chat_changed_after_an_export_counts(chat, tmp_path):
    busy(chat)
    export(chat, tmp_path)
    path = tmp_path / "dock/tasks/T-3.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "title": "reworded", "status": "open"}))
    report = brought(chat, tmp_path / "dock", channel="copy")
    assert (report["malformed"], report["board_conflicts"], report["board_skipped"]) == ([], [], 1), "the lock is the one that is held"
    (task,) = chat.run(tasks.look(KEYS, "copy", ["t-3"]))["tasks"]
    assert (task["title"], task["status"], task["priority"], task["finished_by"], task["claimed_at"]) == ("reworded", "open", 0, None, None)
    (other,) = chat.run(tasks.look(KEYS, "copy", ["fix.it"]))["tasks"]
    assert other["reason"] == "not ours"


def test_claimed_markers_are_claims(chat, place):
    native(place, 2, "two", **{"from": "Zoë B"})
    put(place, "task-1.CLAIMED-amy.md", b"one\nand more\n")
    put(place, "task-2.CLAIMED-zo-b.md", b"")
    put(place, "task-3.CLAIMED-stranger.md", b"")
    put(place, "task-4.CLAIMED-msg.md", b"")
    put(place, "task-5.CLAIMED-amy.md", b"\xff")
    put(place, "task-5.md", b"")
    report = brought(chat, place)
    assert [(one["name"], one["owner"], one["note"]) for one in chat.run(claims.every(KEYS, "dock"))] == [
        ("task-1.md", "amy", "one and more"), ("task-2.md", "Zoe-B", None), ("task-3.md", "stranger", None),
    ]  # fmt: skip
    assert codes(report) == {"task-4.CLAIMED-msg.md": "BAD_TEXT", "task-5.CLAIMED-amy.md": "BAD_TEXT"}
    assert (report["present"], report["board"]) == ({"markers": 1}, {"claims": 3})
    again = brought(chat, place)
    assert (again["board"], again["board_skipped"], again["board_conflicts"]) == ({}, 3, [])


def test_a_claim_whose_marker_is_gone_is_not_taken(chat, tmp_path):
    busy(chat)
    export(chat, tmp_path)
    os.unlink(tmp_path / "dock/task-12.CLAIMED-amy.md")
    chat.run(plain("FLUSHALL"))
    report = brought(chat, tmp_path / "dock")
    assert codes(report) == {"task-12.CLAIMED-amy.md": "BAD_TEXT"}
    assert [one["name"] for one in chat.run(claims.every(KEYS, "dock"))] == ["release-7"]


def test_locks_are_of_the_importers_repository_or_not_read(chat, place):
    put(place, "locks/x1.json", a_lock("x1", "bob", "src/a.py", ".", lease_expires_at=LATER))
    report = import_folder(chat, place)
    assert (report["present"], report["board"]) == ({"locks": 1}, {})
    assert brought(chat, place)["board"] == {"locks": 1}
    (lock,) = chat.drive(locking.locks(AMY))
    assert (lock["repository"], lock["owner"], lock["paths"], lock["channel"], lock["mode"]) == (REPO.key, "bob", ["."], "dock", "exclusive")
    assert brought(chat, place)["board_skipped"] == 1


def test_hundreds_of_tasks_come_in_batches_in_the_order_of_what_they_wait_for(chat, place):
    count = 1_200
    for at in range(count):
        put(place, f"tasks/t{at}.json", a_task(f"t{at}", depends_on=[f"t{at + 1}"] if at + 1 < count else []))
    sizes: list[int] = []
    report = by_hand(
        chat,
        transcript.import_folder(AMY, str(place)),
        lambda answers: sizes.extend(one["stored"] for one in answers if isinstance(one, dict) and "base" in one),
    )
    assert (report[0]["board"], sizes) == ({"tasks": count}, [300, 300, 300, 300])
    assert [one["id"] for one in listed(chat) if one["ready"]] == [f"t{count - 1}"]
    numbers = chat.run(imports.numbers(KEYS, "dock"))
    assert sorted(numbers.values()) == list(range(1, count + 1))
    assert create(chat, "next") == "T-1"
    assert chat.run(imports.numbers(KEYS, "dock"))["t-1"] == count + 1


def test_a_batch_whose_answer_was_lost_is_stored_once(chat):
    chat.open()
    one: dict[str, object] = {
        "id": "T-1", "status": "open", "owner": None, "created_by": "amy", "priority": 2, "attempt": 1, "fenced": False, "expires": 0, "claimed": 0, "created": 1,
        "updated": 1, "depends_on": [], "before": None, "before_expires": 0, "finisher": None, "title": "x", "files_hint": [], "acceptance": [], "branch": None,
        "reason": None,
    }  # fmt: skip
    call = imports.tasks(AMY, "dock", [imports.task_row(one, 1)], base="", total=1, once=Once())
    assert chat.run(call) == chat.run(call) == {"base": "0", "stored": 1, "there": []}
    assert len(chat.run(plain("XRANGE", KEYS.channel("dock", "audits"), "-", "+"))) == 1


def test_a_board_is_not_imported_under_somebody_elses_name(chat, place):
    put(place, "tasks/T-1.json", a_task("T-1"))
    chat.open("dock", BOB)
    chat.drive(binding.identify(KEYS, "amy", binding.Claim("s", "h", "/p"), Once()))
    thief = Caller(KEYS, "amy", "wrong")
    calls = [
        imports.tasks(thief, "dock", [], base="", total=0, once=Once()), imports.claims(thief, "dock", [], once=Once()),
        imports.locks(thief, "dock", [], once=Once()), imports.cursors(thief, "dock", {"bob": 9}),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(NotYou):
            chat.run(call)


# Cursors.


def test_cursors_become_marks_and_make_members(chat, place):
    native(place, 2, "two", **{"from": "bob"})
    native(place, 3, "three", to="carl")
    for name, text in {"bob": b"2\n", "carl": b"99", "amy": b"1", "bob-x": b"3", "who": b"3", "zero": b"x", "dan": b"0"}.items():
        put(place, f".cursors/{name}.txt", text)
    report = brought(chat, place)
    assert codes(report) == {f".cursors/{name}.txt": "BAD_TEXT" for name in ("who", "zero", "dan")}
    assert report["board"] == {"cursors": 3}
    marks = {name: chat.run(imports.mark(KEYS, name, "dock")) for name in ("amy", "bob", "carl", "bob-x")}
    assert marks == {"amy": 3, "bob": 2, "carl": 3, "bob-x": 3}
    assert chat.drive(rooms.roster(AMY, "dock"))["members"] == ["Amy", "Bob-X", "bob", "carl"]
    assert brought(chat, place)["board"] == {}


def test_marks_only_rise_and_never_those_of_a_session_that_holds_the_name(chat, place):
    native(place, 2, "two", **{"from": "bob"})
    native(place, 3, "three", **{"from": "carl"})
    for name in ("bob", "carl"):
        put(place, f".cursors/{name}.txt", b"1")
    brought(chat, place)
    token = chat.drive(binding.identify(KEYS, "bob", binding.Claim("s", "h", "/p"), Once()))["token"]
    for name, text in {"bob": b"3", "carl": b"2"}.items():
        put(place, f".cursors/{name}.txt", text)
    report = brought(chat, place)
    assert (report["board"], report["board_conflicts"]) == ({"cursors": 1}, ["cursor bob"])
    assert [chat.run(imports.mark(KEYS, name, "dock")) for name in ("bob", "carl")] == [1, 2]
    assert brought(chat, place, Caller(KEYS, "bob", token))["board"] == {"cursors": 1}
    put(place, ".cursors/carl.txt", b"1")
    assert brought(chat, place)["board"] == {}
    assert chat.run(imports.mark(KEYS, "carl", "dock")) == 2


def test_a_cursor_that_two_names_share_is_nobodys(chat, place):
    native(place, 2, "two", **{"from": "bob.x"})
    put(place, ".cursors/bob-x.txt", b"2")
    assert codes(brought(chat, place)) == {".cursors/bob-x.txt": "BAD_TEXT"}
    assert chat.drive(rooms.roster(AMY, "dock"))["members"] == ["Amy"]


def test_who_left_stays_out(chat, place):
    native(place, 2, "two", **{"from": "bob"})
    put(place, ".cursors/bob.txt", b"1")
    brought(chat, place)
    chat.drive(rooms.leave(BOB, "dock", Once()))
    put(place, ".cursors/bob.txt", b"2")
    report = brought(chat, place)
    assert (report["board"], report["board_conflicts"]) == ({}, [])
    assert chat.drive(rooms.roster(AMY, "dock"))["members"] == ["Amy"]


def test_nobody_joins_a_closed_channel(chat, place):
    native(place, 2, "two", **{"from": "bob"})
    brought(chat, place)
    chat.drive(rooms.close(AMY, "dock", "done", Once()))
    put(place, ".cursors/bob.txt", b"2")
    put(place, "tasks/T-1.json", a_task("T-1"))
    report = brought(chat, place)
    assert (report["board"], report["board_conflicts"]) == ({"tasks": 1}, ["cursor bob"])
    assert chat.drive(rooms.roster(AMY, "dock"))["members"] == ["Amy"]


# At the command line.


def test_the_command_takes_a_board_out_and_in_and_says_what_became_of_it(town):
    heron = town.agent("heron")
    heron("open", "dock")
    heron("task", "create", "dock", "--title", "Paint")
    heron("task", "claim", "dock", "T-1")
    heron("lock", "dock", "src/a.py")
    out = heron("export", "dock", "out")
    assert "the board: 3 files" in out.out
    assert "the board" not in heron("export", "dock", "out").out
    out_dir = os.path.join(heron.directory, "out", "dock")
    with open(os.path.join(out_dir, "tasks", "T-2\x1b[2J.json"), "w") as file:
        file.write("{")
    told = heron("import", "out/dock", "--channel", "copy").out
    assert "of the board: 1 task stored, 1 were there" in told
    assert "TASK_INVALID_RECORD" in told
    assert "\x1b" not in told
    with open(os.path.join(out_dir, "tasks", "T-1.json"), "w") as file:
        file.write("mine")
    heron("task", "done", "dock", "T-1")
    assert "not touched: tasks/T-1.json" in heron("export", "dock", "out").out
    record = heron("import", "out/dock", "--channel", "copy", "--json").record
    assert (record["board"], record["board_skipped"], sorted(codes(record).values())) == ({}, 1, ["TASK_INVALID_RECORD", "TASK_INVALID_RECORD"])
