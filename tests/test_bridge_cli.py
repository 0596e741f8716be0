"""`redischat bridge slack` as a person runs it: a process, its settings, what it says when they are missing, and how it ends."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from slack import CHANNEL, SCOPES, slack_here
from waiting import wait_until

pytestmark = pytest.mark.real
TOKEN = "xoxb-secret-1"


@pytest.fixture
def slack():
    with slack_here() as found:
        yield found


@pytest.fixture
def alice(town, slack):
    """A person with a channel, and a file that says all."""
    heron, lynx = town.pair()
    person = town.agent("alice")
    person("join", "dock")
    person.heron, person.lynx = heron, lynx
    person.file = os.path.join(town.state, "slack")
    settle(person, token=TOKEN, channel=CHANNEL, room="dock", agent="alice", poll="0.05", api=slack.url)
    return person


def settle(person, **lines):
    with open(os.open(person.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write("".join(f"{key}={value}\n" for key, value in lines.items()))


def test_a_person_in_slack_and_an_agent_at_a_shell_talk(alice, slack):
    bridge = alice.start("bridge", "slack")
    wait_until(lambda: len(slack.calls("conversations.history")) > 1, "the bridge looks into Slack")
    alice.heron("say", "dock", "may I?", "--to", "alice")
    wait_until(lambda: slack.texts == ["*heron*: may I?"], "the question is in Slack")
    slack.write("do it", thread=slack.posted[0]["ts"])
    shown = alice.heron("wait", "dock").out
    assert "do it" in shown
    assert "Slack U0ANN: Ann Lee" in shown
    bridge.send_signal(signal.SIGTERM)
    out, err = bridge.communicate(timeout=20)
    assert (bridge.returncode, out) == (0, b"")
    assert b"carrying #dock" in err
    assert b"xoxb" not in err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_bridge_07_one_that_ends_while_a_post_is_on_its_way_is_followed_by_one_that_posts_each_once(town, alice, slack, how):
    slack.refuse(None, None, "stall")
    for n in range(6):
        alice.heron("say", "dock", f"line {n}")
    bridge = alice.start("bridge", "slack")
    wait_until(lambda: len(slack.texts) == 3, "the third is on its way")
    bridge.send_signal(how)
    assert bridge.wait(timeout=20) == (0 if how == signal.SIGTERM else -how)
    key, channel = "rc1:{default}:marks:alice", "dock"
    mark = town.server.ask("HGET", key, channel).split()
    assert mark[1] == "2"  # read up to what Slack has said ok to
    town.server.ask("HSET", key, channel, " ".join([*mark[:6], "1", mark[7]]))  # the lease of one that was killed runs out
    alice.start("bridge", "slack")
    wait_until(lambda: len(slack.texts) >= 6, "the rest")
    assert slack.texts == [f"*heron*: line {n}" for n in range(6)]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_at_once_and_cleanly_also_while_slack_says_nothing(alice, slack, how):
    slack.silent = True
    bridge = alice.start("bridge", "slack")
    wait_until(lambda: slack.asked, "the bridge asks Slack")
    bridge.send_signal(how)
    assert bridge.wait(timeout=20) == 0
    assert b"Traceback" not in bridge.stderr.read()


def test_a_signal_that_was_to_be_ignored_is(alice, slack):
    """As nohup does."""
    bridge = alice.start("bridge", "slack", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_until(lambda: len(slack.calls("conversations.history")) > 1, "the bridge looks into Slack")
    bridge.send_signal(signal.SIGHUP)
    slack.write("@heron still there?")
    assert "still there?" in alice.heron("wait", "dock").out
    assert bridge.poll() is None


def test_while_it_runs_the_person_listens_and_a_second_one_is_refused(alice, slack):
    alice.start("bridge", "slack")
    wait_until(lambda: len(slack.calls("conversations.history")) > 1, "the bridge looks into Slack")
    for more in ((), ("--slack", "C0OTHER")):
        assert alice("bridge", "slack", *more, code=1).error == "BRIDGE_RUNS"
    wait_until(lambda: "alice" in str(alice.heron("say", "dock", "hello", "--to", "alice", "--json").record["listening"]), "alice listens")


def test_what_is_missing_is_named_all_at_once(alice):
    os.unlink(alice.file)
    found = alice("bridge", "slack", code=1)
    assert found.error == "BRIDGE_UNSET"
    assert all(what in found.err for what in ("SLACK_BOT_TOKEN", "SLACK_CHANNEL", "CHANNEL", "--as NAME"))
    found = alice("bridge", "slack", "dock", "--as", "alice", "--slack", CHANNEL, code=1)
    assert "SLACK_BOT_TOKEN" in found.err
    assert "--as" not in found.err


def test_flags_go_before_the_environment_and_both_before_the_file(alice, slack):
    settle(alice, token="wrong", channel="C0WRONG", room="nowhere", agent="alice", poll="soon", api=slack.url)
    assert "poll=soon" in alice("bridge", "slack", "--check", code=1).err
    settle(alice, token="wrong", channel="C0WRONG", room="nowhere", agent="alice", api=slack.url)
    found = alice("bridge", "slack", "dock", "--check", "--slack", CHANNEL, "--json", env={"SLACK_BOT_TOKEN": TOKEN, "SLACK_CHANNEL": "C0ALSO"})
    assert {row["state"] for row in found.records} == {"ok"}
    assert {given.get("channel", CHANNEL) for _, given in slack.asked} == {CHANNEL}


@pytest.mark.parametrize("poll", ["0", "nan", "inf", "1e9"])
def test_a_time_between_looks_that_is_none_is_refused(alice, slack, poll):
    settle(alice, token=TOKEN, channel=CHANNEL, room="dock", agent="alice", poll=poll, api=slack.url)
    assert "above 0, 86400 at most" in alice("bridge", "slack", "--check", code=64).err


def test_an_agent_is_not_bridged_because_it_is_the_one_of_this_project(alice):
    settle(alice, token=TOKEN, channel=CHANNEL, room="dock")
    assert "--as NAME" in alice("bridge", "slack", "--check", code=1).err
    assert alice.heron("bridge", "slack", "--check", "--as", "alice", code=1).error == "SPEAK_AS_YOURSELF"


def test_a_token_goes_to_no_address_in_the_open_and_not_unsaid_into_a_file_that_others_read(alice, slack):
    settle(alice, token=TOKEN, channel=CHANNEL, room="dock", agent="alice", api="http://slack.example/api/")
    assert "https://" in alice("bridge", "slack", "--check", code=1).err
    settle(alice, token=TOKEN, channel=CHANNEL, room="dock", agent="alice", api=slack.url)
    os.chmod(alice.file, 0o644)
    assert "chmod 600" in alice("bridge", "slack", "--check").err


def test_a_check_looks_at_all_four_and_sends_nothing(alice, slack):
    found = alice("bridge", "slack", "--check")
    assert [row.split("  ")[0] for row in found.lines] == ["token", "reading Slack", "posting to Slack", "reading #dock"]
    assert all(" ok " in row for row in found.lines)
    assert slack.said == []
    assert slack.calls("chat.postMessage") == []


@pytest.mark.parametrize(
    ("method", "answer", "what", "cure"),
    [
        ("auth.test", "invalid_auth", "token", "Bot User OAuth Token"),
        ("auth.test", {"ok": True, "user": "ann", "user_id": "U0ANN"}, "token", "Bot User OAuth Token"),
        ("conversations.history", "not_in_channel", "reading Slack", "/invite @redischat"),
        ("conversations.history", {"ok": False, "error": "missing_scope", "needed": "channels:history"}, "reading Slack", "channels:history"),
    ],
)
def test_a_check_gives_each_fault_its_own_cure(alice, slack, method, answer, what, cure):
    slack.ways[method] = answer
    rows = {row["check"]: row for row in alice("bridge", "slack", "--check", "--json", code=1).records}
    assert rows[what]["state"] == "wrong"
    assert cure in rows[what]["remedy"]


def test_a_check_misses_the_right_to_post_and_the_seat_in_the_channel(alice, slack):
    slack.scopes = SCOPES.replace("chat:write,", "")
    alice("leave", "dock")
    rows = {row["check"]: row for row in alice("bridge", "slack", "--check", "--json", code=1).records}
    assert "chat:write" in rows["posting to Slack"]["remedy"]
    assert "install the app to the workspace again" in rows["posting to Slack"]["remedy"]
    assert rows["reading #dock"]["remedy"] == "redischat join dock --as alice"
    alice(*rows["reading #dock"]["remedy"].split()[1:])
    slack.scopes = SCOPES
    alice("bridge", "slack", "--check")


def test_a_check_that_could_not_look_is_no_verdict(alice, slack):
    slack.ways["auth.test"] = slack.ways["conversations.history"] = (503, {})
    rows = {row["check"]: row for row in alice("bridge", "slack", "--check", "--json", code=5).records}
    assert [rows[what]["state"] for what in ("token", "reading Slack", "posting to Slack")] == ["not known"] * 3
    assert rows["posting to Slack"]["remedy"] is None, "of a token that was not looked at it is not known that it lacks a scope"


def test_a_token_that_slack_refuses_starts_nothing(alice, slack):
    slack.ways["auth.test"] = "token_revoked"
    found = alice("bridge", "slack", code=1)
    assert found.error == "BRIDGE_REFUSED"
    assert "redischat bridge slack --check" in found.err


def test_without_its_extra_it_says_how_to_install_it(alice, tmp_path):
    (tmp_path / "slack_sdk.py").write_text("raise ModuleNotFoundError('no', name='slack_sdk')\n")
    found = alice("bridge", "slack", code=1, env={"PYTHONPATH": f"{tmp_path}:{alice.town.env['PYTHONPATH']}"})
    assert found.error == "NOT_INSTALLED"
    assert f"{sys.executable} -m pip install 'redischat[slack]'" in found.err
