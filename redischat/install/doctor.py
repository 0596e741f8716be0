"""What can be found out on this machine, each claim on its own, with its age and a command that mends it. Nothing is concluded from another, nothing is changed."""

from __future__ import annotations

import os
import time
from shlex import quote

from .. import __version__
from ..hook import fired
from ..settings import redacted, told
from ..text import age, inert
from . import codex, detect, ignore, record, scopes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..settings import Settings
    from .project import Project
    from .status import Status
    from .wiring import Wiring

OK, NOTE, WRONG, UNASKED = "ok", "note", "wrong", "unasked"
PROBE_S = 5.0
SHOWN = 8  # names in one sentence
START = "redischat setup CHANNEL --as NAME"


class Check:
    """One claim. ``state``: ok; note (worth knowing); wrong; unasked (the broker could not be asked). ``age``: of what it tells, in seconds, or None.

    ``remedy``: a command that mends it, or "".
    """

    __slots__ = ("about", "age", "remedy", "said", "state")

    def __init__(self, about: str, state: str, said: str, remedy: str = "", *, seconds: float | None = None) -> None:
        self.about, self.state, self.said, self.remedy, self.age = about, state, inert(said), remedy, seconds

    def record(self) -> dict[str, Any]:
        """The claim as it is printed by --json: ``check state said age_seconds remedy``."""
        seconds = None if self.age is None else round(self.age)
        return {"check": self.about, "state": self.state, "said": self.said, "age_seconds": seconds, "remedy": self.remedy or None}


def code(checks: list[Check]) -> int:
    """The exit code: 5 when the broker could not be asked, 1 when something is wrong, else 0."""
    states = {one.state for one in checks}
    return 5 if UNASKED in states else 1 if WRONG in states else 0


def place(settings: Settings) -> Iterator[Check]:
    """Where this is: workspace, broker's address and project, each with where the value came from, and where two places disagree."""
    yield Check("workspace", OK, f"{settings.workspace} ({settings.sources['workspace']})")
    yield Check("address", OK, f"{redacted(settings.url)} ({settings.sources['url']})")
    for warning in settings.warnings:
        yield Check("address", WRONG, warning, "redischat whoami")
    yield Check("project", OK, f"{settings.home} ({settings.sources['project']})")


def disk(settings: Settings) -> Iterator[Check]:
    """Whether this user's state can be written: without it no session is known to its hooks."""
    at = settings.state_dir
    while not os.path.exists(at):
        at = os.path.dirname(at)
    if not os.access(at, os.W_OK | os.X_OK):
        yield Check(
            "state", WRONG, f"{told(settings.state_dir)} may not be written: hooks and wakes do not work. Make it writable for you, or set REDISCHAT_STATE"
        )
    elif hasattr(os, "statvfs") and not os.statvfs(at).f_bavail:
        yield Check(
            "state", WRONG, f"the disk of {told(settings.state_dir)} is full: sessions that start now are told nothing. Make room", f"df -h {quote(at)}"
        )
    else:
        yield Check("state", OK, f"{told(settings.state_dir)} can be written")


def program(wiring: Wiring) -> Iterator[Check]:
    """Which redischat this is, and whether it stays."""
    why = next((why for path in (wiring.python, wiring.tick) if (why := detect.fleeting(path, wiring.env))), "")
    said = f"redischat {__version__}, {told(wiring.python)}, hooks in {told(os.path.dirname(wiring.tick))}"
    yield Check("program", NOTE if why else OK, said + (f"; it lies in {why} and will soon be gone" if why else ""))


def setup(project: Project) -> Iterator[Check]:
    """Whether this project was set up, and whether git sees what lies there."""
    if not project.facts and not project.noted:
        others = ", ".join(one["project"] for one in project.siblings())
        also = f"; {others}, of the same repository, is: a new worktree has none of its files" if others else ""
        yield Check("setup", WRONG, f"this project is not set up{also}", START)
        return
    changed = project.noted.get("workspace", project.facts.get("workspace")) != project.facts.get("workspace")
    yield Check("setup", NOTE if changed else OK, f"its file {project.path} says {', '.join(project.leftovers()) or 'nothing'}")
    state = ignore.ignored(project.folder, ignore.FOLDER)
    if ignore.tracked(project.folder, ignore.FOLDER):
        yield Check("git", WRONG, ".redischat/ is committed, or about to be: it names this user's broker", "git rm -r -q --cached .redischat")
    elif state is None:
        yield Check("git", NOTE, "cannot tell whether git ignores .redischat/")
    else:
        yield Check("git", OK if state else WRONG, f"{'ignores' if state else 'does not ignore'} .redischat/", "" if state else START)


def hooks(wiring: Wiring, client: str) -> Iterator[Check]:
    """What a client's settings register, each way of being wrong on its own."""
    status, about = wiring.status(client), f"{client} hooks"
    path, again = told(wiring.short(status.path)), f"redischat install --harness {client}{_scope(wiring, client, status.path)}"
    if status.error:
        yield Check(about, WRONG, f"cannot read what is registered: {status.error}")
        return
    if status.plugin:
        both = f", and {path} registers them too: each runs twice" if status.registered else ""
        yield Check(about, WRONG if both else OK, f"the plugin is enabled{both}", f"redischat uninstall --harness {client}" if both else "")
    elif not status.registered:
        yield Check(about, WRONG, f"none of ours in {path}: nothing is delivered and nobody is woken here", again)
    elif status.complete or (status.trust == "untrusted" and not _faults(status)):
        since = (status.stamp or {}).get("at", "")
        yield Check(about, OK, f"{len(status.registered)} of {len(status.wanted)} in {path}" + (f", since {since}" if since else ""), seconds=_since(since))
    for fault in _faults(status):
        yield Check(about, WRONG, f"{path}: {fault}", again)
    if status.off:
        yield Check(about, WRONG, f"switched off by {', '.join(status.off)} in {path}: take that out")
    if status.stale:
        yield Check(about, NOTE, "its scripts have changed since it was installed", again)
    for file, events in status.elsewhere.items():
        scope = next(one for one in ("local", "project", "user") if one in scopes(client) and wiring.target(client, one) == file)
        yield Check(
            about, NOTE, f"{told(wiring.short(file))} registers {_listed(events)} too: both run", f"redischat uninstall --harness {client} --scope {scope}"
        )
    if client == "codex" and status.registered:
        yield from _trust(status, path)


