"""A message as a markdown file of agent-chat's: written, read back, and what becomes of hostile text and odd names."""

from __future__ import annotations

import pytest
from folders import HELLO, a_record, native
from hypothesis import example, given
from hypothesis import strategies as st

from redischat import names
from redischat.errors import BadText
from redischat.folder import disk, form
from redischat.keys import LAST_NUMBER


def test_a_message_is_a_markdown_file_with_front_matter():
    assert form.written(a_record()) == ("0001-amy-hello.md", HELLO)


def test_reading_it_gives_the_same_record():
    assert form.record_of(HELLO) == a_record()


def test_a_file_of_agent_chats_own_is_a_message_for_everyone(tmp_path):
    name = native(tmp_path, 7, "Hi\n\nall", reply_to=3)
    assert disk.load(tmp_path, name) == a_record(
        seq=7, body="Hi\n\nall", title="hi", status="discussion", reply_to=3, ts="2026-01-02T02:04:05.000Z", wakes="all"
    )


@pytest.mark.parametrize(
    ("to", "names", "wakes"),
    [
        ("all", None, "all"),
        ("", None, "all"),
        ("*", None, "all"),
        ("[]", None, "all"),
        ("bob", ["bob"], ["bob"]),
        ("[bob, Carl ,]", ["bob", "Carl"], ["bob", "Carl"]),
    ],
)
def test_agent_chats_ways_to_address_are_understood(tmp_path, to, names, wakes):
    found = disk.load(tmp_path, native(tmp_path, 1, "x", to=to))
    assert (found["to"], found["wakes"]) == (names, wakes)


def test_agent_chats_audits_are_records_that_wake_nobody(tmp_path):
    found = disk.load(tmp_path, native(tmp_path, 1, '{"event": "task.created", "task_id": "T-1"}', status="task.created"))
    assert (found["kind"], found["wakes"], found["status"]) == ("audit", "none", "task.created")
    found = disk.load(tmp_path, native(tmp_path, 2, '{"event": "status", "agent": "amy"}', status="event.status"))
    assert found["kind"] == "audit"


@pytest.mark.parametrize("body", ["what about task.created?", '{"event": "task.updated"}', "[1]", ""])
def test_talk_about_tasks_is_talk(tmp_path, body):
    assert disk.load(tmp_path, native(tmp_path, 1, body, status="task.created"))["kind"] == "message"


def test_a_notice_says_so_in_its_status():
    name, text = form.written(a_record(kind="notice", status="closed", body="closed: done", wakes="none"))
    assert name == "0001-amy-closed-done.md"
    assert "\nstatus: notice.closed\n" in text
    assert form.record_of(text) == a_record(kind="notice", status="closed", body="closed: done", wakes="none")


def test_a_header_cannot_be_forged():
    forged = "bob\nto: nobody\r\n---\nwakes: none"
    name, text = form.written(a_record(title=forged, thread=forged, status=forged, **{"from": forged}))
    assert name == "0001-bob-to-nobody-wakes-none-bob-to-nobody-wakes-none.md"
    assert text.count("\n---\n") == 1
    assert text.count("\nto:") == 1
    assert form.record_of(text)["from"] == forged


def test_the_body_begins_behind_the_second_line_of_dashes_wherever_agent_chat_looks_for_it():
    body = '{"event": "status"}'
    text = form.written(a_record(body=body, thread=" odd", status="event.status"))[1]
    assert text.split("---", 2)[2].strip() == body


def test_no_escape_of_a_title_reaches_a_terminal_through_the_front_matter():
    text = form.written(a_record(title="red \x1b[31m\x9b31m ---", body="x"))[1]
    assert "\x1b" not in text
    assert "\x9b" not in text
    assert text.count("---") == 3  # as agent-chat would write that title


def test_a_body_that_looks_like_front_matter_survives():
    body = HELLO + "---\nseq: 9\n---\n" + HELLO
    assert form.record_of(form.written(a_record(body=body))[1])["body"] == body


def test_only_trailing_blanks_differ_from_what_agent_chat_shows():
    text = form.written(a_record(body="  text \t\r\n\u2003\n\n"))[1]
    assert text.endswith("---\n  text\n")
    assert form.record_of(text)["body"] == "  text \t\r\n\u2003\n\n"


def test_an_editor_that_trims_or_adds_blanks_at_the_end_changes_no_body():
    text = form.written(a_record(body="text \n\n"))[1]
    assert form.record_of(text.rstrip())["body"] == form.record_of(text + "\n\n")["body"] == "text \n\n"


def test_a_file_from_windows_is_read_as_agent_chat_reads_it():
    assert form.record_of(HELLO.replace("hello\n", "one\ntwo\n").replace("\n", "\r\n"))["body"] == "one\ntwo"
    assert form.record_of(HELLO.replace("---\nhello", "---\none\r\ntwo"))["body"] == "one\r\ntwo"


