"""Every way to say no: one code, one exit code by meaning, a remedy that runs; and every state of a broker is told for what it is."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shlex
import socket
import time
from pathlib import Path

import fakes
import pytest
from cli import scratch, town_at, town_with
from waiting import wait_until

from redischat import errors, wire
from redischat.__main__ import quick
from redischat.calls.call import plain
from redischat.cli import full
from redischat.cli.verbs import VERBS
from redischat.errors import ChatError, events, leases, paths, tasks, tree
from redischat.files import folder

ROOT = Path(__file__).parent.parent
SCRIPTS = Path(folder("scripts"))
LEAVES = [cls for cls in tree() if not cls.__subclasses__()]

# The words of scripts.

REPLY = re.compile(r"\{\"([a-z_]+)\"")


def replies(code):
    """The first words of what is returned."""
    return {word for row in code.splitlines() if "return " in row for word in REPLY.findall(row.partition("return ")[2])}


def code_of(path):
    """A script's Lua without comments, with the parts that stand before it."""
    text = path.read_text("utf-8")
    with_ = re.search(r"^-- with: (.+)$", text, re.MULTILINE)
    parts = [(SCRIPTS / "parts" / f"{part}.lua").read_text("utf-8") for part in (with_.group(1).split(", ") if with_ else ())]
    return re.sub(r"--[^\n]*", "", "\n".join([*parts, text]))


def scripts():
    return sorted(path for path in SCRIPTS.glob("*.lua") if path.name != "prelude.lua")


def test_every_word_of_a_script_has_its_error_and_every_error_with_a_word_its_script():
    said = {word for path in [*scripts(), SCRIPTS / "prelude.lua"] for word in replies(code_of(path))}
    known = {cls.word for cls in tree() if cls.word}
    assert said - {"ok", "again"} == known


@pytest.mark.parametrize("path", scripts(), ids=lambda path: path.stem)
def test_a_script_says_at_its_top_what_it_replies(path):
    head = "\n".join(row for row in path.read_text("utf-8").splitlines() if row.startswith("--"))
    assert replies(code_of(path)) <= set(re.findall(r'\{"([a-z_]+)"', head)) | ({"again"} if "idem" not in head else set()), path.name


def test_the_fields_of_a_refusal_are_named():
    refused = errors.refusal(["no_seq", "dock", 9, 3])
    assert (refused.code, refused.facts) == ("NO_SUCH_SEQ", {"channel": "dock", "seq": 9, "head": 3})
    assert refused.record()["message"] == refused.sentence()


# The tree.


def test_codes_are_unique_and_each_exit_code_has_one_meaning():
    codes = [cls.code for cls in tree()]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[A-Z][A-Z_]+", code) for code in codes)
    families = {
        errors.Usage: 64, errors.Refused: 1, errors.LostRace: 3, errors.TimedOut: 4, errors.CouldNotLook: 5, errors.Defect: 70, errors.Interrupted: 130,
        tasks.TaskRefused: 2, leases.LeaseRefused: 2, events.EventRefused: 2,
    }  # fmt: skip
    assert {cls: cls.exit for cls in ChatError.__subclasses__()}.items() <= families.items()
    for leaf in LEAVES:
        family = next(cls for cls in leaf.__mro__ if cls in families)
        assert leaf.exit == families[family], leaf.code


def test_the_page_draws_the_whole_tree():
    drawn = dict(re.findall(r"^ +- (\w+) +([A-Z_]+)(?: |$)", errors.__doc__, re.MULTILINE))
    assert drawn == {cls.__name__: cls.code for cls in LEAVES if cls.__module__ == errors.__name__}


def test_each_other_page_holds_the_codes_of_its_prefix():
    prefixes = {tasks: ("TASK_", "NOTHING_READY"), leases: ("LEASE_",), paths: ("PATH_LOCK_",), events: ("EVENT_", "STATE_")}
    for page, mine in prefixes.items():
        assert page.KEPT
        raised = {cls.code for cls in LEAVES if cls.__module__ == page.__name__}
        assert all(code.startswith(mine) for code in (*raised, *page.KEPT))
        assert not raised & page.KEPT.keys(), "a kept name is one that nothing raises"
        assert all(why for why in page.KEPT.values())


