"""bench: what this machine does with redischat, in ratios that were taken in one run; on a broker of its own. The user's is measured beside it only where --url names it."""

from __future__ import annotations

import os
import sys
import time

from ..broker import start
from ..errors import Usage
from ..settings import redacted
from .bench_board import board
from .bench_commands import commands
from .bench_hooks import hooks
from .bench_posts import posts
from .bench_rows import HEAD, Row
from .bench_wakes import wakes
from .bench_world import World
from .ending import tidied
from .show import put, record, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .seat import Seat

PARTS = ("posts", "wakes", "commands", "board", "hooks")


def run(seat: Seat, *, quick: bool = False, part: str = "") -> int:
    """Measure, and print the figures beside their targets. A missed target is no failure: exit 0."""
    if part and part not in PARTS:
        raise Usage(message=f"{part!r} is none of {', '.join(PARTS)}: redischat bench --part posts")
    if seat.settings.sources["url"] == "--url":
        return _beside(seat, quick=quick, part=part)
    world = World(seat.settings.env)
    with tidied(world.close):
        world.open()
        put(record(_machine(world, quick=quick)) if seat.json else _about(_machine(world, quick=quick)))
        for one in (part,) if part else PARTS:
            say(f"measuring {one} ...")
            rows = list(_measured(world, one, quick=quick, seat=seat))
            put("".join(record(row.record()) for row in rows) if seat.json else f"\n{one}\n{HEAD}\n" + "".join(row.line() + "\n" for row in rows))
    return 0


def _beside(seat: Seat, *, quick: bool, part: str) -> int:
    """The broker at a URL, beside a private one like the embedded one."""
    if part:
        raise Usage(message="--url measures that broker beside the embedded one, as a whole: redischat bench --url redis://host:6379")
    from .bench_brokers import There, brokers

    here, there = World(seat.settings.env), There(seat.settings.env, seat.settings.url)
    with tidied(here.close), tidied(there.close):
        there.open()
        here.open()
        put(record(_machine(here, quick=quick)) if seat.json else _about(_machine(here, quick=quick)))
        say(f"measuring {redacted(seat.settings.url)} beside the embedded broker ...")
        rows = list(brokers(here, there, quick=quick))
        put("".join(record(row.record()) for row in rows) if seat.json else f"\nurl\n{HEAD}\n" + "".join(row.line() + "\n" for row in rows))
    return 0


def _measured(world: World, part: str, *, quick: bool, seat: Seat) -> Iterator[Row]:
    if part == "posts":
        return posts(world, quick=quick)
    if part == "hooks":
        return hooks(world, quick=quick)
    if part == "wakes":
        return _wakes(world, seat, quick=quick)
    return (board if part == "board" else commands)(world, seat.settings.env, quick=quick)


def _wakes(world: World, seat: Seat, *, quick: bool) -> Iterator[Row]:
    """With the embedded broker's way to write to disk and, unless one was asked for, with the faster one beside it: a wake is three writes."""
    yield from wakes(world, quick=quick)
    if start.FSYNC_BY not in seat.settings.env:
        other = World(seat.settings.env, fsync=start.FSYNC[1])
        with tidied(other.close):
            other.open()
            yield from wakes(other, quick=quick)


def _machine(world: World, *, quick: bool) -> dict[str, Any]:
    """What a figure depends on."""
    from importlib.metadata import version

    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "part": "machine", "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "cores": os.cpu_count(), "load": load, "python": sys.version.split()[0],
        "server": world.server(), "redis_py": version("redis"), "hiredis": version("hiredis"), "redischat": version("redischat"), "quick": quick,
    }  # fmt: skip


def _about(found: dict[str, Any]) -> str:
    load = f", load {found['load']:.1f} before this began" if found["load"] is not None else ""
    return (
        f"{found['cores']} cores{load}; Python {found['python']}, server {found['server']}, redis-py {found['redis_py']} with hiredis {found['hiredis']}\n"
        "Trust the ratios: both sides of each were measured in turns, in this run. A private broker, made for this and removed.\n"
    )
