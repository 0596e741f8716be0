"""setup, teardown."""

from __future__ import annotations

from .. import names
from ..calls import agents
from ..calls.call import Caller
from ..errors import BadName, NameHeld, Usage
from ..flows import channels as flows
from ..hook import wake as waking
from ..install import Plan, apply, codex, detect, ignore, sandbox
from ..install import doctor as checks
from ..install.project import Project
from ..install.record import dropped, named
from ..install.takedown import Takedown, unwired
from ..install.wiring import FILE, WAITER, WAKE, Wiring
from ..settings import Settings, redacted, told
from ..text import inert, listed, rules
from .agents import become
from .plans import brief, row, show_plans
from .seat import once, text_of
from .show import put, record
from .tools import Tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .seat import Seat


def setup(
    seat: Seat,
    *,
    channel: str,
    name: str | None = None,
    harness: str | None = None,
    scope: str | None = None,
    no_mcp: bool = False,
    anyway: bool = False,
    dry_run: bool = False,
    wake: str | None = None,
    **asked: Any,
) -> int:
    """Be an agent of this project, in a channel, with hooks that bring what is said there. Twice is once."""
    room, settings, wanted = names.channel(channel), seat.settings, _wanted(**asked)
    me, wiring = names.agent(name) if name else _own(settings), _woken(Wiring(settings, harness, scope), wake)
    if not anyway:
        wiring.lasting(f"redischat setup {room} --as {me}")
    plans, tools = wiring.plans(but=wiring.plugged()), Tools(wiring, no_mcp=no_mcp)  # refuses before anything is done
    if dry_run:
        return _foretold(seat, room, me, tools, plans)
    got = _identified(seat, me, asked=bool(name))
    entered, project = seat.drive(flows.enter(seat.caller(), room, wanted, once(None))), Project(settings)
    moved, wish = _moved(project, settings), _wish(project, settings, got["agent"])
    if wiring.clients and names.same(wish) == names.same(got["agent"]):
        _kept_free(seat)
    project.write(_facts(settings, wish, wiring), wiring.clients)
    done = tools.wired(plans)
    if seat.json:
        put(record({**_recorded(seat, got, entered, done), "mcp": tools.records()}))
        return 0
    wired = [*_wired(wiring, done), *tools.said(), *_next(seat, entered["channel"], wiring, done)]
    put("\n".join([*_arrived(seat, got, entered), *moved, *_wished(wish, got["agent"]), *wired]) + "\n" + rules(entered))
    return 0


def _wanted(*, topic: str | None = None, briefing: str | None = None, briefing_file: str | None = None, max_messages: int | None = None) -> flows.Wanted:
    """What the channel is to be, if it is new."""
    house = names.briefing(text_of(briefing, briefing_file, "briefing") or "")
    return flows.Wanted(topic=names.line("topic", topic or ""), briefing=house, max_messages=max_messages)


def _own(settings: Settings) -> str:
    """The name, where none was asked for: what this caller is already, what the project wishes for, else the project's own."""
    if settings.agent and settings.sources["agent"] != "this session's default":
        return settings.agent
    letters = settings.own_name().rpartition("-")[0]
    try:
        return names.agent(letters)
    except BadName:
        return letters + "-1"


def _identified(seat: Seat, me: str, *, asked: bool) -> dict[str, Any]:
    """Be it; a name that nobody asked for and somebody else holds is made one's own."""
    settings = seat.settings
    mine = [one for one in settings.bindings if one.project == settings.home and names.same(one.agent) == names.same(me)]
    held = seat.run(agents.records(seat.keys, [me]))[0].get("session") if mine and not settings.session_id else None
    same = [one for one in mine if one.session == held != settings.session]
    if same:  # a session of this project whose shell does not know its id
        settings.agent, settings.token = same[0].agent, same[0].token
        return {"agent": same[0].agent, "how": "mine"}
    try:
        got, _ = become(seat, me)
    except NameHeld:
        if asked:
            raise
        got, _ = become(seat, settings.own_name() if settings.session_id else f"{settings.own_name().rpartition('-')[0]}-{named(settings.session)[:8]}")
    settings.agent, settings.token = got["agent"], got["token"]
    return got


