"""A team's broker for tests: a private server with an ACL file, an admin, and nobody else."""

from __future__ import annotations

import hashlib
import os
import shutil
from contextlib import contextmanager

import pytest
import redis
from cli import Server, scratch, town_at

from redischat.broker import binary

ADMIN = "let-me-in"
BOTH = [
    pytest.param(path, id=name, marks=[pytest.mark.real, pytest.mark.skipif(not path or not os.path.exists(path), reason=f"no {name} server here")])
    for name, path in (("redis", shutil.which("redis-server")), ("valkey", binary.in_wheel()))
]


class Team(Server):
    """A server whose users lie in an ACL file: ``default`` is off, ``admin`` may do everything, and ``ask`` speaks as the admin."""

    login = ("AUTH", "admin", ADMIN)

    def url_of(self, user, password):
        return f"unix://{user}:{password}@{self.socket}"

    def line(self, user, password):
        """A raw connection of one user."""
        return Raw(self.socket, user, password)


class Raw:
    """Sends what it is told; errors are given back, not raised."""

    def __init__(self, path, user, password):
        self._redis = redis.Redis(
            unix_socket_path=path, username=user, password=password, decode_responses=True, encoding_errors="replace", protocol=2, socket_timeout=5
        )

    def ask(self, *words):
        try:
            return self._redis.execute_command(*words)
        except redis.RedisError as error:
            return error

    def pubsub(self):
        return self._redis.pubsub()

    def close(self):
        """Hang up; the next question connects anew."""
        self._redis.close()


@contextmanager
def team(path, *flags):
    """A running team broker on the binary at ``path``."""
    with scratch() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDISCHAT_TEST_SERVER", path)
        acl = os.path.join(home, "users.acl")
        with open(acl, "w", encoding="utf-8") as file:
            file.write(f"user default off ~* &* +@all\nuser admin on #{hashlib.sha256(ADMIN.encode()).hexdigest()} ~* &* +@all\n")
        server = Team(home, "--aclfile", acl, *flags)
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def team_town(path, *flags):
    """People who type commands, around a team's broker; whoever has no URL of their own is its admin."""
    with team(path, *flags) as server, town_at(server.url_of("admin", ADMIN), server) as town:
        yield town


def handed_over(done):
    """What ``admin user add`` or ``rotate`` says to export, as variables."""
    return dict(word.split("=", 1) for word in done.out.split() if word.startswith("REDISCHAT_"))


def hired(town, name, *words, workspace="team"):
    """A new user of a workspace, who types commands in a place of their own."""
    return town.person("p-" + name, **handed_over(town.person("keeper")("admin", "user", "add", name, "--workspace", workspace, *words)))
