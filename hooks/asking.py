"""What tick.py does at an event of a session; beside it, so that it is compiled once and not at every event.

It asks the broker one script over a raw socket: is there news for this session, are files locked here? Nothing: it ends, without having imported anything
(12 ms). Else, and whenever anything is odd, the package takes over in this process. It never fails, blocks or delays its host: within 2 s it is gone, with
exit 0 and at most a line in the log.
"""

import _signal
import _socket
import posix
import sys
from _thread import start_new_thread
from time import monotonic, sleep, strftime, time

LIMIT_S, CONNECT_S, STDIN_S = 1.5, 0.3, 1.0  # of the 2 s that a host may lose: the rest is for the start and the end of the process, and to give back
SETTLE_S = 0.4  # after the limit, for the package to give back what it took
MOST, ANSWERS = 8 << 20, 4
LOG_BYTES, LOG_S = 100_000, 60  # of the log and of the one before it; the same line is written once in so long
MARK_S = 60  # an event that comes often is noted once a minute
WAKER_S = 20.0  # one that said nothing of itself for so long does not run: whoever goes idle lets another one start
OURS = ("<task-notification>", "redischat (")  # how the prompt begins that a wake of ours makes
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
    opened()
    client = sys.argv[1] if len(sys.argv) > 1 else "claude"
    if client == "waiter":
        from waiting import main as wait

        return wait()
    raw, answers = b"", []
    try:
        raw = stdin()
        event = parsed(raw)
        card = session(event)
        if card is not None:
            mark(card, client, event["hook_event_name"])
        if card is None or not wanted(event, card, answers):
            return 0
    except (Odd, KeyError):  # a card that lacks something is made anew
        pass
    except BaseException as error:  # noqa: BLE001 - a hook never breaks its host
        return log(f"{type(error).__name__}: {error}")
    return package(client, raw, answers)


def opened() -> None:
    """Where the host has closed standard input, output or errors, nothing else may come to stand in their place: no answer is to go to the broker."""
    for number in (0, 1, 2):
        try:
            posix.fstat(number)
        except OSError:
            posix.open("/dev/null", posix.O_RDONLY)  # the lowest free number; writing there fails, as it must: nobody reads it


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
    if "HOME" not in env:
        from pwd import getpwuid

        env["HOME"] = getpwuid(posix.getuid()).pw_dir
    return env.get("REDISCHAT_STATE") or (env.get("XDG_STATE_HOME") or env["HOME"] + "/.local/state") + "/redischat"


def file_name(name: str) -> str:
    """A session's id as the name of a file."""
    plain = name and len(name) < 128 and name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if plain else name.encode("utf-8", "replace").hex()[:120]


def session(event: dict) -> "dict | None":
    """What is known here of the event's session; None: nothing to do with redischat."""
    if not event:
        return None
    if event["hook_event_name"] in ALWAYS:
        raise Odd
    try:
        with open(f"{state()}/sessions/{file_name(event['session_id'])}", encoding="utf-8", errors="surrogateescape") as file:
            card = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    except OSError:
        return None
    if card.get("ended") == "gone":  # taken for dead, and here it is
        raise Odd
    return None if card.get("ended") else card


def mark(card: dict, client: str, name: str) -> None:
    """Note that this event came (redischat/hook/fired.py): a hook that is registered and never runs looks like one that works."""
    folder = f"{state()}/fired"
    path = f"{folder}/{card.get('mark')}.{client}.{name}"
    try:
        if abs(time() - posix.stat(path).st_mtime) < MARK_S:  # a clock may have been ahead
            return
    except OSError:
        pass
    try:  # noqa: SIM105 - contextlib costs a millisecond
        posix.mkdir(folder, 0o700)
    except OSError:
        pass  # it is there; or it cannot be made, and the next line says so to nobody
    try:
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(__file__.rpartition("/")[0] + "/tick.py\n")
    except OSError:
        return


def wanted(event: dict, card: dict, answers: "list[int]") -> bool:
    """Is there something to say, to refuse or to do? One question to the broker; ``answers`` holds what it said."""
    name, child = event["hook_event_name"], bool(event.get("agent_id"))
    if name not in KINDS or (child and name not in BEFORE):
        return False
    if child and "redischat" in str(event.get("tool_input", "")):
        raise Odd
    kind = "other" if child else "talk" if KINDS[name] == "tool" and talk(event) else KINDS[name]
    if kind == "prompt" and str(event.get("prompt", "")).lstrip().startswith(OURS):
        kind = "woken"
    answers += ask(card, kind)
    known, news, locks, keep = answers
    if not known or (kind == "idle" and (card.get("gate") or deaf())):
        raise Odd
    return bool(locks or keep & 1) if name in BEFORE else bool(news or keep or (locks and seen(event["session_id"])))


