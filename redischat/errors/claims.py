"""What claims refuse: a name that somebody else has (exit status 3, as in agent-chat), or that is not the caller's to give back."""

from __future__ import annotations

from . import LostRace, Refused, _Facts


class ClaimTaken(LostRace):
    """Another agent claimed this name first."""

    code, word, fields = "CLAIM_TAKEN", "claim_taken", ("channel", "name", "holder", "claimed_at", "expires_at", "lapsed")

    def sentence(self) -> str:
        lapsed = self.facts.get("lapsed") in (True, "1", 1)
        until = self.facts.get("expires_at")
        end = (
            f"; its lease ended {until}. Take it over: redischat claim {{channel}} {{name}} --steal-expired" if lapsed else f" (until {until})" if until else ""
        )
        return ("{name} is {holder}'s since {claimed_at}" + end + ". What is claimed: redischat claims {channel}").format_map(_Facts(self.facts))


class ClaimInvalidRecord(Refused):
    """A claim's record was written past redischat: whose it is nobody can tell."""

    code, word, fields, origin = "CLAIM_INVALID_RECORD", "claim_invalid_record", ("channel", "name"), "store"
    text = (
        "the record of the claim {name} in #{channel} was not written by redischat, so whose it is cannot be told: nothing was changed. "
        "Take it over: redischat claim {channel} {name} --steal-expired"
    )


class NotClaimed(Refused):
    """There is no such claim to give back, or it is another agent's."""

    code, word, fields = "NOT_CLAIMED", "not_claimed", ("channel", "name", "holder")

    def sentence(self) -> str:
        holder = self.facts.get("holder")
        return ("{name} is {holder}'s claim, not yours" if holder else "nobody claimed {name} in #{channel}").format_map(
            _Facts(self.facts)
        ) + ". What is claimed: redischat claims {channel}".format_map(_Facts(self.facts))
