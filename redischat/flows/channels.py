"""Opening, changing and listing channels: what needs to know more than one script tells."""

from __future__ import annotations

from ..calls import agents, budgets, channels
from ..calls.call import Once, clock, iso
from ..calls.messages import TAKE_COUNT
from ..errors import BadText, ChannelClosed, NoChannel, NotConfirmed, NotMember
from ..settings import DEFAULT_WORKSPACE
from .reading import not_there

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from ..calls.call import Caller

    Flow = Generator[Any, Any, Any]

MODES = ("ordinary", "broadcast")


class Wanted:
    """What a channel should be when it is opened: topic, house rules, mode, cap, first members, and from where the caller wants to read."""

    __slots__ = ("briefing", "broadcast", "max_messages", "members", "since", "topic")

    def __init__(
        self,
        *,
        topic: str = "",
        briefing: str = "",
        broadcast: bool = False,
        max_messages: int | None = None,
        members: Sequence[str] = (),
        since: int | None = None,
    ) -> None:
        self.topic, self.briefing, self.broadcast, self.max_messages, self.members = topic, briefing, broadcast, max_messages, tuple(members)
        self.since = None if since is None else max(0, since - 1)  # "from message N on" as "all up to N - 1 is read"


def enter(who: Caller, name: str, wanted: Wanted, once: Once) -> Flow:
    """Open or join. Gives the channel's record and ``new joined ignored before unread nearest nearest_agent``.

    ``before`` came before the caller, ``unread`` waits for it; ``nearest`` is an older channel of nearly that name, ``nearest_agent`` an older agent of nearly the caller's.
    """
    channel = name.lower()
    (known,), opened, facts, members, heads, marks = yield [
        agents.records(who.keys, [who.me or "-"]),
        channels.open(
            who, name, topic=wanted.topic, briefing=wanted.briefing, mode="broadcast" if wanted.broadcast else "", cap=wanted.max_messages,
            since=wanted.since, members=wanted.members, once=once,
        ),
        channels.facts(who.keys, channel), channels.members(who.keys, channel), channels.heads(who.keys), agents.marks(who),
    ]  # fmt: skip
    record = _record(facts, members, opened["last_seq"])
    unread = (yield from _unread(who, channel, opened["last_seq"] - marks[channel]["read"])) if channel in marks else 0
    near = near_agent = None
    if opened["new"]:
        from ..names import nearest

        near = nearest(name, [written for other, (_, written) in heads.items() if other != channel])
    if who.me and not known:
        from ..names import nearest

        near_agent = nearest(who.agent, [one["agent"] for other, one in (yield agents.everybody(who.keys)).items() if other != who.me])
    return {
        **record,
        "new": opened["new"],
        "joined": opened["joined"],
        "ignored": opened["ignored"],
        "before": opened["last_seq"],
        "unread": unread,
        "nearest": near,
        "nearest_agent": near_agent,
    }


def _unread(who: Caller, channel: str, above: int) -> Flow:
    """How many of the last ``above`` messages wait for the caller: not its own, and not what a hook has shown it. Of very many, only how many there are."""
    if not 0 < above <= TAKE_COUNT:
        return max(0, above)
    from .messages import pending

    return sum(row["pending"] for row in (yield from pending(who, [channel])))


def _record(facts: dict[str, Any], members: dict[str, dict[str, Any]], last_seq: int) -> dict[str, Any]:
    here = sorted(one["agent"] for one in members.values() if one["here"])
    done = sorted(one["agent"] for one in members.values() if not one["here"])
    return channels.record(facts, here, done, last_seq)


def listing(who: Caller) -> Flow:
    """Every channel as its record, those with the newest words first is the caller's business; by name here."""
    heads = yield channels.heads(who.keys)
    order = sorted(heads)
    found = yield [part for room in order for part in (channels.facts(who.keys, room), channels.members(who.keys, room))]
    pairs = zip(order, found[::2], found[1::2], strict=True)
    return [_record(facts, members, heads[room][0]) for room, facts, members in pairs if facts]


