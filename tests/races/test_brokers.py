"""Brokers other than one plain server: each verb, over each carrier, on TLS, Sentinel and Cluster; and what is said when such a broker cannot be had."""

from __future__ import annotations

import json
import threading
import time

import pytest
from carriers import CARRIERS
from crowd import BINARIES, BOTH, both_servers, caller, cli, free_port, granted, open_rooms, serving, stored, wired
from fleets import HERE, TLS_BINARY, Fleet, certificates, cluster, needs_tls, sentinels, tls_server  # noqa: F401 - a fixture
from verbs import VERBS, furnish
from waiting import wait_until

from redischat.calls import messages
from redischat.calls.call import Caller, Once
from redischat.errors import ChatError
from redischat.errors.broker import NoService, NotAllowed, Unreachable, Untrusted
from redischat.flows import agents as agent_flows
from redischat.flows import channels
from redischat.keys import Keys

pytestmark = [pytest.mark.real, pytest.mark.races]
ONE = BINARIES["valkey"] or BINARIES["redis"]
SOON_S = 2.0  # what no waiting cures is said at once; the rest is a slow machine's


KINDS = [
    pytest.param(("tls", TLS_BINARY), id="tls", marks=needs_tls),
    *(pytest.param(("cluster", one.values[0]), id=f"cluster-{one.id}", marks=one.marks) for one in BOTH),
    *(pytest.param(("sentinel", one.values[0]), id=f"sentinel-{one.id}", marks=one.marks) for one in BOTH),
    pytest.param(("cluster-tls", TLS_BINARY), id="cluster-tls", marks=needs_tls),
    pytest.param(("sentinel-tls", TLS_BINARY), id="sentinel-tls", marks=needs_tls),
]


def made(kind, binary, request):
    """A broker of this kind."""
    name, _, tls = kind.partition("-")
    if name == "tls":
        return tls_server(request.getfixturevalue("certificates"), binary=binary)
    certs = request.getfixturevalue("certificates") if tls else None
    return cluster(binary, certificates=certs) if name == "cluster" else sentinels(binary, certificates=certs)


@pytest.fixture(scope="module", params=KINDS)
def fleet(request):
    kind, binary = request.param
    with made(kind, binary, request) as found:
        yield found


@pytest.fixture
def empty(fleet):
    for one in fleet.servers:
        one.ask("FLUSHALL")
    return fleet


@pytest.mark.parametrize("carrier", CARRIERS)
def test_every_verb_works_over_every_carrier(empty, carrier):
    sits = CARRIERS[carrier](empty.url)
    try:
        for name, act in VERBS.items():
            for one in empty.servers:
                one.ask("FLUSHALL")
            with wired(empty) as wire, granted(f"{name} over {carrier}"):
                furnish(wire)
                answer = act.act(sits)
                act.check(wire, empty, answer)
    finally:
        sits.close()


def test_commands_post_and_read(empty):
    cli(empty, "open", "dock", "--members", "bob", agent="amy")
    said = json.loads(cli(empty, "say", "dock", "hello", "--to", "bob", "--json", agent="amy").stdout)
    assert said["seq"] == 1
    read = [json.loads(row) for row in cli(empty, "wait", "dock", "--timeout", "10", "--json", agent="bob").stdout.splitlines()]
    assert [one["body"] for one in read if one["kind"] == "message"] == ["hello"]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_all_workspaces_are_found_wherever_they_lie(empty, carrier):
    names = {f"team{n}" for n in range(12)}
    for name in names:
        with wired(empty) as wire:
            wire.drive(channels.enter(Caller(Keys(name), "amy"), "dock", channels.Wanted(), Once()))
    if "cluster" in empty.url.partition(":")[0]:
        assert sum(bool(one.ask("DBSIZE")) for one in empty.servers) == 3, "they lie on every master"
    sits = CARRIERS[carrier](empty.url)
    try:
        assert set(sits.drive(agent_flows.workspaces(Keys("default")))) == names
    finally:
        sits.close()


def asked(url, carrier):
    """(The error that a question at this URL ends in, after how many seconds)."""
    began = time.monotonic()
    sits = None
    try:
        sits = CARRIERS[carrier](url)
        sits.drive(agent_flows.workspaces(Keys("default")))
    except ChatError as error:
        return error, time.monotonic() - began
    finally:
        if sits is not None:
            sits.close()
    raise AssertionError(f"{url} answered")


UNTRUSTED = {
    "an authority that nobody knows": lambda port, _: f"rediss://{HERE}:{port}",
    "another authority": lambda port, certs: f"rediss://{HERE}:{port}?ca={certs.path('strange.pem')}",
    "a file that is not there": lambda port, certs: f"rediss://{HERE}:{port}?ca={certs.path('none.pem')}",
    "a file that is no certificate": lambda port, certs: f"rediss://{HERE}:{port}?ca={certs.path('server.key')}",
    "a key that is another's": lambda port, certs: f"rediss://{HERE}:{port}?ca={certs.ca}&cert={certs.path('server.pem')}&key={certs.path('other.key')}",
}


