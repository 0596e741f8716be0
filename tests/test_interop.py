"""The real agent-chat 0.7.5 beside us: what it wrote comes in whole, what we export it reads as it was said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from typing import Any

import pytest
from folders import AMY, BOB, KEYS, NOBODY, a_record, real_server

from redischat.calls import claims, paths
from redischat.calls.call import Once
from redischat.calls.paths import Wanted
from redischat.flows import channels as rooms
from redischat.flows import fields, transcript
from redischat.flows import paths as locking
from redischat.flows import tasks as board
from redischat.folder import form
from redischat.repository import Repository

PEER = "agent-chat-plugin==0.7.5"
RULE = "=" * 70 + "\n"

pytestmark = pytest.mark.real


@pytest.fixture(scope="session")
def peer_site(pytestconfig):
    """Where the peer is installed, apart from everything else; kept between runs."""
    place = os.path.join(pytestconfig.cache.mkdir("peers"), PEER)
    if not os.path.exists(os.path.join(place, "chat.py")):
        draft = tempfile.mkdtemp(dir=os.path.dirname(place))
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", "--target", draft, PEER],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            shutil.rmtree(draft)
            pytest.skip(f"pip cannot install {PEER}: {done.stderr.strip()[-300:]}")
        try:
            os.rename(draft, place)
        except OSError:
            shutil.rmtree(draft)  # another worker of xdist was first
    return place


class Peer:
    """agent-chat on one root."""

    def __init__(self, site, root):
        self.site, self.root = site, str(root)

    def __call__(self, *words, body=None):
        command = [sys.executable, os.path.join(self.site, "bin", "agent-chat"), "--root", self.root, *words]
        done = subprocess.run(command, input=body, capture_output=True, text=True, check=False, env={"PYTHONPATH": self.site, "PYTHONUTF8": "1"})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def shown(self, *words):
        """The messages that ``read`` prints: heads as a dict, and the text below them."""
        found = []
        for printed in self(*words).split(RULE)[1:]:
            front, _, text = printed.removeprefix("---\n").partition("\n---\n")
            found.append((dict(line.split(": ", 1) for line in front.split("\n")), text.rstrip()))
        return found

    def python(self, code, given):
        """Run ``code`` beside its ``chat`` module, with ``given``; what it puts into ``answer``."""
        whole = f"import json, sys, chat\ngiven = json.load(sys.stdin)\n{code}\njson.dump(answer, sys.stdout)"
        done = subprocess.run([sys.executable, "-c", whole], input=json.dumps(given), capture_output=True, text=True, check=True, env={"PYTHONPATH": self.site})
        return json.loads(done.stdout)


@pytest.fixture
def peer(peer_site, tmp_path):
    return Peer(peer_site, tmp_path / "root")


@pytest.fixture(scope="module")
def folder_server():
    with real_server() as url:
        yield url


POSTS = [
    ("amy", "all", "The pier", "Is the pier free?\n\n- north\n- south", ()),
    ("bob", "amy", "Re: the pier: north", "Yes.\n---\nseq: 99\n---\n", ("--reply", "1")),
    ("Zoë B", "amy,bob", "Größe: 日本", "  indented é 🙂\u2028 and more\n", ("--status", "decision")),
    ("carl", "all", "forged\nto: nobody", "x", ()),
]


def test_what_agent_chat_wrote_comes_in_whole(chat, peer, tmp_path):
    peer("init", "dock", "--members", "amy,bob", "--topic", "the pier")
    for sender, to, title, body, more in POSTS:
        peer("post", "dock", "--from", sender, "--to", to, "--title", title, *more, body=body)
    peer("lock", "dock", "src/a.py", "--as", "amy")
    peer("task", "create", "dock", "T-1", "--from", "amy", "--title", "Paint it")
    peer("task", "claim", "dock", "T-1", "--as", "bob")
    peer("task", "done", "dock", "T-1", "--as", "bob")
    peer("unlock", "dock", "src/a.py", "--as", "amy")
    peer("event", "post", "dock", "--from", "amy", "--type", "status", "--harness", "claude", "--status", "ready")
    peer("compact", "dock", "--as", "amy")
    peer("read", "dock", "--as", "bob")
    peer("post", "dock", "--from", "amy", "--title", "done", body="all done")
    before = peer.shown("read", "dock", "--as", "x", "--all", "--peek")

    (report,) = chat.drive(transcript.import_folder(AMY, str(tmp_path / "root")))
    assert report == {
        "channel": "dock", "stored": len(before), "skipped": 0, "gaps": [], "doubles": [], "conflicts": [], "renamed": {"Zoë B": "Zoe-B"}, "malformed": [],
        "present": {}, "board": {"tasks": 1, "cursors": 1}, "board_skipped": 0, "board_conflicts": [],
    }  # fmt: skip
    found = chat.all()
    assert [one["body"] for one in found] == [text for _, text in before]
    assert [one["seq"] for one in found] == list(range(1, len(before) + 1))
    for one, (heads, _) in zip(found, before, strict=True):
        assert (one["title"], one["status"], one["reply_to"]) == (heads["title"], heads["status"], int(heads["reply_to"]) if "reply_to" in heads else None)
        assert one["from"] == report["renamed"].get(heads["from"], heads["from"])
        assert one["to"] == (None if heads["to"] == "all" else heads["to"].split(","))
    audits = [one["status"] for one in found if one["kind"] == "audit"]
    assert audits == ["path.locked", "task.created", "lease.claimed", "lease.completed", "path.lock.unlocked", "event.status", "state.compacted"]
    assert [one["kind"] for one in found if one["kind"] != "audit"] == ["message"] * 5
    assert chat.drive(rooms.roster(AMY, "dock"))["topic"] == "the pier"

    chat.drive(transcript.export(NOBODY, "dock", str(tmp_path / "back")))
    after = Peer(peer.site, tmp_path / "back").shown("read", "dock", "--as", "x", "--all")
    assert [text for _, text in after] == [text for _, text in before]
    for (heads, _), (back, _) in zip(before, after, strict=True):
        assert {**back, "from": heads["from"], "ts": heads["ts"]}.items() >= heads.items()
    again = chat.drive(transcript.export(NOBODY, "dock", str(tmp_path / "root")))
    assert (again["written"], again["kept"], again["conflicts"]) == (0, len(before), [3])  # Zoë B has another name by now


def test_what_redischat_exports_agent_chat_reads_as_it_was_said(chat, peer, tmp_path):
    chat.open(topic="the pier")
    bodies = ["hello", "two\nlines\n\n", "---\nseq: 9\n---\nfront?", "日本 🙂", "x" * 5_000]
    for body in bodies:
        chat.say(body)
    chat.say("for you", to=["bob"], title="a: b", status="decision", reply_to=2, thread="pier---1")
    chat.say("for nobody", audience="none", who=BOB)
    chat.drive(rooms.briefing(AMY, "dock", "be kind", Once()))
    said = chat.all()
    chat.drive(transcript.export(NOBODY, "dock", str(tmp_path / "root")))

    shown = peer.shown("read", "dock", "--as", "x", "--all", "--peek")
    assert [text for _, text in shown] == [one["body"].rstrip() for one in said]
    assert [int(heads["seq"]) for heads, _ in shown] == [one["seq"] for one in said]
    assert [heads["from"] for heads, _ in shown] == [one["from"] for one in said]
    assert [heads["ts"] for heads, _ in shown] == [one["ts"][:19] + "+00:00" for one in said]
    assert [heads["to"] for heads, _ in shown] == ["all"] * 5 + ["bob", "all", "all"]
    assert [heads["title"] for heads, _ in shown[:4]] == ["hello", "two", "seq: 9", "日本 🙂"]
    assert (shown[5][0]["title"], shown[5][0]["status"], shown[5][0]["reply_to"]) == ("a: b", "decision", "2")
    assert [heads["status"] for heads, _ in shown if heads["kind"] == "notice"] == ["notice.briefing"]
    assert "Amy, bob" in peer("roster", "dock")
    assert "the pier" in peer("state", "dock", "--strict")


def test_only_whom_a_message_is_for_reads_it_there(chat, peer, tmp_path):
    chat.open()
    chat.say("for all")
    chat.say("for you", to=["bob"])
    chat.drive(transcript.export(NOBODY, "dock", str(tmp_path / "root")))
    assert [text for _, text in peer.shown("read", "dock", "--as", "bob")] == ["for all", "for you"]
    assert [text for _, text in peer.shown("read", "dock", "--as", "carl")] == ["for all"]
    assert peer.shown("read", "dock", "--as", "bob") == []


def test_agent_chat_does_not_look_at_audits_and_events(chat, peer, tmp_path):
    chat.open()
    chat.say("hello")
    place = tmp_path / "root"
    chat.drive(transcript.export(NOBODY, "dock", str(place)))
    before = [peer("read", "dock", "--as", "x", "--all", "--peek"), peer("roster", "dock"), peer("event", "read", "dock"), peer("peek", "dock")]
    for name in (form.AUDITS, form.EVENTS):
        (place / "dock" / name).write_text(json.dumps(a_record(seq=None, after=1, n=1)) + "\n")
    assert [peer("read", "dock", "--as", "x", "--all", "--peek"), peer("roster", "dock"), peer("event", "read", "dock"), peer("peek", "dock")] == before


def test_agent_chat_goes_on_where_an_export_ended(chat, peer, tmp_path):
    chat.open()
    chat.say("hello")
    chat.drive(transcript.export(NOBODY, "dock", str(tmp_path / "root")))
    assert peer("post", "dock", "--from", "bob", "--title", "on", body="it goes on").startswith("posted #2 ")
    peer("task", "create", "dock", "T-1", "--from", "amy", "--title", "Paint it")
    (report,) = chat.drive(transcript.import_folder(AMY, str(tmp_path / "root" / "dock")))
    assert (report["stored"], report["skipped"], report["conflicts"]) == (2, 1, [])
    assert [(one["body"], one["kind"]) for one in chat.all()[:2]] == [("hello", "message"), ("it goes on", "message")]
    assert chat.all()[2]["kind"] == "audit"


def test_its_events_can_still_be_read_after_a_round_trip(chat, peer, tmp_path):
    peer("init", "dock")
    peer("event", "post", "dock", "--from", "amy", "--type", "capability", "--harness", "claude")
    before = peer("event", "read", "dock")
    chat.drive(transcript.import_folder(AMY, str(tmp_path / "root")))
    chat.drive(transcript.export(NOBODY, "dock", str(tmp_path / "back")))
    assert Peer(peer.site, tmp_path / "back")("event", "read", "dock") == before != ""


REPO = Repository("github.com/team/dock", "--repo", "")
TABLE = "answer = {}\nfrom agent_chat import task_store, lease_store, path_locks\nfrom pathlib import Path\nroot = Path(given)\n"
BOARD = (
    TABLE + "answer['tasks'] = [one.to_dict() for one in task_store.TaskStore(root / 'dock').list()]\n"
    "answer['leases'] = [one.to_dict() for one in lease_store.LeaseStore(root / 'dock').list()]\n"
    "answer['locks'] = [one.to_dict() for one in path_locks.PathLockStore(root / 'dock').list()]\n"
)  # fmt: skip


def moment(text):
    """A time of either tool, to the millisecond."""
    return None if text is None else datetime.fromisoformat(text).astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def a_board_of_theirs(peer):
    """Every verb of agent-chat's board, once."""
    peer("init", "dock", "--members", "amy,bob")
    peer(
        "task",
        "create",
        "dock",
        "T-1",
        "--from",
        "amy",
        "--title",
        "Größe: 日本",
        "--acceptance",
        "it is dry",
        "--files-hint",
        "src/a.py,src/b.py",
        "--branch",
        "paint",
    )
    peer("task", "create", "dock", "T-2", "--from", "bob", "--title", "", "--depends-on", "T-1", "--owner", "amy")
    for id_ in ("T-3", "T-4", "T-5", "Fix.it"):
        peer("task", "create", "dock", id_, "--from", "amy", "--title", f"do {id_}")
    peer("task", "claim", "dock", "T-1", "--as", "bob", "--lease-seconds", "600")
    peer("task", "claim", "dock", "T-3", "--as", "amy")
    peer("task", "done", "dock", "T-3", "--as", "amy")
    peer("task", "block", "dock", "T-4", "--as", "bob")
    peer("task", "claim", "dock", "T-5", "--as", "bob", "--lease-seconds", "600")
    peer("task", "update", "dock", "Fix.it", "--as", "amy", "--status", "cancelled")
    peer("lock", "dock", "src/a.py", "docs", "--as", "amy", "--lease-seconds", "600")
    for name in ("task-7.md", "task-8.md"):
        with open(os.path.join(peer.root, "dock", name), "w", encoding="utf-8") as file:
            file.write("the pier")
    peer("claim", "dock", "task-7.md", "--as", "bob")
    peer("read", "dock", "--as", "bob")


