"""Breaks of tasks, claims, path locks, their line, events and state, as rows of :class:`mutants.Mutant`: name, file, old, new, tests."""

from __future__ import annotations

FAKE = "[sync-fake]"
LEASES, TASKS, CLAIMS = "tests/test_leases.py::", "tests/test_tasks.py::", "tests/test_claims.py::"
LOCKS, EVENTS, STATE, CASES = "tests/test_locks.py::", "tests/test_events.py::", "tests/test_state.py::", "tests/test_coordination_cases.py::"
MODEL = "tests/test_coordination_property.py::test_whatever_is_done_the_broker_holds_what_its_model_holds[fake]"
LINE = "tests/test_lock_line.py::test_the_line_does_what_its_model_does[fake-0]"
FOLDERS = LOCKS + "test_a_folder_and_what_is_in_it_go_together_both_ways"

BOARD = [
    ("an old token of a task is taken", "scripts/parts/fence.lua", 'if fence == "" or tonumber(fence) == t.token then return nil end', "if true then return nil end", MODEL),
    ("a recovered task keeps its token", "scripts/parts/lease.lua", 'if how ~= "renewed" then token =', 'if how == "claimed" then token =',
     f"{LEASES}test_an_old_token_is_refused{FAKE}"),
    ("what is over keeps its lease", "scripts/task_move.lua", "if under then let_go(keys, channel, id, t) end\n", "",
     f"{LEASES}test_an_end_frees_the_task_and_every_index_of_its_lease{FAKE}"),
    ("an ended lease stays in an index", "scripts/parts/lease.lua", '    redis.call("HDEL", keys.leased, channel .. " " .. id)\n', "",
     f"{LEASES}test_an_end_frees_the_task_and_every_index_of_its_lease{FAKE}"),
    ("a task is claimed before what it depends on is done", "scripts/task_claim.lua", 'if waits ~= "" then', "if false then", MODEL),
    ("dependencies may go in a circle", "scripts/task_update.lua", "if circle then", "if false then",
     f"{TASKS}test_dependencies_exist_and_never_go_in_a_circle{FAKE}"),
    ("what depends on it is not freed", "scripts/parts/board.lua", "if t and keep_task(tasks, ready, other, t) then", "if false then",
     f"{TASKS}test_a_task_can_be_started_once_all_that_it_depends_on_is_done{FAKE}"),
    ("next takes what is meant for others", "scripts/task_next.lua", '(t.owner == "-" or is_mine(t, me))', "true", MODEL),
    ("tasks have no age", "scripts/task_create.lua", '"tasks", number, "task_ids", auto)', '"tasks", 0, "task_ids", auto)', MODEL),
    ("the same key makes two tasks", "scripts/task_create.lua", "if past then return past end\n", "", f"{TASKS}test_the_same_key_makes_one_task{FAKE}"),
    ("a lapsed lease is stolen silently", "scripts/task_claim.lua", 'if steal ~= "1" then', "if false then",
     f"{LEASES}test_a_lease_that_ran_out_is_stolen_by_nobody{FAKE}"),
    ("a live lease is recovered", "scripts/task_claim.lua", 'if not lapsed(t) then return {"lease_not_expired"', 'if false then return {"lease_not_expired"',
     f"{LEASES}test_a_recovery_records_whose_it_was_until_when_and_why{FAKE}"),
    ("anybody renews a lease", "scripts/task_claim.lua", 'return foreign(t, name, me) or taken("renewed")', 'return taken("renewed")',
     f"{LEASES}test_only_the_holder_renews_releases_ends_or_changes_it{FAKE}"),
    ("a lapse is told at every look", "scripts/task_notice.lua", 't.lapsed == "-" and ', "", MODEL),
    ("a claim is written before its audit", "scripts/claim_take.lua", "local _, failure = audit(",
     'redis.call("HSET", claims, key, table.concat({written, display, since, ends, fence, note}, " "))\nlocal _, failure = audit(',
     f"{CASES}test_a_board_whose_audits_a_stranger_ended_changes_nothing_says_so_and_is_mended"),
    ("an audit that fails is a crash", "scripts/parts/audit.lua", 'redis.pcall("XADD"', 'redis.call("XADD"',
     f"{CASES}test_a_board_whose_audits_a_stranger_ended_changes_nothing_says_so_and_is_mended"),
    ("a lapsed claim is anybody's", "scripts/claim_take.lua", 'elseif lapsed and steal == "1" then', "elseif lapsed then",
     f"{CLAIMS}test_a_lease_that_ran_out_stays_until_it_is_taken_over_on_purpose{FAKE}"),
    ("anybody gives a claim back", "scripts/claim_drop.lua", "if not owner or string.lower(owner) ~= me then", "if not owner then",
     f"{CLAIMS}test_a_claim_is_given_back_by_its_owner{FAKE}"),
]  # fmt: skip

