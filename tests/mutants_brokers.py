"""Breaks of the ways to brokers of several servers and to those with TLS, as rows of :class:`mutants.Mutant`: name, file, old, new, tests."""

from __future__ import annotations

PLACES, BROKERS, MOVING, DOORS = "tests/test_places.py::", "tests/races/test_brokers.py::", "tests/races/test_moving.py::", "tests/races/test_doors.py::"

BROKER = [
    ("MOVED is not remembered", "redischat/route.py", "            self.home = moved\n", "", f"{BROKERS}test_every_verb_works_over_every_carrier[cluster-valkey-command]"),
    ("a master by hearsay", "redischat/route.py", 'if isinstance(role, (list, tuple)) and role[0] != "master":', "if False:",
     f"{PLACES}test_a_route_by_sentinels_knows_nobody_until_a_master_says_that_it_is_one"),
    ("a dead server is tried first", "redischat/route.py", "        self._shut[node] = self._fails\n", "", f"{PLACES}test_a_server_that_does_not_answer_is_tried_last"),
    ("a key on its way is asked for without ASKING", "redischat/wire/line.py", 'for one in (("ASKING",), call)]', 'for one in (("PING",), call)]',
     f"{MOVING}test_a_key_that_is_on_its_way_is_asked_for_where_it_is[command-valkey]"),
    ("the host's name is not checked", "redischat/wire/tls.py", '    what = f"ca={place.ca}"\n', '    context.check_hostname = False\n    what = f"ca={place.ca}"\n',
     f"{BROKERS}test_a_certificate_of_another_host_is_refused[command]"),
    ("one master has all workspaces", "redischat/wire/__init__.py", 'if not asked.replicas and self._place.kind != "cluster":', "if not asked.replicas:",
     f"{BROKERS}test_all_workspaces_are_found_wherever_they_lie[cluster-valkey-command]"),
    ("the door takes any script", "redischat/waker/door.py", "words[1:2] == [self._script.sha]", "True", f"{DOORS}test_the_door_takes_one_question_only[cluster]"),
    ("a session's file holds the password", "redischat/hook/doors.py", '"url": place.shown, "door"', '"url": settings.url, "door"',
     f"{DOORS}test_a_hook_asks_through_the_door_and_no_session_file_holds_a_password[tls]"),
]  # fmt: skip
