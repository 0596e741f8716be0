"""open, join, leave, close, reopen, delete, mode, briefing, invite, channels, roster, retain, recover-pending."""

from __future__ import annotations

from .. import names
from ..calls.messages import Draft
from ..errors import Usage
from ..flows import channels as flows
from ..flows import fields, messages, pending
from ..text import block, few, field, inert, rules, when
from .budgets import line
from .seat import once, text_of
from .show import put, record, records, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .seat import Seat

NAMES = 12  # members shown in a listing, then a count


def open(seat: Seat, *, channel: str, **asked: Any) -> int:  # noqa: A001
    """Create a channel or join it; needs no identity, makes its caller a member when there is one."""
    got = _enter(seat, channel, invited=True, **asked)
    if not seat.json and got["joined"] == "no":
        put("  you are not in it: nobody is known here. Come in: redischat join " + got["channel"] + " --as NAME\n")
    return 0


def join(seat: Seat, *, channel: str, **asked: Any) -> int:
    """Join a channel, or create it."""
    seat.caller()
    _enter(seat, channel, invited=False, **asked)
    return 0


def _enter(
    seat: Seat,
    channel: str,
    *,
    invited: bool,
    topic: str | None = None,
    members: str | None = None,
    briefing: str | None = None,
    briefing_file: str | None = None,
    broadcast: bool = False,
    max_messages: int | None = None,
    since: int | None = None,
    idem: str | None = None,
) -> dict[str, Any]:
    rules_text = text_of(briefing, briefing_file, "briefing")
    wanted = flows.Wanted(
        topic=names.line("topic", topic or ""), briefing=names.briefing(rules_text or ""), broadcast=broadcast, max_messages=max_messages,
        members=names.listed(members) if members else (), since=since,
    )  # fmt: skip
    got: dict[str, Any] = seat.drive(flows.enter(seat.onlooker(), names.channel(channel), wanted, once(idem)))
    put(record(got) if seat.json else _entered(got, seat.settings.agent) + (_invited(seat, got) if invited else ""))
    return got


def _invited(seat: Seat, got: dict[str, Any]) -> str:
    return invitation(seat.drive(flows.invite(seat.onlooker(), names.same(got["channel"])))["invitation"])


def _entered(got: dict[str, Any], me: str) -> str:
    name, others = got["channel"], [one for one in got["members"] if one.lower() != me.lower()]
    did = {"new": f"joined #{name}", "again": f"back in #{name}", "already": f"already in #{name}", "no": f"#{name}"}[got["joined"]]
    end = "new channel" if got["new"] else f"it ends at #{got['last_seq']}" if got["last_seq"] else "nothing was said in it yet"
    lines = [f"{did}{f' as {me}' if got['joined'] != 'no' else ''}: {end}"]
    lines.append("  with " + ", ".join(others) if others else "  nobody else is in it yet")
    if got["nearest"]:
        lines.append(f"  did you mean #{got['nearest']}, which was there before? Undo: redischat delete {name} --yes")
    if got["nearest_agent"]:
        lines.append(f"  {me} was not known here; did you mean {got['nearest_agent']}? Undo: redischat leave {name} --as {me}")
    if got["topic"]:
        lines.append("  topic: " + inert(got["topic"]))
    if got["broadcast"]:
        lines.append("  broadcast: a message here wakes nobody unless it says --to or --to-all")
    if got["ignored"]:
        lines.append(f"  ignored, because the channel has its own: {', '.join(got['ignored'])}")
    if got["unread"] > 0:
        lines.append(f"  {got['unread']} unread: redischat read {name}")
    elif got["joined"] in ("new", "again") and got["before"]:
        lines.append(f"  what came before: redischat read {name} --all")
    if got["summary"]:
        lines.append(f"  the latest summary is #{got['summary']}: redischat read {name} --since-summary")
    return "\n".join(lines) + "\n" + rules(got)


def invitation(text: str) -> str:
    """An invitation, to be handed on."""
    return "To bring another session in, give it this:\n" + block(text)


def invite(seat: Seat, *, channel: str) -> int:
    """Print an invitation."""
    got = seat.drive(flows.invite(seat.onlooker(), names.room(channel)))
    put(record(got) if seat.json else invitation(got["invitation"]))
    return 0


