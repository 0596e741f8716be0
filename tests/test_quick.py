"""The quick way in (no click) and click read every command line alike; and the quick way loads nothing that it could do without."""

from __future__ import annotations

import random
import shlex
import subprocess
import sys

import pytest

from redischat.__main__ import quick
from redischat.cli import full
from redischat.cli.verbs import VERBS

LINES = 900  # random command lines a verb
VALUES = {
    "text": ("dock", "a,b", "hello there", "", "-", "x=y", "#dock", "é☃", "--", "-5", "two\nlines", "07", "²"),
    "int": ("5", "0", "05", "17", "-5", " 7", "²", "٣", "1_000", "+3", "9007199254740991", "9007199254740992", "99999999999999999999", "", "2.0", "x"),
    "texts": ("a", "a, b", "", "-", "x=y", "--", "-5", "two\nlines"),
    "lease": ("300", "0.5", "0", "5.", "1e3", "nan", "inf", "-1", "", "1_0", "x"),
    "seconds": ("900", "0.5", "0", "5.", ".5", "1e3", "nan", "inf", "-1", "٣", "", "1_0", "1.2.3", "x", "00.10"),
}
JUNK = ("-", "--", "--help", "-h", "-x", "--nope", "--json=1", "--as", "-n", "-n3", "--to=", "extra", "", "--version", "--t", "-json", "=", "--=x")
HEAVY = (
    "click", "orjson", "json", "socket", "hashlib", "secrets", "pathlib", "typing", "dataclasses", "enum", "re", "importlib.metadata", "redis", "pydantic",
    "argparse", "inspect", "subprocess", "tempfile", "logging", "asyncio", "mcp", "anyio",
)  # fmt: skip
WATCHED = """
import sys
sys.argv = ["redischat", *{words!r}]
from redischat.__main__ import main
try:
    main()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def line_of(verb, rnd):
    """A command line that may be well-formed: places and flags in any order, and sometimes a word that does not belong."""
    words = []
    for _, kind, needed, many in verb.places:
        count = rnd.choice((0, 1, 3)) if many else int(needed or rnd.random() < 0.5)
        words += [[value_of(kind, rnd)] for _ in range(count)]
    for flag, (parameter, kind, _) in verb.flags.items():
        if parameter not in verb.required and rnd.random() < 0.85:
            continue
        if kind == "flag":
            words.append([flag])
        else:
            value = value_of(kind, rnd)
            words.append([f"{flag}={value}"] if rnd.random() < 0.3 else [flag, value])
    rnd.shuffle(words)
    flat = [word for group in words for word in group]
    for _ in range(rnd.choice((0, 0, 0, 1, 1, 2))):
        flat.insert(rnd.randint(0, len(flat)), rnd.choice((*JUNK, *verb.flags)))
    return flat


def value_of(kind, rnd):
    return rnd.choice(VALUES[kind][:4] if rnd.random() < 0.6 else VALUES[kind])


@pytest.fixture(scope="module")
def by_click():
    """What click makes of a command line: the verb's parameters, or None where it refuses or helps."""
    whole = full.group()

    def parse(words):
        try:
            found = whole.main(args=list(words), prog_name="redischat", standalone_mode=False)
        except full.click.ClickException:
            return None
        return found[1] if isinstance(found, tuple) else None

    return parse


def typed(parameters):
    return {key: (type(value).__name__, value) for key, value in (parameters or {}).items()}


@pytest.mark.parametrize("name", VERBS)
def test_quick_and_click_agree_on_random_command_lines(name, by_click, capsys):
    rnd, taken = random.Random("redischat " + name), 0
    for _ in range(LINES):
        words = [*name.split(), *line_of(VERBS[name], rnd)]
        mine = quick(words)
        if mine is None:
            continue
        taken += 1
        theirs = by_click(words)
        assert theirs is not None, f"quick takes what click refuses: {words} as {mine}"
        assert typed(mine) == typed(theirs), words
    assert taken > LINES / 10, "the quick way takes hardly anything: the test would be empty"
    capsys.readouterr()


