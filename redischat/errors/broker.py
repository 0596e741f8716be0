"""Where the broker could not be asked, or would not: each leaves nothing known and nothing changed. Also what a server's own words stand for.

Part of the tree on the package's first page.
"""

from __future__ import annotations

from . import BrokerRefused, ChatError, CouldNotLook, _Facts


class Unreachable(CouldNotLook):
    """No answer from the broker."""

    code = "BROKER_UNREACHABLE"
    text = "no broker at {url} ({why}). Is it the right one? redischat whoami shows where the address comes from"


class Sandboxed(CouldNotLook):
    """The harness forbids this process to open sockets."""

    code = "SANDBOXED"
    text = (
        "this shell runs in a sandbox that refuses sockets ({why}), so no broker can be reached or started from it. Ways that work: the redischat MCP tools "
        "and hooks, which run outside the sandbox; or, for Codex, sandbox_workspace_write.network_access=true in its config"
    )


class BrokerStuck(CouldNotLook):
    """A server holds the data directory but does not answer."""

    code = "BROKER_STUCK"
    text = "the embedded broker (pid {pid} on {host}) holds {directory} but does not answer. If it is stopped: kill -CONT {pid}. To end it: redischat server stop --force"


class BrokerNotStarted(CouldNotLook):
    """The embedded broker cannot be started here."""

    code = "BROKER_NOT_STARTED"
    text = "cannot start the embedded broker: {why}. {remedy}"


class BrokerTooOld(CouldNotLook):
    """The server lacks what redischat is built on."""

    code = "BROKER_TOO_OLD"
    text = "the server at {url} is {version}; redischat needs Redis 7.0 or Valkey 7.2 and newer. Point REDISCHAT_URL at such a one, or unset it to use the embedded broker"


class Loading(CouldNotLook):
    """The server is still reading its data from disk."""

    code = "BROKER_LOADING"
    text = "the broker at {url} is still loading its data. Try again in a moment; long waits: redischat server status"


class ReadOnly(CouldNotLook):
    """The server is a replica: writes go to its primary."""

    code = "BROKER_READONLY"
    text = "the broker at {url} is a read-only replica (READONLY): nothing was written. Point REDISCHAT_URL at the primary"


class OutOfMemory(CouldNotLook):
    """The server is at its memory limit: what adds is refused whole, what settles still works."""

    code = "BROKER_OUT_OF_MEMORY"
    text = "the broker at {url} is out of memory: nothing was stored. Reading, acking, leaving and closing still work; make room: redischat retain CHANNEL N --yes, or raise maxmemory"


class CannotPersist(CouldNotLook):
    """The server cannot write its data to disk and takes no more."""

    code = "BROKER_CANNOT_PERSIST"
    text = "the broker at {url} cannot write to its disk: nothing was stored ({answer}). Make room there; see redischat server logs"


class MaxClients(CouldNotLook):
    """The server takes no more connections."""

    code = "BROKER_MAX_CLIENTS"
    text = "the broker at {url} has reached its max number of clients. Close sessions that are over, or raise maxclients"


class BrokerUnable(CouldNotLook):
    """The server is there and cannot do it now: a Cluster that is down or moving, a replica without its primary, a script that takes too long."""

    code = "BROKER_UNABLE"
    text = "the broker at {url} cannot do this now ({answer}): nothing was done. Try again in a moment; if it says MOVED or ASK, name the Cluster: REDISCHAT_URL=redis+cluster://host:6379"


class Untrusted(CouldNotLook):
    """TLS with the server failed: its certificate, or ours, is not accepted."""

    code = "BROKER_UNTRUSTED"
    text = (
        "no TLS with the broker at {url}: {why}. Nothing was sent. Name its authority in the URL (?ca=/path/ca.pem), the host as its certificate has it, and a "
        "certificate of yours (&cert= &key=) if it asks for one; redischat whoami shows where the URL comes from"
    )


class NoService(CouldNotLook):
    """The sentinels do not know the service."""

    code = "BROKER_NO_SERVICE"
    text = "the sentinels of {url} know no service {service!r}. Name the one that their sentinel.conf monitors: redis+sentinel://host:26379/SERVICE; redischat whoami shows where the URL comes from"


class NotAllowed(CouldNotLook):
    """The server refused the credentials, or the user may not do this."""

    code = "BROKER_NOT_ALLOWED"

    def sentence(self) -> str:
        answer = str(self.facts.get("answer", ""))
        why = next((text for sign, text in _NOT_ALLOWED.items() if sign in answer), "")
        text = "the broker at {url} does not allow this ({answer}){why}. Where the address and its user come from: redischat whoami"
        return text.format_map(_Facts(self.facts, why=why and ": " + why))


