-- End or change a task's work: done, block, release, fail (release and block in one), cancel, reopen. A lease ends with it; only its holder may, also after it ran out as long as nobody
-- recovered it. What depends on the task becomes ready, or is named.
-- Replies: {"ok", moved|already, name, id, status, late_ms (-1: in time), ready now (a,b), begun (a,b), waiting (a,b), attempt} {"again", reply}
-- {"not_you", ...} {"no_channel", channel} {"damaged", name} {"task_not_found", name, id} {"task_invalid_record", name, id}
-- {"task_invalid_transition", name, id, status, to} {"task_dependency_not_ready", name, id, waits for}
-- {"lease_recovery_required", name, id, holder, expires_ms} {"lease_owner_mismatch", name, id, holder, expires_ms}
-- {"lease_mutation_required", name, id} {"lease_stale_token", name, id, token, current, holder}
-- with: idem, agent, speak, head, stand, damage, audit, task, load, board, holder, foreign, fence, lease
local heads, agents, tasks, texts, links, ready, leases, leased, audits, idem, live, scratch = unpack(KEYS)
local channel, me, token, agent, keep, id, verb, fence, reason, result, bell = unpack(ARGV)
local keys = {leases = leases, leased = leased}
local TO = {done = "done", block = "blocked", release = "open", fail = "blocked", cancel = "cancelled", reopen = "open"}
local SAID = {done = "finished", block = "blocked", release = "gave back", fail = "failed at", cancel = "cancelled", reopen = "reopened"}

redis.call("DEL", scratch) -- settles: must work when memory is full
local past = again(idem)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local t, refusal = load_task(tasks, name, id)
if not t then return refusal end
local to, under, over = TO[verb], held(t), t.status == "done" or t.status == "cancelled"
local late = lapsed(t) and NOW_MS - t.expires or -1

if verb == "reopen" then
    if not over then return {"task_invalid_transition", name, t.id, t.status, to} end
else
    local no = outdated(t, name, fence) or foreign(t, name, me)
    if no then return no end
    if under and verb == "block" then return {"lease_mutation_required", name, t.id} end
    local same = reason == "" or redis.call("HGET", texts, id .. " reason") == reason
    if t.status == to and not under and same then return remember(idem, keep, {"ok", "already", name, t.id, to, -1, "", "", "", t.attempt}) end
    if t.status ~= to and not goes(t.status, to) then return {"task_invalid_transition", name, t.id, t.status, to} end
    local waits = to == "done" and unmet(tasks, parted(t.deps)) or ""
    if waits ~= "" then return {"task_dependency_not_ready", name, t.id, waits} end
end
local attempt = t.attempt + ((verb == "reopen" or ((verb == "release" or verb == "fail") and t.status == "in_progress")) and 1 or 0)
local event = under and verb == "done" and "lease.completed" or under and (verb == "release" or verb == "fail") and "lease.released" or "task.updated"
local text = SAID[verb] .. " " .. t.id .. (reason ~= "" and ": " .. reason or "") .. (late >= 0 and " (" .. seconds(late) .. " after the lease had run out)" or "")
local begun_before = verb == "reopen" and {} or nil
if begun_before then
    for _, other in ipairs(parted(redis.call("HGET", links, id) or "-")) do
        local o = task_of(redis.call("HGET", tasks, other) or "")
        if o and (o.status == "in_progress" or o.status == "done") then table.insert(begun_before, o.id) end
    end
    if #begun_before > 0 then text = text .. "; begun on its result: " .. table.concat(begun_before, ", ") end
end
local _, failure = audit(audits, live, name, head, display, event, t.id, text,
    {"task", t.id, "status", to, "previous_status", t.status, "owner", under and "-" or t.owner, "attempt", attempt, "by", display, "reason", reason})
if failure then return failure end
bear(agents, me, display, NOW_MS)
if under then let_go(keys, channel, id, t) end
t.status, t.attempt, t.updated, t.finisher = to, attempt, NOW_MS, verb == "done" and display or "-"
if reason ~= "" then redis.call("HSET", texts, id .. " reason", reason) else redis.call("HDEL", texts, id .. " reason") end
if result ~= "" then redis.call("HSET", texts, id .. " result", result) else redis.call("HDEL", texts, id .. " result") end
if keep_task(tasks, ready, id, t) then ring_owner(bell, channel, id, t) end
local freed, begun, waiting = ripple(tasks, links, ready, id, channel, bell, live)
return remember(idem, keep, {"ok", "moved", name, t.id, to, late, freed, begun, waiting, attempt})
