"""What the bridge does with text: whom a message of Slack wakes, and how text goes out and in."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redischat.bridge.addressing import asks_for_list, audience, named
from redischat.bridge.markup import FENCE, MOST, mentioned, plain, posts
from redischat.bridge.slack import stamp
from redischat.models import Message
from redischat.names import MESSAGE_BYTES

HERE = ["build", "refactor-agent", "build-ui", "qa_1", "x1", "...", "heron"]
SLACK_MOST = 4_000


def message(text, title=None, kind="message"):
    return Message.model_validate({
        "channel": "dock", "seq": 17, "kind": kind, "from": "heron", "to": None, "wakes": "all", "title": title, "status": None, "reply_to": None, "thread": None,
        "ts": datetime(2026, 12, 1, tzinfo=UTC), "body": text, "mine": False, "for_me": False, "repeat": False, "cut": None, "after": None, "n": None,
    })  # fmt: skip


# K05: whom it wakes.


@pytest.mark.parametrize(
    ("text", "woken"),
    [
        ("", "none"),
        ("how is it going?", "none"),
        ("@build fix this", ["build"]),
        ("no response needed, @build", "none"),
        ("@here No reply is necessary", "none"),
        ("no need to answer, heron", "none"),
        ("heron: NRN", "none"),
        ("FYI only: heron is down", "none"),
        ("@here stop", "all"),
        ("stop, @Channel!", "all"),
        ("@everyone", "all"),
        ("@here @heron look", ["heron"]),
        ("mail me at ann@here.com", "none"),
        ("see a@here", "none"),
        ("@here-is-it and @hereafter", "none"),
        ("@here.com", "none"),
        ("we were @here.", "all"),
    ],
)
def test_k05_the_first_rule_that_fits_says_whom_it_wakes(text, woken):
    assert audience(text, HERE) == woken


def test_k05_a_thread_wakes_its_owner_unless_something_more_is_said():
    assert audience("yes", HERE, "Heron") == ["heron"]
    assert audience("yes", HERE, "gone") == "none"
    assert audience("yes @build", HERE, "heron") == ["build"]
    assert audience("yes @here", HERE, "heron") == "all"
    assert audience("yes, nrn", HERE, "heron") == "none"
    assert audience("heron, yes", [], "heron") == "none"


def test_more_names_than_a_message_may_have_are_everyone():
    many = [f"agent-{n}" for n in range(51)]
    assert audience(" ".join("@" + name for name in many), many) == "all"


# K06: names.


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("build, are you there?", ["build"]),
        ("  Build are you there?", ["build"]),
        ("Hey refactor agent, what's the status?", ["refactor-agent"]),
        ("ok, refactor_agent go on", ["refactor-agent"]),
        ("hello there heron", ["heron"]),
        ("go on @refactor.agent and @BUILD", ["refactor-agent", "build"]),
        ("please, build, run it", ["build"]),
        ("I think the build is stuck", []),
        ("the build, which is stuck, needs a rerun", []),
        ("look at build, it is stuck", []),
        ("we said that. build, run", ["build"]),
        ("rebuild, builds, build2, heron's", []),
        ("ask build-ui about it", []),
        ("@build-ui go", ["build-ui"]),
        ("build ui, go", ["build-ui"]),
        ("@buildx @build.com", []),
        ("mail@build, it", []),
        ("heron and build, stop", ["heron", "build"]),
        ("@build @build @heron", ["build", "heron"]),
        ("qa 1, x1, ...", ["qa_1"]),
        ("x1 go, @x1 @...", []),
        ("(@heron) go", ["heron"]),
        ("done. @heron.", ["heron"]),
    ],
)
def test_k06_a_name_is_called_or_only_spoken_of(text, found):
    assert named(text, HERE) == found


def test_k06_without_members_nobody_is_named():
    assert named("@build", []) == []
    assert named("@.*", ["a.*b"]) == []


@given(st.text(max_size=300), st.lists(st.sampled_from(HERE)))
def test_no_text_breaks_the_rules_of_whom_it_wakes(text, members):
    found = audience(text, members)
    assert found in ("none", "all") or set(found) <= set(members)


@pytest.mark.parametrize("text", ["@redischat list", "redischat list", " @Redischat  LIST. ", "@redischat: list", "@redischat, list!"])
def test_k07_the_command_is_known_in_its_spellings(text):
    assert asks_for_list(text)


@pytest.mark.parametrize("text", ["list", "@redischat lsit", "@redischat list the agents", "say @redischat list", "@redischatlist", ""])
def test_k07_and_not_within_a_sentence(text):
    assert not asks_for_list(text)


# Out.


def test_a_short_message_is_one_post():
    assert posts(message("hi")) == ["*heron*: hi"]
    assert posts(message("hi", title="<!here> *x*")) == ["*heron*: _&lt;!here&gt; *x*_\nhi"]
    assert posts(message("heron left.", kind="notice")) == ["_heron left._"]


def test_a_first_line_below_a_title_cannot_speak_as_somebody_else_either():
    assert posts(message("*bob*: hi", title="t")) == ["*heron*: _t_\n| *bob*: hi"]


def test_a_long_message_is_several_posts_and_loses_nothing():
    lines = [f"line {n} " + "x" * 200 for n in range(60)]
    found = posts(message("\n".join(lines)))
    assert 1 < len(found) <= MOST
    assert all(len(one) <= SLACK_MOST for one in found)
    assert [one.partition(": ")[0] for one in found[1:]] == [f"*heron* ({n}/{len(found)})" for n in range(2, len(found) + 1)]
    assert "\n".join(one.partition(": ")[2] for one in found).split("\n") == lines


def test_a_fence_that_is_cut_is_closed_and_reopened():
    code = [f"x{n} = {n}" for n in range(900)]
    found = posts(message("look:\n" + FENCE + "\n" + "\n".join(code) + "\n" + FENCE + "\nthat is it"))
    assert len(found) > 2
    assert all(one.count(FENCE) % 2 == 0 for one in found)
    rows = [row for one in found for row in one.partition(": ")[2].split("\n")]
    assert [row for row in rows if row.startswith("x")] == code


def test_a_fence_that_is_never_closed_is_closed():
    assert posts(message("a\n```\nb")) == ["*heron*: a\n```\nb\n```"]


@pytest.mark.parametrize("character", ["x", "<", "\x1b", "\U0001f600", "`", "\n*a*:"])
def test_data_07_the_largest_message_of_one_line_is_a_few_posts_and_says_where_the_rest_is(character):
    size = MESSAGE_BYTES // len(character.encode())
    found = posts(message(character * size))
    assert len(found) == MOST
    assert all(len(one) <= SLACK_MOST for one in found)
    assert found[-1].endswith(f"[cut: {size * len(character.encode()):,} bytes in all; all of it: `redischat read dock --since 17 --limit 1`]")


@given(st.text(min_size=1, max_size=9_000))
def test_nothing_that_a_body_says_acts_in_slack(text):
    found = posts(message(text))
    for one in found:
        assert "<" not in one
        assert ">" not in one
        assert len(one) <= SLACK_MOST
        assert "@here" not in one.lower()
        assert one.startswith("*heron*")


# In.


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a &lt;b&gt; &amp;amp; &amp;lt;", "a <b> &amp; &lt;"),
        ("<@U1> <@U2|x>", "@Ann @U2"),
        ("<#C1|general> <#C1>", "#general #C1"),
        ("<!here> <!channel> <!everyone|everyone> <!subteam^S1|@team> <!subteam^S1>", "@here @channel everyone @team @subteam"),
        ("<!date^1392734382^{date}|today>", "today"),
        ("<https://a.b/?x=1&amp;y=2|a.b/?x=1&amp;y=2> <https://a.b|click>", "https://a.b/?x=1&y=2 click (https://a.b)"),
        ("<mailto:a@b.c|a@b.c>", "a@b.c"),
        ("a < b <", "a < b <"),
    ],
)
def test_text_of_slack_reads_as_it_does_there(text, seen):
    assert plain(text, lambda user: {"U1": "Ann"}.get(user, user)) == seen


def test_a_name_in_slack_wakes_no_agent_of_that_name():
    """Ann may be called heron there."""
    assert mentioned("<@U1> and <@U2|x>") == ["U1", "U2"]
    assert audience(plain("<@U1> look", lambda _: ""), HERE) == "none"


@pytest.mark.parametrize("odd", [None, "", "x", "1.x", "-1.0", "1e3", {}, [], "1.2.3"])
def test_an_odd_time_is_none(odd):
    assert not stamp(odd)


def test_times_are_compared_as_numbers():
    assert stamp("999999999.000200") < stamp("1000000000.000100") < stamp("1000000000.0002")
