"""bridge slack: where its settings come from, and whether they work."""

from __future__ import annotations

import os

from ..errors import Usage
from ..errors.bridge import BridgeUnset
from ..names import agent as agent_name
from ..names import channel as channel_name
from ..settings import here, read_pairs
from .seat import given, missing
from .show import put, record
from .show import say as remark

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..bridge.run import Wanted
    from ..settings import Settings
    from .seat import Seat

TOKEN, CHANNEL = "SLACK_BOT_TOKEN", "SLACK_CHANNEL"
FILE = "slack"
POLL_S, LONGEST_S = 10.0, 86_400.0
OTHERS = 0o077
LOCAL = ("http://127.0.0.1:", "http://localhost:", "http://[::1]:")


def slack(
    seat: Seat, *, channel: str | None = None, slack: str | None = None, config: str | None = None, poll: float | None = None, check: bool = False
) -> int:
    """Carry a channel to Slack and back until it is told to end, or only look whether that would work."""
    try:
        from ..bridge import check as checks
        from ..bridge.run import bridge
    except ImportError as error:
        raise missing(error, "the bridge to Slack", "slack") from None
    settings, wanted = _settled(seat.settings, channel, slack, config, poll)
    if not check:
        return bridge(settings, wanted, remark)
    rows = checks.looked(settings, wanted)
    put("".join(record(row) if seat.json else checks.line(row) for row in rows))
    return checks.code(rows)


def _settled(settings: Settings, room: str | None, slack: str | None, config: str | None, poll: float | None) -> tuple[Settings, Wanted]:
    """Flag, then environment, then the file. All that is missing is said at once. The project's own file is not asked: a repository may bring one."""
    from ..bridge.run import Wanted

    path = os.path.abspath(config if config is not None else os.path.join(settings.state_dir, FILE))
    if config is not None and not os.path.isfile(path):
        raise Usage(message=f"there is no file {config!r}. What belongs into it: redischat bridge slack --help")
    found, env = read_pairs(path), settings.env
    wrong = []
    if found.get("token") and os.stat(path).st_mode & OTHERS and os.name == "posix":
        remark(f"{path} holds a token and can be read by other users of this machine: chmod 600 {path}")
    token = env.get(TOKEN) or found.get("token", "")
    there = slack or env.get(CHANNEL) or found.get("channel", "")
    room = room or found.get("room", "")
    explicit = settings.sources["agent"] in ("--as", "REDISCHAT_AGENT")
    person = settings.agent if explicit else found.get("agent", "")
    for value, what, how in (
        (token, "the token of the Slack app's bot", f"{TOKEN}, or token="),
        (there, "the id of Slack's channel", f"--slack C0123456789, {CHANNEL}, or channel="),
        (room, "the channel here", "redischat bridge slack CHANNEL, or room="),
        (person, "the person that the bridge speaks for", "--as NAME, or agent="),
    ):
        if not value:
            wrong.append(f"missing: {what} ({how})")
    every = poll if poll is not None else _seconds(found.get("poll", ""), wrong)
    api = found.get("api", "")
    if api and not api.startswith(("https://", *LOCAL)):
        wrong.append("api= is no https:// address: the token would be sent in the open")
    if wrong:
        raise BridgeUnset(wrong=wrong, path=path)
    if not 0 < every <= LONGEST_S:
        raise Usage(message=f"--poll is a number of seconds above 0, {LONGEST_S:g} at most")
    if not explicit:
        settings = here({**given(settings), "as_": person})
    agent_name(settings.me())
    return settings, Wanted(channel_name(room).removeprefix("#"), there, token, every, api)


def _seconds(text: str, wrong: list[str]) -> float:
    try:
        return float(text or POLL_S)
    except ValueError:
        wrong.append(f"poll={text} is no number of seconds")
        return POLL_S
