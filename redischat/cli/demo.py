"""demo: two real agent processes talk in a scratch workspace, a third one starts later; then nothing of it is left."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import Future
from statistics import median
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from ..calls.call import Caller, Once, fresh, plain
from ..calls.messages import Draft
from ..errors import Refused
from ..flows import channels, messages, reading
from ..keys import Keys
from ..settings import SESSION_BY
from ..text import block
from ..wire import Wire
from .ending import tidied
from .show import put, record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .seat import Seat

T = TypeVar("T")

PAUSE_S = 0.5  # for the reader, between two steps
WAIT_S = 30  # a blocked agent gives up after so long: something is wrong then
READY_S = 30.0
POLL_S = 0.002
ASLEEP_S = 0.02  # between being subscribed and being really blocked lies one look
ROUNDS = 20  # wakes measured between two clients
SWEEP = 1_000  # keys a step
CHUNK = 1 << 16
MS = 1000
_FOREIGN = ("CLAUDE_PROJECT_DIR", *SESSION_BY, "REDISCHAT_TOKEN")  # who the caller is, and no agent here

RULES = "Say what you measured. Address whom you need an answer from, and leave the others asleep."
QUESTION = "The importer is slow: is it the parser or the disk?"
ANSWER = "The parser: 41 of 50 seconds. I have the profile."
NOTE = "For the record: measured on a warm cache, 3 runs."
READY = "The fix is on branch fast-import, 50 s -> 12 s. Please look."
SUMMARY = "Handing over. Found: the parser. Done: branch fast-import (50 s -> 12 s). Left: the test with the 2 GB file."


def run(seat: Seat, *, fast: bool = False) -> int:
    """Show how agents talk, with the measured time of a wake; exit 0 when all of it went as told."""
    stage = Stage(seat, pause=0.0 if fast or seat.json or not os.isatty(1) else PAUSE_S)
    sweep(seat.run, stage.keys)  # a broker that is not there, or does not allow this, says so before anything is made
    with tidied(stage.close):
        measured = _play(stage)
    put(record({"workspace": stage.workspace, **measured}) if seat.json else _next(stage, measured))
    return 0


class Stage:
    """A scratch workspace and its agents, each with a directory and processes of its own. :meth:`close` leaves nothing of them behind."""

    def __init__(self, seat: Seat, *, pause: float) -> None:
        self.seat, self.pause, self.quiet = seat, pause, seat.json
        self.workspace = "demo-" + fresh(4)
        self.keys = Keys(self.workspace)
        self.directory = os.path.join(tempfile.gettempdir(), "redischat-" + self.workspace)
        self.started: list[subprocess.Popen[str]] = []

    def tell(self, text: str) -> None:
        """A line of the story."""
        if not self.quiet:
            put(f"\n{text}\n")
            time.sleep(self.pause)

    def saw(self, text: str) -> None:
        """What an agent saw."""
        if not self.quiet:
            put(block(text))
            time.sleep(self.pause)

    def run(self, agent: str, *words: str) -> str:
        """One command of an agent, from its start to its end."""
        seen = self.ended(self.start(agent, *words), agent, words)
        self.saw(seen)
        return seen

    @staticmethod
    def ended(process: subprocess.Popen[str], agent: str, words: tuple[str, ...]) -> str:
        """What a command said until its end, which is a good one."""
        out, said = process.communicate()
        if process.returncode:
            raise Refused(message=f"the demo stopped: {agent}$ redischat {shlex.join(words)} ended with {process.returncode}: {said.strip() or 'no word'}")
        return out + said

    def start(self, agent: str, *words: str) -> subprocess.Popen[str]:
        """Start one command of an agent, in its own directory and under its own name."""
        home = os.path.join(self.directory, agent)
        os.makedirs(os.path.join(home, ".redischat"), mode=0o700, exist_ok=True)  # a project of its own, whatever lies above it
        settings = self.seat.settings
        env = {name: value for name, value in settings.env.items() if name not in _FOREIGN}
        env |= {"REDISCHAT_URL": settings.url, "REDISCHAT_STATE": settings.state_dir, "REDISCHAT_WORKSPACE": self.workspace, "REDISCHAT_AGENT": agent}
        if not self.quiet:
            put(f"{agent}$ redischat {shlex.join(words)}\n")
        process = subprocess.Popen(
            [sys.executable, "-m", "redischat", *words],
            cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
        )  # fmt: skip
        self.started.append(process)
        return process

    def sleep(self, agent: str) -> subprocess.Popen[str]:
        """An agent that waits; returns once its process is really blocked."""
        waiter = self.start(agent, "wait", "lab", "--timeout", str(WAIT_S))
        asleep(self.seat.run, self.keys, [agent], lambda: waiter.poll() is None)
        return waiter

    def wake(self, waiter: subprocess.Popen[str], by: str, *words: str) -> float:
        """``by`` says something: milliseconds from the start of its process to the first words of the waiter's."""
        first = aside(lambda: (_first_words(waiter), time.perf_counter()))
        began = time.perf_counter()
        self.saw(self.ended(self.start(by, *words), by, words))
        shown, at = first.result()
        rest = self.ended(waiter, "the waiter", ("wait", "lab"))
        took = MS * (at - began)
        self.tell(f"amy's process wakes and shows it, {took:.0f} ms after bob's process was started:")
        self.saw(shown + rest)
        return took

    def close(self) -> None:
        """End what still waits, remove the directories and every key of the scratch workspace."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()
        shutil.rmtree(self.directory, ignore_errors=True)
        sweep(self.seat.run, self.keys)


def aside(work: Callable[[], T]) -> Future[T]:
    """The result of ``work``, done in a thread that nobody has to wait for: an interrupted demo ends at once."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    return done


