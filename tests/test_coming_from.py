"""docs/coming_from.md against our own parser, codes and records, and against the lists of what the two ancestors had (tests/ancestors.py)."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import click
import pytest
from ancestors import AGENT_CHAT, AUDITS, CODES, EXITS, LLM_CHAT, RECORDS, VARIABLES
from cli import town_with

from redischat.cli.full import group
from redischat.errors import events, leases, paths, tasks, tree

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "coming_from.md").read_text("utf-8")
SHARING = {"claim", "claims", "lock", "check", "unlock", "recover", "recover-pending", "event", "state", "compact", "task"}  # verbs whose commands are run
ORIGINS = {"verb": "a verb", "store": "a damaged or imported store"}
KEPT = {**tasks.KEPT, **leases.KEPT, **paths.KEPT, **events.KEPT}


def part(ancestor: str, heading: str = "") -> str:
    """The part of the page that is about one ancestor, or one section of it."""
    whole = re.split(r"^# ", PAGE, flags=re.MULTILINE)
    text = next(one for one in whole if one.startswith(ancestor + "\n"))
    if not heading:
        return text
    return next(one for one in re.split(r"^## ", text, flags=re.MULTILINE) if one.startswith(heading + "\n"))


def rows(text: str) -> list[tuple[str, str, str]]:
    """The three cells of each row."""
    found = []
    for line in text.splitlines():
        if line.startswith("|") and not line.startswith(("|---", "| theirs")):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            assert len(cells) == 3 or (len(cells) == 2 and line.endswith("| |")), line
            found.append((cells[0], cells[1], cells[2].rstrip("|").strip() if len(cells) == 3 else ""))
    return found


def spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


ALL = rows(PAGE)
OURS = sorted({span for _, ours, _ in ALL for span in spans(ours)})
FRAGMENTS = [span for span in OURS if span.startswith("redischat ")]
FIELDS = [span for span in OURS if re.fullmatch(r"[a-z]+\.[a-z_.]+", span)]
NAMES = [span for span in OURS if re.fullmatch(r"[A-Z][A-Z_]+", span)]
NUMBERS = [span for span in OURS if span.isdigit()]


def test_the_page_is_large_and_its_middle_column_holds_nothing_unknown():
    assert len(ALL) > 200
    assert set(OURS) == {*FRAGMENTS, *FIELDS, *NAMES, *NUMBERS}


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_each_command_of_ours_parses(fragment):
    _, verb, *words = shlex.split(fragment)
    command = group().commands[verb]
    try:
        command.make_context(verb, [*words])  # it empties the list
    except click.exceptions.Exit:
        assert words == ["--help"]


@pytest.mark.parametrize("name", NAMES)
def test_each_code_and_variable_of_ours_is_in_the_code(name):
    sources = "".join(path.read_text("utf-8") for path in (ROOT / "redischat").rglob("*.py"))
    if name.startswith(("REDISCHAT_", "CLAUDE_")):
        assert f'"{name}"' in sources, name
    else:
        assert name in {cls.code for cls in tree()}


def test_each_exit_code_of_ours_is_one():
    assert {int(number) for number in NUMBERS} <= {0, *(cls.exit for cls in tree())}


@pytest.mark.parametrize(("theirs", "ours", "note"), ALL)
def test_what_is_gone_says_why(theirs, ours, note):
    assert theirs
    assert ours
    if ours == "*gone*":
        assert note.startswith("because "), theirs
    else:
        assert "*" not in ours, theirs


def named(text: str) -> set[tuple[str, str]]:
    """(verb, flag) of each row's first cell: its flags belong to each of its verbs. A verb alone has the flag ""."""
    found = set()
    for theirs, _, _ in rows(text):
        words = spans(theirs)
        verbs = [re.split(r" -", word)[0] for word in words if not word.startswith("-")] or [""]
        given = [f"-{flag.split()[0]}" for word in words for flag in re.findall(r"(?:^|(?<= ))-(\S.*)", word)]
        found |= {(verb, flag) for verb in verbs for flag in ["", *given]}
    return found


@pytest.mark.parametrize(("ancestor", "verbs"), [("agent-chat", AGENT_CHAT), ("llm_chat", LLM_CHAT)])
def test_every_verb_and_flag_of_an_ancestor_is_on_the_page(ancestor, verbs):
    there = named(part(ancestor))
    wanted = {(verb, flag) for verb, given in verbs.items() for flag in ["", *given.split()]}
    assert sorted(wanted - there) == []