class NotDurable(CouldNotLook):
    """A change was to be on disk or on replicas before it counts, and is not known to be. With ``done`` it is stored all the same, and not undone."""

    code = "NOT_DURABLE"

    def sentence(self) -> str:
        return f"{self.stands()}. {self._remedy()}"

    def stands(self) -> str:
        """What there is now and how safe it is, without what to do about it."""
        facts = self.facts
        what = (
            "{task} of #{channel}" if facts.get("task") else "the lock {lock_id}" if facts.get("lock_id") else "#{channel} {seq}" if facts.get("seq") else "it"
        )
        safe = "not as safe as asked: on {have}, not on {asked}"
        if facts.get("given_back"):
            text = f"{what} was {safe}; it was given back, and you do not hold it"
        elif not facts.get("done"):
            text = "this broker cannot promise {asked}: {why}. Nothing was done"
        elif self.holds:
            text = f"you hold {what}, and that is {safe}. If the broker fails now it may be lost"
        else:
            text = f"{what} is stored, and {safe}. If the broker fails now it may be lost"
        return text.format_map(_Facts(facts))

    @property
    def holds(self) -> bool:
        """Whether it is a task or paths, and the caller has them now."""
        return bool(self.facts.get("done") and (self.facts.get("task") or self.facts.get("lock_id")))

    def _remedy(self) -> str:
        if self.facts.get("given_back"):
            text = "Try again when the copies are there, or ask for fewer; which broker this is: redischat whoami"
        elif not self.facts.get("done"):
            text = "Leave out --durable, unset REDISCHAT_DURABLE, or use another one: redischat whoami"
        elif self.holds:
            noun, what = ("task ", "{task}") if self.facts.get("task") else ("", "{lock_id}")
            back = "release" if noun else "unlock"
            text = f"To ask again, with the same --durable or --replicas: redischat {noun}renew {{channel}} {what}; to give it back: redischat {noun}{back} {{channel}} {what}"
        else:
            again = "the same command with --idem {idem}" if self.facts.get("idem") else "the same command"
            text = f"To ask again, which does nothing twice: {again}"
        return text.format_map(_Facts(self.facts))


_NOT_ALLOWED = {  # a sign in the server's words -> what is probably so
    "'eval": "this user may only look, and this verb changes something. Whoever keeps the broker makes users: redischat admin user add NAME",
    "WRONGPASS": "it does not know this user with this password, or not any more (revoked, or given a new one); ask whoever keeps it",
    "NOAUTH": "it wants a user and a password, in REDISCHAT_URL",
    " key": "this user is of another workspace",
    "channel": "this user is of another workspace, or may only look: such a one waits for nothing, it reads (redischat read CHANNEL --all)",
}


_BY_ANSWER: dict[str, type[ChatError]] = {
    "LOADING": Loading, "READONLY": ReadOnly, "OOM": OutOfMemory, "MISCONF": CannotPersist, "NOAUTH": NotAllowed, "WRONGPASS": NotAllowed,
    "NOPERM": NotAllowed, "ERR ACL failure": NotAllowed, "ERR The user executing the script": NotAllowed, "TRYAGAIN": BrokerUnable, "MOVED": BrokerUnable,
    "ASK": BrokerUnable, "CLUSTERDOWN": BrokerUnable, "MASTERDOWN": BrokerUnable, "BUSY ": BrokerUnable, "NOREPLICAS": BrokerUnable,
    "ERR max number of clients": MaxClients, "ERR invalid password": NotAllowed, "ERR AUTH": NotAllowed,
}  # fmt: skip
# What 6.x says to XADD 0-*, SPUBLISH and SHARDNUMSUB.
_OLD = ("unknown command", "Invalid stream ID", "Unknown Redis command", "wrong number of arguments for 'xadd'", "Unknown PUBSUB subcommand")
_OLDEST = 7
PASSING = (
    "TRYAGAIN",
    "MOVED",
    "ASK",
    "CLUSTERDOWN",
    "LOADING",
    "MASTERDOWN",
    "NOREPLICAS",
    "BUSY ",
)  # worth asking again with the same key; READONLY once reconnected


def of_server(answer: str, url: str) -> ChatError:
    """The error that a server's own words stand for (prefixes: servers append where in a script it happened); ``url`` redacted."""
    for prefix, cls in _BY_ANSWER.items():
        if answer.startswith(prefix):
            return cls(url=url, answer=answer.partition(" script: ")[0])
    if any(sign in answer for sign in _OLD):
        return BrokerTooOld(url=url, version="older", answer=answer)
    return BrokerRefused(url=url, answer=answer.partition(" script: ")[0])


def of_tls(error: BaseException | None, url: str, files: str = "") -> Untrusted | None:
    """The refusal that a TLS error stands for, which no waiting cures; None for any other error, also for a connection that broke while TLS began."""
    while error is not None:
        names = {cls.__name__ for cls in type(error).__mro__}
        if "SSLError" in names and not names & _BROKEN_TLS:
            why = getattr(error, "verify_message", "") or (getattr(error, "reason", "") or str(error)).replace("_", " ").lower()
            return Untrusted(url=url, why=f"{why}{f' ({files})' if files else ''}")
        error = error.__cause__ or error.__context__
    return None


def broke(error: BaseException, why: str, *, tls: bool) -> str:
    """``why`` a connection broke; one that is to be TLS may break because of that, and then nobody says so."""
    while tls and error is not None:
        if isinstance(error, ConnectionError) or "SSLError" in {cls.__name__ for cls in type(error).__mro__}:
            hung_up = not isinstance(error, ConnectionRefusedError)
            return f"{why}; perhaps no TLS is spoken there, or a certificate of yours is asked for (&cert= &key=)" if hung_up else why
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return why


_BROKEN_TLS = {"SSLEOFError", "SSLZeroReturnError", "SSLSyscallError", "SSLWantReadError", "SSLWantWriteError"}


def told_version(error: BrokerTooOld, info: str) -> ChatError:
    """``error`` with the version that INFO server tells; or, from a server that is new enough, its own words: it lacks a command for another reason."""
    facts = dict(row.split(":", 1) for row in info.splitlines() if ":" in row)
    version = facts.get("redis_version", "")
    if version.partition(".")[0].isdecimal() and int(version.partition(".")[0]) >= _OLDEST:
        return BrokerRefused(url=error.facts["url"], answer=error.facts["answer"])
    return BrokerTooOld(url=error.facts["url"], version=f"version {version}" if version else "older", answer=error.facts["answer"])
