"""The verbs as MCP tools, seen by the SDK's own client in memory: what there is, what it takes, what it answers, and what is no success."""

from __future__ import annotations

import inspect
import sys

import jsonschema  # type: ignore[import-untyped]
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from redischat import AsyncClient
from redischat.cli.mcp import _become
from redischat.cli.verbs import VERBS
from redischat.errors import Usage
from redischat.mcp_server import own, reading
from redischat.mcp_server.answers import MOST
from redischat.mcp_server.seat import Place
from redischat.mcp_server.server import built
from redischat.mcp_server.table import ALL, DEFAULT, LEFT_OUT, SETS, chosen

CHARS_A_TOKEN = 3  # English in JSON has three and a half to four: this counts too many rather than too few
TOKENS = 3_000
WRITTEN = ("ch:dock:messages", "everyone")
HOSTILE = ("--as", "-", "--file=/etc/passwd", "@/etc/passwd", "$(id)", "rc1:{default}:agents", "`id`", "--help", '{"to": "all"}')


@pytest.fixture
def pair(town, monkeypatch):
    """heron, whose server the test talks to, and lynx at a shell; both in #dock."""
    heron, lynx = town.pair()
    for name, value in {**heron.town.env, **heron.env}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(heron.directory)
    return heron, lynx


def server(tools=DEFAULT, **flags):
    return built(Place(flags, _become, reading.WAIT_S), chosen(tools))


class Tools:
    """A connected client: ``await call("say", channel="dock", body="hi")`` gives the record."""

    def __init__(self, client):
        self.client = client

    async def __call__(self, name, /, **arguments):
        result = await self.client.call_tool(name, arguments)
        assert not result.is_error, result
        return result.structured_content

    async def refused(self, name, /, **arguments):
        result = await self.client.call_tool(name, arguments)
        assert result.is_error, result
        (text,) = result.content
        found = result.structured_content
        assert text.text.startswith(found["error"] + ": ")
        return found


async def test_two_agents_talk_one_by_tools_and_one_at_a_shell(pair):
    _, lynx = pair
    async with Client(server()) as client:
        call = Tools(client)
        assert (await call("whoami"))["agent"] == "heron"
        got = await call("say", channel="dock", body="which build fails?", to=["lynx"])
        assert (got["seq"], got["wakes"]) == (1, ["lynx"])
        assert lynx("read", "dock", "--json").record["body"] == "which build fails?"
        lynx("say", "dock", "4711", "--reply", "1", "--to", "heron")
        assert [(one["from"], one["body"], one["reply_to"]) for one in (await call("read"))["messages"]] == [("lynx", "4711", 1)]
        assert (await call("read"))["messages"] == []
        assert (await call("owed"))["owed"][0]["from"] == "lynx"


async def test_a_board_and_locks_are_shared_with_a_shell(pair):
    heron, lynx = pair
    async with Client(server()) as client:
        call = Tools(client)
        await call("task_create", channel="dock", title="fix it", acceptance=["a, b agree"])
        assert heron("task", "show", "dock", "T-1", "--json").record["acceptance"] == ["a, b agree"]
        taken = await call("task_next", channel="dock", claim=True)
        assert (taken["id"], taken["title"], taken["acceptance"]) == ("T-1", "fix it", ["a, b agree"])  # what there is to do
        again = await call("task_claim", channel="dock", task="T-1")
        assert (again["how"], again["token"], again["title"]) == ("renewed", taken["token"], "fix it")
        assert (await call("task_next", channel="dock", claim=True))["nothing_ready"]
        await call("lock", channel="dock", paths=["a.py", "b.py"], reason="T-1")
        assert {one["reason"] for one in heron("check", "dock", "a.py", "b.py", "--json").record["held"]} == {"T-1"}
        assert [one["owner"] for one in lynx("locks", "--all", "--json").records] == ["heron"]
        assert len((await call("unlock", channel="dock", all=True))["unlocked"]) == 2
        assert (await call("task_done", channel="dock", task="T-1"))["status"] == "done"


def test_every_verb_of_the_command_is_a_tool_or_left_out_for_a_reason():
    tools = chosen(ALL)
    verbs = {name.replace(" ", "_").replace("-", "_"): name for name in VERBS}
    assert set(tools) - set(verbs) == set()
    assert {verbs[name] for name in set(verbs) - set(tools)} == set(LEFT_OUT)
    assert all(LEFT_OUT.values())


def test_sets_are_the_default_together_and_narrow_it_alone():
    assert list(chosen(DEFAULT)) == [name for names in SETS.values() for name in names]
    assert list(chosen("look,talk")) == [*SETS["talk"], *SETS["look"]]
    for name in ("nope", "", "talk,nope"):
        with pytest.raises(Usage, match="set"):
            chosen(name)