SAMPLE = {
    "message": "what was asked", "name": "a/b", "kind": "channel", "what": "message", "size": 9, "unit": "bytes", "limit": 5, "remedy": "Send parts.", "names": "heron and lynx", "first": "heron", "agent": "heron",
    "wanted": "lynx", "session": "shell@host:/p", "host": "host", "since": "2026-11-30T22:25:44.123Z", "seen": "2026-11-30T22:25:44.123Z", "project": "/p", "channel": "dock", "nearest": "dock", "reason": "it reached its cap of 5 messages",
    "members": ["heron", "lynx"], "seq": 7, "head": 3, "cap": 5, "used": 9, "found": "2", "ours": "1", "url": "unix:///s", "answer": "ERR no", "seconds": "900", "why": "refused", "pid": 17, "directory": "/d", "version": "version 6.2", "path": "/s", "ts": "x",
    "task": "T-1", "holder": "lynx", "expires_at": "2026-11-30T22:25:44.123Z", "claimed_at": "2026-11-30T22:25:44.123Z", "status": "open", "to": "done", "by": "heron", "dependency": "T-2", "cycle": "T-1 -> T-2 -> T-1",
    "waits_for": "T-2 (open)", "token": 7, "current": 8, "most": 50, "where": "tasks/T-1.json", "target": "src/a.py", "asked": "src/a.py", "lock_id": "00000000000000000000000000000001", "repository": "host/repo", "how": "origin URL", "circle": "a waits for b",
    "python": "/bin/python", "extra": "mcp", "system": "linux", "least": 60, "folder": "shop", "count": "2 sessions", "sessions": "s1, s2", "state": "busy",
    "user": "heron", "verb": "rotate", "servers": ["h1:6379"], "missing": {"h2:6379": "Connection refused"}, "wrong": ["missing: the token"],
}  # fmt: skip


@pytest.mark.parametrize("cls", LEAVES, ids=lambda cls: cls.code)
def test_an_error_writes_one_line_of_its_facts_and_bears_missing_ones(cls):
    sentence = cls(**SAMPLE).sentence()
    assert sentence
    assert not re.search(r"[{}\n]", sentence)
    assert " ?" not in sentence.replace("Did you mean", "")
    assert cls().sentence() is not None


# Remedies.

PLACEHOLDERS = re.compile(r"\bN\b")  # stands for a number in what is printed
COMMANDED = re.compile(r"(?:[:(`,]|\b(?:or|run|once|with))\s*$")  # what stands before a command, not before the tool's name in a sentence
END = re.compile(r"""[.,:;)`"'(\[\]|]+(?=\s|$)|\s{2,}|\n|$|\s\(""")


def commands(text):
    """The commands that a text names: the words behind ``redischat`` up to the end of the clause."""
    found = []
    for hit in re.finditer(r"\bredischat (?=[\w-])", text):
        words = END.split(text[hit.end() :], maxsplit=1)[0].split()
        if words and (words[0] in VERBS or COMMANDED.search(text[: hit.start()])):
            found.append(words)
    return found


def parsed(words):
    """Does the real parser take this?"""
    if quick(words) is not None:
        return True
    with contextlib.suppress(full.click.ClickException):
        return isinstance(full.group().main(args=words, prog_name="redischat", standalone_mode=False), tuple) or words[-1] == "--help"
    return False


def assert_runnable(text, where):
    for words in commands(text):
        if words[0].startswith("7"):
            continue  # a verb that is filled in
        filled = [PLACEHOLDERS.sub("7", word) for word in words]
        best = next((n for n in range(len(filled), 0, -1) if parsed(filled[:n])), 0)
        assert best, f"{where}: 'redischat {' '.join(words)}' is no command"
        assert not any(word.startswith("-") for word in words[best:]), f"{where}: 'redischat {' '.join(words)}' has a flag that the verb does not take"


