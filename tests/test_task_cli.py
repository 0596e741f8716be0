"""The board as agents and people use it at a shell: what each verb of tasks and claims tells, in text and in JSON, and what hostile texts become there."""

from __future__ import annotations

import re
import subprocess

import pytest
from waiting import wait_until

TASK = [
    "id", "channel", "title", "status", "owner", "created_by", "depends_on", "files_hint", "acceptance", "lease_expires_at", "branch", "updated_at", "priority",
    "attempt", "token", "ready", "waits_for", "stuck", "stale", "finished_by", "reason", "created_at", "claimed_at", "previous_owner",
    "previous_lease_expires_at", "dependents", "result",
]  # fmt: skip
LEASE = {
    "how", "channel", "id", "token", "lease_expires_at", "attempt", "late_ms", "previous_owner", "previous_lease_expires_at", "files_hint", "locked", "warning",
}  # fmt: skip
UNTIL = r"until \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"
EVIL = "x\x1b]0;owned\x07\x1b[2K\x9b2J\u202egnp.exe\u2066\x7f\x08y \u200bz"
KEPT = frozenset("\n\t\u200d\u200c\u00a0\u3000\u2009\u202f")


@pytest.fixture
def pair(town):
    """heron and lynx, who share #dock."""
    return town.pair()


def end_lease(person, task):
    """Let the lease on a task run out."""
    person("task", "renew", "dock", task, "--lease", "0.001")
    wait_until(lambda: person("task", "show", "dock", task, "--json").record["stale"], f"the lease of {task} runs out")


def test_two_agents_share_a_board(pair):
    heron, lynx = pair
    assert heron("task", "create", "dock", "--title", "Fix the parser").lines[0] == "created T-1 [open]"
    assert heron("task", "create", "dock", "docs", "--title", "Write it down", "--depends-on", "T-1").lines == ["created docs [open]; waits for T-1 (open)"]
    assert lynx("task", "list", "dock").lines == ["T-1  [open]  Fix the parser  (ready)", "docs  [open]  Write it down  (waits for T-1 (open))"]
    taken = lynx("task", "claim", "dock", "t-1")
    assert re.fullmatch(rf"claimed T-1 {UNTIL}, token 1, attempt 1", taken.lines[0])
    assert "redischat task done dock T-1" in taken.lines[1]
    assert re.fullmatch(rf"T-1  \[in_progress\]  lynx {UNTIL}  Fix the parser", heron("task", "list", "dock").lines[0])
    assert lynx("task", "done", "dock", "T-1").lines == ["T-1 is done", "    can be started now: docs"]
    assert heron("task", "list", "dock").lines == ["T-1  [done]  Fix the parser  (by lynx)", "docs  [open]  Write it down  (ready)"]
    assert heron("task", "show", "dock", "T-1", "--json").record["finished_by"] == "lynx"


def test_a_record_has_agent_chats_twelve_keys_first_and_then_ours(pair):
    heron, _ = pair
    heron("task", "create", "dock", "A", "--title", "x")
    for done in (heron("task", "show", "dock", "A", "--json"), heron("task", "list", "dock", "--json"), heron("task", "next", "dock", "--json")):
        assert list(done.record) == TASK
    assert set(heron("task", "claim", "dock", "A", "--json").record) == LEASE
    assert set(heron("task", "renew", "dock", "A", "--json").record) - {"locked"} == LEASE - {"locked"}
    moved = heron("task", "done", "dock", "A", "--json").record
    assert set(moved) == {"moved", "channel", "id", "status", "late_ms", "freed", "begun", "waiting", "attempt", "warning"}


def test_flags_of_agent_chat_are_taken_as_they_are_meant(pair):
    heron, _ = pair
    for one in "abc":
        heron("task", "create", "dock", one, "--title", "x", "--from", "heron")
    heron(
        "task", "create", "dock", "d", "--title", "y", "--owner", "lynx", "--depends-on", "a,b", "--depends-on", "c", "--files-hint", "src/a.py,src/b.py",
        "--files-hint", "docs", "--acceptance", "a, b", "--acceptance", "c", "--branch", "topic", "--priority", "0",
    )  # fmt: skip
    one = heron("task", "show", "dock", "d", "--json").record
    assert (one["depends_on"], one["files_hint"], one["acceptance"]) == (["a", "b", "c"], ["src/a.py", "src/b.py", "docs"], ["a, b", "c"])
    assert (one["owner"], one["branch"], one["priority"]) == ("lynx", "topic", 0)
    heron("task", "update", "dock", "d", "--acceptance", "", "--files-hint", "", "--depends-on", "", "--clear-owner", "--clear-branch")
    one = heron("task", "show", "dock", "d", "--json").record
    assert (one["depends_on"], one["files_hint"], one["acceptance"], one["owner"], one["branch"]) == ([], [], [], None, None)


