"""Events: what harnesses tell of themselves. They wake nobody and are unread for nobody; one bad entry never stands in the way of the next."""

from __future__ import annotations

import json
import re
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pydantic
import pytest
from folders import AMY, BOB, Chat, real_server
from seats import bodies
from waiting import wait_until

import redischat
from redischat.calls.call import Listen, Once, Show, plain
from redischat.calls.event_form import PRIMITIVES, STATUSES, checked, draft
from redischat.errors import KeyReused, NoChannel, NoIdentity, NotYou, TooLarge
from redischat.errors.events import EventInvalidType, EventRefused
from redischat.flows import events as flows

SCHEMA = json.loads((Path(redischat.__file__).parent / "models" / "event.schema.json").read_text("utf-8"))
TS = "2026-12-01T10:00:00.000Z"
STATUS = {"schema_version": 1, "event": "status", "agent": "amy", "harness": "codex", "ts": TS, "status": "ready"}
CAPABILITY = {"schema_version": 1, "event": "capability", "agent": "amy", "harness": "codex", "ts": TS, "primitives": ["wait", "messages"]}
FOREVER = float("inf")
EVENTS, MARKS = "rc1:{default}:ch:dock:events", "rc1:{default}:ch:dock:event_marks"


async def test_a_status_is_posted_and_read_back(sit):
    amy, _ = await sit.pair()
    sent = await amy.event_post("dock", "status", "claude-code", status="ready", detail="on the parser")
    assert (sent.channel, sent.n) == ("dock", 1)
    assert (sent.event.event, sent.event.agent, sent.event.harness, sent.event.status, sent.event.detail) == (
        "status", "Amy", "claude-code", "ready", "on the parser",
    )  # fmt: skip
    assert await amy.event_read("dock") == [sent]
    assert abs((datetime.now(UTC) - sent.event.ts).total_seconds()) < 60


async def test_a_capability_names_all_eight_primitives_unless_told_which(sit):
    amy, _ = await sit.pair()
    await amy.event_post("dock", "capability", "codex")
    await amy.event_post("dock", "capability", "codex", primitives="wait, messages")
    await amy.event_post("dock", "capability", "codex", primitives=["leases"])
    found = await amy.event_read("dock")
    assert [tuple(one.event.primitives) for one in found] == [PRIMITIVES, ("wait", "messages"), ("leases",)]
    assert [one.n for one in found] == [1, 2, 3]


async def test_events_are_read_by_type_and_from_a_number_on(sit):
    amy, bob = await sit.pair()
    for kind, options in (("status", {"status": "busy"}), ("capability", {}), ("status", {"status": "idle"})):
        await amy.event_post("dock", kind, "codex", **options)
    assert [one.n for one in await bob.event_read("dock", type="status")] == [1, 3]
    assert [one.n for one in await sit().event_read("dock", since=2)] == [2, 3]
    assert await bob.event_read("dock", since=4) == []
    with pytest.raises(EventInvalidType):
        await bob.event_read("dock", type="mood")


async def test_events_leave_messages_marks_and_the_cap_alone(sit):
    amy, bob = await sit.pair(max_messages=1)
    before = sit.mark("bob")
    for _ in range(3):
        await amy.event_post("dock", "status", "codex", status="busy")
    assert (sit.mark("bob"), await bob.pending(), await bob.owed()) == (before, [], [])
    assert (await amy.post("dock", "hello")).seq == 1
    assert bodies(await bob.read("dock")) == ["hello"]
    assert [one.kind for one in (await bob.history("dock", audits=True)).messages] == ["message", "notice"]


async def test_whoever_is_no_member_may_post_and_so_may_a_closed_channels(sit):
    amy, _ = await sit.pair()
    await amy.close("dock", "shipped")
    assert (await sit("zoe").event_post("dock", "status", "codex", status="stopped")).n == 1
    with pytest.raises(NoIdentity):
        await sit().event_post("dock", "status", "codex", status="stopped")
    with pytest.raises(NoChannel) as no:
        await amy.event_post("dokc", "status", "codex", status="stopped")
    assert no.value.facts["nearest"] == "dock"
    with pytest.raises(NoChannel):
        await amy.event_read("dokc")