PATHS = [
    ("readers do not share", "scripts/parts/held.lua", 'return one == "x" or other == "x"', "return true", MODEL),
    ("writers share", "scripts/parts/held.lua", 'return one == "x" or other == "x"', 'return one == "x" and other == "x"',
     f"{LOCKS}test_readers_share_and_a_writer_waits_for_them{FAKE}"),
    ("what lies in a folder is not looked at", "scripts/parts/held.lua", "if #page > 0 then look(path, page) from", "if #page > 0 then from", f"{FOLDERS}[sync-fake-src/a.py-src]"),
    ("the folders above are not looked at", "scripts/parts/held.lua", "look(path, chain)", "look(path, {path})", f"{FOLDERS}[sync-fake-src-src/a.py]"),
    ("a name that begins alike is in the folder", "scripts/parts/held.lua", '"[" .. path .. "/", nil', '"[" .. path, nil',
     f"{LOCKS}test_names_that_only_begin_alike_do_not_meet[sync-fake-a b-a]"),
    ("my own lock is in my way", "scripts/parts/held.lua", "h.owner ~= owner and ", "", MODEL),
    ("a lapsed lock is stolen silently", "scripts/path_lock.lua", 'local lapsed = patience == "" and ', "local lapsed = false and ",
     f"{LOCKS}test_what_ran_out_still_blocks_until_it_is_recovered_by_name{FAKE}"),
    ("a recovered lock keeps its token", "scripts/path_recover.lua", '(tonumber(redis.call("HGET", meta, "token")) or 0) + 1', "tonumber(one.token)",
     f"{LOCKS}test_what_ran_out_still_blocks_until_it_is_recovered_by_name{FAKE}"),
    ("a lock passes on while a part of it lives", "scripts/path_recover.lua", "if last > NOW_MS", "if one.ends > NOW_MS",
     f"{CASES}test_a_lock_of_which_one_path_was_renewed_passes_on_to_nobody_but_path_by_path"),
    ("whoever holds it is not told apart in unlock", "scripts/parts/named.lua", "elseif other then\n", "elseif false then\n", MODEL),
    ("an old token renews a lock", "scripts/path_renew.lua", 'if fence ~= "" and h.token ~= fence then', "if false then",
     f"{LOCKS}test_tokens_rise_for_ever_and_an_old_one_is_told_so{FAKE}"),
    ("any token passes a check", "redischat/flows/paths.py", 'if any(one["token"] == token for one in over):', "if over or True:",
     f"{LOCKS}test_tokens_rise_for_ever_and_an_old_one_is_told_so{FAKE}"),
    ("a renewal may shorten a lock", "scripts/path_renew.lua", "mine.ends = math.max(mine.ends, ends)", "mine.ends = ends",
     f"{CASES}test_guard_03_a_lock_is_held_for_its_whole_time_whatever_its_holder_goes_through"),
    ("an exclusive lock that ran out is a right all the same", "scripts/parts/lock.lua", "lives and clash(", "clash(",
     f"{CASES}test_an_exclusive_lock_that_ran_out_is_no_right_once_others_read_there{FAKE}"),
    ("who died in line stands in the way", "scripts/path_lock.lua", "if #mine.ahead > 0 and strike_out(id) then", "if false then",
     LINE),
    ("claiming again shortens", "scripts/task_claim.lua", "math.max(tonumber(ttl), t.expires - NOW_MS)", "ttl",
     f"{LEASES}test_claiming_again_never_shortens{FAKE}"),
    ("a key is used for another request", "scripts/parts/request.lua", 'or {"other"}', 'or {"again", string.match(past, "\\30(.*)$")}',
     f"{LEASES}test_a_key_that_comes_again_with_another_request_is_refused{FAKE}"),
    ("a free path is taken past the line", "scripts/path_lock.lua", "is_asked(paths)\n", "false\n", LINE),
    ("an offer never ends", "scripts/parts/held.lua", '(request == "-" or tonumber(ends) > NOW_MS)', "true",
     f"{LOCKS}test_what_is_offered_to_one_in_line_is_kept_for_it_until_the_offer_ends{FAKE}"),
    ("what nobody hears is given all the same", "scripts/parts/serve.lua", '"granted") == 0 then', '"granted") < 0 then', LINE.replace("-0]", "-4]")),
    ("the dead are not struck out", "scripts/parts/line.lua", '"SHARDNUMSUB", door)[2]) == 0', '"SHARDNUMSUB", door)[2]) == -1', LINE),
    ("an unlock serves nobody", "scripts/path_unlock.lua", "if is_asked(freed) then serve() end\n", "", LINE),
    ("a wait that never ends is let in", "scripts/parts/enter.lua", "local hard = found and circle(rows, stuck, mine.owner, false)", "local hard = false", LINE),
    ("fairness makes a circle", "scripts/parts/survey.lua", "if not way(stuck, e.owner, w.owner) then", "if true then", LINE),
]  # fmt: skip

