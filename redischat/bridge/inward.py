"""Slack -> redischat: what people (and other programs) write there, oldest first, each once, by whoever wrote it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from ..errors import BadText, CouldNotLook, KeyReused, NoSuchSeq, RecipientLeft, TooLarge, UnknownRecipient
from ..names import body
from ..text import field
from . import addressing
from .markup import escaped, mentioned, plain
from .outward import THREAD, Pause
from .slack import MARK, Trouble, stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..aio.client import AsyncRoom
    from ..models import Receipt
    from .memory import Memory
    from .slack import Slack

    Said = dict[str, Any]

AT_ONCE = 10  # threads that one look reads
BLIND_S = 30.0  # a thread of which the channel's newest page tells nothing is read this often at most
NAME_CHARS = 80
OWN = "redischat"  # by which the bridge is spoken to, beside its name in Slack
CARRIED = frozenset(("", "bot_message", "file_share", "me_message", "thread_broadcast"))  # subtypes; joins, edits, deletions and the like are no messages


class Inward:
    """Looks into one Slack channel every ``poll`` seconds and carries what is new into a channel, as the person whom the bridge speaks for."""

    def __init__(self, room: AsyncRoom, slack: Slack, memory: Memory, say: Callable[[str], None], poll: float) -> None:
        self._room, self._slack, self._memory, self._say, self._poll = room, slack, memory, say, poll
        self._read: dict[str, float] = {}
        self._trouble = ""

    async def run(self) -> None:
        """For ever.

        Raises:
            ChannelClosed, NoChannel, NotMember: there is nothing to carry to any more.
        """
        pause = Pause()
        while True:
            try:
                await self.look()
            except Trouble as trouble:
                cure = trouble.remedy(self._slack.name)
                self._told(trouble.error, f"Slack cannot be read ({trouble.error}): what is written there waits" + (f". To do: {cure}" if cure else ""))
                await pause.rest(trouble.wait_s)
            except CouldNotLook as error:
                self._told(error.code, f"what is written in Slack cannot be carried here ({error.code}): it waits")
                await pause.rest()
            else:
                pause = Pause()
                if self._trouble:
                    self._trouble = ""
                    self._say("Slack is read again")
                await asyncio.sleep(self._poll)

    def _told(self, trouble: str, sentence: str) -> None:
        """Once, when it begins."""
        if trouble != self._trouble:
            self._trouble = trouble
            self._say(sentence)

    async def look(self) -> None:
        """One look. What cannot be carried ends it: nothing is stepped over, and the next look begins there."""
        memory, slack = self._memory, self._slack
        if not memory.cursor:
            memory.cursor = await slack.newest()
            memory.keep()
        top = {one["ts"]: one for one in await slack.history(memory.cursor) if stamp(one["ts"]) > stamp(memory.cursor)}
        hung = {one["ts"]: (root, one) for root in await self._stirred() for one in await self._replies(root)}
        members: list[str] | None = None
        for ts in sorted(top.keys() | hung.keys(), key=stamp):  # one that is also sent to the channel is in both
            root, one = hung.get(ts) or ("", top[ts])
            if self._carried(one):
                members = members if members is not None else await self._members()
                await self._carry(one, members)
            if root in memory.threads:
                memory.threads[root].mark = ts
            if ts in top:
                memory.cursor = ts
            memory.keep()

    async def _stirred(self) -> list[str]:
        """The threads to be read now: those that have newer replies, then those of which the channel's newest page tells nothing, the longest unread first."""
        watched = self._memory.watched()
        if not watched:
            return []
        marks = {ts: stamp(self._memory.threads[ts].mark) for ts in watched}
        seen = {one["ts"]: one for one in await self._slack.history(watched[-1], inclusive=True, pages=1)}
        newer = [ts for ts in watched if ts in seen and stamp(seen[ts].get("latest_reply")) > marks[ts]]
        due = time.monotonic() - BLIND_S
        self._read = {ts: at for ts, at in self._read.items() if ts in self._memory.threads}
        blind = [ts for ts in watched if ts not in seen and self._read.get(ts, -BLIND_S) <= due]
        return (newer + sorted(blind, key=lambda ts: self._read.get(ts, -BLIND_S)))[:AT_ONCE]

    async def _replies(self, root: str) -> list[Said]:
        """What is new in a thread. One that is gone in Slack is forgotten; one that was forgotten meanwhile, by what the other direction remembers, has nothing."""
        threads = self._memory.threads
        self._read[root] = time.monotonic()
        try:
            return await self._slack.replies(root, threads[root].mark) if root in threads else []
        except Trouble as trouble:
            if trouble.error not in THREAD:
                raise
            threads.pop(root, None)
            return []

    def _carried(self, one: Said) -> bool:
        """Whether this is a message of somebody: not what a bridge posted (this one or another), nor what Slack itself tells."""
        slack = self._slack
        bridged = _dict(one.get("metadata")).get("event_type") == MARK
        own = (slack.bot and one.get("bot_id") == slack.bot) or (slack.user and one.get("user") == slack.user)
        return one.get("type", "message") == "message" and (one.get("subtype") or "") in CARRIED and not bridged and not own

    async def _members(self) -> list[str]:
        """Who may be spoken to."""
        found = await self._room.roster()
        return [one.agent for one in found.roster if one.here and one.agent.lower() != (self._room.chat.agent or "").lower()]

    async def _carry(self, one: Said, members: list[str]) -> None:
        slack, memory, ts = self._slack, self._memory, str(one["ts"])
        root = str(one.get("thread_ts")) if stamp(one.get("thread_ts")) else ts
        text = str(one.get("text") or "") or "\n".join(str(part.get("fallback") or part.get("text") or "") for part in _dicts(one.get("attachments")))
        names = {user: await slack.called(user) for user in mentioned(text)}
        said = plain(text, lambda user: names.get(user, user))
        said += "".join(f"\n[a file in Slack: {field(str(file.get('name') or 'without a name'))[:NAME_CHARS]}]" for file in _dicts(one.get("files")))
        said = (said if text else said.removeprefix("\n")).encode("utf-8", "replace").decode()
        if not said.strip():
            return
        person = bool(one.get("user")) and not one.get("bot_id")
        if person and addressing.asks_for_list(plain(text, lambda user: OWN if user == slack.user else user)):
            await self._list(root, members)
            return
        hung = memory.threads.get(root) if root != ts else None
        bare = plain(text, lambda _: "")
        to: str | list[str] = addressing.audience(bare, members, hung.owner if hung else "") if person else "none"
        receipt = await self._post(said, to, await self._author(one), root, hung.seq if hung else 0, ts)
        if root == ts:
            memory.hang(ts)
        if receipt is not None:
            memory.owe(to if isinstance(to, list) else [], root, receipt.seq)

    async def _post(self, said: str, to: str | list[str], author: str, root: str, answers: int, ts: str) -> Receipt | None:
        """Said here once, whatever is repeated: the message's name in Slack is the key. None: it cannot be said here, and somebody was told."""
        key = f"slack {self._slack.channel} {ts}"
        try:
            return await self._room.post(body(said), to=to, title=author, thread=root, reply_to=answers or None, idem=key)
        except KeyReused:  # it was carried, and edited since
            return None
        except NoSuchSeq:  # of a channel of the same name that is gone
            return await self._post(said, to, author, root, 0, ts)
        except (RecipientLeft, UnknownRecipient):  # just now
            return await self._post(said, "none", author, root, answers, ts)
        except (BadText, TooLarge) as error:
            self._say(f"a message of {author} (Slack's {ts}) cannot be said here and is left out: {error.sentence()}")
            return None

    async def _author(self, one: Said) -> str:
        """Who wrote it: a line that stands beside the text and not in it, first the id, which nobody chooses, then the name, which they do."""
        user, bot = str(one.get("user") or ""), str(one.get("bot_id") or "")
        if user and not bot:
            what, name = f"Slack {user}", await self._slack.called(user)
        else:
            what, name = f"Slack bot {bot or user}", str(one.get("username") or _dict(one.get("bot_profile")).get("name") or "")
        return field(what)[:NAME_CHARS].strip() + (f": {field(name)[:NAME_CHARS]}" if name not in ("", user) else "")

    async def _list(self, root: str, members: Iterable[str]) -> None:
        """The bridge's own command, answered in Slack and carried to nobody. It is not worth holding up what comes after it."""
        names = sorted(members)
        text = f"In #{self._room.name}: {', '.join(f'`{name}`' for name in names)}." if names else f"Nobody but this bridge is in #{self._room.name}."
        text += f" Write `@{names[0] if names else 'name'} ...` to wake one, `@here` to wake all; anything else they see when they next work."
        try:
            await self._slack.post(escaped(text), root, {"key": "list", "part": 0})
        except Trouble as trouble:
            self._say(f"NOT DELIVERED to Slack: the answer to @redischat list ({trouble.error})")


def _dict(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _dicts(found: Any) -> list[dict[str, Any]]:
    return [_dict(one) for one in found] if isinstance(found, list) else []
