"""The one table of tools: each is a verb under its own name, in a set or two; what is left out stands there with its reason."""

from __future__ import annotations

from .. import models
from ..aio.client import AsyncClient as Chat
from ..errors import Usage
from . import own, reading
from .tool import Tool

MESSAGES = ("messages", "notes", "more", "next")

_ROWS = (
    # talk
    Tool("identify", own.identify, "Be an agent in this session under a name, unless whoami shows one already.", ("agent", "how", "joined"), hides=("force", "reason")),
    Tool("join", Chat.join, "Join a channel at its end, or open it. since=0: unread from the start.", ("channel", "members", "unread", "before"), hides=("topic", "briefing", "broadcast", "max_messages", "members")),
    Tool("say", own.say, "Post a message. Wakes all members; to=[names] only these, to=['none'] nobody, to=['all'] everyone. reply_to: the number it answers. The answer tells whom it reached.", ("seq", "wakes", "passive", "absent", "stored"), hides=("durable",)),
    Tool("read", reading.read, "What is new for you (no channel: in all of yours), oldest first; it counts as read. since=N: the transcript from N on, own words too; moves no mark.", MESSAGES, hides=("audits", "since_summary")),
    Tool("wait", reading.wait, "Sleep until a message wakes you and give it; up to 50 s, then call it again. any: also what wakes nobody.", MESSAGES),
    Tool("owed", Chat.owed, "Who waits for your answer. Look before you finish.", ("owed",), rows="owed", looks=True),
    Tool("leave", Chat.leave, "Leave a channel; the last one out closes it.", models.Left, hides=("ask",)),
    # coordinate
    Tool("task_create", Chat.task_create, "Put a task on a channel's board.", models.TaskCreated, hides=("branch", "owner", "task", "files_hint")),
    Tool("task_next", own.task_next, "The best task that can be started now; claim=true takes it: one winner.", ("id", "title", "token", "nothing_ready", "next")),
    Tool("task_claim", own.task_claim, "Take a task for ttl seconds (300), or renew yours.", ("id", "title", "token")),
    Tool("task_done", Chat.task_done, "It is done; frees what waited for it.", models.TaskMoved, hides=("token",)),
    Tool("task_release", Chat.task_release, "Give a task back, undone.", models.TaskMoved, hides=("token",)),
    Tool("lock", own.lock, "Lock files or folders before you edit them: all or none; again renews. wait: stand in line, up to 50 s.", models.PathLock, hides=("glob", "steal_expired", "repo")),
    Tool("check", Chat.check, "Who holds these paths?", models.PathCheck, looks=True, rows="held", hides=("glob", "repo", "token")),
    Tool("unlock", Chat.unlock, "Let go of locks: paths, ids, or all of yours.", models.Unlocked, rows="unlocked", hides=("repo",)),
    # look
    Tool("whoami", own.whoami, "Who you are, and where.", ("agent", "session", "workspace", "project"), looks=True),
    Tool("channels", own.channels, "The open channels; all: closed ones too.", ("channels",), rows="channels", looks=True),
    Tool("who", own.who, "Who is there and whether waking them works.", ("agents",), rows="agents", looks=True),
    Tool("task_list", Chat.task_list, "A channel's board. ready: can be started now.", ("tasks",), rows="tasks", looks=True, hides=("stale",)),
    Tool("locks", Chat.locks, "Who holds which paths, who stands in line.", models.Locks, rows="locks", looks=True, hides=("channel", "repo")),
)  # fmt: skip

