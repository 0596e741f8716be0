"""Which session is which agent, over a session's life: it starts, is compacted, cleared, resumed, forked, has subagents, sleeps, and ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from cli import Person

from redischat import Client
from redischat.errors import NotYou
from redischat.files import folder
from redischat.hook import wake

TICK = os.path.join(folder("hooks"), "tick.py")
PRESENCE, AGENTS, SESSIONS = ("rc1:{default}:" + what for what in ("presence", "agents", "sessions"))
OTHER_PROCESS = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"
HOUR = 3_600


class Session(Person):
    """A session of a harness in a project: its shell types commands, its hooks get events."""

    def __init__(self, town, place, id_, client="claude", **env):
        found = town.person(place)
        knows = {"claude": {"CLAUDE_CODE_SESSION_ID": id_}, "gemini": {"GEMINI_SESSION_ID": id_}}.get(client, {})
        super().__init__(town, found.directory, **knows, **env)
        self.id, self.client = id_, client

    def hook(self, name, *, process=(), **facts):
        """Send an event through tick.py; its answer. ``process``: words that start it, so that it is of another process of the harness."""
        event = {"hook_event_name": name, "session_id": self.id, "cwd": self.directory, **facts}
        env = {**self.town.env, **self.env, **({"CLAUDE_PROJECT_DIR": self.directory} if self.client == "claude" else {})}
        words = [*process, sys.executable, "-I", "-S", TICK, self.client]
        done = subprocess.run(words, input=json.dumps(event).encode(), env=env, cwd=self.directory, capture_output=True, timeout=30, check=False)
        assert done.returncode in (0, 2), done
        log = Path(self.town.state, "hook.log")
        assert not (log.exists() and "Error" in log.read_text("utf-8")), log.read_text("utf-8")
        return json.loads(done.stdout) if done.stdout else {}

    def told(self, name, **facts):
        """What the model is told at an event."""
        return self.hook(name, **facts).get("hookSpecificOutput", {}).get("additionalContext", "")

    def starts(self, source="startup", **facts):
        return self.told("SessionStart", source=source, **facts)

    def uses(self, **facts):
        """A tool was used."""
        return self.told("PostToolBatch" if self.client == "claude" else "AfterTool" if self.client == "gemini" else "PostToolUse", **facts)


@pytest.fixture
def harbour(town):
    """A town in which no waker starts: nothing happens but what the test does."""
    held = wake.lock(town.state)
    assert held is not None
    yield town
    os.close(held)


def wishes(town, place, agent):
    """A project whose sessions wish to be this agent."""
    directory = Path(town.person(place).directory, ".redischat")
    directory.mkdir(exist_ok=True)
    (directory / "config").write_text(f"agent={agent}\n", "utf-8")


def heron_at(town, id_="s-1", **options):
    """heron, in a session that has started, and lynx at a shell; both are in #dock."""
    wishes(town, "p-heron", "heron")
    heron = Session(town, "p-heron", id_, **options)
    lynx = town.agent("lynx")
    lynx("open", "dock", "--members", "heron")
    heron.starts()
    return heron, lynx


def seats(town):
    """agent -> the sessions that are known."""
    found = town.person()("who", "--all", "--json").records
    return {row["agent"]: [one["session"] for one in row["sessions"] if not one["inferred"]] for row in found}


def me(session, *words):
    return session("whoami", "--json", *words).record["agent"]


def test_a_session_that_starts_is_told_who_it_is_and_its_shell_is_the_same(harbour):
    heron, lynx = heron_at(harbour)
    assert me(heron) == "heron"
    text = heron.starts("compact")
    assert text.startswith("redischat: you are heron.")
    assert len(text) <= 1_500
    assert seats(harbour)["heron"] == ["s-1"]
    lynx("say", "dock", "for you", "--to", "heron")
    assert "for you" in heron.uses()
    assert heron.uses() == ""


def test_ops_04_a_session_that_is_in_no_channel_is_told_how_to_come_in(harbour):
    wishes(harbour, "p", "heron")
    assert "redischat join CHANNEL" in Session(harbour, "p", "s-1").starts()


