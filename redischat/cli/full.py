"""The whole command line, made from the table of verbs with click: help, completion, and every refusal of a call that is not well-formed."""

from __future__ import annotations

import math
import sys
from contextlib import redirect_stdout
from io import StringIO

import click

from .. import __version__, names
from ..errors import CannotWrite, Interrupted, Usage
from .perform import perform, refuse
from .show import put
from .verbs import GROUPS, VERBS, named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ..errors import ChatError
    from .verbs import Verb

_KINDS = {"text": click.STRING, "texts": click.STRING, "int": click.IntRange(min=0, max=names.WHOLE), "seconds": click.FLOAT, "lease": click.FLOAT}
ABOUT = "Coding agents and the people beside them talk and coordinate through one Redis or Valkey broker."


def group() -> click.Group:
    """The command with all its verbs."""
    whole = click.Group("redischat", help=ABOUT, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
    whole.params.append(click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Say the version."))
    groups = {name: click.Group(name.rpartition(" ")[2], help=help_[0].upper() + help_[1:] + ".", short_help=help_) for name, help_ in GROUPS.items()}
    groups[""] = whole
    for name, command in (*((name, _command(name, verb)) for name, verb in VERBS.items()), *groups.items()):
        if name:
            over, _, last = name.rpartition(" ")
            groups[over].add_command(command, last)
    return whole


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001
    if asked:
        click.echo(f"redischat {__version__}")
        context.exit()


def _command(name: str, verb: Verb) -> click.Command:
    params: list[click.Parameter] = [
        click.Argument([parameter], type=_KINDS[kind], required=needed, nargs=-1 if many else 1) for parameter, kind, needed, many in verb.places
    ]
    for parameter, (flags, kind, help_) in verb.spellings().items():
        if kind == "flag":
            params.append(click.Option([*flags, parameter], is_flag=True, help=help_))
        else:
            judge = {"texts": _all, "lease": _one}.get(kind, _finite)
            params.append(click.Option([*flags, parameter], type=_KINDS[kind], help=help_, required=parameter in verb.required, multiple=True, callback=judge))

    def run(**given: Any) -> tuple[str, dict[str, Any]]:
        return name, {key: value for key, value in given.items() if value is not None and value is not False}  # a 0 is a value

    text = f"{verb.help[0].upper()}{verb.help[1:]}.\n\n\b\nExample: {verb.example}"
    return click.Command(name.rpartition(" ")[2], params=params, callback=run, help=text, short_help=verb.help)


def _all(_: click.Context, __: click.Parameter, values: tuple[Any, ...]) -> Any:
    return values or None


def _one(context: click.Context, flag: click.Parameter, values: tuple[Any, ...]) -> Any:
    """The value of a flag: of two, neither is silently dropped."""
    if len(values) > 1:
        raise click.UsageError(f"{flag.opts[0]} was given {len(values)} times: say it once", context)
    return values[0] if values else None


def _finite(context: click.Context, flag: click.Parameter, values: tuple[Any, ...]) -> Any:
    value = _one(context, flag, values)
    if isinstance(value, float) and not (math.isfinite(value) and value >= 0):
        raise click.BadParameter("seconds are a finite number, 0 or more")
    return value


def main(words: list[str]) -> NoReturn:
    """Run it; usage errors are one line with a code, exit 64."""
    sys.exit(_run(words, as_json="--json" in words))


def _run(words: list[str], *, as_json: bool) -> int:
    try:
        with redirect_stdout(StringIO()) as said:  # help and version: written by put, which knows what a broken pipe and a full disk are
            found = group().main(args=words, prog_name="redischat", standalone_mode=False)
        put(said.getvalue())
    except click.exceptions.NoArgsIsHelpError as error:
        return _run([*error.ctx.command_path.split()[1:], "--help"], as_json=as_json)
    except click.UsageError as error:
        return refuse(_refusal(error, words), as_json=as_json)
    except (click.Abort, KeyboardInterrupt):
        return refuse(Interrupted(), as_json=as_json)
    except CannotWrite as error:
        return refuse(error, as_json=as_json)
    except BrokenPipeError:
        return CannotWrite.exit
    return perform(*found) if isinstance(found, tuple) else 0


def _refusal(error: click.UsageError, words: list[str]) -> ChatError:
    """What click refuses, as ours; among the verbs of tasks by agent-chat's codes."""
    message = _sentence(error, words)
    if words[0] != "task":
        return Usage(message=message)
    from ..errors.tasks import TaskInvalidArgument, TaskInvalidCommand

    unknown = isinstance(error, click.NoSuchOption) or "No such command" in message
    return TaskInvalidCommand(message=message) if unknown else TaskInvalidArgument(message=message)


def _sentence(error: click.UsageError, words: list[str]) -> str:
    """What click says, the flag that was probably meant, and where to read on."""
    verb = error.ctx.command_path.partition(" ")[2] if error.ctx and error.ctx.parent else ""
    what = f"no such flag: {error.option_name}. {_meant(error, verb, words)}" if isinstance(error, click.NoSuchOption) else error.format_message()
    what = what.strip().rstrip(".")
    return f"{what}{'' if what.endswith(('?', '?)')) else '.'} How it is called: redischat {verb and verb + ' '}--help"


def _meant(error: click.NoSuchOption, verb: str, words: list[str]) -> str:
    typed = error.option_name.lstrip("-")
    if not typed.strip():
        return "A text that begins with '-' is given on standard input ('-'), or behind '--'"
    near = [verb] if verb in VERBS else [word for word in (named(words)[0], *words) if word in VERBS] or list(VERBS)
    known = {flag.lstrip("-"): flag for one in near for flag in VERBS[one].flags}
    flags = sorted(flag for word, flag in known.items() if word.startswith(typed)) or [known[word] for word in (names.nearest(typed, list(known)),) if word]
    if not flags:
        return ""
    return f"Did you mean {' or '.join(flags)}{'' if verb else f', behind the verb (redischat {near[0]} ...)'}?"
