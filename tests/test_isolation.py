"""A user of one workspace cannot read, write, ring or list anything of another one: by no verb, and by no raw command that was tried."""

from __future__ import annotations

import os
import shlex

import pytest
from teams import BOTH, handed_over, hired, team_town

from redischat.cli.verbs import VERBS
from redischat.lua import script

SECRET = "the-plan-of-b"
B = "rc1:{b}:"
HASH, STREAM, ZSET, BELL = B + "agents", B + "ch:dock:messages", B + "held:order", B + "bell:bob"
GET, SET, RING = 'return redis.call("HGETALL", {})', 'return redis.call("HSET", {}, "x", "y")', 'return redis.call("SPUBLISH", {}, "message dock")'

RAW = [
    # lists
    ("KEYS", "*"), ("KEYS", B + "*"), ("SCAN", "0"), ("SCAN", "0", "MATCH", B + "*"), ("RANDOMKEY",), ("DBSIZE",), ("INFO",), ("INFO", "keyspace"),
    ("PUBSUB", "CHANNELS"), ("PUBSUB", "SHARDCHANNELS"), ("PUBSUB", "SHARDNUMSUB", BELL), ("PUBSUB", "NUMSUB", BELL), ("PUBSUB", "NUMPAT"),
    ("CLIENT", "LIST"), ("CLIENT", "INFO"), ("CLIENT", "KILL", "USER", "bob"), ("CLIENT", "KILL", "ID", "1"), ("CLIENT", "PAUSE", "1"), ("CLIENT", "UNBLOCK", "1"),
    ("CLIENT", "NO-EVICT", "on"), ("CLIENT", "TRACKING", "on", "BCAST", "PREFIX", B), ("CLIENT", "GETNAME"), ("CLIENT", "REPLY", "ON"), ("CLIENT", "SETNAME", "x"),
    # reads
    ("GET", B + "x"), ("MGET", B + "x", HASH), ("HGETALL", HASH), ("HGET", HASH, "bob"), ("HMGET", HASH, "bob"), ("HKEYS", HASH), ("HVALS", HASH), ("HLEN", HASH),
    ("HEXISTS", HASH, "bob"), ("HSCAN", HASH, "0"), ("HRANDFIELD", HASH), ("HSTRLEN", HASH, "bob"), ("EXISTS", HASH), ("EXISTS", "rc1:{a}:agents", HASH), ("TYPE", HASH),
    ("TTL", HASH), ("TOUCH", HASH), ("DUMP", HASH), ("OBJECT", "ENCODING", HASH), ("OBJECT", "IDLETIME", HASH), ("MEMORY", "USAGE", HASH), ("STRLEN", B + "x"),
    ("XRANGE", STREAM, "-", "+"), ("XREVRANGE", STREAM, "+", "-"), ("XLEN", STREAM), ("XREAD", "STREAMS", STREAM, "0"), ("XREAD", "BLOCK", "1", "STREAMS", STREAM, "$"),
    ("XINFO", "STREAM", STREAM), ("XINFO", "GROUPS", STREAM), ("XGROUP", "CREATE", STREAM, "g", "0"), ("XREADGROUP", "GROUP", "g", "c", "STREAMS", STREAM, ">"),
    ("XPENDING", STREAM, "g"), ("XCLAIM", STREAM, "g", "c", "0", "0-1"), ("ZRANGE", ZSET, "0", "-1"), ("ZRANGEBYLEX", ZSET, "-", "+"), ("ZCARD", ZSET),
    ("SORT", "rc1:{a}:x", "BY", B + "*", "GET", B + "*"), ("SORT", HASH), ("SORT_RO", "rc1:{a}:x", "GET", B + "*"), ("GEOSEARCH", ZSET, "FROMMEMBER", "x", "BYBOX", "1", "1", "m"),
    ("LCS", B + "x", "rc1:{a}:x"), ("SUNION", B + "x"), ("ZUNION", "1", ZSET), ("ZDIFF", "2", ZSET, "rc1:{a}:x"), ("WATCH", HASH), ("BLPOP", B + "x", "1"),
    # writes
    ("SET", B + "x", "1"), ("DEL", HASH), ("UNLINK", HASH), ("HSET", HASH, "bob", "x"), ("HDEL", HASH, "bob"), ("HINCRBY", B + "meta", "token", "1"), ("HSETNX", HASH, "x", "y"),
    ("EXPIRE", HASH, "1"), ("PERSIST", HASH), ("XADD", STREAM, "0-*", "f", "bob"), ("XDEL", STREAM, "0-1"), ("XTRIM", STREAM, "MAXLEN", "0"), ("XSETID", STREAM, "0-99"),
    ("ZADD", ZSET, "0", "x"), ("ZREM", ZSET, "x"), ("RENAME", HASH, "rc1:{a}:stolen"), ("RENAME", "rc1:{a}:x", HASH), ("RENAMENX", HASH, "rc1:{a}:stolen"),
    ("COPY", HASH, "rc1:{a}:stolen"), ("COPY", HASH, "rc1:{a}:stolen", "DB", "1"), ("MOVE", HASH, "1"), ("RESTORE", B + "x", "0", "x"), ("MIGRATE", "127.0.0.1", "1", HASH, "0", "1"),
    ("SORT", "rc1:{a}:x", "STORE", B + "x"), ("ZRANGESTORE", "rc1:{a}:x", ZSET, "0", "-1"), ("SUNIONSTORE", "rc1:{a}:x", B + "x"), ("APPEND", B + "x", "1"), ("SETRANGE", B + "x", "0", "1"),
    ("PFADD", B + "x", "1"), ("BITOP", "NOT", B + "x", B + "x"), ("GETSET", B + "x", "1"), ("GETDEL", B + "x"), ("LPUSH", B + "x", "1"), ("SADD", B + "x", "1"),
    # rings and ears
    ("SPUBLISH", BELL, "message dock"), ("PUBLISH", BELL, "x"), ("SSUBSCRIBE", BELL), ("SUBSCRIBE", BELL), ("PSUBSCRIBE", "*"), ("PSUBSCRIBE", B + "*"), ("SSUBSCRIBE", B + "ear:bob"),
    ("MONITOR",), ("SYNC",), ("PSYNC", "?", "-1"), ("REPLCONF", "listening-port", "1"),
    # scripts
    ("EVAL", GET.format("KEYS[1]"), "1", HASH), ("EVAL", GET.format(f'"{HASH}"'), "0"), ("EVAL", GET.format("ARGV[1]"), "0", HASH), ("EVAL", SET.format("KEYS[1]"), "1", HASH),
    ("EVAL", SET.format(f'"{HASH}"'), "0"), ("EVAL", SET.format("ARGV[1]"), "1", "rc1:{a}:x", HASH), ("EVAL", RING.format("KEYS[1]"), "1", BELL), ("EVAL", RING.format("ARGV[1]"), "0", BELL),
    ("EVAL", 'return redis.call("KEYS", "*")', "0"), ("EVAL", 'return redis.call("SCAN", "0")', "0"), ("EVAL", 'return redis.call("RANDOMKEY")', "0"), ("EVAL", 'return redis.call("ACL", "LIST")', "0"),
    ("EVAL", 'return redis.call("PUBSUB", "SHARDCHANNELS")', "0"), ("EVAL", 'return redis.call("CONFIG", "GET", "*")', "0"), ("EVAL", 'return redis.call("SELECT", "1")', "0"),
    ("EVAL", f'local got = redis.pcall("HGETALL", "{HASH}") return got', "0"), ("EVAL", f'return redis.call("RENAME", "{HASH}", "rc1:{{a}}:x")', "0"),
    ("EVAL", 'string.rep = function() return "x" end', "0"), ("EVAL", 'getmetatable("").__index = function() return 1 end', "0"), ("EVAL", "redis.call = nil", "0"),
    ("EVAL", "setmetatable(_G, {})", "0"), ("EVAL", "return loadfile('/etc/passwd')()", "0"), ("EVAL", "return io.open('/etc/passwd'):read()", "0"),
    ("EVAL_RO", GET.format("KEYS[1]"), "1", HASH), ("EVALSHA_RO", "0" * 40, "1", HASH), ("EVALSHA", script("task_look").sha, "4", B + "heads", B + "ch:dock:tasks", B + "ch:dock:texts", B + "ch:dock:links", "dock"),
    ("EVAL", script("message_look").text, "2", B + "heads", B + "marks:bob", "bob", "any", "", ""), ("FCALL", "f", "1", HASH), ("FCALL_RO", "f", "1", HASH),
    ("FUNCTION", "LIST"), ("FUNCTION", "DUMP"), ("FUNCTION", "LOAD", "#!lua name=x\nredis.register_function('f', function() end)"), ("FUNCTION", "FLUSH"), ("SCRIPT", "FLUSH"), ("SCRIPT", "KILL"),
    ("SCRIPT", "LOAD", "return 1"), ("SCRIPT", "EXISTS", "0" * 40), ("SCRIPT", "DEBUG", "YES"),
    # the server
    ("CONFIG", "GET", "*"), ("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "REWRITE"), ("CONFIG", "RESETSTAT"), ("ACL", "LIST"), ("ACL", "USERS"), ("ACL", "GETUSER", "bob"), ("ACL", "GETUSER", "amy"),
    ("ACL", "SETUSER", "amy", "~*"), ("ACL", "SETUSER", "new", "on", "nopass", "~*", "+@all"), ("ACL", "DELUSER", "bob"), ("ACL", "LOG"), ("ACL", "SAVE"), ("ACL", "LOAD"), ("ACL", "DRYRUN", "bob", "GET", "x"),
    ("DEBUG", "OBJECT", HASH), ("DEBUG", "SLEEP", "0"), ("DEBUG", "RELOAD"), ("SELECT", "1"), ("SWAPDB", "0", "1"), ("FLUSHALL",), ("FLUSHDB",), ("SHUTDOWN", "NOSAVE"), ("REPLICAOF", "127.0.0.1", "1"),
    ("SLAVEOF", "NO", "ONE"), ("FAILOVER",), ("SAVE",), ("BGSAVE",), ("BGREWRITEAOF",), ("LASTSAVE",), ("SLOWLOG", "GET"), ("LATENCY", "LATEST"), ("LATENCY", "HISTOGRAM"), ("MODULE", "LIST"),
    ("MODULE", "LOAD", "/tmp/x.so"), ("COMMAND", "COUNT"), ("CLUSTER", "NODES"), ("CLUSTER", "INFO"), ("CLUSTER", "KEYSLOT", HASH), ("CLUSTER", "GETKEYSINSLOT", "0", "9"), ("MEMORY", "STATS"), ("MEMORY", "DOCTOR"),
    ("LOLWUT",), ("READONLY",), ("ASKING",), ("MULTI",), ("EXEC",), ("AUTH", "default", ""), ("AUTH", "bob", "guess"), ("HELLO", "2", "AUTH", "bob", "guess"),
]  # fmt: skip

LOCAL = {  # verbs that ask no broker, or one of their own; or that act on files, and ask the broker as setup does; or nothing before Slack's token is there
    "install", "uninstall", "fingerprint", "event schema", "server", "waker", "plugin", "mcp", "bridge slack", "demo", "bench", "guard install", "guard uninstall", "guard check", "teardown", "reload",
}  # fmt: skip


@pytest.fixture(scope="module", params=BOTH)
def town(request):
    with pytest.MonkeyPatch.context() as patch, team_town(request.param) as place:
        patch.setenv("REDISCHAT_STATE", place.state)
        yield place


@pytest.fixture(scope="module")
def bob(town):
    """Somebody of workspace b, with something of everything there."""
    bob = hired(town, "bob", workspace="b")
    bob("identify", "bob")
    bob("open", "dock", "--topic", SECRET)
    bob("say", "dock", SECRET)
    bob("task", "create", "dock", "--title", SECRET)
    bob("task", "claim", "dock", "T-1")
    bob("claim", "dock", SECRET)
    bob("lock", "dock", SECRET, "--repo", "r")
    bob("event", "post", "dock", "--type", "status", "--harness", "h", "--status", "idle", "--detail", SECRET)
    return bob


@pytest.fixture(scope="module")
def amy(town, bob):  # noqa: ARG001 - there is something to get
    """Somebody of workspace a, as variables of a shell."""
    amy = hired(town, "amy", workspace="a")
    amy("identify", "amy")
    amy("open", "dock")
    return amy


@pytest.fixture
def line(town, amy):
    _, _, login = amy.env["REDISCHAT_URL"].partition("://")
    line = town.server.line("amy", login.partition(":")[2].partition("@")[0])
    yield line
    line.close()


@pytest.fixture
def ears(town, bob):
    """A doorbell of bob's that anybody's ring would be heard at."""
    _, _, login = bob.env["REDISCHAT_URL"].partition("://")
    ears = town.server.line("bob", login.partition(":")[2].partition("@")[0]).pubsub()
    ears.ssubscribe(BELL, B + "room:dock", B + "live:dock", B + "ear:bob")
    for _ in range(4):
        assert ears.get_message(timeout=5)["type"] == "ssubscribe"
    yield ears
    ears.close()


def without(words, *flags):
    """``words`` but for these flags and their values."""
    return [word for before, word in zip(["", *words], words, strict=False) if word not in flags and before not in flags]


def everything(town):
    return town.server.everything(), town.server.ask("ACL", "LIST"), town.server.ask("CONFIG", "GET", "maxmemory")


def test_a_raw_command_gets_nothing_of_another_workspace(town, line, ears):
    assert len(RAW) >= 60
    before = everything(town)
    for words in RAW:
        got = line.ask(*words)
        assert isinstance(got, Exception), (words, got)
        assert SECRET not in str(got), (words, got)
        line.close()
        assert everything(town) == before, words
        assert ears.get_message(timeout=0) is None, words
    assert line.ask("ACL", "WHOAMI") == "amy"


def test_whether_something_is_there_cannot_be_told_from_the_refusal(line):
    for command in ("GET", "HGETALL", "XLEN", "EXISTS", "DEL", "ZCARD", "SSUBSCRIBE"):
        there, not_there = line.ask(command, HASH), line.ask(command, B + "nothing")
        assert isinstance(there, Exception)
        assert str(there) == str(not_there), command


def test_a_verb_gets_nothing_of_another_workspace(town, amy):
    directory = os.path.join(town.root, "examples")
    os.makedirs(os.path.join(directory, "agent-chat", "review"))
    for name in ("rules.md", "note.md"):
        with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
            file.write("text")
    before = everything(town)
    for name, verb in VERBS.items():
        if name in LOCAL:
            continue
        words = [*without(shlex.split(verb.example)[1:], "--as", "--from", "--workspace"), "--workspace", "b"]
        done = amy(*words, code=None, env={"REDISCHAT_AGENT": "amy"}, cwd=directory)
        assert SECRET not in done.out + done.err, done
        assert "bob" not in done.out + done.err, done
        assert done.code in ({1, 5} if name in ("doctor", "setup", "import") or name.startswith("admin") else {5}), done
        assert everything(town) == before, done


def test_a_user_sees_its_own_workspace_alone(town, amy, bob):
    assert amy("workspaces").lines == ["a  (this one)"]
    assert bob("workspaces").lines == ["b  (this one)"]
    new = hired(town, "carl", workspace="c")
    assert "no workspace has a channel yet" in new("workspaces").err
    assert amy("workspaces", "--workspace", "b", code=5).error == "BROKER_NOT_ALLOWED"


def test_an_observer_of_one_workspace_gets_nothing_of_another(town, bob):  # noqa: ARG001 - there is something to get
    keeper = town.person("keeper")
    given = handed_over(keeper("admin", "user", "add", "eve", "--observer", "--workspace", "a"))
    eve = town.server.line("eve", given["REDISCHAT_URL"].partition("eve:")[2].partition("@")[0])
    before = everything(town)
    for words in RAW:
        got = eve.ask(*words)
        assert isinstance(got, Exception), (words, got)
        assert SECRET not in str(got), (words, got)
        eve.close()
        assert everything(town) == before, words
    for words in (("SSUBSCRIBE", "rc1:{a}:ear:amy"), ("SPUBLISH", "rc1:{a}:bell:amy", "x"), ("HSET", "rc1:{a}:agents", "x", "y"), ("EVAL", "return 1", "0")):
        assert isinstance(eve.ask(*words), Exception), words
    eve.close()
