"""Users of a broker of several servers: each server knows them, replicas too; what one misses is named, and the same command brings it there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from contextlib import closing, contextmanager

import pytest
from carriers import CARRIERS
from crowd import BINARIES, BOTH, CLI, KEYS, WORKSPACE, Talk, cli, environment, free_port
from fleets import HERE, TLS_BINARY, Fleet, certificates, cluster, in_step, needs_tls, sailing, sentinels  # noqa: F401 - a fixture
from waiting import wait_until

from redischat import Client
from redischat.errors.users import AdminNeeded, NotEverywhere, NoUser, UserExists
from redischat.flows import users as flows
from redischat.flows.format import checked

pytestmark = [pytest.mark.real, pytest.mark.races]
ONE = BINARIES["valkey"] or BINARIES["redis"]
ACL = ("--aclfile", "users.acl")
NOT_EVERYWHERE = 5


@contextmanager
def pair(binary):
    """A server with a replica, and the plain URL of the first."""
    with sailing(binary, *ACL) as primary, sailing(binary, *ACL) as replica:
        replica.ask("REPLICAOF", HERE, primary.port)
        in_step(primary, replica)
        yield Fleet(primary.url, [primary, replica])


MADE = {
    "cluster": lambda binary: cluster(binary, *ACL, replicas=1), "sentinel": lambda binary: sentinels(binary, *ACL, password="sesame", watch_password="open"), "pair": pair,
}  # fmt: skip
KINDS = [
    *(pytest.param((kind, one.values[0]), id=f"{kind}-{one.id}", marks=one.marks) for kind in MADE for one in BOTH),
    pytest.param(("cluster-tls", TLS_BINARY), id="cluster-tls", marks=needs_tls),
    pytest.param(("sentinel-tls", TLS_BINARY), id="sentinel-tls", marks=needs_tls),
]
FAILING = [pytest.param(kind, id=kind) for kind in ("cluster", "sentinel")]


@pytest.fixture(scope="module", params=KINDS)
def fleet(request):
    kind, binary = request.param
    if kind in MADE:
        made = MADE[kind](binary)
    else:
        certs = request.getfixturevalue("certificates")
        made = cluster(binary, *ACL, replicas=1, certificates=certs) if kind == "cluster-tls" else sentinels(binary, *ACL, certificates=certs)
    with made as found:
        yield found
        assert all(one.ask("ACL", "USERS") == ["default"] for one in found.servers), "each test leaves nobody"


@contextmanager
def keeping(url, carrier="command"):
    """The verbs of whoever keeps this broker, over a carrier; the password is what it is told."""
    sits = CARRIERS[carrier](url)

    def keep(verb, *words, **more):
        return sits.drive(checked(getattr(flows, verb)(KEYS, *words, **more), KEYS))

    try:
        yield keep
    finally:
        sits.close()


def said(server, name="heron"):
    """The digests of the passwords that a server knows; None when it does not know the user."""
    found = server.ask("ACL", "GETUSER", name)
    return found and dict(zip(found[::2], found[1::2], strict=True))["passwords"]


def digest(password):
    return [hashlib.sha256(password.encode()).hexdigest()]


def heron_of(fleet, done):
    """The same broker for the user whom a command has made."""
    url = next(word for word in done.stdout.split() if word.startswith("REDISCHAT_URL=")).removeprefix("REDISCHAT_URL=").strip("'")
    return Fleet(url, fleet.servers, fleet.watchers), url.partition("heron:")[2].partition("@")[0]


def lets_in(server, password, user="heron"):
    with closing(Talk(server.address)) as talk:
        return talk.ask("AUTH", user, password) == "OK"


def down_and_back(fleet):
    """The replica, what kills it, and what starts it on its files again."""
    replica = fleet.servers[-1]

    def back():
        replica.start()
        wait_until(replica.hears, "it hears its master again", 30)

    return replica, replica.kill, back


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_user_is_on_every_server_with_one_password_and_off_every_one(fleet, carrier):
    with keeping(fleet.url, carrier) as keep:
        made = keep("add", "heron", lambda: "one")
        assert (made["new"], made["missing"], made["kept"], len(made["servers"])) == (True, {}, True, len(fleet.servers))
        assert [said(one) for one in fleet.servers] == [digest("one")] * len(fleet.servers)
        with pytest.raises(UserExists):
            keep("add", "heron", lambda: "other")
        assert keep("rotate", "heron", lambda: "two")["new"]
        assert [said(one) for one in fleet.servers] == [digest("two")] * len(fleet.servers)
        (row,) = keep("every")["users"]
        assert (row["user"], row["lacks"], row["older"], set(row["servers"])) == ("heron", [], [], set(made["servers"]))
        assert keep("update")["users"] == ["heron"]
        assert [said(one) for one in fleet.servers] == [digest("two")] * len(fleet.servers)
        gone = keep("revoke", "heron")
        assert (gone["missing"], gone["kept"]) == ({}, True)
        with pytest.raises(NoUser):
            keep("revoke", "heron")
    for one in fleet.servers:
        with open(os.path.join(one.home, "users.acl"), encoding="utf-8") as file:
            assert "heron" not in file.read()


def test_what_one_server_lacks_is_told_and_brought_there_with_the_password_that_there_is(fleet):
    last = fleet.servers[-1]
    with keeping(fleet.url) as keep:
        keep("add", "heron", lambda: "one")
        for verb in ("add", "update"):
            last.ask("ACL", "DELUSER", "heron")
            (row,) = keep("every")["users"]
            assert [name.rpartition(":")[2] for name in row["lacks"]] == [str(last.tls_port if "rediss" in fleet.url else last.port)]
            done = keep("add", "heron", lambda: "other") if verb == "add" else keep("update")
            assert not done.get("new")
            assert said(last) == digest("one")
        keep("revoke", "heron")


def test_a_user_of_another_making_is_left_alone_wherever_it_is(fleet):
    last = fleet.servers[-1]
    last.ask("ACL", "SETUSER", "heron", "on", ">mine", "~*", "+get")
    with keeping(fleet.url) as keep:
        with pytest.raises(UserExists):
            keep("add", "heron", lambda: "one")
        with pytest.raises(NoUser):
            keep("revoke", "heron")
    assert said(last) == digest("mine")
    last.ask("ACL", "DELUSER", "heron")


def test_revoking_ends_the_sessions_on_every_server(fleet):
    heron, password = heron_of(fleet, cli(fleet, "admin", "user", "add", "heron"))
    cli(heron, "open", "dock", agent="heron")
    waits = subprocess.Popen(
        [*CLI, "wait", "dock", "--timeout", "60"], env=environment(heron, "heron"), cwd=heron.home, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with waits, talks(heron.servers, password) as lines:
        wait_until(lambda: fleet.lead.ask("PUBSUB", "SHARDNUMSUB", KEYS.ear("heron"))[1] == 1, "heron waits", 30)
        cli(fleet, "admin", "user", "revoke", "heron")
        wait_until(lambda: waits.poll() is not None, "the waiting session has ended", 30)
        assert waits.returncode == 5
        assert b"BROKER_NOT_ALLOWED" in waits.communicate()[1]
        for line in lines:
            with pytest.raises(ConnectionError):
                line.ask("PING")
    cli(fleet, "delete", "dock", "--yes", agent="heron")


@contextmanager
def talks(servers, password):
    """A connection of heron's at each server."""
    lines = [Talk(one.address) for one in servers]
    try:
        assert all(line.ask("AUTH", "heron", password) == "OK" for line in lines)
        yield lines
    finally:
        for line in lines:
            line.close()


