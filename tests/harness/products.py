"""The four products in the lab: settings and environment of each, how it is asked, its terminal or server, and the names of its tools.

``with claude_lab() as lab: lab.record("SessionStart"); done = lab.ask(lab.shell("echo hi"), text("done"))``. Without the client the test skips, and says why.
"""

from __future__ import annotations

import contextlib
import json
import shlex

import clients
import pytest
from lab import Lab, hold, refuse, text, tool, tools
from seated import Server, Session, Stream

__all__ = ["claude_lab", "codex_lab", "gemini_lab", "hold", "opencode_lab", "refuse", "text", "tool", "tools"]

KEY = "sk-ant-dummy-" + "0" * 28
MODEL = {"claude": "claude-opus-5-5", "codex": "gpt-6.2-sol", "gemini": "gemini-2.5-flash", "opencode": "claude-sonnet-4-5"}
READY = {  # before or in their input
    "claude": "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}", "codex": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
    "gemini": "Type your message", "opencode": "Ask anything",
}  # fmt: skip
# exclude_slash_tmp: its sandbox puts a .git into each folder that may be written, and /tmp/.git would make all of /tmp one project for whatever else runs.
CODEX_CONFIG = """model = "{model}"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
[sandbox_workspace_write]
exclude_slash_tmp = true
[analytics]
enabled = false
[tui]
show_tooltips = false
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[projects."{project}"]
trust_level = "trusted"
"""


@contextlib.contextmanager
def opened(kind, find, env, *args):
    """A lab of this kind, or a skip that says why not."""
    try:
        program = find()
    except clients.Missing as missing:
        pytest.skip(str(missing))
    lab = kind(env)
    try:
        lab.program = program
        lab.prepare(*args)
        yield lab
    finally:
        lab.close()


def claude_lab(settings=None, env=None):
    """Claude Code; ``settings``: what to put into the project's settings.local.json."""
    return opened(ClaudeLab, clients.claude, env, settings)


def codex_lab(hooks=None, env=None):
    """Codex; ``hooks``: the events of its hooks.json."""
    return opened(CodexLab, clients.codex, env, hooks)


def gemini_lab(settings=None, env=None):
    """Gemini CLI; ``settings``: added to those of the user."""
    return opened(GeminiLab, clients.gemini, env, settings)


def opencode_lab(config=None, env=None):
    """OpenCode; ``config``: added to the project's opencode.json."""
    return opened(OpenCodeLab, clients.opencode, env, config)


