"""Transcripts through the clients: a channel goes out as a folder and comes back, four ways."""

from __future__ import annotations

import pytest

from redischat.errors import NoIdentity


async def test_a_channel_goes_out_as_a_folder_and_comes_back_elsewhere(sit, tmp_path):
    amy, zoe = sit("amy"), sit("zoe", workspace="elsewhere")
    await amy.open("dock", members=["bob"])
    await amy.post("dock", "one\ntwo", to="bob")
    report = await amy.export("dock", tmp_path)
    assert (report.written, report.kept, report.last_seq) == (1, 0, 1)
    await amy.post("dock", "three")
    assert (await amy.channel("dock").export(tmp_path)).kept == 1
    (read,) = await zoe.import_folder(tmp_path)
    assert (read.stored, read.gaps, read.malformed) == (2, [], [])
    ours, theirs = [(await chat.history("dock")).messages for chat in (amy, zoe)]
    assert [(one.seq, one.sender, one.ts, one.body, one.wakes) for one in ours] == [(one.seq, one.sender, one.ts, one.body, one.wakes) for one in theirs]
    assert [one.stored for one in await zoe.import_folder(tmp_path / "dock", channel="dock")] == [0]


async def test_a_folder_is_kept_current_for_as_long_as_asked(sit, tmp_path):
    amy = sit("amy")
    await amy.open("dock")
    await amy.post("dock", "one")
    report = await amy.export("dock", tmp_path, follow=0)
    assert (report.written, report.ended) == (1, "time")


async def test_nobody_cannot_import(sit, tmp_path):
    with pytest.raises(NoIdentity):
        await sit().import_folder(tmp_path)
