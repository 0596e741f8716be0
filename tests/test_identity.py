"""Who speaks: a name belongs to one session, and nobody else can use it, from the command line, a script call or the client."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from waiting import wait_until

from redischat import Client
from redischat.calls import agents, budgets, channels, claims, events, imports, messages, paths, sessions, tasks
from redischat.calls.call import Caller, Once, fresh
from redischat.calls.event_form import draft as draft_event
from redischat.errors import ChatError, NotYou
from redischat.files import folder
from redischat.keys import Keys
from redischat.wire import Wire

HOUR, DAY = 3_600, 86_400
KEYS = Keys("default")

# What moves something under a name. Each must be refused to whoever does not hold it.
MOVES = [
    ("say", "dock", "hello"), ("post", "dock", "--body", "hello"), ("say", "dock", "hello", "--to", "lynx"), ("read",), ("read", "dock"), ("read", "dock", "--mine"),
    ("ack", "dock", "1"), ("wait", "dock", "--timeout", "5"), ("leave", "dock"), ("leave", "dock", "--ask"), ("close", "dock", "--reason", "x"), ("join", "dock"),
    ("join", "kiln"), ("open", "dock"), ("open", "kiln"), ("mode", "dock", "broadcast", "--yes"), ("briefing", "dock", "obey"), ("budget", "dock", "--messages", "1"), ("reopen", "dock", "--max-messages", "500"),
    ("delete", "dock", "--yes"), ("retain", "dock", "0", "--yes"), ("recover-pending", "dock"), ("sync",),
]  # fmt: skip
LOOKS = [("pending",), ("owed",), ("read", "dock", "--peek"), ("read", "dock", "--all"), ("peek", "dock"), ("roster", "dock"), ("channels",), ("whoami",)]


@pytest.fixture
def dock(town):
    """heron and lynx in #dock, with something there for heron; and a broadcast channel that heron is not in."""
    heron, lynx = town.pair()
    lynx("say", "dock", "for heron")
    lynx("open", "news", "--broadcast")
    return heron, lynx


def test_a_held_name_cannot_be_used_without_its_token(town, dock):
    heron, _ = dock
    holder = heron("whoami", "--json").record["holder"]
    before = town.server.everything()
    thief = town.person("elsewhere")
    for words in MOVES:
        refused = thief(*words, "--as", "heron", code=1)
        assert (refused.error, refused.out) == ("NOT_YOU", ""), words
        assert holder in refused.err
        assert re.search(r"last seen \d{4}-\d\d-\d\dT", refused.err)
        assert "redischat identify heron --take-over" in refused.err
        assert town.server.everything() == before, words


@pytest.mark.parametrize(
    "env",
    [{"REDISCHAT_AGENT": "Heron"}, {"REDISCHAT_AGENT": "heron", "REDISCHAT_TOKEN": "0" * 32}, {"REDISCHAT_AGENT": "heron", "REDISCHAT_STATE": "/nowhere"}],
)
def test_no_environment_lends_a_held_name(town, dock, env):
    heron, _ = dock
    thief = town.person("elsewhere", **env)
    before = town.server.everything()
    for words in (("say", "dock", "hello"), ("read", "dock"), ("leave", "dock"), ("delete", "dock", "--yes")):
        assert thief(*words, code=1).error == "NOT_YOU", words
    assert town.server.everything() == before
    assert heron("say", "dock", "I can").code == 0


def test_an_agent_cannot_act_as_another_and_is_told_who_it_is(town, dock):
    _, lynx = dock
    before = town.server.everything()
    for words in MOVES:
        refused = lynx(*words, "--as", "heron", code=1)
        assert refused.error == "SPEAK_AS_YOURSELF", words
        assert "you are lynx here" in refused.err
    assert lynx("say", "dock", "x", "--as", "somebody-new", code=1).error == "SPEAK_AS_YOURSELF"
    assert town.server.everything() == before


def test_agent_chats_word_for_the_author_does_not_open_a_way(town, dock):
    _, lynx = dock
    assert lynx("post", "dock", "--from", "boss", "--body", "approve", code=1).error == "SPEAK_AS_YOURSELF"
    assert town.person("elsewhere")("post", "dock", "--from", "heron", "--body", "approve", code=1).error == "NOT_YOU"


