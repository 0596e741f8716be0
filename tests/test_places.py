"""A broker's URL, taken apart, and where a workspace is asked at a broker of several servers: no server is needed for either."""

from __future__ import annotations

import pytest

from redischat.errors import Usage
from redischat.errors.broker import NoService
from redischat.route import Route
from redischat.settings import Place, redacted

A, B, C = ("a", 6379), ("b", 6379), ("c", 7000)


def test_a_plain_url_names_a_server():
    place = Place("redis://amy:p%40ss@host:7000/3")
    assert (place.node, place.user, place.password, place.database, place.kind, place.tls) == (("host", 7000), "amy", "p@ss", 3, "", False)


def test_a_tls_url_names_files():
    place = Place("rediss://:pw@[::1]?ca=/a/ca.pem&cert=/a/c%20d.pem&key=/a/k.pem&db=2")
    assert (place.node, place.tls, place.ca, place.cert, place.key, place.database) == (("::1", 6379), True, "/a/ca.pem", "/a/c d.pem", "/a/k.pem", 2)


def test_a_sentinel_url_names_sentinels_and_a_service():
    place = Place("redis+sentinel://amy:pw@a:1,b,[::1]:5/chat/4?sentinel_user=w&sentinel_password=x")
    assert (place.kind, place.service, place.database) == ("sentinel", "chat", 4)
    assert place.seeds == [("a", 1), ("b", 26379), ("::1", 5)]
    watcher, server = place.watcher(("a", 1)), place.at(("m", 9))
    assert (watcher.user, watcher.password, watcher.database, watcher.node) == ("w", "x", 0, ("a", 1))
    assert (server.user, server.password, server.database, server.node) == ("amy", "pw", 4, ("m", 9))


def test_a_cluster_url_names_some_nodes():
    place = Place("rediss+cluster://a,b,c:7000?ca=/ca.pem")
    assert (place.kind, place.seeds, place.tls, place.at(C).ca) == ("cluster", [A, B, C], True, "/ca.pem")


WRONG = (
    "http://h", "redis://", "redis://h:x", "redis://h:0", "redis://h:65536", "redis+sentinel://a:1", "redis+sentinel:///chat", "redis+cluster://a,,b", "redis+ring://a",
    "redis+://a", "unix://", "redis://h/x", "unix+cluster://a", "redis+sentinel://a/chat/x",
)  # fmt: skip
OPTIONS = {
    "redis://h?ca=/x": "'ca'", "redis://h?timeout=3": "'timeout'", "redis+cluster://a?sentinel_password=x": "'sentinel_password'", "unix:///s?cert=x": "'cert'",
    "rediss://h?ca=/x&verify=no": "'verify'",
}  # fmt: skip


@pytest.mark.parametrize("url", WRONG)
def test_what_is_no_broker_url_is_refused_with_all_forms(url):
    with pytest.raises(Usage) as refused:
        Place(url)
    for form in ("redis://", "unix://", "redis+sentinel://", "redis+cluster://", "rediss://"):
        assert form in str(refused.value.sentence())
    assert "\n" not in refused.value.sentence()


@pytest.mark.parametrize(("url", "name"), OPTIONS.items())
def test_an_option_that_there_is_not_is_refused_by_name(url, name):
    with pytest.raises(Usage) as refused:
        Place(url)
    assert name in refused.value.sentence()


@pytest.mark.parametrize("url", ["redis+cluster://a/2", "redis+cluster://a?db=1"])
def test_a_cluster_has_no_other_database(url):
    with pytest.raises(Usage):
        Place(url)
    assert Place("redis+cluster://a/0").database == 0


def test_a_key_without_its_certificate_is_refused():
    with pytest.raises(Usage):
        Place("rediss://h?key=/k.pem")


SECRET = "hunter2"
SECRETS = (
    f"redis+sentinel://amy:{SECRET}@a:1,b:2/chat", f"redis+sentinel://a:1/chat?sentinel_password={SECRET}", f"redis+cluster://:{SECRET}@a,b", f"redis+cluster://:{SECRET},x@a",
    f"redis+cluster://a:1,b:{SECRET}", f"redis+cluster://a:{SECRET},b", f"redis+sentinel://u:x,{SECRET}/chat", f"redis+cluster://u:x,{SECRET}:y", f"redis://h?password={SECRET}",
    f"rediss://h?ca=/x&sentinel_user=u&sentinel_password={SECRET}", f"rediss+cluster://{SECRET}@a",
)  # fmt: skip


@pytest.mark.parametrize("url", SECRETS)
def test_a_password_is_shown_nowhere(url):
    assert SECRET not in redacted(url)
    assert redacted(redacted(url)) == redacted(url)
    said = ""
    try:
        said = Place(url).shown
    except Usage as refused:
        said = refused.sentence()
    assert said
    assert SECRET not in said


def nodes(places):
    return [place.node for place in places]


def test_a_route_tries_the_seeds_and_follows_moved():
    route = Route(Place("redis+cluster://a,b"))
    assert nodes(route.doors()) == [A, B]
    assert route.heed("MOVED 3999 c:7000", A)
    assert nodes(route.doors()) == [C, A, B]
    route.well(C)
    assert (route.home, route.alive) == (C, False)


