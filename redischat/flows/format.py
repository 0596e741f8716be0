"""Looks that are refused in a workspace of another format, as every script is (scripts/prelude.lua). Any flow can be run so; it costs no round trip."""

from __future__ import annotations

from ..calls.call import Call, plain
from ..errors import OtherFormat
from ..keys import FORMAT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..keys import Keys

    Flow = Generator[Any, Any, Any]


def alone(call: Call) -> Flow:
    """One Call as a flow."""
    return (yield call)


def checked(flow: Flow, keys: Keys) -> Flow:
    """Run a flow; with its first plain look the workspace's format is looked at. Gives what the flow gives.

    Raises:
        OtherFormat: naming both.
    """
    answer: Any = None
    failure: BaseException | None = None
    unknown = True
    while True:
        try:
            asked = flow.throw(failure) if failure is not None else flow.send(answer)
        except StopIteration as end:
            return end.value
        answer = failure = None
        calls = [asked] if isinstance(asked, Call) else asked if isinstance(asked, list) else []
        try:
            if unknown and any(call.script is None for call in calls):
                written, *answers = yield [plain("HGET", keys.meta, "format"), *calls]
                if isinstance(written, str) and written != FORMAT:
                    raise OtherFormat(found=written, ours=FORMAT)
                unknown, answer = False, answers[0] if isinstance(asked, Call) else answers
            else:
                answer = yield asked
        except GeneratorExit:
            flow.close()
            raise
        except BaseException as error:  # noqa: BLE001 - the flow decides what an error means
            failure = error
