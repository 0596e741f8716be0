"""ACL users of a team's broker: what one of a single workspace may do, and the commands by which an admin makes, changes and removes them.

The lists hold each command that a script, a plain Call or a carrier sends, and no other: tests/test_rights.py reads them out of the sources. There is no command
among them that lists keys or channels, or that touches one whose name is not checked against the user's patterns.
"""

from __future__ import annotations

from ..keys import SHARED
from .call import Call, pairs, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..keys import Keys

LOOKS = (
    "get", "hexists", "hget", "hgetall", "hkeys", "hlen", "hmget", "hscan", "hvals", "xlen", "xrange", "xrevrange", "zcard", "zlexcount", "zrange", "zrangebylex",
    "zrangebyscore", "zscore", "exists", "time", "ping", "ssubscribe", "sunsubscribe", "acl|whoami", "role", "asking",
)  # fmt: skip
ACTS = (
    *LOOKS, "eval", "evalsha", "del", "hdel", "hincrby", "hset", "hsetnx", "rename", "set", "spublish", "wait", "xadd", "xdel", "xtrim", "zadd", "zrem",
)  # fmt: skip
OBSERVES = (*LOOKS, "eval_ro", "evalsha_ro")
NEWER = {"client|setinfo": LOOKS, "waitaof": ACTS}  # not known to Redis 7.0 -> to whom they are given (redis-py names itself at each connection)
SECRET_BYTES = 24  # of a password
SINCE = "since:"  # a doorbell that nobody rings: the right to it tells when a user's password was made, so that of two servers the newer one is known


def rules(keys: Keys, *, observer: bool = False, since: str = "", database: int = 0, newer: bool = True) -> list[str]:
    """The rights of a user of one workspace, as words of ACL SETUSER: all that was there before goes, passwords (made ``since``) stay. ``newer``: the server is no Redis 7.0."""
    may = [*(OBSERVES if observer else ACTS), *(one for one, whose in NEWER.items() if newer and (whose is LOOKS or not observer))]
    bells = [f"&{keys.live('*')}", f"&{keys.opened}"] if observer else [f"&{keys.prefix}*"]  # whoever listens elsewhere counts as a wait
    chosen = [f"+select|{database}"] if database else []
    return ["on", *_bare(keys, since, observer=observer), *bells, *(f"+{one}" for one in may), *chosen]


def void(keys: Keys, since: str, *, observer: bool = False) -> list[str]:
    """No rights: what is left of a user who is revoked, until no server has it any more."""
    return ["off", *_bare(keys, since, observer=observer)]


def _bare(keys: Keys, since: str, *, observer: bool) -> list[str]:
    pattern = f"%R~{keys.prefix}*" if observer else f"~{keys.prefix}*"
    return ["clearselectors", "resetkeys", pattern, "resetchannels", *([f"&{keys.prefix}{SINCE}{since}"] if since else []), "-@all"]


def write(name: str, words: Sequence[str], passwords: Sequence[str] | None = None) -> Call:
    """Give a user these rights, and with ``passwords`` (``>password``, ``#digest``) these and no others. Again is the same."""
    return plain("ACL", "SETUSER", name, *(() if passwords is None else ("resetpass", *passwords)), *words)


def now() -> Call:
    """The time of the server in milliseconds, as long as it is: texts of one length are ordered as numbers are."""
    return plain("TIME", read=lambda found: f"{int(found[0]) * 1000 + int(found[1]) // 1000:014}")


def find(name: str) -> Call:
    """One user, as :func:`user` tells it; None when there is none."""
    return plain("ACL", "GETUSER", name, read=lambda found: user(name, pairs(found)) if found else None)


def names() -> Call:
    """The names of all users of the server."""
    return plain("ACL", "USERS", read=lambda found: sorted(map(str, found)))


def drop(name: str) -> Call:
    """Delete a user; the server ends its connections."""
    return plain("ACL", "DELUSER", name, read=int)


def end(name: str) -> Call:
    """End the connections of a user; how many."""
    return plain("CLIENT", "KILL", "USER", name, read=int)


def connected() -> Call:
    """User -> its connections now."""

    def read(text: Any) -> dict[str, int]:
        found: dict[str, int] = {}
        for row in str(text).splitlines():
            name = next((word[5:] for word in row.split(" ") if word.startswith("user=")), "")
            found[name] = found.get(name, 0) + 1
        return found

    return plain("CLIENT", "LIST", read=read)


def save() -> Call:
    """Write the users into the server's ACL file; refused by a server that has none."""
    return plain("ACL", "SAVE")


def myself() -> Call:
    """The name of this connection's user."""
    return plain("ACL", "WHOAMI", read=str)


def user(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """``user workspace observer on open whole passwords since gone``.

    ``workspace`` None for one that redischat did not make; ``open``: it needs no password; ``whole``: it may do everything; ``passwords``: their digests, made
    ``since`` ("": not known); ``gone``: revoked.
    """
    pattern = str(found.get("keys", ""))
    flags = [str(one) for one in found.get("flags", ())]
    observer = pattern.startswith("%R~")
    workspace = pattern.removeprefix("%R").removeprefix("~" + SHARED).removesuffix("}:*")
    ours = pattern == f"{'%R' if observer else ''}~{SHARED}{workspace}}}:*" and not set(workspace) & set("*?[]\\ ~%")
    bells, passwords = str(found.get("channels", "")), sorted(map(str, found.get("passwords", ())))
    since = max((one.partition(SINCE)[2] for one in bells.split(" ") if one.startswith(f"&{SHARED}{workspace}}}:{SINCE}")), default="") if ours else ""
    return {
        "passwords": passwords, "since": since, "gone": bool(since) and "off" in flags and not passwords,
        "user": name, "workspace": workspace if ours else None, "observer": observer, "on": "on" in flags, "open": "on" in flags and "nopass" in flags,
        "whole": str(found.get("commands")) == "+@all" and pattern == "~*" and str(found.get("channels")) == "&*",
    }  # fmt: skip


def handed(url: str, name: str, password: str, host: str = "") -> str:
    """``url`` with another user and password in it, and another ``host`` (or host:port)."""
    scheme, _, rest = url.partition("://")
    place = rest.rpartition("@")[2]
    if host and scheme != "unix":
        end = next((i for i, char in enumerate(place) if char in "/?"), len(place))
        port = place[:end].rpartition(":")[2]
        place = (host if ":" in host or not port.isdigit() else f"{host}:{port}") + place[end:]
    return f"{scheme}://{name}:{password}@{place}"
