"""The real agent-chat 0.7.5 beside us: what it wrote comes in whole, what we export it reads as it was said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile

import pytest
from folders import AMY, BOB, NOBODY, Chat, a_record, real_server

from redischat.calls.call import Once, plain
from redischat.flows import channels as rooms
from redischat.flows import transcript
from redischat.folder import form

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


@pytest.fixture
def chat(folder_server):
    found = Chat(folder_server)
    found.run(plain("FLUSHALL"))
    yield found
    found.close()


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
        "present": {".cursors": 1, "tasks": 1},
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
