"""Every Redis key: type, lifetime, writer. The data model on one page (docs/data.md tells it in words).

All keys of a workspace share the slot of ``{workspace}``: each script is single-slot, a Cluster spreads workspaces. ``1`` is the format number.
What is many (marks, debts, heads) is a field of a hash with a fixed name, so that every key a script may touch can be declared.

====================  =======  ==========================================================================  ================================
key                   type     holds                                                                       written by
====================  =======  ==========================================================================  ================================
meta                  hash     format created_at, token: the last fencing token, of whatever              the first open; tasks, paths, claims
agents                hash     agent -> "display token session host since seen state project"              identify, join, open, every act
sessions              hash     session key -> agent                                                        identify
heads                 hash     channel -> "seq epoch name"                                                 open, post, notices, delete
broadcasts            hash     channel -> name, those open in broadcast mode                               open, mode, delete
everyone              hash     channel -> "seq from seq from": last two for everyone, by two authors       post, delete
hinted                hash     "channel agent" -> epoch in which the hint on narrowing was given           post, delete
presence              hash     session key -> its words (scripts/parts/presence.lua): the sessions seen    hooks, wakers
leased                hash     "channel task" -> "owner expires": the leases of all channels               tasks
waits                 hash     request -> "agent kind target": who waits for whom (kind: from, task)       wait --from, task wait
held                  hash     path -> "owner mode expires token id request" a line                        paths
held:order            zset     the held paths by letters                                                   paths
held:owners           zset     "owner path" by letters                                                     paths
locks                 hash     lock id -> its words, its reason and its paths, a line each                 paths
line                  zset     request -> ticket: who waits for paths, in order                            paths
line:requests         hash     request -> its words and its paths, a line each                             paths
asked                 hash     path -> how many requests ask for it                                        paths
asked:order           zset     the asked paths by letters                                                  paths
repos                 hash     digest -> the repository's key as written                                   paths
ch:<c>:meta           hash     name state reason how mode topic briefing* cap talk count summary *_at *_by  open, close, leave, mode, ...
ch:<c>:members        hash     agent -> "display in since" | "display left since heard read maybe"         open, join, leave
ch:<c>:messages       stream   0-<seq>: f k w t x b, then to r th h s as given, wa (imported: woke then)    post, notices, import
ch:<c>:audits         stream   <seq of the last message>-<n>                                               tasks, paths
ch:<c>:events         stream   0-<n>                                                                       events
ch:<c>:tasks          hash     task -> its words (scripts/parts/task.lua)                                  tasks
ch:<c>:texts          hash     "task what" -> title, branch, reason, result; files, acceptance as JSON    tasks
ch:<c>:links          hash     task -> ",a,b,": the tasks that depend on it                                tasks
ch:<c>:ready          zset     the tasks that can be started, by priority, then age                        tasks
ch:<c>:leases         zset     the tasks under a lease, by its end                                         tasks
ch:<c>:claims         hash     name -> "name owner claimed expires token note"                             claims
ch:<c>:event_marks    hash     agent | "agent type" -> "n epoch": up to where it read the events           event read
ch:<c>:draft          stream   a repaired copy; never outlives its script                                  recover-pending
marks:<a>             hash     channel -> "heard read epoch maybe lease hi until spoke"                    join, post, take, ack, leave
owed:<a>              hash     channel -> "first last count" of messages that name me                      post, leave, delete
i:<verb>:<c>:<a>:<k>  string   a mutation's reply, 10 minutes (24 h when the caller names the key)         every mutation
scratch:<a>           -        never exists: DELeted first by what must work when memory is full           take, ack, leave, ...
door:<request>        channel  (sharded pub/sub) whoever stands in a line, or waits for one agent          paths
bell:<a>              channel  (sharded pub/sub) something concerns this agent                             post, join, delete, identify
ear:<a>               channel  (sharded pub/sub) "?": how many hear it are waits of this agent              receipts, who, identify
room:<c>              channel  a message for everyone; the channel's end                                   post, close, leave, delete
live:<c>              channel  every entry; wakes nobody                                                   every entry
opened                channel  a channel was created; for whoever watches all of them                      open
since:<ms>            channel  never rung: a user's right to it tells when its password was made           admin user
====================  =======  ==========================================================================  ================================

No key but ``i:*`` has a lifetime: a channel stays until it is deleted, an agent for ever.
"""

from __future__ import annotations

FORMAT = "1"
SHARED = f"rc{FORMAT}:{{"  # how each key begins, before the workspace
LAST_NUMBER = 999_999_999  # of a message or event (scripts/parts/head.lua): what a stranger numbers beyond it is none
IDEM_SECONDS = 600
IDEM_NAMED_SECONDS = 86_400


class Keys:
    """The keys of one workspace."""

    __slots__ = (
        "agents",
        "asked",
        "asked_order",
        "broadcasts",
        "everyone",
        "heads",
        "held",
        "held_order",
        "held_owners",
        "hinted",
        "leased",
        "line",
        "locks",
        "meta",
        "opened",
        "prefix",
        "presence",
        "repos",
        "requests",
        "sessions",
        "waits",
        "workspace",
    )

    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self.prefix = prefix = f"{SHARED}{workspace.lower()}}}:"
        self.meta = prefix + "meta"
        self.agents = prefix + "agents"
        self.sessions = prefix + "sessions"
        self.heads = prefix + "heads"
        self.broadcasts = prefix + "broadcasts"
        self.everyone = prefix + "everyone"
        self.hinted = prefix + "hinted"
        self.leased = prefix + "leased"
        self.waits = prefix + "waits"
        self.presence = prefix + "presence"
        self.held = prefix + "held"
        self.held_order = prefix + "held:order"
        self.held_owners = prefix + "held:owners"
        self.locks = prefix + "locks"
        self.line = prefix + "line"
        self.requests = prefix + "line:requests"
        self.asked = prefix + "asked"
        self.asked_order = prefix + "asked:order"
        self.repos = prefix + "repos"
        self.opened = prefix + "opened"

    def channel(self, channel: str, part: str) -> str:
        """``part`` (meta, members, messages, audits, events, tasks, texts, links, ready, leases, claims, ...) of a channel."""
        return f"{self.prefix}ch:{channel}:{part}"

    def marks(self, agent: str) -> str:
        """What one agent has been shown, over all its channels."""
        return self.prefix + "marks:" + agent

    def owed(self, agent: str) -> str:
        """Who named one agent and waits for its answer."""
        return self.prefix + "owed:" + agent

    def scratch(self, agent: str) -> str:
        """A key that never exists; its DEL lets a script finish when memory is full."""
        return self.prefix + "scratch:" + agent

    def idem(self, verb: str, agent: str, key: str, channel: str = "") -> str:
        """The stored reply of one mutation: a key means the same only to the same agent, verb and channel."""
        return f"{self.prefix}i:{verb}:{channel}:{agent}:{key}"

    def door(self, request: str = "") -> str:
        """Doorbell of one request in a line, or the prefix of all of them."""
        return self.prefix + "door:" + request

    def bell(self, agent: str = "") -> str:
        """Doorbell of one agent, or the prefix of all of them."""
        return self.prefix + "bell:" + agent

    def ear(self, agent: str) -> str:
        """Where a wait of an agent can be seen: wakers hear its doorbell, too, so that one tells nothing of who sleeps there."""
        return self.prefix + "ear:" + agent

    def room(self, channel: str) -> str:
        """Doorbell of all members of a channel."""
        return self.prefix + "room:" + channel

    def live(self, channel: str) -> str:
        """Signal of every entry of a channel."""
        return self.prefix + "live:" + channel
