"""import: a folder of agent-chat's becomes a channel, whole; two histories are never mixed; hostile folders do no harm."""

from __future__ import annotations

import os
import shutil

import pytest
from folders import AMY, BOB, KEYS, NOBODY, a_record, by_hand, export, import_folder, native, stored, talked, tree, unread

from redischat.calls import agents, channels, messages
from redischat.calls.call import Caller, Once, plain
from redischat.errors import BadFolder, ChannelClosed, NoIdentity, NotYou, Refused, Rewound
from redischat.flows import agents as binding
from redischat.flows import channels as rooms
from redischat.flows import messages as talk
from redischat.flows import transcript
from redischat.flows.importing import PAGE


def test_what_was_exported_comes_back_whole(chat, tmp_path):
    talked(chat)
    export(chat, tmp_path)
    before = chat.all()
    chat.run(plain("FLUSHALL"))
    report = import_folder(chat, tmp_path / "dock")
    assert report == {
        "channel": "dock", "stored": 6, "skipped": 0, "gaps": [], "doubles": [], "conflicts": [], "renamed": {}, "malformed": [], "present": {},
        "board": {}, "board_skipped": 0, "board_conflicts": [],
    }  # fmt: skip
    assert [{**one, "for_me": None} for one in chat.all()] == [{**one, "for_me": None} for one in before], "but that it wakes nobody any more"
    record = chat.drive(rooms.roster(AMY, "dock"))
    assert (record["topic"], record["broadcast"], record["messages"], record["max_messages"], record["members"]) == ("the pier", True, 5, 0, ["Amy"])
    export(chat, tmp_path / "again")
    files, changed = tree(tmp_path / "dock"), {"_meta.json": b"", "state.md": b"", ".cursors/amy.txt": b"6"}
    assert {**tree(tmp_path / "again/dock"), **changed} == {**files, **changed}


def test_imported_history_wakes_nobody_and_is_no_news_to_who_brought_it(chat, tmp_path):
    talked(chat)
    export(chat, tmp_path)
    chat.run(plain("FLUSHALL"))
    import_folder(chat, tmp_path / "dock")
    assert unread(chat, AMY) == []
    mark = chat.run(agents.marks(AMY))["dock"]
    assert (mark["heard"], mark["read"]) == (6, 6)
    assert chat.drive(talk.owed(AMY)) == []
    chat.drive(rooms.enter(BOB, "dock", rooms.Wanted(since=1), Once()))
    assert unread(chat, BOB) == [1, 2, 4, 5, 6]
    assert chat.say("on")["seq"] == 7


def test_importing_again_stores_only_what_is_new(chat, tmp_path):
    native(tmp_path / "dock", 1, "one")
    assert import_folder(chat, tmp_path / "dock")["stored"] == 1
    before = chat.all()
    report = import_folder(chat, tmp_path / "dock")
    assert (report["stored"], report["skipped"], report["conflicts"]) == (0, 1, [])
    assert chat.all() == before
    native(tmp_path / "dock", 2, "two")
    report = import_folder(chat, tmp_path / "dock")
    assert (report["stored"], report["skipped"]) == (1, 1)
    assert [one["body"] for one in chat.all()] == ["one", "two"]


def test_importing_what_is_there_needs_no_membership(chat, tmp_path):
    native(tmp_path / "dock", 1, "one")
    import_folder(chat, tmp_path / "dock")
    assert import_folder(chat, tmp_path / "dock", BOB)["skipped"] == 1
    assert chat.drive(rooms.roster(BOB, "dock"))["members"] == ["Amy"]


def test_another_text_under_the_same_number_is_a_conflict(chat, tmp_path):
    for seq in (1, 2, 3):
        name = native(tmp_path / "dock", seq, f"message {seq}")
        if seq == 2:
            path = tmp_path / "dock" / name
    import_folder(chat, tmp_path / "dock")
    path.write_text(path.read_text() + "edited\n")
    native(tmp_path / "dock", 4, "message 4")
    report = import_folder(chat, tmp_path / "dock")
    assert (report["stored"], report["skipped"], report["conflicts"]) == (1, 2, [2])
    assert [one["body"] for one in chat.all()] == [f"message {seq}" for seq in (1, 2, 3, 4)]


def test_a_channel_with_other_content_is_refused_without_harm(chat, tmp_path):
    for seq in (1, 2, 3):
        native(tmp_path / "dock", seq, f"message {seq}")
    chat.open("dock", BOB)
    chat.say("something else", BOB)
    before = chat.all()
    with pytest.raises(Rewound):
        import_folder(chat, tmp_path / "dock")
    assert chat.all() == before
    assert chat.drive(rooms.roster(BOB, "dock"))["members"] == ["bob"]
    assert import_folder(chat, tmp_path / "dock", channel="old-dock")["stored"] == 3