def seen(session_id: str) -> bool:
    """Was it noted down what locked files look like, because a shell command was about to run (redischat/hook/sweep.py)?"""
    try:
        return bool(posix.stat(f"{state()}/seen/{file_name(session_id)}"))
    except OSError:
        return False


def talk(event: dict) -> bool:
    """Is this tool call only redischat? Talk is no work: two who do nothing else stop waking each other."""
    calls = event.get("tool_calls")
    return all(_redischat(one) for one in (calls if isinstance(calls, list) and calls else [event]))


def _redischat(call: object) -> bool:
    given = call.get("tool_input") if isinstance(call, dict) else None
    first, _, _ = str(given.get("command", "") if isinstance(given, dict) else "").partition("\n")
    if "redischat" in (str(call.get("tool_name", "")) if isinstance(call, dict) else ""):
        return True
    return first.split(" ")[0].endswith("redischat") and not any(mark in first for mark in ("&&", ";", "|"))


def deaf() -> bool:
    """Does no waker run on this host?"""
    try:
        return abs(time() - posix.stat(f"{state()}/waker/{posix.uname().nodename}/status").st_mtime) > WAKER_S  # a clock may have been ahead
    except OSError:
        return True


def ask(card: dict, kind: str) -> "list[int]":
    """The four answers of session_tick.lua."""
    if not card.get("sha"):
        raise Odd
    if not card.get("socket"):
        start_new_thread(leave, ())
    sock = _socket.socket(_socket.AF_UNIX if card.get("socket") else _socket.AF_INET6 if ":" in card["host"] else _socket.AF_INET, _socket.SOCK_STREAM)
    sock.settimeout(CONNECT_S)
    try:
        sock.connect(card["socket"] if card.get("socket") else (card["host"], int(card["port"])))
    except OSError as error:
        if card.get("closed") or card.get("door"):  # a waker's door: nobody is behind it now
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
        if not part and card.get("door") and not card.get("closed"):
            raise ConnectionError("the waker does not reach the broker")
        reply += part
        lines = reply.split(b"\r\n")[:-1]
        if not part or any(line[:1] == b"-" or line == b"format" for line in lines):
            raise Odd
    return [int(line[1:]) for line in lines if line[:1] == b":"]


def leave() -> None:
    """End this process when its time is up: a name service that hangs hears no alarm."""
    sleep(max(0.0, STARTED + LIMIT_S + SETTLE_S - monotonic()))
    posix._exit(0)  # noqa: SLF001 - what os gives under the same name


def wire(words: "list[str]") -> bytes:
    """A command as RESP."""
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        data = word.encode("utf-8", "surrogateescape")
        out.append(b"$%d\r\n%s\r\n" % (len(data), data))
    return b"".join(out)


def package(client: str, raw: bytes, answers: "list[int]") -> int:
    """Let the package look at it, in this process, with what the broker said already."""
    start_new_thread(leave, ())
    try:
        here = __file__.rpartition("/")[0]
        root = here.rpartition("/")[0]
        python = sys.executable.rpartition("/")[0].rpartition("/")[0]
        site = f"{python}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
        sys.path[:0] = [site, root.rpartition("/")[0] if "__init__.py" in posix.listdir(root) else root]  # in the package; in a checkout, whatever its name
        from redischat.harness.entry import main as entry

        return entry(client, raw, STARTED + LIMIT_S, answers, log)
    except BaseException as error:  # noqa: BLE001 - a hook never breaks its host
        return log(f"{type(error).__name__}: {error}")


def log(line: str) -> int:
    """One line in the log, if it can be written, and is not the last one there already; 0."""
    try:
        path, said = state() + "/hook.log", f" {line[:300]!a}\n"
        with open(path, "a+", encoding="utf-8", errors="backslashreplace") as file:
            size = file.tell()
            file.seek(max(0, size - len(said)))
            if file.read() == said and abs(time() - posix.fstat(file.fileno()).st_mtime) < LOG_S:
                return 0
            if size > LOG_BYTES:
                posix.rename(path, path + ".1")
            file.write(f"{strftime('%Y-%m-%dT%H:%M:%S')}{said}")
    except (OSError, ValueError):
        pass
    return 0