@pytest.mark.parametrize("cls", LEAVES, ids=lambda cls: cls.code)
def test_every_remedy_that_an_error_prints_is_a_command(cls):
    assert_runnable(cls(**SAMPLE).sentence(), cls.code)
    assert_runnable(cls(**{**SAMPLE, "reason": "shipped", "nearest": None, "members": []}).sentence(), cls.code)
    if cls is errors.NotMember:
        assert_runnable(cls(agent="heron", channel="").sentence(), cls.code)


def texts(path):
    """Every text in a source file; what is filled in later is a 7, which is a name and a number."""
    tree_ = ast.parse(path.read_text("utf-8"))
    pieces = {id(part) for node in ast.walk(tree_) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree_):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in pieces:
            yield re.sub(r"\{[^{}]*\}", "7", node.value) + "7" * node.value.endswith(" ")  # the rest is put behind it


@pytest.mark.parametrize(
    "path", sorted(path for path in (ROOT / "redischat").rglob("*.py") if "sync" not in path.parts), ids=lambda path: str(path.relative_to(ROOT))
)
def test_every_command_that_the_source_names_is_a_command(path):
    for text in texts(path):
        assert_runnable(text, path.name)


def test_what_the_remedy_test_would_catch():
    for wrong in ("Try: redischat reed dock", "Try: redischat read dock --al", "Try: redischat ack dock", "Try: redischat reopen dock --max-messages many"):
        with pytest.raises(AssertionError):
            assert_runnable(wrong, "here")


def test_the_remedies_of_a_whole_session_are_commands_and_work(town):
    heron, lynx = town.pair()
    town.person("p-heron")("identify", "twin")
    said = []

    def told(person, *words, code=0, **given):
        done = person(*words, code=code, **given)
        said.append(done)
        return done

    def follow(person, refused, start):
        """Do what the refusal says."""
        words = next(words for words in commands(refused.err + refused.out) if words[: len(start)] == list(start))
        return told(person, *words)

    kite = town.agent("kite")
    follow(kite, told(kite, "say", "dock", "hello", code=1), ("join",))
    follow(kite, told(kite, "say", "quay", "hello", code=1), ("open",))
    follow(kite, told(kite, "mode", "dock", "broadcast", code=1), ("mode",))
    follow(kite, told(kite, "delete", "quay"), ("delete",))
    follow(kite, told(kite, "retain", "dock", "1"), ("retain",))
    told(lynx, "close", "dock", "--reason", "shipped")
    follow(kite, told(kite, "say", "dock", "hello", code=1), ("reopen",))
    told(heron, "say", "dock", "x", code=1)
    told(town.person("nowhere"), "read", code=1)
    follow(kite, told(kite, "say", "dock", "x", "--as", "crane", code=1), ("identify",))
    town.server.last_seen("lynx", 200)
    follow(kite, told(kite, "identify", "lynx", code=1), ("identify", "lynx"))
    stork = town.agent("stork")
    follow(stork, told(stork, "read", "nothere", code=1), ("channels",))
    told(kite, "say", "dock", "which of the three am I?", code=1)
    kite.env["REDISCHAT_AGENT"] = "kite"
    told(kite, "say", "dock", "to be answered", "--to-all")
    for words in (
        ("read", "dock"),
        ("owed",),
        ("pending",),
        ("channels",),
        ("peek", "dock"),
        ("join", "dock"),
        ("invite", "dock"),
        ("read", "dock", "--since", "1", "--limit", "1"),
        ("briefing", "dock"),
        ("leave", "dock"),
        ("whoami",),
    ):
        told(kite, *words)
    told(kite, "sya", code=64)
    told(kite, "say", code=64)
    for done in said:
        assert_runnable(done.out + done.err, done)


# States of a broker.


