"""Reloading the VS Code window of a session of Claude Code whose waking broke: all that must be so before, then the one command. macOS only, off by default.

There is no supported way to ask VS Code for it, so its command palette is driven (AppleScript). What is run is a list of words and a text of ours.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager, suppress

from ..errors.reload import (
    ReloadFailed,
    ReloadOthers,
    ReloadOutside,
    ReloadPlatform,
    ReloadRecent,
    ReloadUnproved,
    ReloadUnsaved,
    ReloadUnsure,
    ReloadWindow,
    ReloadWorking,
)
from ..settings import read_pairs, write_pairs
from . import alive, fired
from . import session as cards

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FOLDER = "reloads"  # in the state directory, not in the project: no repository may bring a switch that drives a keyboard
SYSTEM, MAC = sys.platform, "darwin"
RECENT_S, AUTO_S = 60.0, 3600.0  # a window is reloaded again after so long at the earliest: by hand, by itself
ASK_S = 15.0
APP, UNSAVED = "Visual Studio Code", "● "  # what titles may hold beside file, folder and profile, where a user has set that
LOOK = """set told to {}
tell application "System Events"
    if not (exists process "Code") then return ""
    repeat with one in (get windows of process "Code")
        set kept to "unknown"
        try
            set kept to "saved"
            if value of attribute "AXEdited" of (value of attribute "AXCloseButton" of one) then set kept to "edited"
        on error
            set kept to "unknown"
        end try
        set end of told to kept & tab & name of one
    end repeat
end tell
set AppleScript's text item delimiters to linefeed
return told as text"""
ACT = """on run argv
    set wanted to text 8 thru -1 of item 1 of argv
    tell application "System Events" to tell process "Code"
        set found to every window whose name is wanted
        if (count of found) is not 1 then error "the window has changed"
        set frontmost to true
        perform action "AXRaise" of item 1 of found
        delay 0.5
        if name of front window is not wanted then error "another window is in front"
        keystroke "p" using {command down, shift down}
        delay 0.5
        keystroke "Developer: Reload Window"
        delay 0.5
        key code 36
    end tell
