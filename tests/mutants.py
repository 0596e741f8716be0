"""Plant one break at a time in a copy of the project and demand that a test fails by an assertion: ``python tests/mutants.py [name ...]``.

A break that no test notices is a hole in the suite. A crash does not count: it says that something is broken, not that somebody knew what should be.
"""

# ruff: noqa: T201 - it prints its verdicts

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree as ET

from mutants_bridge import BRIDGE
from mutants_brokers import BROKER
from mutants_coordination import COORDINATION, FAKE
from mutants_mcp import TOOLS
from mutants_team import TEAM

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ("redischat", "scripts", "hooks", "tests", "pyproject.toml", "README.md", "LICENSE", "docker-compose.yml", ".env.example")
AT_ONCE = 2  # mutants side by side
SECONDS = 90  # a mutant that runs longer hangs
KNOWN = ("AssertionError", "assert ", "Failed: ")
RACES = "tests/races/"


class Mutant:
    """One break: in ``file``, ``old`` (found exactly once) becomes ``new``; one of ``tests`` must fail."""

    def __init__(self, name: str, file: str, old: str, new: str, *tests: str) -> None:
        self.name, self.file, self.old, self.new, self.tests = name, file, old, new, tests


MUTANTS = [
    Mutant(
        "no token check", "scripts/parts/speak.lua", 'if a.token ~= "-" and a.token ~= token then', "if false then",
        RACES + "test_at_once.py::test_one_of_many_sessions_gets_the_name_and_its_token_is_the_one_that_counts[valkey]",
    ),
    Mutant(
        "a held name is given away", "scripts/agent_identify.lua", 'else return {"held", held.display, held.session, held.host, held.since, held.seen, held.project} end', 'else how = "new" end',
        RACES + "test_at_once.py::test_one_of_many_sessions_gets_the_name_and_its_token_is_the_one_that_counts[valkey]",
    ),
    Mutant(
        "identify without its lock", "redischat/binding.py", "        flock(door, LOCK_EX)\n", "",
        RACES + "test_at_once.py::test_the_token_that_is_kept_is_the_one_that_was_drawn_last[valkey]",
    ),
    Mutant(
        "ack before flush", "redischat/flows/reading.py", "        shown = yield Show(", "        yield _ack(who, lease, rows, len(reading.messages), 0, clean=True)\n        shown = yield Show(",
        f"tests/test_holding.py::test_a_batch_that_failed_comes_again_at_once_and_marked{FAKE}",
    ),
    Mutant(
        "lease not released when a take fails", "redischat/flows/reading.py", "        yield messages.release(who, lease)", "        yield []",
        RACES + "test_crash.py::test_a_reader_interrupted_before_it_knows_what_it_was_handed_gives_it_back",
    ),
    Mutant(
        "shown is acked whole although showing stopped", "redischat/flows/reading.py", 'getattr(error, "shown", 0)', "len(reading.messages)",
        f"tests/test_holding.py::test_a_batch_that_failed_comes_again_at_once_and_marked{FAKE}",
    ),
    Mutant(
        "a pointer that was not shown is marked", "redischat/flows/reading.py", "passed = clean or", "passed = True or",
        "tests/test_limits.py::test_a_pointer_or_a_hole_that_could_not_be_shown_comes_again",
    ),
    Mutant(
        "who watches is shown an audit before the message it follows", "redischat/flows/watching.py", "if _place(one)[0] <= reached]", "]",
        "tests/test_watching.py::test_whatever_happens_between_two_commands_nothing_is_missed_and_nothing_comes_twice[1]",
    ),
    Mutant(
        "a ring before its session is known is lost", "redischat/waker/world.py", "for session in self.cards.keys() - before:", "for session in set[str]():",
        "tests/test_waker.py::test_a_message_right_after_a_clear_rings_the_session_that_goes_on",
    ),
    Mutant(
        "a channel opened later is not watched", "scripts/channel_open.lua", '    redis.call("SPUBLISH", opened, channel)\n', "",
        "tests/test_watching.py::test_channels_that_come_and_go_are_told_when_all_are_watched",
    ),
    Mutant(
        "a sleeper's name is given away", "scripts/agent_identify.lua", 'want == "over" and waits == 0 and', 'want == "over" and',
        f"tests/test_limits.py::test_whoever_sleeps_at_its_door_is_not_gone_however_long_unseen{FAKE}",
    ),
    Mutant(
        "clean reading marks repeats", "redischat/flows/reading.py", "seqs[seen - 1] if seen > whole else 0", "seqs[seen - 1] if seen else 0",
        RACES + "test_handed_out_once.py::test_three_hooks_beside_them_over_three_channels_change_nothing[valkey]",
    ),
    Mutant(
        "busy ignored in wait", "redischat/flows/reading.py", 'busy_ms = max(busy_ms, row["at"] - found["now"])', "pass",
        RACES + "test_crash.py::test_a_wait_looks_again_when_the_lease_of_a_dead_reader_ends[valkey]",
    ),
    Mutant(
        "wait keeps its positions over a subscription", "redischat/flows/reading.py", 'if heard in ("again", "rooms"):', "if False:",
        RACES + "test_handed_out_once.py::test_a_channel_that_was_deleted_and_opened_again_still_wakes_a_wait[valkey]",
        RACES + "test_handed_out_once.py::test_who_joins_while_a_wait_subscribes_is_heard[valkey]",
    ),
    Mutant(
        "a look stops after a thousand", "scripts/message_look.lua", '"on" or "quiet"', '"quiet" or "quiet"',
        RACES + "test_handed_out_once.py::test_a_wait_finds_what_wakes_it_behind_a_thousand_messages_that_do_not[valkey]",
    ),
    Mutant(
        "any ring ends a wait", "redischat/flows/reading.py", 'lease, asked, "wake")', "lease, asked)",
        RACES + "test_idle.py::test_my_own_words_end_no_wait_of_mine_even_when_something_for_others_is_unread[valkey]",
    ),
    Mutant(
        "two readers at once", "scripts/message_take.lua", "if mark.ends > NOW_MS then", "if false then",
        f"tests/test_holding.py::test_while_one_reader_shows_a_channel_another_of_its_agent_gets_nothing_of_it{FAKE}",
    ),
    Mutant(
        "repeat mark dropped", "scripts/message_take.lua", "mark.maybe = math.max(mark.maybe, mark.hi)", "mark.maybe = mark.maybe",
        RACES + "test_crash.py::test_marks_only_rise_whoever_acks_last[valkey]",
    ),
    Mutant(
        "marks lowered by ack", "scripts/message_ack.lua", "mark.read = math.max(read, to)", "mark.read = to",
        RACES + "test_crash.py::test_marks_only_rise_whoever_acks_last[valkey]",
    ),
    Mutant(
        "head not checked in ack", "scripts/message_ack.lua", "elseif to > head then", "elseif false then",
        f"tests/test_delivery.py::test_an_ack_by_number_needs_no_reading_and_says_what_was_never_shown{FAKE}",
    ),
    Mutant(
        "epoch not checked in ack", "scripts/message_ack.lua", 'elseif of ~= "" and of ~= epoch then', "elseif false then",
        RACES + "test_trimmed.py::test_an_old_reader_moves_nothing_in_a_new_channel_of_that_name[ack-valkey]",
    ),
    Mutant(
        "ack is refused when memory is full", "scripts/message_ack.lua", 'redis.call("DEL", scratch)', 'redis.call("EXISTS", scratch)',
        RACES + "test_memory.py::test_what_settles_works_all_the_same[ack-lately-valkey]",
    ),
    Mutant(
        "own messages handed out", "scripts/parts/news.lua", "string.lower(entry[FROM]) == me or", "",
        f"tests/test_delivery.py::test_one_never_hears_ones_own_voice{FAKE}",
    ),
    Mutant(
        "own words carry the mark over others'", "scripts/message_post.lua", "if mark.read == head then mark.read = seq end", "mark.read = seq",
        RACES + "test_crash.py::test_an_own_message_does_not_carry_the_mark_over_what_others_said_before_it[valkey]",
    ),
    Mutant(
        "delivered past the limit", "scripts/parts/page.lua", "budget.count == 0 or", "budget.count == -1 or",
        f"tests/test_delivery.py::test_a_limit_hands_out_the_oldest_and_says_how_many_are_left{FAKE}",
    ),
    Mutant(
        "strangers' entries are read as ours", "scripts/parts/page.lua", '"0-" .. head, "COUNT", STEP)', '"+", "COUNT", STEP)',
        RACES + "test_trimmed.py::test_a_strangers_entry_ends_posting_and_nothing_else[low-valkey]",
    ),
    Mutant(
        "cap off by one", "scripts/message_post.lua", "talk >= cap", "talk > cap",
        RACES + "test_cap.py::test_a_room_closes_at_exactly_its_cap[50-valkey]",
    ),
    Mutant(
        "idempotency lookup after the checks", "scripts/message_post.lua", "if past then return", 'if past and redis.call("HGET", meta, "state") == "open" then return',
        RACES + "test_cap.py::test_a_room_closes_at_exactly_its_cap[50-valkey]",
    ),
    Mutant(
        "answers are not remembered", "scripts/parts/idem.lua", '    redis.call("SET", key, table.concat(reply, "\\31"), "EX", seconds)\n', "",
        RACES + "test_restart.py::test_an_act_whose_answer_was_lost_is_done_once[post-valkey]",
    ),
    Mutant(
        "another text under the same key", "scripts/parts/said.lua", 'entry[2][12] ~= body and {"other", number} or past', "past",
        RACES + "test_cap.py::test_a_room_closes_at_exactly_its_cap[50-valkey]",
    ),
    Mutant(
        "seq counted by us", "scripts/message_post.lua", 'local seq, failure = append(stream, "0-*", name, fields)',
        'local seq, failure = head + 1, nil\nif type(redis.pcall("XADD", stream, "0-" .. seq, unpack(fields))) == "table" then return {"damaged", name} end',
        RACES + "test_trimmed.py::test_a_strangers_entry_between_ours_is_passed_over[valkey]",
    ),
    Mutant(
        "ring before append", "scripts/message_post.lua", "local seq, failure = append(",
        'if audience == "*" then ring_everyone(room, everyone, channel, me, head + 1) end\nlocal seq, failure = append(',
        RACES + "test_trimmed.py::test_a_strangers_entry_ends_posting_and_nothing_else[low-valkey]",
    ),
    Mutant(
        "audience ignored: everyone is woken", "scripts/parts/audience.lua", 'return "," .. table.concat(named, ",") .. ",", shown', 'return "*", shown',
        RACES + "test_handed_out_once.py::test_what_hooks_only_pointed_at_comes_out_whole_at_the_next_read[valkey]",
    ),
    Mutant(
        "everyone is rung for a message to one", "scripts/message_post.lua", 'elseif audience == "*" then rung = ring', "end\nif true then rung = ring",
        RACES + "test_idle.py::test_a_thousand_posts_for_others_wake_no_wait[valkey]",
    ),
    Mutant(
        "a key built in Lua", "scripts/message_post.lua", 'redis.call("HDEL", owed, channel)', 'redis.call("HDEL", "rc1:{w}:owed:" .. me, channel)',
        RACES + "test_cluster.py::test_no_script_builds_a_key",
    ),
    Mutant(
        "hint every time", "scripts/message_post.lua", 'redis.call("HGET", hinted, channel .. " " .. me) ~= epoch', "true",
        f"tests/test_messages.py::test_a_hint_on_narrowing_comes_once_a_channel_and_only_where_it_would_spare_somebody{FAKE}",
    ),
    Mutant(
        "close without notice", "scripts/channel_close.lua", 'notice(stream, heads, live, channel, display, "closed"', 'local _ = (function() end)("closed"',
        RACES + "test_restart.py::test_a_broker_that_forgot_its_scripts_does_each_act_once[close-valkey]",
    ),
    Mutant(
        "the last leaver leaves the door open", "scripts/channel_leave.lua", "if count <= 0 and", "if count < 0 and",
        RACES + "test_at_once.py::test_the_last_of_many_leavers_closes_the_channel_once[valkey]",
    ),
    Mutant(
        "who joins twice counts twice", "scripts/parts/join.lua", 'if state == "in" and kept then return "already" end', "",
        RACES + "test_at_once.py::test_one_agent_that_joins_many_times_at_once_is_one_member[valkey]",
    ),
    Mutant(
        "a lost answer is not asked for again", "redischat/wire/__init__.py", "(RETRY_S, FAILOVER_S) if patience is None", "(-1.0, -1.0) if patience is None",
        RACES + "test_restart.py::test_an_act_whose_answer_was_lost_is_done_once[post-valkey]",
    ),
    Mutant(
        "answers out of step after ^C", "redischat/wire/__init__.py", "            if not isinstance(error, Exception):\n                self.close()\n", "",
        RACES + "test_crash.py::test_a_reader_interrupted_before_it_knows_what_it_was_handed_gives_it_back",
    ),
    Mutant(
        "a wait gives up on a cluster that is down", "redischat/wire/__init__.py", "isinstance(error, (BrokerUnable, Loading, MaxClients))", "isinstance(error, (Loading, MaxClients))",
        RACES + "test_cluster.py::test_a_wait_sleeps_through_a_cluster_that_is_down[valkey]",
    ),
    Mutant(
        "a TLS connection without keepalive", "redischat/wire/tls.py", "watched(socket.create_connection((place.host, place.port), CONNECT_S))", "socket.create_connection((place.host, place.port), CONNECT_S)",
        RACES + "test_restart.py::test_the_kernel_watches_over_a_connection[rediss]",
    ),
    Mutant(
        "a doorbell in another slot", "redischat/keys.py", 'return self.prefix + "room:" + channel', 'return "room:" + channel',
        RACES + "test_cluster.py::test_every_verb_works_on_a_cluster_node_and_stays_in_one_slot[valkey]",
    ),
    Mutant(
        "the hole in front is not told", "scripts/parts/page.lua", "page.gap = seq - from - 1", "page.gap = 0",
        RACES + "test_trimmed.py::test_what_was_trimmed_unread_is_told_once_with_its_number[valkey]",
    ),
    Mutant(
        "the quick parser takes digits of any script", "redischat/__main__.py", "    if not text.isascii():\n        return None\n", "", "tests/test_quick.py::test_a_number_in_other_than_plain_digits_is_left_to_click",
    ),
    Mutant(
        "inert() lets everything pass", "redischat/text.py", "    if text.isprintable():\n        return text\n", "    return text\n",
        "tests/test_hostile.py::test_no_refusal_lets_a_name_a_flag_or_a_place_act_on_the_terminal",
    ),
    Mutant(
        "the password is shown", "redischat/settings/place.py", '(f"{user}:***@" if colon else', '(f"{login}@" if colon else',
        "tests/test_hostile.py::test_no_password_is_in_any_output_of_any_verb_right_or_wrong",
    ),
    Mutant(
        "a second server without the lock", "redischat/broker/lock.py", "        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)\n", "        pass\n",
        "tests/test_broker.py::test_a_server_whose_socket_was_deleted_gets_no_twin",
    ),
]  # fmt: skip
MUTANTS += [Mutant(*row) for row in (*COORDINATION, *BROKER, *TEAM, *TOOLS, *BRIDGE)]


