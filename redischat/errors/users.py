"""Users of a team's broker: what is refused to whoever makes and removes them. Part of the tree on the package's first page."""

from __future__ import annotations

from . import CouldNotLook, Refused, _Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class AdminNeeded(Refused):
    """Users of the broker are made and removed by its admin, and this connection is not the admin's."""

    code = "ADMIN_NEEDED"
    text = (
        "the user of this connection may not make, change or list users of the broker at {url} ({answer}): nothing was changed. "
        "Ask with the admin's address: redischat admin user list --url redis://admin:PASSWORD@HOST:6379"
    )


class UserExists(Refused):
    """There is a user of that name on this broker already."""

    code = "USER_EXISTS"

    def sentence(self) -> str:
        ours = self.facts.get("workspace")
        text = "{user} exists already, as {kind} of workspace {workspace}: nothing was changed. A new password for it: redischat admin user rotate {user} --workspace {workspace}"
        other = "{user} is a user of this broker that redischat did not make: nothing was changed. See which are taken: redischat admin user list --all"
        return (text if ours else other).format_map(_Facts(self.facts, kind="an observer" if self.facts.get("observer") else "a user"))


class NoUser(Refused):
    """There is no user of that name in this workspace."""

    code = "NO_USER"

    def sentence(self) -> str:
        elsewhere = " It is one of workspace {workspace}." if self.facts.get("workspace") else ""
        text = "{user} is no user of this workspace that redischat made: nothing was changed." + elsewhere + " Who there is: redischat admin user list --all"
        return text.format_map(_Facts(self.facts))


class NotEverywhere(CouldNotLook):
    """Some servers of the broker could not be asked about a user, or told of it; at the others it is done. ``made``: what the verb gives, in Python only."""

    code = "USER_NOT_EVERYWHERE"
    made: Any = None

    def sentence(self) -> str:
        facts = self.facts
        verb, missing, done = str(facts.get("verb", "list")), facts.get("missing") or {}, len(facts.get("servers") or ())
        those = ", ".join(f"{server} ({why})" for server, why in missing.items()) or "?"
        at = f" --workspace {facts['workspace']}" if facts.get("workspace") else ""
        at += " --observer" if verb == "add" and facts.get("observer") else ""
        same = " ".join(["redischat admin user", verb, *([str(facts["user"])] if facts.get("user") else [])]) + at
        return f"{_MISSED[verb]} {_LATER}".format_map(_Facts(facts, those=those, some=f"{done} of {done + len(missing)} servers", same=same))


_MISSED = {  # what holds where it is not done
    "add": "{user} is on {some}. Not done at {those}: if a failover makes that the primary, {user} is not let in.",
    "rotate": "{user} has its password on {some}. Not done at {those}: there the old one goes on, and the new one is refused.",
    "revoke": "{user} is out of {some}. Not done at {those}: if {user} was let in there, it still is.",
    "update": "done on {some}. Not done at {those}.",
    "list": "not asked: {those}. Who is let in there is not known.",
}
_LATER = (
    "That is an address which the broker's servers announce: it must lead there from here. If the server is gone for good, CLUSTER FORGET or SENTINEL RESET takes it "
    "off their list. When it answers, the same command does the rest: {same}"
)