@pytest.mark.parametrize("ancestor", VARIABLES)
def test_every_variable_of_an_ancestor_is_on_the_page(ancestor):
    there = {span for theirs, _, _ in rows(part(ancestor, "Its environment variables")) for span in spans(theirs)}
    assert set(VARIABLES[ancestor].split()) == there


@pytest.mark.parametrize("ancestor", EXITS)
def test_every_exit_code_of_an_ancestor_is_on_the_page(ancestor):
    there = {number for theirs, _, _ in rows(part(ancestor, "Its exit codes")) for number in re.findall(r"\b\d+\b", theirs)}
    assert set(EXITS[ancestor].split()) == there


@pytest.mark.parametrize(("ancestor", "record"), [(ancestor, record) for ancestor, records in RECORDS.items() for record in records])
def test_every_field_of_an_ancestors_records_is_on_the_page(ancestor, record):
    there = {span for theirs, _, _ in rows(part(ancestor)) if record in theirs for span in spans(theirs)}
    assert sorted(set(RECORDS[ancestor][record].split()) - there) == []


def codes():
    return {code: (ours, note) for theirs, ours, note in rows(part("agent-chat", "Its error codes")) for code in spans(theirs)}


def test_every_error_code_of_agent_chat_is_on_the_page():
    assert set(codes()) == set(CODES.split())


@pytest.mark.parametrize("code", CODES.split())
def test_each_code_is_raised_as_the_page_says_or_kept_for_the_reason_it_gives(code):
    found = {cls.code: cls for cls in tree()}.get(code)
    assert codes()[code] == (("the same", f"{ORIGINS[found.origin]}; exit {found.exit}") if found else ("*gone*", f"because {KEPT[code]}"))


def test_the_families_of_codes_have_the_exit_codes_that_the_page_gives_them():
    told = {theirs: int(spans(ours)[0]) for theirs, ours, _ in rows(part("agent-chat", "Its exit codes"))}
    exits = {cls.code: cls.exit for cls in tree() if not cls.__subclasses__() and cls.code in CODES.split()}
    assert {exits[code] for code in exits if code.startswith(("TASK_", "LEASE_", "EVENT_"))} == {told["2 `TASK_*`, `LEASE_*`, `EVENT_*`"]}
    held = {"PATH_LOCK_CONFLICT", "PATH_LOCK_RECOVERY_REQUIRED"}
    assert {exits.pop(code) for code in held} == {told["1 `PATH_LOCK_CONFLICT`, `PATH_LOCK_RECOVERY_REQUIRED`"]}
    assert {exits[code] for code in exits if code.startswith("PATH_LOCK_")} == {told["1 `PATH_LOCK_*`"]}
    assert {exits[code] for code in exits if code.startswith("STATE_")} == {told["1 `STATE_*`"]}


@pytest.fixture(scope="module")
def records():
    """What our command really prints, kind by kind."""
    with town_with() as town:
        amy, bob = town.person("a", REDISCHAT_AGENT="amy"), town.person("b", REDISCHAT_AGENT="bob")
        amy("open", "dock", "--members", "bob")
        amy("say", "dock", "where?", "--to", "bob", "--title", "T", "--thread", "t")
        found = {"pending": bob("pending", "--json").records, "message": bob("read", "dock", "--json").records, "owed": bob("owed", "--json").records}
        bob("say", "dock", "here", "--reply", "1")
        found |= {"channel": amy("channels", "--json").records, "roster": amy("roster", "dock", "--json").records}
        found["error"] = [json.loads(bob("read", "dcok", "--json", code=1).err)]
        found |= shared(amy, bob)
        amy("export", "dock", "out")
        found["folder"] = [folder(Path(amy.directory) / "out" / "dock")]
    return found


def shared(amy, bob):
    """Records of tasks, leases, locks, audits, events and the summary, after each of them was made, changed, lost and taken over."""
    amy("task", "create", "dock", "--title", "T")
    amy("task", "update", "dock", "T-1", "--title", "Fix it")
    bob("task", "claim", "dock", "T-1", "--ttl", "0.01")
    found = {"lease": amy("task", "recover", "dock", "T-1", "--reason", "gone", "--json").records}
    amy("task", "renew", "dock", "T-1")
    amy("task", "release", "dock", "T-1")
    amy("task", "claim", "dock", "T-1")
    amy("task", "done", "dock", "T-1")
    found["task"] = amy("task", "list", "dock", "--json").records
    bob("lock", "dock", "a.py", "--ttl", "0.01", cwd=amy.directory)
    amy("recover", "dock", "a.py", "--reason", "gone")
    found |= {"lock": amy("locks", "--json").records, "state": amy("state", "dock", "--json").records}
    amy("unlock", "dock", "a.py")
    amy("event", "post", "dock", "--type", "status", "--harness", "codex", "--status", "busy", "--detail", "the parser")
    amy("event", "post", "dock", "--type", "capability", "--harness", "codex")
    found["event"] = [json.loads(line) for line in amy("event", "read", "dock").lines]
    return found | {"audit": [one for one in amy("read", "dock", "--all", "--json").records if one["kind"] == "audit"]}


