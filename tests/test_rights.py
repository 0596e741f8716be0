"""The list of commands that a user of one workspace may send is what scripts, plain Calls and carriers do send: nothing less, nothing more."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from teams import BOTH, team

from redischat.calls.users import ACTS, LOOKS, NEWER, OBSERVES, rules
from redischat.keys import Keys

ROOT = Path(__file__).parent.parent
CARRIERS = {"evalsha", "eval", "ssubscribe", "sunsubscribe"}  # a Call's words and a Listen
LIBRARY = {"client|setinfo"}  # what redis-py says of itself at each connection
ANSWERS = {"readonly"}  # a server's word, which is also a command
GREETING = {"auth", "select"}  # needs no right; and a right of its own where the URL names a database
# Commands in the sources that a user of one workspace is not given, and who sends them.
KEPT = {
    "scan": "workspaces, which goes without; the embedded broker's status; the demo", "unlink": "the demo, which takes its scratch workspace away",
    "info": "doctor and bench, which go without", "pubsub|shardnumsub": "the demo, at the embedded broker", "config|get": "the embedded broker's status",
    "shutdown": "server stop, at the embedded broker", "acl|getuser": "admin user", "acl|setuser": "admin user", "acl|deluser": "admin user", "acl|users": "admin user",
    "cluster|slots": "workspaces, which goes without", "cluster|shards": "admin user", "bgrewriteaof": "maintenance, at the embedded broker", "acl|save": "admin user", "client|kill": "admin user", "client|list": "admin user",
}  # fmt: skip
SUBCOMMANDS = {
    "pubsub",
    "config",
    "acl",
    "client",
    "script",
    "object",
    "memory",
    "cluster",
    "xinfo",
    "xgroup",
    "function",
    "latency",
    "slowlog",
    "module",
    "command",
    "debug",
}


def in_scripts(path):
    text = re.sub(r"--[^\n]*", "", path.read_text("utf-8"))
    assert text.count("redis.call(") + text.count("redis.pcall(") == len(re.findall(r'redis\.p?call\("[A-Z]+"', text)), (
        f"{path.name}: a command that is no word"
    )
    return {named(found) for found in re.findall(r'redis\.p?call\("([A-Z]+)"(?:, "([A-Z]+)")?', text)}


def named(words):
    first, second = words[0].lower(), words[1].lower() if len(words) > 1 and words[1] else ""
    return f"{first}|{second}" if first in SUBCOMMANDS else first


def in_python(known):
    """Each tuple of words, or call, that begins with a command's name in capitals."""
    found = set()
    for path in [*(ROOT / "redischat").rglob("*.py"), ROOT / "hooks" / "asking.py"]:
        if "sync" in path.parts:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        exported = [one.value for one in tree.body if isinstance(one, ast.Assign) and getattr(one.targets[0], "id", "") == "__all__"]
        for node in ast.walk(tree):
            if isinstance(node, ast.List) and node in exported:
                continue
            words = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple | ast.List) else ()
            texts = [one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else "" for one in words[:2]]
            if texts and texts[0].isupper() and texts[0].lower() in known:
                found.add(named(texts))
    return found


@pytest.fixture(scope="module", params=BOTH)
def server(request):
    with team(request.param) as one:
        yield one


def test_the_rights_are_what_is_sent(server):
    known = {str(name).lower() for name in server.ask("COMMAND", "LIST")} | {"waitaof"}  # from Redis 7.2 on
    sent = set().union(*(in_scripts(path) for path in (ROOT / "scripts").rglob("*.lua"))) | in_python(known) | CARRIERS | LIBRARY
    sent -= GREETING | ANSWERS | {"eval_ro", "evalsha_ro"}
    mine = {*ACTS, *NEWER}
    assert sent - mine == set(KEPT), "what is sent and nobody may send, against what is kept"
    assert mine - sent == set(), "given, and never sent"


def test_what_an_observer_may_send_writes_nothing(server):
    for name in OBSERVES:
        flags = {str(flag) for flag in info(server, name)[2]}
        assert not flags & {"write", "may_replicate", "admin"} or name == "ssubscribe", name
    assert set(OBSERVES) - {"eval_ro", "evalsha_ro"} == set(LOOKS)


def test_no_right_lists_what_is_not_the_users(server):
    """Each command names its keys or its channels, where an ACL sees them; the others tell nothing of anybody's."""
    harmless = {"time", "ping", "acl|whoami", "role", "asking", "wait", "waitaof", "client|setinfo", "ssubscribe", "sunsubscribe", "spublish"}
    for name in {*ACTS, *OBSERVES, *NEWER} - harmless:
        found = info(server, name)
        assert found[3] or {"eval", "evalsha", "eval_ro", "evalsha_ro"} & {name} or "movablekeys" in {str(flag) for flag in found[2]}, name


def info(server, name):
    first, _, second = name.partition("|")
    found = server.ask("COMMAND", "INFO", name if second else first)[0]
    return found or [name, 0, [], 1]  # not known to this server


@pytest.mark.parametrize("observer", [False, True])
def test_a_server_takes_every_word_of_the_rights(server, observer):
    new = server.ask("COMMAND", "INFO", "waitaof")[0] is not None
    words = rules(Keys("team"), observer=observer, database=3, newer=new)
    assert server.ask("ACL", "SETUSER", "probe", *words) == "OK"
    found = server.ask("ACL", "GETUSER", "probe")
    found = dict(zip(found[::2], found[1::2], strict=True))
    assert found["keys"] == ("%R~rc1:{team}:*" if observer else "~rc1:{team}:*")
    assert set(found["channels"].split(" ")) == ({"&rc1:{team}:live:*", "&rc1:{team}:opened"} if observer else {"&rc1:{team}:*"})
    assert server.ask("ACL", "DELUSER", "probe") == 1
