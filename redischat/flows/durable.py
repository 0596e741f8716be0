"""Changes that are not done before enough copies of them exist: on the broker's disk, on its replicas. Any flow can be run so."""

from __future__ import annotations

from .. import names
from ..calls.call import Call, Listen, Show, plain
from ..errors import BrokerRefused, Usage
from ..errors.broker import BrokerTooOld, NotDurable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from typing import Any

    Flow = Generator[Any, Any, Any]

WAIT_MS = 3_000  # for copies; a carrier waits longer for one answer
# Scripts whose loss costs nothing: marks go back and a message is shown again, presence is told anew.
FLEETING = ("session_", "message_take", "message_ack", "message_release", "message_renew", "event_ack", "task_notice", "path_stand", "path_leave")
KEYED = ("message_post", "task_create", "event_post")  # again without the same key would be another one


class Copies:
    """How many copies are asked for: on the broker's own ``disk``, on ``replicas``. ``got``: of those, how many there were behind the last change."""

    __slots__ = ("disk", "got", "replicas")

    def __init__(self, *, disk: bool = False, replicas: int = 0) -> None:
        self.disk, self.replicas = disk, replicas
        self.got: tuple[int, int] | None = None

    def __bool__(self) -> bool:
        return self.disk or self.replicas > 0

    def told(self, disk: int, replicas: int) -> str:
        """So many copies in words."""
        some = [f"{replicas} {'replica' if replicas == 1 else 'replicas'}{' (on disk there)' if self.disk else ''}"] if self.replicas else []
        return " and ".join([*(["the broker's disk" if disk else "not its own disk"] if self.disk else []), *some])


def wanted(env: Mapping[str, str], *, durable: bool = False, replicas: int | None = None) -> Copies:
    """The copies that are asked for here, else by REDISCHAT_DURABLE (anything but 0) and REDISCHAT_REPLICAS.

    Raises:
        Usage: that is no number.
    """
    number = env.get("REDISCHAT_REPLICAS", "") or "0"
    if not (number.isascii() and number.isdigit()):
        raise Usage(message=f"REDISCHAT_REPLICAS={number!r} is no number of replicas: unset REDISCHAT_REPLICAS, or compare: redischat whoami")
    names.whole(replicas=replicas)
    return Copies(disk=durable or env.get("REDISCHAT_DURABLE", "0") not in ("", "0"), replicas=int(number) if replicas is None else replicas)


def durably(flow: Flow, copies: Copies) -> Flow:
    """Run a flow with a wait for copies behind each change, in the same write on the same connection. Gives what the flow gives; a dict with ``durable replicas``.

    Raises:
        NotDurable: the server cannot tell (nothing was done), or fewer copies came in time (``done``: it is stored, and not undone). Of what was said it is
            thrown into the flow before that waits or shows anything, else raised at its end.
    """
    answer: Any = None
    failure: BaseException | None = None
    behind, able, interrupted = _Behind(copies), False, False
    while True:
        interrupted = interrupted or (failure is not None and not isinstance(failure, Exception))  # then it gives back, within 2 s
        try:
            asked = flow.throw(failure) if failure is not None else flow.send(answer)
        except StopIteration as end:
            return behind.judged(end.value)
        answer = failure = None
        calls = [asked] if isinstance(asked, Call) else asked if isinstance(asked, list) else []
        try:
            if any(map(changes, calls)) and not interrupted:
                able = able or (yield from _able(copies))
                *answers, got = yield [*calls, _wait(copies)]
                behind.note(calls, answers, got)
                answer = answers[0] if isinstance(asked, Call) else answers
            else:
                if isinstance(asked, (Listen, Show)):
                    behind.said()
                answer = yield asked
        except GeneratorExit:
            flow.close()
            raise
        except BaseException as error:  # noqa: BLE001 - the flow decides what an error means
            failure = error


def changes(call: Call) -> bool:
    """Is it a change that somebody relies on?"""
    return call.script is not None and not call.script.reads and not call.script.name.startswith(FLEETING)


def _able(copies: Copies) -> Flow:
    """Find out before anything is done whether the server can tell when something is on its disk."""
    try:
        if copies.disk:
            yield plain("WAITAOF", 1, 0, 1)
    except BrokerTooOld:
        raise NotDurable(asked=copies.told(1, copies.replicas), why="it is older than Redis 7.2", done=False) from None
    except BrokerRefused as error:
        answer = str(error.facts.get("answer"))
        why = "it is older than Redis 7.2" if "unknown command" in answer else "it keeps no append-only file" if "appendonly is disabled" in answer else ""
        if not why:
            raise
        raise NotDurable(asked=copies.told(1, copies.replicas), why=why, done=False) from None
    return True


def _wait(copies: Copies) -> Call:
    if copies.disk:
        return plain("WAITAOF", 1, copies.replicas, WAIT_MS, read=lambda got: (int(got[0]), int(got[1])))
    return plain("WAIT", copies.replicas, WAIT_MS, read=lambda got: (0, int(got)))


def _key(call: Call) -> str:
    """The idempotency key of a change that would happen again without it."""
    if call.script is None or call.script.name not in KEYED:
        return ""
    return next((key.split(":", 6)[6] for key in call.keys if key.split(":", 3)[2:3] == ["i"]), "")


class _Behind:
    """What was changed so far, and how many copies there are behind all of it."""

    def __init__(self, copies: Copies) -> None:
        self._copies = copies
        self._least: tuple[int, int] | None = None
        self._key = ""
        self._place: dict[str, Any] = {}

    def note(self, calls: list[Call], answers: list[Any], got: tuple[int, int]) -> None:
        """These were done, with so many copies."""
        self._least = got if self._least is None else (min(self._least[0], got[0]), min(self._least[1], got[1]))
        for call, answer in zip(calls, answers, strict=True):
            if key := _key(call):
                self._key, self._place = key, _facts(answer)

    def said(self) -> None:
        """Judge what was said before the flow goes on to wait for what comes of it."""
        if self._key:
            self._judge({})

    def judged(self, result: Any) -> Any:
        """What the flow gave, if there are copies enough of what it changed."""
        if self._least is None:
            return result
        self._judge(_facts(result))
        return {**result, "durable": self._copies.disk, "replicas": self._least[1]} if isinstance(result, dict) and result else result

    def _judge(self, facts: dict[str, Any]) -> None:
        if self._least is None:
            return
        copies, got = self._copies, self._least
        copies.got = got
        if got[0] < copies.disk or got[1] < copies.replicas:
            place = {name: value for name, value in {**self._place, **facts}.items() if name in ("channel", "seq")}
            raise NotDurable(
                asked=copies.told(1, copies.replicas), have=copies.told(*got), replicas=got[1], disk=bool(got[0]), idem=self._key or None, done=True,
                **place, **_held(facts),
            )  # fmt: skip


def _facts(result: Any) -> dict[str, Any]:
    """What a flow or a Call gave, or the first of several things."""
    first = result[0] if isinstance(result, tuple) and result else result
    return first if isinstance(first, dict) else {}


def _held(got: dict[str, Any]) -> dict[str, Any]:
    """The task or the paths that the caller holds by now: asking for the next one again would take another."""
    if "lock_id" in got:
        return {"lock_id": got["lock_id"], "token": got["token"]}
    return {"task": got["id"], "token": got["token"], "how": got["how"]} if "token" in got and "id" in got else {}
