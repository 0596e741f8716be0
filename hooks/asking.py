"""What tick.py does at an event of a session; beside it, so that it is compiled once and not at every event.

It asks the broker one script over a raw socket: is there news for this session, are files locked here? Nothing: it ends, without having imported anything
(12 ms). Else, and whenever anything is odd, the package takes over in this process. It never fails, blocks or delays its host: within 2 s it is gone, with
exit 0 and at most a line in the log.
"""

import _signal
import _socket
import posix
import sys
from time import monotonic, strftime

LIMIT_S, CONNECT_S, STDIN_S = 2.0, 0.3, 1.0
MOST, LOG_BYTES, ANSWERS = 8 << 20, 200_000, 4
KINDS = {
    "UserPromptSubmit": "prompt", "PreToolUse": "tool", "PostToolUse": "tool", "PostToolUseFailure": "tool", "PostToolBatch": "tool", "Stop": "idle",
    "BeforeAgent": "prompt", "BeforeTool": "tool", "AfterTool": "tool", "AfterAgent": "idle", "FileChanged": "other",
}  # fmt: skip
ALWAYS = ("SessionStart", "SessionEnd")
BEFORE = ("PreToolUse", "BeforeTool")
STARTED = monotonic()


class Odd(Exception):
    """Something that the package shall look at."""


def main() -> int:
    """One event; the exit code."""
    client = sys.argv[1] if len(sys.argv) > 1 else "claude"
    raw = b""
    try:
        raw = stdin()
        event = parsed(raw)
        card = session(event)
        if card is None or not wanted(event, card):
            return 0
    except Odd:
        pass
    except BaseException as error:  # noqa: BLE001 - a hook never breaks its host
        return log(f"{type(error).__name__}: {error}")
    return package(client, raw)


def stdin() -> bytes:
    """What the host says, as far as it says it in time."""
    data = []
    size = 0
    _signal.signal(_signal.SIGALRM, late)
    _signal.setitimer(_signal.ITIMER_REAL, STDIN_S)
    try:
        while size < MOST and (part := posix.read(0, 1 << 16)):
            data.append(part)
            size += len(part)
    except TimeoutError:
        log("no event in time")
    finally:
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    return b"".join(data)


def late(*_: object) -> None:
    """The host says nothing more."""
    raise TimeoutError


def parsed(raw: bytes) -> dict:
    """The event; {} for what is none."""
    from _json import make_scanner

    class Plain:
        strict, object_hook, object_pairs_hook, parse_float, parse_int, parse_constant, memo = False, None, None, float, int, float, {}

    text = raw.decode("utf-8", "replace").strip()
    try:
        found, _ = make_scanner(Plain)(text, 0) if text else ({}, 0)
    except (StopIteration, ValueError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("hook_event_name"), str) or not isinstance(found.get("session_id"), str):
        log(f"no event: {text[:60]!r}")
        return {}
    return found


def state() -> str:
    """This user's state directory."""
    env = {key.decode("utf-8", "replace"): value.decode("utf-8", "surrogateescape") for key, value in posix.environ.items()}
    base = env.get("XDG_STATE_HOME") or env.get("HOME", "/") + "/.local/state"
    return env.get("REDISCHAT_STATE") or base + "/redischat"


def session(event: dict) -> "dict | None":
    """What is known here of the event's session; None: nothing to do with redischat."""
    if not event:
        return None
    name = event["session_id"]
    safe = (
        name
        if name and len(name) < 128 and name.isascii() and name.replace("-", "").replace("_", "").isalnum()
        else name.encode("utf-8", "replace").hex()[:120]
    )
    if event["hook_event_name"] in ALWAYS:
        raise Odd
    try:
        with open(f"{state()}/sessions/{safe}", encoding="utf-8") as file:
            return dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    except OSError:
        return None


def wanted(event: dict, card: dict) -> bool:
    """Is there something to say or to refuse? One question to the broker."""
    name, child = event["hook_event_name"], bool(event.get("agent_id"))
    if name not in KINDS or (child and name not in BEFORE):
        return False
    if child and "redischat" in str(event.get("tool_input", "")):
        raise Odd
    known, news, locks, keep = ask(card, "other" if child else KINDS[name])
    if not known:
        raise Odd
    return bool(locks or keep) if name in BEFORE else bool(news or keep)


def ask(card: dict, kind: str) -> "list[int]":
    """The four answers of session_tick.lua."""
    if "sha" not in card:
        raise Odd
    sock = _socket.socket(_socket.AF_UNIX if card.get("socket") else _socket.AF_INET6 if ":" in card["host"] else _socket.AF_INET, _socket.SOCK_STREAM)
    sock.settimeout(CONNECT_S)
    try:
        sock.connect(card["socket"] if card.get("socket") else (card["host"], int(card["port"])))
    except OSError as error:
        if card.get("closed"):
            raise Odd from error
        raise
    keys, args = card["keys"].split(" "), [word if word != "?" else kind for word in card["args"].split(" ")]
    commands = [["AUTH", *card["auth"].split(" ")]] if card.get("auth") else []
    commands += [["SELECT", card["db"]]] if card.get("db", "0") != "0" else []
    commands.append(["EVALSHA", card["sha"], str(len(keys)), *keys, *("" if word == "-" else word for word in args)])
    sock.sendall(b"".join(wire(words) for words in commands))
    reply, lines = b"", []
    while sum(line[:1] == b":" for line in lines) < ANSWERS:
        sock.settimeout(max(0.001, LIMIT_S - (monotonic() - STARTED)))
        part = sock.recv(4096)
        reply += part
        lines = reply.split(b"\r\n")[:-1]
        if not part or any(line[:1] == b"-" for line in lines):
            raise Odd
    return [int(line[1:]) for line in lines if line[:1] == b":"]


def wire(words: "list[str]") -> bytes:
    """A command as RESP."""
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word.encode("utf-8", "surrogateescape")
        out.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(out)


def package(client: str, raw: bytes) -> int:
    """Let the package look at it, in this process."""
    try:
        here = __file__.rpartition("/")[0]
        root = here.rpartition("/")[0]
        python = sys.executable.rpartition("/")[0].rpartition("/")[0]
        site = f"{python}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        sys.path[:0] = [site, root.rpartition("/")[0] if root.endswith("/redischat") else root]
        from redischat.harness.entry import main as entry

        return entry(client, raw, STARTED + LIMIT_S)
    except BaseException as error:  # noqa: BLE001 - a hook never breaks its host
        return log(f"{type(error).__name__}: {error}")


def log(line: str) -> int:
    """One line in the log, if it can be written; 0."""
    try:
        path = state() + "/hook.log"
        with open(path, "a", encoding="utf-8", errors="backslashreplace") as file:
            if file.tell() < LOG_BYTES:
                file.write(f"{strftime('%Y-%m-%dT%H:%M:%S')} {line[:300]!r}\n")
    except OSError:
        pass
    return 0