@pytest.mark.parametrize("kind", FAILING)
@pytest.mark.parametrize("binary", BOTH)
def test_after_a_failover_the_users_agent_talks_as_before(kind, binary):
    with cluster(binary, replicas=1) if kind == "cluster" else sentinels(binary) as fleet:
        heron, _ = heron_of(fleet, cli(fleet, "admin", "user", "add", "heron"))
        cli(heron, "open", "dock", agent="heron")
        old = fleet.lead
        old.kill()
        wait_until(lambda: any(one.leads(KEYS.heads) for one in fleet.servers if one is not old), "another one leads", 30)
        cli(heron, "say", "dock", "as before", agent="heron")
        told = cli(fleet, "admin", "user", "rotate", "heron", check=False)
        assert told.returncode == NOT_EVERYWHERE, "the one that is dead is not forgotten"
        assert f"{HERE}:{old.port}" in told.stderr
        heron, _ = heron_of(fleet, told)
        cli(heron, "say", "dock", "with the new one", agent="heron")


@pytest.mark.parametrize("kind", FAILING)
@pytest.mark.parametrize("binary", BOTH)
def test_a_server_that_is_down_is_named_and_the_same_command_does_the_rest(kind, binary):
    with cluster(binary, *ACL, replicas=1) if kind == "cluster" else sentinels(binary, *ACL) as fleet:
        replica, down, back = down_and_back(fleet)
        where, file = f"{HERE}:{replica.port}", os.path.join(fleet.home, "lynx.env")

        def half(*words):
            done = cli(fleet, "admin", "user", *words, check=False)
            assert (done.returncode, "USER_NOT_EVERYWHERE" in done.stderr) == (NOT_EVERYWHERE, True), done
            assert where in done.stderr
            return done

        _, old = heron_of(fleet, cli(fleet, "admin", "user", "add", "heron"))
        cli(fleet, "admin", "user", "add", "stork")
        down()
        half("add", "lynx", "--out", file)
        assert "admin user add eve --workspace w --observer" in half("add", "eve", "--observer").stderr, "the very command"
        _, new = heron_of(fleet, half("rotate", "heron"))
        half("revoke", "stork")
        back()
        assert lets_in(replica, old), "the old password goes on where the new one is not"
        assert not lets_in(replica, new)
        assert said(replica, "lynx") is None
        assert said(replica, "stork"), "until it hears that it is revoked"
        listed = cli(fleet, "admin", "user", "list").stdout
        assert [listed.count(what) for what in (f"another password on {where}", f"not on {where}", f"not yet out of {where}")] == [1, 2, 1], listed
        with open(file, encoding="utf-8") as opened:
            kept = opened.read()
        cli(fleet, "admin", "user", "add", "eve", "--workspace", WORKSPACE, "--observer")
        cli(fleet, "admin", "user", "add", "lynx", "--out", file)
        with open(file, encoding="utf-8") as opened:
            assert opened.read() == kept, "the password that was handed over"
        assert said(replica, "lynx") == said(fleet.lead, "lynx") == digest(kept.partition("lynx:")[2].partition("@")[0])
        done = cli(fleet, "admin", "user", "rotate", "heron")
        assert "REDISCHAT_URL" not in done.stdout, "no third password"
        assert lets_in(replica, new)
        assert not lets_in(replica, old)
        cli(fleet, "admin", "user", "revoke", "stork")
        assert all(one.ask("ACL", "USERS") == ["default", "eve", "heron", "lynx"] for one in fleet.servers)


