"""Delivery: what counts as read really left the process, whatever happens to its output or to itself; and nothing is lost or shown twice unmarked."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time

import pytest
from cli import town_with
from waiting import wait_until

from redischat.calls import messages
from redischat.calls.call import Caller, Once
from redischat.keys import Keys
from redischat.wire import Wire

KEYS = Keys("default")
KILLS = 120
PIPE = 1 << 16  # what a pipe holds


def mark(server, agent="lynx", channel="dock"):
    """``heard read epoch maybe lease hi until spoke`` of one agent in one channel."""
    return server.ask("HGET", KEYS.marks(agent), channel).split(" ")


def held(server):
    """Is somebody showing #dock to lynx just now?"""
    return mark(server)[4] != "-"


def let_the_lease_lapse(server, agent="lynx", channel="dock"):
    """What 5 seconds would do."""
    words = mark(server, agent, channel)
    words[6] = "1"
    server.ask("HSET", KEYS.marks(agent), channel, " ".join(words))


def fill(town, count, size=8_000):
    """heron and lynx in #dock, with more for lynx than a pipe holds; gives lynx."""
    heron, lynx = town.pair()
    wire, who = Wire(town.server.url), Caller(KEYS, "heron", town.server.ask("HGET", KEYS.agents, "heron").split(" ")[1])
    for n in range(count):
        wire.run(messages.post(who, "dock", messages.Draft(f"{n} " + "x" * size), once=Once()))
    wire.close()
    assert heron.directory != lynx.directory
    return lynx


def seqs(done):
    return [(one["seq"], one["repeat"]) for one in done.records if one["kind"] == "message"]


# Where the output goes.


@pytest.mark.parametrize("flags", ["", "--json"])
def test_a_reader_that_leaves_early_gets_the_rest_again_and_what_it_may_have_seen_is_marked(town, flags):
    lynx = fill(town, 40)
    done = lynx.shell(f"$RC read dock {flags} | head -1")
    assert (done.err, len(done.lines)) == ("", 1)
    again = seqs(lynx("read", "dock", "--json"))
    assert [seq for seq, _ in again] == list(range(1, 41))
    repeats = [repeat for _, repeat in again]
    assert repeats[0] is True
    assert repeats[-1] is False
    assert repeats == sorted(repeats, reverse=True)
    assert seqs(lynx("read", "dock", "--json")) == []


@pytest.mark.parametrize("flags", ["", "--json"])
def test_output_that_nobody_ever_took_from_the_pipe_comes_again_marked(town, flags):
    lynx = fill(town, 3, 10)
    out, into = os.pipe()
    reading = lynx.start("read", "dock", *flags.split(), stdout=into)
    os.close(into)
    wait_until(lambda: held(town.server), "messages are taken")
    os.close(out)
    assert reading.wait(30) == 5
    assert reading.stderr.read() == b""
    assert {seq for seq, _ in seqs(lynx("read", "dock", "--json"))} == {1, 2, 3}


@pytest.mark.parametrize(
    "words", [("read", "dock"), ("read", "dock", "--json"), ("wait", "dock"), ("wait", "dock", "--json"), ("read",), ("read", "dock", "--mine")], ids=" ".join
)
def test_a_pipe_without_a_reader_ends_quietly_and_nothing_counts_as_read(town, words):
    lynx = fill(town, 3, 10)
    out, into = os.pipe()
    os.close(out)
    reading = lynx.start(*words, stdout=into)
    os.close(into)
    assert reading.wait(30) == 5
    assert reading.stderr.read() == b""
    assert not held(town.server)
    assert seqs(lynx("read", "dock", "--json")) == [(1, False), (2, False), (3, False)]


@pytest.mark.parametrize("target", [">/dev/full", ">&-", ">&- <&-"])
@pytest.mark.parametrize("words", ["read dock", "read dock --json", "wait dock", "read"])
def test_output_that_cannot_be_written_is_5_and_what_was_not_shown_stays_unread(town, target, words):
    lynx = fill(town, 3, 10)
    done = lynx.shell(f"$RC {words} {target}")
    assert (done.code, done.err.count("\n")) == (5, 1)
    assert "CANNOT_WRITE" in done.err
    assert not held(town.server)
    assert seqs(lynx("read", "dock", "--json")) == [(1, False), (2, False), (3, False)]


@pytest.mark.parametrize(
    "words",
    [
        "channels",
        "channels --json",
        "read dock --all",
        "peek dock",
        "pending",
        "owed --json",
        "whoami",
        "roster dock",
        "--help",
        "say --help",
        "--version",
        "say dock x",
        "",
    ],
)
@pytest.mark.parametrize("target", [">/dev/full", ">&-"])
def test_every_verb_says_so_when_its_output_cannot_be_written(town, words, target):
    lynx = fill(town, 3, 10)
    done = lynx.shell(f"$RC {words} {target}")
    assert (done.code, done.err.count("\n")) == (5, 1), done
    assert "CANNOT_WRITE" in done.err