def test_a_broker_that_is_loading_is_waited_for_with_one_notice():
    tries = iter(range(5))

    def answer(_):
        return fakes.error("LOADING Redis is loading the dataset in memory") if next(tries, None) is not None else fakes.array()

    with fakes.saying(answer) as fake, town_at(fake.url) as town:
        done = town.person()("channels")
    assert "no channels yet" in done.out
    assert done.err.count("loading") == 1


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("LOADING Redis is loading the dataset in memory", "BROKER_LOADING"),
        ("READONLY You can't write against a read only replica.", "BROKER_READONLY"),
        ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "BROKER_UNABLE"),
        ("CLUSTERDOWN The cluster is down", "BROKER_UNABLE"),
        ("TRYAGAIN Multiple keys request during rehashing of slot", "BROKER_UNABLE"),
        ("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "BROKER_UNABLE"),
        ("NOREPLICAS Not enough good replicas to write.", "BROKER_UNABLE"),
        ("OOM command not allowed when used memory > 'maxmemory'. script: 0, on @user_script:1.", "BROKER_OUT_OF_MEMORY"),
        ("MISCONF Valkey is configured to save RDB snapshots", "BROKER_CANNOT_PERSIST"),
        ("NOPERM User x has no permissions to run the 'xadd' command", "BROKER_NOT_ALLOWED"),
        ("NOAUTH Authentication required.", "BROKER_NOT_ALLOWED"),
        ("ERR max number of clients reached", "BROKER_MAX_CLIENTS"),
    ],
)
def test_what_a_server_says_becomes_an_error_of_ours_and_is_exit_5(said, code, monkeypatch):
    monkeypatch.setattr(wire, "RETRY_S", 0.1)
    monkeypatch.setattr(wire, "LOADING_S", 0.1)
    with fakes.saying(lambda _: fakes.error(said)) as fake, contextlib.closing(wire.Wire(fake.url)) as line, pytest.raises(ChatError) as refused:
        line.run(plain("HGETALL", "x"))
    assert (refused.value.code, refused.value.exit) == (code, 5)
    assert " script: " not in refused.value.sentence()


@pytest.mark.parametrize("verb", [("say", "dock", "x"), ("open", "dock"), ("wait", "dock", "--timeout", "5"), ("read", "dock"), ("identify", "heron")])
def test_a_server_that_is_too_old_is_refused_naming_its_version(verb):
    with fakes.saying(fakes.old()) as fake, town_at(fake.url) as town:
        done = town.person(REDISCHAT_AGENT="heron")(*verb, code=5)
        silent = fakes.old("")
        fake.answer = silent
        quiet = town.person(REDISCHAT_AGENT="heron")(*verb, code=5)
    assert (done.error, quiet.error) == ("BROKER_TOO_OLD", "BROKER_TOO_OLD")
    assert "6.2.14" in done.err
    assert "7.0" in done.err


def test_a_new_server_that_lacks_a_command_is_not_called_old():
    with fakes.saying(fakes.old("8.2.1")) as fake, town_at(fake.url) as town:
        done = town.person(REDISCHAT_AGENT="heron")("wait", "dock", code=1)
    assert done.error == "BROKER_REFUSED"
    assert "SSUBSCRIBE" in done.err