def roster(who: Caller, channel: str) -> Flow:
    """One channel's record, and who is in it: ``{"channel": record, "members": [{agent here since seen live ...}]}``."""
    facts, members, last = yield from known(who, channel)
    names = sorted(members)
    records, now = yield [agents.records(who.keys, names or ["-"]), clock()]
    rows = [
        {
            "agent": members[name]["agent"],
            "here": members[name]["here"],
            "since": members[name]["since"],
            "seen": record.get("seen"),
            "held": record.get("held", False),
        }
        for name, record in zip(names, records, strict=False)
    ]
    written = {name: one["agent"] for name, one in members.items()}
    return {**_record(facts, members, last), "roster": rows, "budgets": budgets.of(facts, written, now)}


def known(who: Caller, channel: str) -> Flow:
    """``(facts, members, last seq)`` of a channel that there is; else the refusal that names the nearest."""
    heads, facts, members = yield [channels.heads(who.keys), channels.facts(who.keys, channel), channels.members(who.keys, channel)]
    if not facts or channel not in heads:
        yield from not_there(who, channel)
    return facts, members, heads[channel][0]


def mine(who: Caller, channel: str) -> Flow:
    """As :func:`known`, of a channel that the caller is in."""
    facts, members, last = yield from known(who, channel)
    if not members.get(who.me, {}).get("here"):
        raise NotMember(channel=facts["name"], agent=who.agent)
    return facts, members, last


def leave(who: Caller, channel: str, once: Once) -> Flow:
    """Leave. Gives ``channel left closed members``."""
    return (yield from _named(who, channel, channels.leave(who, channel, once=once)))


def close(who: Caller, channel: str, reason: str, once: Once) -> Flow:
    """Close. Gives ``channel closed reason``."""
    return (yield from _named(who, channel, channels.close(who, channel, reason, once=once)))


def invite(who: Caller, channel: str) -> Flow:
    """What to hand to another session: to be verified, not believed; asks to install nothing. Gives ``channel topic invitation``."""
    facts, _, _ = yield from known(who, channel)
    name, topic = facts["name"], facts["topic"]
    about = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in topic)
    where = "" if who.keys.workspace.lower() == DEFAULT_WORKSPACE else f" --workspace {who.keys.workspace}"
    text = (
        f"There is a channel #{name} on a redischat broker{f' in the workspace {who.keys.workspace}' if where else ''}.\n"
        + (f'Its topic, in the words of whoever opened it: "{about}"\n' if topic else "")
        + f"If your user wants you in it, check it first:  redischat roster {name}{where}\n"
        f"then come in under a name of your own:  redischat join {name}{where} --as NAME\n"
        f"and wait for word without spending tokens:  redischat wait {name}{where} --as NAME\n"
        "Do not take this text's word for anything: your user decides, and redischat is either installed already or not."
    )
    return {"channel": name, "topic": topic or None, "invitation": text}


def leaving(who: Caller, channel: str) -> str:
    """What is said by ``leave --ask``, which changes nothing."""
    return f"{who.agent} is about to leave #{channel}: is anything left for it? It stays until it leaves for good."


def reopen(who: Caller, channel: str, cap: int | None, once: Once) -> Flow:
    """Reopen, or raise the cap. Gives ``channel how max_messages messages members left``: who must join again before it is a conversation."""
    done = yield from _named(who, channel, channels.reopen(who, channel, cap=cap, once=once))
    left = []
    if done["members"] <= 0:
        members = yield channels.members(who.keys, channel)
        left = sorted(one["agent"] for one in members.values() if not one["here"])
    return {**done, "left": left}


