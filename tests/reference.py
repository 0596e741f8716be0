"""Write docs/api.md from the docstrings of the client, its blocks and its models. With --check, only say whether it is fresh."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from making import page

import redischat
from redischat import AsyncClient
from redischat.aio.blocks import AsyncLocked, AsyncWork
from redischat.aio.client import AsyncRoom
from redischat.aio.delivery import AsyncHeld

if TYPE_CHECKING:
    from collections.abc import Iterable

TARGET = Path(__file__).parent.parent / "docs" / "api.md"
ROOMS = {
    "AsyncSeat": "The client", "AsyncAgents": "Agents", "AsyncPresence": "Who is there", "AsyncChannels": "Channels", "AsyncMessages": "Messages",
    "AsyncTranscripts": "Transcripts", "AsyncClaims": "Claims", "AsyncTasks": "Tasks", "AsyncPaths": "Path locks", "AsyncEvents": "Events",
    "AsyncStanding": "Where things stand", "AsyncOrchestration": "Leading agents",
}  # fmt: skip
HELD = {"lock": AsyncLocked, "claim_task": AsyncWork, "listen": AsyncHeld}
HEAD = """# The Python reference

Made from the docstrings by `python tests/reference.py`; edit those, not this. How it is used is told in [python.md](python.md).

Shown is `AsyncClient`. `Client` has the same verbs without `await`: what is a block there is one with `with`, what is gone through with `async for`
is gone through with `for`, and an event is a `threading.Event`. Each verb with `channel` in front is also a verb of `chat.channel(NAME)`, without it.
Errors are named as in `redischat.errors` and its pages; [the manual](cli.md#error-codes) has their codes.
"""


def reference() -> str:
    """The whole page."""
    parts = [HEAD, f"{_text(AsyncClient.__doc__)}\n"]
    kinds = {kind.__name__: kind for kind in AsyncClient.__mro__}
    for kind, title in ROOMS.items():
        parts.append(f"## {title}\n")
        parts += [_verb(name, member) for name, member in vars(kinds[kind]).items() if not name.startswith("_") and inspect.getdoc(member)]
    parts += [f"## Channel\n\n{_text(AsyncClient.channel.__doc__)} {_text(AsyncRoom.__doc__)}\n", "## What comes back\n"]
    models = [getattr(redischat, name) for name in redischat.__all__]
    parts += [_model(one) for one in models if inspect.isclass(one) and hasattr(one, "model_fields")]
    return "\n".join(parts)


def _verb(name: str, member: Any) -> str:
    if isinstance(member, property):
        return f"### {name}\n\n{_text(member.__doc__)}\n"
    parameters = [one for one in inspect.signature(member).parameters.values() if one.name != "self"]
    head = f"{name}({_listed(parameters)})"
    gives = re.sub(r"AsyncStarted\[(\w+)\]", r"\1", str(inspect.signature(member).return_annotation)).replace("Async", "")
    head = f"async with chat.{head} as {name.rpartition('_')[2]}" if name in ("lock", "claim_task") else head
    more = [f"What the block has:\n\n{_held(HELD[name])}\n"] if name in HELD else []
    return "\n".join(
        [f"### {name}\n", f"```python\n{'await ' if inspect.iscoroutinefunction(member) else ''}{head}  # {gives}\n```\n", f"{_text(member.__doc__)}\n", *more]
    )


def _listed(parameters: Iterable[inspect.Parameter]) -> str:
    found, starred = [], False
    for one in parameters:
        if one.kind is one.KEYWORD_ONLY and not starred:
            found.append("*")
        starred = starred or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        star = "*" if one.kind is one.VAR_POSITIONAL else ""
        default = "" if one.default is one.empty else f"={one.default!r}"
        found.append(f"{star}{one.name}{default}")
    return ", ".join(found).replace("*, *", "*") if "*, *" in ", ".join(found) else ", ".join(found)


def _held(kind: type) -> str:
    members = {name: member for name, member in vars(kind).items() if not name.startswith("_") and name not in ("hand", "model_config", "model_post_init")}
    rows = []
    for name, member in members.items():
        doc = inspect.getdoc(member)
        if doc and (isinstance(member, property) or inspect.isfunction(member)):
            shown = f"await {name}({_listed([*inspect.signature(member).parameters.values()][1:])})" if inspect.isfunction(member) else name
            rows.append(f"- `{shown}`: {_line(doc)}")
    return "\n".join(rows)


def _model(kind: Any) -> str:
    own = [f"`{name}`" for name in kind.model_fields]
    return f"### {kind.__name__}\n\n{_text(kind.__doc__)}\n\nFields: {', '.join(own)}.\n"


def _text(doc: str | None) -> str:
    """A docstring as markdown: paragraphs, and what is raised as a list."""
    parts = inspect.cleandoc(doc or "").split("\n\n")
    found = []
    for part in parts:
        if part.startswith("Raises:"):
            rows = [row.strip() for row in part.splitlines()[1:]]
            found.append("Raises:\n\n" + "\n".join(f"- {_marked(row)}" for row in rows))
        else:
            found.append(_line(part))
    return "\n\n".join(found)


def _line(text: str) -> str:
    return _marked(" ".join(text.split()))


def _marked(text: str) -> str:
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", text.replace("``", "`"))


if __name__ == "__main__":
    raise SystemExit(page(TARGET, reference()))
