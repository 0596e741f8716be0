"""Runs one verb: from its parameters to its exit code."""

from __future__ import annotations

import os

from ..errors import CannotWrite, ChatError, Defect, DiskRefused, Interrupted, Usage
from ..settings import here, told
from ..text import inert
from .seat import Seat
from .show import aside, put, say
from .verbs import COMMON, VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_COMMON = tuple(parameter for parameter, _, _ in COMMON.values())


def perform(name: str, given: dict[str, Any]) -> int:
    """Run one verb with its parameters; its exit code. Every refusal is one line with a stable code, no traceback."""
    verb = VERBS[name]
    as_json = bool(given.get("json"))
    seat: Seat | None = None
    try:
        common = {key: given.pop(key, None) for key in _COMMON}
        if "from_" in given and name != "wait":  # agent-chat's word for --as
            speaker = given.pop("from_")
            if common["as_"] not in (None, speaker):
                raise Usage(message=f"--from is another word for --as, and they differ ({speaker}, {common['as_']}): leave one out")
            common["as_"] = speaker
        settings = here(common)
        for warning in settings.warnings:
            say(warning)
        seat = Seat(settings, json=as_json, durable=given.pop("durable", False), replicas=given.pop("replicas", None))
        return _done(seat, _runner(verb.noun, verb.runner or name)(seat, **given, **verb.preset) or 0)
    except ChatError as error:
        return refuse(error, as_json=as_json)
    except KeyboardInterrupt:
        return refuse(Interrupted(), as_json=as_json)
    except BrokenPipeError:
        return CannotWrite.exit  # the reader has gone, and with it whoever would read why
    except Exception as error:  # whatever is wrong, an agent gets one line with a code
        if os.environ.get("REDISCHAT_DEBUG"):
            raise
        return refuse(_failed(error), as_json=as_json)
    finally:
        if seat is not None:
            seat.close()


def _failed(error: Exception) -> ChatError:
    """What stopped a verb: a disk that is full, read-only or somebody else's; else a defect."""
    import errno

    if not isinstance(error, OSError) or error.errno not in {errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM}:
        return Defect(what=f"{type(error).__name__}: {error}")
    path = told(os.fsdecode(error.filename)) if isinstance(error.filename, (str, bytes)) else "a file of this user"
    return DiskRefused(path=path, why=error.strerror)


def _done(seat: Seat, code: int) -> int:
    """The exit code of a verb that has ended; says how many copies there are, where they were asked for."""
    if seat.copies and seat.copies.got and not seat.json:
        put(f"  it is on {seat.copies.told(*seat.copies.got)}\n")
    return code


def _runner(noun: str, verb: str) -> Callable[..., int | None]:
    found: Callable[..., int | None] = getattr(__import__(f"redischat.cli.{noun}", fromlist=[verb]), verb)  # importlib costs half a millisecond
    return found


def refuse(error: ChatError, *, as_json: bool = False) -> int:
    """Say no on standard error; the exit code of this class of refusal."""
    if as_json:
        from json import dumps

        line = dumps(error.record(), default=str)
    else:
        line = f"redischat: {error.code}: {inert(error.sentence())}"
    aside(line)
    return error.exit
