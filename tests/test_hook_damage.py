"""A hook on a machine that is not well: a session's card that is damaged, standard files that are closed, a clock that was ahead, a log that is full."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hooked import TICK, apart, scene_in

from redischat.hook import session as cards
from redischat.settings import Settings

YEAR_S = 365 * 86_400
STATE = "import sys; sys.path.insert(0, sys.argv[1]); import asking; print(asking.state())"
FULL = 100_000  # bytes of a log


@pytest.fixture
def scene(town):
    with scene_in(town) as found:
        yield found


DISKS = {
    "read-only": "mount --bind {0} {0} && mount -o remount,ro,bind {0}",
    "full": "mount -t tmpfs -o size=4k none {0}/sessions && head -c 4096 /dev/zero >{0}/sessions/.fill",
}


def on_disk(scene, kind):
    """What stands before a command for which the state directory is on such a disk."""
    return [*apart("--mount"), "sh", "-c", DISKS[kind].format(scene.town.state) + ' && exec "$@"', "sh"]


def card_of(scene):
    return Path(cards.path_of(scene.town.state, scene.heron.id))


def without(key):
    return lambda text: b"".join(row for row in text.splitlines(keepends=True) if not row.startswith(key + b"="))


DAMAGES = {
    "nothing in it": lambda _: b"", "no text": lambda _: os.urandom(200), "a byte that is no text": lambda text: text.replace(b"harness=", b"harness=\xff"),
    **{f"no {key.decode()}": without(key) for key in (b"agent", b"session", b"url", b"keys", b"args", b"sha", b"socket", b"mark")},
}  # fmt: skip


@pytest.mark.parametrize("damage", sorted(DAMAGES))
def test_a_session_whose_card_is_damaged_is_told_all_the_same_and_its_card_is_mended(scene, damage):
    whole = card_of(scene).read_bytes()
    card_of(scene).write_bytes(DAMAGES[damage](whole))
    scene.lynx.post("dock", "after all", to="heron")
    told = [scene.heron.works() for _ in range(2)]
    assert [one.text.count("    after all\n") for one in told] == [1, 0], told
    assert all(one.code == 0 for one in told)
    if damage not in {"no mark", "a byte that is no text"}:
        assert cards.sound(scene.town.state, scene.heron.id)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_an_answer_never_goes_to_the_broker_where_the_host_has_closed_its_files(scene, closed):
    """A socket takes the lowest free number: of a closed output it would be that one."""
    scene.lynx.post("dock", "for its eyes", to="heron")
    for name in ("FileChanged", "PostToolBatch"):
        process = scene.heron.begin({}, prefix=["sh", "-c", f'"$@" {closed}', "sh"])
        process.communicate(b'{"hook_event_name":"%s","session_id":"%s"}' % (name.encode(), scene.heron.id.encode()))
    assert not [row for row in scene.log() if "BROKER" in row], scene.log()
    scene.lapse()
    text = scene.heron.works().text
    assert text.count("    for its eyes\n") == (">&-" in closed.replace("2>&-", "") or "<&-" in closed), text


def test_an_event_is_noted_though_the_clock_was_ahead_when_it_last_came(scene):
    scene.heron.works()
    (mark,) = Path(scene.town.state, "fired").glob("*.PostToolBatch")
    os.utime(mark, (time.time() + YEAR_S,) * 2)
    scene.heron.works()
    assert mark.stat().st_mtime < time.time() + YEAR_S / 2


def test_an_outage_is_a_line_in_the_log_and_no_line_an_event(scene):
    address = card_of(scene).read_text("utf-8")
    card_of(scene).write_text(address.replace(scene.server.socket, "/nowhere/s"), "utf-8")
    for _ in range(10):
        assert scene.heron.works().silent
    assert len(scene.log()) == 1, scene.log()


def test_a_log_that_is_full_gives_way_to_a_new_one(scene):
    log = Path(scene.town.state, "hook.log")
    log.write_text("2026-11-30T00:00:00 'old'\n" * (FULL // 20), "utf-8")
    for number in range(3):
        assert scene.heron.feed(b"no event %d" % number).silent
    assert log.with_name("hook.log.1").stat().st_size > FULL
    assert [line.partition(" ")[2] for line in scene.log()] == [f"\"no event: 'no event {number}'\"" for number in (1, 2)]


@pytest.mark.parametrize("missing", [["HOME"], ["HOME", "XDG_STATE_HOME", "REDISCHAT_STATE"]])
def test_the_same_state_directory_is_meant_before_the_package_is_loaded_and_by_it(missing, monkeypatch):
    """A container may run with no HOME."""
    for name in missing:
        monkeypatch.delenv(name, raising=False)
    said = subprocess.run([sys.executable, "-I", "-S", "-c", STATE, str(TICK.parent)], capture_output=True, check=True, text=True).stdout.strip()
    assert said == Settings({}, os.environ, "/").state_dir


@pytest.mark.parametrize("kind", sorted(DISKS))
def test_a_session_of_which_nothing_can_be_kept_is_told_so_when_it_starts(town, kind):
    with scene_in(town, begun=False) as scene:
        Path(town.state, "sessions").mkdir(exist_ok=True)
        told = scene.heron.fire("SessionStart", source="startup", options={"prefix": on_disk(scene, kind)})
        assert "nothing reaches this session by itself" in told.text, told
        assert told.code == 0
        assert "you are heron" in scene.begins().text


def test_a_session_that_was_kept_goes_on_though_the_disk_is_read_only_now(scene):
    prefix = on_disk(scene, "read-only")
    assert "you are heron" in scene.heron.fire("SessionStart", source="compact", options={"prefix": prefix}).text
    scene.lynx.post("dock", "still heard", to="heron")
    assert "    still heard\n" in scene.heron.fire("PostToolBatch", options={"prefix": prefix}).text
    assert scene.heron.works().silent


def test_what_a_command_cannot_write_is_a_refusal_and_doctor_says_why(scene):
    prefix = " ".join(map(shlex.quote, on_disk(scene, "read-only")))
    refused = scene.heron.shell(f"{prefix} $RC waker stop --json")
    assert (refused.code, refused.error) == (1, "DISK_REFUSED"), refused
    told = scene.heron.shell(f"{prefix} $RC doctor")
    assert told.code == 1, told
    assert "WRONG state" in told.out
    assert "ok    state" in scene.heron.shell("$RC doctor").out


def test_a_session_is_told_at_its_start_which_hook_never_came_and_which_ran_another_build(scene):
    fired = Path(scene.town.state, "fired")
    assert "Our hooks" not in scene.begins().text, "nothing is known of a project's first session"
    scene.heron.fire("UserPromptSubmit", prompt="go on")
    assert "Our hooks" not in scene.begins().text, "its first turn may not have ended"
    (prompt,) = fired.glob("*.UserPromptSubmit")
    os.utime(prompt, (time.time() - 7_200,) * 2)
    assert "Stop never came, though a turn began or ended. What mends it: redischat doctor" in scene.begins().text
    scene.heron.fire("Stop")
    assert "Our hooks" not in scene.begins().text
    (began,) = fired.glob("*.SessionStart")
    os.utime(began, (time.time() - 3_600,) * 2)
    (stop,) = fired.glob("*.Stop")
    stop.write_text("/old/hooks/tick.py\n", "utf-8")
    assert "do not run as they should: Stop ran another build than SessionStart." in scene.begins().text
    assert "Our hooks" not in scene.begins().text, "once: it started with one build now"
