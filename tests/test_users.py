"""Users of a team's broker: one for each agent or team, of one workspace, made and removed by its admin."""

from __future__ import annotations

import asyncio
import os
import signal
import stat

import pytest
from seats import until
from teams import ADMIN, BOTH, handed_over, hired, team_town
from waiting import wait_until

from redischat import Client
from redischat.errors import TimedOut
from redischat.errors.broker import NotAllowed
from redischat.errors.users import AdminNeeded, NoUser, UserExists


@pytest.fixture(params=BOTH)
def town(request):
    with team_town(request.param) as place:
        yield place


@pytest.fixture
def keeper(town):
    return town.person("keeper")


@pytest.fixture
def dock(town):
    """heron and lynx of workspace team, each a user of its own, in #dock."""
    heron, lynx = hired(town, "heron"), hired(town, "lynx")
    heron("identify", "heron")
    heron("open", "dock")
    lynx("identify", "lynx")
    lynx("join", "dock")
    return heron, lynx


def test_two_users_of_one_workspace_talk_and_work(dock):
    heron, lynx = dock
    heron("say", "dock", "over to you", "--to", "lynx")
    assert "over to you" in lynx("wait", "dock", "--timeout", "5").out
    heron("task", "create", "dock", "--title", "parser")
    lynx("task", "claim", "dock", "T-1")
    lynx("lock", "dock", "src/a.py", "--repo", "git@host:a/b")
    assert heron("lock", "dock", "src/a.py", "--repo", "git@host:a/b", code=3).error == "PATH_LOCK_CONFLICT"
    assert heron("who", "--json").records
    assert heron("workspaces").lines == ["team  (this one)"]


def asleep(town, *marks, seconds=2):
    """The server's row of the one connection with these marks, once it asked nothing for so long."""
    rows = [row for row in town.server.ask("CLIENT", "LIST").splitlines() if all(mark in row for mark in marks)]
    return rows[0] if rows and int(rows[0].partition("idle=")[2].split(" ")[0]) >= seconds else None


def test_being_counted_wakes_nobody(town, dock):
    """Receipts and who ring to count who listens: a wait that sleeps asks the broker nothing for it."""
    heron, lynx = dock
    waits = lynx.start("wait", "dock", "--timeout", "60")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{team}:ear:lynx")[1] == 1, "lynx waits")
    line = wait_until(lambda: asleep(town, "user=lynx", "ssub=0"), "it has looked, and sleeps")
    asked = line.partition("tot-cmds=")[2].partition(" ")[0]
    for _ in range(3):
        assert "waiting" in heron("who").out
    again = next(row for row in town.server.ask("CLIENT", "LIST").splitlines() if row.startswith(line.split(" ")[0] + " "))
    assert (again.partition("tot-cmds=")[2].partition(" ")[0], again.partition("cmd=")[2].split(" ")[0]) == (asked, line.partition("cmd=")[2].split(" ")[0])
    assert int(again.partition("idle=")[2].split(" ")[0]) >= int(line.partition("idle=")[2].split(" ")[0])
    heron("say", "dock", "now", "--to", "lynx")
    wait_until(lambda: waits.poll() is not None, "the wait has ended")
    assert waits.returncode == 0


def test_a_password_is_shown_once_or_goes_into_a_private_file(town, keeper):
    shown = handed_over(keeper("admin", "user", "add", "heron", "--workspace", "team"))
    password = shown["REDISCHAT_URL"].partition("heron:")[2].partition("@")[0]
    assert len(password) >= 32
    assert password not in keeper("admin", "user", "list", "--workspace", "team").out
    file = os.path.join(town.root, "lynx.env")
    done = keeper("admin", "user", "add", "lynx", "--workspace", "team", "--out", file)
    assert "lynx:" not in done.out + done.err
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    lynx = town.person("lynx")
    assert lynx.shell(f". {file}; export REDISCHAT_URL REDISCHAT_WORKSPACE; $RC identify lynx").code == 0
    assert keeper("admin", "user", "rotate", "lynx", "--workspace", "team", "--out", file, code=1).error == "CANNOT_KEEP"


def test_a_refused_add_leaves_no_file(town, keeper):
    file = os.path.join(town.root, "x.env")
    assert keeper("admin", "user", "add", "admin", "--out", file, code=1).error == "USER_EXISTS"
    assert not os.path.exists(file)


def test_a_revoked_user_is_out_at_once_also_one_that_waits(town, keeper, dock):
    heron, _ = dock
    waits = heron.start("wait", "dock", "--timeout", "60")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{team}:ear:heron")[1] == 1, "heron waits")
    keeper("admin", "user", "revoke", "heron", "--workspace", "team")
    wait_until(lambda: waits.poll() is not None, "the waiting session has ended")
    out, err = waits.communicate()
    assert (waits.returncode, out) == (5, b"")
    assert b"BROKER_NOT_ALLOWED" in err
    assert b"revoked" in err
    assert len(err.splitlines()) == 1
    assert heron("say", "dock", "still here?", code=5).error == "BROKER_NOT_ALLOWED"
    assert keeper("admin", "user", "list", "--workspace", "team", "--json").record["user"] == "lynx"


