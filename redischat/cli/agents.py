"""identify, whoami, sync, workspaces."""

from __future__ import annotations

import os

from .. import names
from ..calls import agents as calls
from ..errors import CouldNotLook
from ..flows import agents as flows
from ..flows.channels import sync as syncing
from ..settings import CONFIG, Settings, host, read_pairs, redacted, write_pairs
from .perform import once, say
from .show import inert, put, record, records, when

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .perform import Seat


def identify(
    seat: Seat, *, name: str, project: bool = False, take_over: bool = False, force: bool = False, reason: str | None = None, idem: str | None = None
) -> int:
    """Bind a name to this session; the token goes into this user's state directory."""
    settings = seat.settings
    claim = flows.Claim(settings.session, host(), settings.project, take_over=take_over, force=force, reason=names.line("reason", reason or ""))
    got = seat.drive(flows.identify(seat.keys, names.agent(name), claim, once(idem)))
    others = _remember(settings, got)
    if project:
        _wish(settings, got["agent"])
    if seat.json:
        put(record({key: value for key, value in got.items() if key != "token"}))
        return 0
    put(_identified(got, settings))
    if others:
        put(
            f"  {' and '.join(others)} {'is' if len(others) == 1 else 'are'} bound to this project too: say --as {got['agent']}, or export REDISCHAT_AGENT={got['agent']}\n"
        )
    return 0


def _remember(settings: Settings, got: dict[str, Any]) -> list[str]:
    """Keep the token, private to this user. A harness session is one agent; a shell's project may hold several, named here."""
    kept = []
    for one in settings.bindings:
        same_name = names.same(one.agent) == names.same(got["agent"])
        if one.session == settings.session and settings.session_id and not same_name:
            os.unlink(one.path)
        elif one.project == settings.project and not settings.session_id and not same_name:
            kept.append(one.agent)
    facts = {"agent": got["agent"], "token": got["token"], "session": settings.session, "project": settings.project, "host": host()}
    write_pairs(os.path.join(settings.bindings_dir(), names.same(got["agent"])), facts)
    return kept


def _wish(settings: Settings, agent: str) -> None:
    """Write the wished-for name into the project, beside what is there, ignored by git."""
    path = os.path.join(settings.project, CONFIG)
    write_pairs(path, {**read_pairs(path), "agent": agent})
    ignore = os.path.join(os.path.dirname(path), ".gitignore")
    if not os.path.exists(ignore):
        with open(ignore, "w", encoding="utf-8") as file:
            file.write("*\n")


def _identified(got: dict[str, Any], settings: Settings) -> str:
    how = {
        "new": "you are {agent}",
        "mine": "you are {agent}, as before",
        "succeeded": "you are {agent}, after the session {old} that was over",
        "taken_over": "you are {agent}, taken over from {old}; its channels are told",
    }[got["how"]].format(agent=got["agent"], old=inert(got["old_session"] or "nobody"))
    lines = [f"{how}, in workspace {settings.workspace}"]
    if got["joined"]:
        lines.append("  joined the broadcast channels: " + ", ".join("#" + name for name in got["joined"]))
    return "\n".join(lines) + "\n"


def whoami(seat: Seat) -> int:
    """Who, where, and where each value comes from."""
    settings, me = seat.settings, seat.settings.agent
    found: dict[str, Any] = {}
    failure = None
    try:
        found = seat.run(calls.records(seat.keys, [names.agent(me)]))[0] if me else {}
    except CouldNotLook as error:
        failure = error  # what is known here is shown all the same
    mine = next((one for one in settings.bindings if names.same(one.agent) == names.same(me)), None)
    got = {
        "agent": me or None, "agent_from": settings.sources["agent"], "held": found.get("held", False), "holder": found.get("session") or None,
        "holder_host": found.get("host") or None, "seen": found.get("seen"), "token": bool(settings.token), "session": settings.session,
        "workspace": settings.workspace, "workspace_from": settings.sources["workspace"], "url": redacted(settings.url), "url_from": settings.sources["url"],
        "project": settings.project, "project_from": settings.sources["project"], "state": mine.path if mine else settings.state_dir,
    }  # fmt: skip
    if seat.json:
        put(record(got))
    else:
        _introduce(got, me)
    if failure:
        raise failure
    return 0


def _introduce(got: dict[str, Any], me: str) -> None:
    put(f"agent      {me or 'nobody yet: redischat identify NAME'}  ({got['agent_from']})\n")
    if got["held"]:
        put(
            f"held by    {inert(got['holder'] or '')} on {got['holder_host']}, last seen {when(got['seen'])}; this caller {'has' if got['token'] else 'does not have'} a token\n"
        )
    elif me:
        put("held by    nobody: anyone may speak under this name. Make it yours: redischat identify " + me + "\n")
    put(f"session    {inert(got['session'])}\n")
    for what in ("workspace", "url", "project"):
        put(f"{what:<10} {inert(str(got[what]))}  ({inert(str(got[what + '_from']))})\n")


def sync(seat: Seat) -> int:
    """Join the broadcast channels opened since."""
    joined = seat.drive(syncing(seat.caller()))
    if seat.json:
        put(record({"agent": seat.settings.agent, "joined": joined}))
    elif joined:
        put("joined " + ", ".join("#" + name for name in joined) + "\n")
    return 0


def workspaces(seat: Seat) -> int:
    """The workspaces of this broker."""
    found = seat.drive(flows.workspaces())
    if seat.json:
        records({"workspace": name, "current": name == names.same(seat.settings.workspace)} for name in found)
        return 0
    for name in found:
        put(name + ("  (this one)" if name == names.same(seat.settings.workspace) else "") + "\n")
    if not found:
        say("no workspace has a channel yet; yours would be " + seat.settings.workspace)
    return 0
