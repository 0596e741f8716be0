"""The one table of verbs: name, places, flags, kinds, help. click is made from it; the quick way in reads the same.

A place or flag is (parameter, kind, help); kinds: text, int, seconds, flag; a place may be ``many``, or optional when its name ends in "?".
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
    "--durable": ("durable", "flag", "return once it is on the broker's disk (Redis >= 7.2)"),
    "--from": ("from_", "text", "as --as"),
    "--body": ("body", "text", "as TEXT"),
    "--body-file": ("body_file", "text", "as --file"),
    **_IDEM,
}
_TAKE_OVER = {
    "--take-over": ("take_over", "flag", "take a name whose holder was not seen for 2 minutes and sleeps at no door"),
    "--force": ("force", "flag", "take a live holder's name: a person's way"),
    "--reason": ("reason", "text", "said to the channels when a name changes hands"),
}


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
        self.flags = {**(flags or {}), **COMMON}
        self.runner = runner


def _place(text: str) -> tuple[str, str, bool, bool]:
    """``channel``, ``text?``, ``seq:int``, ``channels*`` as (parameter, kind, needed, many)."""
    name, _, kind = text.partition(":")
    bare = name.rstrip("?*")
    return bare, kind or "text", not name.endswith(("?", "*")), name.endswith("*")


VERBS: dict[str, Verb] = {
    "identify": Verb("agents", "name", "be an agent in this session, and join the open broadcast channels", "redischat identify heron", {"--project": ("project", "flag", "the name that new sessions of this project wish for"), **_TAKE_OVER, **_IDEM}),
    "whoami": Verb("agents", "", "who, where, and where each value comes from", "redischat whoami"),
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
    "invite": Verb("channels", "channel", "a text that brings another session into a channel", "redischat invite dock"),
    "channels": Verb("channels", "", "the open channels", "redischat channels", {"--all": ("all_", "flag", "the closed ones too")}),
    "roster": Verb("channels", "channel", "who is in a channel, and when each was last seen", "redischat roster dock"),
    "retain": Verb("channels", "channel messages:int", "forget all but the newest N messages; tells how many would go without --yes", "redischat retain dock 1000", {"--yes": ("yes", "flag", "really")}),
    "recover-pending": Verb("channels", "channel", "make a channel whole that something wrote to past redischat", "redischat recover-pending dock", runner="recover_pending"),
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
    "peek": Verb("messages", "channel", "the newest messages, moving nothing", "redischat peek dock -n 5", {"-n": ("count", "int", "how many (3)"), "--audit": ("audit", "flag", "with the audits between")}),
    "pending": Verb("messages", "channel?", "what waits for me, taking nothing", "redischat pending"),
    "owed": Verb("messages", "", "who waits for my answer, and for what", "redischat owed"),
    "wait": Verb("messages", "channels*", "return when a message wakes me, and show it; costs nothing while idle", "redischat wait dock --timeout 900", {
        "--timeout": ("timeout", "seconds", "give up after so many seconds with exit 4 (900)"),
        "--from": ("from_", "text", "only a message from this agent"),
        "--reply-to": ("reply_to", "int", "only an answer to this message"),
        "--any": ("any_", "flag", "any message, also one that wakes nobody"),
        "--interval": ("interval", "seconds", "accepted and not needed: waiting does not poll"),
    }),
    "export": Verb("messages", "channel directory", "a channel as a folder of markdown files", "redischat export dock ./transcripts", {"--follow": ("follow", "flag", "keep the folder current until ^C")}),
    "import": Verb("messages", "directory", "a folder of markdown files as a channel", "redischat import ./agent-chat/review", {"--channel": ("channel", "text", "under this name")}, runner="import_folder"),
    "server": Verb("admin", "action?", "the embedded broker: start, stop, status, logs", "redischat server status", {"--force": ("force", "flag", "stop: end a broker that does not answer"), "--lines": ("lines", "int", "logs: how many (50)")}),
    "demo": Verb("admin", "", "see two agents talk, in a scratch workspace that is removed again", "redischat demo", {"--fast": ("fast", "flag", "without the pauses for the reader")}),
    "bench": Verb("admin", "", "measure this machine: posts, wakes, whole processes", "redischat bench --quick", {"--quick": ("quick", "flag", "fewer rounds"), "--part": ("part", "text", "posts, wakes or commands only")}),
}  # fmt: skip