LINES = st.sampled_from(
    ["---", "--- ", "\n", "\r", "\r\n", "seq: 9", "from: mallory", "exact: {}", "\u2028", "\x85", "\x00", "\\", '"', " ", "\ufeff", "# Decision", "é", "🙂"]
)
NASTY = st.one_of(st.text(), st.lists(st.one_of(LINES, st.text(max_size=5))).map("".join))
GIVEN = st.one_of(st.none(), NASTY.filter(bool))
NAME = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9_-])?", fullmatch=True)
AUDIENCES = st.one_of(
    st.sampled_from([(None, "all"), (None, "none"), ("all", "all"), ("none", "none")]), st.lists(NAME, min_size=1, max_size=3).map(lambda to: (to, to))
)


@given(NASTY, GIVEN, GIVEN, GIVEN, NAME, AUDIENCES, st.sampled_from(form.KINDS), st.integers(1, LAST_NUMBER), st.none() | st.integers(1, 99))
@example("---\n---\n", "---", "notice.", " ", "all", (["none", "all"], ["none", "all"]), "notice", 10_000, None)
@example("", None, None, None, "a", (None, "none"), "audit", 1, None)
def test_nothing_is_lost_on_the_way_through_a_file(body, title, status, thread, sender, audience, kind, seq, reply_to):
    record = a_record(body=body, title=title, status=status, thread=thread, to=audience[0], wakes=audience[1], kind=kind, seq=seq, reply_to=reply_to)
    record["from"] = sender
    name, text = form.written(record)
    assert form.record_of(text.encode().decode()) == record
    assert form.number(name) == seq
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert len(name) < 128


@given(
    st.one_of(
        NASTY, NASTY.map(lambda text: "---\n" + text), NASTY.map(lambda text: HELLO.replace("hello", text)), NASTY.map(lambda text: HELLO.replace("null", text))
    )
)
def test_no_text_breaks_the_reader(text):
    try:
        record = form.record_of(text)
    except BadText:
        return
    assert form.record_of(form.written(record)[1]) == record


@pytest.mark.parametrize(
    "exact",
    [
        "[]",
        "{",
        '{"seq": 2}',
        '{"body": "x"}',
        '{"from": null}',
        '{"to": "bob"}',
        '{"to": [null]}',
        '{"to": []}',
        '{"ending": "x"}',
        '{"title": 1}',
        '{"title": "\\ud800"}',
    ],
)
def test_an_exact_that_redischat_did_not_write_makes_a_file_malformed(exact):
    with pytest.raises(BadText):
        form.record_of(HELLO.replace('{"title": null, "status": null}', exact))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("---\nseq", "seq"), ("---\nhello", "hello"), ("seq: 1", "seq: one"), ("seq: 1", "seq: 0"), ("seq: 1", "seq: 99999999999999999999"), ("seq: 1\n", ""),
        ("ts_utc: 2026-02-03T04:05:06.789Z", "ts_utc: today"), ("ts_utc: 2026-02-03T04:05:06.789Z", "ts_utc: 2026-02-03T04:05:06"),
        ("ts_utc: 2026-02-03T04:05:06.789Z", "ts_utc: 1926-02-03T04:05:06Z"), ("kind: message", "kind: order"),
    ],
)  # fmt: skip
def test_a_malformed_file_is_refused(old, new):
    assert old in HELLO
    with pytest.raises(BadText):
        form.record_of(HELLO.replace(old, new))


def test_numbers_of_files_follow_agent_chats_rule():
    assert [form.number(name) for name in ("0001-a-b.md", "12345-a.md", "-1-a.md", "0001.md", "1-a.txt", "1\u00b2-a.md", "x-1.md", ".1-a.md")] == [
        1, 12345, None, None, None, None, None, None,
    ]  # fmt: skip


@given(st.lists(st.one_of(NAME, NASTY, st.sampled_from(["all", "Tool", "Bob X", "bob x", "../evil", "a,b", "", "Zoë", "张三", "李四", "x" * 80, "..."]))))
def test_odd_names_become_legal_ones_that_nobody_else_has(found):
    made = form.renamed(found, "agent")
    legal = {names.same(one) for one in found} - {names.same(one) for one in made}
    for new in made.values():
        names.agent(new)
    assert len({names.same(new) for new in made.values()} | legal) == len(made) + len(legal)
    assert set(made) == {one for one in found if one in made}
    assert form.renamed(found, "agent") == made


def test_an_odd_name_keeps_what_it_can():
    assert form.renamed(["Bob X", "bob-x", "Zoë", "../evil", "tool", "bob"], "agent") == {
        "Bob X": "Bob-X-" + form.renamed(["bob-x", "Bob X"], "agent")["Bob X"][-4:],
        "Zoë": "Zoe",
        "../evil": "evil",
        "tool": form.renamed(["tool"], "agent")["tool"],
    }
