"""A channel's folder on the disk: nothing is overwritten, no link is followed, no name leads out of it."""

from __future__ import annotations

import os

import pytest
from folders import HELLO, TS, a_record, native

from redischat import names
from redischat.errors import BadFolder, BadName, BadText
from redischat.folder import disk, form


def test_a_file_is_never_overwritten_and_never_half_there(tmp_path):
    assert disk.add(tmp_path, "0001-a-b.md", "first")
    assert not disk.add(tmp_path, "0001-a-b.md", "second")
    os.symlink(tmp_path / "nowhere", tmp_path / "0002-a-b.md")
    assert not disk.add(tmp_path, "0002-a-b.md", "second")
    assert sorted(os.listdir(tmp_path)) == ["0001-a-b.md", "0002-a-b.md"]
    assert (tmp_path / "0001-a-b.md").read_text() == "first"


def test_where_there_are_no_links_a_file_is_renamed_into_place(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert disk.add(tmp_path, "0001-a-b.md", "first")
    assert not disk.add(tmp_path, "0001-a-b.md", "second")
    assert os.listdir(tmp_path) == ["0001-a-b.md"]
    assert (tmp_path / "0001-a-b.md").read_text() == "first"


@pytest.mark.parametrize("kind", ["link", "folder", "pipe", "huge", "latin", "other number", "long body"])
def test_what_is_no_message_file_is_malformed(tmp_path, kind):
    path = tmp_path / "0001-amy-hi.md"
    (tmp_path / "outside").write_text(HELLO)
    {
        "link": lambda: os.symlink(tmp_path / "outside", path),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "huge": lambda: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), disk.FILE_BYTES + 1),
        "latin": lambda: path.write_bytes(HELLO.replace("hello", "h\u00e9").encode("latin-1")),
        "other number": lambda: path.write_text(HELLO.replace("seq: 1", "seq: 2")),
        "long body": lambda: path.write_text(HELLO + "x" * names.MESSAGE_BYTES),
    }[kind]()
    with pytest.raises(BadText):
        disk.load(tmp_path, path.name)


@pytest.mark.parametrize("name", ["../dock", "a/b", "..", "", ".dock", "a.", "con\n", "tool"])
def test_no_channel_name_leads_out_of_the_directory(tmp_path, name):
    with pytest.raises(BadName):
        disk.opened(str(tmp_path / "out"), name)
    assert os.listdir(tmp_path) == []


def test_a_channels_folder_that_is_a_link_is_not_written_to(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "dock")
    with pytest.raises(BadFolder):
        disk.opened(str(tmp_path), "dock")
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_folder_of_channels_may_hold_a_numbered_note(tmp_path):
    native(tmp_path / "dock", 1, "x")
    with pytest.raises(BadFolder):
        disk.channels(str(tmp_path / "dock" / "nothing"))
    assert disk.channels(str(tmp_path)) == [str(tmp_path / "dock")]
    (tmp_path / "dock/_meta.json").write_text("{}")
    (tmp_path / "2026-plan.md").write_text("x")
    assert disk.channels(str(tmp_path)) == [str(tmp_path / "dock")]
    (tmp_path / "_meta.json").write_text("{}")
    assert disk.channels(str(tmp_path)) == [str(tmp_path)]


def test_notes_are_appended_line_by_line_also_behind_a_torn_one(tmp_path):
    assert disk.noted(tmp_path, form.AUDITS) is None
    disk.note(tmp_path, form.AUDITS, [a_record(seq=None, after=3, n=1), a_record(seq=None, after=3, n=2)])
    assert disk.noted(tmp_path, form.AUDITS) == (3, 2, TS)
    with open(tmp_path / form.AUDITS, "a") as file:
        file.write('{"after": 9, "n": 1, "ts"')
    assert disk.noted(tmp_path, form.AUDITS) == (3, 2, TS)
    disk.note(tmp_path, form.AUDITS, [a_record(seq=None, after=4, n=1)])
    assert disk.noted(tmp_path, form.AUDITS) == (4, 1, TS)
    assert len((tmp_path / form.AUDITS).read_text().splitlines()) == 4


def test_notes_do_not_go_through_a_link(tmp_path):
    (tmp_path / "outside").write_text("mine\n")
    os.symlink(tmp_path / "outside", tmp_path / form.AUDITS)
    with pytest.raises(BadFolder):
        disk.note(tmp_path, form.AUDITS, [a_record()])
    assert (tmp_path / "outside").read_text() == "mine\n"