def _faults(status: Status) -> list[str]:
    """What differs from what install would write, where something of ours is there."""
    if not status.registered:
        return []
    said = (
        ("not registered: ", status.missing), ("registered and not known to this version: ", status.strays), ("registered otherwise than now: ", status.drifted),
        ("registered more than once: ", status.doubled), ("runs another build: ", status.builds), ("runs what is no longer there: ", status.gone),
    )  # fmt: skip
    return [text + _listed(names) for text, names in said if names]


def _trust(status: Status, path: str) -> Iterator[Check]:
    said = {
        "absent": (NOTE, f"nothing to approve of in {path}"),
        "untrusted": (WRONG, f"installed, and not approved of: {codex.APPROVE}"),
        "trusted": (OK, "approved of; whether as they are now, Codex alone can say"),
    }
    state, text = said[status.trust]
    yield Check("codex trust", state, text, "codex" if state == WRONG else "")


def came(wiring: Wiring, client: str) -> Iterator[Check]:
    """Which events ever reached us from this project, and when last. No record is no proof of never."""
    status, about = wiring.status(client), f"{client} events"
    seen = fired.seen(wiring.settings.state_dir, wiring.settings.home, client)
    for event, (at, tick) in sorted(seen.items(), key=lambda one: -one[1][0]):
        since = max(0.0, time.time() - at)
        other = os.path.realpath(tick) != os.path.realpath(wiring.tick)
        yield Check(about, NOTE if other else OK, f"{event} came {age(int(since))} ago" + (f", to another build: {told(tick)}" if other else ""), seconds=since)
    silent = [event for event in status.registered if event not in seen]
    if client != "opencode" and silent and seen:
        yield Check(about, NOTE, f"no record of {_listed(silent)}; that is no proof that they never ran")
    elif status.registered and not seen:
        yield Check(about, NOTE, "no record of any: hooks are read when a session starts. Restart the session, then look again")


def runs(wiring: Wiring) -> Iterator[Check]:
    """Run the hook as a harness does, with an event of a session that is nobody, in a state directory of its own: does it start, and find what it needs?"""
    from subprocess import SubprocessError, run
    from tempfile import TemporaryDirectory

    began = time.monotonic()
    with TemporaryDirectory(prefix="redischat-") as state:
        try:
            done = run(
                [wiring.python, "-I", "-S", wiring.tick, "claude"], input=b'{"hook_event_name":"SessionEnd","session_id":"doctor"}', capture_output=True,
                env={**wiring.env, "REDISCHAT_STATE": state, "REDISCHAT_AGENT": ""}, timeout=PROBE_S, check=False,
            )  # fmt: skip
            log = os.path.join(state, "hook.log")
            why = _last(log) or (done.stderr.decode("utf-8", "replace").strip()[-200:] if done.returncode else "")
        except (OSError, SubprocessError) as error:
            why = str(error)
    took = (time.monotonic() - began) * 1000
    remedy = "redischat install" if why else ""
    yield Check("hook script", WRONG if why else OK, f"does not run: {why}" if why else f"runs, and finds its package ({took:.0f} ms)", remedy)


def clients(project: Project, wiring: Wiring) -> list[str]:
    """The harnesses to look at: those that this shell runs in, that are wired, or that setup was told of; else those of another worktree, else on the PATH."""
    theirs = set(project.counted).difference(project.harnesses) if project.noted else set()  # in this user's home for the sake of other projects
    known = {*detect.inside(wiring.env), *wiring.ours(not_home=theirs), *project.harnesses}
    if not known and not project.noted:
        known = {client for one in project.siblings() for client in one["harnesses"]} or set(wiring.clients)
    return [client for client in detect.SIGNS if client in known]


def unwired(project: Project) -> Check:
    """What to say where there is no harness at all."""
    if project.noted:
        return Check("hooks", OK, "no harness is wired here, as setup was told: read and wait by hand")
    return Check("hooks", WRONG, "no harness is known here, and nothing is wired", START)


def _last(log: str) -> str:
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            return file.read().strip().split("\n")[-1][20:]
    except OSError:
        return ""


def _scope(wiring: Wiring, client: str, path: str) -> str:
    """The flag that names the scope of a file, where it is not the usual one."""
    scope = next((one for one in scopes(client) if wiring.target(client, one) == path), "")
    return f" --scope {scope}" if scope and scope != scopes(client)[0] else ""


def _listed(names: list[str]) -> str:
    shown = [told(one) for one in names]
    return ", ".join(shown[:SHOWN]) + (f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else "")


def _since(stamp: str) -> float | None:
    """Seconds since a time like 2026-12-01T02:09:00Z."""
    from calendar import timegm

    try:
        return max(0.0, time.time() - timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ")))
    except ValueError:
        return None


def fingerprint(wiring: Wiring) -> str:
    """The digest of the hooks' scripts."""
    return record.fingerprint(wiring.tick)