def test_what_is_no_broker_at_all_is_told_within_seconds(town):
    """Nothing listening, a server that accepts and never answers, one that hangs up, one that speaks something else: all at once, for they take their time."""
    with contextlib.ExitStack() as all_:
        home = all_.enter_context(scratch())
        mute = all_.enter_context(fakes.saying(lambda _: None))
        web = all_.enter_context(fakes.saying(lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"))
        door = all_.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = door.getsockname()[1]
        door.close()
        urls = {"nothing": f"unix://{home}/s", "refused": f"redis://127.0.0.1:{port}/0", "mute": mute.url, "web": web.url}
        began = time.monotonic()
        started = {what: town.person().start("channels", "--url", url) for what, url in urls.items()}
        told = {what: process.communicate(timeout=40) for what, process in started.items()}
        assert time.monotonic() - began < 25
        for what, (out, err) in told.items():
            text = err.decode()
            assert (started[what].returncode, out) == (5, b""), text
            assert "BROKER_UNREACHABLE" in text, what
            assert urls[what] in text
            assert text.count("\n") <= 2, "one notice, one refusal"


def test_in_a_sandbox_nothing_is_started_and_the_ways_that_work_are_named(town):
    caged = town.person(CODEX_SANDBOX_NETWORK_DISABLED="1", REDISCHAT_URL="")
    for words in (("channels",), ("say", "dock", "x", "--as", "heron"), ("wait", "--as", "heron")):
        done = caged(*words, code=5)
        assert done.error == "SANDBOXED"
        assert "MCP" in done.err
    assert not os.path.exists(os.path.join(town.state, "broker"))
    assert caged("channels", "--url", "unix:///nowhere/s", code=5).error == "SANDBOXED"
    assert caged("channels", "--url", town.server.url).code == 0, "where the sandbox lets it through, it works"


def test_a_wrong_password_is_told_with_the_place_and_without_the_password():
    with town_with("--requirepass", "sesame") as town:
        for url in (town.server.url, town.server.url.replace("://", "://:guess@")):
            done = town.person()("channels", "--url", url, code=5)
            assert done.error == "BROKER_NOT_ALLOWED"
            assert "guess" not in done.err
        assert town.person()("channels", "--url", town.server.url.replace("://", "://:sesame@")).code == 0


def test_a_server_with_too_many_clients_says_so():
    with town_with("--maxclients", "3") as town, contextlib.ExitStack() as lines:
        for _ in range(3):
            line = lines.enter_context(socket.socket(socket.AF_UNIX))
            line.connect(town.server.socket)
            line.sendall(b"PING\r\n")
            line.recv(9)
        for words in (("channels",), ("wait", "--as", "heron", "--timeout", "3"), ("say", "dock", "x", "--as", "heron")):
            done = town.person()(*words, code=5)
            assert done.error == "BROKER_MAX_CLIENTS", done


def test_a_waiter_that_finds_no_second_connection_waits_for_one_and_loses_nothing():
    with town_with("--maxclients", "3") as town, contextlib.ExitStack() as lines:
        heron, lynx = town.pair()
        held = [lines.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(2)]
        for line in held:
            line.connect(town.server.socket)
            line.sendall(b"PING\r\n")
            line.recv(9)
        waiting = lynx.start("wait", "dock", "--timeout", "30", "--json")
        wait_until(lambda: b"rejected_connections:0" not in _ask(held[0], b"INFO stats\r\n"), "the waiter was turned away")
        held[1].close()
        wait_until(lambda: b"SSUBSCRIBE" in _ask(held[0], b"INFO commandstats\r\n").upper(), "it has come in")
        _ask(held[0], b"PING\r\n")
        held[0].close()
        heron("say", "dock", "hello")
        out, err = waiting.communicate(timeout=30)
        assert json.loads(out)["body"] == "hello", err


def _ask(line, words):
    line.sendall(words)
    line.settimeout(5)
    return line.recv(1 << 20)


def test_a_replica_refuses_what_writes_and_shows_what_it_has():
    with town_with() as town:
        heron, _ = town.pair()
        heron("say", "dock", "before")
        town.server.ask("REPLICAOF", "127.0.0.1", "1")
        said = heron("say", "dock", "x", code=5)
        assert said.error == "BROKER_READONLY"
        assert town.server.url in said.err
        assert heron("peek", "dock", "--json").records[-1]["body"] == "before"
        town.server.ask("REPLICAOF", "NO", "ONE")
        assert heron("say", "dock", "after", "--json").record["seq"] == 2


def test_a_full_store_refuses_what_adds_whole_and_lets_everything_else_end():
    with town_with("--maxmemory-policy", "noeviction") as town:
        heron, lynx = town.pair()
        for room in ("left", "closed", "gone"):
            heron("open", room, "--members", "lynx")
        heron("reopen", "dock", "--max-messages", "0")
        heron("say", "dock", "one")
        used = int(re.findall(r"used_memory:(\d+)", town.server.ask("INFO", "memory"))[0])
        town.server.ask("CONFIG", "SET", "maxmemory", str(used + 300_000))
        for size in (100_000, 10_000, 1_000, 1):
            while (done := heron("say", "dock", "-", stdin="x" * size, code=None)).code == 0:
                pass
            assert (done.code, done.error) == (5, "BROKER_OUT_OF_MEMORY")
        head = len(town.server.ask("XRANGE", "rc1:{default}:ch:dock:messages", "-", "+"))
        before = town.server.everything()
        for words in (("say", "dock", "x"), ("say", "left", "x"), ("open", "new"), ("join", "new"), ("say", "dock", "x", "--to", "lynx")):
            assert heron(*words, code=5).error == "BROKER_OUT_OF_MEMORY", words
            assert town.server.everything() == before, words
        assert heron("leave", "left", "--json").record["left"] is True
        assert heron("close", "closed", "--reason", "full", "--json").record["closed"] is True
        assert lynx("ack", "dock", "1", "--json").record["read"] == 1
        assert [one["seq"] for one in lynx("read", "dock", "--json").records] == list(range(2, head + 1))
        assert lynx("read", "dock", "--json").records == []
        assert lynx("wait", "dock", "--timeout", "0.1", code=4).error == "TIMED_OUT"
        assert heron("delete", "gone", "--yes", "--json").record["deleted"] is True
        town.server.ask("CONFIG", "SET", "maxmemory", "0")
        assert heron("say", "dock", "room again", "--json").record["seq"] == head + 1
        told = heron("retain", "dock", "1", "--yes", "--json").record
        assert told["removed"] == head


def test_what_strangers_wrote_is_refused_by_name_and_never_a_traceback(town):
    heron, lynx = town.pair()
    stream = "rc1:{default}:ch:dock:messages"
    heron("say", "dock", "ours")
    town.server.ask("XADD", stream, "5-0", "raw", "entry")
    refused = heron("say", "dock", "more", code=1)
    assert refused.error == "CHANNEL_DAMAGED"
    assert [one["body"] for one in lynx("read", "dock", "--json").records] == ["ours"]
    (remedy,) = commands(refused.err)
    heron(*remedy)
    assert heron("say", "dock", "more", "--json").record["seq"] == 2
    town.server.ask("DEL", "rc1:{default}:heads")
    town.server.ask("SET", "rc1:{default}:heads", "x")
    for words in (("channels",), ("read",), ("say", "dock", "x")):
        assert heron(*words, code=1).error == "BROKER_REFUSED", words


def test_a_defect_is_one_line_and_tells_how_to_see_more(town):
    heron, _ = town.pair()
    town.server.ask("HSET", "rc1:{default}:heads", "dock", "nonsense")
    done = heron.shell("$RC channels")
    assert (done.code, done.error) == (70, "DEFECT")
    assert done.err.count("\n") == 1
    assert json.loads(heron.shell("$RC channels --json").err)["error"] == "DEFECT"
    assert "Traceback" in heron.shell("$RC channels", REDISCHAT_DEBUG="1").err


def test_the_tables_of_exit_codes_are_kept_by_the_command(town):
    heron, lynx = town.pair()
    assert heron("say", "dock", "x").code == 0
    assert heron("delete", "dock").code == 0
    assert lynx("owed").code == 0
    assert lynx("read").code == 0
    assert lynx("read").code == 0
    assert lynx("say", "nowhere", "x", code=1).error == "NO_CHANNEL"
    assert lynx("wait", "--timeout", "0", code=4).error == "TIMED_OUT"
    assert lynx("read", "--nope", code=64).error == "USAGE"
    assert lynx.shell("$RC read >&-").code in (0, 5)
    assert shlex.split(VERBS["say"].example)[0] == "redischat"
