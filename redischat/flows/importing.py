"""Transcripts read back: agent-chat's folder of a channel (redischat/folder) becomes a channel, with every number, time and text as it was."""

from __future__ import annotations

import os

from ..calls import channels, messages
from ..calls.call import Once
from ..errors import BadFolder, BadText, ChannelClosed, NoIdentity, NoSuchSeq, Refused, Rewound
from ..folder import disk, form, shelf
from ..names import channel as legal
from .boards import Incoming, import_board
from .channels import Wanted, enter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence
    from typing import Any

    from ..calls.call import Caller
    from ..calls.paths import Repo

    Flow = Generator[Any, Any, Any]

PAGE = 200  # messages a round trip
BATCH_BYTES = 1 << 20


def import_folder(who: Caller, directory: str, *, channel: str = "", repository: Callable[[], Repo] | None = None) -> Flow:
    """Read a channel's folder, or each one in ``directory``, into channels of the folders' names. Gives one report a folder, by name.

    A channel that is not there is opened without a cap and joined. Every message keeps number, time and text; agent-chat's audits become records that are
    no news. It is history: nobody is woken. Numbers up to the channel's end are compared, not stored, so the same folder again stores nothing.
    The board comes with it: tasks with their leases, claims, path locks, and cursors as marks. What the channel has of it stays as it is; a record that is
    bad, or that agent-chat was in the middle of changing and cannot tell of, is left out and named. No file is changed.

    ``channel``: the name to use, for one folder. ``repository`` finds whose path locks these are, where the folder does not say; without it they are not read.

    A report: ``channel stored skipped gaps[[first, last]] doubles[{seq, files}] conflicts[seq] renamed{old: new} malformed[{file, code, why}] present{} board{}
    board_skipped board_conflicts[]``: of a number with two files neither is stored; ``board`` counts what was stored of ``tasks claims locks cursors``,
    ``board_conflicts`` names what the channel has otherwise. Of several folders, one that is refused gives ``channel error message`` instead.

    Raises:
        Rewound: the channel holds another history. Nothing was stored.
        BadFolder: the folder cannot be read or does not fit the channel; or somebody wrote in the channel meanwhile.
    """
    if not who.me:
        raise NoIdentity
    places = disk.channels(directory)
    if places == [directory]:
        return [(yield from _import(who, _In(directory, channel), repository))]
    if channel:
        raise BadFolder(message=f"{directory} holds {len(places)} channels: leave out the channel's name, or give the path of one", directory=directory)
    reports = []
    for place in places:
        try:
            reports.append((yield from _import(who, _In(place, ""), repository)))
        except Refused as error:
            reports.append({**error.record(), "channel": disk.shown(os.path.basename(place))})
    return reports


class _In:
    """A folder that was looked through once: its name as a channel, the file of each number, which of them are talk, the names in them, its board, the report.

    ``met`` is the highest number at which folder and broker were found to be one history.
    """

    __slots__ = ("board", "files", "met", "name", "names", "place", "report", "spoke", "talk")

    def __init__(self, place: str, channel: str) -> None:
        given = legal(channel) if channel else disk.shown(os.path.basename(os.path.abspath(place)))
        new = form.renamed([given], "channel")
        self.place, self.name, self.met = place, new.get(given, given), 0
        self.files: dict[int, str] = {}
        self.talk: set[int] = set()
        self.board = shelf.Shelf(place)
        self.report: dict[str, Any] = {
            "channel": self.name, "stored": 0, "skipped": 0, "gaps": [], "doubles": [], "conflicts": [],
            "renamed": {f"#{old}": f"#{to}" for old, to in new.items()}, "malformed": [],
            "present": {**disk.present(place), **({"markers": self.board.unclaimed} if self.board.unclaimed else {})}, "board": {}, "board_skipped": 0, "board_conflicts": [],
        }  # fmt: skip
        self.spoke = self._look()
        self.names = form.renamed([*self.spoke, *self.board.people()], "agent")
        self.report["renamed"].update(self.names)

    def _look(self) -> list[str]:
        """Sort the files out. Gives the names that speak or are spoken to."""
        found, names = disk.listed(self.place), []
        self.report["gaps"] = _gaps(sorted(seq for seq in found if form.is_number(seq)))
        for seq, files in sorted(found.items()):
            if len(files) > 1 and form.is_number(seq):
                self.report["doubles"].append({"seq": seq, "files": [disk.shown(file) for file in files]})
                continue
            record = self.load(files[0])
            if record is not None:
                self.files[seq] = files[0]
                names += [record["from"], *(record["to"] if isinstance(record["to"], list) else ())]
                if record["kind"] == "message":
                    self.talk.add(seq)
        return names

    def load(self, file: str) -> dict[str, Any] | None:
        """One file's record; None, and a line in the report, for a malformed one."""
        try:
            return disk.load(self.place, file)
        except BadText as error:
            self._bad(file, error)
            return None

    def wanted(self) -> Wanted:
        """The channel that the folder's ``_meta.json`` describes, its cap lifted."""
        try:
            meta = disk.load_meta(self.place)
        except BadText as error:
            self._bad(form.META, error)
            meta = {}
        return Wanted(max_messages=0, **meta)

    def _bad(self, file: str, error: BadText) -> None:
        self.report["malformed"].append({"file": disk.shown(file), "code": error.code, "why": error.sentence()})

    def row(self, record: dict[str, Any]) -> tuple[Any, ...]:
        """A record as it is stored: with legal names, and lines that are lines."""
        to = [self.names.get(one, one) for one in record["to"]] if isinstance(record["to"], list) else record["to"]
        wakes = to if isinstance(record["wakes"], list) else record["wakes"]
        lines = {field: form.one_line(record[field]) for field in ("title", "status", "thread")}
        return messages.row({**record, **lines, "from": self.names.get(record["from"], record["from"]), "to": to, "wakes": wakes})

    def compare(self, seq: int, theirs: dict[str, Any] | None, oldest: int) -> None:
        """What the channel has at a number of the folder's: the same, another text, or (trimmed) nothing to compare."""
        mine = self.load(self.files[seq])
        if mine is None:
            return
        if theirs is not None and theirs["ts"] != mine["ts"]:
            raise Rewound(directory=self.place, channel=self.name, seq=seq, ts=mine["ts"], found=theirs["ts"], remedy=_elsewhere(self.place))
        self.met = seq if theirs is not None else self.met
        if (theirs is None and seq < oldest) or (theirs is not None and theirs["body"] == mine["body"]):
            self.report["skipped"] += 1
        else:
            self.report["conflicts"].append(seq)


