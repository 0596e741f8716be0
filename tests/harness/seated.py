"""Running clients that a test talks to: at a terminal, by JSON lines, or by HTTP."""

from __future__ import annotations

import contextlib
import json
import sys

from waiting import wait_until

TURN_SECONDS = 40
CALL = """
import json, sys, urllib.request
method, url, body = sys.argv[1:]
request = urllib.request.Request(url, method=method, data=body.encode() or None, headers={"content-type": "application/json"})
print(urllib.request.urlopen(request, timeout=30).read().decode())
"""


class Session:
    """An interactive client that is waiting for input: ``prompt(*steps)``, ``terminal``."""

    def __init__(self, lab, terminal, ready):
        self.lab, self.terminal = lab, terminal
        terminal.shows(ready)

    def prompt(self, *steps, seconds=TURN_SECONDS):
        """Type a prompt that makes the model play these steps; the first request that it led to."""
        words = self.lab.play(*steps)
        self.terminal.type(words)
        self.terminal.shows(words)
        name = words.partition(":")[2]
        asked = lambda: [one for one in self.lab.requests() if one.play == name]  # noqa: E731
        self.terminal.press("enter", asked, "the prompt reached the model", seconds)
        return asked()[0]

    def turn(self, *steps, seconds=TURN_SECONDS):
        """A prompt, and all its steps; the requests that they answered, in order."""
        play = self.prompt(*steps, seconds=seconds).play
        asked = lambda: [one for one in self.lab.requests() if one.play == play]  # noqa: E731
        wait_until(lambda: len(asked()) >= len(steps), f"the model played {len(steps)} steps", seconds)
        return asked()

    def close(self):
        self.terminal.close()


class Stream:
    """A Claude session that is fed JSON lines, as by its SDK: ``turn(*steps)``, ``results()``, ``close()``."""

    def __init__(self, lab, process):
        self.lab, self.process = lab, process

    def events(self):
        path = self.lab.folder / "stream.out"
        found = []
        for line in path.read_text("utf-8").split("\n")[:-1]:
            with contextlib.suppress(ValueError):
                found.append(json.loads(line))
        return found

    def results(self):
        """The ends of turns so far."""
        return [event for event in self.events() if event.get("type") == "result"]

    def send(self, words):
        line = json.dumps({"type": "user", "message": {"role": "user", "content": words}}) + "\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def turn(self, *steps, seconds=TURN_SECONDS):
        """A prompt that plays these steps, to its end; the result event."""
        before = len(self.results())
        self.send(self.lab.play(*steps))
        return wait_until(lambda: self.results()[before:], "the turn ended", seconds)[0]

    def close(self, seconds=TURN_SECONDS):
        """Close its input; its exit code."""
        self.process.stdin.close()
        return self.process.wait(seconds)


class Server:
    """A running OpenCode server with one session: ``turn(*steps)``, ``wake(words)``, ``call``."""

    def __init__(self, lab):
        self.lab = lab
        lab.start(lab.program, "serve", "--port", "0", "--hostname", "127.0.0.1", name="serve")
        self.url = wait_until(self._listens, "OpenCode listens", TURN_SECONDS)
        self.session = self.call("POST", "/session", {"title": "lab"})["id"]

    def _listens(self):
        words = (self.lab.folder / "serve.out").read_text("utf-8").split()
        return next((word for word in words if word.startswith("http://127.0.0.1:")), None)

    def call(self, method, path, body=None):
        """Ask its HTTP interface from inside the lab; the answer."""
        done = self.lab.run(sys.executable, "-I", "-c", CALL, method, self.url + path, "" if body is None else json.dumps(body))
        assert not done.code, f"{method} {path}: {done.err}"
        return json.loads(done.out) if done.out.strip() else None

    def turn(self, *steps):
        """A prompt that plays these steps, to its end."""
        return self.call("POST", f"/session/{self.session}/message", {"parts": [{"type": "text", "text": self.lab.play(*steps)}]})

    def wake(self, words):
        """Put a message into the session and do not wait."""
        self.call("POST", f"/session/{self.session}/prompt_async", {"parts": [{"type": "text", "text": words}]})