async def test_what_was_told_comes_back_to_the_letter(sit):
    amy, _ = await sit.pair()
    odd = '{"files":[],"m":{},"n":9007199254740993,"f":1.0,"d":{"k":[[]]}} \\n "q" --- é☃ \u202e'
    await amy.event_post("dock", "status", "a---b", status="ready", detail=odd)
    assert [one.event.detail for one in await amy.event_read("dock")] == [odd]
    ((_, fields),) = sit.store.xrange(EVENTS)
    assert fields["b"] == json.dumps(json.loads(fields["b"]), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert {key: fields[key] for key in ("f", "k", "w", "h", "s")} == {"f": "Amy", "k": "e", "w": "-", "h": "event:status", "s": "event.status"}
    assert json.loads(fields["b"]) == {"schema_version": 1, "event": "status", "agent": "Amy", "harness": "a---b", "status": "ready", "detail": odd}


async def test_a_retry_is_one_event_and_a_key_means_one_event(sit):
    amy, _ = await sit.pair()
    for _ in range(2):
        assert (await amy.event_post("dock", "status", "codex", status="busy", idem="k")).n == 1
    with pytest.raises(KeyReused):
        await amy.event_post("dock", "status", "codex", status="idle", idem="k")
    assert len(await amy.event_read("dock")) == 1


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"type": "mood"}, "EVENT_INVALID_TYPE"),
    ({"harness": ""}, "EVENT_INVALID_TEXT"),
    ({"harness": ".hidden"}, "EVENT_INVALID_TEXT"),
    ({"harness": "a/b"}, "EVENT_INVALID_TEXT"),
    ({"harness": "a\x1b[31m"}, "EVENT_INVALID_TEXT"),
    ({"harness": "a\ud800"}, "EVENT_INVALID_TEXT"),
    ({"status": None}, "EVENT_INVALID_STATUS"),
    ({"status": "happy"}, "EVENT_INVALID_STATUS"),
    ({"detail": "two\nlines"}, "EVENT_INVALID_TEXT"),
    ({"primitives": ["wait"]}, "EVENT_UNKNOWN_FIELD"),
    ({"type": "capability"}, "EVENT_UNKNOWN_FIELD"),
    ({"type": "capability", "status": None, "detail": "x"}, "EVENT_UNKNOWN_FIELD"),
    ({"type": "capability", "status": None, "primitives": []}, "EVENT_INVALID_PRIMITIVES"),
    ({"type": "capability", "status": None, "primitives": " , "}, "EVENT_INVALID_PRIMITIVES"),
    ({"type": "capability", "status": None, "primitives": "wait,wait"}, "EVENT_DUPLICATE_PRIMITIVE"),
    ({"type": "capability", "status": None, "primitives": "wait,fly"}, "EVENT_UNKNOWN_PRIMITIVE"),
]


async def test_what_is_no_event_is_refused_with_its_code_and_not_stored(sit):
    amy, _ = await sit.pair()
    for change, code in REFUSED:
        with pytest.raises(EventRefused) as no:
            await amy.event_post("dock", **{"type": "status", "harness": "codex", "status": "ready", **change})
        assert (no.value.code, no.value.exit) == (code, 2), change
    with pytest.raises(TooLarge):
        await amy.event_post("dock", "status", "codex", status="ready", detail="x" * (1 << 18))
    assert await amy.event_read("dock") == []