@needs_tls
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("what", UNTRUSTED)
def test_a_broker_that_cannot_be_trusted_is_refused_at_once(certificates, carrier, what):  # noqa: F811 - the fixture
    with tls_server(certificates) as broker:
        error, seconds = asked(UNTRUSTED[what](broker.servers[0].tls_port, certificates), carrier)
    assert type(error) is Untrusted
    assert seconds < SOON_S


@needs_tls
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_certificate_of_another_host_is_refused(certificates, carrier):  # noqa: F811
    with tls_server(certificates, name="other") as broker:
        error, seconds = asked(broker.url, carrier)
    assert type(error) is Untrusted
    assert seconds < SOON_S


@needs_tls
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_server_that_asks_for_our_certificate_is_shown_it(certificates, carrier):  # noqa: F811
    with tls_server(certificates, clients="yes") as broker:
        error, _ = asked(broker.url, carrier)
        assert type(error) in {Untrusted, Unreachable}, "the server may hang up before its reason is read"
        sits = CARRIERS[carrier](f"{broker.url}&cert={certificates.path('server.pem')}&key={certificates.path('server.key')}")
        try:
            assert sits.drive(agent_flows.workspaces(Keys("default"))) == []
        finally:
            sits.close()


@needs_tls
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_server_without_tls_is_not_spoken_to(carrier, monkeypatch):
    for module in ("redischat.wire.RETRY_S", "redischat.aio.connection.RETRY_S", "redischat.sync.connection.RETRY_S"):
        monkeypatch.setattr(module, 0.1)
    with serving(ONE, host=HERE) as server:
        error, _ = asked(f"rediss://{HERE}:{server.port}", carrier)
        assert "scan" not in server.calls()
    assert type(error) in {Untrusted, Unreachable}


@needs_tls
def test_a_command_says_in_one_line_that_a_broker_is_not_trusted(certificates):  # noqa: F811
    with tls_server(certificates) as broker:
        server = broker.servers[0]
        town = Fleet(f"rediss://u:hunter2@{HERE}:{server.tls_port}?ca={certificates.path('strange.pem')}", [server])
        done = cli(town, "channels", check=False)
    assert done.returncode == 5
    assert "BROKER_UNTRUSTED" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "hunter2" not in done.stderr + done.stdout


@pytest.mark.parametrize("carrier", CARRIERS)
def test_sentinels_with_passwords_of_their_own_lead_to_the_master(carrier):
    with sentinels(ONE, password="hunter2", watch_password="hunter3") as broker:
        sits = CARRIERS[carrier](broker.url)
        try:
            assert sits.drive(agent_flows.workspaces(Keys("default"))) == []
        finally:
            sits.close()
        error, seconds = asked(broker.url.replace("hunter3", "hunter4"), carrier)
        assert type(error) is NotAllowed
        assert seconds < SOON_S
        assert "hunter" not in str(error)
        error, seconds = asked(broker.url.replace("/chat", "/talk"), carrier)
        assert type(error) is NoService
        assert seconds < SOON_S
        one_dead = broker.url.replace(f"{HERE}:{broker.watchers[0].door}", f"{HERE}:{free_port()}")
        sits = CARRIERS[carrier](one_dead)
        try:
            assert sits.drive(agent_flows.workspaces(Keys("default"))) == []
        finally:
            sits.close()


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("form", ["redis+cluster://{}:{},{}:{}", "redis+sentinel://{}:{},{}:{}/chat"])
def test_where_nobody_answers_the_broker_is_unreachable(form, carrier, monkeypatch):
    for module in ("redischat.wire.RETRY_S", "redischat.aio.routed.RETRY_S", "redischat.sync.routed.RETRY_S"):
        monkeypatch.setattr(module, 0.1)
    error, seconds = asked(form.format(HERE, free_port(), HERE, free_port()), carrier)
    assert type(error) is Unreachable
    assert seconds < SOON_S


def test_a_plain_url_of_a_cluster_says_what_to_write_instead():
    with cluster(ONE) as broker:
        other = next(one for one in broker.servers if one is not broker.lead)
        done = cli(other, "open", "dock", agent="amy", check=False)
    assert done.returncode == 5
    assert "redis+cluster://" in done.stderr


@both_servers
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_primary_that_wants_a_replica_and_has_none_is_waited_for(binary, carrier):
    """As one that a failover has left behind: what it took now nobody else would have."""
    with serving(binary, host=HERE) as server:
        open_rooms(server, ["a"], ["amy"])
        server.ask("CONFIG", "SET", "min-replicas-to-write", "1")
        sits = CARRIERS[carrier](server.url)
        later = threading.Thread(target=given_in, args=(server,))
        later.start()
        try:
            with granted("a post that waits"):
                assert sits.run(messages.post(caller("amy"), "a", messages.Draft("x"), once=Once()))["seq"] == 1
        finally:
            later.join()
            sits.close()
        assert list(stored(server, "a")) == [1]


def given_in(server):
    """Let it go without, once it has refused."""
    wait_until(lambda: "errorstat_NOREPLICAS" in server.ask("INFO", "errorstats"), "a post was refused")
    server.ask("CONFIG", "SET", "min-replicas-to-write", "0")