def test_a_session_of_nobody_is_told_nothing_until_it_identifies(harbour):
    lynx = harbour.agent("lynx")
    lynx("open", "dock", "--members", "heron")
    heron = Session(harbour, "p-heron", "s-1")
    given = heron.hook("SessionStart", source="startup")
    assert list(given["hookSpecificOutput"]) == ["hookEventName", "watchPaths"]  # so that it can be woken when it has become somebody
    (bell,) = given["hookSpecificOutput"]["watchPaths"]
    assert os.path.exists(bell)  # what is not there is not watched
    assert heron.uses() == ""
    heron("identify", "heron")
    lynx("say", "dock", "welcome", "--to", "heron")
    assert "welcome" in heron.uses()
    assert seats(harbour)["heron"] == ["s-1"]
    passing = Session(harbour, "p-heron", "s-2")
    passing.hook("SessionStart", source="startup")
    passing.hook("SessionEnd", reason="other")
    assert os.listdir(os.path.dirname(bell)) == ["s-1"]


def test_a_session_that_identifies_anew_is_the_other_one_for_its_hooks_and_for_who(harbour):
    heron, lynx = heron_at(harbour)
    lynx("open", "kiln", "--members", "kite")
    heron("identify", "kite")
    lynx("say", "kiln", "for kite", "--to", "kite")
    lynx("say", "dock", "for heron", "--to", "heron")
    text = heron.uses()
    assert "for kite" in text
    assert "for heron" not in text
    assert (seats(harbour)["kite"], seats(harbour)["heron"]) == (["s-1"], [])


# A session goes on under another id.


def test_ident_03_a_cleared_session_is_the_same_agent_with_its_mail_its_lock_and_its_task(harbour):
    heron, lynx = heron_at(harbour)
    subprocess.run(["git", "init", "-q"], cwd=heron.directory, check=True)
    heron("lock", "dock", "src/a.py")
    heron("task", "create", "dock", "T-1", "--title", "x")
    heron("task", "claim", "dock", "T-1")
    lynx("say", "dock", "one", "--to", "heron")
    lynx("say", "dock", "two", "--to", "heron")
    heron.hook("SessionEnd", reason="clear")
    after = Session(harbour, "p-heron", "s-2")
    assert after.starts("clear").startswith("redischat: you are heron.")
    text = after.told("UserPromptSubmit", prompt="go on")
    assert [text.count(one) for one in ("    one\n", "    two\n")] == [1, 1]
    assert after.uses() == ""
    assert after("read", "--json").out == ""
    after("unlock", "dock", "src/a.py")
    after("task", "done", "dock", "T-1")
    assert seats(harbour)["heron"] == ["s-2"]
    assert harbour.server.ask("HLEN", AGENTS) == 2


def test_ident_03_whoever_kept_the_old_id_still_acts_as_the_agent(harbour, monkeypatch):
    heron, lynx = heron_at(harbour)
    for name, value in {**harbour.env, **heron.env}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(heron.directory)
    with Client() as server:  # as an MCP server that was started under the old id
        assert server.agent == "heron"
        heron.hook("SessionEnd", reason="clear")
        after = Session(harbour, "p-heron", "s-2")
        after.starts("clear")
        assert server.post("dock", "from the old id").sender == "heron"
        assert heron("say", "dock", "from an old shell", "--json").record["from"] == "heron"
        assert after("say", "dock", "from the new one", "--json").record["from"] == "heron"
        assert heron("whoami", "--json").record["token"] is after("whoami", "--json").record["token"] is True
        assert heron("identify", "heron", "--json").record["how"] == "mine"  # the proof is drawn anew, for both ids
        assert after("say", "dock", "still me", "--json").record["from"] == "heron"
    assert len(lynx("read", "dock", "--json").records) == 4
    lynx("say", "dock", "for heron", "--to", "heron")
    assert "for heron" in after.uses()
    assert (seats(harbour)["heron"], os.listdir(os.path.join(harbour.state, "sessions"))) == (["s-2"], ["s-2"])


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_ident_03_a_new_id_without_a_word_of_the_old_ones_end_goes_on_too(harbour, source):
    heron, lynx = heron_at(harbour)
    lynx("say", "dock", "one", "--to", "heron")
    after = Session(harbour, "p-heron", "s-2")
    assert after.starts(source).startswith("redischat: you are heron.")
    assert "    one\n" in after.uses()
    assert heron.uses() == ""
    assert seats(harbour)["heron"] == ["s-2"]


