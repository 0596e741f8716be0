"""A board from elsewhere: tasks, claims, path locks and cursors, a batch a call; and what an export must know of a board beyond its records."""

from __future__ import annotations

from .call import Call, Caller, Once, keyed, pairs, plain, run, several
from .tasks import listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from ..keys import Keys

_NUMBER = 5  # a task's number among its words


def tasks(who: Caller, channel: str, rows: Sequence[Sequence[Any]], *, base: str, total: int, once: Once) -> Call:
    """Put tasks (:func:`task_row`) on the board as they were (task_import.lua). Gives ``base stored there``: ids that were there stay as they are.

    ``base``: where the import's numbers begin, "" for the first batch of ``total``.
    """
    keys = who.keys
    return run(
        "task_import",
        {
            "world": keys.meta, **keyed(keys, channel, "heads", "agents", "meta", "tasks", "texts", "links", "ready", "leases", "leased", "audits"),
            "idem": keys.idem("task_import", who.me, once.key, channel), "live": keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds, "base": base, "total": total},
        lambda words: {"base": str(words[1]), "stored": int(words[2]), "there": several(words[3])},
        (), [word for row in rows for word in row],
    )  # fmt: skip


def task_row(one: dict[str, Any], number: int) -> list[Any]:
    """A task as task_import.lua takes it, ``number`` counted from the import's base; names are legal, times ms, "-" is none."""
    words = (
        one["id"], one["status"], one["owner"] or "-", one["created_by"], one["priority"], number, one["attempt"], int(one["fenced"]), one["expires"],
        one["claimed"], one["created"], one["updated"], ",".join(other.lower() for other in one["depends_on"]) or "-", one["before"] or "-",
        one["before_expires"], one["finisher"] or "-",
    )  # fmt: skip
    return [*words, one["title"], listing(one["files_hint"]), listing(one["acceptance"]), one["branch"] or "", one["reason"] or "", one.get("result") or ""]


def claims(who: Caller, channel: str, rows: Iterable[dict[str, Any]], *, once: Once) -> Call:
    """Claims ``name owner claimed expires note`` as they were (claim_import.lua). Gives ``stored there``."""
    keys = who.keys
    return run(
        "claim_import",
        {
            "world": keys.meta, **keyed(keys, channel, "heads", "agents", "claims", "audits"),
            "idem": keys.idem("claim_import", who.me, once.key, channel), "live": keys.live(channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep": once.seconds},
        lambda words: {"stored": int(words[1]), "there": several(words[2])},
        (), [one[word] for one in rows for word in ("name", "owner", "claimed", "expires", "note")],
    )  # fmt: skip


def locks(who: Caller, channel: str, rows: Iterable[dict[str, Any]], *, once: Once) -> Call:
    """Path locks as they were (path_import.lua): ``id owner mode expires locked updated before before_expires reason why repo key paths`` (stored). Gives ``stored there``."""
    keys = who.keys
    book = {
        "held": keys.held, "order": keys.held_order, "owners": keys.held_owners, "locks": keys.locks, "line": keys.line, "requests": keys.requests,
        "asked": keys.asked, "asked_order": keys.asked_order, "repos": keys.repos,
    }  # fmt: skip
    words = ("id", "owner", "mode", "expires", "locked", "updated", "before", "before_expires", "reason", "why", "repo", "key")
    return run(
        "path_import",
        {
            "agents": keys.agents, "heads": keys.heads, "audits": keys.channel(channel, "audits"), "live": keys.live(channel), "meta": keys.meta, **book,
            "idem": keys.idem("path_import", who.me, once.key, channel),
        },
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent, "keep_s": once.seconds},
        lambda found: {"stored": int(found[1]), "there": several(found[2])},
        (), [part for one in rows for part in (*(one[word] for word in words), "\n".join(one["paths"]))],
    )  # fmt: skip


def cursors(who: Caller, channel: str, marks: dict[str, int]) -> Call:
    """Agent -> up to where it had read (cursor_import.lua). Gives ``set`` and ``stay``, the agents whose mark is lower and was not raised."""
    keys = who.keys
    return run(
        "cursor_import",
        keyed(keys, channel, "heads", "agents", "meta", "members"),
        {"channel": channel, "me": who.me, "token": who.token, "agent": who.agent},
        lambda words: {"set": several(words[1]), "stay": several(words[2])},
        [key for agent in marks for key in (keys.marks(agent.lower()), keys.bell(agent.lower()))],
        [word for pair in marks.items() for word in pair],
    )


def numbers(keys: Keys, channel: str) -> Call:
    """Task as compared -> its number on the board: the older, the lower."""

    def read(flat: Any) -> dict[str, int]:
        words = {task: text.split(" ") for task, text in pairs(flat).items()}
        return {task: int(found[_NUMBER]) for task, found in words.items() if len(found) > _NUMBER and found[_NUMBER].isdecimal()}

    return plain("HGETALL", keys.channel(channel, "tasks"), read=read)


def mark(keys: Keys, agent: str, channel: str) -> Call:
    """Up to where an agent has read a channel; 0 where it has no mark."""
    return plain("HGET", keys.marks(agent), channel, read=lambda text: int(text.split(" ")[1]) if text else 0)