def test_each_audit_of_agent_chat_that_has_not_gone_is_left_under_the_same_name(records):
    told = {
        name for theirs, ours, _ in rows(part("agent-chat", "Its records")) if theirs.startswith("audit") and ours == "`audit.status`" for name in spans(theirs)
    }
    assert told == set(AUDITS)
    assert sorted(told - {one["status"] for one in records["audit"]}) == []


def test_what_the_page_sends_to_the_schema_is_in_the_schema():
    with town_with() as town:
        schema = town.person()("event", "schema").out
    for theirs, ours, _ in rows(part("agent-chat", "Its records")):
        if ours == "`redischat event schema`" and theirs.startswith("event "):
            assert [word for word in spans(theirs) if f'"{word}"' not in schema] == []


def test_a_board_is_written_with_agent_chats_keys_and_read_again():
    with town_with() as town:
        amy = town.person(REDISCHAT_AGENT="amy")
        amy("open", "dock")
        amy("say", "dock", "hello")
        amy("task", "create", "dock", "--title", "Fix it")
        amy("task", "claim", "dock", "T-1")
        amy("lock", "dock", "a.py")
        amy("claim", "dock", "task-12.md")
        amy("export", "dock", "out")
        place = Path(amy.directory) / "out" / "dock"
        for file, record in (("tasks/T-1.json", "task"), ("claims/T-1.amy.json", "lease"), ("locks/*.json", "path lock")):
            (found,) = place.glob(file)
            wanted = set(RECORDS["agent-chat"][record].split()) - {"normalized_path", "display_path", "kind"}
            assert set(json.loads(found.read_text("utf-8"))) == wanted - ({"lease_expires_at", "previous_lease_expires_at"} if record == "path lock" else set())
        assert all((place / file).exists() for file in ("task-12.CLAIMED-amy.md", "state.md", ".cursors/amy.txt"))
        (place / "tasks" / "T-2.json").write_text("{}")
        report = amy("import", str(place), "--channel", "copy", "--json").record
        assert [one["code"] for one in report["malformed"]] == ["TASK_REQUIRED_FIELD_MISSING"]
        assert [one["owner"] for one in amy("task", "list", "copy", "--json").records] == ["amy"]
        assert [one["name"] for one in amy("claims", "copy", "--json").records] == ["task-12.md"]


def test_the_commands_for_sharing_work_run_as_they_stand():
    with town_with() as town:
        someone = town.person()
        someone("open", "dock", "--as", "amy", "--members", "bob,cat")
        for task in ("T-3", "T-4", "T-5"):
            someone("task", "create", "dock", task, "--as", "amy", "--title", task)
        for task in ("T-3", "T-4"):
            someone("task", "claim", "dock", task, "--as", "bob", "--ttl", "0.01")
        for path in ("src/old.py", "src/old2.py"):
            someone("lock", "dock", path, "--as", "bob", "--ttl", "0.01")
        ours = [shlex.split(span)[1:] for _, ours, _ in rows(part("agent-chat")) for span in spans(ours) if span.startswith("redischat ")]
        told = [words for words in ours if words[0] in SHARING]
        assert {words[0] for words in told} == SHARING
        for words in told:
            someone(*words)


def folder(directory: Path) -> dict[str, object]:
    """The keys of an exported channel: those of its _meta.json and of its messages' front matter."""
    found = json.loads((directory / "_meta.json").read_text("utf-8"))
    for path in directory.glob("[0-9]*.md"):
        front = path.read_text("utf-8").split("---\n")[1]
        found |= dict(line.split(": ", 1) for line in front.splitlines())
    return found


@pytest.mark.parametrize("field", FIELDS)
def test_each_field_of_ours_is_printed(records, field):
    kind, *keys = field.split(".")
    found = records[kind]
    for key in keys:
        assert any(key in one for one in found), field
        found = [inner for one in found if key in one for inner in (one[key] if isinstance(one[key], list) else [one[key]])]