def _kept_free(seat: Seat) -> None:
    """A shell is no session: it gives the name back that the next session here wishes for, or that one would become somebody else."""
    settings = seat.settings
    if settings.session_id:
        return
    mine = [
        one
        for one in Settings({}, settings.env, settings.project).bindings
        if one.session == settings.session and names.same(one.agent) == names.same(settings.agent)
    ]
    for one in mine:
        if seat.run(agents.release(Caller(seat.keys, one.agent, one.token))):
            dropped(one.path)
    settings.token = ""


def _wish(project: Project, settings: Settings, me: str) -> str:
    """The name that new sessions wish for: mine, unless another session here is the one that is wished for."""
    wish = project.facts.get("agent", "")
    theirs = any(names.same(one.agent) == names.same(wish) and one.session != settings.session for one in settings.bindings if one.project == settings.home)
    return wish if wish and theirs else me


def _wished(wish: str, me: str) -> list[str]:
    """What to say of a project whose new sessions are somebody else."""
    return [] if names.same(wish) == names.same(me) else [f"  sessions that start here go on as {wish}; to change that: redischat identify {me} --project"]


def _facts(settings: Settings, wish: str, wiring: Wiring) -> dict[str, str]:
    said = wiring.waiter or WAKE in Project(settings).facts
    return {"agent": wish, "url": settings.url, "workspace": settings.workspace, **({WAKE: WAITER if wiring.waiter else FILE} if said else {})}


def _woken(wiring: Wiring, wake: str | None) -> Wiring:
    """How idle sessions of Claude Code are woken: as asked for, else as before."""
    if wake not in {None, FILE, WAITER}:
        raise Usage(message=f"{wake!r} is no way to wake a session: redischat setup CHANNEL --wake file, or --wake waiter")
    if wake == WAITER and wiring.plugged():
        raise Usage(message="the redischat plugin brings hooks of its own, without a waiter: claude plugin uninstall redischat, then set up again")
    wiring.waiter = wiring.waiter if wake is None else wake == WAITER
    return wiring


def _moved(project: Project, settings: Settings) -> list[str]:
    """A project belongs to one workspace: its sessions hear nothing more of another. What to say of it."""
    before = project.facts.get("workspace", settings.workspace)
    if names.same(before) == names.same(settings.workspace) and project.facts.get("url", settings.url) == settings.url:
        return []
    unwired(settings)
    url = f" --url {redacted(project.facts['url'])}" if project.facts["url"] != settings.url else ""
    return [
        f"  its sessions hear nothing more from workspace {inert(before)}; to leave the channels there: redischat teardown --workspace {inert(before)}{url}"
    ]


def _arrived(seat: Seat, got: dict[str, Any], entered: dict[str, Any]) -> Iterator[str]:
    settings = seat.settings
    how = {"mine": ", as before", "succeeded": ", after a session that was over", "taken_over": ", taken over"}.get(got["how"], "")
    yield f"you are {got['agent']}{how}, in #{entered['channel']}{' (new)' if entered['new'] else ''}, workspace {settings.workspace} at {redacted(settings.url)}"
    others = [one for one in entered["members"] if names.same(one) != names.same(got["agent"])]
    yield "  with " + listed(others[:20], len(others)) if others else "  nobody else is in it yet. Bring somebody in: redischat invite " + entered["channel"]
    if entered["topic"]:
        yield "  topic: " + inert(entered["topic"])
    if entered["unread"] > 0:
        yield f"  {entered['unread']} unread: redischat read {entered['channel']}"
    elif entered["before"]:
        yield f"  what came before: redischat read {entered['channel']} --all"


def _wired(wiring: Wiring, done: list[Plan]) -> Iterator[str]:
    """A line a file, and what only a person can do."""
    for one in done:
        yield f"  {one.client} hooks in {wiring.short(one.path)}: {brief(one)}"
        yield from (f"  note: {inert(warning)}" for warning in one.warnings)
    for client in wiring.plugged():
        yield f"  {client}: the redischat plugin is enabled, and brings the hooks"
    if not wiring.clients:
        yield f"  no hooks: {wiring.how}"
    for client in wiring.clients:
        reach = sandbox.shell(wiring, client)
        if reach and reach.state != checks.OK:
            yield f"  {client}: {reach.said}"
    if "codex" in wiring.clients and wiring.status("codex").trust == "untrusted":
        yield f"  codex: {codex.APPROVE}"
    waits = [client for client in wiring.clients if client == "gemini"]
    if waits:
        yield "  gemini: nothing wakes an idle session of it; before it ends a turn it may wait: redischat wait"