WRONG = [
    ([], "EVENT_INVALID_RECORD"),
    ("x", "EVENT_INVALID_RECORD"),
    ({}, "EVENT_UNSUPPORTED_VERSION"),
    ({**STATUS, "schema_version": True}, "EVENT_UNSUPPORTED_VERSION"),
    ({**STATUS, "schema_version": "1"}, "EVENT_UNSUPPORTED_VERSION"),
    ({**STATUS, "schema_version": 2, "event": "mood"}, "EVENT_UNSUPPORTED_VERSION"),
    ({"schema_version": 1, "mood": 1}, "EVENT_INVALID_TYPE"),
    ({**STATUS, "event": ["status"]}, "EVENT_INVALID_TYPE"),
    ({**STATUS, "agent": "", "mood": 1}, "EVENT_UNKNOWN_FIELD"),
    ({**STATUS, "primitives": []}, "EVENT_UNKNOWN_FIELD"),
    ({**CAPABILITY, "detail": "x"}, "EVENT_UNKNOWN_FIELD"),
    ({key: STATUS[key] for key in STATUS if key != "agent"}, "EVENT_REQUIRED_FIELD_MISSING"),
    ({key: STATUS[key] for key in STATUS if key not in ("harness", "ts")}, "EVENT_REQUIRED_FIELD_MISSING"),
    ({**{key: STATUS[key] for key in STATUS if key != "ts"}, "status": "x"}, "EVENT_REQUIRED_FIELD_MISSING"),
    ({**STATUS, "agent": "_amy", "ts": "x"}, "EVENT_INVALID_TEXT"),
    ({**STATUS, "harness": 5}, "EVENT_INVALID_TEXT"),
    ({**STATUS, "harness": "a:b"}, "EVENT_INVALID_TEXT"),
    ({**STATUS, "harness": "a\x85"}, "EVENT_INVALID_TEXT"),
    ({**STATUS, "ts": "2026-12-01T10:00:00", "status": "x"}, "EVENT_INVALID_TIMESTAMP"),
    ({**STATUS, "ts": 1764583200}, "EVENT_INVALID_TIMESTAMP"),
    ({**STATUS, "ts": "1764583200"}, "EVENT_INVALID_TIMESTAMP"),
    ({**STATUS, "ts": "yesterday"}, "EVENT_INVALID_TIMESTAMP"),
    ({key: CAPABILITY[key] for key in CAPABILITY if key != "primitives"}, "EVENT_INVALID_PRIMITIVES"),
    ({**CAPABILITY, "primitives": []}, "EVENT_INVALID_PRIMITIVES"),
    ({**CAPABILITY, "primitives": "wait"}, "EVENT_INVALID_PRIMITIVES"),
    ({**CAPABILITY, "primitives": ["wait", 1]}, "EVENT_INVALID_PRIMITIVES"),
    ({**CAPABILITY, "primitives": ["fly", "fly"]}, "EVENT_DUPLICATE_PRIMITIVE"),
    ({**CAPABILITY, "primitives": ["wait", "fly"]}, "EVENT_UNKNOWN_PRIMITIVE"),
    ({key: STATUS[key] for key in STATUS if key != "status"}, "EVENT_INVALID_STATUS"),
    ({**STATUS, "status": None, "detail": 5}, "EVENT_INVALID_STATUS"),
    ({**STATUS, "status": ["ready"]}, "EVENT_INVALID_STATUS"),
    ({**STATUS, "detail": None}, "EVENT_INVALID_TEXT"),
    ({**STATUS, "detail": "\x7f"}, "EVENT_INVALID_TEXT"),
]
RIGHT = [
    STATUS, CAPABILITY, {**STATUS, "detail": ""}, {**STATUS, "agent": "a---b", "harness": "Claude Code ☃"}, {**STATUS, "ts": "2026-12-01T10:00:00+05:30"},
    {**CAPABILITY, "primitives": list(PRIMITIVES)}, *({**STATUS, "status": one} for one in STATUSES),
]  # fmt: skip


@pytest.mark.parametrize(("record", "code"), WRONG)
def test_the_first_thing_that_is_wrong_gives_the_code(record, code):
    with pytest.raises(EventRefused) as no:
        checked(record)
    assert no.value.code == code


@pytest.mark.parametrize("record", RIGHT)
def test_an_event_passes_unchanged(record):
    assert checked(dict(record)) == record


def test_a_hostile_value_is_refused_quickly_and_shown_short():
    for record in (
        {**CAPABILITY, "primitives": [f"{n}" for n in range(100_000)]},
        {**STATUS, "harness": "/" * 100_000},
        {**STATUS, **dict.fromkeys(map(str, range(99)), 1)},
    ):
        with pytest.raises(EventRefused) as no:
            checked(record)
        assert len(no.value.sentence()) < 400


