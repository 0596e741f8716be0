"""Every way redischat says no: one tree, one stable code each.

* ChatError
  - Usage                      USAGE                  64
  - Refused                                           1
    - BadName                  BAD_NAME
    - BadText                  BAD_TEXT
    - TooLarge                 TOO_LARGE
    - NotConfirmed             NOT_CONFIRMED
    - NoIdentity               NO_IDENTITY
    - TwoIdentities            TWO_IDENTITIES
    - SpeakAsYourself          SPEAK_AS_YOURSELF
    - NotYou                   NOT_YOU
    - NameHeld                 NAME_HELD
    - NoChannel                NO_CHANNEL
    - ChannelClosed            CHANNEL_CLOSED
    - ChannelDamaged           CHANNEL_DAMAGED
    - NotMember                NOT_MEMBER
    - UnknownRecipient         UNKNOWN_RECIPIENT
    - RecipientLeft            RECIPIENT_LEFT
    - NoSuchSeq                NO_SUCH_SEQ
    - CapUsed                  CAP_USED
    - KeyReused                KEY_REUSED
    - BadFolder                BAD_FOLDER
    - CannotKeep               CANNOT_KEEP
    - DiskRefused              DISK_REFUSED
    - BadSettings              BAD_SETTINGS
    - NotLasting               NOT_LASTING
    - NotInstalled             NOT_INSTALLED
    - Rewound                  REWOUND
    - OtherFormat              OTHER_FORMAT
    - Deadlock                 DEADLOCK
    - BrokerRefused            BROKER_REFUSED
  - LostRace                                          3
  - TimedOut                   TIMED_OUT              4
  - CouldNotLook                                      5
    - CannotWrite              CANNOT_WRITE
  - Defect                     DEFECT                 70
  - Interrupted                INTERRUPTED            130

An error holds fields and writes its own message, which ends in a command that works. A Lua reply of another word than "ok" becomes the class
with that ``word``, its other words the ``fields`` in order (see :func:`refusal`).

What the broker itself refuses, and the many codes of the other columns, have a page each: :mod:`.broker`, :mod:`.claims`, :mod:`.tasks` (TASK_*), :mod:`.leases` (LEASE_*), :mod:`.paths` (PATH_LOCK_*), :mod:`.events` (EVENT_*, STATE_*), :mod:`.users`, :mod:`.reload` (RELOAD_*), :mod:`.bridge` (BRIDGE_*).
They are imported when one of them is needed. ``origin`` says how a code comes about: "verb" (a verb provokes it) or "store" (a damaged or an imported
store does). Names of agent-chat that nothing here can raise are listed there as ``KEPT``, each with the reason.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar


class ChatError(Exception):
    """Base of all that redischat raises on purpose. ``facts`` holds its fields; ``code`` is stable, the text is not."""

    code: ClassVar[str] = "ERROR"
    exit: ClassVar[int] = 1
    origin: ClassVar[str] = "verb"
    word: ClassVar[str] = ""
    fields: ClassVar[tuple[str, ...]] = ()
    text: ClassVar[str] = "{message}"

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        super().__init__(self.code)

    def __reduce__(self) -> tuple[type[ChatError], tuple[()], dict[str, Any]]:
        """Copied, or raised to another process, it has its fields as before."""
        return type(self), (), self.__dict__

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self) -> str:
        """The message without its code: what happened, and what to do now."""
        return self.text.format_map(_Facts(self.facts))

    def record(self) -> dict[str, Any]:
        """The error as one JSON record: ``error`` (the code), ``message`` and the fields."""
        return {"error": self.code, "message": self.sentence(), **self.facts}


class _Facts(dict[str, object]):
    """Lets a message be written even where a field is not known."""

    def __missing__(self, key: str) -> str:
        return "?"


def no_channel(facts: dict[str, Any]) -> str:
    """The sentence of each column that misses a channel."""
    near = facts.get("nearest")
    hint = f" Did you mean #{near}?" if near else ""
    return "there is no channel #{channel} in this workspace.{hint} See what there is: redischat channels".format_map(_Facts(facts, hint=hint))


class Usage(ChatError):
    """The command line is not one that this verb takes."""

    code, exit = "USAGE", 64


class Refused(ChatError):
    """Asked and answered: no. Nothing was changed."""

    code = "REFUSED"


class BadName(Refused):
    """A name breaks the one rule for names."""

    code = "BAD_NAME"
    text = "{name!r} is no {kind} name: 1-64 of letters, digits, '.', '_' and '-', the first a letter or digit, no dot at the end; all, none, everyone, tool and redischat are kept."


class BadText(Refused):
    """A text is empty, not UTF-8, or of a kind that its field cannot hold."""

    code = "BAD_TEXT"


class TooLarge(Refused):
    """A text is longer than its field may be."""

    code = "TOO_LARGE"
    text = "the {what} is {size} {unit} long, the limit is {limit}: nothing was stored. {remedy}"


class NotConfirmed(Refused):
    """A change that others will feel was asked for without --yes."""

    code = "NOT_CONFIRMED"


class NoIdentity(Refused):
    """The verb needs to know who is calling, and nothing says so."""

    code = "NO_IDENTITY"
    text = "who are you? Say --as NAME, export REDISCHAT_AGENT=NAME, or run once: redischat identify NAME"


class TwoIdentities(Refused):
    """More than one agent lives in this project and the caller has no session id."""

    code = "TWO_IDENTITIES"
    text = "{names} are agents of this project, and this shell has no session id: say --as with your own name, for one: --as {first}"


class SpeakAsYourself(Refused):
    """A caller with an identity asked to act as somebody else."""

    code = "SPEAK_AS_YOURSELF"
    text = "you are {agent} here and cannot act as {wanted}: leave out --as. To become {wanted} in this session: redischat identify {wanted}"


class NotYou(Refused):
    """The name is bound to another session, whose token the caller does not have."""

    code, word = "NOT_YOU", "not_you"
    fields = ("agent", "session", "host", "since", "seen", "project")
    text = (
        "{agent} belongs to another session ({session} on {host}, since {since}, last seen {seen}): nothing was done under that name. "
        "If that session is over, and not seen for 2 minutes: redischat identify {agent} --take-over"
    )


class NameHeld(Refused):
    """identify: the name is held, and its holder is not over."""

    code, word = "NAME_HELD", "held"
    fields = ("agent", "session", "host", "since", "seen", "project")
    text = (
        "{agent} is held by another session ({session} on {host}, since {since}, last seen {seen}). "
        "Once it was not seen for 2 minutes: redischat identify {agent} --take-over. A person may take a live name: redischat identify {agent} --take-over --force --reason WHY"
    )


class NoChannel(Refused):
    """There is no channel of that name in this workspace."""

    code, word, fields = "NO_CHANNEL", "no_channel", ("channel",)

    def sentence(self) -> str:
        return no_channel(self.facts) + ". Open it: redischat open {channel}".format_map(_Facts(self.facts))


class ChannelClosed(Refused):
    """The channel is closed; what was said can still be read."""

    code, word, fields = "CHANNEL_CLOSED", "closed", ("channel", "reason")

    def sentence(self) -> str:
        used = str(self.facts.get("reason")).removeprefix("it reached its cap of ").partition(" ")[0]
        cap = f" --max-messages {2 * int(used)}" if used.isdecimal() else ""
        return "#{channel} is closed: {reason}. Bring it back: redischat reopen {channel}{cap}. Read it: redischat read {channel} --all".format_map(
            _Facts(self.facts, cap=cap)
        )


class ChannelDamaged(Refused):
    """Something wrote to the channel's stream past redischat; numbering cannot go on."""

    code, word, fields = "CHANNEL_DAMAGED", "damaged", ("channel",)
    text = "#{channel} holds an entry that redischat did not write, so no message can follow. Repair it: redischat recover-pending {channel}"


