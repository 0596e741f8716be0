"""Our MCP server in a client's settings: put in and taken out by the client's own command, where it has one; what is there is read from its file."""

from __future__ import annotations

import os
import shutil

from ..errors import ChatError
from ..settings import told
from . import claude, codex, gemini, jsontext, merge, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any

    from .merge import Plan
    from .wiring import Wiring

NAME = "redischat"
MODULE = ("-m", "redischat", "mcp")
PACKAGE = "mcp"
EXTRA = "pip install 'redischat[mcp]'"
SECONDS = 30.0
ALWAYS = (2, 1, 121)  # Claude Code from here on knows alwaysLoad: without it tools are hidden behind a search
OPENCODE = "opencode.json"


class Server:
    """What one client is told: ``words`` that start the server, ``env`` beside them."""

    __slots__ = ("env", "words")

    def __init__(self, words: list[str], env: dict[str, str]) -> None:
        self.words, self.env = words, env

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Server) and (self.words, self.env) == (other.words, other.env)

    __hash__ = None  # type: ignore[assignment]

    @property
    def ours(self) -> bool:
        """Whether it is redischat's, of any environment."""
        return tuple(self.words[1:4]) == MODULE


class Step:
    """One thing to do for a client: ``said`` tells it; ``words`` is the client's own command, or ``plan`` a change of its file."""

    __slots__ = ("client", "plan", "said", "words")

    def __init__(self, client: str, said: str, words: list[str] | None = None, plan: Plan | None = None) -> None:
        self.client, self.said, self.words, self.plan = client, said, words, plan

    def record(self) -> dict[str, Any]:
        """As one JSON record."""
        return {"client": self.client, "mcp": self.said, "command": self.words}


def installable() -> bool:
    """Whether the package that the server needs is there."""
    from importlib.util import find_spec

    return find_spec(PACKAGE) is not None


def wanted(wiring: Wiring) -> Server:
    """What a client is to be told. Some give a server but few of their variables: where the state lies is said if it is not the usual place."""
    env = {"REDISCHAT_STATE": wiring.settings.state_dir} if any(wiring.env.get(name) for name in ("REDISCHAT_STATE", "XDG_STATE_HOME")) else {}
    return Server([wiring.python, *MODULE], env)


def registered(wiring: Wiring, client: str) -> Server | None:
    """What a client is told now under our name; None for nothing, or where its file cannot be read."""
    try:
        held: Any = _held(wiring, client)
        found = held[NAME]
        words = found["command"] if client == "opencode" else [found["command"], *found.get("args", ())]
        env = found.get("environment" if client == "opencode" else "env") or {}
        return Server([str(one) for one in words], {str(name): str(value) for name, value in env.items()})
    except (ChatError, ValueError, KeyError, TypeError, AttributeError, OSError):
        return None


def _held(wiring: Wiring, client: str) -> Any:
    if client == "codex":
        import tomllib

        with open(os.path.join(codex.home_of(wiring.home, wiring.env), "config.toml"), "rb") as file:
            return tomllib.load(file)["mcp_servers"]
    root = jsontext.parse((merge.read(merge.resolved(_file(wiring, client))) or b"{}").decode("utf-8-sig")).value
    if client == "claude":
        project = root["projects"]
        places = (wiring.settings.project, os.path.realpath(wiring.settings.project))
        return next((project[one]["mcpServers"] for one in places if project.get(one, {}).get("mcpServers")), {})
    return root["mcp" if client == "opencode" else "mcpServers"]


def _file(wiring: Wiring, client: str) -> str:
    if client == "claude":
        return os.path.join(wiring.env.get("CLAUDE_CONFIG_DIR") or wiring.home, ".claude.json")
    if client == "gemini":
        return gemini.target(wiring.settings.project, wiring.home, "user", wiring.env)
    return os.path.join(wiring.env.get("XDG_CONFIG_HOME") or os.path.join(wiring.home, ".config"), "opencode", OPENCODE)


def adding(wiring: Wiring) -> tuple[list[Step], list[str]]:
    """What would put the server in, for each client that has none of it or another one; and what must be said."""
    if not wiring.clients:
        return [], []
    if not installable():
        return [], [f"no MCP tools: they need a package ({EXTRA}); then set up again"]
    steps, notes, server = [], [], wanted(wiring)
    for client in wiring.clients:
        there = registered(wiring, client)
        if there == server:
            continue
        if there is not None and not there.ours:
            notes.append(f"{client}: an MCP server called {NAME} is registered there, and is not ours: left as it is")
        elif client == "opencode":
            steps += _planned(wiring, server, notes)
        elif _program(wiring, client):
            steps += [_removing(wiring, client)] if there else []
            steps.append(Step(client, "register the MCP server", [_program(wiring, client), *_add(wiring, client, server)]))
        else:
            notes.append(f"{client}: no MCP tools, its command is not on the PATH")
    return steps, notes