@pytest.mark.parametrize("words", [("ack", "dock", "²"), ("ack", "dock", "٣"), ("wait", "--timeout", "²"), ("retain", "dock", "1²")])
def test_a_number_in_other_than_plain_digits_is_left_to_click(words):
    try:
        found = quick(list(words))
    except ValueError as error:
        pytest.fail(f"the quick way took it for a number: {error}")
    assert found is None


@pytest.mark.parametrize("name", VERBS)
def test_the_example_of_each_verb_goes_the_quick_way(name, by_click):
    words = shlex.split(VERBS[name].example)[1:]
    assert " ".join(words).startswith((name, VERBS[name].runner or name))
    assert typed(quick(words)) == typed(by_click(words))
    assert quick(words) is not None


@pytest.mark.parametrize(
    "words", [["say", "dock", "--file", "-"], ["say", "dock", "-"], ["post", "dock", "--to=a,b"], ["read", "dock"], ["wait", "a", "b", "--timeout=0.5"]]
)
def test_what_agents_type_all_day_goes_the_quick_way(words, by_click):
    assert typed(quick(words)) == typed(by_click(words)) != {}


@pytest.mark.parametrize(
    "words", [["join", "dock", "--since", "0", "--topic=--x"], ["wait", "dock", "--timeout=0", "--any"], ["open", "dock", "--max-messages=0"]]
)
def test_a_zero_is_a_value_on_both_ways(words, by_click):
    given = by_click(words)
    assert 0 in given.values()
    assert quick(words) in (None, given)


def quick_modules(person, *words, stdin=None, code=0):
    """What a command has loaded when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(words=words)],
        cwd=person.directory, env={**person.town.env, "PYTHONWARNINGS": ""}, input=(stdin or "").encode(), capture_output=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr.decode()
    return set(done.stderr.decode().splitlines()[-1].split())


def test_the_quick_way_loads_nothing_that_costs_milliseconds(town):
    heron, lynx = town.pair()
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], env={**town.env, "PYTHONWARNINGS": ""}, capture_output=True, text=True, check=True
    ).stdout.split()
    for person, words, stdin in (
        (heron, ("say", "dock", "hello", "--to", "lynx"), None),
        (heron, ("say", "dock", "-"), "from standard input"),
        (lynx, ("pending",), None),
        (lynx, ("wait", "dock", "--timeout", "5"), None),
        (heron, ("say", "dock", "again"), None),
        (lynx, ("read", "dock"), None),
        (lynx, ("owed",), None),
        (lynx, ("ack", "dock", "3"), None),
        (lynx, ("channels",), None),
        (lynx, ("whoami",), None),
    ):
        heavy = quick_modules(person, *words, stdin=stdin) & set(HEAVY) - set(bare)
        assert not heavy, f"{' '.join(words)} loads {sorted(heavy)}"


REFUSED = [
    (("wait", "--time", "5"), "--timeout"), (("read", "dock", "--sinc", "3"), "--since"), (("read", "--peak"), "--peek"), (("say", "dock", "x", "--tit", "t"), "--title"),
    (("say", "dock", "x", "--w", "t"), "--workspace"), (("wait", "--i", "3"), "--interval"), (("close", "dock", "--reas", "done"), "--reason"),
    (("--timeout", "5", "wait"), "--timeout"), (("--reas", "x", "close", "dock"), "--reason"), (("channels", "-json"), "--json"), (("open", "dock", "-t", "x"), "--topic"),
    (("delete", "dock", "--y"), "--yes"), (("identify", "x", "--take"), "--take-over"), (("peek", "dock", "--n", "3"), "-n"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "meant"), REFUSED, ids=lambda value: " ".join(value) if isinstance(value, tuple) else value)
def test_an_abbreviated_flag_is_refused_and_the_likely_one_named(town, words, meant):
    done = town.person()(*words, code=64)
    assert done.error == "USAGE"
    assert meant in done.err
    assert done.out == ""


def test_every_prefix_of_every_flag_is_refused():
    for name, verb in VERBS.items():
        for flag in verb.flags:
            for end in range(3, len(flag)):
                if flag[:end] not in verb.flags:
                    assert quick([name, flag[:end], "1"]) is None, (name, flag[:end])