@pytest.mark.parametrize("flag", ["--lease-seconds", "--lease", "--ttl"])
def test_a_lease_has_three_spellings_wherever_one_is_taken(pair, flag):
    heron, lynx = pair
    for n, words in enumerate((("task", "claim", "dock", "A"), ("task", "renew", "dock", "A"), ("task", "next", "dock", "--claim"), ("claim", "dock", "A"))):
        heron("task", "create", "dock", "A" if n == 0 else f"B{n}", "--title", "x")
        until = heron(*words, flag, "31000000", "--json").record["lease_expires_at"]
        assert until[:4] > "2026"
    end_lease(heron, "A")
    assert lynx("task", "recover", "dock", "A", "--reason", "x", flag, "31000000", "--json").record["lease_expires_at"] > until[:4]
    assert lynx("task", "claim", "dock", "A", "--lease", "5", "--ttl", "6", code=2).error == "TASK_INVALID_ARGUMENT"


def test_a_claim_says_until_when_and_how_to_keep_it(pair):
    """LEASE-06: renewal is by hand, so whoever holds a lease is told its end each time."""
    heron, _ = pair
    heron("task", "create", "dock", "A", "--title", "x")
    for done in (heron("task", "claim", "dock", "A"), heron("task", "claim", "dock", "A"), heron("task", "renew", "dock", "A")):
        assert re.search(UNTIL, done.lines[0])
        assert "redischat task renew dock A" in done.out
    assert re.search(UNTIL, heron("task", "list", "dock", "--mine").out)
    assert "(300)" in re.sub(r"\s+", " ", heron("task", "claim", "--help").out), "the length where none is said"


def test_a_lapse_is_shown_with_the_way_out_and_coming_back_late_is_said(pair):
    heron, lynx = pair
    heron("task", "create", "dock", "A", "--title", "x")
    heron("task", "claim", "dock", "A")
    end_lease(heron, "A")
    (row,) = lynx("task", "list", "dock", "--stale").lines
    assert "redischat task recover dock A --reason WHY" in row
    assert "redischat task recover dock A --reason WHY" in lynx("task", "show", "dock", "A").out
    late = heron("task", "renew", "dock", "A", "--lease", "0.001")
    assert "had run out" in late.out
    assert "nobody had recovered it" in late.out
    wait_until(lambda: lynx("task", "list", "dock", "--stale").out.startswith("A "), "it ran out again")
    assert "after the lease had run out" in heron("task", "release", "dock", "A").out
    heron("task", "claim", "dock", "A")
    end_lease(heron, "A")
    taken = lynx("task", "recover", "dock", "A", "--reason", "heron sleeps")
    assert re.match(rf"recovered A from heron \(lease ended [^)]+\) {UNTIL}, token \d+, attempt 3", taken.lines[0])
    assert "heron sleeps" in heron("read", "dock", "--audit").out


def test_next_takes_the_best_one_and_says_why_there_is_none(pair):
    """LEASE-08."""
    heron, lynx = pair
    heron("task", "create", "dock", "A", "--title", "x", "--priority", "3")
    heron("task", "create", "dock", "B", "--title", "y", "--depends-on", "A")
    shown = lynx("task", "next", "dock")
    assert "A  [open]  x  (P3; ready)" in shown.out
    assert "redischat task claim dock A" in shown.out
    heron("task", "create", "dock", "C", "--title", "z", "--depends-on", "A")
    assert "stuck now: B, C" in heron("task", "cancel", "dock", "A", "--reason", "dropped").out
    none = lynx("task", "next", "dock", "--claim", code=3)
    assert none.error == "NOTHING_READY"
    assert "2 blocked by cancelled A" in none.err
    card = lynx("task", "show", "dock", "B").out
    assert "dependencies: stuck (A (cancelled))" in card
    assert 'redischat task update dock B --depends-on ""' in card
    assert "stuck, needs A (cancelled)" in lynx("task", "list", "dock").out
    lynx("task", "update", "dock", "B", "--depends-on", "")
    assert lynx("task", "next", "dock", "--claim", "--json").record["id"] == "B"
    assert lynx("task", "reopen", "dock", "A", "--reason", "needed").lines[0] == "A is open"
    assert "ready" in lynx("task", "show", "dock", "A").out