def allows(schema, value):
    """What a JSON schema says of a value; as much of draft 2020-12 as the shipped schema uses."""
    kinds = {"object": dict, "array": list, "string": str, "integer": int}
    known = {"$ref", "$schema", "$id", "$defs", "title", "description", "oneOf", "type", "const", "enum", "required", "properties", "additionalProperties"}
    assert schema.keys() <= known | {"items", "minItems", "uniqueItems", "minLength", "pattern", "format"}
    if "$ref" in schema:
        return allows(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], value)
    if "oneOf" in schema:
        return sum(allows(one, value) for one in schema["oneOf"]) == 1
    says = [
        "type" not in schema or (isinstance(value, kinds[schema["type"]]) and not isinstance(value, bool)),
        "const" not in schema or (value == schema["const"] and not isinstance(value, bool)),
        "enum" not in schema or value in schema["enum"],
    ]
    if isinstance(value, dict):
        says += [name in value for name in schema.get("required", ())]
        says += [allows(schema["properties"][name], value[name]) for name in value if name in schema.get("properties", ())]
        says.append(schema.get("additionalProperties", True) or value.keys() <= schema["properties"].keys())
    if isinstance(value, list):
        says += [len(value) >= schema.get("minItems", 0), all(allows(schema.get("items", {}), one) for one in value)]
        says.append(not schema.get("uniqueItems") or len(value) == len(set(map(str, value))))
    if isinstance(value, str):
        says += [len(value) >= schema.get("minLength", 0), re.search(schema.get("pattern", ""), value) is not None]
        says.append("format" not in schema or in_time(value))
    return all(says)


def in_time(text):
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def is_one(record):
    """What the model says of a record."""
    try:
        redischat.Event.model_validate({"channel": "dock", "n": 1, "event": record})
    except pydantic.ValidationError:
        return False
    return True


@pytest.mark.parametrize(("record", "right"), [*((record, True) for record in RIGHT), *((record, False) for record, _ in WRONG)])
def test_schema_model_and_check_agree(record, right):
    assert (allows(SCHEMA, record), is_one(record)) == (right, right)


@pytest.mark.parametrize(("model", "name"), [(redischat.CapabilityEvent, "capability"), (redischat.StatusEvent, "status")])
def test_the_schema_has_the_models_fields_and_words(model, name):
    branch, made = SCHEMA["$defs"][name], model.model_json_schema()
    assert branch["properties"].keys() == made["properties"].keys() == model.model_fields.keys()
    assert sorted(branch["required"]) == sorted(made["required"])
    assert branch["additionalProperties"] is made["additionalProperties"] is False
    assert branch["properties"]["event"]["const"] == made["properties"]["event"]["const"]
    words = {"capability": ("primitives", PRIMITIVES), "status": ("status", STATUSES)}[name]
    of = branch["properties"][words[0]], made["properties"][words[0]]
    assert all(tuple(one.get("items", one)["enum"]) == words[1] for one in of)
    assert SCHEMA["oneOf"] == [{"$ref": "#/$defs/capability"}, {"$ref": "#/$defs/status"}]


def stored(agent="Amy", body=None, **fields):
    return {
        "f": agent,
        "k": "e",
        "w": "-",
        "t": "1796119200000000",
        "x": "0",
        "b": body if body is not None else json.dumps({**STATUS, "agent": "Amy"}),
        **fields,
    }


async def test_entries_that_are_no_events_are_passed_over_and_later_ones_are_read(sit):
    amy, _ = await sit.pair()
    await amy.event_post("dock", "status", "codex", status="busy")
    odd = [
        {"x": "y"}, stored(body="not JSON"), stored(body="[" * 5000), stored(body='"text"'), stored(body=json.dumps({**STATUS, "mood": 1})),
        stored(agent="bob"), stored(t="soon"), stored(t="9" * 40), stored(body=json.dumps({**STATUS, "harness": "\ud800"})),
    ]  # fmt: skip
    for fields in odd:
        sit.store.xadd(EVENTS, fields, id="0-*")
    sit.store.xadd(EVENTS, stored(), id="0-*")  # as well as redischat would have written it
    await amy.event_post("dock", "status", "codex", status="idle")
    assert [one.n for one in await amy.event_read("dock")] == [1, 11, 12]
    assert [one.n for one in await amy.event_read("dock", new=True)] == [1, 11, 12]
    assert await amy.event_read("dock", new=True) == []


async def test_a_strangers_raw_entry_ends_nothing(sit):
    amy, bob = await sit.pair()
    await amy.event_post("dock", "status", "codex", status="busy")
    await bob.event_read("dock", new=True)
    sit.store.xadd(EVENTS, {"some": "thing"})  # its id is the time: nothing could follow it
    assert [one.n for one in await bob.event_read("dock")] == [1]
    assert (await amy.event_post("dock", "status", "codex", status="idle")).n == 2
    assert [one.n for one in await bob.event_read("dock", new=True)] == [2]


