"""Write redischat/sync from redischat/aio, word by word. With --check, only say whether it is fresh."""

from __future__ import annotations

import re
import sys
from pathlib import Path

HOUSE = Path(__file__).parent.parent / "redischat"
NOTE = "# Made from ../aio by tests/unasync.py; edit that, not this.\n"
WORDS = [
    # what a thread does instead
    (r"(?s)    task = asyncio\.current_task\(\).*?raise asyncio\.CancelledError", "    return answer"),
    (r"; a cancellation that something below has swallowed .* is raised", "; here the socket sees to that"),
    (r"(?s)            if isinstance\(failure, asyncio\.CancelledError\).*?return rest\n", ""),
    (r"        if self\._interrupted is not None:\n            return await heeding\(.*\n", ""),
    (r"(?m)^from \.connection import heeding\n", ""),
    (r"\nSETTLE_S = .*\n", ""),
    (r"(?s)async with asyncio\.timeout\(seconds\):\s+await event\.wait\(\)", "event.wait(seconds)"),
    (r"socket_timeout=None", "socket_timeout=ANSWER_S"),
    (r"asyncio\.to_thread\((.*)\)", r"\1()"),
    (r"(?s)async def settled\(.*?(?=class GivenBack)", ""),
    (r"await settled\((.*)\)", r"\1"),
    (r", settled\b", ""),
    (r"(?s)    def later\(.*?(?=    async def disconnect)", ""),
    (r"        self\._doing: .*\n", ""),
    (r"(?s)        here = \{one for one.*?asyncio\.wait\(here\)\n", ""),
    (r"self\._connection\.later\((.*)\)  # .*", r"\1"),
    (r"            for over in \[loop .*\n.*\n", ""),
    (r"        self\._closing: .*\n", ""),
    (r"\[one for one, loop in list\((self\._lent)\.items\(\)\) if loop is asyncio\.get_running_loop\(\)\]", r"list(\1)"),
    (r"(self\._lent\[give_back\]) = asyncio\.get_running_loop\(\)", r"\1 = None"),
    (r"(?s)if self\._closing is None:.*?asyncio\.shield\(self\._closing\)", "self._closed()"),
    (r"asyncio\.get_running_loop\(\)", "threading.main_thread()"),
    (
        r"a redis client for each event loop that it is used in, because a connection belongs to the loop that opened it",
        "one redis client, which threads may share",
    ),
    (r"that this event loop opened", "that were opened"),
    (r"AsyncStarted\[(\w+)\]", r"\1"),
    (r"AsyncStarted\((.*)\)", r"\1"),
    (r"(?m)^from \.started import AsyncStarted\n", ""),
    (r"asyncio\.sleep\b", "time.sleep"),
    (r"asyncio\.Event\b", "threading.Event"),
    (r"asyncio\.Task\[None\]", "threading.Thread"),
    (r"(self\._task) = asyncio\.create_task\((self\._beat)\(\)\)", r"\1 = threading.Thread(target=\2, daemon=True)\n            \1.start()"),
    (r"await (self\._task)", r"\1.join()"),
    (r"(?m)^import asyncio\nimport contextlib\nimport time\n", "import contextlib\nimport threading\nimport time\n"),
    (r"(?m)^import asyncio\nimport weakref\n", "import threading\nimport weakref\n"),
    (r"(?m)^    import asyncio\n", "    import threading\n"),
    (r"(?m)^import asyncio\n", ""),
    (r"redis\.asyncio\b", "redis"),
    (r"a program that runs an event loop", "a program with threads or none"),
    # the language
    (r"async (def|with|for)\b", r"\1"),
    (r"await ", ""),
    (r"__a(enter|exit)__", r"__\1__"),
    (r"\.aclose\b", ".close"),
    (r"\bAwaitable\[([^\[\]]+)\]", r"\1"),
    (r"\bAwaitable, ", ""),
    (r"\bCoroutine, ", ""),
    (r"\bAsync([A-Z]\w*)", r"\1"),
]


ONLY_AIO = {"started.py"}  # a thread has a verb's result as soon as it has called it


def to_sync(text: str, used: set[str]) -> str:
    """The same file without waiting; notes which patterns it needed."""
    for pattern, word in WORDS:
        text, count = re.subn(pattern, word, text)
        if count:
            used.add(pattern)
    return NOTE + text


def main() -> int:
    check, used = "--check" in sys.argv, set[str]()
    made = {source.name: to_sync(source.read_text("utf-8"), used) for source in sorted((HOUSE / "aio").glob("*.py")) if source.name not in ONLY_AIO}
    unused = [pattern for pattern, _ in WORDS if pattern not in used]
    if unused:
        sys.stdout.write("\n  ".join(["no longer used:", *unused]) + "\n")
        return 1
    there = {path.name: path.read_text("utf-8") for path in (HOUSE / "sync").glob("*.py")}
    stale = sorted(name for name in made.keys() | there.keys() if made.get(name) != there.get(name))
    if not check:
        for name in stale:
            path = HOUSE / "sync" / name
            path.write_text(made[name], "utf-8") if name in made else path.unlink()
    sys.stdout.write(" ".join(["stale:" if stale else "fresh", *stale]) + "\n")
    return int(bool(stale) and check)


if __name__ == "__main__":
    raise SystemExit(main())
