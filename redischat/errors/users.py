"""Users of a team's broker: what is refused to whoever makes and removes them. Part of the tree on the package's first page."""

from __future__ import annotations

from . import Refused, _Facts


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
