"""Where the broker is, which workspace, who I am, and where each value came from.

Flag, then environment, then the project's ``.redischat/config``, then what this user's state directory remembers. Reads files, opens no connection.
"""

from __future__ import annotations

import os
from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib costs 3 ms

from ..errors import NoIdentity, SpeakAsYourself, TwoIdentities
from .place import Place, redacted

__all__ = [
    "CONFIG",
    "DEFAULT_WORKSPACE",
    "SESSION_BY",
    "SEVERAL",
    "Binding",
    "Place",
    "Settings",
    "cwd",
    "digest",
    "here",
    "host",
    "read_pairs",
    "redacted",
    "told",
    "write_pairs",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

DEFAULT_WORKSPACE = "default"
CONFIG = os.path.join(".redischat", "config")
SESSION_BY = ("CLAUDE_CODE_SESSION_ID", "REDISCHAT_SESSION", "GEMINI_SESSION_ID")  # which says of which session a shell is; the first counts
SEVERAL = "more than one here: "  # where a name comes from, when none does


class Binding:
    """This user's proof that a session holds a name: the token, and when, for which session and in which project it was drawn."""

    __slots__ = ("agent", "drawn", "host", "path", "project", "session", "token")

    def __init__(self, path: str, facts: Mapping[str, str]) -> None:
        self.path = path
        self.agent, self.token, self.drawn = facts.get("agent", ""), facts.get("token", ""), facts.get("drawn", "").zfill(20)
        self.session, self.project, self.host = facts.get("session", ""), facts.get("project", ""), facts.get("host", "")


class Settings:
    """One caller's place: ``url workspace agent token session project state_dir embedded``; ``sources`` says where each came from.

    Names are as given: whoever uses them checks them (names.py). ``home`` is the project's path as text that brokers and files can hold.
    """

    __slots__ = (
        "agent",
        "bindings",
        "embedded",
        "env",
        "home",
        "project",
        "session",
        "session_id",
        "sources",
        "state_dir",
        "token",
        "url",
        "warnings",
        "wished",
        "workspace",
    )

    def __init__(self, flags: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> None:
        self.env = env
        self.sources: dict[str, str] = {}
        self.warnings: list[str] = []
        self.state_dir = _state_dir(env)
        self.project = _project(env, cwd, self.sources)
        self.home = told(self.project)
        config = self._trusted(read_pairs(os.path.join(self.project, CONFIG)), given=bool(flags.get("url") or env.get("REDISCHAT_URL")))
        self.embedded = "unix://" + os.path.join(self.state_dir, "broker", "s")
        self.url = self._pick("url", flags.get("url"), "REDISCHAT_URL", config, self.embedded, "the embedded broker of this user")
        self.workspace = self._pick("workspace", flags.get("workspace"), "REDISCHAT_WORKSPACE", config, DEFAULT_WORKSPACE, "default")
        self.session_id = told(next(filter(None, map(env.get, SESSION_BY)), ""))
        self.session = self.session_id or f"shell@{host()}:{self.home}"
        self.bindings = self._bindings()
        self.wished = config.get("agent", "")
        self.agent, self.token = self._who(flags.get("as_"))

    def _trusted(self, config: dict[str, str], *, given: bool) -> dict[str, str]:
        """The project's file, without an address that nobody here has chosen: a repository may bring one, and its broker would hear all that is said."""
        url = config.get("url")
        if not url or given or read_pairs(note_of(self.state_dir, self.home)).get("url") == url:
            return config
        self.warnings.append(
            f"this project's {CONFIG} names the broker {redacted(url)}, which no setup of yours has chosen (a file of the repository?): it is not used. "
            "If it is your team's: redischat setup CHANNEL --url URL"
        )
        return {key: value for key, value in config.items() if key != "url"}

    def _pick(self, what: str, flag: str | None, variable: str, config: Mapping[str, str], default: str, why: str) -> str:
        """The first that is given, with its source; says so when environment and project disagree."""
        given = [(flag, "--" + what), (self.env.get(variable), variable), (config.get(what), os.path.join(self.project, CONFIG)), (default, why)]
        value, self.sources[what] = next((text, source) for text, source in given if text)
        project = config.get(what)
        if project and not flag and project != value:
            self.warnings.append(f"{variable} ({redacted(value)}) and this project's {CONFIG} ({redacted(project)}) name different {what}s: using {variable}")
        return value

    def bindings_dir(self) -> str:
        """Where this user's tokens for this broker and workspace lie; a digest, so that no name can lead elsewhere. A new password leads to the same ones."""
        world = f"{redacted(self.url)}\n{self.workspace.lower()}".encode("utf-8", "surrogateescape")
        return os.path.join(self.state_dir, "bindings", sha1(world).hexdigest()[:16])

    def binding(self, agent: str) -> str:
        """Where the proof that this session holds ``agent`` lies. One file a session: whoever loses a name still knows which one it was."""
        return os.path.join(self.bindings_dir(), "-".join(digest(text) for text in (self.session, self.home, agent.lower())))

    def _bindings(self) -> list[Binding]:
        """What this user holds in this session and in this project; files of others are not opened, however many there are."""
        session, project, directory = digest(self.session), digest(self.home), self.bindings_dir()
        try:
            found = [one.split("-") for one in sorted(os.listdir(directory)) if not one.endswith(".tmp")]
        except OSError:
            return []
        paths = [os.path.join(directory, "-".join(parts)) for parts in found if parts[0] == session or parts[1:2] == [project]]
        return [Binding(path, facts) for path in paths if (facts := read_pairs(path)).get("token")]

    def _who(self, flag: str | None) -> tuple[str, str]:
        """Flag, environment, my session's binding, the only binding of this project, the project's wished-for name; "" if none."""
        wanted, mine = flag or "", self._mine()
        from_env = self.env.get("REDISCHAT_AGENT", "")
        if from_env:
            agent, source = from_env, "REDISCHAT_AGENT"
        elif len(mine) == 1:
            agent, source = mine[0].agent, "this session's identity" if self.session_id else "the only agent of this project"
        elif not mine and self.wished:
            agent, source = self.wished, os.path.join(self.project, CONFIG)
        elif not mine and self.session_id:
            agent, source = self.own_name(), "this session's default"
        else:
            agent, source = "", "nobody yet" if not mine else SEVERAL + ", ".join(sorted(one.agent for one in mine))
        if wanted:
            may = not agent or source == "this session's default" or any(one.agent.lower() == wanted.lower() for one in mine)
            if wanted.lower() != agent.lower() and not may:
                raise SpeakAsYourself(agent=agent, wanted=wanted)
            agent, source = wanted, "--as"
        self.sources["agent"] = source
        token = next((one.token for one in mine if one.agent.lower() == agent.lower()), "")
        return agent, token or self.env.get("REDISCHAT_TOKEN", "")

    def _mine(self) -> list[Binding]:
        """The names that this caller may speak under by what its user holds: its session's; for a shell without a session id, else its project's."""
        if self.session_id:
            return [one for one in self.bindings if one.session == self.session]
        here = sorted((one for one in self.bindings if one.project == self.home), key=lambda one: one.drawn)
        own = [one for one in here if one.session == self.session]
        return list({one.agent.lower(): one for one in own or here}.values())

    def own_name(self) -> str:
        """A name that is unique to this session: the project's, and the last 8 characters of the session's id (the first ones may be a time)."""
        letters = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in os.path.basename(self.project)).strip("._-")[:40]
        own = "".join(c for c in self.session_id if c.isascii() and c.isalnum())[-8:]
        return f"{letters or 'agent'}-{own or sha1(self.session_id.encode()).hexdigest()[:8]}"

    def only_wished(self) -> bool:
        """Whether this shell's name is that of the next session: no session that is nobody yet, and nothing but the project's wish says who it is."""
        return not self.session_id and self.sources["agent"].endswith(CONFIG)

    def me(self) -> str:
        """The agent, or a refusal that says how to become one."""
        if self.agent:
            return self.agent
        mine = self._mine()
        if len(mine) > 1:
            held = sorted(one.agent for one in mine)
            raise TwoIdentities(names=f"{', '.join(held[:-1])} and {held[-1]}", first=held[0])
        raise NoIdentity


def here(flags: Mapping[str, Any]) -> Settings:
    """The settings of this process, also of one whose directory was removed under it."""
    return Settings(flags, os.environ, cwd())


def cwd() -> str:
    """What relative paths are relative to; also where the directory was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return os.environ.get("PWD") or os.sep


def note_of(state_dir: str, home: str) -> str:
    """Where this user's note of a project's setup lies."""
    return os.path.join(state_dir, "projects", str(sha1(home.encode("utf-8", "surrogateescape")).hexdigest()[:16]))


def host() -> str:
    """This machine's name."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "here")


def told(path: str) -> str:
    """A path as text that brokers and files of lines can hold: what is no UTF-8 or not printable is spelt out."""
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def read_pairs(path: str) -> dict[str, str]:
    """``key=value`` lines of a file; nothing when it cannot be read."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return dict(row.rstrip("\n").split("=", 1) for row in file if "=" in row)
    except (OSError, ValueError):
        return {}


def write_pairs(path: str, facts: Mapping[str, str]) -> None:
    """``facts`` as ``key=value`` lines, private to this user, whole or not at all."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    draft = f"{path}.{os.getpid()}.tmp"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.writelines(f"{key}={value}\n" for key, value in facts.items())
    os.replace(draft, path)


def _state_dir(env: Mapping[str, str]) -> str:
    given = env.get("REDISCHAT_STATE")
    base = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.abspath(given or os.path.join(base, "redischat"))


def _project(env: Mapping[str, str], cwd: str, sources: dict[str, str]) -> str:
    given = env.get("CLAUDE_PROJECT_DIR")
    if given:
        sources["project"] = "CLAUDE_PROJECT_DIR"
        return os.path.realpath(given)
    at = cwd
    while True:
        for mark in (".redischat", ".git"):
            if os.path.exists(os.path.join(at, mark)):
                sources["project"] = "nearest " + mark
                return at
        up = os.path.dirname(at)
        if up == at:
            sources["project"] = "current directory"
            return cwd
        at = up


def digest(text: str) -> str:
    """A short name for a text, that tells nothing of it."""
    return str(sha1(text.encode()).hexdigest()[:8])