def test_ident_03_compaction_keeps_the_id_and_resuming_keeps_the_agent(harbour):
    heron, _ = heron_at(harbour)
    heron.starts("compact")
    heron.hook("SessionEnd", reason="resume")
    after = Session(harbour, "p-heron", "s-2")
    after.starts("resume")
    assert (me(after), seats(harbour)["heron"]) == ("heron", ["s-2"])
    after.hook("SessionEnd", reason="resume")
    heron.starts("resume")  # back to the first conversation, which has been heron before
    assert (me(heron), seats(harbour)["heron"]) == ("heron", ["s-1"])
    assert heron("identify", "heron", "--json").record["how"] == "mine"
    assert harbour.server.ask("HGET", AGENTS, "heron").split(" ")[2] == "s-1"


def test_what_is_known_of_waking_goes_along(harbour):
    heron, _ = heron_at(harbour)
    words = harbour.server.ask("HGET", PRESENCE, "s-1").split(" ")
    words[10] = words[5]  # a wake has landed
    harbour.server.ask("HSET", PRESENCE, "s-1", " ".join(words))
    heron.hook("SessionEnd", reason="clear")
    Session(harbour, "p-heron", "s-2").starts("clear")
    (row,) = [row for row in heron("who", "--json").records if row["agent"] == "heron"]
    assert [one["wake"]["proof"] for one in row["sessions"]] == ["proved"]


@pytest.mark.parametrize(("source", "process"), [("fork", ()), ("startup", ()), ("clear", (sys.executable, "-c", OTHER_PROCESS)), ("resume", ())])
def test_a_fork_and_a_session_of_another_process_are_agents_of_their_own(harbour, source, process):
    heron, _ = heron_at(harbour)
    other = Session(harbour, "p-heron", "s-2222-abcdefgh")
    other.starts(source, process=process)
    assert (me(heron), me(other)) == ("heron", "p-heron-abcdefgh")
    assert seats(harbour)["heron"] == ["s-1"]
    assert seats(harbour)["p-heron-abcdefgh"] == ["s-2222-abcdefgh"]


def test_a_new_session_takes_up_the_wished_name_of_one_that_has_ended(harbour):
    heron, lynx = heron_at(harbour)
    lynx("say", "dock", "for the next one", "--to", "heron")
    heron.hook("SessionEnd", reason="prompt_input_exit")
    later = Session(harbour, "p-heron", "s-2")
    later.starts()
    assert me(later) == "heron"
    assert "for the next one" in later.told("UserPromptSubmit", prompt="hi")


def test_a_session_that_is_idle_for_days_keeps_its_name_while_its_harness_is_there(harbour):
    heron, _ = heron_at(harbour)
    harbour.server.last_seen("heron", 72 * HOUR)
    second = Session(harbour, "p-heron", "s-2222-abcdefgh")
    second.starts()
    assert (me(heron), me(second)) == ("heron", "p-heron-abcdefgh")
    words = harbour.server.ask("HGET", PRESENCE, "s-1").split(" ")
    words[6] = str(int(words[6]) - 10 * 60 * 1000)  # and now it is not
    harbour.server.ask("HSET", PRESENCE, "s-1", " ".join(words))
    third = Session(harbour, "p-heron", "s-3")
    third.starts()
    assert me(third) == "heron"


def test_one_of_several_sessions_of_a_process_goes_on_only_if_it_is_known_which(harbour):
    heron, _ = heron_at(harbour)
    second = Session(harbour, "p-heron", "s-2")
    second.starts()
    third = Session(harbour, "p-heron", "s-3")
    third.starts("clear")
    assert len({me(one) for one in (heron, second, third)}) == 3
    heron.hook("SessionEnd", reason="clear")
    fourth = Session(harbour, "p-heron", "s-4")
    fourth.starts("clear")
    assert me(fourth) == "heron"


# Subagents.


def test_ident_01_a_subagent_is_told_nothing_takes_nothing_and_is_refused_what_would(harbour):
    heron, lynx = heron_at(harbour)
    lynx("say", "dock", "for the parent", "--to", "heron")
    before = harbour.server.everything()
    child = {"agent_id": "a44c", "agent_type": "general-purpose"}
    for name in ("SubagentStart", "PostToolBatch", "PostToolUse", "PreToolUse", "SubagentStop", "UserPromptSubmit"):
        assert heron.hook(name, tool_name="Bash", tool_input={"command": "ls"}, **child) == {}, name
    denied = heron.hook("PreToolUse", tool_name="Bash", tool_input={"command": "redischat read dock"}, **child)["hookSpecificOutput"]
    assert denied["permissionDecision"] == "deny"
    assert "--peek" in denied["permissionDecisionReason"]
    assert heron.hook("PreToolUse", tool_name="Bash", tool_input={"command": "redischat read dock --peek"}, **child) == {}
    assert harbour.server.everything() == before
    assert "for the parent" in heron.uses()


