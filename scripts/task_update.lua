-- Change what a task says. Under a lease only its holder may, and not its status or owner; a terminal status is left by reopen alone.
-- Replies: {"ok", name, id, status, changed (a,b), ready now (a,b), begun (a,b), waiting (a,b)} {"again", reply} {"other"} {"not_you", ...}
-- {"no_channel", channel} {"damaged", name} {"task_not_found", name, id} {"task_invalid_record", name, id}
-- {"task_invalid_transition", name, id, status, to} {"task_dependency_not_ready", name, id, waits for} {"task_unknown_dependency", name, dependency}
-- {"task_dependency_cycle", name, id, cycle} {"lease_recovery_required", name, id, holder, expires_ms}
-- {"lease_owner_mismatch", name, id, holder, expires_ms} {"lease_mutation_required", name, id}
-- with: request, agent, speak, head, stand, damage, audit, task, load, board, holder, foreign, cycle
local heads, agents, tasks, texts, links, ready, audits, idem, live = unpack(KEYS)
local channel, me, token, agent, keep, id, bell = unpack(ARGV)
-- then ARGV: field value, repeated (title branch files_hint acceptance as texts; owner priority depends_on status as words)

local what = asked_for(6)
local past = answered(idem, what)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local t, refusal = load_task(tasks, name, id)
if not t then return refusal end
local new, order = {}, {}
for i = 8, #ARGV, 2 do
    new[ARGV[i]] = ARGV[i + 1]
    table.insert(order, ARGV[i])
end
local no = foreign(t, name, me)
if no then return no end
if held(t) and (new.status or new.owner) then return {"lease_mutation_required", name, t.id} end
local to, deps = new.status or t.status, parted(new.depends_on or t.deps)
if to ~= t.status and not goes(t.status, to) then return {"task_invalid_transition", name, t.id, t.status, to} end
if new.depends_on then
    for _, other in ipairs(deps) do if redis.call("HEXISTS", tasks, other) == 0 then return {"task_unknown_dependency", name, other} end end
    local circle = cycle(tasks, id, t.id, deps)
    if circle then return {"task_dependency_cycle", name, t.id, circle} end
end
if to == "in_progress" or to == "done" then
    local waits = (new.depends_on or to ~= t.status) and unmet(tasks, deps) or ""
    if waits ~= "" then return {"task_dependency_not_ready", name, t.id, waits} end
end
local said = "updated " .. t.id .. ": " .. table.concat(order, ", ")
if new.status then said = said .. " (" .. t.status .. " to " .. to .. ")" end
local _, failure = audit(audits, live, name, head, display, "task.updated", t.id, said,
    {"task", t.id, "status", to, "previous_status", t.status, "owner", new.owner or t.owner, "changed_fields", table.concat(order, ","), "title", new.title or ""})
if failure then return failure end
bear(agents, me, display, NOW_MS)
for text, value in pairs({title = new.title, branch = new.branch, files = new.files_hint, acceptance = new.acceptance}) do
    if value == "" and text == "branch" then redis.call("HDEL", texts, id .. " branch") else redis.call("HSET", texts, id .. " " .. text, value) end
end
if to ~= t.status then redis.call("HDEL", texts, id .. " reason") end -- it told of the status that was
if new.depends_on then
    for _, other in ipairs(parted(t.deps)) do
        local left = string.gsub(redis.call("HGET", links, other) or ",", "," .. string.gsub(id, "%p", "%%%0") .. ",", ",", 1)
        if left == "," then redis.call("HDEL", links, other) else redis.call("HSET", links, other, left) end
    end
    for _, other in ipairs(deps) do link(links, other, id) end
    t.deps = #deps > 0 and table.concat(deps, ",") or "-"
end
if to == "open" and t.status == "in_progress" then t.attempt = t.attempt + 1 end
t.finisher = to == "done" and (t.status ~= "done" and display or t.finisher) or "-"
t.owner, t.priority, t.status, t.updated = new.owner or t.owner, tonumber(new.priority) or t.priority, to, NOW_MS
local starts = keep_task(tasks, ready, id, t) or (new.owner and redis.call("ZSCORE", ready, id))
if starts then ring_owner(bell, channel, id, t) end
local freed, begun, waiting = "", "", ""
if new.status then freed, begun, waiting = ripple(tasks, links, ready, id, channel, bell, live) end
return keep_answer(idem, keep, what, {"ok", name, t.id, to, table.concat(order, ","), freed, begun, waiting})
