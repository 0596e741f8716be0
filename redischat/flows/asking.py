"""Asking one agent: post, ring, and wait for the message that answers it. What else is said meanwhile stays unread."""

from __future__ import annotations

from ..calls import channels, messages, paths, sessions
from ..calls.call import Listen, Show
from ..errors import ChannelClosed, ChatError, NoChannel, NotMember, RecipientLeft, TimedOut, UnknownRecipient
from . import budgets, left, reading
from .messages import helped
from .presence import reached

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from ..calls.call import Caller, Once

    Flow = Generator[Any, Any, Any]


class Question:
    """Whom to ask what (``draft``), for how long; ``request`` is the door that the one who waits can be seen at, ``lease`` under which the answer is taken."""

    __slots__ = ("agent", "draft", "lease", "once", "request", "seconds")

    def __init__(self, agent: str, draft: messages.Draft, once: Once, *, seconds: float, request: str, lease: str) -> None:
        self.agent, self.draft, self.once, self.seconds, self.request, self.lease = agent, draft, once, seconds, request, lease


def ask(who: Caller, channel: str, asked: Question, now: Callable[[], float]) -> Flow:
    """Post, and wait for the answer. Gives its record; shown before it is acked, where nothing unread stands before it.

    Raises:
        TimedOut: with whether the one who was asked is ``live``, and whether a budget kept it from being woken (``silenced``). The question stands.
        NotDurable: thrown in at the first wait (:func:`redischat.flows.durable.durably`): it stands, and nobody waits for its answer.
        RecipientLeft, ChannelClosed, NoChannel: no answer can come any more.
    """
    until = now() + asked.seconds
    try:
        sent = yield messages.post(who, channel, asked.draft, once=asked.once)
    except (UnknownRecipient, RecipientLeft, NoChannel, NotMember) as error:
        yield from helped(who, channel, error)
        raise
    return (yield from left(_told(who, channel, asked, sent, until, now), lambda: paths.stand_down(who, asked.request)))


def _told(who: Caller, channel: str, asked: Question, sent: dict[str, Any], until: float, now: Callable[[], float]) -> Flow:
    """The answer, shown and read where it is its turn."""
    found = yield from _answered(who, channel, asked, sent, until, now)
    yield from _read(who, channel, asked, found)
    return found


def _answered(who: Caller, channel: str, asked: Question, sent: dict[str, Any], until: float, now: Callable[[], float]) -> Flow:
    keys, at, circle = who.keys, sent["seq"], None
    bells = [keys.door(asked.request), keys.ear(who.me), keys.live(channel), keys.room(channel)]
    heard: str | None = yield Listen(bells, until)  # first: who waits with nobody at its door is taken for gone
    if asked.agent.lower() != who.me:
        circle = (yield paths.stand(who, asked.request, "from", asked.agent))["circle"]
    while True:
        over = heard is None and now() >= until
        if heard is None or not heard.startswith(("audit ", "event ")):
            page, facts = yield [messages.entries(keys, channel, sent["channel"], who.me, above=at), channels.facts(keys, channel)]
            for one in page:
                if one["reply_to"] == sent["seq"] and one["from"].lower() == asked.agent.lower() and one["kind"] == "message":
                    return one
            at = page[-1]["seq"] if page else at
            if len(page) < messages.TAKE_COUNT:
                yield from _possible(who, channel, asked, facts, gone=any(_left_word(one, asked.agent) for one in page))
                if over:
                    yield from _timed_out(who, sent, asked, circle)
            else:
                continue  # a page that was full: there may be more, whatever rang
        heard = yield Listen(bells, until)


def _left_word(one: dict[str, Any], agent: str) -> bool:
    return bool(one["kind"] == "notice" and one["from"].lower() == agent.lower())


def _possible(who: Caller, channel: str, asked: Question, facts: dict[str, str], *, gone: bool) -> Flow:
    """Refuse to wait for what cannot come any more."""
    if not facts:
        yield from reading.not_there(who, channel)
    if facts["state"] == "closed":
        raise ChannelClosed(channel=facts["name"], reason=facts["reason"])
    if gone and not (yield channels.members(who.keys, channel)).get(asked.agent.lower(), {"here": False})["here"]:
        error = RecipientLeft(channel=facts["name"], agent=asked.agent, done="the question stands unanswered")
        yield from helped(who, channel, error)
        raise error


def _timed_out(who: Caller, sent: dict[str, Any], asked: Question, circle: str | None) -> Flow:
    (one,) = reached([asked.agent], (yield sessions.reach(who.keys, [asked.agent])))
    live = one["how"] != "absent"
    seen = f"last seen {one['last_active']}" if one["last_active"] else "never seen"
    standing = f"is live ({one['how']}, {seen})" if live else f"is not live ({seen})"
    unwoken = budgets.unwoken(sent) if one["how"] != "listening" else ""
    what = (
        f"{asked.agent} has not answered #{sent['seq']} in #{sent['channel']}, and {standing}{unwoken and '; ' + unwoken}. The question stands; wait on: "
        f"redischat wait {sent['channel']} --from {asked.agent} --reply-to {sent['seq']}"
    )
    raise TimedOut(
        what=what, seconds=f"{asked.seconds:g}", channel=sent["channel"], seq=sent["seq"], agent=asked.agent, live=live, how=one["how"],
        last_active=one["last_active"], circle=circle, silenced=[asked.agent] if unwoken else [], budget=sent["budget"],
    )  # fmt: skip


def _read(who: Caller, channel: str, asked: Question, found: dict[str, Any]) -> Flow:
    """The answer counts as read if it is the next that is unread; else it comes in its turn, behind what was not read before it."""
    try:
        rows = (yield messages.take(who, [channel], asked.lease, count=1))["rows"]
        row = rows[0] if rows else {}
        if [one["seq"] for one in row.get("messages", ())] != [found["seq"]] or row["gap"]:
            yield messages.release(who, asked.lease)
            return
        yield Show([found], [])
        yield from reading.acked(messages.ack(who, asked.lease, [(channel, row["epoch"], row["which"], found["seq"], 0)]))
    except GeneratorExit:
        raise
    except ChatError:
        return  # it comes again, in its turn
    except BaseException:
        yield messages.release(who, asked.lease)
        raise