def test_ident_02_a_subagent_leaves_its_parent_who_it_was(harbour):
    heron, lynx = heron_at(harbour)
    subprocess.run(["git", "init", "-q"], cwd=heron.directory, check=True)
    heron("lock", "dock", "src/a.py")
    heron("task", "create", "dock", "T-1", "--title", "x")
    heron("task", "claim", "dock", "T-1")
    heron.hook("SubagentStart", agent_id="a44c", agent_type="x")
    heron.hook("SubagentStop", agent_id="a44c", agent_type="x")
    assert heron("say", "dock", "still me", "--json").record["from"] == "heron"
    heron("unlock", "dock", "src/a.py")
    heron("task", "done", "dock", "T-1")
    assert seats(harbour) == {"heron": ["s-1"], "lynx": []}
    assert lynx("read", "--json").record["from"] == "heron"


# Registering.


def test_ident_04_registering_twice_by_hook_and_by_hand_is_one_agent(harbour):
    heron, _ = heron_at(harbour)
    heron.starts()
    assert heron("identify", "heron", "--json").record["how"] == "mine"
    assert heron("identify", "Heron", "--json").record["how"] == "mine"
    heron.starts("resume")
    assert seats(harbour) == {"heron": ["s-1"], "lynx": []}
    assert heron("identify", "heron!", code=1).error == "BAD_NAME"
    assert seats(harbour) == {"heron": ["s-1"], "lynx": []}


def test_ident_07_a_session_whose_presence_expired_goes_on_and_is_known_again(harbour):
    heron, lynx = heron_at(harbour)
    harbour.server.ask("HDEL", PRESENCE, "s-1")
    harbour.server.last_seen("heron", 30 * HOUR)
    assert heron("say", "dock", "back", "--json").record["from"] == "heron"
    lynx("say", "dock", "good morning", "--to", "heron")
    assert "good morning" in heron.uses()
    assert seats(harbour)["heron"] == ["s-1"]


def test_ident_07_a_session_whose_name_another_one_took_is_told_once_and_stores_nothing(harbour):
    heron, lynx = heron_at(harbour)
    other = harbour.person("q", CLAUDE_CODE_SESSION_ID="s-9")
    other("identify", "heron", "--take-over", "--force", "--reason", "x")
    lynx("say", "dock", "for heron", "--to", "heron")
    before = harbour.server.ask("HGETALL", "rc1:{default}:marks:heron")
    text = heron.uses()
    assert "heron belongs to another session (s-9" in text
    assert "redischat identify heron --take-over" in text
    assert heron.uses() == heron.told("UserPromptSubmit", prompt="x") == ""
    assert harbour.server.ask("HGETALL", "rc1:{default}:marks:heron") == before
    assert heron("say", "dock", "x", code=1).error == "NOT_YOU"
    assert "belongs to another session" in heron.starts("resume")
    heron("identify", "kite")
    assert "you are kite" in heron.starts("compact")
    assert "for heron" in other("read").out


def test_a_session_whose_proof_was_lost_here_proves_itself_anew(harbour):
    heron, lynx = heron_at(harbour)
    for path in Path(harbour.state, "bindings").rglob("*-*-*"):
        if "heron" in path.read_text("utf-8"):
            path.unlink()
    lynx("say", "dock", "for heron", "--to", "heron")
    assert "for heron" in heron.uses()
    assert heron("say", "dock", "myself", "--json").record["from"] == "heron"


# "Empty" and "I do not know you" are told apart.


def test_ops_04_a_lost_registration_is_made_again_and_nothing_unread_is_lost(harbour):
    heron, lynx = heron_at(harbour)
    lynx("say", "dock", "one", "--to", "heron")
    harbour.server.ask("HDEL", AGENTS, "heron")
    assert "you are heron" in heron.starts("resume")
    assert heron("whoami", "--json").record["token"] is True
    assert "    one\n" in heron.uses()