@pytest.mark.parametrize("binary", BOTH)
def test_nobody_comes_back_from_a_server_that_missed_a_revoke(binary, monkeypatch):
    patience(monkeypatch)
    with sentinels(binary, *ACL) as fleet, keeping(fleet.url) as keep:
        replica, down, back = down_and_back(fleet)
        keep("add", "heron", lambda: "one")
        down()
        with talks([fleet.lead], "one") as (line,):
            revoked = keep("revoke", "heron")
            assert (len(revoked["missing"]), revoked["ended"]) == (1, 1)
            with pytest.raises(ConnectionError):
                line.ask("PING")
        assert said(fleet.lead) == [], "switched off, and remembered"
        assert not lets_in(fleet.lead, "one")
        back()
        with pytest.raises(NoUser):
            keep("rotate", "heron", lambda: "two")
        assert keep("update")["users"] == []
        made = keep("add", "heron", lambda: "three")
        assert (made["new"], said(replica), said(fleet.lead)) == (True, digest("three"), digest("three"))


def test_one_that_is_left_on_a_replica_alone_is_a_stray_and_gets_nobody_in():
    """As after a revoke of which a replica was not told because nobody knew of it."""
    with pair(ONE) as fleet, keeping(fleet.url) as keep:
        primary, replica = fleet.servers
        keep("add", "heron", lambda: "one")
        primary.ask("ACL", "DELUSER", "heron")
        (row,) = keep("every")["users"]
        assert row["stray"]
        assert keep("update")["users"] == []
        assert said(primary) is None
        assert keep("add", "heron", lambda: "two")["new"]
        assert said(primary) == said(replica) == digest("two")
        primary.ask("ACL", "DELUSER", "heron")
        keep("revoke", "heron")
        assert said(replica) is None