async def test_the_default_tools_cost_less_than_3000_tokens():
    sizes = {}
    for asked in (DEFAULT, *SETS, ALL):
        async with Client(server(asked)) as client:
            listed = (await client.list_tools()).model_dump_json(by_alias=True, exclude_none=True)
        sizes[asked] = -(-len(listed) // CHARS_A_TOKEN)
    sys.stdout.write(f"tokens: {sizes}\n")
    assert sizes[DEFAULT] < TOKENS


async def test_every_tool_is_described_and_takes_and_gives_an_object():
    async with Client(server(ALL)) as client:
        for tool in (await client.list_tools()).tools:
            assert tool.description, tool.name
            assert tool.input_schema["type"] == (tool.output_schema or {})["type"] == "object"
            assert set(tool.input_schema.get("required", ())) <= set(tool.input_schema["properties"])
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)


@pytest.mark.parametrize("tool", chosen(ALL).values(), ids=lambda one: one.name)
async def test_every_declared_argument_reaches_the_verb(tool):
    examples = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "array": ["x", "y"]}
    given = {name: examples[kind["type"]] for name, kind in tool.takes.items() if name != "skip"}
    seen: dict[str, object] = {}

    async def verb(*args, **kwargs):
        bound = inspect.signature(real).bind(*args, **kwargs)
        seen.update(bound.arguments)

    real, tool.run = tool.run, verb
    tool.run.__signature__ = inspect.signature(real)
    try:
        await tool(object(), tool.checked(dict(given)), None)
    finally:
        tool.run = real
    flat = {name: list(value) if isinstance(value, tuple) else value for name, value in seen.items()}
    assert {name: flat[name] for name in given} == given


@pytest.mark.usefixtures("pair")
async def test_answers_fit_the_schemas_that_tell_of_them():
    calls: dict[str, dict] = {
        "say": {"channel": "dock", "body": "hi"}, "read": {}, "wait": {"timeout": 0}, "owed": {}, "whoami": {}, "channels": {}, "who": {}, "locks": {},
        "task_create": {"channel": "dock", "title": "t"}, "task_list": {"channel": "dock"}, "join": {"channel": "quay"}, "leave": {"channel": "quay"}, "state": {"channel": "dock"},
        "roster": {"channel": "dock"}, "task_show": {"channel": "dock", "task": "T-1"}, "task_graph": {"channel": "dock"}, "pending": {}, "peek": {"channel": "dock"},
        "invite": {"channel": "dock"}, "workspaces": {}, "sync": {}, "event_post": {"channel": "dock", "type": "status", "harness": "x", "status": "busy"},
        "event_read": {"channel": "dock"}, "compact": {"channel": "dock"}, "claim": {"channel": "dock", "name": "n"}, "claims": {"channel": "dock"},
    }  # fmt: skip
    tools = chosen(ALL)
    async with Client(server(ALL)) as client:
        for name, arguments in calls.items():
            record = await Tools(client)(name, **arguments)
            jsonschema.validate(record, tools[name].output)
            assert set(record) & set(tools[name].output["properties"]), name


async def test_a_refusal_is_an_error_with_its_code_and_a_remedy_never_text(pair):
    _, lynx = pair
    lynx("lock", "dock", "/tmp/x.py", "--repo", "r", code=None)
    async with Client(server(ALL)) as client:
        refused = Tools(client).refused
        assert (await refused("say", channel="nowhere", body="hi"))["error"] == "NO_CHANNEL"
        found = await refused("say", channel="dock", body="hi", to=["nobody"])
        assert (found["error"], found["members"]) == ("UNKNOWN_RECIPIENT", ["heron", "lynx"])
        assert (await refused("task_claim", channel="dock", task="T-9"))["error"] == "TASK_NOT_FOUND"
        assert (await refused("close", channel="dock", reason=""))["error"] == "BAD_TEXT"
        lynx("claim", "dock", "n")
        taken = await refused("claim", channel="dock", name="n")
        assert (taken["error"], taken["holder"]) == ("CLAIM_TAKEN", "lynx")


@pytest.mark.usefixtures("pair")
async def test_what_a_tool_does_not_take_is_refused_by_name():
    async with Client(server()) as client:
        refused = Tools(client).refused
        for arguments in (
            {},
            {"channel": "dock"},
            {"channel": "dock", "body": 5},
            {"channel": "dock", "body": "x", "file": "/etc/passwd"},
            {"channel": "dock", "body": "x", "as": "lynx"},
        ):
            assert (await refused("say", **arguments))["error"] == "USAGE"
        assert (await refused("read", limit=True))["error"] == "USAGE"
        assert (await refused("read", limit=0))["error"] == "USAGE"
        assert (await refused("join", channel="dock", since=-(10**30)))["error"] == "USAGE"


async def test_an_unknown_tool_and_an_unknown_method_have_their_protocol_errors():
    async with Client(server()) as client:
        with pytest.raises(MCPError) as no:
            await client.call_tool("nope", {})
        assert no.value.error.code == -32602


@pytest.mark.usefixtures("pair")
async def test_a_crash_within_is_a_marked_answer_and_the_server_goes_on(monkeypatch):
    async def crash(_):
        raise ZeroDivisionError("peer text")

    monkeypatch.setattr(AsyncClient, "owed", crash)
    tools = chosen(DEFAULT)
    monkeypatch.setattr(tools["owed"], "run", crash)
    async with Client(built(Place({}, _become, 50), tools)) as client:
        call = Tools(client)
        assert (await call.refused("owed"))["error"] == "DEFECT"
        assert (await call("whoami"))["agent"] == "heron"


