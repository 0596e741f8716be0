"""Where things stand in a channel, drawn from what was said, the tasks and the locks; and that as markdown. Pure: the same input gives the same bytes.

A message counts as a decision, a blocker or a piece of verification when

* its status is that word (``decision``; ``blocker blocked``; ``verification evidence verified verified-by``), or
* its title begins with the word and a colon, or with the word in brackets (``Decision: JSON``, ``[decision] JSON``), or
* the first line of its text is a heading that begins with the word (``# Decision``), or begins with the word and a colon.

Case does not matter. A heading further down is part of the text: whoever quotes a decision has not made one. Notices and summaries never count. Tasks that
are marked blocked, or wait for what will not be done, are blockers; tasks that are done are verification, credited to whoever finished them.

Everything is sorted: messages by number, tasks as on the board (priority, then age), owners by name, locks by path. ``generated_at`` is the time of the newest
thing that was considered; summaries are not, or each would make the next one differ.
"""

from __future__ import annotations

from ..calls.call import iso
from ..calls.tasks import OVER
from ..text import when

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

SUMMARY = "summary"  # the status of a message that sums up
TEXT_CHARS = 200  # of a message, here; the whole of it is one command away
STATUSES = {
    "decision": "decisions", "blocker": "blockers", "blocked": "blockers", "verification": "verification", "evidence": "verification",
    "verified": "verification", "verified-by": "verification",
}  # fmt: skip
WORDS = ("decision", "blocker", "verification", "evidence")
TASK_KEYS = (
    "id", "title", "status", "owner", "lease_expires_at", "depends_on", "waits_for", "files_hint", "acceptance", "branch", "priority", "ready", "stuck", "reason",
)  # fmt: skip
LOCK_KEYS = ("lock_id", "owner", "repository", "paths", "mode", "reason", "locked_at", "expires_at", "updated_at")
_NONE = "- none"
_JOINERS = "\u200d\u200c"  # of emoji and scripts: printable in all but name