async def test_numbers_go_on_behind_what_was_read_even_when_nothing_is_left(sit):
    amy, bob = await sit.pair()
    for _ in range(3):
        await amy.event_post("dock", "status", "codex", status="busy")
    await bob.event_read("dock", new=True)
    sit.store.xtrim(EVENTS, maxlen=0, approximate=False)
    sit.store.xadd(EVENTS, {"some": "thing"})
    assert (await amy.event_post("dock", "status", "codex", status="idle")).n == 4
    assert [one.n for one in await bob.event_read("dock", new=True)] == [4]


async def test_new_gives_each_event_once_to_each_agent(sit):
    amy, bob = await sit.pair()
    for status in ("busy", "idle"):
        await amy.event_post("dock", "status", "codex", status=status)
    assert [one.n for one in await bob.event_read("dock", new=True)] == [1, 2]
    assert await bob.event_read("dock", new=True) == []
    await amy.event_post("dock", "status", "codex", status="stopped")
    assert [one.n for one in await bob.event_read("dock", new=True)] == [3]
    assert [one.n for one in await amy.event_read("dock", new=True)] == [1, 2, 3]
    assert len(await bob.event_read("dock")) == 3
    with pytest.raises(NoIdentity):
        await sit().event_read("dock", new=True)


async def test_whoever_reads_one_type_misses_nothing_of_the_other(sit):
    amy, bob = await sit.pair()
    await amy.event_post("dock", "capability", "codex")
    await amy.event_post("dock", "status", "codex", status="busy")
    assert [one.n for one in await bob.event_read("dock", type="status", new=True)] == [2]
    assert await bob.event_read("dock", type="status", new=True) == []
    assert [one.n for one in await bob.event_read("dock", new=True)] == [1, 2]
    await amy.event_post("dock", "status", "codex", status="idle")
    assert [one.n for one in await bob.event_read("dock", new=True)] == [3]
    assert await bob.event_read("dock", type="status", new=True) == []


async def test_a_mark_does_not_rise_over_what_was_left_out(sit):
    amy, bob = await sit.pair()
    for _ in range(4):
        await amy.event_post("dock", "status", "codex", status="busy")
    assert [one.n for one in await bob.event_read("dock", since=3, new=True)] == [3, 4]
    assert [one.n for one in await bob.event_read("dock", new=True)] == [1, 2, 3, 4]
    assert [one.n for one in await bob.event_read("dock", since=2, new=True)] == [2, 3, 4]
    assert await bob.event_read("dock", new=True) == []


async def test_what_was_read_of_an_earlier_channel_is_not_held_against_the_next(sit):
    amy, bob = await sit.pair()
    for _ in range(3):
        await amy.event_post("dock", "status", "codex", status="busy")
    await bob.event_read("dock", new=True)
    mark = sit.store.hget(MARKS, "bob")
    await amy.delete("dock", yes=True)
    sit.store.hset(MARKS, "bob", mark)  # an ack that came late
    await amy.open("dock", members="bob")
    await amy.event_post("dock", "status", "codex", status="idle")
    assert [(one.n, one.event.status) for one in await bob.event_read("dock", new=True)] == [(1, "idle")]
    assert await bob.event_read("dock", new=True) == []


async def test_many_events_are_read_page_by_page_whole(sit):
    amy, bob = await sit.pair()
    await amy.event_post("dock", "status", "codex", status="busy")
    for _ in range(450):
        sit.store.xadd(EVENTS, stored(), id="0-*")
    assert [one.n for one in await bob.event_read("dock", new=True)] == list(range(1, 452))
    assert sit.store.hget(MARKS, "bob").startswith("451 ")


async def test_nobody_posts_or_reads_under_a_name_that_is_held(sit):
    amy, bob = await sit.pair()
    await bob.identify("bob")
    other = sit("bob")
    with pytest.raises(NotYou):
        await other.event_post("dock", "status", "codex", status="busy")
    await amy.event_post("dock", "status", "codex", status="busy")
    with pytest.raises(NotYou):
        await other.event_read("dock", new=True)
    assert [one.n for one in await bob.event_read("dock", new=True)] == [1]


