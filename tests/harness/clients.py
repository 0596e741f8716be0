"""The pinned clients of the harness tests: where each is, how it is installed, or why it is not there.

``python tests/harness/clients.py [name ...]`` installs them into one folder: REDISCHAT_TEST_CLIENTS, else redischat/test-clients in the user's cache.
About 1.5 GB in all. The tests themselves install nothing: without a client they skip, and say why.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

INSTALL_SECONDS = 600
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
FOLDER = Path(os.environ.get("REDISCHAT_TEST_CLIENTS") or CACHE / "redischat" / "test-clients")  # read once: tests hide the user's environment


class Missing(Exception):
    """A client that is not to be had, and why."""


@dataclass(frozen=True)
class Client:
    """One product, pinned: its name, its own version, who installs it (pip or npm), the package, and its program below the folder."""

    name: str
    version: str
    by: str
    package: str
    program: str

    @property
    def folder(self):
        return FOLDER / f"{self.name}-{self.package.rsplit('@', 1)[-1].rsplit('==', 1)[-1]}"

    @property
    def why(self):
        """The file that says why the last try to install it failed."""
        return FOLDER / f"{self.folder.name}.failed"

    def command(self):
        """The path of its program. Missing: it is not installed, or could not be."""
        program = self.folder / self.program
        if program.exists():
            return str(program)
        if self.why.exists():
            raise Missing(f"{self.name} {self.version} could not be installed: {self.why.read_text('utf-8')}")
        raise Missing(f"{self.name} {self.version} is not installed: python tests/harness/clients.py {self.name.removesuffix('-plugin')}")

    def install(self):
        """Install it where it is not yet; two at once take turns. Missing: it failed, and the tests will say so too."""
        with turn(self.folder):
            if (self.folder / self.program).exists():
                return
            half = self.folder.with_name(f"{self.folder.name}.half")
            shutil.rmtree(half, ignore_errors=True)
            try:
                fetch(self, half)
            except Missing as failed:
                self.why.write_text(str(failed), "utf-8")
                shutil.rmtree(half, ignore_errors=True)
                raise
            half.rename(self.folder)
            self.why.unlink(missing_ok=True)


CLIENTS = {
    client.name: client
    for client in (
        Client("claude", "2.1.332", "pip", "claude-agent-sdk==0.2.189", "claude_agent_sdk/_bundled/claude"),  # the wheel carries the program: no Node
        Client("codex", "0.171.0", "npm", "@openai/codex@0.171.0", "node_modules/.bin/codex"),
        Client("gemini", "0.61.0", "npm", "@google/gemini-cli@0.61.0", "node_modules/.bin/gemini"),
        Client("opencode", "1.18.33", "npm", "opencode-ai@1.18.33", "node_modules/.bin/opencode"),
        # What OpenCode fetches for its plugins: without it in place it waits for the network without end.
        Client("opencode-plugin", "1.18.33", "npm", "@opencode-ai/plugin@1.18.33", "node_modules/@opencode-ai/plugin"),
        Client(
            "inspector", "2.12.0", "npm", "@modelcontextprotocol/inspector@2.12.0", "node_modules/.bin/mcp-inspector"
        ),  # no harness: a client of MCP servers
    )
}


def claude():
    return CLIENTS["claude"].command()


def codex():
    return CLIENTS["codex"].command()


def gemini():
    return CLIENTS["gemini"].command()


def opencode():
    """OpenCode's program; its plugin package must be there as well."""
    opencode_plugin()
    return CLIENTS["opencode"].command()


def opencode_plugin():
    """The folder to put in place of ~/.config/opencode."""
    CLIENTS["opencode-plugin"].command()
    return CLIENTS["opencode-plugin"].folder


@contextmanager
def turn(folder):
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f"{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(client, folder):
    """Let pip or npm put the client's packages into ``folder``. Missing: what it said."""
    if client.by == "npm" and shutil.which("npm") is None:
        raise Missing("npm is not installed")
    words = {
        "pip": [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:", "--target", str(folder)],
        "npm": ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder)],
    }[client.by]
    try:
        with tempfile.TemporaryDirectory() as scratch:  # their install steps leave things
            env = {**os.environ, "TMPDIR": scratch}
            done = subprocess.run([*words, client.package], env=env, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
    except subprocess.TimeoutExpired as late:
        raise Missing(f"{client.by} took longer than {INSTALL_SECONDS} s") from late
    if done.returncode or not (folder / client.program).exists():
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{client.by} said: {lines[-1].strip() if lines else 'nothing'}")


def main(names):
    """Install the named ones (none: all) and say of each how it went. A missing one is no failure: the tests skip it by name."""
    wanted = [client for client in CLIENTS.values() if not names or client.name.removesuffix("-plugin") in names]
    for client in wanted:
        try:
            client.install()
        except Missing as missing:
            said = str(missing)
        else:
            said = str(client.folder)
        sys.stdout.write(f"{client.name} {client.version}: {said}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