def _first_words(process: subprocess.Popen[str]) -> str:
    return os.read(process.stdout.fileno(), CHUNK).decode() if process.stdout else ""


def asleep(ask: Callable[[Any], Any], keys: Keys, agents: Sequence[str], alive: Callable[[], bool] = lambda: True) -> None:
    """Return once somebody sleeps at the doorbell of each of ``agents``."""
    end = time.monotonic() + READY_S
    while not all(map(int, ask(plain("PUBSUB", "SHARDNUMSUB", *map(keys.bell, agents)))[1::2])):
        if time.monotonic() > end or not alive():
            raise Refused(message=f"{', '.join(agents)} did not fall asleep at the doorbell")
        time.sleep(POLL_S)
    time.sleep(ASLEEP_S)


def sweep(ask: Callable[[Any], Any], keys: Keys) -> int:
    """Remove every key of one workspace, and no other; how many there were."""
    cursor, gone = "0", 0
    while True:
        cursor, found = ask(plain("SCAN", cursor, "MATCH", keys.prefix + "*", "COUNT", SWEEP))
        mine = [key for key in found if key.startswith(keys.prefix)]
        gone += int(ask(plain("UNLINK", *mine))) if mine else 0
        if str(cursor) == "0":
            return gone


def _play(stage: Stage) -> dict[str, Any]:
    """The story. Gives what was measured."""
    _meet(stage)
    processes = _talk(stage)
    _hand_over(stage)
    stage.tell("Between two clients that run already, without starting a process, how long does a wake take?")
    wakes = client_wakes(stage.seat.settings.url, stage.keys)
    stage.saw(f"{median(wakes):.2f} ms from the call that posts to the blocked call's return, median of {ROUNDS} (lowest {min(wakes):.2f})")
    return {"wake_process_ms": [round(one, 2) for one in processes], "wake_client_ms": round(median(wakes), 3)}