def test_reopening_names_who_is_at_work_on_the_result(pair):
    heron, lynx = pair
    heron("task", "create", "dock", "A", "--title", "x")
    heron("task", "create", "dock", "B", "--title", "y", "--depends-on", "A")
    heron("task", "claim", "dock", "A")
    heron("task", "done", "dock", "A")
    lynx("task", "claim", "dock", "B")
    assert "begun on its result: B" in heron("task", "reopen", "dock", "A", "--reason", "wrong").out
    assert "attempt 2" in heron("task", "list", "dock").out


def test_the_board_is_listed_in_parts(pair):
    heron, lynx = pair
    assert "no tasks in #dock yet" in heron("task", "list", "dock").out
    assert heron("task", "list", "dock", "--json").out == ""
    for one, owner in (("A", ()), ("B", ("--owner", "lynx")), ("C", ())):
        heron("task", "create", "dock", one, "--title", "x", *owner)
    heron("task", "claim", "dock", "C")

    def ids(person, *flags):
        return [one["id"] for one in person("task", "list", "dock", "--json", *flags).records]

    assert (ids(heron), ids(heron, "--ready"), ids(heron, "--mine"), ids(lynx, "--mine")) == (["A", "B", "C"], ["A", "B"], ["C"], ["B"])
    assert (ids(heron, "--stale"), ids(heron, "--status", "in_progress")) == ([], ["C"])
    assert heron("task", "list", "dock", "--stale").out == "none of the 3 tasks of #dock is like that\n"


def test_a_graph_is_drawn_as_text_and_for_mermaid(pair):
    heron, _ = pair
    heron("task", "create", "dock", "A", "--title", 'x"] --> evil[["%%')
    heron("task", "create", "dock", "B", "--title", "y", "--depends-on", "A")
    heron("task", "create", "dock", "C", "--title", "z", "--depends-on", "A,B")
    assert [line[: len(line) - len(line.lstrip())] + line.split()[0] for line in heron("task", "graph", "dock").lines] == ["A", "    B", "    C"]
    drawn = heron("task", "graph", "dock", "--mermaid").lines
    assert drawn[0] == "flowchart TD"
    assert [line.strip() for line in drawn if " --> " in line] == ["t0 --> t1", "t0 --> t2", "t1 --> t2"]
    assert heron("task", "graph", "dock", "--json").records[2] == {"id": "C", "status": "open", "depends_on": ["A", "B"], "stuck": False}


def test_waiting_for_a_task_ends_with_it_or_in_time(pair):
    heron, lynx = pair
    heron("task", "create", "dock", "A", "--title", "x")
    lynx("task", "claim", "dock", "A")
    late = heron("task", "wait", "dock", "A", "--timeout", "0.2", code=4)
    assert late.error == "TIMED_OUT"
    assert "held by lynx until" in late.err
    assert heron("task", "wait", "dock", "A", "--status", "in_progress", "--json").record["owner"] == "lynx"
    waiting = heron.start("task", "wait", "dock", "A", "--timeout", "30", "--json")
    lynx("task", "done", "dock", "A")
    out, _ = waiting.communicate(timeout=30)
    assert (waiting.returncode, b'"status": "done"' in out) == (0, True)


def test_a_check_finds_nothing_to_mend_and_names_what_it_cannot(town, pair):
    heron, _ = pair
    heron("task", "create", "dock", "A", "--title", "x")
    assert heron("task", "recover-pending", "dock").out == "the board of #dock holds 1 tasks; nothing to mend\n"
    assert heron("task", "recover-pending", "dock", "--resolve-publication", "rollback").code == 0
    town.server.ask("DEL", "rc1:{default}:ch:dock:ready")
    assert "mended: 1 in ready" in heron("task", "recover-pending", "dock").out
    town.server.ask("HSET", "rc1:{default}:ch:dock:tasks", "bad\x1b[2J", "x")
    bad = heron("task", "recover-pending", "dock", code=2)
    assert "left as they are" in bad.out
    assert_inert(bad)
    listed = heron("task", "list", "dock")
    assert listed.lines == ["A  [open]  x  (ready)"]
    assert "TASK_INVALID_RECORD" in listed.err
    assert_inert(listed)