def planted(mutant: Mutant, home: str) -> str:
    """A copy of the project with the break in it."""
    copy = os.path.join(home, "".join(letter if letter.isalnum() else "-" for letter in mutant.name))  # a colon would end it in PYTHONPATH
    for part in PARTS:
        source, target = os.path.join(ROOT, part), os.path.join(copy, part)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".mypy_cache"))
        elif os.path.exists(source):
            shutil.copy(source, target)
    path = os.path.join(copy, mutant.file)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(mutant.old) != 1:
        raise LookupError(f"OUT OF DATE: {mutant.file} holds {mutant.old!r} {text.count(mutant.old)} times")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(mutant.old, mutant.new))
    return copy


def run(copy: str, tests: tuple[str, ...]) -> tuple[int, str, str]:
    """pytest's exit code, what it printed, and its report."""
    report = os.path.join(copy, "report.xml")
    words = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly", f"--junitxml={report}", *tests]
    env = {**os.environ, "PYTHONPATH": copy, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(words, cwd=copy, env=env, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return -1, "it hangs", report
    return done.returncode, done.stdout + done.stderr, report


def verdict(code: int, report: str) -> tuple[bool, str]:
    """Was it killed as it should be, and by what?"""
    if code == 0:
        return False, "SURVIVED: no test noticed"
    if code != 1 or not os.path.exists(report):
        return False, f"pytest ended with {code}"
    cases = ET.parse(report).getroot().iter("testcase")
    failed = [(case.get("name", ""), failure.get("message") or "") for case in cases for failure in case.findall("failure")]
    by_assertion = [name for name, message in failed if message.startswith(KNOWN)]
    if not by_assertion:
        return False, f"CRASHED, no assertion: {failed[0][1].splitlines()[0] if failed else 'an error outside the test'}"
    return True, by_assertion[0]


def judged(mutant: Mutant, home: str) -> tuple[Mutant, bool, str, float, str]:
    """Plant, run, judge, and clear away."""
    began = time.monotonic()
    try:
        copy = planted(mutant, home)
    except LookupError as error:
        return mutant, False, str(error.args[0]), 0.0, ""
    code, printed, report = run(copy, mutant.tests)
    killed, why = verdict(code, report)
    shutil.rmtree(copy)
    return mutant, killed, why, time.monotonic() - began, printed


def main(names: list[str]) -> int:
    """Judge all mutants, or those whose name holds one of the words given."""
    chosen = [mutant for mutant in MUTANTS if not names or any(word in mutant.name for word in names)]
    began, survivors = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="rm", dir="/tmp") as home, ThreadPoolExecutor(AT_ONCE) as pool:
        for mutant, killed, why, seconds, printed in pool.map(lambda one: judged(one, home), chosen):
            print(f"{'killed  ' if killed else 'SURVIVOR'} {seconds:5.1f} s  {mutant.name}: {why}", flush=True)
            if not killed:
                survivors += 1
                print("\n".join("    " + line for line in printed.splitlines()[-15:]))
    print(f"{len(chosen)} mutants, {survivors} not killed, {time.monotonic() - began:.0f} s")
    return 1 if survivors or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