class NotMember(Refused):
    """The caller is not in the channel."""

    code, word, fields = "NOT_MEMBER", "not_member", ("channel", "agent")

    def sentence(self) -> str:
        near = self.facts.get("nearest")
        text = "{agent} is not in #{channel}.{hint} Come in: redischat join {channel} --as {agent}"
        nowhere = "{agent} is in no channel. What there is: redischat channels. Come in: redischat join CHANNEL --as {agent}"
        return (text if self.facts.get("channel") else nowhere).format_map(_Facts(self.facts, hint=f" Did you mean {near}, who is?" if near else ""))


class UnknownRecipient(Refused):
    """Somebody was addressed who is not in the channel."""

    code, word, fields = "UNKNOWN_RECIPIENT", "stranger", ("channel", "agent")

    def sentence(self) -> str:
        near, names = self.facts.get("nearest"), self.facts.get("members")
        hint = (f" Did you mean {near}?" if near else "") + (f" Members: {', '.join(names)}." if names else "")
        return "{agent} is not in #{channel}: {done}.{hint} If {agent} belongs to another broker or workspace, compare: redischat whoami".format_map(
            _Facts({"done": "nothing was sent", **self.facts}, hint=hint)
        )


class RecipientLeft(Refused):
    """Somebody was addressed who has left the channel."""

    code, word, fields = "RECIPIENT_LEFT", "departed", ("channel", "agent")

    def sentence(self) -> str:
        names = self.facts.get("members")
        hint = f" Still there: {', '.join(names)}." if names else ""
        text = "{agent} has left #{channel}: {done}.{hint} Whoever is there: redischat roster {channel}"
        return text.format_map(_Facts({"done": "nothing was sent", **self.facts}, hint=hint))


