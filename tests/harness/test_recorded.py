"""The recorded events can be read, say what they are, and name no place of somebody's machine."""

from __future__ import annotations

import clients
import pytest
import recorded


@pytest.mark.parametrize("name", [name for name in recorded.names() if not name.startswith("opencode")])
def test_a_recorded_event_says_what_it_is(name):
    assert recorded.given(name)["hook_event_name"] == name.split("/")[1].split(".")[0]


@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "opencode"])
def test_the_recorded_events_are_those_of_the_pinned_client(client):
    folders = {name.split("/")[0] for name in recorded.names(client)}
    assert folders == {f"{client}-{clients.CLIENTS[client].version}"}


def test_the_environment_of_a_hook_is_recorded():
    assert recorded.environment("claude")["CLAUDE_CODE_SESSION_ID"]
    assert recorded.environment("gemini")["GEMINI_SESSION_ID"]