@pytest.mark.parametrize("words", ["channels", "read dock --all", "read dock --all --json", "peek dock", "--help", "say --help", "owed"])
def test_every_verb_leaves_quietly_when_its_reader_does(town, words):
    lynx = fill(town, 12)
    lynx("say", "dock", "x" * 200)
    done = lynx.shell(f"$RC {words} | true; $RC {words} | head -c 1")
    assert done.err == ""


def test_a_closed_standard_error_changes_no_exit_code(town):
    lynx = fill(town, 1, 10)
    for words, code in (
        ("read nowhere", 1),
        ("say", 64),
        ("wait dock --timeout 0.1 --reply-to 1", 4),
        ("read dock --json", 0),
        ("channels --url redis://a..b", 64),
    ):
        assert lynx.shell(f"$RC {words} 2>&-").code == code, words
        assert lynx.shell(f"$RC {words} 2>/dev/full").code == code, words


def test_a_closed_standard_input_is_said(town):
    lynx = fill(town, 1, 10)
    done = lynx.shell("$RC say dock - <&-")
    assert (done.code, done.error) == (64, "USAGE")


def test_a_receipt_that_cannot_be_written_says_that_the_message_was_sent(town):
    lynx = fill(town, 0)
    done = lynx.shell("$RC say dock hello >/dev/full")
    assert "is changed" in done.err
    assert [one["body"] for one in lynx("peek", "dock", "--json").records] == ["hello"]


# What happens to the reader.


def blocked(lynx, *words):
    """A ``read`` that stands in the middle of its output: it has taken, has written what the pipe holds, and has not acked."""
    reading = lynx.start("read", "dock", *words)
    wait_until(lambda: held(lynx.town.server), "messages are taken")
    return reading


def test_interrupting_a_read_gives_the_rest_back_at_once_and_is_130(town):
    lynx = fill(town, 40)
    reading = blocked(lynx, "--json")
    first = reading.stdout.read1(10)  # it writes
    reading.send_signal(signal.SIGINT)
    out, err = reading.communicate(timeout=30)
    assert reading.returncode == 130
    assert err.decode().count("\n") == 1
    assert "INTERRUPTED" in err.decode()
    assert not held(town.server)
    again = dict(seqs(lynx("read", "dock", "--json")))
    assert list(again) == list(range(41 - len(again), 41))
    assert again[40] is False
    shown = {json.loads(row)["seq"] for row in (first + out).split(b"\n")[:-1]}
    assert all(again[seq] for seq in shown & again.keys()), "shown again without a mark"


def test_two_interrupts_are_no_traceback(town):
    lynx = fill(town, 40)
    reading = blocked(lynx)
    for _ in range(3):
        reading.send_signal(signal.SIGINT)
    _, err = reading.communicate(timeout=30)
    assert reading.returncode in (130, -signal.SIGINT)
    assert b"Traceback" not in err


def test_a_second_reader_waits_for_the_first_before_it_says_that_nothing_is_new(town):
    lynx = fill(town, 40)
    first = blocked(lynx, "--json")
    second = lynx.start("read", "dock", "--json")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDCHANNELS", "*bell:lynx"), "the second one waits")
    assert second.poll() is None
    out, _ = first.communicate(timeout=30)
    assert len(out.splitlines()) == 40
    out, err = second.communicate(timeout=30)
    assert (second.returncode, out, err) == (0, b"", b"")


def test_a_stopped_reader_keeps_nobody_waiting_for_ever_and_its_late_ack_counts(town):
    lynx = fill(town, 40)
    first = blocked(lynx, "--json")
    first.send_signal(signal.SIGSTOP)
    let_the_lease_lapse(town.server)
    assert seqs(lynx("read", "dock", "--json")) == [(n, True) for n in range(1, 41)]
    first.send_signal(signal.SIGCONT)
    out, _ = first.communicate(timeout=30)
    assert (first.returncode, len(out.splitlines())) == (0, 40)
    assert mark(town.server)[:2] == ["40", "40"]
    assert seqs(lynx("read", "dock", "--json")) == []


def test_the_late_ack_of_a_stopped_reader_saves_a_second_showing(town):
    lynx = fill(town, 40)
    first = blocked(lynx, "--json")
    first.send_signal(signal.SIGSTOP)
    let_the_lease_lapse(town.server)
    first.send_signal(signal.SIGCONT)
    first.communicate(timeout=30)
    assert seqs(lynx("read", "dock", "--json")) == []


class Writer(threading.Thread):
    """Posts until it is told to stop; ``posted`` is what the broker acknowledged."""

    def __init__(self, url, name, seed):
        super().__init__()
        self.url, self.name_, self.random, self.over, self.posted = url, name, random.Random(seed), threading.Event(), {}

    def run(self):
        wire, who = Wire(self.url), Caller(KEYS, self.name_)
        n = 0
        while not self.over.is_set():
            body = f"{self.name_}-{n} " + "x" * self.random.choice((0, 10, 3_000))
            sent = wire.run(messages.post(who, "dock", messages.Draft(body), once=Once()))
            self.posted[sent["seq"]] = body
            n += 1
            self.over.wait(self.random.uniform(0.002, 0.04))
        wire.close()


