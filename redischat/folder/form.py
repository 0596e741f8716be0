"""A message as the text of its file, and back; names and times on the way. Pure: what is on the disk is disk.py's business."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from ..errors import BadName, BadText, TooLarge
from ..keys import LAST_NUMBER
from ..names import BRIEFING_CHARS, LINE_CHARS, line, name, same
from .records import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

WHOLE_BYTES = 4_000  # scripts/parts/entry.lua WHOLE
META, AUDITS, EVENTS = "_meta.json", "_audit.jsonl", "_events.jsonl"
KINDS = ("message", "notice", "audit")
DISCUSSION = "discussion"  # agent-chat's status where none is given
AUDITED = ("task.", "lease.", "path.", "event.", "state.")

_SLUG_CHARS = 40
_TITLE_CHARS = 72
_NAME_CHARS, _BASE_CHARS, _DIGESTS = 64, 23, (4, 8, 40)  # a base and the longest digest together are a legal name
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|\Z)")
_INERT = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NEVER = datetime.fromtimestamp(0, UTC)
_KEPT = ("from", "to", "title", "status", "thread")


def slug(text: str) -> str:
    """``text`` as agent-chat writes it into a file name: nothing but ``a-z``, ``0-9`` and ``-``, 1-40 characters."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG_CHARS].rstrip("-") or "msg"


def number(file: str) -> int | None:
    """The number of a message file, by agent-chat's own rule; None for any other file."""
    head, dash, _ = file.partition("-")
    return int(head) if dash and head.isdecimal() and file.endswith(".md") else None


def is_number(seq: int) -> bool:
    """May a message have this number?"""
    return 1 <= seq <= LAST_NUMBER


def written(record: dict[str, Any]) -> tuple[str, str]:
    """A message's record (:func:`redischat.calls.messages.message`) as ``(file name, text)``; :func:`record_of` gives it back."""
    title = record["title"] or _first_line(record["body"])
    heads = _heads(record, title)
    body = record["body"].rstrip()
    back = record_of(_joined(heads, body))
    exact = {field: record[field] for field in _KEPT if back[field] != record[field]}
    if body != record["body"]:
        exact["ending"] = record["body"][len(body) :]
    if exact:
        # ASCII: a terminal that shows it runs no escape. agent-chat looks for the body behind the second ---, wherever that stands.
        heads["exact"] = json.dumps(exact).replace("---", "\\u002d" * 3)
    return f"{record['seq']:04d}-{slug(record['from'])}-{slug(title)}.md", _joined(heads, body)


def _heads(record: dict[str, Any], title: str) -> dict[str, str]:
    to, wakes, status = record["to"], record["wakes"], record["status"]
    utc = record["ts"] or "1970-01-01T00:00:00.000Z"
    if record["kind"] == "notice":
        status = f"notice.{status}" if status else "notice"
    found = {
        "seq": record["seq"], "from": record["from"], "to": ",".join(to) if isinstance(to, list) else "all", "reply_to": record["reply_to"],
        "channel": record["channel"], "ts": utc[:19] + "+00:00", "status": status or DISCUSSION, "title": title, "ts_utc": utc,
        "kind": record["kind"] if record["kind"] in KINDS else "message", "wakes": wakes if isinstance(wakes, str) else "named", "thread": record["thread"],
    }  # fmt: skip
    return {key: _INERT.sub(" ", str(value)) for key, value in found.items() if value is not None}


def _joined(heads: dict[str, str], body: str) -> str:
    return "\n".join(["---", *(f"{key}: {value}" for key, value in heads.items()), "---", body, ""])


def _first_line(body: str) -> str:
    """The first line with a letter or digit in it; failing that, the first that is not blank."""
    rows = [row.strip() for row in body.splitlines() if row.strip()]
    first = next((row for row in rows if any(map(str.isalnum, row))), rows[0] if rows else "")
    return first if len(first) <= _TITLE_CHARS else first[: _TITLE_CHARS - 1] + "…"


def record_of(text: str) -> dict[str, Any]:
    """A message file's text as a record, whether redischat or agent-chat wrote it.

    ``mine`` and ``for_me`` are False: a file knows no reader. agent-chat's own audits (status ``task.created`` and the like, a JSON body that names the same
    event) become records of kind ``audit``, which wake nobody.

    Raises:
        BadText: it is no message; ``message`` says why.
    """
    heads, body = _parted(text)
    exact = _exact(heads)
    body = body.rstrip() + exact.pop("ending", "")
    to = _names(heads.get("to", ""))
    status = heads.get("status") or None
    kind = heads.get("kind") or ("audit" if _is_audit(status or "", body) else "message")
    if kind not in KINDS:
        raise BadText(message=f"its kind {kind!r} is none of {', '.join(KINDS)}")
    if kind == "notice" and status:
        status = status.removeprefix("notice").removeprefix(".") or None
    found = {
        "channel": heads.get("channel", ""), "seq": _counted(heads.get("seq", "")), "kind": kind, "from": heads.get("from", ""), "to": to, "wakes": "",
        "title": heads.get("title") or None, "status": status, "reply_to": _reply(heads.get("reply_to", "")), "thread": heads.get("thread") or None,
        "ts": _utc(heads), "body": body, "mine": False, "for_me": False, "repeat": False, "cut": None, "after": None, "n": None, "facts": None,
        "hooks": "pointed" if len(body.encode("utf-8", "replace")) > WHOLE_BYTES else "whole", **exact,
    }  # fmt: skip
    found["wakes"] = _audience(found, heads.get("wakes"))
    return found


