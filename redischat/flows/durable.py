"""Changes that are not done before enough copies of them exist: on the broker's disk, on its replicas. Any flow can be run so."""

from __future__ import annotations

from ..calls.call import Call, plain
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
    return Copies(disk=durable or env.get("REDISCHAT_DURABLE", "0") not in ("", "0"), replicas=int(number) if replicas is None else replicas)


def durably(flow: Flow, copies: Copies) -> Flow:
    """Run a flow with a wait for copies behind each change, in the same write on the same connection. Gives what the flow gives; a dict with ``durable replicas``.

    Raises:
        NotDurable: the server cannot tell (nothing was done), or fewer copies came in time (``done``: it is stored, and not undone).
    """
    answer: Any = None
    failure: BaseException | None = None
    least, key, able = None, "", False
    while True:
        try:
            asked = flow.throw(failure) if failure is not None else flow.send(answer)
        except StopIteration as end:
            return _judged(end.value, copies, least, key)
        answer = failure = None
        calls = [asked] if isinstance(asked, Call) else asked if isinstance(asked, list) else []
        try:
            if any(map(changes, calls)):
                able = able or (yield from _able(copies))
                *answers, got = yield [*calls, _wait(copies)]
                least = got if least is None else (min(least[0], got[0]), min(least[1], got[1]))
                key = next(filter(None, map(_key, calls)), key)
                answer = answers[0] if isinstance(asked, Call) else answers
            else:
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


def _judged(result: Any, copies: Copies, got: tuple[int, int] | None, key: str) -> Any:
    """What the flow gave, if there are copies enough of what it changed."""
    if got is None:
        return result
    copies.got = got
    facts = result if isinstance(result, dict) else {}
    if got[0] < copies.disk or got[1] < copies.replicas:
        place = {name: facts[name] for name in ("channel", "seq") if name in facts}
        raise NotDurable(
            asked=copies.told(1, copies.replicas), have=copies.told(*got), replicas=got[1], disk=bool(got[0]), idem=key or None, done=True, **place
        )
    return {**facts, "durable": copies.disk, "replicas": got[1]} if facts else result
