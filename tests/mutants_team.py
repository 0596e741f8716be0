"""Breaks of a team's broker: rights, users, durability. Judged by mutants.py; a row is (name, file, old, new, tests...)."""

from __future__ import annotations

ISOLATION, USERS, RIGHTS = "tests/test_isolation.py::", "tests/test_users.py::", "tests/test_rights.py::"
EVERYWHERE = "tests/races/test_users_everywhere.py::"

TEAM: list[tuple[str, ...]] = [
    ("users may list keys", "redischat/calls/users.py", '"zscore", "exists",', '"zscore", "scan", "exists",', f"{ISOLATION}test_a_raw_command_gets_nothing_of_another_workspace[valkey]"),
    ("users reach every workspace", "redischat/calls/users.py", 'else f"~{keys.prefix}*"', 'else "~*"', f"{ISOLATION}test_a_verb_gets_nothing_of_another_workspace[valkey]"),
    ("users hear every workspace", "redischat/calls/users.py", 'else [f"&{keys.prefix}*"]', 'else ["&*"]', f"{ISOLATION}test_a_raw_command_gets_nothing_of_another_workspace[valkey]"),
    ("an observer may write keys", "redischat/calls/users.py", 'f"%R~{keys.prefix}*" if observer', 'f"~{keys.prefix}*" if observer', f"{RIGHTS}test_a_server_takes_every_word_of_the_rights[valkey-True]"),
    ("an old password goes on", "redischat/calls/users.py", '("resetpass", *passwords)', "passwords", f"{USERS}test_a_new_password_ends_the_sessions_of_the_old_one[valkey]"),
    ("a rotated user's sessions go on", "redischat/flows/users.py", "    return (yield from _asked(users.end(name))) if ends else 0\n", "    return 1\n", f"{USERS}test_a_new_password_ends_the_sessions_of_the_old_one[valkey]"),
    ("another workspace's user is revoked", "redischat/flows/users.py", 'mine = found and found["workspace"] == keys.workspace.lower() if any_ else', "mine = found if any_ else", f"{USERS}test_users_of_others_are_left_alone[valkey]"),
    ("users are of the masters only", "redischat/flows/users.py", "    done = yield Everywhere(at, replicas=True)\n", "    done = yield Everywhere(at)\n", f"{EVERYWHERE}test_a_user_is_on_every_server_with_one_password_and_off_every_one[cluster-valkey-command]"),
    ("a replica that is down is overlooked", "redischat/wire/way.py", "role, _watched(route))", "role)", f"{EVERYWHERE}test_nobody_comes_back_from_a_server_that_missed_a_revoke[valkey]"),
    ("a revoked user comes back with an old server", "redischat/flows/users.py", "_sent([off, users.end(name)]))", "_sent([users.drop(name)]))", f"{EVERYWHERE}test_nobody_comes_back_from_a_server_that_missed_a_revoke[valkey]"),
    ("a stray user is spread", "redischat/flows/users.py", "replicas=True)), led=bool(led))", "replicas=True)), led=True)", f"{EVERYWHERE}test_one_that_is_left_on_a_replica_alone_is_a_stray_and_gets_nobody_in"),
    ("an observer is not asked to only look", "redischat/calls/call.py", 'elif answer.startswith("NOPERM") and self.script.reads', "elif False and self.script.reads", f"{USERS}test_an_observer_sees_all_of_its_workspace[valkey]"),
    ("too few copies count", "redischat/flows/durable.py", "got[1] < copies.replicas:", "False:", "tests/races/test_durable.py::test_too_few_copies_are_a_refusal_that_says_what_is_stored[valkey]"),
    ("a lock that is not safe enough stays held", "redischat/aio/blocks.py", "    await settled(back())\n", "    error.facts.update(done=False, given_back=True)\n", "tests/races/test_durable_clients.py::test_a_lock_that_is_not_safe_enough_is_not_held_by_nobodys_block[aio]"),
    ("a gather asks for no copies", "redischat/aio/orchestration.py", "self._wrapped(flow), Gathered", "flow, Gathered", "tests/races/test_durable_clients.py::test_a_gather_is_refused_before_it_waits_and_goes_on_under_its_name[aio]"),
    ("a question is waited on whatever copies there are", "redischat/flows/durable.py", "        if self._key:\n", "        if False:\n", "tests/races/test_durable_clients.py::test_a_question_with_too_few_copies_is_not_waited_on_and_its_answer_is_found_by_its_key[aio]"),
    ("marks wait for copies", "redischat/flows/durable.py", "and not call.script.name.startswith(FLEETING)", "", "tests/races/test_durable.py::test_what_is_refused_is_refused_as_ever_and_a_look_waits_for_nothing[valkey]"),
    ("what cannot be promised is done all the same", "redischat/flows/durable.py", "                able = able or (yield from _able(copies))\n", "                able = True\n", "tests/races/test_durable.py::test_a_promise_that_the_server_cannot_keep_is_refused_before_anything_is_done[valkey]"),
    ("default has no rights in the box", "docker-compose.yml", "user default off ~* &* +@all", "user default off", "tests/test_box.py::test_the_users_are_made_once_and_talk[redis]"),
    ("another format is read all the same", "redischat/flows/format.py", "if isinstance(written, str) and written != FORMAT:", "if False:", "tests/test_format.py::test_every_verb_refuses_a_workspace_of_another_format"),
    ("another format is written all the same", "scripts/prelude.lua", 'if WRITTEN and WRITTEN ~= "1" then', "if false then", "tests/test_format.py::test_every_verb_refuses_a_workspace_of_another_format"),
    ("a repository chooses the broker", "redischat/settings/__init__.py", "if not url or given or", "if True or", "tests/test_hostile.py::test_a_repository_that_brings_an_address_is_not_followed"),
    ("counting who listens wakes them", "redischat/wire/__init__.py", 'if kind == "smessage" and payload != PROBE:', 'if kind == "smessage":', "tests/test_users.py::test_being_counted_wakes_nobody"),
]  # fmt: skip
