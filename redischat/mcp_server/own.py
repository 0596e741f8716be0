"""Tools that are more than a verb of the client: what a model gives is put in the verb's form, or the server itself must know of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .. import names
from ..aio.budgets import PER_S
from ..calls.tasks import LEASE_S
from ..errors import ChatError, TimedOut, Usage
from ..errors.tasks import NothingReady
from ..models import Task
from .answers import dumped
from .reading import WAIT_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..aio.client import AsyncClient
    from ..models import Budget, Lease, PathLock
    from .request import Request


async def say(
    chat: AsyncClient, channel: str, body: str, *, to: str | Sequence[str] | None = None, reply_to: int | None = None, thread: str = "", title: str = "",
    status: str = "discussion", durable: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Say something. ``to`` of one name may be "all" or "none"."""
    named = to[0] if to and not isinstance(to, str) and len(to) == 1 else to
    found = await chat.post(channel, body, receipt=True, to=named or None, reply_to=reply_to, thread=thread, title=title, status=status, durable=durable)
    return {name: value for name, value in dumped(found).items() if value not in ([], 0) and name != "reach"}


async def channels(chat: AsyncClient, *, all: bool = False) -> list[dict[str, Any]]:  # noqa: A002 - the flag's name
    """The channels; the closed ones too, if ``all``. House rules are told to whoever joins: nine of them would fill an answer."""
    found = [dumped(one) for one in await chat.channels() if all or not one.closed]
    return [{name: value for name, value in one.items() if not name.startswith("briefing")} for one in found]


async def budget(
    chat: AsyncClient,
    channel: str,
    *,
    agent: str | None = None,
    messages: int | None = None,
    characters: int | None = None,
    per: float = PER_S,
    off: bool = False,
) -> list[Budget]:
    """The budgets of a channel, after one was set or taken off if that was asked for."""
    if off or messages is not None or characters is not None:
        await chat.budget(channel, agent=agent, messages=messages, characters=characters, per=per, off=off)
    return [one for one in await chat.budgets(channel) if agent is None or names.same(one.agent or "") == names.same(agent)]


async def identify(chat: AsyncClient, name: str, *, call: Request, take_over: bool = False, force: bool = False, reason: str = "") -> dict[str, Any]:  # noqa: ARG001 - as every tool
    """Be an agent in this session; the proof is kept as the command keeps it."""
    settings = call.place.settings()
    if settings.env.get("REDISCHAT_AGENT") or call.place.flags.get("as_"):
        fixed = settings.me()
        if names.same(fixed) != names.same(name):
            raise Usage(message=f"this server was started as {fixed} and speaks for no other: leave identify out, or start it without --as and REDISCHAT_AGENT")
    held = [one for one in settings.bindings if one.project == settings.home and names.same(one.agent) == names.same(name)]
    if held and not settings.session_id and not take_over:  # one of this project's, whichever session holds it: as with --as at a shell
        before, call.place.sits = call.place.sits, held[0].agent
        if names.same(call.place.settings().agent) == names.same(name):
            return {"agent": held[0].agent, "how": "mine", "joined": []}
        call.place.sits = before
    found = await asyncio.to_thread(call.place.become, settings, name, take_over=take_over, force=force, reason=reason or None)
    return {key: value for key, value in found.items() if key != "token" and value is not None}


async def who(chat: AsyncClient, *, all: bool = False) -> list[Any]:  # noqa: A002 - the flag's name
    """Who is there; ``all``: also who is gone."""
    return list(await chat.who(ended=all))


async def pending(chat: AsyncClient, *, channel: str | None = None) -> list[dict[str, Any]]:
    """What waits, without the list of its messages."""
    found = await (chat.pending(channel) if channel else chat.pending())
    return [one.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"messages"}) for one in found]


async def whoami(chat: AsyncClient) -> Any:
    """Who and where, and where each value comes from."""
    return await chat.whoami()


async def lock(
    chat: AsyncClient, channel: str, *paths: str, call: Request, ttl: float | None = None, wait: float | None = None, shared: bool = False, reason: str = "",
    glob: bool = False, steal_expired: bool = False, repo: str | None = None,
) -> PathLock:  # fmt: skip
    """Lock paths; standing in line no longer than a client waits."""
    seconds = min(wait, call.place.longest) if wait is not None else None
    return await chat.lock(
        channel, *paths, ttl=ttl, wait=seconds, shared=shared, reason=reason, glob=glob, steal_expired=steal_expired, repo=repo
    )  # fmt: skip


async def task_next(chat: AsyncClient, channel: str, *, claim: bool = False, ttl: float = LEASE_S) -> Task | dict[str, Any]:
    """The best task that can be started; that there is none is no refusal."""
    try:
        found = await chat.task_next(channel, claim=claim, ttl=ttl)
    except NothingReady as none:
        return {"channel": channel, "nothing_ready": True, "next": none.sentence()}
    return found if isinstance(found, Task) else await _with_work(chat, found)


async def task_claim(chat: AsyncClient, channel: str, task: str, *, ttl: float = LEASE_S, steal_expired: bool = False) -> dict[str, Any]:
    """Take a named task, or renew it."""
    return await _with_work(chat, await chat.task_claim(channel, task, ttl=ttl, steal_expired=steal_expired))


async def _with_work(chat: AsyncClient, lease: Lease) -> dict[str, Any]:
    """A lease, and what there is to do under it: no other tool of the default sets shows one task."""
    try:
        task = await chat.task_show(lease.channel, lease.id)
    except ChatError:  # it is taken all the same
        return dumped(lease)
    return {**dumped(lease), "title": task.title, "acceptance": task.acceptance}


async def task_wait(chat: AsyncClient, channel: str, task: str, *, call: Request, status: str = "done", timeout: float = WAIT_S) -> Task | dict[str, Any]:  # noqa: ASYNC109 - the verb's own
    """Wait for a task; that it took too long is no refusal."""
    seconds = min(max(0.0, timeout), call.place.longest)
    try:
        return await chat.task_wait(channel, task, status=status, timeout=seconds)
    except TimedOut:
        return {"channel": channel, "id": task, "timed_out": True, "next": f"not {status} within {seconds:g} s: call task_wait again"}
