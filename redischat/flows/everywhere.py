"""How a user stands at the servers of one broker: which have it, which have an older word of it, which do not answer. Asks nobody."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ..errors import ChatError

SINCE_DIGITS = 14  # of calls.users.now


class Told:
    """What one server said: ``got``, or the ``error`` that came instead."""

    __slots__ = ("error", "got", "server")

    def __init__(self, server: str, got: Any, error: ChatError | None = None) -> None:
        self.server, self.got, self.error = server, got, error

    @property
    def why(self) -> str:
        """The error in few words."""
        facts = self.error.facts if self.error is not None else {}
        return str(facts.get("why") or facts.get("answer") or self.error)


class Standing:
    """One user at several servers, as :func:`calls.users.user` tells it. ``led``: the server that the workspace's verbs go to has it."""

    def __init__(self, name: str, told: Iterable[Told], *, led: bool) -> None:
        self.name, self.at, self.led = name, {one.server: one for one in told}, led

    @property
    def newest(self) -> dict[str, Any] | None:
        """The last word; None where nobody has one."""
        return max((one.got for one in self.at.values() if one.got), key=lambda got: str(got["since"]), default=None)

    @property
    def torn(self) -> bool:
        """Whether there are several last words."""
        newest = self.newest
        return newest is not None and any(one.got["since"] == newest["since"] and _word(one.got) != _word(newest) for one in self.at.values() if one.got)

    def strangers(self) -> dict[str, Any] | None:
        """One of this name that redischat did not make."""
        return next((one.got for one in self.at.values() if one.got and not one.got["workspace"]), None)

    @property
    def lacks(self) -> list[str]:
        """The servers that answer and know nothing of it."""
        return [one.server for one in self.at.values() if one.error is None and not one.got]

    @property
    def older(self) -> list[str]:
        """The servers that have another password than the newest, or have not heard that it is revoked."""
        newest = self.newest
        return [one.server for one in self.at.values() if newest and one.got and _word(one.got) != _word(newest)]

    @property
    def behind(self) -> bool:
        """Whether a server that answers has not the last word."""
        return bool(self.lacks or self.older)

    def row(self) -> dict[str, Any]:
        """As :func:`flows.users.every` gives it."""
        newest, older = self.newest or {}, self.older
        return {
            **{key: newest.get(key) for key in ("user", "workspace", "observer", "on")}, "revoked": newest.get("gone", False), "stray": not self.led,
            "connections": sum(one.got["connections"] for one in self.at.values() if one.got),
            "servers": [one.server for one in self.at.values() if one.got and one.server not in older],
            "lacks": [] if newest.get("gone") else self.lacks, "older": older, "torn": self.torn,
        }  # fmt: skip

    def later(self, now: str) -> str:
        """A time behind all that is known, however the clocks of the servers differ."""
        newest = self.newest
        return max(now, f"{int((newest and newest['since']) or 0) + 1:0{SINCE_DIGITS}}")


def _word(got: dict[str, Any]) -> tuple[Any, ...]:
    return got["passwords"], got["gone"], got["workspace"]


def silent(told: Iterable[Told]) -> dict[str, str]:
    """The servers that gave no answer, each with the reason."""
    return {one.server: one.why for one in told if one.error is not None}


def summed(done: list[Told]) -> dict[str, Any]:
    """Where it is done and what came of it.

    ``servers``: their names; ``missing``: the others, each with the reason; ``ended``: how many connections; ``kept`` in the ACL files, else ``why`` not; ``open``,
    ``drops``, if they were asked for: as of any of them.
    """
    missing = silent(done)
    good = {one.server: one.got for one in done if one.server not in missing}
    lost = {server: got["why"] for server, got in good.items() if not got["kept"]}
    whys = [f"{', '.join(server for server in lost if lost[server] == why)}: {why}" if len(good) > 1 else why for why in dict.fromkeys(lost.values())]
    return {
        "servers": [*good], "missing": missing, "kept": not lost, "why": "; ".join(whys) or None,
        "ended": sum(got["ended"] for got in good.values()), **{key: any(got[key] for got in good.values()) for key in ("open", "drops") if all(key in got for got in good.values())},
    }  # fmt: skip


def everyone(told: list[Told], led: Iterable[str]) -> dict[str, Standing]:
    """Every user of these servers, by name; ``told``: name -> the user."""
    names = sorted({name for one in told if one.error is None for name in one.got})
    return {name: Standing(name, [Told(one.server, one.got and one.got.get(name), one.error) for one in told], led=name in led) for name in names}