def test_a_channel_that_went_on_is_not_mixed_with_a_folder_that_went_on(chat, tmp_path):
    for seq in (1, 3):
        native(tmp_path / "dock", seq, "x")
    import_folder(chat, tmp_path / "dock")
    chat.say("here")
    native(tmp_path / "dock", 5, "there")
    before = chat.all()
    with pytest.raises(BadFolder):
        import_folder(chat, tmp_path / "dock")
    assert chat.all() == before


def test_somebody_who_writes_meanwhile_ends_the_import(chat, tmp_path):
    for seq in range(1, PAGE + 3):
        native(tmp_path / "dock", seq, "x")

    def meddle(answers):
        if any("stored" in one for one in answers if isinstance(one, dict)):
            chat.say("me too")

    with pytest.raises(BadFolder) as refusal:
        by_hand(chat, transcript.import_folder(AMY, str(tmp_path / "dock")), meddle)
    assert refusal.value.facts["stored"] == PAGE
    assert len(chat.all()) == PAGE + 1


def test_a_batch_whose_answer_was_lost_is_stored_once(chat):
    chat.open()
    rows = [messages.row(a_record(seq=seq, body=str(seq))) for seq in (1, 2, 5)]
    call = messages.import_batch(AMY, "dock", rows, after=0)
    assert chat.run(call) == chat.run(call) == {"channel": "dock", "last_seq": 5, "stored": 3}
    assert [one["seq"] for one in chat.all()] == [1, 2, 5]
    assert chat.drive(rooms.roster(AMY, "dock"))["messages"] == 3


def test_gaps_and_doubles_are_holes(chat, tmp_path):
    for seq in (2, 3, 6):
        native(tmp_path / "dock", seq, f"message {seq}")
    shutil.copy(tmp_path / "dock/0003-amy-hi.md", tmp_path / "dock/0003-bob-hi.md")
    report = import_folder(chat, tmp_path / "dock")
    assert report["gaps"] == [[1, 1], [4, 5]]
    assert report["doubles"] == [{"seq": 3, "files": ["0003-amy-hi.md", "0003-bob-hi.md"]}]
    assert [one["seq"] for one in chat.all()] == [2, 6]
    assert chat.say("on")["seq"] == 7


def test_malformed_files_are_named_and_skipped(chat, tmp_path):
    place = tmp_path / "dock"
    native(place, 1, "one")
    native(place, 2, "two", seq=None)
    (place / "0003-amy-hi.md").write_bytes(b"---\nseq: 3\n---\n\xff\n")
    (place / "0004-amy-hi.md").write_text("hello\n")
    os.symlink(place / "0001-amy-hi.md", place / "0005-amy-hi.md")
    (place / "0000-amy-hi.md").write_text((place / "0001-amy-hi.md").read_text().replace("seq: 1", "seq: 0"))
    (place / f"{'9' * 200}-amy-hi.md").write_text("---\n---\n")
    (place / "_meta.json").write_text("[]")
    native(place, 6, "six")
    report = import_folder(chat, place)
    assert sorted(one["file"][:4] for one in report["malformed"]) == ["0000", "0002", "0003", "0004", "0005", "9999", "_met"]
    assert all(one["why"] for one in report["malformed"])
    assert (report["stored"], report["gaps"]) == (2, [])
    assert [one["body"] for one in chat.all()] == ["one", "six"]


def test_names_outside_the_rule_are_mapped_and_reported(chat, tmp_path):
    place = tmp_path / "my dock"
    native(place, 1, "one", to="Bob X, carl", **{"from": "Zoë"})
    native(place, 2, "two", **{"from": "Bob X"})
    native(place, 3, "x\x85y", title="t" * 600, status="a\u2028b")
    report = import_folder(chat, place)
    assert report["renamed"] == {"#my dock": "#my-dock", "Zoë": "Zoe", "Bob X": "Bob-X"}
    found = chat.all("my-dock")
    assert [(one["from"], one["to"], one["wakes"]) for one in found] == [
        ("Zoe", ["Bob-X", "carl"], ["Bob-X", "carl"]), ("Bob-X", None, "all"), ("amy", None, "all"),
    ]  # fmt: skip
    assert (len(found[2]["title"]), found[2]["status"]) == (500, "a b")