def test_a_board_that_agent_chat_wrote_comes_in_equal(chat, peer, tmp_path):
    a_board_of_theirs(peer)
    theirs = peer.python(BOARD, peer.root)
    (report,) = chat.drive(transcript.import_folder(AMY, peer.root, repository=lambda: REPO))
    assert (report["malformed"], report["board_conflicts"], report["present"]) == ([], [], {"markers": 1})
    assert report["board"] == {"tasks": 6, "claims": 1, "locks": 1, "cursors": 1}
    ours = {one["id"]: one for one in chat.drive(board.board(NOBODY, "dock"))}
    assert len(theirs["tasks"]) == 6
    for task in theirs["tasks"]:
        mine = {key: ours[task["id"]][key] for key in task}
        assert mine == {**task, "lease_expires_at": moment(task["lease_expires_at"]), "updated_at": moment(task["updated_at"])}
    for lease in theirs["leases"]:
        mine = ours[lease["task_id"]]
        assert (mine["owner"], mine["claimed_at"], mine["lease_expires_at"]) == (lease["owner"], moment(lease["claimed_at"]), moment(lease["lease_expires_at"]))
    (lock,), (mine,) = theirs["locks"], chat.drive(locking.locks(AMY, "dock"))
    assert (mine["lock_id"], mine["owner"], mine["paths"]) == (lock["lock_id"], lock["owner"], sorted(one["normalized_path"] for one in lock["paths"]))
    assert (mine["expires_at"], mine["locked_at"]) == (moment(lock["expires_at"]), moment(lock["locked_at"]))
    assert [(one["name"], one["owner"], one["note"]) for one in chat.run(claims.every(KEYS, "dock"))] == [("task-7.md", "bob", "the pier")]

    chat.drive(transcript.export(NOBODY, "dock", str(tmp_path / "back")))
    again = Peer(peer.site, tmp_path / "back")
    assert again("task", "list", "dock") == peer("task", "list", "dock")
    back = again.python(BOARD, again.root)
    assert [one["id"] for one in back["tasks"]] == [one["id"] for one in theirs["tasks"]]
    assert again("read", "dock", "--as", "bob") == peer("read", "dock", "--as", "bob"), "bob's cursor stands where it stood"


