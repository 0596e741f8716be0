"""What a bridge to another service refuses: BRIDGE_*."""

from __future__ import annotations

from . import Refused, _Facts


class BridgeUnset(Refused):
    """Settings are missing or make no sense: which ones, each with the ways to give it."""

    code = "BRIDGE_UNSET"

    def sentence(self) -> str:
        wrong: list[str] = self.facts.get("wrong", [])
        return "{what}. The file for such lines is {path}; nothing was started. Then look whether all of it works: redischat bridge slack --check".format_map(
            _Facts(self.facts, what="; ".join(wrong))
        )


class BridgeRuns(Refused):
    """A bridge of this channel for this person runs on this host."""

    code = "BRIDGE_RUNS"
    text = (
        "a bridge of #{channel} for {agent} runs on this host already: nothing was started, because each message would go to one of the two only. "
        "Who waits here: redischat who"
    )


class BridgeRefused(Refused):
    """Slack says no, and waiting does not cure it."""

    code = "BRIDGE_REFUSED"
    text = "Slack answers {answer}: {remedy}. Then look whether all of it works: redischat bridge slack --check"
