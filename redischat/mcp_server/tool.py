"""One tool: what it is called, what it takes and gives, and checking what a model gave it. Its schema is read from the signature of the verb itself."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from .. import names
from ..errors import Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    Run = Callable[..., Awaitable[Any]]

TEXTS = {"type": "array", "items": {"type": "string"}}
KINDS: dict[str, dict[str, Any]] = {
    "str": {"type": "string"}, "int": {"type": "integer"}, "float": {"type": "number"}, "bool": {"type": "boolean"}, "str | Sequence[str]": TEXTS,
    "Sequence[str]": TEXTS,
}  # fmt: skip
SAID = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list of texts"}
HIDDEN = frozenset({"self", "chat", "call", "idem", "receipt", "session"})  # the server's own business: each call draws an idempotency key
SKIP = "skip"  # of tools that give a list: so many of it were seen already


class Tool:
    """One row of the table of tools.

    ``run``: the verb of a client (``AsyncClient.task_claim``), or a function of this room that is called with the client and, where it asks for a ``call``, with
    the Call. ``gives``: the model (or the names of the fields) of its answer; ``rows``: which field is the list that a long answer gives in pieces. ``looks``: it changes nothing; ``destroys``: what it takes away does not come back.
    """

    __slots__ = ("about", "destroys", "gives", "hides", "looks", "name", "needs", "own", "rows", "run", "takes")

    def __init__(
        self, name: str, run: Run, about: str, gives: Any, *, rows: str = "", looks: bool = False, destroys: bool = False, hides: tuple[str, ...] = ()
    ) -> None:
        self.name, self.run, self.about, self.gives, self.rows, self.hides = name, run, about, gives, rows, HIDDEN | set(hides)
        self.looks, self.destroys = looks, destroys
        told = inspect.signature(run).parameters
        self.own = "call" in told
        mine = [one for one in told.values() if one.name not in self.hides]
        self.takes = {one.name: TEXTS if one.kind is one.VAR_POSITIONAL else KINDS[str(one.annotation).removesuffix(" | None")] for one in mine}
        self.needs = [one.name for one in mine if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
        if rows:
            self.takes[SKIP] = KINDS["int"]

    @property
    def schema(self) -> dict[str, Any]:
        """What it takes, as JSON schema."""
        needs = {"required": self.needs} if self.needs else {}
        return {"type": "object", "properties": self.takes, **needs}

    @property
    def output(self) -> dict[str, Any]:
        """What it gives, as JSON schema: its fields, as an outline: the fields that are always there. Others are left out of an answer where they say nothing."""
        if isinstance(self.gives, tuple):
            return {"type": "object", "properties": {one: {"type": "array"} if one == self.rows else {} for one in self.gives}}
        fields = self.gives.model_json_schema(mode="serialization", by_alias=True)["properties"]
        return {"type": "object", "properties": {name: _outline(one) for name, one in fields.items() if "anyOf" not in one and "default" not in one}}

    def checked(self, given: dict[str, Any]) -> dict[str, Any]:
        """What a model gave, as the verb takes it. A null is as good as nothing.

        Raises:
            Usage: it gave what the tool does not take, or not what it needs.
        """
        there = {name: value for name, value in given.items() if value is not None}
        strange = sorted(set(there) - set(self.takes))
        if strange:
            raise Usage(message=f"{self.name} has no argument {strange[0]!r}. It takes: {', '.join(self.takes) or 'nothing'}")
        for name in self.needs:
            if name not in there:
                raise Usage(message=f"{self.name} needs {name!r}. It takes: {', '.join(self.takes)}")
        return {name: self._as(name, value) for name, value in there.items()}

    def _as(self, name: str, value: Any) -> Any:
        kind = str(self.takes[name]["type"])
        fits = {
            "string": isinstance(value, str), "boolean": isinstance(value, bool), "number": isinstance(value, (int, float)) and not isinstance(value, bool),
            "integer": isinstance(value, int) and not isinstance(value, bool),
            "array": isinstance(value, list) and all(isinstance(one, str) for one in value),
        }  # fmt: skip
        if kind == "array" and isinstance(value, str):
            return [value]
        if kind == "integer" and fits[kind]:
            names.whole(**{name: value})
        if not fits[kind]:
            raise Usage(message=f"{self.name}: {name!r} is {SAID[kind]}, not {type(value).__name__}")
        return value

    async def __call__(self, chat: Any, arguments: dict[str, Any], call: Any) -> Any:
        """Run the verb with checked arguments: text stays text, whatever it looks like."""
        places: list[Any] = []
        named = dict(arguments)
        for one in inspect.signature(self.run).parameters.values():
            if one.kind is one.VAR_POSITIONAL:
                places += named.pop(one.name, [])
            elif one.kind is one.POSITIONAL_OR_KEYWORD and one.name in named:
                places.append(named.pop(one.name))
            elif one.kind is one.POSITIONAL_OR_KEYWORD and one.name == "channel" and one.default is None:
                places.append(None)
        return await (self.run(chat, *places, call=call, **named) if self.own else self.run(chat, *places, **named))


def _outline(field: dict[str, Any]) -> dict[str, Any]:
    """Whether a field is a list; more would cost every session that loads the tools, and the record says it itself."""
    return {"type": "array"} if field.get("type") == "array" else {}
