# Made from ../aio by tests/unasync.py; edit that, not this.
"""open, join, leave, close, reopen, delete, mode, briefing, invite, channels, roster, retain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from .. import names
from ..calls.call import Once
from ..calls.messages import Draft
from ..errors import BadText
from ..flows import channels as flows
from ..flows import messages, pending
from ..models import Briefing, Channel, Closed, Deleted, FullReceipt, Invitation, Left, Mode, Opened, Reopened, Repaired, Retained, Roster
from .seat import Seat, room

if TYPE_CHECKING:
    from collections.abc import Sequence


class Channels(Seat):
    """The verbs of where is spoken."""

    def open(
        self,
        channel: str,
        *,
        topic: str = "",
        briefing: str = "",
        broadcast: bool = False,
        max_messages: int | None = None,
        members: str | Sequence[str] = (),
        since: int | None = None,
        idem: str | None = None,
    ) -> Opened:
        """Create a channel, or join it when there is one; needs no identity, makes the client's agent a member when it has one.

        ``briefing``: house rules, up to 2,000 characters. ``broadcast``: a message wakes nobody unless it says so. ``max_messages``: the last one closes the
        channel (default 200, none for broadcast; 0 is none). ``members`` (``"a,b"`` or a list) find everything from message 1 on unread, even if they first
        appear days later. ``since``: read from this message on (default: from the end). Of an existing channel only an empty topic or briefing is filled.

        Raises:
            ChannelClosed: reopen it first.
            BadName, BadText, TooLarge: nothing was changed.
        """
        names.whole(max_messages=max_messages, since=since)
        wanted = flows.Wanted(
            topic=names.line("topic", topic), briefing=names.briefing(briefing), broadcast=broadcast, max_messages=max_messages,
            members=listed(members) if members else (), since=since,
        )  # fmt: skip
        return Opened.model_validate(self._drive(flows.enter(self._who, names.channel(channel), wanted, Once(idem))))

    def join(
        self,
        channel: str,
        *,
        topic: str = "",
        briefing: str = "",
        broadcast: bool = False,
        max_messages: int | None = None,
        members: str | Sequence[str] = (),
        since: int | None = None,
        idem: str | None = None,
    ) -> Opened:
        """As :meth:`open`, for a client that has an agent: become a member at the channel's end, or with ``since`` from that message on.

        Whoever comes back finds its marks where they were. Joining again changes nothing.

        Raises:
            ChannelClosed: reopen it first.
            NoIdentity: the client has no agent.
        """
        self._me()
        return self.open(channel, topic=topic, briefing=briefing, broadcast=broadcast, max_messages=max_messages, members=members, since=since, idem=idem)

    @overload
    def leave(self, channel: str, *, ask: Literal[False] = False, idem: str | None = None) -> Left: ...
    @overload
    def leave(self, channel: str, *, ask: Literal[True], idem: str | None = None) -> FullReceipt: ...
    def leave(self, channel: str, *, ask: bool = False, idem: str | None = None) -> Left | FullReceipt:
        """Leave: the others are told, what is owed is forgiven, the last one out closes the channel. ``ask`` only asks who still needs the agent.

        Leaving again changes nothing (``left`` is False).

        Raises:
            NoChannel, NotMember: there is nothing to leave.
        """
        who, name = self._me(), room(channel)
        if ask:
            draft = Draft(flows.leaving(who, name), status="leaving")
            return FullReceipt.model_validate(self._drive(messages.say(who, name, draft, Once(idem))))
        return Left.model_validate(self._drive(flows.leave(who, name, Once(idem))))

    def close(self, channel: str, reason: str, *, idem: str | None = None) -> Closed:
        """Close a channel: it can be read and reopened, nothing can be said. Members only; one that is closed stays as it is.

        Raises:
            BadText: no reason was given.
            NoChannel, NotMember: nothing was changed.
        """
        if not reason.strip():
            raise BadText(message="a channel is closed for a reason: none was given")
        return Closed.model_validate(self._drive(flows.close(self._me(), room(channel), names.line("reason", reason), Once(idem))))

    def reopen(self, channel: str, *, max_messages: int | None = None, idem: str | None = None) -> Reopened:
        """Bring a closed channel back, or change the cap of an open one (0 is none). Anyone may; again changes nothing.

        Raises:
            CapUsed: the cap is not above what was said already.
            NoChannel: there is none of that name.
        """
        names.whole(max_messages=max_messages)
        return Reopened.model_validate(self._drive(flows.reopen(self._me(), room(channel), max_messages, Once(idem))))

    def delete(self, channel: str, *, yes: bool = False, idem: str | None = None) -> Deleted:
        """Destroy a channel and all that was said in it; without ``yes`` only tell what would go. Members only.

        Raises:
            NoChannel, NotMember: nothing was changed.
        """
        return Deleted.model_validate(self._drive(flows.delete(self._me(), room(channel), Once(idem), yes=yes)))

    def mode(self, channel: str, to: str, *, yes: bool = False, idem: str | None = None) -> Mode:
        """Make a channel ``ordinary`` (an unaddressed message wakes all) or ``broadcast`` (nobody). Members only; the others are told, not woken.

        Not retroactive: agents that identified before join a new broadcast channel at their next :meth:`sync`.

        Raises:
            NotConfirmed: without ``yes``; it names the harm and the head-count.
            BadText: there is no such mode.
            NoChannel, NotMember: nothing was changed.
        """
        return Mode.model_validate(self._drive(flows.mode(self._me(), room(channel), to, Once(idem), yes=yes)))

    def briefing(self, channel: str, rules: str | None = None, *, idem: str | None = None) -> Briefing:
        """Read the house rules of a channel, or set them (up to 2,000 characters): each joiner sees them, with their writer. Members only.

        Raises:
            TooLarge: nothing was changed.
            NoChannel, NotMember: nothing was changed.
        """
        text = None if rules is None else names.briefing(rules)
        return Briefing.model_validate(self._drive(flows.briefing(self._me(), room(channel), text, Once(idem))))

    def invite(self, channel: str) -> Invitation:
        """A text to hand to another session: to be verified, not believed. Changes nothing; needs no identity.

        Raises:
            NoChannel: there is none of that name.
        """
        return Invitation.model_validate(self._drive(flows.invite(self._who, room(channel))))

    def channels(self) -> list[Channel]:
        """All channels by name, closed ones too. Changes nothing; needs no identity."""
        return [Channel.model_validate(one) for one in self._drive(flows.listing(self._who))]

    def roster(self, channel: str) -> Roster:
        """A channel and who is or was in it. Changes nothing; needs no identity.

        Raises:
            NoChannel: there is none of that name.
        """
        return Roster.model_validate(self._drive(flows.roster(self._who, room(channel))))

    def retain(self, channel: str, messages: int, *, yes: bool = False) -> Retained:
        """Forget all but the newest ``messages``; without ``yes`` only tell how many would go. Numbers never change. Members only.

        Whoever had not read them is told how many are gone, once.

        Raises:
            NoChannel, NotMember: nothing was changed.
        """
        names.whole(messages=messages)
        return Retained.model_validate(self._drive(flows.retain(self._me(), room(channel), messages, yes=yes)))

    def recover_pending(self, channel: str) -> Repaired:
        """Hold a channel's streams, marks and board, and the workspace's locks and line, against their records; mend what can be derived.

        Also cures ``ChannelDamaged``: numbers stay and go on. Changes nothing where all agree.

        Raises:
            NoChannel: there is none of that name.
        """
        return Repaired.model_validate(self._drive(pending.recover(self._me(), room(channel))))


def listed(given: str | Sequence[str]) -> tuple[str, ...]:
    """``"a, b"`` or a list of names, checked, each once.

    Raises:
        BadName: one of them breaks the rule, or there is none.
    """
    return names.listed(given if isinstance(given, str) else ",".join(given))