def _meet(stage: Stage) -> None:
    stage.tell(
        f"Two agents, amy and bob, each a process in a directory of its own, talk in the scratch workspace {stage.workspace}.\n"
        "No other workspace is touched, and all of it is removed at the end.\n\n"
        "1. amy opens a channel with house rules, and names carl too, who does not exist yet."
    )
    stage.run("amy", "open", "lab", "--members", "bob,carl", "--topic", "the slow importer", "--briefing", RULES)
    stage.tell("2. bob comes in. Whoever joins is shown the house rules.")
    stage.run("bob", "join", "lab")


def _talk(stage: Stage) -> list[float]:
    stage.tell("3. amy asks bob. The receipt says whom the message wakes, and whether it can reach them.")
    stage.run("amy", "say", "lab", QUESTION, "--to", "bob")
    stage.tell("4. amy waits. Her process sleeps at a doorbell: until it rings, it sends nothing and costs no tokens.")
    waiter = stage.sleep("amy")
    stage.tell("5. bob reads what is new for him, and answers.")
    stage.run("bob", "read", "lab")
    first = stage.wake(waiter, "bob", "say", "lab", ANSWER, "--to", "amy", "--reply", "1")
    stage.tell("6. amy waits again, and bob leaves a note that is for nobody in particular: it wakes nobody.")
    waiter = stage.sleep("amy")
    stage.run("bob", "say", "lab", NOTE, "--to-none")
    stage.tell(f"amy {'sleeps on' if waiter.poll() is None else 'woke up, and should not have'}. The next message is for her: she gets both, in order.")
    second = stage.wake(waiter, "bob", "say", "lab", READY, "--to", "amy")
    return [first, second]


def _hand_over(stage: Stage) -> None:
    stage.tell("7. amy hands over to carl, who was never seen: the message waits for him, and the receipt says so.")
    stage.run("amy", "say", "lab", SUMMARY, "--status", "summary", "--to", "carl")
    stage.tell("8. Later carl's session starts. He was named at the opening, so nothing of it is lost on him.")
    stage.run("carl", "join", "lab")
    stage.run("carl", "read", "lab", "--since-summary")
    stage.run("carl", "say", "lab", "Taking the 2 GB test.", "--to", "amy", "--reply", "5")
    stage.tell("9. The transcript, for whoever comes after (also as files: redischat export lab DIR).")
    stage.run("carl", "read", "lab", "--all")
    stage.tell("10. Done: the channel goes, and all that was said in it.")
    stage.run("amy", "delete", "lab", "--yes")


def client_wakes(url: str, keys: Keys, rounds: int = ROUNDS) -> list[float]:
    """Milliseconds from the call that posts to the return of another client, blocked until then, in a scratch channel of this workspace."""
    poster, sleeper = Wire(url), Wire(url)
    amy, bob = Caller(keys, "amy"), Caller(keys, "bob")

    def blocked() -> float:
        sleeper.drive(reading.wait(bob, reading.Waiting(["bell"], seconds=WAIT_S), fresh(), time.monotonic))
        return time.perf_counter()

    found = []
    try:
        poster.drive(channels.enter(amy, "bell", channels.Wanted(members=["bob"], max_messages=0), Once()))
        for _ in range(rounds):
            back = aside(blocked)
            asleep(poster.run, keys, ["bob"])
            began = time.perf_counter()
            poster.drive(messages.say(amy, "bell", Draft("ding", to=["bob"]), Once()))
            found.append(MS * (back.result(WAIT_S) - began))
    finally:
        poster.close()
        sleeper.close()
    return found


def _next(stage: Stage, measured: dict[str, Any]) -> str:
    return (
        f"\nRemoved: {stage.workspace}, its keys and its directories. A wake took "
        f"{' and '.join(f'{one:.0f}' for one in measured['wake_process_ms'])} ms from process to process, {measured['wake_client_ms']:.1f} ms from client to client.\n"
        "What next: redischat open NAME --members a,b in your own project, and redischat --help for the rest.\n"
    )