class NoSuchSeq(Refused):
    """A message number was named that the channel has not reached."""

    code, word, fields = "NO_SUCH_SEQ", "no_seq", ("channel", "seq", "head")
    text = "#{channel} has no message {seq}: it ends at {head}. See the newest: redischat peek {channel}"


class CapUsed(Refused):
    """The cap asked for is not above what was said already."""

    code, word, fields = "CAP_USED", "cap_used", ("channel", "cap", "used")

    def sentence(self) -> str:
        more = 2 * int(self.facts.get("used", 0))
        text = (
            "#{channel} holds {used} messages, so a cap of {cap} would close it at once. More, or 0 for none: redischat reopen {channel} --max-messages {more}"
        )
        return text.format_map(_Facts(self.facts, more=more))


class KeyReused(Refused):
    """An idempotency key came again with another request."""

    code, word, fields = "KEY_REUSED", "other", ("seq",)

    def sentence(self) -> str:
        what = "number {seq}, which says something else" if "seq" in self.facts else "another request"
        return ("this idempotency key was used for " + what + ": nothing was changed. Use a new key.").format_map(_Facts(self.facts))


class BadFolder(Refused):
    """A folder cannot be exported to or imported from."""

    code = "BAD_FOLDER"


class CannotKeep(Refused):
    """What must be kept on this machine (a token, the project's settings) cannot be written, so nothing was done."""

    code = "CANNOT_KEEP"
    text = "{path} cannot be written ({why}): nothing was done. {remedy}"


class DiskRefused(Refused):
    """The disk is full or read-only, or a file belongs to somebody else: what came before it was done, what was to come was not."""

    code = "DISK_REFUSED"
    text = "{path} cannot be used ({why}): what came before that was done, the rest was not. Make room for it, or make it writable for you, then try again"


class BadSettings(Refused):
    """A harness's settings file is not one that hooks can be put into or taken out of; it was not touched."""

    code = "BAD_SETTINGS"


class NotLasting(Refused):
    """Hooks would name an environment that is soon gone."""

    code = "NOT_LASTING"
    text = "this redischat runs from {path}, {why}: hooks that name it would soon run nothing, so nothing was done. {remedy}"


