"""Every Redis key: type, lifetime, writer. The data model on one page (docs/data.md tells it in words).

All keys of a workspace share the slot of ``{workspace}``: each script is single-slot, a Cluster spreads workspaces. ``1`` is the format number.
What is many (marks, debts, heads) is a field of a hash with a fixed name, so that every key a script may touch can be declared.

====================  =======  ==========================================================================  ================================
key                   type     holds                                                                       written by
====================  =======  ==========================================================================  ================================
meta                  hash     format, created_at                                                          the first open of a workspace
agents                hash     agent -> "display token session host since seen state project"              identify, join, open, every act
sessions              hash     session key -> agent                                                        identify
heads                 hash     channel -> "seq epoch name"                                                 open, post, notices, delete
broadcasts            hash     channel -> name, those open in broadcast mode                               open, mode, delete
everyone              hash     channel -> "seq from seq from": last two for everyone, by two authors       post, delete
hinted                hash     "channel agent" -> epoch in which the hint on narrowing was given           post, delete
ch:<c>:meta           hash     name state reason how mode topic briefing* cap talk count summary *_at *_by  open, close, leave, mode, ...
ch:<c>:members        hash     agent -> "display in since" | "display left since heard read maybe"         open, join, leave
ch:<c>:messages       stream   0-<seq>: f k w t x b, then to r th h s as given, wa (imported: woke then)    post, notices, import
ch:<c>:audits         stream   <seq of the last message>-<n>                                               tasks, paths
ch:<c>:events         stream   0-<n>                                                                       events
ch:<c>:draft          stream   a repaired copy; never outlives its script                                  recover-pending
marks:<a>             hash     channel -> "heard read epoch maybe lease hi until spoke"                    join, post, take, ack, leave
owed:<a>              hash     channel -> "first last count" of messages that name me                      post, leave, delete
i:<verb>:<c>:<a>:<k>  string   a mutation's reply, 10 minutes (24 h when the caller names the key)         every mutation
scratch:<a>           -        never exists: DELeted first by what must work when memory is full           take, ack, leave, ...
bell:<a>              channel  (sharded pub/sub) something concerns this agent                             post, join, delete, identify
room:<c>              channel  a message for everyone; the channel's end                                   post, close, leave, delete
live:<c>              channel  every entry; wakes nobody                                                   every entry
====================  =======  ==========================================================================  ================================

No key but ``i:*`` has a lifetime: a channel stays until it is deleted, an agent for ever.
"""

from __future__ import annotations

FORMAT = "1"
IDEM_SECONDS = 600
IDEM_NAMED_SECONDS = 86_400


class Keys:
    """The keys of one workspace."""

    __slots__ = ("agents", "broadcasts", "everyone", "heads", "hinted", "meta", "prefix", "sessions", "workspace")

    def __init__(self, workspace: str) -> None:
        self.workspace = workspace
        self.prefix = prefix = f"rc{FORMAT}:{{{workspace.lower()}}}:"
        self.meta = prefix + "meta"
        self.agents = prefix + "agents"
        self.sessions = prefix + "sessions"
        self.heads = prefix + "heads"
        self.broadcasts = prefix + "broadcasts"
        self.everyone = prefix + "everyone"
        self.hinted = prefix + "hinted"

    def channel(self, channel: str, part: str) -> str:
        """``part`` (meta, members, messages, audits, events) of a channel."""
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

    def bell(self, agent: str) -> str:
        """Doorbell of one agent."""
        return self.prefix + "bell:" + agent

    def room(self, channel: str) -> str:
        """Doorbell of all members of a channel."""
        return self.prefix + "room:" + channel

    def live(self, channel: str) -> str:
        """Signal of every entry of a channel."""
        return self.prefix + "live:" + channel