end run"""
MARK = "window:"  # before a title, which may begin like a flag; as long as ACT takes off


class Reload:
    """The reload of one project's window for one of its sessions. ``env``: where `claude` and `osascript` are found."""

    def __init__(self, state_dir: str, home: str, session: str, env: Mapping[str, str]) -> None:
        self.state_dir, self.home, self.session, self.env = state_dir, home, session, env
        self.path = os.path.join(state_dir, FOLDER, fired.key(home))

    @property
    def auto(self) -> bool:
        """May a missed wake reload the window?"""
        return read_pairs(self.path).get("auto") == "on"

    def switch(self, *, on: bool) -> None:
        """Say whether a missed wake may reload the window.

        Raises:
            ReloadPlatform: on, where it could never be done.
        """
        if on:
            self.possible()
        self._note(auto="on" if on else "off")

    def possible(self) -> None:
        """Raises ReloadPlatform, unless this is macOS."""
        if SYSTEM != MAC:
            raise ReloadPlatform(system=SYSTEM)

    def allowed(self, *, least: float = RECENT_S, i_know: bool = False) -> None:
        """What can be judged without running anything; ``least``: so long it must be since the last one, in seconds.

        Raises:
            ReloadPlatform, ReloadRecent, ReloadUnproved: it is not.
        """
        self.possible()
        self._rested(least)
        if not i_know and "SessionStart" not in fired.seen(self.state_dir, self.home, "claude"):
            raise ReloadUnproved(project=self.home)

    def run(self, *, least: float = RECENT_S, i_know: bool = False, idle: bool = False) -> None:
        """Reload the window, if all is as it must be; ``idle``: only of a session that Claude Code says is idle.

        Raises:
            ReloadUnsure, ReloadOthers, ReloadWorking, ReloadWindow, ReloadUnsaved: it is not. ReloadFailed: macOS did not do it. And those of :meth:`allowed`.
        """
        with self.alone(least):
            self.allowed(least=least, i_know=i_know)
            self._company(i_know=i_know and not idle, idle=idle)
            title = self._window(i_know=i_know and not idle)
            self._note(at=str(int(time.time())))  # before: what goes wrong is not tried again at once
            self._script(ACT, MARK + title)

    def by_itself(self) -> None:
        """As :meth:`run`, because of a missed wake: at most once an hour, and only of an idle session."""
        self.run(least=AUTO_S, idle=True)

    def _rested(self, least: float) -> None:
        at = read_pairs(self.path).get("at", "")
        past = time.time() - int(at) if at.isdecimal() else least
        if 0 <= past < least:
            raise ReloadRecent(project=self.home, seconds=round(past), least=round(least))

    @contextmanager
    def alone(self, least: float) -> Iterator[None]:
        """Nobody else reloads meanwhile."""
        from fcntl import LOCK_EX, LOCK_NB, flock

        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        held = os.open(self.path + ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                flock(held, LOCK_EX | LOCK_NB)
            except BlockingIOError:
                raise ReloadRecent(project=self.home, seconds=0, least=round(least)) from None
            yield
        finally:
            os.close(held)

    def _company(self, *, i_know: bool, idle: bool) -> None:
        """Nobody else lives here: by our cards, and by what Claude Code says."""
        known = [
            card["session"]
            for card in cards.cards(self.state_dir).values()
            if card.get("project") == self.home and not card.get("ended") and not alive.gone(card)
        ]
        try:
            told = self._live()
        except ReloadUnsure:
            if not i_know:
                raise
            told = {}
        others = sorted({*known, *told} - {self.session})
        if others:
            count = f"{len(others)} session{'s' * (len(others) != 1)}"
            raise ReloadOthers(count=count, project=self.home, sessions=", ".join(others))
        if self.session not in told and not i_know:
            raise ReloadUnsure(why="not even this one is among those that it named")
        if idle and told[self.session] != "idle":
            raise ReloadWorking(session=self.session, state=told[self.session])

    def _live(self) -> dict[str, str]:
        """Claude Code's live sessions in this project: id -> busy, waiting or idle."""
        from json import loads

        try:
            found = loads(self._ran("claude", "agents", "--json"))
            return {str(one["sessionId"]): str(one.get("status") or "busy") for one in found if one["sessionId"] == self.session or self._here(one["cwd"])}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            why = str(error.strerror or error) if isinstance(error, OSError) else str(error)
            raise ReloadUnsure(why=why) from None

    def _here(self, folder: str) -> bool:
        real, home = os.path.realpath(folder), os.path.realpath(self.home)
        return real == home or real.startswith(os.path.join(home, ""))

    def _window(self, *, i_know: bool) -> str:
        """The title of the one window that shows this project, with nothing in it that is not saved."""
        folder = os.path.basename(self.home)
        rows = [row.split("\t", 1) for row in self._script(LOOK).split("\n") if "\t" in row]
        found = [(state, title) for state, title in rows if shows(title, folder)]
        if len(found) != 1:
            raise ReloadWindow(count=len(found) or "no", folder=folder)
        state, title = found[0]
        if state == "edited" or title.startswith(UNSAVED):
            raise ReloadUnsaved(folder=folder)
        if state != "saved" and not i_know:
            raise ReloadUnsure(why="macOS does not tell whether all is saved there")
        return title

    def _script(self, script: str, *words: str) -> str:
        try:
            return self._ran("osascript", "-e", script, *words)
        except OSError as error:
            raise ReloadFailed(why=error.strerror or str(error)) from None

    def _ran(self, program: str, *words: str) -> str:
        """What a program printed. OSError when it is not there, fails, or takes too long; what it says of that is told, and never acted on."""
        from shutil import which
        from subprocess import DEVNULL, TimeoutExpired, run

        path = which(program, path=self.env.get("PATH", ""))
        if not path:
            raise FileNotFoundError(2, f"there is no {program} on the PATH")
        try:
            done = run([path, *words], stdin=DEVNULL, capture_output=True, timeout=ASK_S, check=False, env=dict(self.env))
        except TimeoutExpired:
            raise TimeoutError(60, f"{program} took longer than {ASK_S:g} s") from None
        if done.returncode:
            said = " ".join(done.stderr.decode("utf-8", "replace").split())[-200:]
            raise OSError(5, said or f"{program} ended with {done.returncode}")
        return done.stdout.decode("utf-8", "replace").rstrip("\n")

    def _note(self, **facts: str) -> None:
        write_pairs(self.path, {**read_pairs(self.path), "project": self.home, **facts})


def shows(title: str, folder: str) -> bool:
    """Is this the title of a window with that folder? macOS: `a.py — folder — profile`, without the first or the last where there is none."""
    parts = [part for part in title.removeprefix(UNSAVED).split(" — ") if part != APP]
    return folder in (parts if len(parts) == 1 else parts[1:2])  # a file that is called like the folder is none


def asked(env: Mapping[str, str], state_dir: str, home: str, session: str) -> Reload:
    """The reload that a session asks for in its own shell.

    Raises:
        ReloadPlatform, ReloadOutside: there is no window of it here.
    """
    found = Reload(state_dir, home, session, env)
    found.possible()
    why = cards.outside(env) or ("" if session else "it has no session id")
    if why:
        raise ReloadOutside(why=why)
    return found


def wanted(state_dir: str, card: Mapping[str, str], env: Mapping[str, str]) -> Reload | None:
    """The reload (:meth:`Reload.by_itself`) of a session whose wake was missed; None where that is not wanted, cannot be, or was done lately."""
    if SYSTEM != MAC or card.get("window") != cards.WINDOW:
        return None
    found = Reload(state_dir, card["project"], card["session"], env)
    try:
        found.allowed(least=AUTO_S)
    except (ReloadRecent, ReloadUnproved):
        return None
    return found if found.auto else None


def forget(state_dir: str, home: str) -> None:
    """Remove what is kept of a project."""
    for path in (Reload(state_dir, home, "", {}).path, Reload(state_dir, home, "", {}).path + ".lock"):
        with suppress(OSError):
            os.unlink(path)