def leave(seat: Seat, *, channel: str, ask: bool = False, idem: str | None = None) -> int:
    """Leave, or ask first."""
    room, who = names.room(channel), seat.caller()
    if ask:
        got = seat.drive(messages.say(who, room, Draft(flows.leaving(who, room), status="leaving"), once(idem)))
        put(record(got) if seat.json else f"asked as #{got['seq']}; you are still in #{got['channel']}. Leave for good: redischat leave {got['channel']}\n")
        return 0
    got = seat.drive(flows.leave(who, room, once(idem)))
    if seat.json:
        put(record(got))
    elif not got["left"]:
        put(f"you had left #{got['channel']} before\n")
    else:
        closed = f" You were the last one: the channel is closed. Back: redischat reopen {got['channel']}" if got["closed"] else ""
        put(f"left #{got['channel']}.{closed}\n")
    return 0


def close(seat: Seat, *, channel: str, reason: str, idem: str | None = None) -> int:
    """Close a channel."""
    if not reason.strip():
        raise Usage(message="why? redischat close CHANNEL --reason 'shipped'")
    got = seat.drive(flows.close(seat.caller(), names.room(channel), names.line("reason", reason), once(idem)))
    done = f"closed #{got['channel']}" if got["closed"] else f"#{got['channel']} was closed already: {inert(got['reason'])}"
    put(record(got) if seat.json else f"{done}. Read it: redischat read {got['channel']} --all. Bring it back: redischat reopen {got['channel']}\n")
    return 0


def reopen(seat: Seat, *, channel: str, max_messages: int | None = None, idem: str | None = None) -> int:
    """Reopen a channel, or raise its cap."""
    got = seat.drive(flows.reopen(seat.caller(), names.room(channel), max_messages, once(idem)))
    if seat.json:
        put(record(got))
        return 0
    cap = f"its cap is {got['max_messages']}, {got['messages']} used" if got["max_messages"] else "it has no cap"
    put(
        {"reopened": f"#{got['channel']} is open again; {cap}\n", "raised": f"#{got['channel']}: {cap}\n", "already": f"#{got['channel']} is open; {cap}\n"}[
            got["how"]
        ]
    )
    if got["left"]:
        put(f"  all its members have left ({', '.join(got['left'])}): each must join again: redischat join {got['channel']}\n")
    return 0


def delete(seat: Seat, *, channel: str, yes: bool = False, idem: str | None = None) -> int:
    """Destroy a channel, or tell what would go."""
    got = seat.drive(flows.delete(seat.caller(), names.room(channel), once(idem), yes=yes))
    if seat.json:
        put(record(got))
    elif got["deleted"]:
        put(f"deleted #{got['channel']} with {got['messages']} messages\n")
    else:
        wide = " It is a broadcast channel: everyone loses it." if got["broadcast"] else ""
        put(f"would delete #{got['channel']}: {got['messages']} messages and {got['tasks']} tasks, for good; still in it: {', '.join(got['members'])}.{wide}\n")
        put(f"  keep a copy: redischat export {got['channel']} DIR. Do it: redischat delete {got['channel']} --yes\n")
    return 0


def mode(seat: Seat, *, channel: str, mode: str, yes: bool = False, idem: str | None = None) -> int:
    """Change whom an unaddressed message wakes."""
    got = seat.drive(flows.mode(seat.caller(), names.room(channel), mode, once(idem), yes=yes))
    if seat.json:
        put(record(got))
    elif not got["changed"]:
        put(f"#{got['channel']} is {got['mode']} already\n")
    else:
        put(f"#{got['channel']} is {got['mode']} now; its {got['members']} members are told when they next read, nobody was woken\n")
        if got["mode"] == "broadcast":
            put("  not retroactive: agents that identified before join it at their next redischat sync or turn\n")
    return 0


def briefing(seat: Seat, *, channel: str, text: str | None = None, file: str | None = None, idem: str | None = None) -> int:
    """Read or set the house rules."""
    found = text_of(text, file, "briefing")
    got = seat.drive(flows.briefing(seat.caller(), names.room(channel), None if found is None else names.briefing(found), once(idem)))
    if seat.json:
        put(record(got))
    elif found == "":
        put(f"#{got['channel']} has no briefing any more\n")
    elif found is not None:
        put(f"the briefing of #{got['channel']} is now yours ({len(found)} characters); each joiner sees it:\n{rules(got)}")
    else:
        put(rules(got) or f"#{got['channel']} has no briefing. Set one: redischat briefing {got['channel']} --file rules.md\n")
    return 0


