"""admin user add, revoke, rotate, update, list: users of a team's broker, for a client that is its admin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import names
from ..calls.call import fresh
from ..calls.users import SECRET_BYTES, handed
from ..errors import Usage
from ..flows import users as flows
from ..models import User, UserAdded, UserRevoked, UsersUpdated
from ..settings import Place
from .seat import AsyncSeat

if TYPE_CHECKING:
    from collections.abc import Sequence


class AsyncUsers(AsyncSeat):
    """The verbs of whoever keeps a team's broker. Each acts on every server of it: all nodes of a Cluster, a primary and its replicas."""

    async def admin_user_add(self, name: str, *, observer: bool = False) -> UserAdded:
        """Make a user of this client's workspace and no other; ``observer``: one that may only look. Its URL holds the password, which is told only here.

        One that some servers have not is brought there, with the password that it has: ``url`` is None.

        Raises:
            AdminNeeded: this client's user may not make users.
            UserExists, BadName: nothing was changed.
            NotEverywhere: some servers could not be told; ``made`` is the UserAdded. The same again brings it there.
        """
        user, secret, url = _user(name), fresh(SECRET_BYTES), self._url()
        got = await self._drive(flows.add(self._keys, user, lambda: secret, observer=observer, database=Place(url).database))
        return flows.whole("add", got, UserAdded.model_validate({**got, "url": handed(url, user, secret) if got["new"] else None}))

    async def admin_user_rotate(self, name: str) -> UserAdded:
        """Give a user a new password and end its sessions; returns what :meth:`admin_user_add` does. Where some servers have an older one, they get the newest.

        Raises:
            AdminNeeded: this client's user may not change users.
            NoUser, BadName: nothing was changed.
            NotEverywhere: as of :meth:`admin_user_add`; where it was not changed the old password goes on.
        """
        user, secret, url = _user(name), fresh(SECRET_BYTES), self._url()
        got = await self._drive(flows.rotate(self._keys, user, lambda: secret, database=Place(url).database))
        return flows.whole("rotate", got, UserAdded.model_validate({**got, "url": handed(url, user, secret) if got["new"] else None}))

    async def admin_user_revoke(self, name: str) -> UserRevoked:
        """Delete a user; its sessions end at once.

        Raises:
            AdminNeeded: this client's user may not remove users.
            NoUser, BadName: nothing was changed.
            NotEverywhere: some servers could not be told and may still let it in; ``made`` is the UserRevoked. The same again brings it there.
        """
        got = await self._drive(flows.revoke(self._keys, _user(name)))
        return flows.whole("revoke", got, UserRevoked.model_validate(got))

    async def admin_user_update(self, users: Sequence[str] = ()) -> UsersUpdated:
        """Give users (none named: all of this workspace) the rights that this version needs, also on servers that lack them. Passwords and sessions stay.

        Raises:
            AdminNeeded: this client's user may not change users.
            NoUser, BadName: nothing was changed.
            NotEverywhere: some servers could not be told; ``made`` is the UsersUpdated.
        """
        got = await self._drive(flows.update(self._keys, [_user(one) for one in users], database=Place(self._url()).database))
        return flows.whole("update", got, UsersUpdated.model_validate(got))

    async def admin_user_list(self, *, everywhere: bool = False) -> list[User]:
        """The users of this workspace, or of every one, by name; and on which servers each is.

        Raises:
            AdminNeeded: this client's user may not ask.
            NotEverywhere: some servers could not be asked; ``made`` is the list of what the others said.
        """
        got = await self._drive(flows.every(self._keys, everywhere=everywhere))
        return flows.whole("list", got, [User.model_validate(one) for one in got["users"]])

    def _url(self) -> str:
        if self._settings is None:
            raise Usage(message="users are made by a client that knows its broker's URL: make it with url=, not with redis=")
        return self._settings.url


def _user(name: str) -> str:
    """A user's name as the server holds it."""
    return names.same(names.name("user", name))
