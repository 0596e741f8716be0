"""The one table of verbs: name, places, flags, kinds, help. click is made from it; the quick way in reads the same.

A place or flag is (parameter, kind, help); kinds: text, texts (may be said again), int, seconds, lease (seconds too, judged by the verb), flag; a place may
be ``many``, or optional when its name ends in "?". Two flags of one parameter are two spellings of it. A verb of several words is one of a group.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMON = {
    "--as": ("as_", "text", "the agent that acts (else REDISCHAT_AGENT, else this session's)"),
    "--workspace": ("workspace", "text", "the team's world (else REDISCHAT_WORKSPACE, else 'default')"),
    "--url": ("url", "text", "the broker (else REDISCHAT_URL, else the embedded one)"),
    "--json": ("json", "flag", "one JSON record a line"),
}
_IDEM = {"--idem": ("idem", "text", "an idempotency key of your own: the same key within 24 h happens once")}
DURABLE = {  # of each verb that changes what somebody relies on
    "--durable": ("durable", "flag", "done only once it is on the broker's disk (else REDISCHAT_DURABLE; Redis >= 7.2)"),
    "--replicas": ("replicas", "int", "done only once so many replicas have it (else REDISCHAT_REPLICAS); with --durable, on their disks"),
}
_OPEN = {
    "--topic": ("topic", "text", "what it is about, one line"),
    "--members": ("members", "text", "a,b: members from the start, even if they first appear days later"),
    "--briefing": ("briefing", "text", "house rules, shown to each joiner (2,000 characters)"),
    "--briefing-file": ("briefing_file", "text", "house rules from a file"),
    "--broadcast": ("broadcast", "flag", "an unaddressed message wakes nobody; every identified agent joins"),
    "--max-messages": ("max_messages", "int", "close after so many messages (200; 0 = never; broadcast: never)"),
}
_SAY = {
    "--file": ("file", "text", "the message is this file; '-' is standard input"),
    "--to": ("to", "text", "a,b: wake only these; the others see it all the same"),
    "--to-all": ("to_all", "flag", "wake everyone, even in a broadcast channel"),
    "--to-none": ("to_none", "flag", "wake nobody"),
    "--reply": ("reply", "int", "the number of the message that this answers"),
    "--thread": ("thread", "text", "a mark that belongs together"),
    "--title": ("title", "text", "one line above the message"),
    "--status": ("status", "text", "what kind of message (discussion)"),
    "--from": ("from_", "text", "as --as"),
    "--body": ("body", "text", "as TEXT"),
    "--body-file": ("body_file", "text", "as --file"),
    **_IDEM,
}
_LEASE = dict.fromkeys(("--lease-seconds", "--lease", "--ttl"), ("lease", "lease", "how many seconds it is yours without another word (300)"))
_STEAL = {"--steal-expired": ("steal_expired", "flag", "take it over if its holder's lease has run out; the audit names the holder")}
_TOKEN = {"--token": ("fence", "int", "refuse if this is not its fencing token any more")}
_WHY = {"--reason": ("reason", "text", "why, for whoever reads it later")}
_BY = {"--from": ("from_", "text", "as --as")}
_HOLDER = dict.fromkeys(("--from", "--owner"), ("from_", "text", "as --as"))
_ACTOR = {
    **dict.fromkeys(("--from", "--actor"), ("from_", "text", "as --as")),
    "--no-audit": ("no_audit", "flag", "accepted and not needed: a summary leaves no audit"),
}
_TASK = {
    "--owner": ("owner", "text", "whom it is meant for"),
    "--depends-on": ("depends_on", "texts", "a,b: tasks that must be done first"),
    "--files-hint": ("files_hint", "texts", "a,b: files that it will touch, below the repository's root"),
    "--acceptance": ("acceptance", "texts", "one sentence by which it counts as done; say it again for each, commas stay"),
    "--branch": ("branch", "text", "the branch it is done on"),
    "--priority": ("priority", "int", "0 (most urgent) to 4 (2)"),
}
_REPO = {"--repo": ("repo", "text", "the repository, for a caller without a checkout (else this checkout's; check and locks show it)")}
_PENDING = {"--resolve-publication": ("resolve_publication", "text", "rollback or published: accepted and not needed, nothing here is ever half-done")}
_TAKE_OVER = {
    "--take-over": ("take_over", "flag", "take a name whose holder was not seen for 2 minutes and sleeps at no door"),
    "--force": ("force", "flag", "take a live holder's name: a person's way"),
    "--reason": ("reason", "text", "said to the channels when a name changes hands"),
}
_HARNESS = {"--harness": ("harness", "text", "a,b: claude, codex, gemini, opencode; or none (else the one that this shell runs in, else those on the PATH)")}
_SCOPE = {"--scope": ("scope", "text", "whose settings: local (this checkout, claude only), project or user (claude: local; others: user)")}
_HANDED = {
    "--out": ("out", "text", "write the URL to hand over into this new file (0600), as variables for a shell, and print none"),
    "--host": ("host", "text", "HOST or HOST:PORT under which the user reaches this broker (else as I do)"),
}
_ANYWAY = {"--anyway": ("anyway", "flag", "also from an environment that looks temporary")}
_NO_MCP = {"--no-mcp": ("no_mcp", "flag", "register no MCP server with the harness")}
_DRY = {"--dry-run": ("dry_run", "flag", "say what would change, and change nothing")}


class Verb:
    """One verb: where it lives (``noun``.``runner``), what it takes, what it is for."""

    __slots__ = ("example", "flags", "help", "noun", "places", "preset", "required", "runner")

    def __init__(
        self,
        noun: str,
        places: str,
        help_: str,
        example: str,
        flags: dict[str, tuple[str, str, str]] | None = None,
        *,
        runner: str = "",
        required: tuple[str, ...] = (),
        **preset: Any,
    ) -> None:
        self.noun, self.help, self.example, self.required, self.preset = noun, help_, example, required, preset
        self.places = tuple(_place(one) for one in places.split())
        own = flags or {}
        own = {**own, **DURABLE} if "--idem" in own or "--lease" in own else own
        self.flags = {**own, **{flag: one for flag, one in COMMON.items() if flag not in own}}
        self.runner = runner

    def spellings(self) -> dict[str, tuple[list[str], str, str]]:
        """Parameter -> its flags, kind, help."""
        found: dict[str, tuple[list[str], str, str]] = {}
        for flag, (parameter, kind, help_) in self.flags.items():
            found.setdefault(parameter, ([], kind, help_))[0].append(flag)
        return found


def _place(text: str) -> tuple[str, str, bool, bool]:
    """``channel``, ``text?``, ``seq:int``, ``channels*`` as (parameter, kind, needed, many)."""
    name, _, kind = text.partition(":")
    bare = name.rstrip("?*")
    return bare, kind or "text", not name.endswith(("?", "*")), name.endswith("*")


VERBS: dict[str, Verb] = {
    "identify": Verb("agents", "name", "be an agent in this session, and join the open broadcast channels", "redischat identify heron", {"--project": ("project", "flag", "the name that new sessions of this project wish for"), **_TAKE_OVER, **_IDEM}),
    "whoami": Verb("agents", "", "who, where, and where each value comes from", "redischat whoami"),
    "who": Verb("who", "", "who is there: what each session does, since when, and whether waking it works", "redischat who", {"--all": ("all_", "flag", "also sessions that are over, and names never seen")}),
    "setup": Verb("setup", "channel", "do all of it: broker, hooks, a name, and into the channel; twice is once", "redischat setup dock --as heron", {
        "--as": ("name", "text", "who to be (else who I am, else a name after the project)"),
        "--topic": _OPEN["--topic"],
        "--briefing": _OPEN["--briefing"],
        "--briefing-file": _OPEN["--briefing-file"],
        "--max-messages": _OPEN["--max-messages"],
        "--wake": ("wake", "text", "how an idle session of Claude Code is woken: file (it watches one), or waiter (one process a session blocks; faster)"),
        **_HARNESS, **_SCOPE, **_NO_MCP, **_ANYWAY, **_DRY,
    }),
    "teardown": Verb("setup", "", "undo setup: give everything back, leave every channel, take the hooks out", "redischat teardown --dry-run", _DRY),
    "install": Verb("hooks", "", "put the hooks into a harness's settings; nothing else", "redischat install --harness claude", {
        **_HARNESS, **_SCOPE,
        "--check": ("check", "flag", "only say whether they are as they should be; exit 1 if not"),
        **_ANYWAY, **_DRY,
    }),
    "uninstall": Verb("hooks", "", "take the hooks out again; nothing else, and nothing that other projects count on", "redischat uninstall", {**_HARNESS, **_SCOPE, **_DRY}),
    "doctor": Verb("doctor", "", "what works and what does not, each claim on its own; exit 1: something is wrong, 5: could not look", "redischat doctor", _HARNESS),
    "fingerprint": Verb("doctor", "", "the digest of the hooks' scripts and of all of redischat, and whether this session started with it", "redischat fingerprint"),
    "sync": Verb("agents", "", "join the broadcast channels opened since", "redischat sync"),
    "workspaces": Verb("agents", "", "the workspaces of this broker", "redischat workspaces"),
    "open": Verb("channels", "channel", "create a channel, or join the one there is", "redischat open dock --members heron,lynx --topic 'the eq regression'", {**_OPEN, **_IDEM}),
    "init": Verb("channels", "channel", "as open", "redischat init dock --members heron,lynx", {**_OPEN, **_IDEM}, runner="open"),
    "join": Verb("channels", "channel", "join a channel at its end, or create it", "redischat join dock", {**_OPEN, "--since": ("since", "int", "read from this message on (0: from the start)"), **_IDEM}),
    "leave": Verb("channels", "channel", "leave; the last one out closes it", "redischat leave dock", {"--ask": ("ask", "flag", "ask in the channel first whether anything is left; changes nothing"), **_IDEM}),
    "close": Verb("channels", "channel", "close a channel, saying why", "redischat close dock --reason 'shipped'", {"--reason": ("reason", "text", "why, for whoever reads it later"), **_IDEM}, required=("reason",)),
    "reopen": Verb("channels", "channel", "bring a closed channel back, or raise the cap of an open one", "redischat reopen dock --max-messages 400", {"--max-messages": ("max_messages", "int", "the new cap (0 = none)"), **_IDEM}),
    "delete": Verb("channels", "channel", "destroy a channel and all that was said; tells what would go without --yes", "redischat delete dock", {"--yes": ("yes", "flag", "really"), **_IDEM}),
    "mode": Verb("channels", "channel mode", "ordinary: an unaddressed message wakes all members; broadcast: nobody", "redischat mode dock broadcast --yes", {"--yes": ("yes", "flag", "yes, change it for everyone"), **_IDEM}),
    "briefing": Verb("channels", "channel text?", "read the house rules of a channel, or set them", "redischat briefing dock --file rules.md", {"--file": ("file", "text", "set them from a file; '-' is standard input"), **_IDEM}),
    "budget": Verb("budgets", "channel", "how much may be said in a channel, or by one of its agents, in a span of time; without a number: what is used", "redischat budget dock --messages 50 --per 1h", {
        "--agent": ("agent", "text", "only what this agent says there"),
        "--messages": ("messages", "int", "so many messages"),
        "--characters": ("characters", "int", "so many characters"),
        "--per": ("per", "text", "in this time: 90s, 15m, 1h, 1d (1h); it begins with the first message"),
        "--off": ("off", "flag", "no budget any more"),
        **_IDEM,
    }),
    "invite": Verb("channels", "channel", "a text that brings another session into a channel", "redischat invite dock"),
    "channels": Verb("channels", "", "the open channels", "redischat channels", {"--all": ("all_", "flag", "the closed ones too")}),
    "roster": Verb("channels", "channel", "who is in a channel, and when each was last seen", "redischat roster dock"),
    "retain": Verb("channels", "channel messages:int", "forget all but the newest N messages; tells how many would go without --yes", "redischat retain dock 1000", {"--yes": ("yes", "flag", "really")}),
    "recover-pending": Verb("channels", "channel", "check a channel's streams, tasks and locks against their indexes, and mend them", "redischat recover-pending dock", {**_PENDING, **_HOLDER}, runner="recover_pending"),
    "say": Verb("messages", "channel text?", "say something in a channel", "redischat say dock --file note.md --to heron", _SAY),
    "post": Verb("messages", "channel text?", "as say; without text it reads standard input", "redischat post dock --from heron --to lynx --title 'Schema v2' --body-file note.md", _SAY, runner="say", stdin=True),
    "read": Verb("messages", "channel?", "what is new for me, oldest first (no channel: all mine)", "redischat read dock", {
        "--all": ("all_", "flag", "the whole transcript, my own words and audits too; moves no mark"),
        "--peek": ("peek", "flag", "show what is new and leave it unread"),
        "--since": ("since", "int", "the transcript from this message on; moves no mark"),
        "--since-summary": ("since_summary", "flag", "the transcript from the latest summary (--status summary) on; moves no mark"),
        "--limit": ("limit", "int", "at most so many"),
        "--mine": ("mine", "flag", "only what wakes me; the rest stays unread"),
        "--audit": ("audit", "flag", "the transcript with audits between; moves no mark"),
    }),
    "ack": Verb("messages", "channel seq:int", "I have dealt with everything up to this message", "redischat ack dock 17"),
    "watch": Verb("watch", "channels*", "for people: what is said and changed, as it happens, in these channels or in all; moves no mark", "redischat watch dock", {
        "--last": ("last", "int", "begin with the newest so many messages of each (10; of all channels 0)"),
        "--timeout": ("timeout", "seconds", "end after so many seconds (never)"),
    }),
    "peek": Verb("messages", "channel", "the newest messages, moving nothing", "redischat peek dock -n 5", {"-n": ("count", "int", "how many (3)"), "--limit": ("count", "int", "how many (3)"), "--audit": ("audit", "flag", "with the audits between")}),
    "pending": Verb("messages", "channel?", "what waits for me, taking nothing", "redischat pending"),
    "owed": Verb("messages", "", "who waits for my answer, and for what", "redischat owed"),
    "wait": Verb("messages", "channels*", "return when a message wakes me, and show it; costs nothing while idle", "redischat wait dock --timeout 900", {
        "--timeout": ("timeout", "seconds", "give up after so many seconds with exit 4 (900)"),
        "--from": ("from_", "text", "only a message from this agent"),
        "--reply-to": ("reply_to", "int", "only an answer to this message"),
        "--any": ("any_", "flag", "any message, also one that wakes nobody"),
        "--interval": ("interval", "seconds", "accepted and not needed: waiting does not poll"),
    }),
    "claim": Verb("claims", "channel name", "claim a name before you act on it: the first one wins", "redischat claim dock task-12.md", {"--note": ("note", "text", "what for, one line"), **_LEASE, **_STEAL, **_BY}),
    "claims": Verb("claims", "channel", "what is claimed, and by whom", "redischat claims dock"),
    "unclaim": Verb("claims", "channel name", "give a claim back", "redischat unclaim dock task-12.md", {**_BY, **_IDEM}),
    "task create": Verb("tasks", "channel task?", "put a task on the board; without an id it gets the next one (T-1, T-2, ...)", "redischat task create dock --title 'Fix the parser' --depends-on T-1", {"--title": ("title", "text", "what is to be done, one line"), **_TASK, **dict.fromkeys(("--from", "--created-by"), ("from_", "text", "as --as")), **_IDEM}, runner="create", required=("title",)),
    "task list": Verb("tasks", "channel", "the board", "redischat task list dock --ready", {
        "--ready": ("ready", "flag", "only what can be started now"),
        "--mine": ("mine", "flag", "only mine: held by me or meant for me"),
        "--stale": ("stale", "flag", "only those whose lease ran out"),
        "--status": ("status", "text", "only this status: open, in_progress, blocked, done or cancelled"),
    }, runner="board"),
    "task show": Verb("tasks", "channel task", "one task, what it waits for and what waits for it", "redischat task show dock T-1", runner="show"),
    "task next": Verb("tasks", "channel", "the best task that can be started now, by priority, then age", "redischat task next dock --claim", {**_BY, "--claim": ("claim", "flag", "take it in the same step: each caller gets another one"), **_LEASE, **_IDEM}, runner="next_"),
    "task claim": Verb("tasks", "channel task", "take a task under a lease, or renew mine", "redischat task claim dock T-1 --lease-seconds 600", {**_BY, **_LEASE, **_STEAL}, runner="claim"),
    "task renew": Verb("tasks", "channel task", "keep a task that I hold", "redischat task renew dock T-1", {**_BY, **_LEASE, **_TOKEN}, runner="renew"),
    "task done": Verb("tasks", "channel task", "it is done; what waited for it can be started", "redischat task done dock T-1 --result 'all green'", {"--result": ("result", "text", "what came of it, kept with the task; '-' is standard input"), "--result-file": ("result_file", "text", "what came of it, from a file"), **_BY, **_TOKEN, **_IDEM}, runner="done"),
    "task release": Verb("tasks", "channel task", "give it back, undone", "redischat task release dock T-1", {**_BY, **_WHY, **_TOKEN, **_IDEM}, runner="release"),
    "task block": Verb("tasks", "channel task", "it cannot go on", "redischat task block dock T-1 --reason 'no access'", {**_BY, **_WHY, **_IDEM}, runner="block"),
    "task cancel": Verb("tasks", "channel task", "it will not be done; what waits for it is shown as stuck", "redischat task cancel dock T-1 --reason 'not needed'", {**_BY, **_WHY, **_IDEM}, runner="cancel", required=("reason",)),
    "task reopen": Verb("tasks", "channel task", "bring a done or cancelled task back", "redischat task reopen dock T-1 --reason 'it came back'", {**_BY, **_WHY, **_IDEM}, runner="reopen", required=("reason",)),
    "task recover": Verb("tasks", "channel task", "take over a task whose holder's lease ran out, saying why", "redischat task recover dock T-1 --reason 'session is gone'", {**_BY, **_WHY, **_LEASE}, runner="recover", required=("reason",)),
    "task update": Verb("tasks", "channel task", "change what a task says", "redischat task update dock T-1 --title 'Fix both parsers'", {
        "--title": ("title", "text", "what is to be done, one line"), **_TASK,
        "--status": ("status", "text", "open, in_progress, blocked, done or cancelled, where no lease is held"),
        "--clear-owner": ("clear_owner", "flag", "meant for nobody"),
        "--clear-branch": ("clear_branch", "flag", "on no branch"),
        **_BY, **_IDEM,
    }, runner="update"),
    "task wait": Verb("tasks", "channel task", "return when a task has that status; costs nothing while idle", "redischat task wait dock T-1 --timeout 600", {
        "--status": ("status", "text", "open, in_progress, blocked, done or cancelled (done)"),
        "--timeout": ("timeout", "seconds", "give up after so many seconds with exit 4 (900)"),
    }, runner="wait"),
    "task graph": Verb("tasks", "channel", "what waits for what", "redischat task graph dock", {"--mermaid": ("mermaid", "flag", "as a Mermaid flowchart")}, runner="graph"),
    "task recover-pending": Verb("tasks", "channel", "check the indexes of tasks and claims against their records, and mend them", "redischat task recover-pending dock", {**_PENDING, **_BY}, runner="recover_pending"),
    "lock": Verb("paths", "channel paths*", "lock files or folders of this repository: all of them or none", "redischat lock dock src/main.py --ttl 600 --reason 'the parser'", {
        **_LEASE,
        "--wait": ("wait", "seconds", "stand in line for so many seconds; exit 4 when they run out"),
        "--shared": ("shared", "flag", "to read: many may hold it, an exclusive lock waits for them"),
        "--reason": ("reason", "text", "what for, one line: whoever meets the lock reads it"),
        "--glob": ("glob", "flag", "the paths are patterns like src/**: their fixed beginning is locked"),
        **_STEAL, **_REPO, **_HOLDER,
    }),
    "check": Verb("paths", "channel paths*", "who holds these paths? exit 0: free or mine; 3: held by another", "redischat check dock src/main.py", {"--glob": ("glob", "flag", "the paths are patterns"), **_TOKEN, **_REPO, **_HOLDER}),
    "unlock": Verb("paths", "channel targets*", "let go of a lock: its id, a path of it, or --all of mine", "redischat unlock dock src/main.py", {"--all": ("all_", "flag", "all that I hold, in every repository"), **_REPO, **_HOLDER, **_IDEM}),
    "renew": Verb("paths", "channel targets*", "keep locks that I hold: their id, a path, or --all of mine", "redischat renew dock src/main.py --ttl 600", {**_LEASE, "--all": ("all_", "flag", "all that I hold, in every repository"), **_TOKEN, **_REPO, **_HOLDER}),
    "locks": Verb("paths", "channel?", "who holds what, and who waits for it", "redischat locks", {"--mine": ("mine", "flag", "only mine"), "--all": ("all_", "flag", "of every repository"), **_REPO}),
    "recover": Verb("paths", "channel target", "take over a lock whose holder's lease ran out, saying why", "redischat recover dock src/main.py --reason 'session is gone'", {**_WHY, **_LEASE, **_REPO, **_HOLDER}, required=("reason",)),
    "guard install": Verb("guard", "", "a Git pre-commit hook: no commit of what somebody else holds", "redischat guard install", runner="install"),
    "guard uninstall": Verb("guard", "", "take that hook out again", "redischat guard uninstall", runner="uninstall"),
    "guard check": Verb("guard", "", "may what is staged be committed? exit 3: another holds some of it", "redischat guard check", runner="check"),
    "event post": Verb("events", "channel", "tell what this harness can do, or how it is", "redischat event post dock --type status --harness claude-code --status ready", {
        "--type": ("type_", "text", "capability or status"),
        "--harness": ("harness", "text", "the program that runs the agent"),
        "--status": ("status", "text", "ready, busy, idle, blocked or stopped"),
        "--detail": ("detail", "text", "one line about the status"),
        "--primitives": ("primitives", "texts", "a,b: what it can do (messages,cursors,wait,tasks,dependencies,leases,path_locks,state_summary)"),
        **_BY, **_IDEM,
    }, runner="post", required=("type_", "harness")),
    "event read": Verb("events", "channel", "the events of a channel, one JSON record a line", "redischat event read dock --type status", {
        "--type": ("type_", "text", "only capability or status"),
        "--since": ("since", "int", "from this event on"),
        "--new": ("new", "flag", "only what I have not read; moves my mark (so does --as NAME)"),
        "--follow": ("follow", "flag", "and those to come, until ^C"),
    }, runner="read"),
    "event schema": Verb("events", "", "the JSON schema of an event", "redischat event schema", runner="schema"),
    "state": Verb("state", "channel", "where things stand: decisions, open tasks, blockers, owners, locks", "redischat state dock", {
        "--write": ("write", "flag", "write state.md, too"),
        "--save": ("write", "flag", "as --write"),
        "--directory": ("directory", "text", "below this folder, as export does (.redischat)"),
        "--strict": ("strict", "flag", "refuse where a source is damaged"),
        **_ACTOR,
    }),
    "compact": Verb("state", "channel", "say where things stand as a summary: whoever comes later reads from there (read --since-summary)", "redischat compact dock", {"--strict": ("strict", "flag", "refuse where a source is damaged"), **_ACTOR, **_IDEM}),
    "export": Verb("messages", "channel directory", "a channel as a folder of markdown files", "redischat export dock ./transcripts", {"--follow": ("follow", "flag", "keep the folder current until ^C")}),
    "import": Verb("messages", "directory", "a folder of markdown files as a channel", "redischat import ./agent-chat/review", {"--channel": ("channel", "text", "under this name"), **_REPO}, runner="import_folder"),
    "admin user add": Verb("users", "name", "make a user of the broker for one agent or team: this workspace and nothing else", "redischat admin user add heron --workspace team", {
        "--observer": ("observer", "flag", "may only look"),
        **_HANDED,
    }, runner="add"),
    "admin user revoke": Verb("users", "name", "delete a user; its sessions end at once", "redischat admin user revoke heron", runner="revoke"),
    "admin user rotate": Verb("users", "name", "give a user a new password; its old sessions end", "redischat admin user rotate heron", _HANDED, runner="rotate"),
    "admin user update": Verb("users", "names*", "bring users (none named: all of this workspace) to every server, with the rights that this version needs; passwords stay", "redischat admin user update heron", runner="update"),
    "admin user list": Verb("users", "", "the users of this workspace", "redischat admin user list --all", {"--all": ("all_", "flag", "of every workspace")}, runner="list_"),
    "server": Verb("admin", "action?", "the embedded broker: start, stop, status, logs", "redischat server status", {"--force": ("force", "flag", "stop: end a broker that does not answer"), "--lines": ("lines", "int", "logs: how many (50)")}),
    "waker": Verb("waker", "action?", "what wakes idle sessions on this host: status, start, stop, run", "redischat waker status"),
    "reload": Verb("reload", "", "reload this session's window of VS Code, on macOS only: for a session that nothing wakes any more", "redischat reload", {
        "--force": ("force", "flag", "really; without it, it says what a reload takes. It passes over no refusal"),
        "--i-know": ("i_know", "flag", "also where nothing proves that the session comes back listening, is the only one here, or has everything saved"),
        "--auto": ("auto", "text", "on or off (off): may a missed wake of an idle session reload its window, at most once an hour? For this project"),
    }),
    "maintenance": Verb("maintenance", "", "clear away what sessions that are long over have left, and say what that freed; the waker does it once a day", "redischat maintenance --dry-run", _DRY),
    "plugin": Verb("plugin", "", "the folder of the Claude Code plugin, to be added as a marketplace", "redischat plugin", {"--run": ("run", "flag", "the interpreter and the script that its hooks run, a line each")}),
    "mcp": Verb("mcp", "", "be an MCP server: these verbs as tools, for a harness that starts it (or, with --http, for clients that connect)", "redischat mcp --tools all", {
        "--tools": ("tools", "text", "a,b of talk, coordinate, look (all three); or all: every verb"),
        "--http": ("http", "text", "HOST:PORT: serve streamable HTTP there, at /mcp, instead of standard input and output"),
        "--token-file": ("token_file", "text", "a file with the token that HTTP clients must send (else REDISCHAT_MCP_TOKEN); needed off this machine"),
        "--allow-host": ("allow_host", "text", "a,b: names by which HTTP clients may call this server, besides its address"),
        "--longest-wait": ("longest_wait", "seconds", "the longest that one wait may take (50: clients give up after 60)"),
    }, runner="mcp"),
    "bridge slack": Verb("bridge", "channel?", "carry a channel to Slack and back, so that a person takes part from there; until ^C", "redischat bridge slack dock --as alice --slack C0123456789", {
        "--as": ("as_", "text", "the person that the bridge speaks for (else REDISCHAT_AGENT, else agent= of the file)"),
        "--slack": ("slack", "text", "the id of Slack's channel (else SLACK_CHANNEL, else channel= of the file)"),
        "--config": ("config", "text", "a file with lines token= channel= room= agent= poll= (else slack in the state directory)"),
        "--poll": ("poll", "seconds", "look into Slack so often (else poll= of the file, else 10)"),
        "--check": ("check", "flag", "only say whether all of it works; sends nothing; exit 1: something is wrong, 5: could not look"),
    }, runner="slack"),
    "demo": Verb("admin", "", "see two agents talk, in a scratch workspace that is removed again", "redischat demo", {"--fast": ("fast", "flag", "without the pauses for the reader")}),
    "bench": Verb("admin", "", "measure this machine: posts, wakes, whole processes, hooks", "redischat bench --quick", {"--quick": ("quick", "flag", "fewer rounds"), "--part": ("part", "text", "posts, wakes, commands, board or hooks only")}),
}  # fmt: skip

GROUPS = {
    "admin": "what whoever keeps a team's broker does",
    "admin user": "users of a team's broker: each sees one workspace",
    "bridge": "programs that carry a channel to where people are",
    "guard": "a Git pre-commit hook that keeps commits off files which somebody else holds",
    "task": "tasks with leases and dependencies, a board a channel",
    "event": "adapter-neutral capability and status records",
}


def named(words: list[str]) -> tuple[str, list[str]]:
    """The verb that a command line names, and the words behind it."""
    size = 1
    while " ".join(words[:size]) in GROUPS and size < len(words):
        size += 1
    return " ".join(words[:size]), words[size:]