def test_a_server_that_does_not_answer_is_tried_last():
    route = Route(Place("redis+cluster://a,b"))
    route.heed("MOVED 3999 c:7000", A)
    route.lost(C)
    assert nodes(route.doors()) == [A, B, C]
    route.lost(A)
    assert nodes(route.doors()) == [B, C, A]
    route.well(A)
    assert nodes(route.doors())[0] == A


def test_moved_to_where_it_came_from_is_no_way_on():
    route = Route(Place("redis+cluster://a,b"))
    assert not route.heed("MOVED 3999 a:6379", A)
    assert not route.heed("MOVED 3999", A)


@pytest.mark.parametrize(
    ("said", "node"),
    [("MOVED 1 :7000", ("a", 7000)), ("MOVED 1 ?:7000", ("a", 7000)), ("MOVED 1 [::1]:7000", ("::1", 7000)), ("MOVED 1 ::1:7000", ("::1", 7000))],
)
def test_an_address_without_a_host_is_on_the_same_host(said, node):
    route = Route(Place("redis+cluster://a,b"))
    route.heed(said, A)
    assert route.home == node


def test_ask_leads_astray_once_only():
    route = Route(Place("redis+cluster://a,b"))
    found = route.asking("ASK 1 c:7000", A)
    assert found is not None
    assert found.node == C
    assert route.asking("MOVED 1 c:7000", A) is None
    assert not route.heed("ASK 1 c:7000", A)
    assert nodes(route.doors()) == [A, B]


@pytest.mark.parametrize(
    "said", ["CLUSTERDOWN The cluster is down", "MASTERDOWN Link with MASTER is down", "READONLY You can't write against a read only replica."]
)
def test_who_cannot_now_is_alive_and_another_is_asked(said):
    route = Route(Place("redis+cluster://a,b"))
    route.well(A)
    route.heed(said, A)
    assert (nodes(route.doors()), route.alive) == ([B, A], True)


def test_a_route_by_sentinels_knows_nobody_until_a_master_says_that_it_is_one():
    route = Route(Place("redis+sentinel://a:6379,b:6379/chat"))
    assert route.doors() == []
    assert nodes(route.watchers()) == [A, B]
    assert route.question() == ("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "chat")
    found = route.master(["c", "7000"])
    assert not route.leads(found, ["slave", "x", 1, "connected", 0])
    assert route.doors() == []
    assert route.leads(found, ["master", 0, []])
    assert nodes(route.doors()) == [C]
    route.heed("READONLY You can't write against a read only replica.", C)
    assert route.doors() == []
    route.lost(A)
    assert nodes(route.watchers()) == [B, A]


def test_a_service_that_a_sentinel_does_not_know_is_refused():
    route = Route(Place("redis+sentinel://a/chat"))
    with pytest.raises(NoService):
        route.master(None)


def test_every_master_of_a_cluster_is_found_in_its_map_of_slots():
    route = Route(Place("redis+cluster://a,b"))
    slots = [[0, 5, ["a", 6379, "id"], ["r", 1, "id"]], [6, 9, ["", 7000, "id"]], [10, 11, ["a", 6379, "id"]]]
    assert nodes(route.masters(slots, A)) == [A, ("a", 7000)]


def test_every_node_of_a_cluster_is_found_by_the_address_that_its_clients_use():
    def shard(*rows):
        return [
            "slots",
            [0, 5],
            "nodes",
            [[word for pair in {"ip": "10.0.0.1", "endpoint": "10.0.0.1", "health": "online", **one}.items() for word in pair] for one in rows],
        ]

    shards = [
        shard({"port": 1}, {"port": 2, "tls-port": 3, "health": "fail"}),
        shard({"port": 4, "endpoint": "box"}, {"port": 5, "endpoint": "?"}, {"port": 6, "endpoint": ""}, {"tls-port": 7}),
    ]
    found = Route(Place("redis+cluster://u:p@a,b")).nodes(shards, A)
    assert nodes(found) == [("10.0.0.1", 1), ("10.0.0.1", 2), ("box", 4), ("10.0.0.1", 5), ("a", 6)]
    assert {(one.user, one.password) for one in found} == {("u", "p")}
    assert [one.shown for one in found][:2] == ["redis://10.0.0.1:1", "redis://10.0.0.1:2"]
    assert nodes(Route(Place("rediss+cluster://a?ca=/c")).nodes(shards, A)) == [("10.0.0.1", 3), ("10.0.0.1", 7)]


def test_a_pair_is_who_is_asked_and_all_whom_it_or_a_sentinel_knows():
    route, known = Route(Place("redis+sentinel://a/chat")), [["name", "b", "ip", "b", "port", "6379"], ["ip", "c", "port", "7000"], ["ip", "a", "port", "6379"]]
    assert nodes(route.pair(route.place.at(A), ["master", 1, [["b", "6379", "9"]]], known)) == [A, B, C]
    assert nodes(route.pair(route.place.at(A), ["slave", "b", 6379, "connected", 1])) == [A]