def mode(who: Caller, channel: str, to: str, once: Once, *, yes: bool) -> Flow:
    """Change whom an unaddressed message wakes. Without ``yes`` it refuses, naming the harm and the head-count. Gives ``channel changed mode members``."""
    if to not in MODES:
        raise BadText(message=f"{to!r} is no mode: redischat mode {channel} ordinary --yes, or redischat mode {channel} broadcast --yes")
    facts, _, _ = yield from mine(who, channel)
    name = facts["name"]
    others = int(facts["count"]) - 1
    if facts["mode"] != to and not yes:
        harm = (
            f"every unaddressed message would interrupt {others} other agent{'s' * (others != 1)}"
            if to == "ordinary"
            else f"unaddressed messages would no longer wake anybody: {others} other agent{'s' * (others != 1)} may wait for a reply that nobody is woken for"
        )
        raise NotConfirmed(
            message=f"#{name} is {facts['mode']}; as {to}, {harm}. If that is meant: redischat mode {name} {to} --yes", channel=name, mode=to, members=others
        )
    what = "wakes all members" if to == "ordinary" else "wakes nobody unless it says --to or --to-all"
    text = f"made this channel {to}: an unaddressed message now {what}. To undo it: redischat mode {name} {facts['mode']} --yes"
    return (yield channels.mode(who, channel, to, text, once=once))


def briefing(who: Caller, channel: str, rules: str | None, once: Once) -> Flow:
    """Read the house rules (members only, as setting them). Gives ``channel briefing briefing_by briefing_at``."""
    if rules is not None:
        text = "changed the briefing of this channel; read it: redischat briefing " + channel
        return (yield from _named(who, channel, channels.briefing(who, channel, rules, text, once=once)))
    facts, _, _ = yield from mine(who, channel)
    return {
        "channel": facts["name"], "briefing": facts["briefing"] or None, "briefing_by": facts["briefing_by"] or None, "briefing_at": iso(facts["briefing_at"]),
    }  # fmt: skip


def delete(who: Caller, channel: str, once: Once, *, yes: bool) -> Flow:
    """Destroy a channel; without ``yes`` only tell what would go. Gives ``channel deleted messages tasks members broadcast``."""
    facts, members, last = yield from mine(who, channel)
    here = sorted(one["agent"] for one in members.values() if one["here"])
    tasks = yield channels.board_size(who.keys, channel)
    preview = {"channel": facts["name"], "deleted": False, "messages": last, "tasks": tasks, "members": here, "broadcast": facts["mode"] == "broadcast"}
    if not yes:
        return preview
    gone = yield channels.delete(who, channel, list(members), once=once)
    return {**preview, "deleted": True, "messages": gone["messages"]}


def retain(who: Caller, channel: str, most: int, *, yes: bool) -> Flow:
    """Forget all but the newest ``most`` messages; without ``yes`` only tell how many would go. Gives ``channel removed messages done``."""
    facts, _, _ = yield from mine(who, channel)
    if not yes:
        kept = yield channels.length(who.keys, channel)
        return {"channel": facts["name"], "removed": max(0, kept - most), "messages": min(kept, most), "done": False}
    removed, most = 0, max(0, most)
    while True:
        step = yield channels.retain(who, channel, most, once=Once())
        removed += step["removed"]
        if step["messages"] <= most:
            return {"channel": step["channel"], "removed": removed, "messages": step["messages"], "done": True}


def sync(who: Caller) -> Flow:
    """Join every open broadcast channel that the caller is not in, at its end. Gives their names."""
    rooms, broadcasts = yield [agents.rooms(who.keys, who.me), agents.broadcasts(who.keys)]
    missing = sorted(set(broadcasts) - set(rooms))
    facts = yield [channels.facts(who.keys, room) for room in missing]
    joined = []
    for room, found in zip(missing, facts, strict=True):
        if found.get("state") != "open":
            continue
        try:
            yield channels.open(who, broadcasts[room], once=Once())
        except ChannelClosed:
            continue  # closed since we looked
        joined.append(broadcasts[room])
    return joined


def _named(who: Caller, channel: str, call: Any) -> Flow:
    """Run one Call; a channel that is not there is refused with the nearest name."""
    try:
        return (yield call)
    except NoChannel:
        yield from not_there(who, channel)
