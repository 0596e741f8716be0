"""Breaks of a team's broker: rights, users, durability. Judged by mutants.py; a row is (name, file, old, new, tests...)."""

from __future__ import annotations

ISOLATION, USERS, RIGHTS = "tests/test_isolation.py::", "tests/test_users.py::", "tests/test_rights.py::"

TEAM: list[tuple[str, ...]] = [
    ("users may list keys", "redischat/calls/users.py", '"zscore", "exists",', '"zscore", "scan", "exists",', f"{ISOLATION}test_a_raw_command_gets_nothing_of_another_workspace[valkey]"),
    ("users reach every workspace", "redischat/calls/users.py", 'else f"~{keys.prefix}*"', 'else "~*"', f"{ISOLATION}test_a_verb_gets_nothing_of_another_workspace[valkey]"),
    ("users hear every workspace", "redischat/calls/users.py", 'else f"&{keys.prefix}*"', 'else "&*"', f"{ISOLATION}test_a_raw_command_gets_nothing_of_another_workspace[valkey]"),
    ("an observer may write keys", "redischat/calls/users.py", 'f"%R~{keys.prefix}*" if observer', 'f"~{keys.prefix}*" if observer', f"{RIGHTS}test_a_server_takes_every_word_of_the_rights[valkey-True]"),
    ("an old password goes on", "redischat/calls/users.py", '*(("resetpass", f">{password}") if password else ())', '*((f">{password}",) if password else ())', f"{USERS}test_a_new_password_ends_the_sessions_of_the_old_one[valkey]"),
    ("a rotated user's sessions go on", "redischat/flows/users.py", "    ended = yield from _asked(users.end(name))\n", "    ended = 1\n", f"{USERS}test_a_new_password_ends_the_sessions_of_the_old_one[valkey]"),
    ("another workspace's user is revoked", "redischat/flows/users.py", 'if found is None or found["workspace"] != keys.workspace.lower():', "if found is None:", f"{USERS}test_users_of_others_are_left_alone[valkey]"),
    ("an observer is not asked to only look", "redischat/calls/call.py", 'elif answer.startswith("NOPERM") and self.script.reads', "elif False and self.script.reads", f"{USERS}test_an_observer_sees_all_of_its_workspace[valkey]"),
]  # fmt: skip
