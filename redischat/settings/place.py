"""A broker's URL, taken apart, and what may be shown of it. Opens nothing and imports nothing that costs."""

from __future__ import annotations

from ..errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    Node = tuple[str, int]  # host, port

FORMS = (
    "redis://user:password@host:6379/0, unix:///path/to/socket, redis+sentinel://host:26379,host:26379/service/0 or redis+cluster://host:6379,host:6379; with TLS "
    "rediss://, rediss+sentinel:// or rediss+cluster://, and then ?ca=/path/ca.pem&cert=/path/c.pem&key=/path/k.pem"
)
SENTINEL, CLUSTER = "sentinel", "cluster"
_PORTS = {"": 6379, SENTINEL: 26379, CLUSTER: 6379}
_FILES = ("ca", "cert", "key")
_PORT_END = 1 << 16


def redacted(url: str) -> str:
    """``url`` without its passwords, also of one that is malformed: passwords appear in no output."""
    scheme, mark, rest = url.partition("://")
    scheme, rest = (scheme, rest) if mark else ("", url)
    login, at, place = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    place, asked, query = place.partition("?")
    if scheme != "unix":
        place = _without_secret(place, several="+" in scheme)
    query = "&".join(_option_shown(one) for one in query.split("&"))
    return scheme + mark + (f"{user}:***@" if colon else "***@" if at else "") + place + asked + (query if asked else "")


def _without_secret(place: str, *, several: bool) -> str:
    """What is no port is a password whose @host was forgotten: nothing is shown from there on."""
    hosts, slash, path = place.partition("/")
    good: list[str] = []
    for one in hosts.split(",") if several else [hosts]:
        host, colon, port = one.rpartition(":")
        if colon and not (port.isdigit() or port.endswith("]")):
            return ",".join([*good, f"{host}:***"])
        good.append(one)
    return ",".join(good) + slash + path


def _option_shown(option: str) -> str:
    name, _, value = option.partition("=")
    return option if name in _FILES or (name == "db" and value.isdigit()) else f"{name}=***" if name.startswith("sentinel_") else "***"


class Place:
    """A broker's URL, taken apart; ``shown`` is what may be printed of it.

    ``kind``: "", "sentinel" (``seeds`` are the sentinels, who know where ``service`` is) or "cluster" (``seeds`` are some of its nodes). ``host`` and ``port``
    are the first seed's.
    """

    __slots__ = ("ca", "cert", "database", "host", "key", "kind", "password", "path", "port", "seeds", "service", "shown", "tls", "user", "watch_login")

    def __init__(self, url: str) -> None:
        self.shown = redacted(url)
        scheme, _, rest = url.partition("://")
        base, plus, self.kind = scheme.partition("+")
        login, _, place = rest.rpartition("@")
        place, _, query = place.partition("?")
        user, colon, password = login.partition(":")
        self.tls, self.path, self.host, self.port, self.service = base == "rediss", "", "", 6379, ""
        self.seeds: list[Node] = []
        database = ""
        try:
            self.user, self.password = (_decoded(user), _decoded(password)) if colon else ("", _decoded(user))
            if scheme == "unix":
                self.path = _decoded(place)
            elif base in ("redis", "rediss") and bool(plus) == bool(self.kind):
                place, _, database = place.partition("/")
                if self.kind == SENTINEL:
                    self.service, _, database = database.partition("/")
                    self.service = _named(_decoded(self.service))
                self.seeds = [_node(one, _PORTS[self.kind]) for one in (place.split(",") if self.kind else [place])]
                self.host, self.port = self.seeds[0]
            if not (self.path or self.host) or "\0" in self.path:
                raise ValueError(scheme)
            self.database = self._take(scheme, query) or int(database or 0)
        except (ValueError, KeyError):
            raise Usage(message=f"{self.shown} is no broker URL: {FORMS}") from None
        if self.database and self.kind == CLUSTER:
            raise Usage(message=f"{self.shown}: a Cluster has database 0 only; use a workspace instead: redischat channels --workspace NAME")

    def _take(self, scheme: str, query: str) -> int:
        """The options behind the question mark; the database, if they name one."""
        asked = {name: _decoded(value) for name, _, value in (one.partition("=") for one in query.split("&") if one)}
        known = ("db", *(_FILES if self.tls else ()), *(("sentinel_user", "sentinel_password") if self.kind == SENTINEL else ()))
        for name in asked:
            if name not in known:
                raise Usage(message=f"{self.shown}: {scheme}:// has no option {name!r}, only {', '.join(known)}. The forms: {FORMS}")
        if asked.get("key") and not asked.get("cert"):
            raise Usage(message=f"{self.shown}: a key= needs its cert= beside it. The forms: {FORMS}")
        self.ca, self.cert, self.key = (asked.get(name, "") for name in _FILES)
        self.watch_login = (asked.get("sentinel_user", ""), asked.get("sentinel_password", ""))
        return int(asked.get("db") or 0)

    @property
    def node(self) -> Node:
        """Which server this is, among several."""
        return self.host, self.port

    def at(self, node: Node) -> Place:
        """One server of this broker, asked as the broker is."""
        one = object.__new__(Place)
        for slot in Place.__slots__:
            setattr(one, slot, getattr(self, slot))
        one.host, one.port = node
        one.kind, one.seeds = "", [node]
        return one

    def alone(self, node: Node) -> Place:
        """The same, shown by its own address: where several are asked and one may fail."""
        one = self.at(node)
        one.path = ""
        one.shown = f"{'rediss' if self.tls else 'redis'}://{one.name}"
        return one

    @property
    def name(self) -> str:
        """This server's address, for people."""
        return self.path or f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def watcher(self, node: Node) -> Place:
        """One of its sentinels, which have a login of their own."""
        one = self.at(node)
        (one.user, one.password), one.database = self.watch_login, 0
        return one


def _node(text: str, default: int) -> Node:
    host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
    found = (host if colon else text).strip("[]"), int(port) if colon else default
    if not found[0] or not 0 < found[1] < _PORT_END:
        raise ValueError(text)
    return found


def _named(service: str) -> str:
    if not service:
        raise ValueError(service)
    return service


def _decoded(text: str) -> str:
    """Percent-decoded: passwords may hold any character."""
    head, *parts = text.split("%")
    return head + b"".join(bytes.fromhex(part[:2]) + part[2:].encode() for part in parts).decode() if parts else text
