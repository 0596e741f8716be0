"""Transcripts as agent-chat's folders (redischat/folder): a channel written to one and kept current there; importing.py reads one back.

A position outside the broker is ``seq@ts``: two histories whose times differ at one number are never mixed.
"""

from __future__ import annotations

from ..calls import channels, messages
from ..calls.call import Listen
from ..errors import BadText, NoChannel, Rewound
from ..folder import disk, form
from .boards import export_board, export_cursors, export_state
from .channels import known
from .importing import import_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from ..calls.call import Call, Caller

    Flow = Generator[Any, Any, Any]

__all__ = ("export", "import_folder")

PAGE = 200  # messages a call: of the largest ones 50 MiB
BESIDE = {"audits": form.AUDITS, "events": form.EVENTS}
SAID = ("kind", "from", "to", "wakes", "title", "status", "reply_to", "thread", "body")


def export(who: Caller, channel: str, directory: str, *, follow: float | None = None) -> Flow:
    """Write a channel into ``directory/<channel>/``: what is new of its messages, changing no file of one that is there. Needs no membership and moves no mark.

    Its board is written beside them (redischat/folder/board.py) and kept current: files of it that no export wrote, or that somebody changed, stay as they are.
    ``state.md`` is written anew, once an export.

    The disk is written between the calls, so an event loop that drives this stands still for as long as 200 files take.

    ``follow``: keep the folder current until that moment of the monotonic clock, ^C, or the channel's end. Only this export may write there meanwhile.

    Gives ``channel directory written kept last_seq conflicts audits events board board_conflicts ended``: ``kept`` files were there before; ``conflicts`` are
    the numbers of those that say something else than the broker; ``audits`` and ``events`` were added to their files; ``board`` files were written or taken
    away, ``board_conflicts`` not touched; ``ended`` is how a follow ended (time, interrupted, deleted).

    Raises:
        Rewound: the folder holds another history of a channel of this name.
        BadFolder: the folder cannot be written.
    """
    channel = channel.lower()
    facts, members, head = yield from known(who, channel)
    here = sorted(one["agent"] for one in members.values() if one["here"])
    out = _Out(facts["name"], disk.opened(directory, facts["name"]))
    yield from _same_history(who, channel, out, head)
    disk.add(out.place, form.META, form.meta(facts, here))
    yield from _copy(who, channel, out)
    yield from _board(who, channel, out)
    yield from export_state(who, channel, out.place)
    if follow is not None:
        out.report["ended"] = yield from _follow(who, channel, out, follow)
    return out.report


class _Out:
    """A folder while it is written: the files there, ``at`` and ``ts`` of the message copied last, where audits and events end, the report."""

    __slots__ = ("at", "beside", "files", "name", "place", "report", "ts")

    def __init__(self, name: str, place: str) -> None:
        self.name, self.place, self.files = name, place, disk.listed(place)
        self.at, self.ts = 0, None
        self.beside = {part: disk.noted(place, file) for part, file in BESIDE.items()}
        self.report: dict[str, Any] = {
            "channel": name, "directory": place, "written": 0, "kept": 0, "last_seq": 0, "conflicts": [], "audits": 0, "events": 0, "board": 0,
            "board_conflicts": [], "ended": None,
        }  # fmt: skip

    def there(self, seq: int) -> dict[str, Any] | None:
        """The folder's own message of that number; None where it is not one, or not readable."""
        names = self.files[seq]
        try:
            return disk.load(self.place, names[0]) if len(names) == 1 else None
        except BadText:
            return None

    def put(self, message: dict[str, Any]) -> None:
        """Write a message that the folder lacks; of one that it has, only look whether it is the same."""
        seq, report = message["seq"], self.report
        self.at, self.ts = seq, message["ts"]
        report["last_seq"] = seq
        if seq not in self.files:
            name, text = form.written(message)
            report["written"] += disk.add(self.place, name, text)
            return
        report["kept"] += 1
        there = self.there(seq)
        if there is not None:
            self.agree(seq, there["ts"], message["ts"])
        if there is None or any(there[field] != message[field] for field in SAID):
            report["conflicts"].append(seq)

    def agree(self, seq: int, ts: str | None, found: str | None) -> None:
        """Go on only if the folder's and the broker's message of this number are of one time."""
        if ts != found:
            remedy = f"Use another directory: redischat export {self.name} OTHER-DIRECTORY"
            raise Rewound(directory=self.place, channel=self.name, seq=seq, ts=ts, found=found, remedy=remedy)


