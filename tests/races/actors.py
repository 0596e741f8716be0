"""One worker of a race, in a process of its own: ``actors.py ROLE '{"url": ...}'``. It says "ready", begins at "go", and stops when its input ends.

Every role writes what it did into its ledger, a line at once, before it goes on: what a death tears off was not done.
"""

# ruff: noqa: T201 - dies inside a connection, and says that it is ready

from __future__ import annotations

import json
import os
import random
import select
import signal
import subprocess
import sys
import time

from redischat import wire as wires
from redischat.calls import agents, channels, messages, tasks
from redischat.calls.call import Caller, Once, Show, fresh
from redischat.errors import ChannelClosed, ChatError, TimedOut
from redischat.flows import agents as agent_flows
from redischat.flows import channels as channel_flows
from redischat.flows import messages as message_flows
from redischat.flows import reading
from redischat.keys import Keys

PACE_S = 0.003  # between two looks of a reader that finds nothing
SHORT_LEASE_MS = 100
IDLE = 0.002  # how much less often a reader dies that holds nothing
SOME = 0.5  # how many of one's tasks depend on another
SIZES = (3, 80, 4000, 4001, 9000)  # bytes: around what hooks only point at
CLI = (sys.executable, "-m", "redischat")


class Worker:
    """What every role has: its order, its dice, its ledger, its connection."""

    def __init__(self, order):
        self.order = order
        self.dice = random.Random(order.get("seed", 0))
        self.who = Caller(Keys("w"), order.get("agent", "heron"))
        self.rooms = order.get("rooms", [])
        self.ledger = os.open(order["ledger"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self.wire = wires.Wire(order["url"])

    def write(self, **row):
        os.write(self.ledger, (json.dumps(row) + "\n").encode())

    def ended(self, seconds=PACE_S):
        """Has the input ended? Waits a moment for it."""
        return bool(select.select([0], [], [], seconds)[0]) and not os.read(0, 1)

    def show(self, asked: Show) -> int:
        for one in asked.messages:
            self.write(what="shown", **{key: one[key] for key in ("channel", "seq", "kind", "from", "repeat", "cut")}, size=len(one["body"]))
            self.die()
        return len(asked.messages)

    def die(self, weight=1.0):
        """Here a reader may be killed, or stopped until somebody lets it go on."""
        roll = self.dice.random() / weight
        if roll < self.order.get("die", 0):
            os.kill(os.getpid(), signal.SIGKILL)
        elif roll < self.order.get("die", 0) + self.order.get("freeze", 0):
            os.kill(os.getpid(), signal.SIGSTOP)


def body(worker, n):
    """A text of its own, of one of the sizes."""
    size = worker.dice.choice(SIZES)
    return f"{worker.who.agent}-{n} ".ljust(size, "x") if size > SIZES[0] else f"{n:03}"


def draft(worker, n):
    to = worker.dice.choice(worker.order.get("audiences", [""]))
    text = body(worker, n)
    return messages.Draft(text, audience=to) if to in ("", "all", "none") else messages.Draft(text, to=to.split(","))


def post(worker):
    """Say ``count`` things under keys of one's own, every ``pace`` until the input ends if so ordered; ``cli`` is the share that a real command says."""
    for n in range(worker.order["count"]):
        if "pace" in worker.order and worker.ended(worker.order["pace"]):
            return
        room, said, key = worker.dice.choice(worker.rooms), draft(worker, n), f"{worker.who.agent}.{n}"
        if worker.dice.random() < worker.order.get("cli", 0):
            seq = say(worker, room, said, key)
        else:
            seq = worker.wire.drive(message_flows.say(worker.who, room, said, Once(key)))["seq"]
        worker.write(what="said", channel=room, seq=seq, body=said.body, key=key)


def say(worker, room, said, key):
    """The seq that a real command reports."""
    to = ["--to", ",".join(said.to)] if said.to else {"": [], "all": ["--to-all"], "none": ["--to-none"]}[said.audience]
    words = [*CLI, "say", room, "-", "--idem", key, "--json", "--as", worker.who.agent, *to]
    return json.loads(subprocess.run(words, input=said.body, capture_output=True, text=True, check=True).stdout)["seq"]


def fill(worker):
    """Say things until the room is closed; then once more."""
    for n in range(10_000):
        key = f"{worker.who.agent}.{worker.order.get('keys', '')}{n}"
        try:
            done = worker.wire.run(messages.post(worker.who, worker.rooms[0], messages.Draft(f"{n}"), once=Once(key)))
        except ChannelClosed as refused:
            return worker.write(what="refused", code=refused.code)
        worker.write(what="said", seq=done["seq"], key=key, closed=done["closed"], body=f"{n}")
    return None


def read(worker):
    """Read, as ``how``, again and again, until there is nothing left after the input has ended."""
    while True:
        last = worker.ended()
        got = drive(worker, reading.hand_out(worker.who, worker.rooms, fresh(6), limits(worker), worker.order["how"]))
        worker.write(what="looked", busy=got.busy_ms)
        if last and not (got.messages or got.notes or got.again or got.busy_ms):
            return


def limits(worker):
    """Now a few messages, now many; those who may die hold them for a short time only."""
    return reading.Limits(worker.dice.choice([3, 50]), 20_000, SHORT_LEASE_MS if worker.order.get("die") else messages.LEASE_MS)


def wait(worker):
    """Wait again and again, until nothing came after the input has ended."""
    while True:
        last = worker.ended(0)
        try:
            asked = reading.Waiting(worker.rooms, seconds=worker.order.get("seconds", 0.3), limits=limits(worker))
            drive(worker, reading.wait(worker.who, asked, fresh(6), time.monotonic))
        except TimedOut:
            if last:
                return


def once(worker):
    """Wait for one ring, up to a minute."""
    worker.wire.drive(reading.wait(worker.who, reading.Waiting(worker.rooms, seconds=60), fresh(6), time.monotonic), worker.show)


def command(worker):
    """Run a real command again and again with the ledger as its output, until it says nothing after the input has ended."""
    while True:
        last, before = worker.ended(0), os.fstat(worker.ledger).st_size
        done = subprocess.run([*CLI, *worker.order["words"]], stdout=worker.ledger, stderr=subprocess.PIPE, text=True, check=False)
        assert done.returncode in (0, 4), done.stderr
        if last and os.fstat(worker.ledger).st_size == before:
            return


def verb(worker):
    """One verb, at the same moment as others."""
    who, room, name = worker.who, worker.rooms[0], worker.order["verb"]
    flows = {
        "open": lambda: channel_flows.enter(who, room, channel_flows.Wanted(topic=who.agent), Once()),
        "join": lambda: channel_flows.enter(who, room, channel_flows.Wanted(), Once()),
        "leave": lambda: one(channels.leave(who, room, once=Once())),
        "identify": lambda: agent_flows.identify(who.keys, "heron", agent_flows.Claim(worker.order["session"], "here", "/p"), Once()),
        "rooms": lambda: one(agents.rooms(who.keys, who.me)),
    }
    try:
        worker.write(what=name, **worker.wire.drive(flows[name]()))
    except ChatError as refused:
        worker.write(what="refused", code=refused.code)


def grab(worker):
    """Take each of these tasks, in an order of one's own."""
    for task in worker.dice.sample(worker.order["tasks"], len(worker.order["tasks"])):
        attempt(worker, "won", task, tasks.claim(worker.who, "dock", task, ttl_ms=600_000))


def attempt(worker, what, task, call):
    """Do it, and write down what came of it. Gives the answer, None when it was refused."""
    try:
        got = worker.wire.run(call)
    except ChatError as refused:
        worker.write(what="refused", task=task, code=refused.code, holder=refused.facts.get("holder"), agent=worker.who.agent)
        return None
    worker.write(what=what, task=task, id=got.get("id"), token=got.get("token"), agent=worker.who.agent)
    return got


def take_next(worker):
    """The best task, again and again, until there is none."""
    while attempt(worker, "got", "next", tasks.next_(worker.who, "dock", take=True, ttl_ms=600_000, once=Once())):
        pass


BARE = {"id": "", "owner": "-", "priority": 2, "deps": "-", "branch": "", "files": "[]", "acceptance": "[]"}


def create_tasks(worker):
    """Put so many tasks on the board, each of which may depend on the one before; titles repeat."""
    mine = "-"
    for n in range(worker.order["count"]):
        fields = {name: BARE.get(name) for name in ("id", "owner", "priority", "deps", "title", "branch", "files", "acceptance")}
        fields["deps"], fields["title"] = (mine.lower() if worker.dice.random() < SOME else "-"), f"title {n}"
        got = worker.wire.run(tasks.create(worker.who, "dock", fields, once=Once()))
        worker.write(what="created", id=got["id"], title=fields["title"], agent=worker.who.agent, deps=mine if fields["deps"] != "-" else "")
        mine = got["id"]


def finish_late(worker):
    """Take each task for a moment and finish it about when that is over."""
    for task in worker.order["tasks"]:
        got = worker.wire.run(tasks.claim(worker.who, "dock", task, ttl_ms=worker.order["lease_ms"]))
        end = time.monotonic() + worker.dice.uniform(0.5, 1.6) * worker.order["lease_ms"] / 1000
        while time.monotonic() < end:
            pass
        attempt(worker, "done", task, tasks.move(worker.who, "dock", task, "done", fence=got["token"], once=Once()))


def recover_all(worker):
    """Recover each of these tasks as soon as it may be, unless it is over first or somebody else was faster."""
    for task in worker.order["tasks"]:
        while True:
            try:
                got = worker.wire.run(tasks.claim(worker.who, "dock", task, want="recover", ttl_ms=600_000, reason="late"))
            except ChatError:
                (found,) = worker.wire.run(tasks.look(worker.who.keys, "dock", [task]))["tasks"]
                if found["status"] == "done" or found["previous_owner"]:
                    break
            else:
                worker.write(what="recovered", task=task, agent=worker.who.agent, token=got["token"])
                break


def hold(worker):
    """Take these tasks, and sit there."""
    for task in worker.order["tasks"]:
        attempt(worker, "won", task, tasks.claim(worker.who, "dock", task, ttl_ms=worker.order["lease_ms"]))
    while not worker.ended():
        pass


def work(worker):
    """Make a task, take the best one, end it one way or another, until the input ends."""
    while not worker.ended(0):
        fields = {**{name: BARE.get(name) for name in ("id", "owner", "priority", "deps", "title", "branch", "files", "acceptance")}, "title": "x"}
        made = worker.wire.run(tasks.create(worker.who, "dock", fields, once=Once()))
        worker.write(what="created", id=made["id"])
        got = worker.wire.run(tasks.next_(worker.who, "dock", take=True, ttl_ms=worker.order.get("lease_ms", 600_000), once=Once()))
        worker.write(what="claimed", id=got["id"], token=got["token"])
        how = worker.dice.choice(["done", "done", "release", "cancel"])
        why = "x" if how == "cancel" else ""
        attempt(worker, how, got["id"], tasks.move(worker.who, "dock", got["id"].lower(), how, fence=got["token"], reason=why, once=Once()))


def one(call):
    return (yield call)


def drive(worker, flow):
    return worker.wire.drive(mortal(worker, flow), worker.show)


def mortal(worker, flow):
    """The flow, with a place to die before and after each of its steps; most dangerous where it holds something."""
    answer = failure = None
    weight = IDLE
    while True:
        try:
            asked = flow.throw(failure) if failure else flow.send(answer)
        except StopIteration as end:
            return end.value
        answer = failure = None
        weight = 1.0 if isinstance(asked, Show) else weight
        worker.die(weight)
        try:
            answer = yield asked
        except Exception as error:  # noqa: BLE001 - the flow decides what an error means
            failure = error
        worker.die(weight)


def die_on_the_line(worker):
    """And between a question and its answer."""
    reply = wires.Line.reply

    def answered(line, seconds):
        worker.die(IDLE)
        return reply(line, seconds)

    wires.Line.reply = answered  # type: ignore[method-assign]


def main():
    worker = Worker(json.loads(sys.argv[2]))
    if worker.order.get("die"):
        die_on_the_line(worker)
    print("ready", flush=True)
    if sys.stdin.readline() == "go\n":
        globals()[sys.argv[1]](worker)
    worker.wire.close()


if __name__ == "__main__":
    main()
