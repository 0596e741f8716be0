"""Answers as a client gets them: a record with its text, short enough for every client, and refusals that cannot be taken for success."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

from mcp_types import CallToolResult, TextContent

from ..errors.broker import NotDurable
from ..text import inert

if TYPE_CHECKING:
    from typing import Any

    from ..errors import ChatError
    from .delivery import Held
    from .tool import Tool

MOST = 20_000  # characters of an answer, text and record together: clients throw away what is over some 25,000 tokens
HALF = MOST // 2 - 500  # of the record, where the text is the same again; the rest is the envelope
CUT = " ... [cut]"
HERE = {"NO_IDENTITY": "call identify with the name you want", "TWO_IDENTITIES": "call identify with your own name"}  # where a shell would say --as
LEFT = "left_out"


class Answer:
    """An answer that wrote its own text: ``record``, ``text``, and the messages it holds, which are read once it has left."""

    __slots__ = ("held", "record", "text")

    def __init__(self, record: dict[str, Any], text: str, held: Held | None = None) -> None:
        self.record, self.text, self.held = record, text, held


def record_of(tool: Tool, found: Any, skip: int) -> dict[str, Any]:
    """What a verb gave, as one record: fields that say nothing are left out, lists are lists."""
    if isinstance(found, list):
        found = {tool.rows: [one if isinstance(one, (str, dict)) else dumped(one) for one in found]}
    elif isinstance(found, str):
        found = {tool.gives[0]: found}
    record: dict[str, Any] = found if isinstance(found, dict) else dumped(found)
    rows = record.get(tool.rows)
    if isinstance(rows, list) and skip:
        record = {**record, tool.rows: rows[skip:]}
    return fitted(record, tool, skip)


def dumped(model: Any) -> dict[str, Any]:
    """A model as its JSON record, without what says nothing."""
    made: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return made


def fitted(record: dict[str, Any], tool: Tool, skip: int) -> dict[str, Any]:
    """A record that is short enough: of its longest list or text the end is left out, and how to get it said."""
    record = clean(record)
    left: dict[str, int] = {}
    while (over := len(_json({**record, LEFT: left})) + 200 - HALF) > 0:
        name, longest = max(record.items(), key=lambda one: len(_json(one[1])))
        if isinstance(longest, list) and longest:
            keep = _fitting(longest, len(_json(longest)) - over)
            left[name] = left.get(name, 0) + len(longest) - keep
            record = {**record, name: longest[:keep]}
        elif isinstance(longest, str) and len(longest) > len(CUT):
            record = {**record, name: longest[: max(0, len(longest) - over - len(CUT))] + CUT}
        else:
            record = {name: dumps(longest)[: HALF // 2] + CUT}
    if not left:
        return record
    more = {"more": f"{left[tool.rows]} more: call {tool.name} with {'skip'}={skip + len(record[tool.rows])}"} if tool.rows in left else {}
    return {**record, LEFT: left, **more}


def _fitting(rows: list[Any], room: int) -> int:
    """How many of these rows have room."""
    used = 2
    for at, one in enumerate(rows):
        used += len(_json(one)) + 2
        if used > room:
            return at
    return max(0, len(rows) - 1)


def answered(record: dict[str, Any], text: str | None = None) -> CallToolResult:
    """A success."""
    record = clean(record)
    shown = clean(text) if text is not None else _json(record)
    return CallToolResult(content=[TextContent(type="text", text=shown)], structured_content=record)


def refused(error: ChatError) -> CallToolResult:
    """A refusal: marked as an error, with its stable code and a sentence that says what to do."""
    told = clean(_stored(error) if isinstance(error, NotDurable) and error.facts.get("done") else error.record())
    facts = {name: value for name, value in told.items() if len(_json(value)) <= HALF // 4}
    message = str(told["message"])[: HALF // 2]
    facts |= {"next": HERE[error.code]} if error.code in HERE else {}
    message += f". Here: {HERE[error.code]}" if error.code in HERE else ""
    return CallToolResult(
        content=[TextContent(type="text", text=f"{error.code}: {inert(message)}")],
        structured_content={**facts, "error": error.code, "message": message},
        is_error=True,
    )


def _stored(error: NotDurable) -> dict[str, Any]:
    """The refusal that is none: it is done. No tool takes a key, so calling it again would do it once more."""
    if error.facts.get("task"):
        again = "task_claim with this task asks for copies again, task_release gives it back"
    elif error.holds:
        again = "lock with the same paths asks for copies again, unlock gives them back"
    else:
        again = "that would do it twice"
    text = f"{error.stands()}. It IS done: do not call this tool again for it; {again}"
    return {**{name: value for name, value in error.record().items() if name != "idem"}, "message": text}


def clean(value: Any) -> Any:
    """A value without halves of characters, which no JSON may hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {clean(str(name)): clean(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(one) for one in value]
    return value if isinstance(value, (int, float, bool)) or value is None else str(value)


def _json(value: Any) -> str:
    return dumps(value, ensure_ascii=False, default=str)


def size(record: Any, text: str) -> int:
    """How many characters of an answer this is."""
    return len(_json(record)) + len(dumps(text, ensure_ascii=False))
