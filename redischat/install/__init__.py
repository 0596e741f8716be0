"""Putting our hooks into a harness's settings and taking them out, and saying what is there. Nothing is touched before :func:`apply`."""

from __future__ import annotations

import os

from ..errors import Refused, Usage
from ..settings import told
from . import claude, codex, entries, gemini, jsontext, merge, opencode, record
from .codex import trust
from .command import command_line
from .merge import Plan, apply
from .status import Status, installed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from types import ModuleType

CLIENTS: dict[str, ModuleType] = {"claude": claude, "codex": codex, "gemini": gemini, "opencode": opencode}

__all__ = ["CLIENTS", "Plan", "Status", "apply", "command_line", "installed", "others", "plan", "plans", "scopes", "targets", "trust"]


def scopes(client: str) -> tuple[str, ...]:
    """The scopes of a client; the first is the one that install takes when nothing is said.

    Raises:
        Usage: there is no such client.
    """
    if client not in CLIENTS:
        raise Usage(message=f"no harness is called {client!r}: it is one of {', '.join(CLIENTS)}")
    found: tuple[str, ...] = CLIENTS[client].SCOPES
    return found


def targets(project: str, home: str, client: str, scope: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """The file that a client reads its hooks from in a scope; ``env`` (else this process's) may move it: CLAUDE_CONFIG_DIR, CODEX_HOME ...

    Raises:
        Usage: there is no such client, or it has no such scope.
    """
    known = scopes(client)
    if scope and scope not in known:
        raise Usage(message=f"{client} has no scope {scope!r}: it is one of {', '.join(known)}")
    path: str = CLIENTS[client].target(project, home, scope or known[0], os.environ if env is None else env)
    return path


def others(project: str, home: str, client: str, path: str, env: Mapping[str, str] | None = None) -> list[str]:
    """The client's files of the other scopes than that of ``path``, in its order."""
    real = os.path.realpath(path)
    return [one for one in (targets(project, home, client, scope, env) for scope in scopes(client)) if os.path.realpath(one) != real]


def plan(
    client: str,
    path: str,
    python: str,
    tick: str,
    *,
    state_dir: str,
    version: str | None = None,
    remove: bool = False,
    elsewhere: Sequence[str] = (),
    text: str = "",
    waiter: bool = False,
) -> Plan:
    """What install (or, with ``remove``, uninstall) would do to the file ``path``. ``python`` and ``tick`` are absolute.

    ``version``: what the client's ``--version`` prints. ``elsewhere``: its files of other scopes, to see a plugin and duplicates. ``text``: OpenCode's plugin. ``waiter``: Claude
    Code's idle sessions are woken by one that blocks.

    Raises:
        Refused: the file is no JSON (``line``), has no room for hooks, or is no regular file; the client is too old; our plugin is enabled there.
    """
    scopes(client)
    draft = Plan(client, path, state_dir)
    draft.again = lambda: plan(client, path, python, tick, state_dir=state_dir, version=version, remove=remove, elsewhere=elsewhere, text=text, waiter=waiter)
    facts = None if remove else _facts(client, python, tick, version)
    if client == "opencode":
        return merge.drafted(draft, _plugin_edit(draft, opencode.rendered(text, python, tick), remove=remove), facts, "")
    module = CLIENTS[client]
    groups = {} if remove else module.wanted(python, tick, version)
    more = {claude.WAITER: claude.waiters(python, tick, version) if waiter and not remove else {}} if client == "claude" else {}
    done = merge.drafted(draft, _hooks_edit(draft, {client: groups, **more}, module.wanted(python, tick, None)), facts, module.EMPTY)
    if not remove:
        _never_both(done, elsewhere)
        done.warnings += [*module.doubts(version), *_twice(done, elsewhere, groups)]
    elif client == "codex" and done.changes:
        done.warnings += codex.moved(path)
    return done


def plans(
    client: str,
    project: str,
    home: str,
    python: str,
    tick: str,
    *,
    state_dir: str,
    scope: str | None = None,
    version: str | None = None,
    remove: bool = False,
    text: str = "",
    env: Mapping[str, str] | None = None,
    waiter: bool = False,
) -> list[Plan]:
    """:func:`plan` for a scope, and with it the end of our entries in the project's other file: an older install may have written there.

    The user's own file serves other projects too: it is changed only when it is the scope. A file of the project that cannot be read is a warning.
    """
    path = targets(project, home, client, scope, env)
    rest = others(project, home, client, path, env)
    first = plan(client, path, python, tick, state_dir=state_dir, version=version, remove=remove, elsewhere=rest, text=text, waiter=waiter)
    found = [first]
    mine = targets(project, home, client, "user", env)
    for old in rest if (scope or scopes(client)[0]) != "user" else []:
        if old == mine:
            continue
        try:
            drop = plan(client, old, python, tick, state_dir=state_dir, remove=True)
        except Refused as error:
            first.warnings.append(f"cannot tell whether an older install is in {told(old)}: {error}")
            continue
        drop.changes = [f"drop our old entry in {told(old)}: {change}" for change in drop.changes] if not remove else drop.changes
        found += [drop] if drop.changes else []
    return found


def _facts(client: str, python: str, tick: str, version: str | None) -> dict[str, str]:
    return {
        "client": client,
        "python": told(python),
        "tick": told(tick),
        "version": told(version or ""),
        "scripts": record.fingerprint(tick) or "none",
        "checkout": told(os.path.dirname(os.path.dirname(tick))),
    }


def _hooks_edit(draft: Plan, wanted: Mapping[str, entries.Groups], known: Collection[str]) -> merge.Editor:
    """The editor of a settings file of hooks; ``wanted``: what the client's own entries are to be, and those of its waiters."""

    def edit(old: str, kept: Collection[str]) -> tuple[str, list[str], bool, list[str]]:
        try:
            root = jsontext.parse(old)
            new, changes = old, []
            for name, groups in wanted.items():
                new, more = entries.merged(new, name, groups, kept)
                changes += more if name == draft.client else [f"{change} (waiter)" for change in more]
        except (jsontext.Broken, entries.Unfit) as error:
            raise merge.refused(draft.path, f"line {error.line}: {error.why}", "Mend it, then try again", line=error.line) from None
        empty = [name for name in entries.empties(root) if name == "hooks" or name in wanted[draft.client] or name in known]
        return new, changes, any(entries.found(root, name) for name in wanted), empty

    return edit


def _plugin_edit(draft: Plan, text: str, *, remove: bool) -> merge.Editor:
    """The editor of OpenCode's plugin file."""

    def edit(old: str, _: Collection[str]) -> tuple[str, list[str], bool, list[str]]:
        mine = opencode.ours(old)
        if old and not mine:
            if remove:
                return old, [], False, []
            raise merge.refused(draft.path, "it is a plugin of that name, and not ours", "Move it away, then try again")
        if remove:
            return "", ["remove the plugin"] if mine else [], mine, []
        return text, [] if old == text else ["update the plugin" if mine else "write the plugin"], mine, []

    return edit


def _never_both(done: Plan, elsewhere: Sequence[str]) -> None:
    """A plugin's copy of a hook is one more: with both, each message would be shown twice."""
    from .status import plugin_enabled

    enabled, doubts = plugin_enabled(done.client, [done.path, *elsewhere])
    if enabled:
        raise Refused(
            message=f"the redischat plugin is enabled in {told(enabled)}, and with hooks in {told(done.path)} as well each would run twice: nothing was done. "
            "Keep the plugin, or first: claude plugin uninstall redischat",
            path=told(enabled),
        )
    done.warnings += doubts


def _twice(done: Plan, elsewhere: Sequence[str], groups: entries.Groups) -> list[str]:
    """Entries of ours in files of other scopes: Claude Code runs one that is the same in both once, all else would run twice."""
    from .status import entries_in

    once = [groups[name]["hooks"][0] for name in groups] if done.client == "claude" else []
    found = []
    for path in elsewhere:
        ticks = sorted({told(one.tick) for one in entries_in(done.client, path) if one.shape["hooks"][one.place] not in once})
        found += [f"{told(path)} registers redischat too ({', '.join(ticks)}): both would run. Uninstall that one"] if ticks else []
    return found
