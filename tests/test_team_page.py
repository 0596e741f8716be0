"""What docs/team.md says of backup and restore, done as it stands there: on the embedded broker, and on the box while it is used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from cli import scratch, town_at
from teams import BOTH
from test_box import SECRETS, standing, variables
from waiting import end_servers

PAGE = (Path(__file__).parent.parent / "docs" / "team.md").read_text("utf-8")


def block(language):
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return found


@pytest.mark.real
def test_the_embedded_broker_comes_back_from_its_copy():
    backup, restore = block("sh").split("\n\n")
    with scratch() as root, town_at("", None) as town:
        state = os.path.join(root, "st")
        path = f"{Path(sys.executable).parent}{os.pathsep}{town.env['PATH']}"
        amy = town.person("work", REDISCHAT_STATE=state, REDISCHAT_URL="", REDISCHAT_AGENT="amy", PATH=path)
        try:
            amy("open", "dock", "--members", "bob")
            for text in ("one", "two"):
                amy("say", "dock", text)
            assert amy.shell("set -eu\n" + backup).code == 0
            amy("say", "dock", "three")
            done = amy.shell(f'set -eu\nSTATE="{state}"\n' + restore)
            assert done.code == 0, done
            assert [one["body"] for one in amy("read", "dock", "--all", "--json").records if one["kind"] == "message"] == ["one", "two"]
            assert amy("say", "dock", "after", "--json").record["seq"] == 3, "numbers go on where the copy ends"
            assert "one" in amy("read", "dock", env={"REDISCHAT_AGENT": "bob"}).out, "and so do marks"
        finally:
            end_servers(state)


@pytest.mark.real
def test_a_channel_comes_back_from_its_export():
    with scratch() as root, town_at("", None) as town:
        first, second = (town.person("work", REDISCHAT_STATE=os.path.join(root, name), REDISCHAT_URL="", REDISCHAT_AGENT="amy") for name in "ab")
        try:
            first("open", "dock", "--members", "bob")
            first("say", "dock", "one")
            first("export", "dock", "./backup")
            second("import", "./backup/dock")
            before, after = (one("read", "dock", "--all", "--json").records for one in (first, second))
            assert [(one["seq"], one["from"], one["body"], one["ts"]) for one in after] == [(one["seq"], one["from"], one["body"], one["ts"]) for one in before]
        finally:
            end_servers(root)


@pytest.mark.parametrize("binary", BOTH)
def test_a_box_is_copied_while_it_is_used_and_comes_back(binary):
    if not shutil.which("redis-cli"):
        pytest.skip("no redis-cli here")
    with standing(binary) as box, standing(binary) as other, town_at("redis://nowhere") as town:
        box.start()
        assert box.run("init", REDISCHAT_USERS="heron").returncode == 0
        heron = town.person("heron", **variables(os.path.join(box.root, "users", "heron.env")))
        heron("identify", "heron")
        heron("open", "dock", "--max-messages", "0")
        before = [heron("say", "dock", f"m{number}", "--json").record["seq"] for number in range(5)]
        stop = threading.Event()
        talk = threading.Thread(target=lambda: [heron("say", "dock", "on") for _ in iter(lambda: not stop.is_set(), False)])
        talk.start()
        env = {
            "PATH": os.environ["PATH"], "DATA": os.path.join(box.root, "data"), "BACKUP": os.path.join(box.root, "copy"),
            "ADMIN": f"redis-cli -p {box.port} --user admin --no-auth-warning", "REDISCLI_AUTH": SECRETS["REDISCHAT_ADMIN_PASSWORD"],
        }  # fmt: skip
        try:
            done = subprocess.run(["bash", "-euc", block("bash")], env=env, capture_output=True, text=True, timeout=60, check=False)
        finally:
            stop.set()
            talk.join()
        assert done.returncode == 0, done
        shutil.copytree(env["BACKUP"], os.path.join(other.root, "data"), dirs_exist_ok=True)
        other.start()
        moved = heron.env["REDISCHAT_URL"].replace(str(box.port), str(other.port))
        found = heron("read", "dock", "--all", "--json", env={"REDISCHAT_URL": moved}).records
        assert [one["seq"] for one in found][:5] == before, "all that was acknowledged before the copy began"
        assert [one["seq"] for one in found] == list(range(1, len(found) + 1))
        zoe = town.person("zoe", **{**heron.env, "REDISCHAT_URL": moved, "REDISCHAT_AGENT": "zoe"})
        zoe("join", "dock")
        assert zoe("say", "dock", "after", "--json").record["seq"] == len(found) + 1