def removing(wiring: Wiring, clients: Collection[str]) -> tuple[list[Step], list[str]]:
    """What would take it out again, of those clients that have ours; and what must be said."""
    steps: list[Step] = []
    notes: list[str] = []
    for client in clients:
        there = registered(wiring, client)
        if there is None or not there.ours:
            continue
        if client == "opencode":
            steps += _planned(wiring, None, notes)
        elif _program(wiring, client):
            steps.append(_removing(wiring, client))
        else:
            notes.append(f"{client}: the MCP server stays registered, its command is not on the PATH: {client} mcp remove {NAME}")
    return steps, notes


def _add(wiring: Wiring, client: str, server: Server) -> list[str]:
    if client == "claude":
        from json import dumps

        known = claude.numbered(wiring.version("claude")) or ()
        always = {"alwaysLoad": True} if known >= ALWAYS else {}
        told_ = {"type": "stdio", "command": server.words[0], "args": server.words[1:], "env": server.env, **always}
        return ["mcp", "add-json", "--scope", "local", NAME, dumps(told_)]
    if client == "codex":
        return ["mcp", "add", *(word for name, value in server.env.items() for word in ("--env", f"{name}={value}")), NAME, "--", *server.words]
    env = [word for name, value in server.env.items() for word in ("-e", f"{name}={value}")]
    return ["mcp", "add", "--scope", "user", *env, NAME, server.words[0], "--", *server.words[1:]]


def _removing(wiring: Wiring, client: str) -> Step:
    scope = {"claude": ["--scope", "local"], "gemini": ["--scope", "user"]}.get(client, [])
    return Step(client, "take the MCP server out", [_program(wiring, client), "mcp", "remove", *scope, NAME])


def _program(wiring: Wiring, client: str) -> str:
    return shutil.which(client, path=wiring.env.get("PATH")) or ""


def _planned(wiring: Wiring, server: Server | None, notes: list[str]) -> list[Step]:
    """The change of OpenCode's file, which has no command for it."""
    path = _file(wiring, "opencode")
    try:
        plan = merge.drafted(merge.Plan("opencode", path, wiring.settings.state_dir), _edit(server), _facts(wiring) if server else None, "{}\n")
    except (ChatError, ValueError) as error:
        notes.append(f"opencode: no change of {told(path)}: {error}")
        return []
    said = "register the MCP server" if server else "take the MCP server out"
    return [Step("opencode", f"{said} in {told(path)}", plan=plan)] if plan.changes else []


def _edit(server: Server | None) -> merge.Editor:
    """The editor of OpenCode's settings: one member of ``mcp``, and no other byte."""

    def edit(old: str, kept: Collection[str]) -> tuple[str, list[str], bool, list[str]]:
        root = jsontext.parse(old)
        held = root.child("mcp")
        mine = held.child(NAME) if held else None
        edits = []
        if mine is not None and held is not None:
            alone = len(held.children) == 1 and "mcp" not in kept
            node = root if alone else held
            edits = jsontext.shrunk(node, {next(at for at, one in enumerate(node.children) if one.key == ("mcp" if alone else NAME))})
        text = jsontext.edited(old, edits)
        if server is None:
            return text, ["take the MCP server out"] if edits else [], mine is not None, []
        made = {"type": "local", "command": server.words, "environment": server.env, "enabled": True}
        root = jsontext.parse(text)
        held = root.child("mcp")
        edits = [jsontext.grown(text, root, held, made, NAME) if held else jsontext.grown(text, root, root, {NAME: made}, "mcp")]
        return jsontext.edited(text, edits), ["register the MCP server"], mine is not None, ["mcp"] if held and not held.children else []

    return edit


def _facts(wiring: Wiring) -> dict[str, str]:
    return {
        "client": "opencode", "python": told(wiring.python), "tick": told(wiring.tick), "version": "", "scripts": record.fingerprint(wiring.tick) or "none",
        "checkout": told(os.path.dirname(os.path.dirname(wiring.tick))),
    }  # fmt: skip


def done(wiring: Wiring, steps: list[Step]) -> list[str]:
    """Do them; a sentence for each that did not come about: what a client's command prints is no proof, its file is."""
    failed = []
    for one in steps:
        if one.plan is not None:
            merge.apply(one.plan)
        else:
            why = _run(wiring, one.words or [])
            there = registered(wiring, one.client)
            if (there is not None) != one.said.startswith("register"):
                failed.append(f"{one.client} did not {one.said}{': ' + why if why else ''}")
    return failed


def _run(wiring: Wiring, words: list[str]) -> str:
    from subprocess import DEVNULL, PIPE, STDOUT, SubprocessError, run

    try:
        ended = run(words, cwd=wiring.settings.project, env=dict(wiring.env), stdin=DEVNULL, stdout=PIPE, stderr=STDOUT, timeout=SECONDS, check=False)
    except (OSError, SubprocessError) as error:
        return str(error)[:200]
    rows = ended.stdout.decode("utf-8", "replace").strip().splitlines()
    return rows[-1][:200] if rows and ended.returncode else ""