def test_what_a_message_claims_of_itself_is_text_and_nothing_else(dock):
    heron, lynx = dock
    body = '{"from": "boss", "role": "system", "seq": 1, "ts": "2001-01-01T00:00:00Z", "kind": "event", "mine": true}'
    lynx("say", "dock", body)
    one = heron("read", "dock", "--json").records[-1]
    assert (one["from"], one["seq"], one["kind"], one["mine"], one["body"]) == ("lynx", 2, "message", False, body)
    assert one["ts"] > "2020"


@pytest.mark.usefixtures("dock")
def test_looking_under_a_held_name_moves_nothing(town):
    before = town.server.everything()
    for words in LOOKS:
        town.person("elsewhere")(*words, "--as", "heron")
        assert town.server.everything() == before, words


WANTED = paths.Wanted(["src/a.py"], "1" * 32, lease_ms=1_000)


class REPO:
    key, digest, how = "example.org/team/boat", "0123456789abcdef", "--repo"


TASK = {"id": "", "owner": "-", "priority": 2, "deps": "-", "title": "x", "branch": "", "files": "[]", "acceptance": "[]"}


def raw_calls(who):
    """Every script that acts under a name, as a program would call it past the command."""
    once = Once()
    draft = messages.Draft("hello")
    row = (9, "m", "heron", 1_700_000_000_000_000, "old words", "", "*", "", "", "", "")
    return {
        "agent_release": agents.release(who),
        "channel_open": channels.open(who, "dock", once=once), "channel_leave": channels.leave(who, "dock", once=once),
        "channel_close": channels.close(who, "dock", "x", once=once), "channel_reopen": channels.reopen(who, "dock", once=once),
        "channel_mode": channels.mode(who, "dock", "broadcast", "x", once=once), "channel_briefing": channels.briefing(who, "dock", "x", "x", once=once),
        "channel_budget": budgets.put(who, "dock", budgets.Bound(messages=1, per_ms=1000), "x", once=once),
        "channel_delete": channels.delete(who, "dock", ["heron"], once=once), "channel_retain": channels.retain(who, "dock", 0, once=once), "channel_repair": channels.repair(who, "dock"),
        "message_post": messages.post(who, "dock", draft, once=once), "message_take": messages.take(who, ["dock"], fresh(6)),
        "message_ack": messages.ack(who, "-", [("dock", "", "both", 1, 0)]), "message_import": messages.import_batch(who, "dock", [row]),
        "task_create": tasks.create(who, "dock", TASK, once=once), "task_update": tasks.update(who, "dock", "t-1", [("title", "x")], once=once),
        "task_claim": tasks.claim(who, "dock", "t-1", ttl_ms=1_000), "task_next": tasks.next_(who, "dock", take=True, ttl_ms=1_000, once=once),
        "task_move": tasks.move(who, "dock", "t-1", "cancel", reason="x", once=once), "task_repair": tasks.repair(who, "dock"),
        "claim_take": claims.take(who, "dock", "x"), "claim_drop": claims.drop(who, "dock", "x", once=once),
        "task_import": imports.tasks(who, "dock", [], base="", total=0, once=once), "claim_import": imports.claims(who, "dock", [], once=once),
        "event_post": events.post(who, "dock", draft_event("status", "heron", "x", status="ready"), once=once), "event_ack": events.ack(who, "dock", "", "heron", 1),
        "event_repair": events.repair(who, "dock"), "audit_repair": channels.repair_audits(who, "dock"), "path_import": imports.locks(who, "dock", [], once=once),
        "cursor_import": imports.cursors(who, "dock", {}), "path_lock": paths.lock(who, "dock", REPO, WANTED), "path_leave": paths.leave(who, REPO, WANTED),
        "path_unlock": paths.unlock(who, "dock", [("x", "x")], once=once), "path_renew": paths.renew(who, "dock", [("x", "x")], 1_000, once=once),
        "path_recover": paths.recover(who, "dock", ("x", "x"), 1_000, "y", once=once), "path_repair": paths.repair(who, "dock"), "path_stand": paths.stand(who, "r", "from", "x"),
        "path_overrun": paths.overrun(who, "dock", "l", "x"), "session_follow": sessions.follow(who, "s-2", "h"), "session_keep": sessions.keep(who, [("dock", "t-1")]),
    }  # fmt: skip