async def test_an_export_keeps_events_beside_the_messages(sit, tmp_path):
    amy, _ = await sit.pair()
    await amy.event_post("dock", "status", "codex", status="busy")
    assert (await amy.export("dock", tmp_path)).events == 1
    (row,) = [json.loads(line) for line in (tmp_path / "dock" / "_events.jsonl").read_text().splitlines()]
    assert (row["kind"], row["n"], json.loads(row["body"])["status"]) == ("event", 1, "busy")


def test_the_command_posts_and_reads_as_agent_chat_does(town):
    heron, lynx = town.pair()
    posted = heron("event", "post", "dock", "--type", "status", "--harness", "claude-code", "--status", "ready", "--detail", "hi")
    assert posted.out.startswith("posted event status -> dock ")
    (line,) = lynx("event", "read", "dock").lines
    event = json.loads(line)
    assert line == json.dumps(event, sort_keys=True)
    assert {**event, "ts": TS} == {**STATUS, "agent": "heron", "harness": "claude-code", "detail": "hi", "ts": TS}
    assert lynx("event", "read", "dock", "--json").record == {"channel": "dock", "n": 1, "event": event}
    sent = lynx(
        "event",
        "post",
        "dock",
        "--from",
        "lynx",
        "--type",
        "capability",
        "--harness",
        "codex",
        "--primitives",
        "wait,tasks",
        "--primitives",
        "leases",
        "--json",
    )
    assert (sent.record["n"], sent.record["event"]["primitives"]) == (2, ["wait", "tasks", "leases"])
    assert lynx("event", "read", "dock", "--type", "capability", "--json").record == sent.record
    assert json.loads(heron("event", "schema").out) == heron("event", "schema", "--json").record == SCHEMA


def test_the_commands_refusals_have_agent_chats_codes(town):
    heron, _ = town.pair()
    post = ("event", "post", "dock", "--harness", "codex")
    for words, code in (
        (("--type", "mood"), "EVENT_INVALID_TYPE"), (("--type", "status"), "EVENT_INVALID_STATUS"), (("--type", "status", "--status", "x"), "EVENT_INVALID_STATUS"),
        (("--type", "capability", "--status", "ready"), "EVENT_UNKNOWN_FIELD"), (("--type", "capability", "--primitives", ""), "EVENT_INVALID_PRIMITIVES"),
        (("--type", "status", "--status", "ready", "--primitives", "wait"), "EVENT_UNKNOWN_FIELD"),
    ):  # fmt: skip
        assert heron(*post, *words, code=2).error == code
    assert heron("event", "post", "dock", "--type", "status", "--status", "ready", "--harness", "a/b", code=2).error == "EVENT_INVALID_TEXT"
    assert heron("event", "read", "dock", "--type", "mood", code=2).error == "EVENT_INVALID_TYPE"
    assert town.person()(*post, "--type", "status", "--status", "ready", "--as", "a b", code=2).error == "EVENT_INVALID_TEXT"
    assert heron("event", "read", "dokc", code=1).error == "NO_CHANNEL"
    assert heron("event", "post", "dock", "--type", "status", code=64).error == "USAGE"
    assert heron("event", "read", "dock").out == ""


def test_as_a_name_reads_what_is_new_to_it_and_without_one_nothing_moves(town):
    heron, lynx = town.pair()
    heron("event", "post", "dock", "--type", "status", "--harness", "codex", "--status", "busy")
    before = town.server.everything()
    for _ in range(2):
        assert len(lynx("event", "read", "dock").lines) == 1
    assert town.server.everything() == before
    assert len(lynx("event", "read", "dock", "--as", "lynx").lines) == 1
    assert lynx("event", "read", "dock", "--new").lines == []
    assert len(lynx("event", "read", "dock", "--as", "lynx", "--since", "1").lines) == 1