class NotInstalled(Refused):
    """A part of redischat is asked for whose packages are not installed."""

    code = "NOT_INSTALLED"
    text = "{what} needs a package that is not installed ({why}): {python} -m pip install 'redischat[{extra}]'"


class Rewound(Refused):
    """A folder and the broker hold different histories of one channel: the channel was deleted and opened anew, or the broker was set back."""

    code = "REWOUND"

    def sentence(self) -> str:
        found = self.facts.get("found")
        there = f"in the broker it is of {found}" if found else "the broker has no such message"
        return "{directory} and #{channel} hold different histories: message {seq} in the folder is of {ts}, {there}. Nothing was mixed. {remedy}".format_map(
            _Facts(self.facts, there=there)
        )


class OtherFormat(Refused):
    """The workspace was written by a redischat of another format."""

    code, word, fields = "OTHER_FORMAT", "format", ("found",)
    text = "this workspace is of format {found}, this redischat writes format {ours}: nothing was changed. Use the version that made it, or another --workspace"


class Deadlock(Refused):
    """Waiting for this would close a circle: each agent on it holds what the next one waits for."""

    code, word, fields = "DEADLOCK", "deadlock", ("circle",)
    text = (
        "waiting here would never end: {circle}. Let go of something first: redischat locks --mine; redischat task list CHANNEL --mine; or ask the other one to"
    )


class BrokerRefused(Refused):
    """The broker answered with an error that redischat has no word for."""

    code = "BROKER_REFUSED"
    text = "the broker at {url} answered: {answer}"


class LostRace(ChatError):
    """Somebody else has it. Nothing was changed."""

    code, exit = "LOST_RACE", 3


class TimedOut(ChatError):
    """What was waited for did not come in time. Nothing was consumed."""

    code, exit = "TIMED_OUT", 4

    def sentence(self) -> str:
        text = "nothing for {agent} in {seconds} s. Nothing was read; wait again, or see what waits: redischat pending"
        return ("after {seconds} s: {what}" if "what" in self.facts else text).format_map(_Facts(self.facts))


class CouldNotLook(ChatError):
    """The broker could not be asked, so nothing is known: not an empty answer."""

    code, exit = "COULD_NOT_LOOK", 5


class CannotWrite(CouldNotLook):
    """The output could not be written; what was not shown stays unread."""

    code = "CANNOT_WRITE"
    text = "the output could not be written ({why}): what was to be changed is changed, what was not shown stays unread"


class Defect(ChatError):
    """redischat itself is at fault, or the broker holds what no redischat wrote. REDISCHAT_DEBUG=1 shows where."""

    code, exit = "DEFECT", 70
    text = (
        "a defect of redischat, of this machine, or of what the broker holds ({what}). To see where, set REDISCHAT_DEBUG=1 and run it again; please report it"
    )


class Interrupted(ChatError):
    """The user pressed ^C. What was not shown stays unread."""

    code, exit = "INTERRUPTED", 130
    text = "interrupted; what was not shown stays unread"


def tree(base: type[ChatError] = ChatError) -> list[type[ChatError]]:
    """Every error class below ``base``, in the order of the pages."""
    from . import bridge, broker, claims, events, leases, paths, reload, tasks, users  # noqa: F401 - their classes are part of the tree

    return _below(base)


def _below(base: type[ChatError]) -> list[type[ChatError]]:
    return [found for cls in base.__subclasses__() for found in (cls, *_below(cls))]


_BY_WORD: dict[str, type[ChatError]] = {cls.word: cls for cls in _below(ChatError) if cls.word}


def refusal(reply: list[Any]) -> ChatError:
    """The error that a Lua reply's first word stands for, its other words as fields."""
    if reply[0] not in _BY_WORD:  # a word of tasks, paths or events
        _BY_WORD.update({cls.word: cls for cls in tree() if cls.word})
    cls = _BY_WORD[reply[0]]
    return cls(**dict(zip(cls.fields, reply[1:], strict=False)))