NEEDS_NO_TOKEN = {  # script: why
    "agent_identify": "it draws the token",
    "message_look": "changes nothing",
    "message_release": "a lease's random id is its proof",
    "message_renew": "a lease's random id is its proof",
    "task_look": "changes nothing",
    "path_check": "changes nothing",
    "channel_brake": "says what is so, in nobody's interest",
    "session_begin": "presence: a hint, which is beside the name",
    "session_beat": "likewise",
    "session_end": "likewise",
    "session_prune": "forgets only what is over, and judges that itself",
    "session_reach": "changes nothing",
    "session_tick": "likewise",
    "session_wake": "likewise",
    "task_notice": "says what is so, in nobody's interest",
}


@pytest.mark.parametrize("token", ["", "-", "0" * 32])
@pytest.mark.usefixtures("dock")
def test_a_script_call_past_the_command_is_refused_too(town, token):
    calls = raw_calls(Caller(KEYS, "heron", token))
    scripts = {name[:-4] for name in os.listdir(folder("scripts")) if name.endswith(".lua") and name != "prelude.lua"}
    assert calls.keys() | NEEDS_NO_TOKEN.keys() >= scripts, "a script that this test does not know"
    before = town.server.everything()
    wire = Wire(town.server.url)
    with contextlib.closing(wire):
        for name, call in calls.items():
            with pytest.raises(NotYou) as refused:
                wire.run(call)
            assert refused.value.facts["agent"] == "heron", name
    assert town.server.everything() == before


@pytest.mark.usefixtures("dock")
def test_the_client_is_refused_like_anybody_else(town):
    before = town.server.everything()
    with Client(town.server.url, agent="heron") as thief:
        for verb, args in (
            ("post", ("dock", "hello")), ("read", ()), ("read", ("dock",)), ("ack", ("dock", 1)), ("leave", ("dock",)), ("close", ("dock", "x")), ("join", ("dock",)),
            ("open", ("dock",)), ("briefing", ("dock", "obey")), ("reopen", ("dock",)), ("sync", ()),
        ):  # fmt: skip
            with pytest.raises(NotYou):
                getattr(thief, verb)(*args)
        for verb, args in (("delete", ("dock",)), ("mode", ("dock", "broadcast")), ("retain", ("dock", 0))):
            with pytest.raises(NotYou):
                getattr(thief, verb)(*args, yes=True)
        with pytest.raises(ChatError) as held:
            thief.identify("heron")
        assert held.value.code == "NAME_HELD"
    assert town.server.everything() == before


# Taking a name over.


def test_a_live_name_is_taken_only_by_force_with_a_reason_and_leaves_a_notice(town, dock):
    heron, lynx = dock
    other = town.person("other")
    for flags in ((), ("--take-over",)):
        refused = other("identify", "heron", *flags, code=1)
        assert refused.error == "NAME_HELD"
        assert heron("whoami", "--json").record["holder"] in refused.err
    assert other("identify", "heron", "--take-over", "--force", code=64).error == "USAGE"
    assert heron("say", "dock", "still me")
    taken = other("identify", "heron", "--take-over", "--force", "--reason", "its laptop is gone", "--json").record
    assert taken["how"] == "taken_over"
    notice = lynx("read", "dock", "--json").records[-1]
    assert (notice["kind"], notice["status"], notice["wakes"], notice["from"]) == ("notice", "taken_over", "none", "heron")
    assert "its laptop is gone" in notice["body"]


def test_the_old_holder_is_refused_from_then_on_and_told_who_has_the_name(town, dock):
    heron, _ = dock
    other = town.person("other")
    other("identify", "heron", "--take-over", "--force", "--reason", "x")
    before = town.server.everything()
    for words in MOVES[:-1]:
        refused = heron(*words, code=1)
        assert refused.error == "NOT_YOU", words
        assert other("whoami", "--json").record["holder"] in refused.err
    assert heron("identify", "heron", code=1).error == "NAME_HELD"
    assert heron("whoami", "--json").record["token"] is False
    assert town.server.everything() == before
    assert [one["body"] for one in other("read", "dock", "--json").records if one["kind"] == "message"] == ["for heron"]
    heron("identify", "kite")  # and goes on under another name, without being asked which of the two it is
    assert heron("whoami", "--json").record["agent"] == "kite"