def test_a_new_password_ends_the_sessions_of_the_old_one(town, keeper, dock):
    heron, _ = dock
    waits = heron.start("wait", "dock", "--timeout", "60")
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{team}:ear:heron")[1] == 1, "heron waits")
    new = handed_over(keeper("admin", "user", "rotate", "heron", "--workspace", "team"))
    wait_until(lambda: waits.poll() is not None, "the waiting session has ended")
    assert waits.returncode == 5
    assert heron("pending", code=5).error == "BROKER_NOT_ALLOWED"
    assert heron("say", "dock", "as before", env=new).code == 0


@pytest.mark.parametrize(
    "words",
    [("identify", "x"), ("open", "den"), ("say", "dock", "hi"), ("wait", "dock"), ("read", "dock"), ("lock", "dock", "a", "--repo", "r"), ("claim", "dock", "a"), ("task", "create", "dock", "--title", "t"), ("event", "post", "dock", "--type", "status", "--harness", "h", "--status", "idle"), ("ack", "dock", "1"), ("leave", "dock")],
    ids=lambda words: words[0],
)  # fmt: skip
def test_an_observer_changes_nothing(town, dock, words):
    dock[0]("say", "dock", "one")
    watch, before = hired(town, "watch", "--observer"), town.server.everything()
    done = watch(*words, "--as", "watch", code=None)
    assert (done.code, done.error, done.out) == (5, "BROKER_NOT_ALLOWED", ""), done
    assert "may only look" in done.err
    assert town.server.everything() == before


def test_an_observer_sees_all_of_its_workspace(town, dock):
    heron, lynx = dock
    heron("say", "dock", "the plan")
    heron("task", "create", "dock", "--title", "parser")
    lynx("task", "claim", "dock", "T-1", "--lease-seconds", "1")
    lynx("lock", "dock", "src/a.py", "--repo", "r")
    town.server.ask("HSET", "rc1:{team}:ch:dock:tasks", "t-1", lapsed(town, "t-1"))  # a look would leave word of it
    watch, before = hired(town, "watch", "--observer"), town.server.everything()
    seen = {
        ("peek", "dock"): "the plan", ("read", "dock", "--all"): "the plan", ("channels",): "#dock", ("roster", "dock"): "lynx", ("who",): "heron",
        ("task", "list", "dock"): "T-1", ("task", "show", "dock", "T-1"): "parser", ("task", "graph", "dock"): "T-1", ("locks", "--all"): "src/a.py",
        ("state", "dock"): "parser", ("claims", "dock"): "nothing", ("workspaces",): "team", ("whoami",): "team",
    }  # fmt: skip
    for words, text in seen.items():
        assert text in watch(*words).out, words
    assert "src/a.py" in watch("check", "dock", "src/a.py", "--repo", "r", code=3).out
    assert watch("export", "dock", os.path.join(town.root, "out")).code == 0
    assert town.server.everything() == before


def lapsed(town, task):
    """The task's record with a lease that ran out long ago."""
    words = town.server.ask("HGET", "rc1:{team}:ch:dock:tasks", task).split(" ")
    now = int(town.server.ask("TIME")[0]) * 1000
    return " ".join(str(now - 60_000) if word.isdecimal() and abs(int(word) - now - 1000) < 5_000 else word for word in words)


def test_doctor_tells_the_rights_in_force(town, keeper, dock):
    heron, _ = dock
    watch = hired(town, "watch", "--observer")

    def rights(person):
        (row,) = [one for one in person("doctor", "--json", code=None).records if one["check"] == "rights"]
        return row["state"], row["said"]

    assert rights(heron) == ("ok", "heron may read and write workspace team and nothing else")
    assert rights(watch) == ("ok", "watch may look at workspace team and nothing else")
    assert rights(keeper)[0] == "note"
    assert "admin" in rights(keeper)[1]
    before = town.server.everything()
    assert heron("doctor", env={"REDISCHAT_WORKSPACE": "other"}, code=5).code == 5
    assert watch("doctor", code=None).code != 5
    assert town.server.everything() == before


def test_a_group_in_a_group_tells_its_verbs(keeper):
    assert "revoke" in keeper("admin", "user").out
    assert "user" in keeper("admin").out
    assert keeper("admin", "user", "ad", code=64).error == "USAGE"


def test_a_user_is_no_admin(town, keeper):
    heron = hired(town, "heron")
    for words in (("add", "x"), ("revoke", "heron"), ("rotate", "heron"), ("update",), ("list",)):
        assert heron("admin", "user", *words, code=1).error == "ADMIN_NEEDED", words
    assert [one["user"] for one in keeper("admin", "user", "list", "--all", "--json").records] == ["heron"]


