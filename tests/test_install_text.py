"""A settings text with our entries put in and taken out again: what others wrote keeps every byte."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redischat.install import entries, jsontext

GROUPS: dict[str, dict[str, Any]] = {
    "SessionStart": {"hooks": [{"type": "command", "command": "/usr/bin/python3", "args": ["-I", "-S", "/opt/rc/hooks/tick.py", "claude"], "timeout": 10}]},
    "PreToolUse": {"matcher": "Edit", "hooks": [{"type": "command", "command": "/usr/bin/python3 -I -S '/opt/r c/hooks/tick.py' claude", "timeout": 10}]},
    "Stop": {"hooks": [{"type": "command", "command": "/usr/bin/python3", "args": ["-I", "-S", "/opt/rc/hooks/tick.py", "claude"]}]},
}
GUARD: dict[str, Any] = {"matcher": "Bash", "hooks": [{"type": "command", "command": "guard.sh --strict"}]}


def put(text, groups=GROUPS, kept=()):
    return entries.merged(text, "claude", groups, kept)[0]


def out(text, kept=()):
    return entries.merged(text, "claude", {}, kept)[0]


def test_entries_go_in_at_the_end_in_the_manner_of_the_text():
    text = '{\n    "model": "opus",\n    "hooks": {\n        "Stop": [\n            {"hooks": []}\n        ]\n    }\n}'
    done = put(text, {"Stop": {"hooks": [{"command": "/p", "args": ["/h/hooks/tick.py", "claude"]}]}})
    assert done == (
        '{\n    "model": "opus",\n    "hooks": {\n        "Stop": [\n            {"hooks": []},\n            {\n                "hooks": [\n'
        '                    {\n                        "command": "/p",\n                        "args": [\n                            "/h/hooks/tick.py",\n'
        '                            "claude"\n                        ]\n                    }\n                ]\n            }\n        ]\n    }\n}'
    )
    assert out(done) == text


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"b":[]}',
        '{"a": 1}',
        '{\n\t"a": 1\n}\n',
        '{\r\n   "a": 1,\r\n   "hooks": {\r\n      "Stop": [\r\n         1\r\n      ]\r\n   }\r\n}\r\n',
        '\n{ "hooks" : { "Stop" : [ {"hooks": []} ] , "Later" : 3 } , "z": "\\ud800 } ]" }',
        '{\n"a": {\n"b": 1e400\n}\n}',
    ],
)
def test_what_was_put_in_leaves_no_trace(text):
    done = put(text)
    assert json.loads(done)["hooks"]["SessionStart"][-1] == GROUPS["SessionStart"]
    assert put(done) == done
    assert out(done) == text


def test_a_text_on_one_line_stays_on_one_line():
    assert "\n" not in put('{"a":1}')
    assert ": " not in put('{"a":1}').replace("/usr/bin/python3 ", "")


def test_line_ends_of_windows_stay_those_of_windows():
    done = put('{\r\n  "a": 1\r\n}\r\n')
    assert done.count("\n") == done.count("\r\n") > 10


def test_an_entry_that_is_right_stays_where_it_is():
    text = json.dumps({"hooks": {"Stop": [GROUPS["Stop"], GUARD], "SessionStart": [GROUPS["SessionStart"]]}, "b": 2})
    assert put(text, {"Stop": GROUPS["Stop"], "SessionStart": GROUPS["SessionStart"]}) == text


def test_an_entry_of_another_build_is_replaced_in_place():
    old = {"hooks": [{"type": "command", "command": "/old/python", "args": ["/old/hooks/tick.py", "claude"]}]}
    text = json.dumps({"hooks": {"Stop": [GUARD, old, GUARD]}}, indent=1)
    done, changes = entries.merged(text, "claude", {"Stop": GROUPS["Stop"]})
    assert json.loads(done) == {"hooks": {"Stop": [GUARD, GROUPS["Stop"], GUARD]}}
    assert changes == ["update Stop (it ran /old/hooks/tick.py)"]
    assert done == json.dumps(json.loads(done), indent=1)


def test_a_second_entry_of_ours_goes():
    text = json.dumps({"hooks": {"Stop": [GROUPS["Stop"], GUARD, GROUPS["Stop"]]}})
    done, changes = entries.merged(text, "claude", {"Stop": GROUPS["Stop"]})
    assert json.loads(done)["hooks"]["Stop"] == [GROUPS["Stop"], GUARD]
    assert changes == ["remove a second entry of ours from Stop"]


def test_our_handler_in_a_foreign_group_goes_and_the_group_stays():
    mixed = {"matcher": "*", "hooks": [{"type": "command", "command": "a"}, GROUPS["Stop"]["hooks"][0], {"type": "command", "command": "b"}]}
    text = json.dumps({"hooks": {"Stop": [mixed]}})
    done = json.loads(put(text, {"Stop": GROUPS["Stop"]}))["hooks"]["Stop"]
    assert [one["command"] for one in done[0]["hooks"]] == ["a", "b"]
    assert done[1] == GROUPS["Stop"]
    assert json.loads(out(text)) == {"hooks": {"Stop": [{**mixed, "hooks": [mixed["hooks"][0], mixed["hooks"][2]]}]}}


def test_an_event_whose_name_begins_like_anothers_is_told_by_itself():
    old = {"hooks": [{"command": "/old/hooks/tick.py claude"}]}
    groups = {"PostToolUse": GROUPS["Stop"], "PostToolUseFailure": GROUPS["Stop"]}
    _, changes = entries.merged(json.dumps({"hooks": {"PostToolUseFailure": [old]}}), "claude", groups)
    assert changes == ["update PostToolUseFailure (it ran /old/hooks/tick.py)", "add PostToolUse"]


def test_an_event_that_is_no_longer_wanted_goes_with_what_it_leaves_empty():
    text = json.dumps({"hooks": {"PostToolUse": [GROUPS["Stop"]], "Stop": [GROUPS["Stop"]]}})
    done, changes = entries.merged(text, "claude", {"Stop": GROUPS["Stop"]})
    assert json.loads(done) == {"hooks": {"Stop": [GROUPS["Stop"]]}}
    assert changes == ["remove our entry from PostToolUse"]


def test_places_that_were_empty_before_stay():
    text = '{"hooks": {"Stop": [], "Other": []}}'
    kept = entries.empties(jsontext.parse(text))
    assert kept == ["Stop", "Other"]
    assert out(put(text), kept) == text
    assert out(put('{"hooks": {}}'), ["hooks"]) == '{"hooks": {}}'
    assert out(put(text)) == '{"hooks": {"Other": []}}'


@pytest.mark.parametrize(
    ("handler", "mine"),
    [
        ({"command": "/p", "args": ["-I", "-S", "/a/hooks/tick.py", "claude"]}, True),
        ({"command": "C:/p.exe", "args": ["C:\\a\\hooks\\tick.py", "claude"]}, True),
        ({"command": "'/my p/python' -I -S '/it'\"'\"'s/hooks/tick.py' claude"}, True),
        ({"command": 'C:\\p\\python.exe -I -S "C:\\a b\\hooks\\tick.py" claude'}, True),
        ({"command": "/a/hooks/tick.py claude 2>/dev/null"}, True),
        ({"command": "/a/hooks/tick.py claude; true"}, True),
        ({"command": "/p", "args": ["-I", "-S", "/a/hooks/tick.py", "codex"]}, False),
        ({"command": "/p -I -S /a/hooks/tick.py"}, False),
        ({"command": "/p -I -S /a/myhooks/tick.py claude"}, False),
        ({"command": "/p -I -S /a/hooks/tick.py.bak claude"}, False),
        ({"command": "echo '/a/hooks/tick.py claude'"}, False),
        ({"command": "echo 'unclosed /a/hooks/tick.py claude"}, False),
        ({"command": "/p", "args": [1, None, "claude"]}, False),
        ({"command": ["/a/hooks/tick.py", "claude"]}, False),
        ({"type": "http", "url": "http://localhost/hooks/tick.py claude"}, False),
        ("/a/hooks/tick.py claude", False),
        (None, False),
    ],
)
def test_ours_is_what_runs_our_script_for_this_client(handler, mine):
    assert bool(entries.ours(handler, "claude")) is mine


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{\n"a": 1,\n}', 3),
        ('{\n// why\n"a": 1}', 2),
        ('{"a": 1} x', 1),
        ('{\n"a":\nNaN}', 3),
        ('{"a": "\n"}', 1),
        ("[" * 100_000 + "]" * 100_000, 1),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text, line):
    with pytest.raises(jsontext.Broken) as caught:
        put(text)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n[]", 2),
        ('{\n\n"hooks": []}', 3),
        ('{"hooks":\n{"Stop": {}}}', 2),
        ('{"hooks": {},\n "hooks": {}}', 2),
        ('{"hooks": {"Stop": [],\n "Stop": []}}', 2),
    ],
)
def test_settings_without_room_for_hooks_are_refused_with_the_line(text, line):
    with pytest.raises(entries.Unfit) as caught:
        put(text)
    assert caught.value.line == line
    assert out(text) == text


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(SCALARS, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3), max_leaves=8)
HANDLERS = st.builds(
    lambda name, extra: {"type": "command", "command": name, **extra}, st.text(max_size=20), st.dictionaries(st.just("timeout"), st.integers())
)
FOREIGN = st.lists(st.builds(lambda handlers: {"matcher": "x", "hooks": handlers}, st.lists(HANDLERS, min_size=1, max_size=3)) | JSON, min_size=1, max_size=3)
HOOKS = st.dictionaries(st.sampled_from([*GROUPS, "Notification", "enabled"]), FOREIGN, min_size=1)
SETTINGS = st.builds(
    lambda before, hooks, after: {**before, **hooks, **after},
    st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), JSON, min_size=1, max_size=3),
    st.just({}) | st.builds(lambda hooks: {"hooks": hooks}, HOOKS),
    st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), JSON, max_size=2),
)
STYLES = st.sampled_from([None, 0, 1, 2, 3, 4, "\t", " \t"])


@st.composite
def texts(draw):
    """Settings of others, in any indentation, with any line end."""
    indent = draw(STYLES)
    separators = (",", ":") if indent is None and draw(st.booleans()) else None
    text = json.dumps(draw(SETTINGS), indent=indent, ensure_ascii=draw(st.booleans()), separators=separators)
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return (text + draw(st.sampled_from(["", "\n", "\n\n"]))).replace("\n", end)


@settings(max_examples=300, deadline=None)
@given(texts())
def test_install_twice_and_uninstall_gives_back_every_byte(text):
    once = put(text)
    assert put(once) == once
    assert out(once) == text


@settings(max_examples=200, deadline=None)
@given(texts(), STYLES, st.permutations(list(GROUPS)), st.integers(0, 3))
def test_after_the_client_rewrote_the_file_uninstall_still_leaves_what_others_wrote(text, indent, order, count):
    """Claude Code writes the file anew, in its own manner; and older entries of ours may be anywhere."""
    held = json.loads(put(text))
    for name in order[:count]:
        held["hooks"][name].insert(0, GROUPS["Stop"])
    rewritten = json.dumps(held, indent=indent)
    again = put(rewritten)
    assert put(again) == again
    assert json.loads(out(rewritten)) == json.loads(text)
    assert json.loads(out(again)) == json.loads(text)


@settings(max_examples=200, deadline=None)
@given(texts())
def test_a_text_is_read_as_python_reads_it(text):
    assert jsontext.parse(text).value == json.loads(text, parse_int=float)