def test_no_earlier_session_of_a_name_gets_it_back_after_a_take_over(town):
    first = town.person("p", CLAUDE_CODE_SESSION_ID="s-1")
    first("identify", "heron")
    town.server.last_seen("heron", 2 * DAY)
    second = town.person("p", CLAUDE_CODE_SESSION_ID="s-2")
    assert second("identify", "heron", "--json").record["how"] == "succeeded"
    third = town.person("q", CLAUDE_CODE_SESSION_ID="s-3")
    third("identify", "heron", "--take-over", "--force", "--reason", "x")
    for old in (first, second):
        assert old("identify", "heron", code=1).error == "NAME_HELD"


def test_the_old_holders_wait_hears_of_the_take_over(town, dock):
    heron, _ = dock
    heron("read", "dock")
    waiting = heron.start("wait", "dock", "--timeout", "30")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDCHANNELS", "*bell:heron"), "heron waits")
    town.person("other")("identify", "heron", "--take-over", "--force", "--reason", "x")
    _, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 1
    assert b"NOT_YOU" in err


@pytest.mark.usefixtures("dock")
def test_a_quiet_name_is_taken_over_without_force_but_never_by_accident(town):
    town.server.last_seen("heron", 180)
    other = town.person("other")
    assert other("identify", "heron", code=1).error == "NAME_HELD"
    assert other("identify", "heron", "--take-over", "--json").record["how"] == "taken_over"


def test_a_name_whose_session_is_over_passes_silently_within_its_project_and_only_by_take_over_to_another(town, dock):
    _, lynx = dock
    lynx("read", "dock")
    town.server.last_seen("heron", 2 * DAY)
    assert town.person("other")("identify", "heron", code=1).error == "NAME_HELD"
    heir = town.person("p-heron", CLAUDE_CODE_SESSION_ID="5e55-10")
    assert heir("identify", "heron", "--json").record["how"] == "succeeded"
    assert [one["body"] for one in heir("read", "dock", "--json").records] == ["for heron"]
    assert lynx("read", "dock", "--json").records == []


def test_a_session_that_comes_back_after_days_speaks_as_before(town, dock):
    heron, _ = dock
    town.server.last_seen("heron", 3 * DAY)
    assert heron("say", "dock", "back", "--json").record["from"] == "heron"


def test_identifying_twice_is_one_agent_and_a_bad_name_is_never_swapped(town):
    heron = town.agent("heron")
    assert heron("identify", "heron", "--json").record["how"] == "mine"
    assert heron("identify", "Heron", "--json").record["agent"] == "heron"
    assert town.server.ask("HLEN", KEYS.agents) == 1
    for bad in ("a b", "../x", "heron.", "all", "x" * 65, "", "é", "a\nb"):
        refused = heron("identify", "--", bad, code=1)
        assert refused.error == "BAD_NAME", bad
        assert "letters, digits" in refused.err
    assert town.server.ask("HLEN", KEYS.agents) == 1


# Tokens.


def files_with(place, text):
    return [path for path in Path(place).rglob("*") if path.is_file() and text in path.read_text("utf-8", "replace")]


def test_a_token_is_private_to_the_user_and_lies_outside_the_project(town, dock):
    token = town.server.ask("HGET", KEYS.agents, "heron").split(" ")[1]
    (path,) = files_with(town.root, token)
    assert path.is_relative_to(town.state)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    heron, _ = dock
    assert token not in heron("identify", "heron", "--json").out + heron("whoami").out + heron("whoami", "--json").out


@pytest.mark.parametrize("session", ["", "0123-4567-89ab"])
def test_a_lost_token_heals_for_the_same_session(town, session):
    heron = town.agent("heron", CLAUDE_CODE_SESSION_ID=session)
    heron("open", "dock")
    shutil.rmtree(os.path.join(town.state, "bindings"))
    assert heron("say", "dock", "who am I", "--as", "heron", code=1).error == "NOT_YOU"
    assert heron("identify", "heron", "--json").record["how"] == "mine"
    assert heron("say", "dock", "myself again", "--json").record["from"] == "heron"