def test_agent_chat_works_on_with_a_board_that_we_exported(chat, peer):
    chat.open()
    chat.say("hello")
    more: dict[str, Any] = {"owner": None, "files_hint": ["src/a.py"], "acceptance": ["dry, and blue"], "branch": "paint", "priority": 0}
    for id_, title, deps in (("T-1", "Größe: 日本", []), ("T-2", "second", ["t-1"]), ("T-3", "third", []), ("Fix.it", "fix", [])):
        chat.drive(board.create(AMY, "dock", fields.wanted(id_, title=title, depends_on=deps, **more), Once()))
    chat.drive(board.claim(BOB, "dock", "T-1", 600_000))
    chat.drive(board.claim(BOB, "dock", "T-3", 600_000))
    chat.drive(board.move(BOB, "dock", "T-3", "done", Once()))
    chat.drive(board.move(AMY, "dock", "Fix.it", "cancel", Once(), reason="no"))
    chat.run(claims.take(BOB, "dock", "task-7.md", note="the pier"))
    chat.run(paths.lock(AMY, "dock", REPO, Wanted(["src/main.py", "docs"], "0" * 32, lease_ms=600_000)))
    chat.drive(transcript.export(NOBODY, "dock", peer.root))

    assert peer("check", "dock", "docs/index.md").startswith("locked " + "0" * 32 + " owner=Amy")
    assert peer("check", "dock", "lib").strip().endswith("available")
    shown = peer("task", "show", "dock", "T-1")
    assert "title: Größe: 日本" in shown
    assert "owner: bob" in shown
    assert [line.split()[0] for line in peer("task", "list", "dock").splitlines() if "paint" in line or line.startswith(("T-", "Fix"))] == [
        "Fix.it",
        "T-1",
        "T-2",
        "T-3",
    ]
    assert [one["owner"] for one in peer.python(BOARD, peer.root)["leases"]] == ["bob"]
    peer("state", "dock", "--strict")
    peer("task", "renew", "dock", "T-1", "--as", "bob")
    peer("task", "done", "dock", "T-1", "--as", "bob")
    peer("task", "claim", "dock", "T-2", "--as", "carl")
    peer("unlock", "dock", "0" * 32, "--as", "Amy")
    (report,) = chat.drive(transcript.import_folder(AMY, os.path.join(peer.root, "dock")))
    assert report["malformed"] == []
    assert report["board_conflicts"] == ["task T-1", "task T-2"], "what the channel has stays, and is named"
    after = chat.drive(transcript.export(NOBODY, "dock", peer.root))
    assert after["board_conflicts"] == ["tasks/T-1.json", "tasks/T-2.json"], "and so is what agent-chat has"
    assert "owner: carl" in peer("task", "show", "dock", "T-2")