def test_a_bad_entry_is_named_once_on_standard_error(town):
    heron, _ = town.pair()
    town.server.ask("XADD", EVENTS, "0-*", "b", "nonsense\x1b[2J")
    heron("event", "post", "dock", "--type", "status", "--harness", "codex", "--status", "busy")
    town.server.ask("XADD", EVENTS, "*", "b", "x")
    found = heron("event", "read", "dock", "--new")
    assert len(found.lines) == 1
    assert [line.split(": ")[1] for line in found.err.splitlines()] == ["EVENT_MALFORMED_BODY"] * 2
    assert "event 1 of #dock" in found.err
    assert "\x1b" not in found.err
    errors = [json.loads(line) for line in heron("event", "read", "dock", "--json").err.splitlines()]
    assert [one["error"] for one in errors] == ["EVENT_MALFORMED_BODY"] * 2
    assert "event 1 " not in heron("event", "read", "dock", "--new").err
    assert "1 entries" in heron("event", "post", "dock", "--type", "status", "--harness", "codex", "--status", "idle").err


def test_an_agent_nobody_knew_is_told_so(town):
    town.pair()
    told = town.person()("event", "post", "dock", "--as", "hreon", "--type", "status", "--harness", "codex", "--status", "idle")
    assert "did you mean heron" in told.err


def test_following_shows_events_as_they_come_until_interrupted(town):
    heron, lynx = town.pair()
    post = ("event", "post", "dock", "--type", "status", "--harness", "codex", "--status")
    heron(*post, "busy")
    follower = lynx.start("event", "read", "dock", "--since", "1", "--follow", "--as", "lynx")
    assert json.loads(follower.stdout.readline())["status"] == "busy"
    heron("say", "dock", "not an event")
    heron(*post, "idle")
    assert json.loads(follower.stdout.readline())["status"] == "idle"
    wait_until(lambda: (town.server.ask("HGET", MARKS, "lynx") or "").startswith("2 "), "what was shown is marked")
    follower.send_signal(signal.SIGINT)
    assert follower.wait(20) == 0, follower.stderr.read()
    assert lynx("event", "read", "dock", "--new").lines == []


@pytest.mark.parametrize("sent", [True, False])
def test_whatever_an_interrupt_meets_following_ends_and_what_was_shown_is_marked(sent):
    """^C at each step of a follow in turn, after its command went out or before."""
    with real_server() as url:
        chat, marks, met = Chat(url), "rc1:{folders}:ch:dock:event_marks", list[Any]()
        chat.open()
        for detail in ("one", "two"):
            chat.drive(flows.post(BOB, "dock", draft("status", "bob", "codex", status="busy", detail=detail), Once()))
        while not met or not isinstance(met[-1], Listen):
            chat.run(plain("DEL", marks))
            following = flows.read(AMY, "dock", flows.Wanted(new=True, follow=FOREVER))
            asked, shown = followed(chat, following, 2 + len(met))  # the first two find out where to begin
            if sent:
                answered(chat, asked)
            ended = broken_off(chat, following)
            mark = chat.run(plain("HGET", marks, "amy"))
            assert (ended, mark and int(mark.split(" ")[0])) == ("interrupted", shown or None), asked
            met.append(asked)
        assert shown == 2
        chat.close()


def followed(chat, flow, steps):
    """Drive a flow so far: what it asks then, and how many events it has shown."""
    asked, shown = next(flow), 0
    for _ in range(steps):
        shown += len(asked.messages) if isinstance(asked, Show) else 0
        asked = flow.send(answered(chat, asked))
    return asked, shown


def broken_off(chat, flow):
    """How a flow ends that ^C meets."""
    try:
        asked = flow.throw(KeyboardInterrupt())
        while True:
            asked = flow.send(answered(chat, asked))
    except StopIteration as end:
        return end.value["ended"]
    except KeyboardInterrupt:
        return "exit 130"


def answered(chat, asked):
    if isinstance(asked, Show | Listen):
        return len(asked.messages) if isinstance(asked, Show) else "again"
    return chat.pipe(asked) if isinstance(asked, list) else chat.run(asked)


def test_following_ends_with_the_channel(town):
    heron, lynx = town.pair()
    follower = lynx.start("event", "read", "dock", "--follow")
    channel = "rc1:{default}:live:dock"
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", channel)[1] == 1, "lynx follows")
    heron("delete", "dock", "--yes")
    assert follower.wait(20) == 0, follower.stderr.read()


def test_what_could_not_be_shown_stays_new(town):
    heron, lynx = town.pair()
    heron("event", "post", "dock", "--type", "status", "--harness", "codex", "--status", "busy")
    assert lynx.shell("$RC event read dock --new >/dev/full").code == 5
    assert len(lynx("event", "read", "dock", "--new").lines) == 1
