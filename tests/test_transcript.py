"""export: a channel goes into a folder, whole, and stays current there; nothing in it is changed, and two histories are never mixed."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time

import pytest
from folders import AMY, BOB, KEYS, NOBODY, Chat, a_record, by_hand, export, import_folder, native, stored, talk, talked, tree, unread
from waiting import wait_until

from redischat.calls import agents, messages
from redischat.calls.call import Listen, Once, plain
from redischat.errors import NoChannel, Refused, Rewound
from redischat.flows import channels as rooms
from redischat.flows import transcript
from redischat.folder import disk, form

LONG = 60.0  # seconds; ends much earlier


def test_a_channel_is_exported_as_files_that_say_what_it_says(chat, tmp_path):
    talked(chat)
    report = export(chat, tmp_path)
    place = tmp_path / "dock"
    assert report == {
        "channel": "dock", "directory": str(place), "written": 6, "kept": 0, "last_seq": 6, "conflicts": [], "audits": 0, "events": 0, "board": 0,
        "board_conflicts": [], "ended": None,
    }  # fmt: skip
    assert talk(place) == [
        "0001-amy-greeting.md", "0002-amy-seq-9.md", "0003-bob-for-all.md", "0004-amy-amy-made-this-channel-broadcast-an-unadd.md", "0005-amy-passive.md",
        "0006-amy-" + "x" * 40 + ".md", "_meta.json",
    ]  # fmt: skip
    assert json.loads((place / "_meta.json").read_text())["members"] == ["Amy", "bob"]
    assert [disk.load(place, name) for name in talk(place)[:-1]] == [{**one, "mine": False, "for_me": False} for one in chat.all()]


def test_exporting_again_adds_what_is_new_and_changes_no_file(chat, tmp_path):
    talked(chat)
    export(chat, tmp_path)
    before = tree(tmp_path)
    del before["dock/state.md"]
    chat.say("more")
    report = export(chat, tmp_path, "DOCK")
    assert (report["written"], report["kept"], report["last_seq"], report["conflicts"]) == (1, 6, 7, [])
    after = tree(tmp_path)
    assert set(after) - set(before) == {"dock/0007-amy-more.md", "dock/state.md"}
    assert before.items() <= after.items()


def test_an_edited_file_is_kept_and_named(chat, tmp_path):
    talked(chat)
    export(chat, tmp_path)
    edits = {"0001-amy-greeting.md": b"not a message\n", "0003-bob-for-all.md": (tmp_path / "dock/0003-bob-for-all.md").read_bytes() + b"and more\n"}
    for name, text in edits.items():
        (tmp_path / "dock" / name).write_bytes(text)
    os.unlink(tmp_path / "dock/0005-amy-passive.md")
    report = export(chat, tmp_path)
    assert (report["written"], report["kept"], report["conflicts"]) == (1, 5, [1, 3])
    assert edits.items() <= tree(tmp_path / "dock").items()
    assert "0005-amy-passive.md" in os.listdir(tmp_path / "dock")


def test_exporting_needs_no_membership_and_moves_no_mark(chat, tmp_path):
    talked(chat)
    marks = chat.pipe([agents.marks(AMY), agents.marks(BOB)])
    export(chat, tmp_path)
    assert chat.pipe([agents.marks(AMY), agents.marks(BOB)]) == marks
    assert unread(chat, BOB) == [1, 2, 4, 5, 6]


def test_a_channel_that_is_not_there_is_not_exported(chat, tmp_path):
    with pytest.raises(NoChannel):
        export(chat, tmp_path, "deck")
    assert os.listdir(tmp_path) == []


def test_a_channel_deleted_and_opened_anew_is_not_mixed_into_the_old_folder(chat, tmp_path):
    talked(chat)
    export(chat, tmp_path)
    before = tree(tmp_path)
    chat.drive(rooms.delete(AMY, "dock", Once(), yes=True))
    chat.open()
    for _ in range(3):
        chat.say("again")
        with pytest.raises(Rewound) as refusal:
            export(chat, tmp_path)
        assert (refusal.value.code, refusal.value.exit, refusal.value.facts["seq"]) == ("REWOUND", 1, 6)
    for _ in range(4):
        chat.say("again")
    with pytest.raises(Rewound) as refusal:
        export(chat, tmp_path)
    assert refusal.value.facts["found"] is not None
    assert tree(tmp_path) == before


def test_trimmed_history_stays_in_the_folder(chat, tmp_path):
    talked(chat)
    export(chat, tmp_path)
    chat.drive(rooms.retain(AMY, "dock", 0, yes=True))
    chat.say("more")
    report = export(chat, tmp_path)
    assert (report["written"], report["kept"], report["last_seq"]) == (1, 0, 7)
    export(chat, tmp_path / "new")
    assert talk(tmp_path / "new/dock") == ["0007-amy-more.md", "_meta.json"]


def test_many_messages_are_read_in_pages(chat, tmp_path):
    chat.open(max_messages=0)
    rows = [messages.row(a_record(seq=seq, body=f"message {seq}")) for seq in range(1, 1_500)]
    for at in range(0, len(rows), 500):
        chat.run(messages.import_batch(AMY, "dock", rows[at : at + 500]))
    sizes: list[int] = []
    report = by_hand(chat, transcript.export(NOBODY, "dock", str(tmp_path)), lambda answer: sizes.extend(len(one) for one in answer if isinstance(one, list)))
    assert report["written"] == 1_499
    assert 1 < max(sizes) <= 1_000
    again = export(chat, tmp_path)
    assert (again["written"], again["kept"], again["conflicts"]) == (0, 1_499, [])
    assert len(talk(tmp_path / "dock")) == 1_500
    shutil.rmtree(tmp_path / "dock" / "0002-amy-message-2.md", ignore_errors=True)
    report = import_folder(chat, tmp_path / "dock", channel="copy")
    assert report["stored"] == 1_499
    assert stored(chat.all("copy")) == stored(chat.all())


def beside(chat, part, id_, kind, body):
    chat.run(
        plain("XADD", KEYS.channel("dock", part), id_, "f", "Amy", "k", kind, "w", "-", "t", 1_700_000_000_123_456, "x", "0", "b", body, "s", "task.created")
    )


def test_audits_and_events_go_into_files_of_their_own(chat, tmp_path):
    chat.open()
    beside(chat, "audits", "0-1", "a", "before all")
    chat.say("hello")
    beside(chat, "audits", "1-1", "a", '{"event": "task.created"}')
    beside(chat, "events", "0-1", "e", "{}")
    report = export(chat, tmp_path)
    assert (report["written"], report["audits"], report["events"]) == (1, 2, 1)
    lines = [json.loads(line) for line in (tmp_path / "dock" / form.AUDITS).read_text().splitlines()]
    assert [(one["kind"], one["seq"], one["after"], one["n"], one["ts"]) for one in lines] == [
        ("audit", None, 0, 1, "2023-11-14T22:13:20.123Z"), ("audit", None, 1, 1, "2023-11-14T22:13:20.123Z"),
    ]  # fmt: skip
    beside(chat, "audits", "1-2", "a", "more")
    report = export(chat, tmp_path)
    assert (report["audits"], report["events"]) == (1, 0)
    assert len((tmp_path / "dock" / form.AUDITS).read_text().splitlines()) == 3


class Follower:
    """An export that follows, in a thread of its own. ``waits``: it has its ear on the channel and has looked once more."""

    def __init__(self, url, place, seconds=LONG):
        self.report = self.error = None
        self.waits = threading.Event()
        self.chat = Chat(url)
        self.listen = self.chat.wire.listen
        self.chat.wire.listen = self._listen  # type: ignore[method-assign]
        self.thread = threading.Thread(target=self._run, args=(place, time.monotonic() + seconds))
        self.thread.start()

    def _listen(self, asked):
        heard = self.listen(asked)
        if heard == "again":
            self.chat.wire.listen = self._listen_on  # type: ignore[method-assign]
        return heard

    def _listen_on(self, asked):
        self.waits.set()
        return self.listen(asked)

    def _run(self, place, until):
        try:
            self.report = export(self.chat, place, follow=until)
        except Refused as error:
            self.error = error
        finally:
            self.chat.close()

    def end(self):
        self.thread.join(LONG)
        assert not self.thread.is_alive()
        return self.report


def test_following_writes_messages_as_they_come_until_the_channel_is_deleted(chat, folder_server, tmp_path):
    chat.open()
    chat.say("one")
    follower = Follower(folder_server, tmp_path)
    assert follower.waits.wait(LONG)
    for body in ("two", "three"):
        chat.say(body)
        wait_until(lambda: any(name.endswith(f"-{body}.md") for name in os.listdir(tmp_path / "dock")), f"{body} is in the folder")  # noqa: B023
    chat.drive(rooms.delete(AMY, "dock", Once(), yes=True))
    report = follower.end()
    assert (report["ended"], report["written"], report["last_seq"]) == ("deleted", 3, 3)


def test_following_writes_what_is_imported_meanwhile(chat, folder_server, tmp_path):
    chat.open()
    native(tmp_path / "in/dock", 7, "seven")
    follower = Follower(folder_server, tmp_path, seconds=LONG)
    assert follower.waits.wait(LONG)
    import_folder(chat, tmp_path / "in/dock")
    wait_until(lambda: os.path.exists(tmp_path / "dock/0007-amy-hi.md"), "the imported message is in the folder")
    chat.drive(rooms.delete(AMY, "dock", Once(), yes=True))
    assert follower.end()["written"] == 1


def test_following_ends_in_time(chat, folder_server, tmp_path):
    chat.open()
    assert Follower(folder_server, tmp_path, seconds=0.05).end()["ended"] == "time"


def test_following_is_ended_by_an_interrupt_with_its_report(chat, tmp_path):
    chat.open()
    flow = transcript.export(NOBODY, "dock", str(tmp_path), follow=LONG)
    asked = next(flow)
    while not isinstance(asked, Listen):
        asked = flow.send(chat.pipe(asked) if isinstance(asked, list) else chat.run(asked))
    with pytest.raises(StopIteration) as end:
        flow.throw(KeyboardInterrupt())
    assert end.value.value["ended"] == "interrupted"


@pytest.mark.parametrize("before", [["one"], ["one", "two"]])
def test_following_notices_that_the_broker_went_back(chat, folder_server, tmp_path, before):
    chat.open()
    for body in before:
        chat.say(body)
    follower = Follower(folder_server, tmp_path)
    assert follower.waits.wait(LONG)
    chat.run(plain("DEL", *chat.run(plain("KEYS", "*"))))
    chat.open()
    chat.say("another one")
    follower.end()
    assert isinstance(follower.error, Rewound)
    assert [name[9:] for name in talk(tmp_path / "dock")] == [*(f"{body}.md" for body in before), "n"]


def test_a_strangers_entries_do_not_end_an_export(chat, tmp_path):
    chat.open(max_messages=0)
    for number in range(1, 451):
        if number == 100:
            chat.run(plain("XADD", KEYS.channel("dock", "messages"), "0-*", "x", "y"))
        chat.say(f"m{number}")
    report = chat.drive(transcript.export(NOBODY, "dock", str(tmp_path)))
    assert (report["written"], report["last_seq"]) == (450, 451)
    assert chat.drive(transcript.export(NOBODY, "dock", str(tmp_path)))["written"] == 0
