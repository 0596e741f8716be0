"""Whom a message of Slack wakes. A person there has no flags: it is read from the text, here and nowhere else (docs/decisions/0002)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..names import NAMED

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORTEST = 3  # letters and digits of a name that is looked for in prose
_NOBODY = re.compile(
    r"\bno (?:response|reply|answer) (?:is )?(?:needed|required|necessary)\b|\bno need to (?:reply|respond|answer)\b|\bnrn\b|\bfyi only\b", re.IGNORECASE
)
_EVERYBODY = re.compile(r"(?<![\w@.])@(?:here|channel|everyone)(?![\w-]|\.\w)", re.IGNORECASE)
_GREETING = re.compile(r"(?:hey|hi|hello|yo|ok|okay|so|um|er)[\s,]+(?:there[\s,]+)?", re.IGNORECASE)
_BEFORE = (
    "a an the this that these those my your our his her its their some any every each no which what "
    "about above after against along among around at before behind below beside between by down during for from in inside into like near of off on onto out over "
    "past per since than through to toward towards under until up upon via with within without"
)
_LIST = re.compile(r"\s*@?redischat[\s,:]+list[\s.!?]*", re.IGNORECASE)


def audience(text: str, members: Sequence[str], owner: str = "") -> str | list[str]:
    """``none``, ``all``, or the members that a text is for, in the order in which it names them. ``owner``: whose thread it stands in.

    A phrase that asks for no answer; else names; else @here and its like; else the thread's owner; else nobody.
    """
    if _NOBODY.search(text):
        return "none"
    found = named(text, members)
    if found:
        return found if len(found) <= NAMED else "all"
    if _EVERYBODY.search(text):
        return "all"
    mine = [name for name in members if name.lower() == owner.lower()]
    return mine[:1] or "none"


def named(text: str, members: Sequence[str]) -> list[str]:
    """The members that a text speaks to: ``@name`` anywhere; a bare name at the start, after a greeting there, or before a comma unless it is spoken of."""
    forms = {_form(name): name for name in members if len(_form(name).replace(" ", "")) >= SHORTEST}
    if not forms:
        return []
    words = "|".join(r"[\s_.-]+".join(map(re.escape, form.split())) for form in sorted(forms, key=len, reverse=True))
    greeted = _GREETING.match(text.lstrip())
    start = len(text) - len(text.lstrip())
    starts = {start, start + (greeted.end() if greeted else 0)}
    found: dict[str, None] = {}
    for one in re.finditer(rf"(?<![\w@.-])(@?)({words})(?![\w@-]|\.\w)", text, re.IGNORECASE):
        if one[1] or one.start() in starts or (text[one.end() : one.end() + 1] == "," and not _spoken_of(text[: one.start()])):
            found[forms[_form(one[2])]] = None
    return list(found)


def _form(name: str) -> str:
    """A name in the form that names are compared in: its words, however they are parted."""
    return " ".join(re.split(r"[\s_.-]+", name.lower())).strip()


def _spoken_of(before: str) -> bool:
    words = re.findall(r"[\w']+", before[-40:].lower())
    return bool(words) and not before.rstrip(" ").endswith((".", "!", "?", ",", ":", ";", "\n")) and words[-1] in _BEFORE.split()


def asks_for_list(text: str) -> bool:
    """Whether a text is the bridge's own command, ``@redischat list``, and nothing else."""
    return _LIST.fullmatch(text) is not None
