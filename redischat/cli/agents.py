"""identify, whoami, sync, workspaces."""

from __future__ import annotations

import os
from contextlib import suppress

from .. import names
from ..binding import alone, write
from ..calls import agents as calls
from ..errors import CannotKeep, ChatError, CouldNotLook, NoIdentity, OtherFormat, TwoIdentities, Usage
from ..flows import agents as flows
from ..flows.channels import sync as syncing
from ..settings import CONFIG, Settings, host, read_pairs, redacted, write_pairs
from ..text import inert, when
from .seat import once
from .show import put, record, records, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat

_HARNESSES = {"CLAUDE_CODE_SESSION_ID": "claude", "GEMINI_SESSION_ID": "gemini"}  # whose shell says which session it is of


def identify(
    seat: Seat, *, name: str, project: bool = False, take_over: bool = False, force: bool = False, reason: str | None = None, idem: str | None = None
) -> int:
    """Bind a name to this session; the token goes into this user's state directory."""
    got, others = become(seat, name, project=project, take_over=take_over, force=force, reason=reason, idem=idem)
    if seat.json:
        put(record({key: value for key, value in got.items() if key != "token"}))
        return 0
    put(_identified(got, seat.settings))
    if others:
        put(
            f"  {' and '.join(others)} {'is' if len(others) == 1 else 'are'} bound to this project too: say --as {got['agent']}, or export REDISCHAT_AGENT={got['agent']}\n"
        )
    return 0


