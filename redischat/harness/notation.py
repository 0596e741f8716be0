"""JSON as hooks read and write it: the C parts of the standard library alone. Its package imports re and enum, 5 ms that each delivery would pay."""

from __future__ import annotations

from _json import encode_basestring_ascii, make_scanner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Plain:
    """What the scanner asks for: as json.loads has it, but that control characters in a text pass."""

    strict, object_hook, object_pairs_hook, parse_float, parse_int, parse_constant = False, None, None, float, int, float
    memo: dict[str, str] = {}  # noqa: RUF012 - the scanner's own


def loads(text: str) -> Any:
    """A JSON text's value.

    Raises:
        ValueError: it is none, or something follows it.
    """
    text = text.strip()
    try:
        found, end = make_scanner(_Plain)(text, 0)  # type: ignore[arg-type]  # any object with these
    except (StopIteration, ValueError):
        raise ValueError(f"no JSON: {text[:60]!r}") from None
    if end != len(text):
        raise ValueError(f"no JSON: behind it comes {text[end : end + 60]!r}")
    return found


def dumps(value: Any) -> str:
    """A value of dicts, lists, texts, numbers, booleans and None as JSON, in ASCII."""
    if isinstance(value, str):
        return str(encode_basestring_ascii(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dumps(key)}: {dumps(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(dumps, value)) + "]"
    return {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else repr(value)
