"""Slack's Web API as the bridge uses it: one call, one answer or one Trouble. It never asks twice by itself: only the caller knows what may have arrived."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from typing import TYPE_CHECKING

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from ..text import inert

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Message = dict[str, Any]

API = "https://slack.com/api/"
ANSWER_S = 30
PAGE = 200  # what Slack recommends as the most
MARK = "redischat_bridge"  # the event type in the metadata of whatever a bridge posts
TOO_MANY, LIMITED = 429, "ratelimited"
GOOD = 200
SHOWN = 300  # characters of an answer of a server that is not Slack's

# What Slack answers where something of it may have been done all the same.
_MAYBE = frozenset(("internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"))
_WORD = re.compile("[a-z0-9_]+")  # what Slack answers; anything else is some other server's
_REMEDIES = {
    "not_in_channel": "invite the bot into the channel; in Slack, there: /invite @{bot}",
    "channel_not_found": "see that the channel's id is right; a private channel is found by its members only: /invite @{bot}",
    **dict.fromkeys(
        ("invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"),
        "copy the app's Bot User OAuth Token (xoxb-...) anew, from its page OAuth & Permissions",
    ),
    "missing_scope": "add the scope {needed} under OAuth & Permissions, and install the app to the workspace again: a token keeps the scopes that it was made with",
    "is_archived": "the channel is archived: unarchive it in Slack, or name another one",
}
HOPELESS = frozenset(_REMEDIES)


class Trouble(Exception):
    """Slack did not do it. ``error``: its word for that, or what broke. ``unsure``: it may have been done all the same. ``wait_s``: how long it asks to wait."""

    def __init__(self, error: str, *, unsure: bool = False, wait_s: float | None = None, needed: str = "") -> None:
        self.error, self.unsure, self.wait_s, self.needed = inert(error[:SHOWN]), unsure, wait_s, inert(needed[:SHOWN])
        super().__init__(self.error)

    @property
    def passes(self) -> bool:
        """Whether asking again later may be answered otherwise, without anybody doing something."""
        return self.unsure or self.error == LIMITED

    def remedy(self, bot: str = "") -> str:
        """What cures it; "" when time does."""
        return _REMEDIES.get(self.error, "").format(bot=bot or "the bot's name", needed=self.needed or "that Slack names")


class Slack:
    """One Slack channel, seen by one bot. ``name``, ``user`` and ``bot`` are its own, ``scopes`` what its token may, once :meth:`greet` came back."""

    def __init__(self, token: str, channel: str, api: str = API) -> None:
        log = logging.getLogger("redischat.slack")  # the library logs what it raises: each failure is told once, by whoever asked
        log.setLevel(logging.CRITICAL + 1)
        self._client = WebClient(token, base_url=api or API, timeout=ANSWER_S, retry_handlers=[], logger=log)
        self.channel, self.name, self.user, self.bot = channel, "", "", ""
        self.scopes: set[str] | None = None
        self._names: dict[str, str] = {}
        self._may_ask_names = True

    async def greet(self) -> None:
        """Who this bot is. Raises Trouble, as all below."""
        answer, headers = await self._ask(self._client.auth_test)
        self.name, self.user, self.bot = (str(answer.get(key) or "") for key in ("user", "user_id", "bot_id"))
        if not self.bot:  # a person's token: nothing that this person writes would be told from what the bridge posts
            raise Trouble("not_allowed_token_type")
        scopes = next((value for key, value in headers.items() if key.lower() == "x-oauth-scopes"), None)
        self.scopes = {one.strip() for one in str(scopes).split(",")} if scopes is not None else None

    async def history(self, oldest: str, *, inclusive: bool = False, pages: int | None = None) -> list[Message]:
        """What stands in the channel after ``oldest`` (``pages``: no more than so many), oldest first. Of threads only their first messages."""
        return await self._paged(self._client.conversations_history, pages, oldest=oldest, inclusive=inclusive)

    async def replies(self, root: str, oldest: str) -> list[Message]:
        """What was said in a thread after ``oldest``, oldest first, without the message that it hangs from."""
        found = await self._paged(self._client.conversations_replies, None, ts=root, oldest=oldest)
        return [one for one in found if one["ts"] != root and stamp(one["ts"]) > stamp(oldest)]

    async def newest(self) -> str:
        """When the newest message of the channel was written; "0" when there is none."""
        answer, _ = await self._ask(self._client.conversations_history, channel=self.channel, limit=1)
        return max((one["ts"] for one in _messages(answer)), key=stamp, default="0")

    async def post(self, text: str, thread: str, payload: dict[str, Any]) -> str:
        """Post into the channel, or into a thread of it; when it was posted. It carries a mark that every bridge knows, and pings and unfurls nothing."""
        answer, _ = await self._ask(
            self._client.chat_postMessage, channel=self.channel, text=text, thread_ts=thread or None, parse="none", link_names=False,
            unfurl_links=False, unfurl_media=False, metadata={"event_type": MARK, "event_payload": payload},
        )  # fmt: skip
        return str(answer.get("ts") or "")

    async def called(self, user: str) -> str:
        """What a user is called; the id where the token may not ask, or Slack does not know."""
        if user not in self._names and self._may_ask_names:
            try:
                answer, _ = await self._ask(self._client.users_info, user=user)
            except Trouble as trouble:
                if trouble.passes:
                    raise
                self._may_ask_names = trouble.error != "missing_scope"
                return self._names.setdefault(user, user)
            person = answer.get("user") or {}
            profile = person.get("profile") or {}
            self._names[user] = str(profile.get("display_name") or person.get("real_name") or person.get("name") or user)
        return self._names.get(user, user)

    async def _paged(self, method: Callable[..., Any], pages: int | None, **what: Any) -> list[Message]:
        found: list[Message] = []
        cursor: str | None = None
        while pages is None or pages > 0:
            answer, _ = await self._ask(method, channel=self.channel, limit=PAGE, include_all_metadata=True, cursor=cursor, **what)
            found += _messages(answer)
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            pages = None if pages is None else pages - 1
            if not cursor:
                break
        return sorted(found, key=lambda one: stamp(one["ts"]))

    async def _ask(self, method: Callable[..., Any], **what: Any) -> tuple[dict[str, Any], dict[str, str]]:
        found: tuple[dict[str, Any], dict[str, str]] = await beside(partial(_asked, method, what))
        return found


def _asked(method: Callable[..., Any], what: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        response = method(**what)
    except SlackApiError as error:
        raise _of(error.response) from None
    except (SlackClientError, OSError, HTTPException, ValueError) as error:
        raise Trouble(f"no answer ({getattr(error, 'reason', None) or error or type(error).__name__})", unsure=True) from None
    if not isinstance(response.data, dict):
        raise Trouble("an answer that is not Slack's", unsure=True)
    return response.data, dict(response.headers)


def _of(response: Any) -> Trouble:
    """What an answer that is no success means."""
    data = response.data if isinstance(response.data, dict) else {}
    error = str(data.get("error") or f"HTTP {response.status_code}")
    if response.status_code == TOO_MANY or error in (LIMITED, "rate_limited"):
        after = next((value for key, value in response.headers.items() if key.lower() == "retry-after"), "")
        return Trouble(LIMITED, wait_s=float(after) if str(after).isdecimal() else None)
    return Trouble(error, unsure=response.status_code != GOOD or error in _MAYBE or not _WORD.fullmatch(error), needed=str(data.get("needed") or ""))


def _messages(answer: dict[str, Any]) -> list[Message]:
    found = answer.get("messages")
    return [one for one in found if isinstance(one, dict) and stamp(one.get("ts"))] if isinstance(found, list) else []


def stamp(ts: Any) -> tuple[int, int]:
    """Slack's time and name of a message, for comparing; nothing (false) when it is none."""
    whole, _, part = str(ts).partition(".")
    return (int(whole), int((part or "0").ljust(6, "0"))) if whole.isdecimal() and (not part or part.isdecimal()) else ()  # type: ignore[return-value]


async def beside(work: Callable[[], Any]) -> Any:
    """Run something that blocks in a thread that nobody waits for at the end: a bridge that is told to end does not wait for Slack."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if not done.done():
            done.set_exception(error) if error is not None else done.set_result(result)

    def run() -> None:
        result, failed = None, None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is awaited
            failed = error
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=run, daemon=True, name="slack").start()
    return await done