def _next(seat: Seat, channel: str, wiring: Wiring, done: list[Plan]) -> Iterator[str]:
    """What to do now."""
    fresh = [one.client for one in done if one.changes and one.client in detect.inside(seat.settings.env)]
    if fresh:
        again = " or ".join(detect.AGAIN[one] for one in fresh)
        yield f"This session read its hooks when it started, before they were there: start it anew ({again}), then: redischat doctor"
    elif wiring.clients:
        yield "Sessions that start from now on are told by themselves what is said to them; check: redischat doctor"
    yield f"Say something: redischat say {channel} - --to NAME   (the text on standard input)"
    if seat.settings.session_id or not wiring.clients:  # what a shell waits for is read by the shell, past the session that takes the name
        yield f"Wait for an answer: redischat wait {channel}"


def _recorded(seat: Seat, got: dict[str, Any], entered: dict[str, Any], done: list[Plan]) -> dict[str, Any]:
    settings = seat.settings
    return {
        "agent": got["agent"], "how": got["how"], "channel": entered["channel"], "new": entered["new"], "members": entered["members"], "unread": entered["unread"],
        "workspace": settings.workspace, "url": redacted(settings.url), "project": settings.home, "files": [row(one) for one in done],
    }  # fmt: skip


def _foretold(seat: Seat, room: str, me: str, tools: Tools, plans: list[Plan]) -> int:
    """What setup would do, to the letter; nothing is started, asked or written."""
    from ..broker import ask
    from ..broker.place import Place

    settings, project, wiring = seat.settings, Project(seat.settings), tools.wiring
    steps = []
    if settings.url == settings.embedded and ask.ping(Place(settings.state_dir).socket) != ask.ANSWERS:
        steps.append("start the embedded broker")
    steps += [f"be {me}", f"join #{room}, or open it"]
    steps += [f"write {change} into {told(wiring.short(project.path))}" for change in project.changes(_facts(settings, _wish(project, settings, me), wiring))]
    steps += [f"let git ignore {pattern}" for pattern, how in ignore.add(settings.project, wiring.patterns(), dry=True).items() if how == "added"]
    if wiring.clients and not waking.running(settings.state_dir):
        steps.append("start the waker")
    steps += tools.steps()
    if seat.json:
        put(record({"dry_run": True, "steps": steps, "files": [row(one, dry=True) for one in plans]}))
    else:
        put("".join(f"would {inert(step)}\n" for step in steps) + tools.noted())
        show_plans(seat, wiring, plans, dry=True)
    return 0


def teardown(seat: Seat, *, dry_run: bool = False) -> int:
    """Undo setup: sessions end, what is held goes back, every channel is left, the names are free, and what was written is gone."""
    down, wiring = Takedown(seat.settings, seat.keys), Wiring(seat.settings, detect.NONE)
    plans = down.plans(wiring)
    tools = Tools(wiring, out_of=down.served() if down else ())
    if not down and not any(one.changes for one in plans):
        put(record({"steps": [], "files": [], "dry_run": dry_run}) if seat.json else "nothing is set up here\n")
        return 0
    if dry_run:
        steps, done = (
            [*(seat.drive(down.survey()) if down.reachable() else ["(the broker does not run: what is held there is not known)"]), *down.lies()],
            plans,
        )
        steps += tools.steps()
    else:
        steps = seat.drive(down.farewell()) if down.cards or down.callers else []
        done = [apply(one) if one.changes else one for one in plans]
        tools.put_in()
        steps += [*(one.strip() for one in tools.said()), *down.clear(), *(["stopped the waker"] if down.still() else [])]
        seat.close()
        steps += ["stopped the embedded broker; what was said stays on the disk"] if down.quiet() else []
    if seat.json:
        put(record({"steps": steps, "files": [row(one, dry=dry_run) for one in done], "dry_run": dry_run}))
        return 0
    put("".join(f"{'would ' if dry_run and not step.startswith('(') else ''}{inert(step)}\n" for step in steps))
    if done:
        show_plans(seat, wiring, done, dry=dry_run)
    return 0