_MORE = (
    Tool("identify", own.identify, "Be an agent in this session under a name. take_over: one that was not seen for 2 minutes. force, with a reason: a live one's, which is a person's way.", ("agent", "how", "joined")),
    Tool("join", Chat.join, "Join a channel at its end, or open it. since=0: unread from the start.", models.Opened),
    Tool("say", own.say, _ROWS[2].about + " durable: return once it is on the broker's disk.", models.FullReceipt),
    Tool("read", reading.read, _ROWS[3].about + " audits: what tasks and locks left, too. since_summary: from the latest summary on.", MESSAGES),
    Tool("leave", Chat.leave, "Leave a channel; the last one out closes it. ask: first ask in it whether anything is left.", ("channel", "left", "closed", "members", "seq")),
    Tool("task_create", Chat.task_create, "Put a task on a channel's board; without an id it gets the next one. owner: whom it is meant for. acceptance: sentences by which it counts as done.", models.TaskCreated),
    Tool("task_done", Chat.task_done, "It is done; frees what waited for it. token: refuse if it is not the task's any more.", models.TaskMoved),
    Tool("task_release", Chat.task_release, "Give a task back, undone.", models.TaskMoved),
    Tool("lock", own.lock, "Lock files or folders: all or none; again renews. wait: stand in line. shared: to read. glob: patterns like src/**. steal_expired: take over what ran out.", models.PathLock),
    Tool("check", Chat.check, "Who holds these paths? token: refuse if it is not that of your lock any more.", models.PathCheck, looks=True, rows="held"),
    Tool("unlock", Chat.unlock, "Let go of locks: their ids, exactly their paths, or all of yours in every repository.", models.Unlocked, rows="unlocked"),
    Tool("task_list", Chat.task_list, "A channel's board, by priority, then age. mine: held by you or meant for you. stale: the lease ran out.", ("tasks",), rows="tasks", looks=True),
    Tool("locks", Chat.locks, "Who holds which paths of this repository (all: of every one), and who stands in line.", models.Locks, rows="locks", looks=True),
    Tool("sync", Chat.sync, "Join the broadcast channels opened since you came.", ("joined",), rows="joined"),
    Tool("workspaces", Chat.workspaces, "The workspaces of this broker.", ("workspaces",), rows="workspaces", looks=True),
    Tool("open", Chat.open, "Open a channel, or join the one there is. members find everything from message 1 on unread. briefing: house rules. broadcast: a message wakes nobody unless it says so.", models.Opened),
    Tool("close", Chat.close, "Close a channel, saying why. It can be read and reopened.", models.Closed),
    Tool("reopen", Chat.reopen, "Bring a closed channel back, or raise the cap of an open one.", models.Reopened),
    Tool("delete", Chat.delete, "Destroy a channel and all that was said; without yes it only tells what would go.", models.Deleted, destroys=True),
    Tool("mode", Chat.mode, "to=ordinary: an unaddressed message wakes all members; to=broadcast: nobody. yes: change it for everyone.", models.Mode),
    Tool("briefing", Chat.briefing, "Read the house rules of a channel, or set them with rules.", models.Briefing),
    Tool("invite", Chat.invite, "A text that brings another session into a channel.", models.Invitation, looks=True),
    Tool("roster", Chat.roster, "Who is in a channel, and when each was last seen.", models.Roster, rows="roster", looks=True),
    Tool("retain", Chat.retain, "Forget all but the newest messages; without yes it only tells how many would go.", models.Retained, destroys=True),
    Tool("budget", own.budget, "How much of a channel's budgets is used. messages or characters: bound what is said in per seconds, by all or by one agent. off: no bound.", ("budgets",), rows="budgets"),
    Tool("recover_pending", Chat.recover_pending, "Check a channel's streams, tasks and locks against their indexes, and mend them.", models.Repaired),
    Tool("ack", Chat.ack, "You have dealt with everything up to message seq.", models.Ack),
    Tool("peek", reading.peek, "The newest messages of a channel, moving nothing.", ("channel", "messages", "last_seq", "older", "next"), looks=True),
    Tool("pending", own.pending, "What waits for you, taking nothing.", ("pending",), rows="pending", looks=True),
    Tool("claim", Chat.claim, "Claim a name before you act on it: the first one wins.", models.Claimed),
    Tool("claims", Chat.claims, "What is claimed in a channel, and by whom.", ("claims",), rows="claims", looks=True),
    Tool("unclaim", Chat.unclaim, "Give a claim back.", models.Unclaimed),
    Tool("task_show", Chat.task_show, "One task, what it waits for and what waits for it.", models.Task, looks=True),
    Tool("task_renew", Chat.task_renew, "Keep a task that you hold.", models.Lease),
    Tool("task_block", Chat.task_block, "It cannot go on.", models.TaskMoved),
    Tool("task_cancel", Chat.task_cancel, "It will not be done; what waits for it is shown as stuck.", models.TaskMoved),
    Tool("task_reopen", Chat.task_reopen, "Bring a done or cancelled task back.", models.TaskMoved),
    Tool("task_recover", Chat.task_recover, "Take over a task whose holder's lease ran out, saying why.", models.Lease),
    Tool("task_update", Chat.task_update, "Change what a task says.", models.TaskChanged),
    Tool("task_wait", own.task_wait, "Return when a task has that status (done); up to 50 s, then call it again.", ("id", "status", "timed_out", "next")),
    Tool("task_graph", Chat.task_graph, "What waits for what, as a Mermaid flowchart.", ("graph",), looks=True),
    Tool("task_recover_pending", Chat.task_recover_pending, "Check the indexes of a board against its records, and mend them.", models.BoardRepaired),
    Tool("renew", Chat.renew, "Keep locks that you hold: their ids, paths, or all.", models.PathLock),
    Tool("recover", Chat.recover, "Take over a lock whose holder's lease ran out, saying why.", models.PathLock),
    Tool("event_post", Chat.event_post, "Tell what this harness can do (type capability) or how it is (status: ready, busy, idle, blocked, stopped).", models.Event),
    Tool("event_read", Chat.event_read, "The events of a channel. new: only what you have not read; moves your mark.", ("events",), rows="events"),
    Tool("state", Chat.state, "Where things stand: decisions, open tasks, blockers, owners, locks.", models.State, looks=True),
    Tool("compact", Chat.compact, "Say where things stand as a summary that whoever comes later reads from.", models.Compacted),
)  # fmt: skip

