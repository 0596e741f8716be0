"""Reloading a window of VS Code: what keeps `redischat reload` from it. Part of the tree on the package's first page."""

from __future__ import annotations

from . import Refused


class ReloadPlatform(Refused):
    """Windows are reloaded on macOS only."""

    code = "RELOAD_PLATFORM"
    text = (
        "a window of VS Code can be reloaded from here on macOS only, this is {system}: nothing was done. In VS Code its own command does it (Developer: Reload "
        "Window); in a terminal end the session and go on with claude --resume. Then look: redischat doctor"
    )


class ReloadOutside(Refused):
    """The caller is not proved to be a session of Claude Code's extension in a window on this Mac."""

    code = "RELOAD_OUTSIDE"
    text = (
        "this is not proved to be a session of Claude Code's extension in VS Code on this Mac ({why}): nothing was done. In a terminal, VS Code's own too, end "
        "the session and go on with claude --resume. Then look: redischat doctor"
    )


class ReloadRecent(Refused):
    """The window of this project was reloaded a moment ago, or is being reloaded."""

    code = "RELOAD_RECENT"
    text = "the window of {project} was reloaded {seconds} s ago, and again at the earliest after {least} s: nothing was done. Look what came of it: redischat doctor"


class ReloadUnproved(Refused):
    """No hook of ours was seen at the start of a session here: what comes back might listen to nothing."""

    code = "RELOAD_UNPROVED"
    text = (
        "no hook of ours was ever seen at the start of a session in {project}, so what comes back might be deaf, and only a person could wake it: nothing was done. "
        "Why it was not: redischat doctor. To accept that: redischat reload --force --i-know"
    )


class ReloadUnsure(Refused):
    """It cannot be known what else the reload would end or lose."""

    code = "RELOAD_UNSURE"
    text = (
        "a reload takes the whole window, and it cannot be told what is in it ({why}): nothing was done. "
        "If you know that this is its only session, and all is saved: redischat reload --force --i-know"
    )


class ReloadOthers(Refused):
    """Other sessions live in this project: the window is theirs, too."""

    code = "RELOAD_OTHERS"
    text = "{count} other live in {project} ({sessions}), and a reload takes the whole window: nothing was done, and no flag changes that. Who they are: redischat who"


class ReloadWorking(Refused):
    """The session is not idle, and nobody in it asked for this."""

    code = "RELOAD_WORKING"
    text = "the session {session} is not known to be idle ({state}), and a reload would end its turn: nothing was done. What it does: redischat who"


class ReloadWindow(Refused):
    """None, or more than one, of VS Code's windows shows this project."""

    code = "RELOAD_WINDOW"
    text = "{count} windows of VS Code show a folder called {folder}, it takes exactly one to know which is meant: nothing was done. Reload it by hand, then look: redischat doctor"


class ReloadUnsaved(Refused):
    """Something in the window is not saved."""

    code = "RELOAD_UNSAVED"
    text = "the window of {folder} has a file that is not saved: nothing was done, and no flag changes that. Save it, then: redischat reload --force"


class ReloadFailed(Refused):
    """macOS did not do it."""

    code = "RELOAD_FAILED"
    text = (
        "macOS did not do it ({why}). It needs leave to drive other programs: System Settings, Privacy & Security, Accessibility and Automation, for VS Code. "
        "Reload by hand, then look: redischat doctor"
    )
