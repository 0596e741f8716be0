"""Codex with redischat's hooks, in its default sandbox: told, refused a locked file, and woken by the waker's `codex queue`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from products import codex_lab, hold, text
from wired import heard_by, hears, idle, peer, redischat, session_of, told_once, waker, wire

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]

SANDBOX = ("--sandbox", "workspace-write")  # what a trusted project has by default
HOOKED = (*SANDBOX, "--dangerously-bypass-hook-trust")


def with_bob(lab, *, here=False):
    """Amy's project, wired, and bob, who opened a channel for both."""
    wire(lab, "codex", agent="amy")
    bob = peer(lab, "bob", here=here)
    bob("open", "dock", "--members", "amy")
    return bob


def test_a_sandboxed_codex_is_told_at_the_start_in_the_middle_and_at_the_end():
    with codex_lab() as lab:
        bob = with_bob(lab)
        bob("say", "dock", "before it began", "--to", "amy")
        words = lab.play(hold("middle", lab.shell("echo work")), hold("end", text("done")), text("really done"))
        run = lab.start(lab.program, "exec", "--json", "--skip-git-repo-check", *HOOKED, words, name="run")
        run.stdin.close()
        first = lab.asked(lambda one: one.play == "1", "it began")
        assert "redischat: you are amy." in first.shown
        assert hears("before it began")(first)
        bob("say", "dock", "in the middle", "--to", "amy")
        lab.release("middle")
        lab.asked(hears("in the middle"), "it was told in the middle")
        bob("say", "dock", "at the end", "--to", "amy")
        lab.release("end")
        lab.asked(hears("at the end"), "it was told before it ended")
        assert run.wait(20) == 0
        assert heard_by(lab, "amy", "dock") == 3
        assert all(told_once(lab, words) for words in ("before it began", "in the middle", "at the end"))


def test_a_locked_file_is_changed_neither_by_a_patch_nor_by_the_shell():
    with codex_lab() as lab:
        for name in ("locked.txt", "free.txt"):
            lab.file(name, "alpha\n")
        bob = with_bob(lab, here=True)
        bob("lock", "dock", "locked.txt", "--reason", "release")
        edits = [lab.edit(name, "alpha", "beta") for name in ("locked.txt", "free.txt")]
        assert lab.ask(*edits, lab.shell("sed -i s/alpha/gamma/ locked.txt"), lab.shell("cat locked.txt"), text("done"), flags=HOOKED).code == 0
        assert (lab.project / "locked.txt").read_text() == "alpha\n"
        assert (lab.project / "free.txt").read_text() == "beta\n"
        refused = [one for one in lab.requests() if "Command blocked by PreToolUse hook: redischat: locked.txt is locked by bob" in one.newest]
        assert len(refused) == 2


def test_an_idle_codex_is_woken_by_the_waker_and_told_once():
    with codex_lab() as lab:
        lab.env["PATH"] = f"{Path(lab.program).parent}:{lab.env['PATH']}"  # the waker calls codex by name
        bob = with_bob(lab)
        amy = lab.session(*SANDBOX)
        amy.turn(text("ready"))
        waker(lab)
        idle(lab, "amy")
        bob("say", "dock", "rebase first", "--to", "amy")
        woken = lab.asked(hears("rebase first"), "amy was woken")
        assert "redischat (amy): 1 message for you in #dock (bob)" in woken.newest
        amy.turn(lab.shell("echo more"), text("done"))
        assert told_once(lab, "rebase first")
        assert session_of(lab, "amy")["landed_ms"]
        amy.close()


def test_a_sandboxed_shell_says_that_it_cannot_reach_the_broker():
    with codex_lab() as lab:
        with_bob(lab)
        command = Path(sys.executable).with_name("redischat")
        lab.ask(lab.shell(f"{command} roster dock; echo exit $?"), text("done"), flags=HOOKED)
        assert "exit 5" in lab.requests()[-1].newest


def reach(lab):
    """What doctor says of a shell in Codex's sandbox."""
    rows = [json.loads(line) for line in redischat(lab, "doctor", "--harness", "codex", "--json", code=None).splitlines()]
    (found,) = [row for row in rows if row["check"] == "codex shell"]
    return found["said"]


def test_doctor_tries_a_shell_in_codexs_own_sandbox_and_one_that_is_let_out_says_something():
    with codex_lab() as lab:
        lab.env["PATH"] = f"{Path(lab.program).parent}:{lab.env['PATH']}"
        bob = with_bob(lab)
        config = Path(lab.env.get("CODEX_HOME") or lab.home / ".codex", "config.toml")
        before = config.read_text()
        config.write_text(before.replace('sandbox_mode = "danger-full-access"', 'sandbox_mode = "workspace-write"'))
        assert "does not reach the broker: tried now" in reach(lab)
        config.write_text(config.read_text().replace("[sandbox_workspace_write]\n", "[sandbox_workspace_write]\nnetwork_access = true\n"))
        assert "reaches the broker: tried now" in reach(lab)
        command = Path(sys.executable).with_name("redischat")
        done = lab.ask(
            lab.shell(f"{command} say dock 'from the sandbox' --to bob --as amy; echo exit $?"), text("done"),
            flags=(*HOOKED, "-c", "sandbox_workspace_write.network_access=true"),
        )  # fmt: skip
        assert "from the sandbox" in bob("read", "dock"), done