class ClaudeLab(Lab):
    """Claude Code."""

    def prepare(self, settings):
        self.env.update(
            ANTHROPIC_BASE_URL=self.url, ANTHROPIC_API_KEY=KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1", DISABLE_TELEMETRY="1", DISABLE_AUTOUPDATER="1",
            DISABLE_ERROR_REPORTING="1", IS_SANDBOX="1", CLAUDE_CODE_TMPDIR=str(self.tmp),
        )  # fmt: skip
        seen = {"hasCompletedOnboarding": True, "theme": "dark", "numStartups": 5, "lastOnboardingVersion": clients.CLIENTS["claude"].version}
        approved = {"customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}, "projects": {}}
        (self.home / ".claude.json").write_text(json.dumps({**seen, **approved}), "utf-8")
        self.trust()
        if settings is not None:
            self.file(".claude/settings.local.json", json.dumps(settings))

    def trust(self):
        """Let the client know its project, before it runs: it writes that file itself."""
        known = json.loads((self.home / ".claude.json").read_text("utf-8"))
        known["projects"][str(self.project)] = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True, "allowedTools": []}
        (self.home / ".claude.json").write_text(json.dumps(known), "utf-8")
        self.settings = self.project / ".claude" / "settings.local.json"

    def beside(self, name):
        """As of every lab; to be asked for before a client runs."""
        other = super().beside(name)
        other.trust()
        return other

    def record(self, *events, matcher=None, **more):
        """Put the recording hook on these events; ``more`` goes into the handler (asyncRewake=True, timeout=5)."""
        command, *args = self.recorder()
        group = {"hooks": [{"type": "command", "command": command, "args": args, **more}], **({"matcher": matcher} if matcher else {})}
        settings = json.loads(self.settings.read_text("utf-8")) if self.settings.exists() else {}
        for event in events:
            settings.setdefault("hooks", {}).setdefault(event, []).append(group)
        self.file(".claude/settings.local.json", json.dumps(settings))

    def flags(self):
        return ["--permission-mode", "acceptEdits", "--allowedTools", "Bash", "Edit", "Write", "Read"]

    def ask(self, *steps, flags=(), **options):
        """One headless turn: a Done, whose lines() are the client's events."""
        words = [self.program, "-p", self.play(*steps), "--output-format", "stream-json", "--verbose", *flags, *self.flags()]
        return self.run(*words, **options)

    def session(self, *flags, env=None):
        """An interactive session, ready for input."""
        return Session(self, self.at_terminal(self.program, *flags, *self.flags(), env=env), READY["claude"])

    def stream(self, *flags, env=None):
        """A session that is fed JSON lines."""
        words = [self.program, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", *flags, *self.flags()]
        return Stream(self, self.start(*words, env=env, name="stream"))

    def shell(self, command):
        return tool("Bash", command=command, description="x")

    def read(self, name):
        return tool("Read", file_path=str(self.project / name))

    def edit(self, name, old, new):
        return tool("Edit", file_path=str(self.project / name), old_string=old, new_string=new)

    def write(self, name, content):
        return tool("Write", file_path=str(self.project / name), content=content)


class CodexLab(Lab):
    """Codex."""

    def prepare(self, hooks):
        self.codex = self.home / ".codex"
        self.codex.mkdir()
        (self.codex / "config.toml").write_text(CODEX_CONFIG.format(model=MODEL["codex"], url=self.url, project=self.project), "utf-8")
        self.hooks_file = self.codex / "hooks.json"
        self.env.update(FAKE_KEY="dummy", CODEX_HOME=str(self.codex))
        if hooks is not None:
            self.hooks_file.write_text(json.dumps({"hooks": hooks}), "utf-8")

    def record(self, *events, **more):
        """Put the recording hook on these events."""
        laid = json.loads(self.hooks_file.read_text("utf-8")) if self.hooks_file.exists() else {"hooks": {}}
        for event in events:
            laid["hooks"].setdefault(event, []).append({"hooks": [{"type": "command", "command": shlex.join(self.recorder()), "timeout": 10, **more}]})
        self.hooks_file.write_text(json.dumps(laid), "utf-8")

    def ask(self, *steps, flags=("--dangerously-bypass-hook-trust",), **options):
        """One headless turn. Hooks run without having been trusted, unless ``flags`` is empty."""
        return self.run(self.program, "exec", "--json", "--skip-git-repo-check", *flags, self.play(*steps), **options)

    def session(self, *flags, env=None):
        """An interactive session, ready for input, without the daemon that it shares otherwise."""
        return Session(self, self.at_terminal(self.program, "--no-daemon", "--dangerously-bypass-hook-trust", *flags, env=env), READY["codex"])

    def queue(self, thread, words):
        """``codex queue``: put a message into a session, which wakes it when it is idle."""
        return self.run(self.program, "queue", "--thread", thread, "--message", words)

    def shell(self, command):
        return tool("exec_command", cmd=command)

    def read(self, name):
        return self.shell(f"cat {name}")

    def edit(self, name, old, new):
        return tool("apply_patch", f"*** Begin Patch\n*** Update File: {name}\n@@\n-{old}\n+{new}\n*** End Patch")

    def write(self, name, content):
        body = "".join(f"+{line}\n" for line in content.splitlines())
        return tool("apply_patch", f"*** Begin Patch\n*** Add File: {name}\n{body}*** End Patch")


class GeminiLab(Lab):
    """Gemini CLI."""

    def prepare(self, settings):
        self.env.update(
            GEMINI_API_KEY="dummy", GOOGLE_GEMINI_BASE_URL=self.url, GEMINI_CLI_TRUST_WORKSPACE="true", GEMINI_SANDBOX="false", GEMINI_CLI_NO_RELAUNCH="true",
        )  # fmt: skip
        self.settings = self.home / ".gemini" / "settings.json"
        self.settings.parent.mkdir()
        security = {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}
        quiet = {"general": {"disableAutoUpdate": True, "enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False}}
        whole = {"security": security, **quiet, "telemetry": {"enabled": False}, "tools": {"sandbox": False}, **(settings or {})}
        self.settings.write_text(json.dumps(whole), "utf-8")

    def record(self, *events, **more):
        """Put the recording hook on these events."""
        settings = json.loads(self.settings.read_text("utf-8"))
        handler = {"type": "command", "command": shlex.join(self.recorder()), "timeout": 10_000, "name": "recorder", **more}
        for event in events:
            settings.setdefault("hooks", {}).setdefault(event, []).append({"matcher": "*", "hooks": [handler]})
        self.settings.write_text(json.dumps(settings), "utf-8")

    def flags(self):
        return ["-m", MODEL["gemini"], "--approval-mode", "yolo"]

    def ask(self, *steps, flags=(), **options):
        """One headless turn."""
        return self.run(self.program, *self.flags(), "-o", "stream-json", *flags, "-p", self.play(*steps), **options)

    def session(self, *flags, env=None):
        """An interactive session, ready for input."""
        return Session(self, self.at_terminal(self.program, *self.flags(), *flags, env=env), READY["gemini"])

    def shell(self, command):
        return tool("run_shell_command", command=command)

    def read(self, name):
        return tool("read_file", file_path=str(self.project / name))

    def edit(self, name, old, new):
        return tool("replace", file_path=str(self.project / name), instruction="x", old_string=old, new_string=new)

    def write(self, name, content):
        return tool("write_file", file_path=str(self.project / name), content=content)


class OpenCodeLab(Lab):
    """OpenCode."""

    def prepare(self, config):
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
        self.env.update({f"OPENCODE_DISABLE_{name}": "1" for name in off}, LAB_FOLDER=str(self.folder))
        self.provide(self.home / ".config" / "opencode")
        options = {"baseURL": f"{self.url}/v1", "apiKey": "dummy"}
        model = {"name": "x", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
        named = f"anthropic/{MODEL['opencode']}"
        self.config = {
            "autoupdate": False, "share": "disabled", "model": named, "small_model": named, "permission": {"edit": "allow", "bash": "allow"}, "plugin": [],
            "provider": {"anthropic": {"options": options, "models": {MODEL["opencode"]: model}}}, **(config or {}),
        }  # fmt: skip
        self._lay()

    def _lay(self):
        self.file("opencode.json", json.dumps(self.config))

    def provide(self, folder):
        """Put the package that OpenCode's plugins need into a folder of its configuration: it would wait for the network otherwise."""
        folder.mkdir(parents=True, exist_ok=True)
        for one in clients.opencode_plugin().iterdir():
            if not (folder / one.name).exists():
                (folder / one.name).symlink_to(one)

    def record(self):
        """Add the recording plugin: it records all events that it knows."""
        plugin = self.folder / "recorder.js"
        plugin.write_text((clients.Path(__file__).parent / "recorder.js").read_text("utf-8"), "utf-8")
        self.config["plugin"].append(f"file://{plugin}")
        self._lay()

    def serve(self):
        """A running server: a Server."""
        return Server(self)

    def session(self, *flags, env=None):
        """An interactive session, ready for input."""
        return Session(self, self.at_terminal(self.program, *flags, env=env), READY["opencode"])

    def shell(self, command):
        return tool("bash", command=command, description="x")

    def read(self, name):
        return tool("read", filePath=str(self.project / name))

    def edit(self, name, old, new):
        return tool("edit", filePath=str(self.project / name), oldString=old, newString=new)

    def write(self, name, content):
        return tool("write", filePath=str(self.project / name), content=content)