def test_where_nobody_knows_which_password_is_the_newer_a_new_one_is_made():
    """As after both servers were given one by hand."""
    with pair(ONE) as fleet, keeping(fleet.url) as keep:
        primary, replica = fleet.servers
        keep("add", "heron", lambda: "one")
        replica.ask("ACL", "SETUSER", "heron", "resetpass", ">other")
        (row,) = keep("every")["users"]
        assert row["torn"]
        with pytest.raises(UserExists):
            keep("add", "heron", lambda: "two")
        keep("update")
        assert (said(primary), said(replica)) == (digest("one"), digest("other"))
        assert keep("rotate", "heron", lambda: "two")["new"]
        assert said(primary) == said(replica) == digest("two")


def patience(monkeypatch):
    for module in ("redischat.wire.RETRY_S", "redischat.aio.connection.RETRY_S", "redischat.sync.connection.RETRY_S"):
        monkeypatch.setattr(module, 0.1)


def test_doctor_tells_an_admin_which_users_differ():
    with pair(ONE) as fleet, keeping(fleet.url) as keep:
        assert claims(fleet) == []
        keep("add", "heron", lambda: "one")
        keep("add", "lynx", lambda: "one")
        assert claims(fleet) == []
        fleet.servers[1].ask("ACL", "DELUSER", "heron")
        (claim,) = claims(fleet)
        assert claim["state"] == "wrong"
        assert "heron" in claim["said"]
        assert "lynx" not in claim["said"]


def claims(fleet):
    return [one for one in map(json.loads, cli(fleet, "doctor", "--json", check=False).stdout.splitlines()) if one["check"] == "users"]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_an_announced_address_that_leads_nowhere_is_named(carrier, monkeypatch):
    patience(monkeypatch)
    with pair(ONE) as fleet, keeping(fleet.url, carrier) as keep:
        primary, replica = fleet.servers
        nowhere = free_port()
        replica.ask("CONFIG", "SET", "replica-announce-port", nowhere)
        replica.ask("REPLICAOF", "NO", "ONE")
        replica.ask("REPLICAOF", HERE, primary.port)
        in_step(primary, replica)
        made = keep("add", "heron", lambda: "one")
        assert made["new"]
        assert [*made["missing"]] == [f"{HERE}:{nowhere}"]
        assert said(primary) == digest("one")
        assert [*keep("every")["missing"]] == [f"{HERE}:{nowhere}"]


def test_a_plain_url_of_a_cluster_writes_to_all_of_it():
    with cluster(ONE, replicas=1) as fleet, keeping(fleet.lead.url) as keep:
        keep("add", "heron", lambda: "one")
        assert [said(one) for one in fleet.servers] == [digest("one")] * len(fleet.servers)


def test_an_admin_whom_one_server_does_not_know_is_told_which():
    with pair(ONE) as fleet:
        primary, replica = fleet.servers
        for one in fleet.servers:
            one.ask("ACL", "SETUSER", "admin", "on", ">boss", "~*", "&*", "+@all")
        replica.ask("ACL", "SETUSER", "admin", "resetpass", ">another")
        with keeping(fleet.url.replace("://", "://admin:boss@")) as keep:
            made = keep("add", "heron", lambda: "one")
            ((where, why),) = made["missing"].items()
            assert where == f"{HERE}:{replica.port}"
            assert "WRONGPASS" in why
        primary.ask("ACL", "SETUSER", "admin", "-acl")
        with keeping(fleet.url.replace("://", "://admin:boss@")) as keep, pytest.raises(AdminNeeded):
            keep("add", "lynx", lambda: "one")


def test_from_python_what_is_done_comes_with_the_refusal(monkeypatch):
    patience(monkeypatch)
    with sentinels(ONE, *ACL) as fleet, Client(url=fleet.url, workspace=WORKSPACE) as chat:
        _, down, back = down_and_back(fleet)
        down()
        with pytest.raises(NotEverywhere) as refused:
            chat.admin_user_add("heron")
        made = refused.value.made
        assert made.url.startswith("redis+sentinel://heron:")
        password = made.url.partition("heron:")[2].partition("@")[0]
        assert password not in str(refused.value) + str(refused.value.record())
        with Client(url=made.url, workspace=WORKSPACE, agent="heron") as heron:
            heron.open("dock")
        back()
        again = chat.admin_user_add("heron")
        assert (again.url, len(again.servers)) == (None, len(fleet.servers))
        (one,) = chat.admin_user_list()
        assert (one.user, one.lacks, one.older) == ("heron", [], [])
        assert lets_in(fleet.servers[-1], password)