def _same_history(who: Caller, channel: str, out: _Out, head: int) -> Flow:
    """Before anything is written: is the folder's newest message, that the broker still has, the broker's?"""
    oldest = yield _page(who, channel, out.name, above=0, count=1)
    for seq in sorted(out.files, reverse=True):
        there = out.there(seq)
        if there is None:
            continue
        if seq > head:
            out.agree(seq, there["ts"], None)
        if not oldest or seq < oldest[0]["seq"]:
            return  # trimmed: nothing left to compare
        found = yield _page(who, channel, out.name, above=seq - 1, count=1)
        out.agree(seq, there["ts"], found[0]["ts"] if found and found[0]["seq"] == seq else None)
        return


def _page(who: Caller, channel: str, name: str, *, above: int, count: int = PAGE) -> Call:
    return messages.entries(who.keys, channel, name, who.me, above=above, count=count)


def _copy(who: Caller, channel: str, out: _Out) -> Flow:
    """Bring the folder to where the channel ends now. False: there is no such channel any more.

    Each page begins with the message copied last: if that is another one by now, the channel was opened anew or the broker set back.
    """
    goal, looked = None, out.at
    while goal is None or looked < goal:
        place, page = yield [channels.place(who.keys, channel), _page(who, channel, out.name, above=max(0, looked - 1))]
        if place is None:
            return False
        head = place[0]
        if head < out.at:
            out.agree(out.at, out.ts, None)
        if page and page[0]["seq"] == out.at:
            out.agree(out.at, out.ts, page[0]["ts"])
        for message in page:
            if message["seq"] > out.at:
                out.put(message)
        goal = goal or head
        reached = page[-1]["seq"] if page else 0
        looked = reached if reached > looked else looked + PAGE - 1  # a stranger's entries fill a page, and are no messages
    for part in BESIDE:
        yield from _copy_beside(who, channel, out, part)
    return True


def _copy_beside(who: Caller, channel: str, out: _Out, part: str) -> Flow:
    """Append the audits or events behind the last one in their file."""
    while True:
        at = out.beside[part]
        page = yield messages.beside(who.keys, channel, part, out.name, who.me, start=f"{at[0]}-{at[1]}" if at else "-", count=PAGE)
        new = [one for one in page if at is None or (one["after"] or 0, one["n"]) > at[:2]]
        if at is not None and len(new) < len(page):
            out.agree(at[0], at[2], page[0]["ts"])
        if not new:
            return
        disk.note(out.place, BESIDE[part], new)
        out.report[part] += len(new)
        out.beside[part] = (new[-1]["after"] or 0, new[-1]["n"], new[-1]["ts"])


def _board(who: Caller, channel: str, out: _Out) -> Flow:
    """Bring the board's files, and the cursors, to where they are now."""
    _, members, _ = yield from known(who, channel)
    written, out.report["board_conflicts"] = yield from export_board(who, channel, out.place)
    out.report["board"] += written
    yield from export_cursors(who, channel, out.place, members)


def _follow(who: Caller, channel: str, out: _Out, until: float) -> Flow:
    """Subscribe, look, wait. What was copied is whole in its file, so an interrupt leaves nothing to settle: it is how a person ends this."""
    try:
        while True:
            heard = yield Listen([who.keys.live(channel)], until)
            if heard is None:
                return "time"
            if heard == "deleted" or not (yield from _copy(who, channel, out)):
                return "deleted"
            if heard == "again" or heard.startswith("audit "):
                yield from _board(who, channel, out)
    except NoChannel:
        return "deleted"
    except KeyboardInterrupt:
        return "interrupted"