def _parted(text: str) -> tuple[dict[str, str], str]:
    """Front matter and body as agent-chat parts them: lines end in LF, CRLF or CR; of a key given twice the last counts."""
    first = _LINE.match(text)
    if first is None or not text.startswith("---"):
        raise BadText(message="it has no front matter")
    heads, at = dict[str, str](), first.end()
    while at < len(text) and (row := _LINE.match(text, at)):
        at = row.end()
        if row[1].strip() == "---":
            body = text[at:]
            return heads, body.replace("\r\n", "\n") if first[2] == "\r\n" else body  # CRLF in front: written in Windows' text mode, or by git for it
        key, colon, value = row[1].partition(":")
        if colon:
            heads[key.strip()] = value.strip()
    raise BadText(message="its front matter has no end")


def _exact(heads: dict[str, str]) -> dict[str, Any]:
    """What the key ``exact`` holds, if each of it can be true of a message."""
    if "exact" not in heads:
        return {}
    found = loads(heads["exact"])
    if found is None or not all(_may_be(field, value) for field, value in found.items()):
        raise BadText(message="its front matter holds an 'exact' that redischat did not write")
    return found


def _may_be(field: str, value: Any) -> bool:
    if field == "ending":
        return isinstance(value, str) and not value.strip()
    if field == "to":
        return value in (None, "all", "none") or (isinstance(value, list) and bool(value) and all(isinstance(one, str) for one in value))
    return field in _KEPT and (isinstance(value, str) or (value is None and field != "from"))


def _names(text: str) -> list[str] | None:
    """Whom agent-chat takes a ``to`` for; None is everyone."""
    if text in ("", "all", "[]", "*"):
        return None
    return [one.strip() for one in text.strip("[]").split(",") if one.strip()] or None


def _audience(found: dict[str, Any], given: str | None) -> Any:
    if given in ("all", "none"):
        return given
    if given is None and found["kind"] == "audit":
        return "none"
    return found["to"] if isinstance(found["to"], list) else "none" if given else "all"


def _is_audit(status: str, body: str) -> bool:
    if not status.startswith(AUDITED):
        return False
    found = loads(body) or {}
    return found.get("event") in (status, status.removeprefix("event."))


def _counted(text: str) -> int:
    if not text.isdecimal() or len(text) > len(str(LAST_NUMBER)) or not is_number(int(text)):
        raise BadText(message=f"its seq {text[:20]!r} is no number from 1 to {LAST_NUMBER}")
    return int(text)


def _reply(text: str) -> int | None:
    """agent-chat checks no ``reply_to``: what is no number points at nothing."""
    try:
        return _counted(text)
    except BadText:
        return None


def _utc(heads: dict[str, str]) -> str | None:
    given = heads.get("ts_utc") or heads.get("ts") or ""
    try:
        at = datetime.fromisoformat(given)
        if at.tzinfo is None or at < _NEVER:
            raise ValueError(given)
        return _iso(at)
    except (ValueError, OverflowError):
        raise BadText(message=f"its ts {given[:40]!r} is no ISO 8601 time with an offset, from 1970 on") from None


def _iso(at: datetime) -> str | None:
    return None if at == _NEVER else at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def meta(facts: dict[str, Any], members: list[str]) -> str:
    """``_meta.json`` of a channel (:func:`redischat.calls.channels.facts`): agent-chat's four keys, then what it has no word for."""
    created = datetime.fromtimestamp(int(facts["created_at"]) // 1000, UTC).isoformat()
    found = {"channel": facts["name"], "members": members, "topic": facts["topic"], "created": created}
    return json.dumps({**found, "broadcast": facts["mode"] == "broadcast", "briefing": facts["briefing"]}, indent=2) + "\n"


def meta_of(text: bytes) -> dict[str, Any]:
    """What ``_meta.json`` says: ``topic broadcast briefing``, as a channel may be opened with.

    Raises:
        BadText: it is no JSON object.
    """
    found = loads(text)
    if found is None:
        raise BadText(message="it is no JSON object")
    topic, rules = (str(found.get(field) or "") for field in ("topic", "briefing"))
    return {"topic": one_line(topic) or "", "broadcast": found.get("broadcast") is True, "briefing": rules[:BRIEFING_CHARS]}


def one_line(text: str | None) -> str | None:
    """A title, status, thread or topic, made one that redischat takes: without line breaks, 500 characters at most."""
    try:
        return line("title", text) if text else None
    except (BadText, TooLarge):
        whole = _INERT.sub(" ", text or "")
        return whole if len(whole) <= LINE_CHARS else whole[: LINE_CHARS - 1] + "…"


def renamed(found: Iterable[str], kind: str) -> dict[str, str]:
    """Names that break the rule for names -> the legal ones that they get, none of which anybody else has."""
    order = list(dict.fromkeys(found))
    odd = [text for text in order if not _legal(text)]
    taken = {same(text) for text in order} - {same(text) for text in odd}
    made = {}
    for text in odd:
        made[text] = _free(text, kind, taken)
        taken.add(same(made[text]))
    return made


def _legal(text: str) -> bool:
    try:
        name("agent", text)
    except BadName:
        return False
    return True


def _free(text: str, kind: str, taken: set[str]) -> str:
    """As much of the name as may stay; part of its digest where that is nothing or somebody else's, so that the same name becomes the same again."""
    from hashlib import sha1
    from unicodedata import normalize

    plain = normalize("NFKD", text).encode("ascii", "ignore").decode()
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", plain).strip("._-")
    digest = sha1(text.encode(), usedforsecurity=False).hexdigest()
    wanted = [base[:_NAME_CHARS].rstrip("."), *(f"{base[:_BASE_CHARS] or kind}-{digest[:size]}" for size in _DIGESTS)]
    return next(one for one in wanted if _legal(one) and same(one) not in taken)