def test_claims_tell_who_won_and_since_when(pair):
    heron, lynx = pair
    assert heron("claim", "dock", "task-12.md", "--note", "the parser").lines == ["task-12.md is yours", "    Give it back: redischat unclaim dock task-12.md"]
    lost = lynx("claim", "dock", "task-12.md", code=3)
    assert re.search(r"task-12.md is heron's since \d{4}", lost.err)
    assert heron("claim", "dock", "task-12.md").lines[0].startswith("task-12.md was yours already, since ")
    assert re.fullmatch(r"task-12.md  heron since \S+ \S+  the parser", lynx("claims", "dock").lines[0])
    assert heron("claim", "dock", "task-12.md", "--lease-seconds", "60").lines[0].endswith(" for good: a lease does not end it")
    assert re.search(UNTIL, heron("claim", "dock", "task-13.md", "--lease-seconds", "60").lines[0])
    assert heron("unclaim", "dock", "task-12.md").code == heron("unclaim", "dock", "task-13.md").code == 0
    assert lynx("claims", "dock").out == "nothing is claimed in #dock\n"
    assert lynx("claims", "dock", "--json").out == ""


def test_a_lapsed_claim_is_taken_over_on_purpose(pair):
    heron, lynx = pair
    heron("claim", "dock", "x", "--lease", "0.001")
    wait_until(lambda: lynx("claims", "dock", "--json").record["lapsed"], "the lease of x runs out")
    assert "redischat claim dock x --steal-expired" in lynx("claims", "dock").out
    assert "redischat claim dock x --steal-expired" in lynx("claim", "dock", "x", code=3).err
    assert "heron's lease had run out" in lynx("claim", "dock", "x", "--steal-expired").out


def test_an_unknown_name_is_warned_of_and_acts_all_the_same(town, pair):
    heron, _ = pair
    heron("task", "create", "dock", "A", "--title", "x")
    for name, *words in (("heronn", "task", "claim", "dock", "A"), ("lynxx", "claim", "dock", "x"), ("zz", "task", "create", "dock", "--title", "y")):
        done = town.person("elsewhere")(*words, "--as", name)
        assert f"{name} was not known in this workspace before" in done.err
        assert ("did you mean" in done.err) == (name != "zz")


def test_nobody_in_particular_may_look_and_is_told_how_to_act(town, pair):
    heron, _ = pair
    heron("task", "create", "dock", "A", "--title", "x")
    person = town.person("elsewhere")
    before = town.server.everything()
    for looks in (("task", "list", "dock"), ("task", "show", "dock", "A"), ("task", "graph", "dock"), ("claims", "dock")):
        assert person(*looks).code == 0
    for words in (("task", "claim", "dock", "A"), ("task", "create", "dock", "--title", "x"), ("claim", "dock", "x"), ("task", "next", "dock")):
        assert person(*words, code=1).error == "NO_IDENTITY"
    assert town.server.everything() == before


def test_whoever_takes_a_task_is_warned_of_files_that_somebody_else_holds(town):
    heron, lynx = town.person("repo", REDISCHAT_AGENT="heron"), town.person("repo", REDISCHAT_AGENT="lynx")
    subprocess.run(["git", "init", "-q", heron.directory], check=True)
    heron("open", "dock", "--members", "lynx")
    for one, hint in (("A", "src/a.py"), ("B", "docs")):
        heron("task", "create", "dock", one, "--title", "x", "--files-hint", hint)
    lynx("lock", "dock", "src", "--reason", "the parser")
    taken = heron("task", "claim", "dock", "A")
    assert re.search(r"src, which A will touch, is locked by lynx until .*: redischat check dock src\n", taken.err)
    assert heron("check", "dock", "src/a.py", code=3).code == 3
    (held,) = heron("task", "claim", "dock", "A", "--json").record["locked"]
    assert (held["path"], held["holder"]) == ("src", "lynx")
    assert heron("task", "next", "dock", "--claim").err == ""
    heron("task", "release", "dock", "A")
    assert lynx("task", "claim", "dock", "A").err == "", "one's own lock is no news"


# Hostile texts.


def assert_inert(done):
    text = (done.out_raw + done.err_raw).decode("utf-8")
    assert not {c for c in text if not (c.isprintable() or c in KEPT)}, done