TOLD = [
    ("an event's mark does not rise", "scripts/event_ack.lua", "if tonumber(to) > at then", "if false then", f"{EVENTS}test_new_gives_each_event_once_to_each_agent{FAKE}"),
    ("an event's mark rises over what was left out", "redischat/flows/events.py", "self.at > self.marked or ", "", f"{EVENTS}test_a_mark_does_not_rise_over_what_was_left_out{FAKE}"),
    ("an event's mark rises before it is shown", "redischat/flows/events.py", "    yield Show(shown, [one", "    if ack is not None:\n        yield ack\n    yield Show(shown, [one",
     f"{EVENTS}test_what_could_not_be_shown_stays_new"),
    ("an event's key stands for any event", "scripts/event_post.lua", 'if entry and entry[2][12] ~= body then return {"other", n} end', "",
     f"{EVENTS}test_a_retry_is_one_event_and_a_key_means_one_event{FAKE}"),
    ("an earlier channel's mark counts", "redischat/flows/events.py", "for n, epoch in found if epoch == place[0]", "for n, epoch in found",
     f"{EVENTS}test_what_was_read_of_an_earlier_channel_is_not_held_against_the_next{FAKE}"),
    ("what is over is an open task", "redischat/flows/summary.py", 'for one in tasks if one["status"] not in _OVER]', "for one in tasks]",
     f"{STATE}test_tasks_are_open_blockers_owned_and_verification_by_who_finished_them{FAKE}"),
    ("a compact says it again and again", "redischat/flows/state.py", 'if before and before[0]["body"] == text:', "if False:",
     f"{STATE}test_compacting_says_it_once_wakes_nobody_and_newcomers_read_from_there{FAKE}"),
]  # fmt: skip

COORDINATION: list[tuple[str, ...]] = [*BOARD, *PATHS, *TOLD]