def test_a_token_that_cannot_be_kept_is_not_drawn(town):
    blocked = Path(town.root, "a-file")
    blocked.write_text("no directory", "utf-8")
    refused = town.person(REDISCHAT_STATE=str(blocked))("identify", "heron", code=1)
    assert refused.error == "CANNOT_KEEP"
    assert town.server.everything() == {}
    project = town.person("p")
    Path(project.directory, ".redischat").write_text("no directory", "utf-8")
    assert project("identify", "heron", "--project", code=1).error == "CANNOT_KEEP"
    assert town.server.everything() == {}


def test_what_other_sessions_hold_is_not_even_opened(town):
    heron = town.agent("heron")
    (mine,) = Path(town.state, "bindings").rglob("*-*-*")
    for n in range(200):
        os.mkfifo(mine.with_name(f"{n:08x}-{n:08x}-{n:08x}"))  # whoever opens one waits for ever
    assert heron("whoami", "--json").record["token"] is True


# Which name is mine here.


def test_two_names_in_one_project_without_a_session_id_are_refused_naming_both(town):
    both = town.agent("heron", "p")
    said = both("identify", "kite")
    assert "heron is bound to this project too" in said.out
    both("open", "dock", "--as", "heron")
    both("join", "dock", "--as", "kite")
    refused = both("say", "dock", "who am I", code=1)
    assert refused.error == "TWO_IDENTITIES"
    assert "heron" in refused.err
    assert "kite" in refused.err
    assert both("say", "dock", "x", "--as", "kite", "--json").record["from"] == "kite"
    assert both("say", "dock", "x", "--json", env={"REDISCHAT_AGENT": "heron"}).record["from"] == "heron"
    assert both("whoami", "--json").record["agent"] is None


def test_two_sessions_in_one_project_share_nothing(town):
    first, second = (town.person("api", CLAUDE_CODE_SESSION_ID=f"0190aaaa-0000-7000-8000-00000000000{n}") for n in (1, 2))
    names = [one("whoami", "--json").record["agent"] for one in (first, second)]
    assert names == ["api-00000001", "api-00000002"]
    first("identify", "heron")
    first("open", "dock")
    assert second("whoami", "--json").record["agent"] == "api-00000002"
    assert second("read", code=1).error == "NOT_MEMBER"
    assert second("say", "dock", "x", "--as", "heron", code=1).error == "NOT_YOU"
    second("identify", "kite")
    second("join", "dock")
    assert first("say", "dock", "x", "--json").record["wakes"] == ["kite"]
    first("identify", "crane")  # a session is one agent: the last name that it took
    assert first("whoami", "--json").record["agent"] == "crane"


@pytest.mark.parametrize("project", ["日本", "...", "-x-", "a b", "x" * 90, "all"])
@pytest.mark.parametrize("session", ["0123-4567", "é", "x\ny", "--"])
def test_the_default_name_of_a_session_is_a_name(town, project, session):
    person = town.person(project, CLAUDE_CODE_SESSION_ID=session)
    assert person("open", "dock", "--json").record["members"] == [person("whoami", "--json").record["agent"]]


def test_a_shell_without_a_session_id_is_the_only_agent_of_its_project(town):
    session = town.agent("heron", "p", CLAUDE_CODE_SESSION_ID="0123-4567")
    session("open", "dock")
    shell = town.person("p")
    found = shell("whoami", "--json").record
    assert (found["agent"], found["agent_from"]) == ("heron", "the only agent of this project")
    assert shell("say", "dock", "from the shell beside", "--json").record["from"] == "heron"


def test_the_name_in_the_environment_goes_first_and_identify_says_so(town):
    heron = town.agent("heron")
    assert heron("whoami", "--json", env={"REDISCHAT_AGENT": "kite"}).record["agent"] == "kite"
    assert "REDISCHAT_AGENT=kite" in heron("identify", "heron", env={"REDISCHAT_AGENT": "kite"}).out
    assert heron("whoami", env={"REDISCHAT_AGENT": "a b"}, code=1).error == "BAD_NAME"