def test_ops_04_a_lost_membership_is_no_empty_success(harbour):
    heron, lynx = heron_at(harbour)
    lynx("say", "dock", "one", "--to", "heron")
    harbour.server.ask("DEL", "rc1:{default}:marks:heron")
    for words in (("read",), ("read", "dock"), ("wait", "dock", "--timeout", "1"), ("pending", "dock")):
        refused = heron(*words, code=1)
        assert refused.error == "NOT_MEMBER", words
        assert "redischat join" in refused.err
    for words in (("pending",), ("owed",), ("read", "--peek")):
        assert "heron is in no channel" in heron(*words).err, words
    assert "redischat join dock" in heron.starts("compact")
    heron("join", "dock")
    (one,) = heron("read", "--json").records
    assert (one["body"], one["repeat"]) == ("one", True)
    assert heron("roster", "dock", "--json").record["members"] == ["heron", "lynx"]


def test_ops_04_whoever_is_struck_off_the_list_of_members_comes_back_to_what_was_unread(harbour):
    heron, lynx = heron_at(harbour)
    lynx("say", "dock", "one", "--to", "heron")
    heron.uses()
    lynx("say", "dock", "two", "--to", "heron")
    harbour.server.ask("HDEL", "rc1:{default}:ch:dock:members", "heron")
    assert lynx("say", "dock", "three", "--to", "heron", code=1).error == "UNKNOWN_RECIPIENT"
    heron("join", "dock")
    assert [one["body"] for one in heron("read", "--json").records] == ["two"]
    assert lynx("channels", "--json").record["members"] == ["heron", "lynx"]


# Harnesses.


def test_addr_07_each_kind_of_session_gets_its_mail_under_the_name_that_it_says(harbour, monkeypatch):
    lynx = harbour.agent("lynx")
    crew = {"claude": "c-1", "codex": "x-1", "gemini": "g-1"}
    lynx("open", "dock", "--members", "claude-one,codex-one,gemini-one,shell-one,program-one")
    for client, id_ in crew.items():
        name = client + "-one"
        wishes(harbour, "p-" + client, name)
        session = Session(harbour, "p-" + client, id_, client)
        assert f"you are {name}" in session.starts()
        sent = lynx("say", "dock", f"for {name}", "--to", name, "--json").record
        assert sent["wakes"] == [me(session)] == [name]
        assert f"for {name}" in session.uses()
    shell = harbour.agent("shell-one")
    assert lynx("say", "dock", "for the shell", "--to", "shell-one", "--json").record["wakes"] == [me(shell)]
    assert "for the shell" in shell("read", "--mine").out
    monkeypatch.chdir(harbour.person("p-program").directory)
    with Client(harbour.server.url, agent="program-one") as program:
        program.identify()
        assert lynx("say", "dock", "for the program", "--to", "program-one", "--json").record["wakes"] == [program.whoami().agent]
        assert [one.body for one in program.read() if "program-one" in one.wakes] == ["for the program"]


def test_a_harness_whose_shell_knows_no_session_is_told_its_name_and_how_to_say_it(harbour):
    wishes(harbour, "p", "heron")
    first, second = Session(harbour, "p", "x-11111111", "codex"), Session(harbour, "p", "x-22222222", "codex")
    assert "say --as heron with every redischat command" in first.starts()
    assert me(first) == "heron"  # alone here, there is nothing to guess
    text = second.starts()
    name = "p-22222222"
    assert f"say --as {name} with every redischat command" in text
    refused = first("sync", code=1)
    assert refused.error == "TWO_IDENTITIES"
    assert "heron" in refused.err
    assert name in refused.err
    assert first("sync", "--as", "heron", "--json").record["agent"] == "heron"
    assert second("sync", "--as", name, "--json").record["agent"] == name


def test_a_stolen_token_of_an_old_session_follows_nobody(harbour):
    heron, _ = heron_at(harbour)
    with Client(harbour.server.url, agent="heron", token="0" * 32) as thief, pytest.raises(NotYou):
        thief.post("dock", "x")
    assert harbour.server.ask("HGET", SESSIONS, "s-1") == "heron"
    assert me(heron) == "heron"


def test_a_session_that_finds_the_wished_for_name_taken_is_told_whose_it_is_and_how_to_get_it(harbour):
    wishes(harbour, "nest", "heron")
    first, second = Session(harbour, "nest", "s-1"), Session(harbour, "nest", "s-2")
    assert "wish to be" not in first.starts()
    said = second.starts()
    assert "heron, which this project's sessions wish to be, is held by another session (s-1 on " in said
    assert "redischat identify heron --take-over" in said
    assert len(said) <= 1_500
    assert "wish to be" not in first.starts("compact")