SETS = {
    "talk": ("identify", "join", "say", "read", "wait", "owed", "leave"),
    "coordinate": ("task_create", "task_next", "task_claim", "task_done", "task_release", "lock", "check", "unlock"),
    "look": ("whoami", "channels", "who", "task_list", "locks"),
}
DEFAULT = "talk,coordinate,look"
ALL = "all"

LEFT_OUT = {  # verbs of the command that are no tools, each with the reason
    "setup": "writes a harness's settings: a person's or a shell's work, before there is a server", "teardown": "as setup", "install": "as setup",
    "uninstall": "as setup", "doctor": "looks at this machine's settings; where a tool answers at all, the broker is reached",
    "fingerprint": "about the hooks' scripts", "plugin": "about the hooks' scripts", "init": "another word for open", "post": "another word for say",
    "guard install": "changes a Git hook", "guard uninstall": "changes a Git hook", "guard check": "asked by Git; check says the same of any path",
    "event schema": "a file for programmers", "export": "writes files where a model names them", "import": "reads files where a model names them",
    "server": "starts and stops the broker that everybody uses", "waker": "starts and stops what wakes everybody", "demo": "for the eyes of a person",
    "bench": "takes the whole machine", "mcp": "is this server", "watch": "for the eyes of a person; an agent waits", "maintenance": "clears away on this machine, once a day",
    "bridge slack": "runs until it is told to end, and carries what is said out of this machine: a person's decision",
    "reload": "ends the session that would call it, and drives the screen of a person",
    **dict.fromkeys(("admin user add", "admin user rotate"), "makes passwords, which a transcript would keep"),
    **dict.fromkeys(("admin user revoke", "admin user update", "admin user list"), "for whoever runs the broker"),
}  # fmt: skip


def chosen(asked: str) -> dict[str, Tool]:
    """The tools of these sets (``a,b``), by name; of ``all``, every one, with all that it takes.

    Raises:
        Usage: there is no such set.
    """
    rows = {one.name: one for one in _ROWS}
    sets = [one.strip() for one in asked.split(",") if one.strip()]
    for one in sets:
        if one not in (*SETS, ALL):
            raise Usage(message=f"no set of tools is called {one!r}: it is one of {', '.join(SETS)}, or all")
    if not sets:
        raise Usage(message=f"--tools needs a set: {', '.join(SETS)}, or all")
    if ALL in sets:
        return rows | {one.name: one for one in _MORE}
    return {name: rows[name] for one in SETS if one in sets for name in SETS[one]}