def test_users_of_others_are_left_alone(town, keeper):
    town.server.ask("ACL", "SETUSER", "backup", "on", ">x", "~*", "+get")
    hired(town, "heron", workspace="b")
    for name in ("backup", "admin", "default"):
        assert keeper("admin", "user", "add", name, code=1).error == "USER_EXISTS"
        assert keeper("admin", "user", "revoke", name, code=1).error == "NO_USER"
        assert keeper("admin", "user", "rotate", name, code=1).error == "NO_USER"
    assert "workspace b" in keeper("admin", "user", "revoke", "heron", "--workspace", "a", code=1).err
    assert keeper("admin", "user", "add", "heron", "--workspace", "a", code=1).error == "USER_EXISTS"
    assert {"backup", "admin", "default", "heron"} <= set(town.server.ask("ACL", "USERS"))


def test_users_outlive_a_restart_where_the_server_has_an_acl_file(town, dock):
    heron, _ = dock
    with open(os.path.join(town.server.home, "users.acl"), encoding="utf-8") as file:
        text = file.read()
    assert "user heron on" in text
    town.server.ask("ACL", "LOAD")
    heron("pending")


def test_it_is_said_when_users_are_not_kept_and_when_they_keep_nobody_out(town, keeper):
    town.server.ask("ACL", "SETUSER", "default", "on", "nopass", "~*", "&*", "+@all")
    done = keeper("admin", "user", "add", "heron")
    assert "keeps nobody out" in done.err
    assert "is not kept" not in done.err
    town.server.ask("ACL", "SETUSER", "default", "reset")
    assert "messages would be lost" in keeper("admin", "user", "add", "lynx").err
    town.server.ask("ACL", "SETUSER", "default", "~*", "&*", "+@all")
    assert keeper("admin", "user", "add", "carl").err.count("\n") == 1, "the address is this machine's"


def test_an_update_gives_the_rights_back_and_keeps_the_password(town, keeper, dock):
    heron, _ = dock
    town.server.ask("ACL", "SETUSER", "heron", "-xadd")
    assert heron("say", "dock", "hello", code=5).error == "BROKER_NOT_ALLOWED"
    keeper("admin", "user", "update", "--workspace", "team")
    heron("say", "dock", "hello")


def test_users_from_python(town):
    url = town.server.url_of("admin", ADMIN)
    with Client(url=url, workspace="team") as chat:
        made = chat.admin_user_add("Heron")
        assert (made.user, made.workspace, made.observer, made.kept, made.open) == ("heron", "team", False, True, False)
        with pytest.raises(UserExists):
            chat.admin_user_add("heron")
        with Client(url=made.url, workspace="team", agent="heron") as heron:
            heron.open("dock")
            heron.say("dock", "hi")
            with pytest.raises(AdminNeeded):
                heron.admin_user_list()
            (one,) = chat.admin_user_list()
            assert (one.user, one.connections) == ("heron", 1)
            assert chat.admin_user_update().users == ["heron"]
            new = chat.admin_user_rotate("heron")
            assert new.ended == 1
            with pytest.raises(NotAllowed):
                heron.pending()
        assert chat.admin_user_revoke("heron").user == "heron"
        with pytest.raises(NoUser):
            chat.admin_user_revoke("heron")


async def test_an_observer_from_python(town, seated):
    with Client(url=town.server.url_of("admin", ADMIN), workspace="default") as chat:
        watch = chat.admin_user_add("watch", observer=True).url
        chat_user = chat.admin_user_add("amy").url
    amy = seated(chat_user)("amy")
    await amy.open("dock")
    await amy.say("dock", "hi")
    await amy.task_create("dock", title="parser")
    seats = seated(watch)
    nobody = seats()
    assert [one.body for one in (await nobody.history("dock")).messages] == ["hi"]
    assert [one.id for one in await nobody.task_list("dock")] == ["T-1"]
    assert [one.agent for one in await nobody.who()] == ["amy"]
    assert await nobody.workspaces() == ["default"]
    with pytest.raises(NotAllowed):
        await seats("amy").read("dock")


def test_an_observer_reads_along(town, dock):
    heron, _ = dock
    watch = hired(town, "watch", "--observer")
    readers = [watch.start("watch", *rooms, "--timeout", "20") for rooms in ((), ("dock",))]
    wait_until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{team}:live:dock")[1] == 2, "both watch")
    heron("say", "dock", "the plan")
    for reader in readers:
        assert [reader.stdout.readline() for _ in range(2)][1] == b"    the plan\n"
        reader.send_signal(signal.SIGINT)
        assert reader.wait(20) == 0


async def test_a_waiting_client_hears_that_its_user_is_gone(town, seated):
    with Client(url=town.server.url_of("admin", ADMIN), workspace="default") as chat:
        seats = seated(chat.admin_user_add("amy").url)
        amy = seats("amy")
        await amy.open("dock")

        async def revoked():
            with pytest.raises((NotAllowed, TimedOut)) as refused:
                await amy.wait("dock", timeout=30)
            return refused.value

        waiting = asyncio.ensure_future(revoked())
        await until(lambda: town.server.ask("PUBSUB", "SHARDNUMSUB", "rc1:{default}:ear:amy")[1] == 1, "amy waits")
        chat.admin_user_revoke("amy")
        assert isinstance(await waiting, NotAllowed)