def state(
    facts: dict[str, Any],
    members: dict[str, dict[str, Any]],
    messages: Sequence[dict[str, Any]],
    tasks: Sequence[dict[str, Any]],
    locks: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The record that ``state --json`` gives; ``last_seq`` is the last message that it covers."""
    counted = [one for one in messages if one["status"] != SUMMARY]
    said: dict[str, list[dict[str, Any]]] = {"decisions": [], "blockers": [], "verification": []}
    for one in counted:
        found = marked(one) if one["kind"] == "message" else None
        if found:
            said[found[0]].append(found[1])
    here = sorted((one["agent"] for one in members.values() if one["here"]), key=str.lower)
    times = [iso(facts["created_at"]), *(one["ts"] for one in counted), *(one["updated_at"] for one in tasks), *(one["updated_at"] for one in locks)]
    shown = [{key: one[key] for key in TASK_KEYS} for one in tasks if one["status"] not in OVER]
    return {
        "channel": facts["name"], "topic": facts["topic"] or None, "members": here, "created_at": iso(facts["created_at"]),
        "last_seq": max((one["seq"] for one in counted), default=0), "generated_at": max(filter(None, times), default=None),
        "decisions": [{"seq": one["seq"], **_without(one, "kind", "source", "seq")} for one in said["decisions"]],
        "open_tasks": shown, "blockers": [*_stopped(tasks), *(_without(one, "seq") for one in said["blockers"])],
        "owners": _owners(shown, locks), "path_locks": [{key: one[key] for key in LOCK_KEYS} for one in locks],
        "verification": sorted([*_finished(tasks), *({**_without(one, "seq"), "acceptance": []} for one in said["verification"])], key=_by_time),
    }  # fmt: skip


def _without(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}


def _by_time(one: dict[str, Any]) -> tuple[str, str, str]:
    return one["ts"] or "", one["kind"], one["source"]


def marked(message: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """What a message counts as, and its record; None for most."""
    title, (first, rest) = (message["title"] or "").strip(), _parted(message["body"])
    by_status = STATUSES.get((message["status"] or "").lower())
    by_title, by_line = _said(title), _said(first, heading=True)
    section = by_status or (STATUSES[by_title[0]] if by_title else STATUSES[by_line[0]] if by_line else None)
    if section is None:
        return None
    if by_title or title:
        name, text = by_title[1] if by_title and by_title[1] else title, message["body"]
    elif by_line and not by_line[1]:  # a bare heading: what is below it says what was decided
        name, text = _parted(rest)
    else:
        name, text = by_line[1] if by_line else first, rest
    found = {
        "kind": "message", "source": f"#{message['seq']}", "seq": message["seq"], "from": message["from"], "ts": message["ts"], "title": cut(name),
        "text": cut(text),
    }  # fmt: skip
    return section, found


def _parted(body: str) -> tuple[str, str]:
    """A text's first line that is not blank, and what follows it."""
    first, _, rest = body.lstrip().partition("\n")
    return first.strip(), rest


def _said(line: str, *, heading: bool = False) -> tuple[str, str] | None:
    """``(word, what it says)`` of a line that begins with one of the words as it must."""
    low = line.lower()
    for word in WORDS:
        for sign in (f"{word}:", f"[{word}]"):
            if low.startswith(sign):
                return word, line[len(sign) :].strip()
        bare = line.lstrip("#").strip()
        if heading and line.startswith("#") and bare.lower().startswith(word) and not bare[len(word) : len(word) + 1].isalnum():
            return word, bare[len(word) :].strip(" :#-")
    return None


def _stopped(tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Tasks that cannot go on, and why."""
    found = []
    for one in tasks:
        if one["status"] in OVER or not (one["status"] == "blocked" or one["stuck"]):
            continue
        waits = ", ".join(f"{other['id']} ({other['status']})" for other in one["waits_for"])
        why = one["reason"] if one["status"] == "blocked" and one["reason"] else f"waits for {waits}" if waits else "no reason given"
        kind = "blocked" if one["status"] == "blocked" else "stuck"
        found.append(
            {
                "kind": kind,
                "source": one["id"],
                "from": one["owner"] or one["created_by"],
                "ts": one["updated_at"],
                "title": cut(one["title"]),
                "text": cut(why),
            }
        )
    return found


def _finished(tasks: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "kind": "task", "source": one["id"], "from": one["finished_by"] or one["owner"] or one["created_by"], "ts": one["updated_at"],
            "title": cut(one["title"]), "text": "done", "acceptance": one["acceptance"],
        }
        for one in tasks if one["status"] == "done"
    ]  # fmt: skip


def _owners(tasks: Iterable[dict[str, Any]], locks: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Who has what: ids of open tasks, ids of path locks."""
    found: dict[str, dict[str, Any]] = {}
    for part, key, rows in (("tasks", "id", tasks), ("path_locks", "lock_id", locks)):
        for one in rows:
            if one["owner"]:
                found.setdefault(one["owner"].lower(), {"name": one["owner"], "tasks": [], "path_locks": []})[part].append(one[key])
    return {found[name]["name"]: _without(found[name], "name") for name in sorted(found)}


def cut(text: str) -> str:
    """One line of at most 200 characters."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_CHARS else line[: TEXT_CHARS - 1].rstrip() + "\N{HORIZONTAL ELLIPSIS}"


def inert(text: str) -> str:
    """A text that can be nothing but text in a line of markdown: no line of its own, no control, no tag, no picture that is fetched."""
    line = "".join(char if char.isprintable() or char in _JOINERS else ascii(char)[1:-1] for char in " ".join(text.split()))
    parts = line.replace("![", "!\\[").split("<")
    return parts[0] + "".join(("\\<" if part[:1].isalpha() or part[:1] in ("/", "!", "?") else "<") + part for part in parts[1:])


def markdown(found: dict[str, Any]) -> str:
    """A state as markdown: seven sections, always the same ones; what others wrote stands in lines that the tool begins."""
    topic, covered = found["topic"], f"messages up to #{found['last_seq']}" if found["last_seq"] else "no messages"
    about = [
        f"- topic: {inert(topic) if topic else 'none'}", f"- members: {', '.join(found['members']) or 'none'}", f"- opened: {when(found['created_at'])}",
        f"- covers: {covered}, as of {when(found['generated_at'])}",
    ]  # fmt: skip
    sections = {
        "Topic and members": about,
        "Decisions": [f"- #{one['seq']} {_item(one)}" for one in found["decisions"]],
        "Open tasks": [_task(one) for one in found["open_tasks"]],
        "Blockers": [f"- {one['source']} {_item(one)}" for one in found["blockers"]],
        "Owners": [f"- {name}: {_holds(one)}" for name, one in found["owners"].items()],
        "Path locks": [_lock(one) for one in found["path_locks"]],
        "Verification": [f"- {one['source']} {_item(one)}{_list('; criterion: ', one['acceptance'])}" for one in found["verification"]],
    }
    if found.get("damaged"):
        sections["Damaged"] = ["- written past redischat, left out here: " + ", ".join(map(inert, found["damaged"]))]
    parts = [f"# State of #{found['channel']}", *(f"## {name}\n\n" + "\n".join(rows or [_NONE]) for name, rows in sections.items())]
    return "\n\n".join(parts) + "\n"


def _item(one: dict[str, Any]) -> str:
    text = inert(one["text"])
    return f"{one['from']}, {when(one['ts'])}: {inert(one['title'])}" + (f" | {text}" if text else "")


def _task(one: dict[str, Any]) -> str:
    owner = f", {one['owner']}" if one["owner"] else ""
    lease = f" until {when(one['lease_expires_at'])}" if one["lease_expires_at"] else ""
    waits = [f"{other['id']} ({other['status']})" for other in one["waits_for"]]
    more = _list("; waits for ", waits) + _list("; files: ", one["files_hint"]) + _list("; criterion: ", one["acceptance"])
    return f"- {one['id']} ({one['status'].replace('_', ' ')}{owner}{lease}, priority {one['priority']}): {inert(cut(one['title']))}{more}"


def _holds(one: dict[str, Any]) -> str:
    return "; ".join(part for part in (_list("tasks ", one["tasks"]), _list("path locks ", one["path_locks"])) if part)


def _lock(one: dict[str, Any]) -> str:
    reason = f" | {inert(cut(one['reason']))}" if one["reason"] else ""
    shared = ", shared" if one["mode"] == "shared" else ""
    return f"- {one['lock_id']} {one['owner']}{shared}, until {when(one['expires_at'])}: {', '.join(map(inert, one['paths']))}{reason}"


def _list(before: str, items: Sequence[str]) -> str:
    return before + ", ".join(inert(cut(item)) for item in items) if items else ""


def fitted(text: str, most: int, channel: str) -> str:
    """A state as markdown, cut to ``most`` bytes at the end of a line, saying so."""
    if len(text.encode()) <= most:
        return text
    note = f"\n[cut: the rest did not fit into one message; the whole: redischat state {channel}]\n"
    head = text.encode()[: most - len(note.encode())].decode("utf-8", "ignore")
    return head[: head.rfind("\n") + 1] + note