def test_no_text_of_a_task_can_act_on_a_terminal_or_pretend_to_be_the_tool(pair):
    heron, lynx = pair
    shown = [
        heron("task", "create", "dock", "A", "--title", EVIL, "--acceptance", EVIL, "--branch", EVIL.replace(" ", "")),
        heron("task", "create", "dock", "B", "--title", EVIL, "--depends-on", "A"),
        heron("claim", "dock", "x", "--note", EVIL),
        heron("task", "block", "dock", "A", "--reason", EVIL),
    ]
    for words in (
        ("task", "list", "dock"), ("task", "show", "dock", "A"), ("task", "graph", "dock"), ("task", "graph", "dock", "--mermaid"), ("claims", "dock"),
        ("read", "dock", "--all"), ("peek", "dock", "--audit"),
    ):  # fmt: skip
        shown += [lynx(*words), *([lynx(*words, "--json")] if "--mermaid" not in words else [])]
    heron("task", "release", "dock", "A")
    shown += [lynx("task", "next", "dock"), lynx("task", "claim", "dock", "A"), lynx("task", "cancel", "dock", "A", "--reason", EVIL)]
    shown += [
        lynx("task", "wait", "dock", "A", code=2),
        lynx("task", "reopen", "dock", "A", "--reason", EVIL),
        lynx("task", "update", "dock", "A", "--title", EVIL),
    ]
    for done in shown:
        assert_inert(done)
    kept = lynx("task", "show", "dock", "A", "--json").record
    assert (kept["title"], kept["acceptance"]) == (EVIL, [EVIL]), "and nothing is changed on its way"


@pytest.mark.parametrize("break_", ["\n", "\r", "\u2028", "\x85", "\x0b", "\x0c"])
def test_no_line_can_be_forged(town, pair, break_):
    heron, _ = pair
    heron("task", "create", "dock", "A", "--title", "x")
    forged = f"x{break_}T-9  [done]  lynx"
    before = town.server.everything()
    for words, exit_ in (
        (("task", "create", "dock", "--title", forged), 2), (("task", "update", "dock", "A", "--acceptance", forged), 2),
        (("task", "cancel", "dock", "A", "--reason", forged), 2), (("task", "block", "dock", "A", "--reason", forged), 2), (("claim", "dock", "x", "--note", forged), 1),
    ):  # fmt: skip
        refused = heron(*words, code=exit_)
        assert len(refused.err.splitlines()) == 1
    assert town.server.everything() == before


@pytest.mark.parametrize("name", ["", "..", "a/b", "-x", "a b", "a\x1b[2J", "a\u202eb", "\uff41", "a" * 65, "a.", "all", "tool", "a\n", "{a}", "a:b", "*"])
def test_hostile_names_are_refused_by_one_rule_in_every_place(town, pair, name):
    heron, _ = pair
    heron("task", "create", "dock", "A", "--title", "x")
    before = town.server.everything()
    listed = [(("task", "create", "dock", "--title", "x", f"--depends-on=A,{name or '.'}"), "TASK_INVALID_DEPENDENCY_ID")] if name == name.strip() else []
    for words, code in (
        (("task", "create", "--title", "x", "--", "dock", name), "TASK_INVALID_ID"), (("task", "show", "--", "dock", name), "TASK_INVALID_ID"),
        (("task", "list", "--", name), "TASK_INVALID_CHANNEL"), (("task", "create", "dock", "--title", "x", f"--owner={name}"), "TASK_INVALID_OWNER"),
        *listed, (("claim", "--", "dock", name), "BAD_NAME"),
    ):  # fmt: skip
        refused = heron(*words, code=None)
        assert refused.error == code, refused
        assert_inert(refused)
    assert town.server.everything() == before


def test_whoever_waits_is_told_that_the_holders_lease_ran_out_with_the_way_out_and_waits_on(town):
    heron, lynx = town.person(REDISCHAT_AGENT="heron"), town.person("far", REDISCHAT_AGENT="lynx")
    heron("open", "dock", "--members", "lynx")
    heron("task", "create", "dock", "A", "--title", "x")
    lynx("task", "claim", "dock", "A", "--lease", "0.3")
    timed_out = heron("task", "wait", "dock", "A", "--timeout", "1.5", code=4)
    lines = timed_out.err.splitlines()
    assert len(lines) == 2, lines  # once, though there was time for more
    assert lines[0].startswith("redischat: the lease of lynx on A ran out ")
    assert lines[0].endswith("; waiting on. Take it over: redischat task recover dock A --reason WHY")
    assert heron("task", "recover", "dock", "A", "--reason", "lynx is gone").out
    heron("task", "done", "dock", "A", "--result", "all green")
    waited = heron("task", "wait", "dock", "A", "--json")
    assert (waited.err, waited.record["result"]) == ("", "all green")
    assert heron("task", "show", "dock", "A").lines[-2:] == ["result:", "    all green"]


@pytest.mark.parametrize("line", ["wait dock --timeout -1", "wait dock --timeout=-0.1", "lock dock a --wait -5", "wait dock --interval -1"])
def test_no_command_waits_shorter_than_nothing(town, line):
    heron = town.person(REDISCHAT_AGENT="heron")
    heron("open", "dock")
    assert heron(*line.split(), code=64).error == "USAGE"