def killed(lynx, rnd):
    """Start a ``read`` and kill it at a random moment. Gives what it has shown, and whether it had taken and not acked."""
    reading = lynx.start("read", "dock", "--json")
    if rnd.random() < 0.8:
        wait_until(lambda: held(lynx.town.server) or reading.poll() is not None, "it has taken, or there was nothing")
    time.sleep(rnd.choice((0, rnd.uniform(0, 0.06))))
    reading.kill()
    out, err = reading.communicate(timeout=30)
    assert b"Traceback" not in err
    caught = held(lynx.town.server)
    if caught:
        let_the_lease_lapse(lynx.town.server)
    return [json.loads(row) for row in out.split(b"\n")[:-1]], caught  # a last line without an end was shown in part


@pytest.mark.races
@pytest.mark.timeout(180)
def test_a_hundred_readers_that_are_killed_lose_nothing_and_repeat_nothing_unmarked(town):
    heron, lynx = town.pair()
    heron("reopen", "dock", "--max-messages", "0")
    for n in range(3):
        town.person()("join", "dock", "--as", f"w{n}")
    writers, rnd = [Writer(town.server.url, f"w{n}", n) for n in range(3)], random.Random(1)
    shown, caught = [], 0
    for kill in range(KILLS):
        if kill % (KILLS // 3 + 1) == 0:  # one writer, then two, then three
            writers[kill // (KILLS // 3 + 1)].start()
        some, held_on = killed(lynx, rnd)
        shown += some
        caught += held_on
    posted = {}
    for writer in writers:
        writer.over.set()
        writer.join(30)
        posted.update(writer.posted)
    while last := lynx("read", "dock", "--json").records:
        shown += last
    assert caught >= KILLS / 10, "the kills came before the take or after the ack: nothing was tested"
    assert_shown(shown, posted)


def assert_shown(shown, posted):
    """Each message that the broker acknowledged was shown, as posted, and again only with a mark."""
    before = set()
    for one in shown:
        assert one["kind"] in ("message", "notice")
        assert one["seq"] not in before or one["repeat"], f"message {one['seq']} was shown again unmarked"
        assert one["body"] == posted.get(one["seq"], one["body"])
        before.add(one["seq"])
    assert before >= posted.keys()


def test_killing_the_reader_and_the_one_after_it_loses_nothing(town):
    lynx = fill(town, 40)
    for _ in range(3):
        reading = blocked(lynx)
        reading.kill()
        reading.wait()
        let_the_lease_lapse(town.server)
    assert seqs(lynx("read", "dock", "--json")) == [(n, True) for n in range(1, 41)]


def test_a_reader_that_is_told_to_end_loses_nothing(town):
    lynx = fill(town, 40)
    reading = blocked(lynx)
    reading.terminate()
    reading.wait()
    let_the_lease_lapse(town.server)
    assert len(seqs(lynx("read", "dock", "--json"))) == 40


def test_ctrl_c_at_any_moment_is_no_traceback_of_ours(town):
    lynx = fill(town, 1, 10)
    lynx("read")
    for n in range(16):
        waiting = lynx.start("wait", "dock", "--timeout", "2", env={"PYTHONWARNINGS": ""})
        time.sleep(0.012 + 0.004 * n)
        waiting.send_signal(signal.SIGINT)
        _, err = waiting.communicate(timeout=30)
        if b"Traceback" in err or waiting.returncode == 4:  # the interpreter itself was starting, or a callback of its own swallowed the interrupt
            assert b"redischat" not in err.partition(b"Traceback")[2] or b"Exception ignored" in err or b"<frozen" in err, err
        else:
            assert waiting.returncode in (130, -signal.SIGINT)


def test_interrupting_a_read_that_cannot_reach_its_broker_ends_at_once():
    with town_with() as town:
        lynx = fill(town, 1, 10)
        town.server.process.send_signal(signal.SIGSTOP)
        before = connections(town.server)
        reading = lynx.start("read", "dock")
        wait_until(lambda: connections(town.server) > before, "it asks, and nobody answers")
        town.server.stop()
        began = time.monotonic()
        reading.send_signal(signal.SIGINT)
        _, err = reading.communicate(timeout=30)
        assert time.monotonic() - began < 2
        assert reading.returncode in (130, -signal.SIGINT), err  # CPython ends by the signal itself where it met the making of a namedtuple, caught or not
        assert b"INTERRUPTED" in err


def connections(server):
    """How many sockets there are of a server that may be stopped."""
    with open("/proc/net/unix", encoding="utf-8") as table:
        return sum(row.rstrip().endswith(server.socket) for row in table)
