"""A lab in which agents talk: a broker of its own, redischat's hooks in the clients' settings as setup puts them there, and peers who type commands.

``with claude_lab() as lab: wire(lab, "claude", agent="amy"); bob = peer(lab, "bob"); bob("open", "dock", "--members", "amy")``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import clients
from waiting import wait_until

from redischat import install
from redischat.calls import sessions
from redischat.calls.call import pairs, plain
from redischat.keys import Keys
from redischat.wire import Wire

PLUGIN = Path(__file__).parent.parent.parent / "hooks" / "opencode.js"
TICK = Path(__file__).parent.parent.parent / "hooks" / "tick.py"
IDLE_SECONDS = 20
WAKER = "import sys; from redischat.hook.wake import start; start(sys.argv[1])"


def wire(lab, client, *, agent, waiter=False):
    """Install the hooks of ``client`` in the lab's project, whose sessions wish to be ``agent``; ``waiter``: as with `setup --wake waiter`."""
    version = clients.CLIENTS[client].version
    for plan in install.plans(
        client, str(lab.project), str(lab.home), sys.executable, str(TICK), state_dir=lab.env["REDISCHAT_STATE"], version=version, env=lab.env,
        text=PLUGIN.read_text("utf-8"), waiter=waiter,
    ):  # fmt: skip
        install.apply(plan)
    lab.file(".redischat/config", f"agent={agent}\n" + ("wake=waiter\n" if waiter else ""))


def waker(lab):
    """See to it that the waker runs."""
    done = lab.run(sys.executable, "-c", WAKER, lab.env["REDISCHAT_STATE"])
    assert done.code == 0, done.err


def redischat(lab, *words, code=0, given=None, **env):
    """One command in the lab's project; what it wrote."""
    done = lab.run(sys.executable, "-m", "redischat", *words, env=env, given=given)
    assert code is None or done.code == code, f"redischat {' '.join(words)}: exit {done.code}\n{done.out}{done.err}"
    return done.out


@dataclass(frozen=True)
class Peer:
    """Somebody who types commands in a project of their own: ``bob("say", "dock", "hi", "--to", "amy")``."""

    lab: Any

    def __call__(self, *words, **options):
        return redischat(self.lab, *words, **options)


def peer(lab, name, *, here=False):
    """A peer in the lab; ``here``: at another shell of the lab's own project."""
    other = Peer(lab if here else lab.beside(f"of-{name}"))
    other("identify", name)
    return other


def hears(words):
    """Whether a request shows these words of a peer, after the model's last answer."""
    return lambda request: f"    {words}\n" in request.newest


def told_once(lab, words):
    """Whether what a peer said was shown exactly once: the model's hosts repeat all that they showed before."""
    return sum(f"    {words}\n" in one.newest for one in lab.requests()) == 1


class Told:
    """What the broker of a lab says, asked with the package's own calls."""

    def __init__(self, lab):
        state = lab.env["REDISCHAT_STATE"]
        self.wire, self.keys = Wire(f"unix://{state}/broker/s"), Keys("default")

    def __call__(self, call):
        try:
            return self.wire.run(call)
        finally:
            self.wire.close()


def session_of(lab, agent):
    """What is known of an agent's session."""
    told = Told(lab)
    found = told(plain("HGETALL", told.keys.presence, read=pairs))
    rows = [{"session": session, **sessions.record(text)} for session, text in found.items()]
    return next(row for row in rows if row["agent"].lower() == agent)


def idle(lab, agent):
    """Wait until the broker knows that an agent's session has ended its turn."""
    wait_until(lambda: session_of(lab, agent)["state"] == "idle", f"{agent} is idle", IDLE_SECONDS)


def read_by(lab, agent, channel):
    """Up to which message of a channel an agent's mark says that it has read."""
    told = Told(lab)
    return int(told(plain("HGET", told.keys.marks(agent), channel)).split(" ")[1])


def heard_by(lab, agent, channel):
    """Up to which message of a channel an agent's mark says that it was told or pointed at."""
    told = Told(lab)
    return int(told(plain("HGET", told.keys.marks(agent), channel)).split(" ")[0])