STOPS = {  # where it was stopped: what is replaced, its phase then, what becomes of the lease
    "before its files were whole": ("store, '_set_transaction_phase'", "prepared", "open"),
    "before its audit": ("store.tasks, '_post_event'", "applied", "open"),
    "after its audit": ("store, '_set_transaction_phase', 1", "applied", "in_progress"),
    "at the very end": ("store, '_remove_transaction'", "published", "in_progress"),
}
STOP = """
def stopping(where, name, times=0):
    whole, count = getattr(where, name), [times]
    def stop(*a, **k):
        if count[0] == 0: raise KeyboardInterrupt
        count[0] -= 1
        return whole(*a, **k)
    setattr(where, name, stop)
store = lease_store.LeaseStore(root / 'dock')
stopping(WHERE)
from contextlib import redirect_stdout, suppress
with suppress(KeyboardInterrupt), redirect_stdout(sys.stderr): store.claim('T-1', owner='bob', lease_seconds=600)
"""


@pytest.mark.parametrize("where", STOPS)
def test_what_agent_chat_was_stopped_in_is_settled_as_its_own_recovery_does(chat, peer, where):
    replaced, phase, status = STOPS[where]
    peer("init", "dock")
    peer("task", "create", "dock", "T-1", "--from", "amy", "--title", "x")
    peer.python(TABLE + STOP.replace("WHERE", replaced), peer.root)
    with open(os.path.join(peer.root, "dock", "claims", ".lease-transaction.json"), encoding="utf-8") as file:
        assert json.load(file)["phase"] == phase
    (report,) = chat.drive(transcript.import_folder(AMY, peer.root))
    assert report["malformed"] == []
    (mine,) = chat.drive(board.board(NOBODY, "dock"))
    peer("task", "recover-pending", "dock", "--as", "amy")
    (theirs,) = peer.python(BOARD, peer.root)["tasks"]
    assert {key: mine[key] for key in theirs} == {**theirs, "lease_expires_at": moment(theirs["lease_expires_at"]), "updated_at": moment(theirs["updated_at"])}
    assert mine["status"] == status