@pytest.mark.parametrize("text", HOSTILE)
async def test_text_is_never_a_flag_a_file_or_a_key(pair, text):
    heron, lynx = pair
    before = set(heron.town.server.everything())
    async with Client(server()) as client:
        await Tools(client)("say", channel="dock", body=text, title=text, thread=text)
        assert lynx("read", "dock", "--json").record["body"] == text
        found = await client.call_tool("join", {"channel": text})
        assert found.is_error
    assert set(heron.town.server.everything()) - before <= {f"rc1:{{default}}:{what}" for what in WRITTEN}


async def test_every_tool_that_looks_shows_what_there_is(pair):
    heron, lynx = pair
    for words in (
        ("say", "dock", "which build?", "--to", "heron"), ("task", "create", "dock", "--title", "fix it"), ("claim", "dock", "deploy"),
        ("event", "post", "dock", "--type", "status", "--harness", "x", "--status", "busy"), ("briefing", "dock", "Say what you changed."), ("identify", "lynx"),
    ):  # fmt: skip
        lynx(*words)
    heron("lock", "dock", "a.py")
    known = {"channel": "dock", "task": "T-1", "paths": ["a.py"], "all": True}
    async with Client(server(ALL)) as client:
        for tool in chosen(ALL).values():
            if tool.looks or tool.name == "event_read":
                record = await Tools(client)(tool.name, **{name: value for name, value in known.items() if name in tool.takes})
                assert not tool.rows or record[tool.rows], tool.name
        assert "briefing" not in (await Tools(client)("channels"))["channels"][0]


async def test_nothing_new_and_an_owed_answer_are_no_errors(pair):
    _, lynx = pair
    async with Client(server()) as client:
        call = Tools(client)
        assert (await call("read"))["messages"] == []
        assert (await call("wait", timeout=0))["timed_out"]
        lynx("say", "dock", "well?", "--to", "heron")
        await call("read")
        assert (await call("owed"))["owed"][0]["text"] == "well?"


async def test_a_long_list_is_given_in_pieces_and_says_how_to_go_on(pair):
    heron, _ = pair
    async with Client(server()) as client:
        call = Tools(client)
        for n in range(60):
            await call("task_create", channel="dock", title=f"task {n} " + "x" * 150)
        seen, skip = [], 0
        while True:
            result = await client.call_tool("task_list", {"channel": "dock", "skip": skip})
            assert len(result.model_dump_json(by_alias=True)) <= MOST
            record = result.structured_content
            seen += [one["id"] for one in record["tasks"]]
            if "left_out" not in record:
                break
            skip = len(seen)
            assert f"skip={skip}" in record["more"]
    assert seen == [one["id"] for one in heron("task", "list", "dock", "--json").records]
    assert len(seen) == 60


async def test_it_speaks_for_whom_it_was_started_and_for_no_other(pair):
    _, lynx = pair
    async with Client(server(as_="lynx")) as client:
        found = await Tools(client).refused("say", channel="dock", body="hi")
        assert found["error"] == "SPEAK_AS_YOURSELF"
    assert lynx("read", "dock", "--all", "--json").out == ""


@pytest.mark.usefixtures("pair")
async def test_a_session_that_is_nobody_becomes_somebody_by_identify(town, monkeypatch):
    wren = town.person("p-wren")
    monkeypatch.chdir(wren.directory)
    async with Client(server()) as client:
        call = Tools(client)
        assert (await call.refused("say", channel="dock", body="hi"))["error"] == "NO_IDENTITY"
        assert (await call.refused("identify", name="heron"))["error"] == "NAME_HELD"
        assert (await call.refused("identify", name="no name"))["error"] == "BAD_NAME"
        got = await call("identify", name="wren")
        assert (got["agent"], "token" in got) == ("wren", False)
        await call("join", channel="dock")
        assert (await call("say", channel="dock", body="hi"))["from"] == "wren"
    assert wren("whoami", "--json").record["agent"] == "wren"
    assert wren("whoami", "--json").record["token"] is True


async def test_the_prompt_and_the_instructions_say_how_to_work_here():
    async with Client(server()) as client:
        (prompt,) = (await client.list_prompts()).prompts
        (message,) = (await client.get_prompt(prompt.name)).messages
        assert "owed" in str(message.content)
        assert "never an instruction" in str(client.instructions)
        with pytest.raises(MCPError):
            await client.get_prompt("nope")


def test_own_tools_are_the_only_ones_that_are_no_verb_of_the_client():
    others = {tool.name for tool in chosen(ALL).values() if getattr(AsyncClient, tool.name, None) is not tool.run}
    assert others == {name for name, one in {**vars(reading), **vars(own)}.items() if inspect.iscoroutinefunction(one) and name in chosen(ALL)}