def channels(seat: Seat, *, all_: bool = False) -> int:
    """List channels."""
    found = seat.drive(flows.listing(seat.onlooker()))
    if seat.json:
        records(found)
        return 0
    shown = [one for one in found if all_ or not one["closed"]]
    for one in shown:
        put(_row(one))
    hidden = len(found) - len(shown)
    if not found:
        put("no channels yet. Open one: redischat open NAME --members a,b\n")
    elif hidden:
        put(f"{'' if shown else 'no open channels; '}{hidden} closed: redischat channels --all\n")
    return 0


def _row(one: dict[str, Any]) -> str:
    marks = [mark for mark, on in (("broadcast", one["broadcast"]), (f"closed: {one['closed_reason']}", one["closed"])) if on]
    cap = f"/{one['max_messages']}" if one["max_messages"] else ""
    members = few(one["members"], NAMES)
    head = f"#{one['channel']}  {one['messages']}{cap} messages  {field(one['topic']) if one['topic'] else '(no topic)'}"
    return (
        head
        + (f"  [{field('; '.join(marks))}]" if marks else "")
        + f"\n    {members or '(nobody)'}"
        + (f"; left: {', '.join(one['done'])}" if one["done"] else "")
        + "\n"
    )


def roster(seat: Seat, *, channel: str) -> int:
    """Who is in a channel."""
    got = seat.drive(flows.roster(seat.onlooker(), names.room(channel)))
    if seat.json:
        put(record(got))
        return 0
    put(_row(got))
    for one in got["roster"]:
        place = f"in since {when(one['since'])}" if one["here"] else f"left {when(one['since'])}"
        put(f"    {one['agent']}: {place}, last seen {when(one['seen'])}\n")
    put("".join(f"    {line(one)}\n" for one in got["budgets"]))
    return 0


def retain(seat: Seat, *, channel: str, messages: int, yes: bool = False) -> int:
    """Forget the oldest messages, or tell how many would go."""
    got = seat.drive(flows.retain(seat.caller(), names.room(channel), messages, yes=yes))
    if seat.json:
        put(record(got))
    elif got["done"]:
        put(f"removed the {got['removed']} oldest messages of #{got['channel']}; {got['messages']} are left, their numbers unchanged\n")
    else:
        put(
            f"would remove the {got['removed']} oldest messages of #{got['channel']} and keep {got['messages']}. Do it: redischat retain {got['channel']} {messages} --yes\n"
        )
    return 0


def recover_pending(seat: Seat, *, channel: str, resolve_publication: str | None = None) -> int:
    """Check a channel's streams, board and locks, and mend them; exit 1 when something is left that cannot be derived."""
    fields.resolution(resolve_publication)
    got = seat.drive(pending.recover(seat.caller(), names.room(channel)))
    if seat.json:
        put(record(got))
        return int(bool(got["damaged"]))
    if resolve_publication:
        say("--resolve-publication changes nothing: a change and its audit are one step here, so no publication is ever unknown")
    put(f"#{got['channel']}: {got['kept']} messages, {got['tasks']} tasks; {got['locks']} locks in the workspace, {got['waiting']} in line\n")
    strangers = {"messages": got["dropped"], "audits": got["audits_dropped"], "events": got["events_dropped"]}
    put("".join(f"  {count} entries of a stranger were dropped from its {what}\n" for what, count in strangers.items() if count))
    put("".join(f"  mended: {count} in {index}\n" for index, count in got["mended"].items()))
    put(f"  out of the line, for they do not listen any more: {', '.join(got['struck'])}\n" if got["struck"] else "")
    put("".join(f"  not written by redischat, left as it is: {inert(one)}\n" for one in got["damaged"]))
    if not any((*strangers.values(), got["mended"], got["struck"], got["damaged"])):
        put("  nothing to mend: records and indexes agree\n")
    return int(bool(got["damaged"]))
