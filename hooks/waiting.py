"""A waiter of a session of Claude Code (`setup --wake waiter`): it blocks until the session is to be woken, and ends with exit 2, which wakes it.

One a session, the newest wins: each listens at a door of its own (a FIFO) before it tells the older ones to go, so that at every moment somebody hears. A ring that
was asked for while nobody listened is seen in the session's record, once listening. While it waits it asks nothing.
"""

import posix
from time import monotonic, sleep, time_ns

from asking import CONNECT_S, LIMIT_S, Odd, file_name, log, parsed, session, state, stdin, wire

CARD_S, STEP_S = 4.0, 0.05  # a session that starts becomes somebody meanwhile
LOOK_MS = 30_000  # so often: is the session still there?
OVER = b"over\n"
ASKED = 9  # of a session's record (scripts/parts/presence.lua): when a wake was asked for


def main() -> int:
    """Wait; 2 when the session is to be woken."""
    try:
        event = parsed(stdin())
        card = known(event) if event else None
        if card is None or card.get("wake") != "wait":
            return 0
        folder = f"{state()}/waiters/{file_name(event['session_id'])}"
        return wait(folder, card, event["session_id"], posix.getppid())
    except OSError as error:
        return log(f"waiter: {error}")


def known(event: dict) -> "dict | None":
    """The session's card; of one that is just starting, once it is there."""
    end = monotonic() + CARD_S
    plain = {**event, "hook_event_name": "Stop"}
    while True:
        try:
            card = session(plain)
        except Odd:
            card = None
        if card is not None or event["hook_event_name"] != "SessionStart" or monotonic() > end:
            return card
        sleep(STEP_S)


def wait(folder: str, card: dict, session_id: str, parent: int) -> int:
    """Listen, send the older ones home, look, then block."""
    for path in (folder.rpartition("/")[0], folder):
        try:  # noqa: SIM105 - contextlib costs a millisecond
            posix.mkdir(path, 0o700)
        except FileExistsError:
            pass
    name = f"{time_ns():020d}-{posix.getpid()}"
    door = f"{folder}/{name}"
    draft = f"{folder}/.{name}"
    posix.mkfifo(draft, 0o600)
    ear = posix.open(draft, posix.O_RDWR | posix.O_NONBLOCK)
    posix.rename(draft, door)  # a door at which nobody listens is taken for a dead one's
    try:
        others = [one for one in posix.listdir(folder) if one[:1].isdigit() and one != name]
        if any(one > name for one in others):
            return home(ear, door, card)
        for one in others:
            dismiss(f"{folder}/{one}")
        if rung(folder, card):
            return wake(card, b"")
        return block(ear, door, card, session_id, parent)
    finally:
        posix.close(ear)
        unlink(door)


def home(ear: int, door: str, card: dict) -> int:
    """Go, for a newer one listens; but hear a ring that was on its way here."""
    unlink(door)
    sleep(STEP_S)
    try:
        said = posix.read(ear, 4096).replace(OVER, b"")
    except OSError:
        said = b""
    return wake(card, said) if said else 0


def dismiss(door: str) -> None:
    """Tell an older one to go. One that was rung just now wakes all the same."""
    try:
        hand = posix.open(door, posix.O_WRONLY | posix.O_NONBLOCK)
        posix.write(hand, OVER)
        posix.close(hand)
    except OSError:
        pass  # nobody is there any more
    unlink(door)


def unlink(path: str) -> None:
    """Gone, if it was there."""
    try:
        posix.unlink(path)
    except OSError:
        return


def rung(folder: str, card: dict) -> bool:
    """Was a wake asked for, and is it this one that has to see to it? Who makes the mark of a ring does: the waker, if it rings, or the waiter that sees it first."""
    asked = pending(card)
    if not asked:
        return False
    for name in posix.listdir(folder):
        if name[:5] == "rung-" and name[5:].isdigit() and int(name[5:]) < asked:  # a later one is of a ring that came since
            unlink(f"{folder}/{name}")
    try:
        posix.close(posix.open(f"{folder}/rung-{asked}", posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def pending(card: dict) -> int:
    """When the wake of this session was asked for that has not landed, as the broker knows; 0 where there is none. Where that cannot be asked, the waker tries its next way."""
    if not card.get("sha"):
        return 0
    import _socket

    sock = _socket.socket(_socket.AF_UNIX if card.get("socket") else _socket.AF_INET6 if ":" in card["host"] else _socket.AF_INET, _socket.SOCK_STREAM)
    try:
        sock.settimeout(CONNECT_S)
        sock.connect(card["socket"] if card.get("socket") else (card["host"], int(card["port"])))
        sock.settimeout(LIMIT_S)
        commands = [["AUTH", *card["auth"].split(" ")]] if card.get("auth") else []
        commands += [["SELECT", card["db"]]] if card.get("db", "0") != "0" else []
        commands.append(["HGET", card["keys"].split(" ")[3], card["args"].split(" ")[0]])
        sock.sendall(b"".join(wire(words) for words in commands))
        reply = b""
        while not reply.endswith(b"\r\n") or reply.count(b"\r\n") < len(commands) + (b"$-1" not in reply):
            part = sock.recv(4096)
            if not part:
                return 0
            reply += part
            if b"\r\n-" in b"\r\n" + reply:
                return 0
    finally:
        sock.close()
    words = reply.split(b"\r\n")[-2].decode("utf-8", "replace").split(" ")
    return int(words[ASKED]) if len(words) > ASKED and words[ASKED].isdigit() and words[4] == "idle" else 0


def block(ear: int, door: str, card: dict, session_id: str, parent: int) -> int:
    """Until it is rung or sent home; now and then it looks whether its session still is."""
    from select import POLLIN, poll

    ears = poll()
    ears.register(ear, POLLIN)
    while True:
        if ears.poll(LOOK_MS):
            said = posix.read(ear, 4096)
            return home(ear, door, card) if said == OVER else wake(card, said)
        if posix.getppid() != parent or known({"hook_event_name": "Stop", "session_id": session_id}) is None:
            return 0


def wake(card: dict, said: bytes) -> int:
    """Exit 2, and what for."""
    text = said.removesuffix(OVER) or f"redischat ({card.get('agent')}): messages wait for you: they follow. If they do not: redischat read\n".encode()
    posix.write(2, text)
    return 2