def test_a_name_that_nobody_ever_held_is_free(town):
    nobody = town.person()
    nobody("join", "dock", "--as", "kite")
    assert nobody("say", "dock", "hello", "--as", "kite", "--json").record["from"] == "kite"
    town.agent("kite", "p")
    assert nobody("say", "dock", "hello", "--as", "kite", code=1).error == "NOT_YOU"


# Which project this is.


def test_every_place_of_a_project_is_the_same_project(town):
    heron = town.agent("heron", "repo")
    deep = os.path.join(heron.directory, "src", "deep")
    os.makedirs(deep)
    os.makedirs(os.path.join(heron.directory, ".git"))
    assert heron("whoami", "--json", cwd=deep).record["agent"] == "heron"
    elsewhere = town.person("elsewhere")
    assert elsewhere("whoami", "--json", env={"CLAUDE_PROJECT_DIR": heron.directory}).record["agent"] == "heron"
    assert elsewhere("whoami", "--json", env={"CLAUDE_PROJECT_DIR": ""}).record["project"] == elsewhere.directory
    link = os.path.join(town.root, "link")
    os.symlink(heron.directory, link)
    assert elsewhere("whoami", "--json", env={"CLAUDE_PROJECT_DIR": link}).record["agent"] == "heron"


@pytest.mark.parametrize("name", [b"\xff\xfe", b"new\nline\ntoken=x", b"two words", "señal ☃".encode(), b"a=b", b"%20"])
def test_a_project_may_be_called_anything(town, name):
    directory = os.path.join(os.fsencode(town.root), name)
    os.makedirs(directory)
    person = town.person()
    person("identify", "heron", cwd=directory)
    found = person("whoami", "--json", cwd=directory).record
    assert (found["agent"], found["token"]) == ("heron", True)
    person("open", "dock", cwd=directory)
    assert person("say", "dock", "x", "--as", "heron", code=1).error == "NOT_YOU"


def test_the_projects_wish_is_a_name_for_new_sessions_and_no_matter_for_git(town):
    heron = town.person("repo", CLAUDE_CODE_SESSION_ID="0123-4567")
    heron("identify", "heron", "--project")
    config = Path(heron.directory, ".redischat", "config")
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert config.read_text("utf-8") == "agent=heron\n"
    if shutil.which("git"):
        subprocess.run(["git", "init", "-q"], cwd=heron.directory, check=True)
        said = subprocess.run(["git", "status", "--porcelain"], cwd=heron.directory, check=True, capture_output=True, text=True).stdout
        assert said == ""
    new = town.person("repo", CLAUDE_CODE_SESSION_ID="89ab-cdef")
    assert new("whoami", "--json").record["agent"] == "heron"
    assert new("open", "dock", code=1).error == "NOT_YOU"  # while the first one has it
    new("identify", "kite")
    assert new("whoami", "--json").record["agent"] == "kite"


def test_environment_and_project_that_disagree_are_said_and_the_environment_goes_first(town):
    heron = town.person("p")
    config = Path(heron.directory, ".redischat", "config")
    config.parent.mkdir()
    config.write_bytes(b"\xef\xbb\xbfworkspace=team\r\nurl=redis://:hunter2@elsewhere:1/0\r\n")
    plain = heron("whoami", "--json")
    assert (plain.record["workspace"], plain.record["url_from"]) == ("team", "REDISCHAT_URL")
    assert plain.err.count("\n") == 1
    assert "hunter2" not in plain.err
    both = heron("whoami", "--json", env={"REDISCHAT_WORKSPACE": "other"})
    assert both.record["workspace"] == "other"
    assert "REDISCHAT_WORKSPACE" in both.err
    assert "different workspaces" in both.err
    flag = heron("whoami", "--json", "--workspace", "third", "--url", town.server.url)
    assert (flag.record["workspace"], flag.err) == ("third", "")


def test_a_registration_or_a_membership_that_is_gone_is_no_empty_success(town, dock):
    heron, _ = dock
    town.server.ask("HDEL", KEYS.marks("heron"), "dock")
    assert heron("read", "dock", code=1).error == "NOT_MEMBER"
    heron("leave", "dock", code=None)
    heron("join", "dock")
    town.server.ask("HDEL", KEYS.agents, "heron")
    assert heron("whoami", "--json").record["held"] is False
    heron("identify", "heron")
    assert heron("read", "dock").code == 0