def test_slugs_and_front_matter_are_its_own(peer, tmp_path):
    texts = ["Hello, World!", "日本", "", "---", "a" * 39 + "-b", "É x", "İstanbul", "UPPER_case.9", "-" * 50 + "x" * 50]
    assert peer.python("answer = [chat.slugify(one) for one in given]", texts) == [form.slug(one) for one in texts]
    files = [
        form.written(a_record(seq=at + 1, title=one or None, thread=one or None, **{"from": one}))
        for at, one in enumerate(["a\nto: x", "b: c", "---", "d\r\n---\r\n", "\u2028e\x85"])
    ]
    for name, text in files:
        (tmp_path / name).write_text(text)
    found = peer.python("from pathlib import Path\nanswer = [chat.parse_frontmatter(Path(one)) for one in given]", [str(tmp_path / name) for name, _ in files])
    for heads, (_, text) in zip(found, files, strict=True):
        record = form.record_of(text)
        assert heads["to_list"] == []
        assert set(heads) == {"seq", "from", "to", "channel", "ts", "status", "title", "ts_utc", "kind", "wakes", "thread", "exact", "to_list"}
        assert heads["title"] == " ".join(record["title"].replace("\u2028", " ").replace("\x85", " ").split("\r\n")).replace("\n", " ").strip()