def become(
    seat: Seat, name: str, *, project: bool = False, take_over: bool = False, force: bool = False, reason: str | None = None, idem: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Bind a name to this session and keep the token. Gives what ``flows.agents.identify`` does, and the other agents of this project's shells."""
    settings = seat.settings
    if force and not (reason or "").strip():
        raise Usage(message=f"taking a live name needs a reason that its channels are told: redischat identify {name} --take-over --force --reason WHY")
    name = names.agent(name)
    session = _goes_on_as(settings, name)
    claim = flows.Claim(session, host(), settings.home, take_over=take_over, force=force, reason=names.line("reason", reason or ""))
    _can_keep(settings.bindings_dir(), "Set REDISCHAT_STATE to a directory that you may write")
    if project:
        _can_keep(os.path.join(settings.project, os.path.dirname(CONFIG)), "Leave out --project")
    with alone(settings.bindings_dir()):
        got = seat.drive(flows.identify(seat.keys, name, claim, once(idem)))
        others = _remember(seat, got)
    if settings.session_id and session == settings.session:
        _tell_hooks(seat, got["agent"])
    if project:
        _wish(settings, got["agent"])
    return got, others


def _goes_on_as(settings: Settings, name: str) -> str:
    """The id under which this session goes on since it was cleared or resumed, if that is the agent; else its own: an earlier id is an alias, no other session."""
    same = [one for one in settings.bindings if settings.token and one.token == settings.token and names.same(one.agent) == names.same(name)]
    return max(same, key=lambda one: one.drawn).session if same else settings.session


def _can_keep(directory: str, remedy: str) -> None:
    """Find out first: a name whose token could not be kept would be held by nobody."""
    probe = os.path.join(directory, f"{os.getpid()}.tmp")
    try:
        write_pairs(probe, {})
        os.unlink(probe)
    except OSError as error:
        raise CannotKeep(path=directory, why=error.strerror or str(error), remedy=remedy) from error


def _remember(seat: Seat, got: dict[str, Any]) -> list[str]:
    """Keep the token, private to this user. A harness session is one agent; a shell's project may hold several: the other ones, by name."""
    settings, me = seat.settings, names.same(got["agent"])
    beside = [one for one in settings.bindings if one.project == settings.home and names.same(one.agent) != me]
    known = seat.run(calls.records(seat.keys, [one.agent for one in beside])) if beside else []
    lost = [one for one, found in zip(beside, known, strict=True) if one.session == settings.session != found.get("session")]
    over = [one for one in settings.bindings if one.project == settings.home and names.same(one.agent) == me and got["how"] != "taken_over"]
    mine = [one for one in settings.bindings if settings.session_id and one.session == settings.session]
    ids = [one for one in over if settings.token and one.token == settings.token]  # of this session: it goes on under another one, and all keep in step
    for path in {one.path for one in (*lost, *over, *mine)} - {one.path for one in ids}:
        with suppress(FileNotFoundError):
            os.unlink(path)
    for one in ids:
        write_pairs(one.path, {**read_pairs(one.path), "token": got["token"]})
    if settings.binding(me) not in {one.path for one in ids}:
        write(settings, got["agent"], got["token"])
    return [] if settings.session_id else sorted({one.agent for one in beside if one not in lost})


def _tell_hooks(seat: Seat, agent: str) -> None:
    """Let the hooks of this session know who it is from now on, and the broker, if they told it another name before."""
    from ..calls import sessions
    from ..hook import alive
    from ..hook import session as cards

    settings = seat.settings
    before = cards.known(settings.state_dir, settings.session)
    harness = before.get("harness") or next((one for name, one in _HARNESSES.items() if settings.env.get(name) == settings.session_id), "")
    if not harness:
        return  # its first hook will tell
    try:
        repository = seat.repository().digest
    except ChatError:
        repository = ""
    kept = {name: before[name] for name in ("pid", "born", "http") if name in before} or alive.harness()
    cards.keep(settings.state_dir, settings.session, cards.card(settings, seat.keys, agent, harness=harness, repository=repository) | kept)
    seated = seat.run(sessions.some(seat.keys, [settings.session]))[0] if before else {}
    if seated and names.same(seated["agent"]) != names.same(agent):
        facts = {name: seated[name] for name in ("harness", "host", "pid", "project", "way", "state")}
        seat.run(sessions.begin(seat.keys, settings.session, agent, **facts))


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
    wins = settings.env.get("REDISCHAT_AGENT", "")
    if wins and names.same(wins) != names.same(got["agent"]):
        lines.append(f"  REDISCHAT_AGENT={inert(wins)} is set in this shell and goes first: unset it, or say --as {got['agent']}")
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
    except (CouldNotLook, OtherFormat) as error:
        failure = error  # what is known here is shown all the same
    proofs = [one for one in settings.bindings if one.token == settings.token]  # several, once the session went on under another id
    mine = next(
        (one for one in proofs if one.session == found.get("session")), proofs[0] if proofs else None
    )  # told by its session: a token is no reader's business
    got = {
        "agent": me or None, "agent_from": settings.sources["agent"], "held": found.get("held", False), "holder": found.get("session") or None,
        "holder_host": found.get("host") or None, "seen": found.get("seen"), "token": mine is not None and mine.session == found.get("session"), "session": settings.session,
        "workspace": settings.workspace, "workspace_from": settings.sources["workspace"], "url": redacted(settings.url), "url_from": settings.sources["url"],
        "project": settings.project, "project_from": settings.sources["project"], "state": mine.path if mine else settings.state_dir,
    }  # fmt: skip
    if seat.json:
        put(record(got))
    else:
        _introduce(got, me, "" if me else _nobody(settings), known=failure is None, wished=settings.only_wished())
    if failure:
        raise failure
    return 0


def _nobody(settings: Settings) -> str:
    """Why this caller is nobody, in the words of the refusal that other verbs give."""
    try:
        return settings.me()
    except (NoIdentity, TwoIdentities) as error:
        return error.sentence()


def _introduce(got: dict[str, Any], me: str, nobody: str, *, known: bool, wished: bool) -> None:
    put(f"agent      {me}  ({got['agent_from']})\n" if me else f"agent      {nobody}\n")
    if got["held"]:
        put(
            f"held by    {inert(got['holder'] or '')} on {inert(got['holder_host'] or '')}, last seen {when(got['seen'])}: {'this caller' if got['token'] else 'not this caller'}\n"
        )
    elif me and not known:
        put("held by    not known: the broker could not be asked\n")
    elif wished:
        put("held by    nobody yet: the next session that starts here takes it\n")
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
    found = seat.wire.drive(flows.workspaces(seat.keys))  # also from one of another format
    if seat.json:
        records({"workspace": name, "current": name == names.same(seat.settings.workspace)} for name in found)
        return 0
    for name in found:
        put(name + ("  (this one)" if name == names.same(seat.settings.workspace) else "") + "\n")
    if not found:
        say("no workspace has a channel yet; yours would be " + seat.settings.workspace)
    return 0