def _elsewhere(place: str) -> str:
    return f"Import it under another name: redischat import {place} --channel OTHER-NAME"


def _gaps(numbers: Sequence[int]) -> list[list[int]]:
    """The runs of numbers, from 1 on, that have no file."""
    pairs = zip([0, *numbers], numbers, strict=False)
    return [[before + 1, seq - 1] for before, seq in pairs if seq > before + 1]


def _import(who: Caller, source: _In, repository: Callable[[], Repo] | None) -> Flow:
    """Compare what the channel has, then append what it lacks. Nothing is stored unless all that could be compared agreed."""
    channel = source.name.lower()
    facts, found = yield [channels.facts(who.keys, channel), channels.place(who.keys, channel)]
    head = found[0] if found else 0
    yield from _compare(who, channel, source, [seq for seq in source.files if seq <= head])
    new = [seq for seq in source.files if seq > head]
    if facts:
        source.report["channel"] = facts["name"]
        _fits(source, facts, new, head)
    if new or not facts:
        yield from enter(who, source.name, source.wanted(), Once())
        yield from _append(who, channel, source, new, head)
    yield from import_board(who, channel, Incoming(source.board, source.spoke, source.names, source.report, repository))
    return source.report


def _compare(who: Caller, channel: str, source: _In, old: Sequence[int]) -> Flow:
    first = yield messages.entries(who.keys, channel, source.name, who.me, count=1)
    oldest = first[0]["seq"] if first else 1 << 63
    for at in range(0, len(old), PAGE):
        part = old[at : at + PAGE]
        found = yield [messages.entries(who.keys, channel, source.name, who.me, above=seq - 1, to=seq, count=1) for seq in part]
        for seq, page in zip(part, found, strict=True):
            source.compare(seq, page[0] if page else None, oldest)


def _fits(source: _In, facts: dict[str, Any], new: Sequence[int], head: int) -> None:
    """May this folder go on in a channel that is there?"""
    name, cap, talk = facts["name"], int(facts["cap"]), int(facts["talk"]) + len(source.talk.intersection(new))
    if not new:
        return
    if facts["state"] != "open":
        raise ChannelClosed(channel=name, reason=facts["reason"])
    if head and source.met != head:
        message = f"#{name} ends with message {head}, which {source.place} does not hold: nothing was stored. {_elsewhere(source.place)}"
        raise BadFolder(message=message, directory=source.place, channel=name)
    if cap and talk >= cap:
        message = (
            f"#{name} takes {cap} messages and would hold {talk}: nothing was stored. Delete it, and import opens it without a cap: redischat delete {name}"
        )
        raise BadFolder(message=message, directory=source.place, channel=name)


def _append(who: Caller, channel: str, source: _In, new: Sequence[int], head: int) -> Flow:
    """In batches, each of which is stored whole and only where the one before it ended."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for seq in new:
        record = source.load(source.files[seq])
        if record is not None:
            rows.append(source.row(record))
            size += len(record["body"])
        if rows and (seq == new[-1] or len(rows) >= PAGE or size >= BATCH_BYTES):
            head = yield from _store(who, channel, source, rows, head)
            rows, size = [], 0


def _store(who: Caller, channel: str, source: _In, rows: Sequence[Sequence[Any]], head: int) -> Flow:
    try:
        done = yield messages.import_batch(who, channel, rows, after=head)
    except NoSuchSeq as error:
        stored = source.report["stored"]
        message = f"somebody wrote in #{source.name} meanwhile: {stored} messages of {source.place} were stored, the rest has no place there"
        raise BadFolder(message=message, directory=source.place, channel=source.name, stored=stored) from error
    source.report["stored"] += done["stored"]
    return done["last_seq"]
