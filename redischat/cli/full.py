"""The whole command line, made from the table of verbs with click: help, completion, and every refusal of a call that is not well-formed."""

from __future__ import annotations

import math
import sys

import click

from .. import __version__
from ..errors import Usage
from .perform import perform, refuse
from .verbs import COMMON, VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from .verbs import Verb

_KINDS = {"text": click.STRING, "int": click.IntRange(min=0, max=(1 << 53) - 1), "seconds": click.FLOAT}
ABOUT = "Coding agents and the people beside them talk and coordinate through one Redis or Valkey broker."


def group() -> click.Group:
    """The command with all its verbs."""
    whole = click.Group("redischat", help=ABOUT, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
    whole.params.append(click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Say the version."))
    for name, verb in VERBS.items():
        whole.add_command(_command(name, verb))
    return whole


def _version(context: click.Context, _: click.Parameter, asked: bool) -> None:  # noqa: FBT001
    if asked:
        click.echo(f"redischat {__version__}")
        context.exit()


def _command(name: str, verb: Verb) -> click.Command:
    params: list[click.Parameter] = [
        click.Argument([parameter], type=_KINDS[kind], required=needed, nargs=-1 if many else 1) for parameter, kind, needed, many in verb.places
    ]
    for flag, (parameter, kind, help_) in verb.flags.items():
        needed = parameter in verb.required
        if kind == "flag":
            params.append(click.Option([flag, parameter], is_flag=True, help=help_))
        else:
            params.append(click.Option([flag, parameter], type=_KINDS[kind], help=help_, required=needed, callback=_finite if kind == "seconds" else None))

    def run(**given: Any) -> NoReturn:
        sys.exit(perform(name, {key: value for key, value in given.items() if value not in (None, False)}))

    text = f"{verb.help[0].upper()}{verb.help[1:]}.\n\n\b\nExample: {verb.example}"
    return click.Command(name, params=params, callback=run, help=text, short_help=verb.help)


def _finite(_: click.Context, __: click.Parameter, value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter("seconds are a finite number")
    return value


def main(words: list[str]) -> NoReturn:
    """Run it; usage errors are one line with a code, exit 64."""
    as_json = "--json" in words
    try:
        code = group().main(args=words, prog_name="redischat", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        code = 0
    except click.UsageError as error:
        verb = error.ctx.info_name if error.ctx and error.ctx.parent else ""
        more = f"redischat {verb} --help" if verb else "redischat --help"
        code = refuse(Usage(message=f"{error.format_message().rstrip('.')}. How it is called: {more}"), as_json=as_json)
    except click.Abort:
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


COMMON_FLAGS = tuple(COMMON)
