"""Whether a bridge would work: the token, reading Slack, posting there, reading here. Sends nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ..aio.client import AsyncClient
from ..errors import ChatError, CouldNotLook, NoChannel, NotMember
from ..text import inert
from .slack import Slack, Trouble

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..settings import Settings
    from .run import Wanted

    Row = dict[str, Any]

POSTS = "chat:write"
NOT_KNOWN = "not known"


def looked(settings: Settings, wanted: Wanted) -> list[Row]:
    """``[{check state detail remedy}]``; ``state``: ok, wrong, or not known."""
    return asyncio.run(_looked(settings, wanted))


async def _looked(settings: Settings, wanted: Wanted) -> list[Row]:
    slack = Slack(wanted.token, wanted.channel, wanted.api)
    return [await _token(slack), await _reads(slack), _posts(slack), await _here(settings, wanted.room)]


async def _token(slack: Slack) -> Row:
    try:
        await slack.greet()
    except Trouble as trouble:
        return _troubled("token", trouble, slack)
    return _row("token", "ok", f"the bot is @{slack.name}")


async def _reads(slack: Slack) -> Row:
    try:
        await slack.newest()
    except Trouble as trouble:
        return _troubled("reading Slack", trouble, slack)
    return _row("reading Slack", "ok", f"{slack.channel} can be read, so the bot is in it")


def _posts(slack: Slack) -> Row:
    if not slack.name:
        return _row("posting to Slack", NOT_KNOWN, "the token was not looked at")
    if slack.scopes is None:
        return _row("posting to Slack", NOT_KNOWN, "Slack did not say what the token may", f"see that it has the scope {POSTS}, under OAuth & Permissions")
    if POSTS in slack.scopes:
        return _row("posting to Slack", "ok", f"the token has {POSTS}")
    return _row("posting to Slack", "wrong", f"the token lacks {POSTS}", Trouble("missing_scope", needed=POSTS).remedy())


async def _here(settings: Settings, room: str) -> Row:
    what, me = f"reading #{room}", settings.agent
    try:
        async with AsyncClient(settings=settings) as chat:
            await chat.pending(room)
    except (NoChannel, NotMember) as error:
        return _row(what, "wrong", "there is no such channel" if isinstance(error, NoChannel) else f"{me} is not in it", f"redischat join {room} --as {me}")
    except ChatError as error:
        return _row(what, NOT_KNOWN if isinstance(error, CouldNotLook) else "wrong", error.sentence(), "redischat doctor")
    return _row(what, "ok", f"{me} is in it")


def _troubled(what: str, trouble: Trouble, slack: Slack) -> Row:
    cure = trouble.remedy(slack.name)
    return _row(what, "wrong" if cure else NOT_KNOWN, f"Slack: {trouble.error}", cure or "see that this machine reaches Slack, and look again")


def _row(check: str, state: str, detail: str, remedy: str = "") -> Row:
    return {"check": check, "state": state, "detail": detail, "remedy": remedy or None}


def line(row: Row) -> str:
    """A row for people."""
    return f"{row['check']:<18} {row['state']:<10} {inert(row['detail'])}" + (f"  ->  {inert(row['remedy'])}" if row["remedy"] else "") + "\n"


def code(rows: Sequence[Row]) -> int:
    """The exit code: 1 where something is wrong, 5 where something could not be looked at."""
    states = {row["state"] for row in rows}
    return 1 if "wrong" in states else CouldNotLook.exit if NOT_KNOWN in states else 0
