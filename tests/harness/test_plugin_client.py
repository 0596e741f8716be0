"""The Claude Code plugin in the real client: it is valid, installs from its folder, and its hooks deliver, guard and bring skill and command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from products import claude_lab, text, tool
from wired import hears, peer, redischat, told_once

from redischat.files import folder

pytestmark = pytest.mark.harness
pytest_plugins = ["tally"]

PLUGIN = folder("hooks")


def claude(lab, *words):
    """One command of the client itself; what it wrote."""
    done = lab.run(lab.program, *words)
    assert done.code == 0, f"claude {' '.join(words)}: exit {done.code}\n{done.out}{done.err}"
    return done.out


def installed(lab):
    """Install the plugin as a user does, from the folder that the command names."""
    place = redischat(lab, "plugin").strip()
    claude(lab, "plugin", "marketplace", "add", place)
    claude(lab, "plugin", "install", "redischat@redischat", "--scope", "local")


def enabled(lab):
    return json.loads((lab.project / ".claude" / "settings.local.json").read_text("utf-8")).get("enabledPlugins", {})


def test_the_client_finds_plugin_and_marketplace_valid():
    with claude_lab() as lab:
        for path in (PLUGIN, str(Path(PLUGIN) / ".claude-plugin" / "plugin.json"), str(Path(PLUGIN) / ".claude-plugin" / "marketplace.json")):
            said = claude(lab, "plugin", "validate", path)
            assert "Validation passed" in said, said


def test_it_installs_from_its_folder_and_goes_again():
    with claude_lab() as lab:
        installed(lab)
        assert enabled(lab) == {"redischat@redischat": True}
        assert "redischat" in claude(lab, "plugin", "list", "--json")
        claude(lab, "plugin", "uninstall", "redischat@redischat", "--scope", "local")
        assert not enabled(lab).get("redischat@redischat")


def test_an_installed_plugin_delivers_guards_and_shows_skill_and_command():
    with claude_lab() as lab:
        installed(lab)
        lab.file(".redischat/config", "agent=amy\n")
        lab.file("locked.txt", "alpha\n")
        bob = peer(lab, "bob", here=False)
        bob("open", "dock", "--members", "amy")
        bob("say", "dock", "rebase before you push", "--to", "amy")
        near = peer(lab, "carol", here=True)
        near("lock", "dock", "locked.txt", "--ttl", "600")
        lab.ask(lab.read("locked.txt"), lab.edit("locked.txt", "alpha", "beta"), text("done"))
        first, *rest = lab.requests()
        assert "redischat: you are amy" in first.shown
        assert told_once(lab, "rebase before you push")
        assert any(map(hears("rebase before you push"), lab.requests()))
        assert any("locked.txt is locked by carol" in one.newest for one in rest)
        assert (lab.project / "locked.txt").read_text("utf-8") == "alpha\n"
        assert "redischat:peers: Talk and share work" in first.shown, "the skill is offered"


def test_the_command_and_the_skill_are_two_and_both_can_be_called():
    with claude_lab() as lab:
        installed(lab)
        lab.ask(tool("Skill", skill="redischat:peers"), text("done"))
        assert "## Five mistakes" in lab.requests()[-1].newest
        lab.run(lab.program, "-p", f"/redischat:redischat dock {lab.play(text('done'))}", *lab.flags())
        assert "Take part in that channel" in lab.requests()[-1].shown


def test_a_plugin_without_redischat_on_the_path_is_not_noticed():
    with claude_lab() as lab:
        installed(lab)
        path = ":".join(one for one in lab.env["PATH"].split(":") if not (Path(one) / "redischat").exists())
        done = lab.ask(lab.shell("echo hi"), text("done"), env={"PATH": path})
        assert done.code == 0
        assert "redischat" not in done.err
        assert not any("hook error" in one.shown for one in lab.requests())