def test_agent_chats_audits_keep_their_number_and_are_never_unread(chat, tmp_path):
    place = tmp_path / "dock"
    native(place, 1, "one")
    native(place, 2, '{"event": "task.created"}', status="task.created")
    native(place, 3, '{"event": "path.locked"}', status="path.locked")
    chat.open("dock", BOB)
    import_folder(chat, place)
    assert [(one["seq"], one["kind"]) for one in chat.all()] == [(1, "message"), (2, "audit"), (3, "audit")]
    (waiting,) = chat.drive(talk.pending(BOB))
    assert waiting["pending"] == 1
    assert unread(chat, BOB) == [1]
    native(place, 4, '{"event": "lease.claimed"}', status="lease.claimed")
    import_folder(chat, place)
    look = chat.run(messages.look(BOB, {"dock": 0}, which="any"))
    assert [row["word"] for row in look["rows"]] == ["quiet"]
    assert unread(chat, BOB) == []
    assert chat.drive(talk.ack(BOB, "dock", 4))["never_shown"] == 0
    assert chat.drive(rooms.roster(AMY, "dock"))["messages"] == 1
    export(chat, tmp_path / "out")
    assert import_folder(chat, tmp_path / "out/dock", channel="copy")["stored"] == 4
    assert stored(chat.all("copy")) == stored(chat.all())


def test_a_root_with_several_channels_is_imported_one_by_one(chat, tmp_path):
    for name in ("dock", "pier", ".hidden"):
        native(tmp_path / name, 1, "one")
    (tmp_path / "empty").mkdir()
    for name in ("dock", "pier", ".hidden", "empty"):
        (tmp_path / name / "_meta.json").write_text('{"channel": "x", "members": [], "topic": "later", "created": ""}')
    (tmp_path / "no-channel").mkdir()
    os.symlink(tmp_path / "dock", tmp_path / "linked")
    chat.open("pier", BOB)
    chat.say("taken", BOB, "pier")
    reports = chat.drive(transcript.import_folder(AMY, str(tmp_path)))
    assert [(one["channel"], one.get("stored"), one.get("error")) for one in reports] == [("dock", 1, None), ("empty", 0, None), ("pier", None, "REWOUND")]
    assert [(one["channel"], one["topic"]) for one in chat.drive(rooms.listing(AMY))] == [("dock", "later"), ("empty", "later"), ("pier", None)]


def test_what_is_not_imported_yet_is_named(chat, tmp_path):
    place = tmp_path / "dock"
    native(place, 1, "one")
    for name in ("_audit.jsonl", "_events.jsonl", "task-7.md", "task-8.md", "notes.md", "state.md"):
        (place / name).write_text("x")
    assert import_folder(chat, place)["present"] == {"_audit.jsonl": 1, "_events.jsonl": 1, "markers": 2}


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_what_is_no_folder_of_channels_is_refused(chat, tmp_path, name):
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadFolder):
        import_folder(chat, tmp_path / name)
    with pytest.raises(BadFolder):
        import_folder(chat, tmp_path)


def test_importing_needs_a_name(chat, tmp_path):
    native(tmp_path / "dock", 1, "one")
    with pytest.raises(NoIdentity):
        import_folder(chat, tmp_path / "dock", NOBODY)


def test_importing_under_somebody_elses_name_is_refused(chat, tmp_path):
    native(tmp_path / "dock", 1, "one")
    chat.drive(binding.identify(KEYS, "amy", binding.Claim("s", "h", "/p"), Once()))
    with pytest.raises(NotYou):
        import_folder(chat, tmp_path / "dock", Caller(KEYS, "amy", "wrong"))
    assert chat.run(channels.heads(KEYS)) == {}


def test_a_closed_channel_takes_nothing_more(chat, tmp_path):
    native(tmp_path / "dock", 1, "one")
    import_folder(chat, tmp_path / "dock")
    chat.run(channels.close(AMY, "dock", "done", once=Once()))
    assert import_folder(chat, tmp_path / "dock")["skipped"] == 1
    native(tmp_path / "dock", 9, "nine")
    with pytest.raises(ChannelClosed):
        import_folder(chat, tmp_path / "dock")
    with pytest.raises(ChannelClosed):
        chat.run(messages.import_batch(AMY, "dock", [messages.row(a_record(seq=9))]))


def test_an_empty_channel_with_a_cap_is_not_filled_up(chat, tmp_path):
    for seq in (1, 2, 3):
        native(tmp_path / "dock", seq, "x")
    chat.open("dock", BOB, max_messages=3)
    with pytest.raises(BadFolder):
        import_folder(chat, tmp_path / "dock", BOB)
    assert chat.all() == []


def test_a_stranger_in_the_stream_is_said(chat, tmp_path):
    native(tmp_path / "dock", 1, "one")
    chat.open()
    chat.run(plain("XADD", KEYS.channel("dock", "messages"), "5-0", "x", "y"))
    with pytest.raises(Refused) as refusal:
        import_folder(chat, tmp_path / "dock")
    assert refusal.value.code == "CHANNEL_DAMAGED"
