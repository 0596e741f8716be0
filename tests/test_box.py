"""docker-compose.yml: its scripts run here as they stand, with real servers: what the box is configured to be, and what survives its restarts."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis
import yaml
from cli import COMMAND, scratch, town_at
from teams import BOTH
from waiting import wait_until

from redischat.__main__ import quick

ROOT = Path(__file__).parent.parent
FILE = ROOT / "docker-compose.yml"
BOX = yaml.safe_load(FILE.read_text("utf-8"))
SECRETS = {"REDISCHAT_ADMIN_PASSWORD": "9f3c0b", "REDISCHAT_MCP_TOKEN": "71aa2e"}
MENTIONED = re.compile(r"(?<!\$)\$\{(\w+)(?::([-?+])([^}]*))?\}")


def interpolated(text, env):
    """What Compose makes of a value: variables by their forms ``:-``, ``:+`` and ``:?``, and ``$$`` for a dollar."""

    def value(found):
        name, form, word = found.groups()
        given = env.get(name, "")
        if form == "?":
            assert given, f"{name} is needed: {word}"
        return (word if given else "") if form == "+" else given or (word if form == "-" else "")

    return MENTIONED.sub(value, text).replace("$$", "$")


class Box:
    """The services' scripts, each run as in its container: with the environment that Compose gives it, and places of this test's own."""

    def __init__(self, root, binary):
        self.root, self.port = root, free_port()
        self.binary = "valkey-server" if "valkey" in binary else "redis-server"
        self.path = os.path.join(root, "bin")
        for name in ("bin", "data", "users", "tls"):
            os.makedirs(os.path.join(root, name))
        os.symlink(binary, os.path.join(self.path, self.binary))
        self.program("docker-entrypoint.sh", 'exec "$@"')
        self.program("redischat", f'exec {" ".join(COMMAND)} "$@"')
        self.process: subprocess.Popen[bytes] | None = None

    def program(self, name, line):
        path = os.path.join(self.path, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{line}\n")
        os.chmod(path, 0o755)

    def env(self, service, **given):
        said = {name: interpolated(text, {**SECRETS, **given}) for name, text in BOX["services"][service]["environment"].items()}
        said = {name: text.replace("@broker:6379", f"@127.0.0.1:{self.port}") for name, text in said.items()}
        places = {"PORT": str(self.port), **{name.upper(): os.path.join(self.root, name) for name in ("data", "users", "tls")}}
        python = {"PYTHONPATH": str(ROOT), "HOME": self.root, "REDISCHAT_STATE": os.path.join(self.root, "state")}
        return {"PATH": f"{self.path}:/usr/bin:/bin", **python, **places, **said}

    def command(self, service):
        return [interpolated(word, {}) for word in BOX["services"][service]["command"]]

    def run(self, service, **given):
        return subprocess.run(self.command(service), env=self.env(service, **given), cwd="/", capture_output=True, text=True, timeout=60, check=False)

    def start(self, **given):
        with open(os.path.join(self.root, "log"), "ab") as log:
            self.process = subprocess.Popen(self.command("broker"), env=self.env("broker", **given), cwd="/", stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        wait_until(self.answers, "the broker of the box answers")

    def answers(self):
        assert self.process
        assert self.process.poll() is None, Path(self.root, "log").read_text("utf-8")
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1):
                return True
        except OSError:
            return False

    def admin(self, password=SECRETS["REDISCHAT_ADMIN_PASSWORD"]):
        return redis.Redis(host="127.0.0.1", port=self.port, username="admin", password=password, decode_responses=True, protocol=2)

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait()


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


@contextmanager
def standing(binary):
    with scratch() as root:
        box = Box(root, binary)
        try:
            yield box
        finally:
            box.stop()


@pytest.fixture(params=BOTH)
def box(request):
    with standing(request.param) as one:
        one.start()
        yield one


def variables(file):
    return dict(row.split("=", 1) for row in Path(file).read_text("utf-8").split())


def test_nothing_is_open_to_the_world_and_no_secret_is_in_the_file():
    for name, service in BOX["services"].items():
        for port in service.get("ports", ()):
            assert interpolated(port, SECRETS).startswith("127.0.0.1:"), (name, port)
            assert interpolated(port, {**SECRETS, "REDISCHAT_BIND": "10.0.0.5"}).startswith("10.0.0.5:")
        for key, text in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN|URL", key):
                with pytest.raises(AssertionError, match="is needed"):
                    interpolated(text, {})


def test_every_variable_is_explained():
    named = {found[1] for found in MENTIONED.finditer(FILE.read_text("utf-8"))} - {"REDISCHAT_PYTHON"}
    assert named == set(re.findall(r"^#?(REDISCHAT_\w+)=", (ROOT / ".env.example").read_text("utf-8"), re.MULTILINE))


def test_the_image_holds_what_the_program_needs():
    text = BOX["services"]["init"]["build"]["dockerfile_inline"]
    assert BOX["services"]["mcp"]["build"] == BOX["services"]["init"]["build"]
    copied = {word for row in re.findall(r"^COPY (.+)$", text, re.MULTILINE) for word in row.split()[:-1]}
    assert all((ROOT / one).exists() for one in copied)
    assert {"redischat", "scripts", "hooks", "pyproject.toml"} <= copied
    assert "." not in copied, "the context may hold .env"


def test_the_client_of_compose_takes_it():
    docker = shutil.which("docker")
    if not docker or subprocess.run([docker, "compose", "version"], capture_output=True, check=False).returncode:
        pytest.skip("no docker compose here")
    done = subprocess.run([docker, "compose", "-f", FILE, "config", "-q"], env={**os.environ, **SECRETS}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_broker_is_what_a_team_needs(box):
    said = {
        key: value
        for name in ("appendonly", "appendfsync", "maxmemory", "maxmemory-policy", "save", "aclfile", "timeout")
        for key, value in box.admin().config_get(name).items()
    }
    assert said == {
        "appendonly": "yes", "appendfsync": "always", "maxmemory": str(512 << 20), "maxmemory-policy": "noeviction", "save": "",
        "aclfile": os.path.join(box.root, "data", "users.acl"), "timeout": "0",
    }  # fmt: skip
    assert stat.S_IMODE(os.stat(said["aclfile"]).st_mode) == 0o600
    for user, password in (("default", ""), ("admin", ""), ("admin", "guess")):
        with pytest.raises(redis.exceptions.RedisError):
            redis.Redis(host="127.0.0.1", port=box.port, username=user, password=password, protocol=2).ping()
    with pytest.raises(redis.exceptions.RedisError):
        redis.Redis(host="127.0.0.1", port=box.port, protocol=2).ping()


def test_the_health_check_tells_a_broker_that_answers(box):
    check = interpolated(BOX["services"]["broker"]["healthcheck"]["test"][1], {})
    env = box.env("broker")
    if not shutil.which("redis-cli"):
        pytest.skip("no redis-cli here")
    assert subprocess.run(["sh", "-c", check], env=env, check=False, capture_output=True).returncode == 0
    assert subprocess.run(["sh", "-c", check], env={**env, "REDISCHAT_ADMIN_PASSWORD": "x"}, check=False, capture_output=True).returncode != 0
    box.stop()
    assert subprocess.run(["sh", "-c", check], env=env, check=False, capture_output=True).returncode != 0


def test_the_users_are_made_once_and_talk(box):
    done = box.run("init", REDISCHAT_USERS="heron lynx", REDISCHAT_OBSERVERS="eve")
    assert done.returncode == 0, done.stderr
    files = {name: os.path.join(box.root, "users", f"{name}.env") for name in ("mcp", "heron", "lynx", "eve")}
    before = {name: Path(file).read_text("utf-8") for name, file in files.items()}
    assert not any(re.search(r"heron:\w", text) for text in (done.stdout, done.stderr)), "a password on the log"
    again = box.run("init", REDISCHAT_USERS="heron lynx", REDISCHAT_OBSERVERS="eve")
    assert (again.returncode, {name: Path(file).read_text("utf-8") for name, file in files.items()}) == (0, before)
    with town_at("redis://nowhere") as town:
        heron, lynx, eve = (town.person(name, **variables(files[name])) for name in ("heron", "lynx", "eve"))
        heron("identify", "heron")
        heron("open", "dock", "--members", "lynx")
        lynx("identify", "lynx")
        heron("say", "dock", "the plan", "--to", "lynx")
        assert "the plan" in lynx("wait", "dock", "--timeout", "5").out
        heron("lock", "dock", "src/a.py", "--repo", "r")
        assert lynx("lock", "dock", "src/a.py", "--repo", "r", code=3).error == "PATH_LOCK_CONFLICT"
        lynx("task", "create", "dock", "--title", "parser")
        heron("task", "next", "dock", "--claim")
        assert "the plan" in eve("read", "dock", "--all").out
        assert eve("say", "dock", "x", "--as", "eve", code=5).error == "BROKER_NOT_ALLOWED"
        box.stop()
        box.start()
        assert "the plan" in heron("read", "dock", "--all").out, "messages and users survive a restart"
        assert heron("workspaces").lines == ["team  (this one)"]
        keeper = town.person("keeper", REDISCHAT_URL=box.env("init")["REDISCHAT_URL"], REDISCHAT_WORKSPACE="team")
        keeper("admin", "user", "revoke", "lynx")
        box.stop()
        box.start()
        assert lynx("pending", code=5).error == "BROKER_NOT_ALLOWED", "a revoked user does not come back"


def test_a_replica_that_cannot_be_told_is_named_and_does_not_keep_the_box_from_starting(box):
    nowhere, data = str(free_port()), os.path.join(box.root, "replica")
    os.makedirs(data)
    words = [
        os.path.join(box.path, box.binary), "--port", "0", "--unixsocket", os.path.join(data, "s"), "--dir", data, "--save", "", "--replicaof", "127.0.0.1", str(box.port),
        "--masteruser", "admin", "--masterauth", SECRETS["REDISCHAT_ADMIN_PASSWORD"], "--replica-announce-port", nowhere,
    ]  # fmt: skip
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as replica:
        try:
            wait_until(lambda: box.admin().execute_command("ROLE")[2], "the broker has a replica", 30)
            done = box.run("init")
        finally:
            replica.kill()
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("USER_NOT_EVERYWHERE") == 3, "add, update, list"
    assert f"127.0.0.1:{nowhere}" in done.stderr
    assert "mcp:" in Path(box.root, "users", "mcp.env").read_text("utf-8")


def test_a_new_password_in_the_file_is_the_admins_after_a_restart(box):
    assert box.run("init").returncode == 0
    box.stop()
    box.start(REDISCHAT_ADMIN_PASSWORD="new")
    assert box.admin("new").acl_whoami() == "admin"
    with pytest.raises(redis.exceptions.RedisError):
        box.admin().ping()
    assert "mcp" in box.admin("new").acl_users()


def test_the_mcp_server_is_started_as_its_user_behind_a_token(box):
    assert box.run("init").returncode == 0
    box.program("redischat", f"exec {sys.executable} -c 'import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))' \"$@\"")
    words, env = json.loads(box.run("mcp").stdout)
    assert words == ["mcp", "--http", "0.0.0.0:8787", "--allow-host", "127.0.0.1,localhost,mcp"]
    assert quick(words), "a call that this version takes"
    assert env["REDISCHAT_MCP_TOKEN"] == SECRETS["REDISCHAT_MCP_TOKEN"]
    assert env["REDISCHAT_URL"].startswith("redis://mcp:")
    assert env["REDISCHAT_WORKSPACE"] == "team"
    assert "REDISCHAT_ADMIN_PASSWORD" not in env


def certificates(folder):
    """An authority and a certificate for 127.0.0.1, as openssl makes them."""
    key = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]
    made = [
        ["req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca"],
        ["req", *key[:3], "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=broker"],
        ["x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out", "server.crt", "-extfile", "san"],
    ]
    Path(folder, "san").write_text("subjectAltName=IP:127.0.0.1,DNS:broker\n", "utf-8")
    for words in made:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def test_with_certificates_it_speaks_nothing_but_tls():
    server = shutil.which("redis-server")
    if not server or not shutil.which("openssl"):
        pytest.skip("no redis-server with TLS, or no openssl, here")
    with standing(server) as box:
        certificates(os.path.join(box.root, "tls"))
        box.start()
        trusted = ssl.create_default_context(cafile=os.path.join(box.root, "tls", "ca.crt"))
        with socket.create_connection(("127.0.0.1", box.port), 5) as bare, trusted.wrap_socket(bare, server_hostname="127.0.0.1") as line:
            line.sendall(f"AUTH admin {SECRETS['REDISCHAT_ADMIN_PASSWORD']}\r\n".encode())
            assert line.recv(100) == b"+OK\r\n"
        with socket.create_connection(("127.0.0.1", box.port), 5) as bare, suppress(ConnectionResetError):
            bare.sendall(b"PING\r\n")
            assert b"PONG" not in bare.recv(100)


def test_certificates_change_the_address_that_users_are_given():
    env = BOX["services"]["init"]["environment"]
    assert interpolated(env["REDISCHAT_URL"], {**SECRETS, "REDISCHAT_TLS": "/etc/tls"}) == "rediss://admin:9f3c0b@broker:6379?ca=/tls/ca.crt"
    assert interpolated(env["REDISCHAT_URL"], SECRETS) == "redis://admin:9f3c0b@broker:6379"
