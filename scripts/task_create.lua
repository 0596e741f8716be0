-- Put a task on the board. Without an id it gets the next one; ids are compared without case and never given twice.
-- Replies: {"ok", name, id, status, ready (0|1), waits for} {"again", reply} {"other"} {"not_you", ...} {"no_channel", channel} {"damaged", name}
-- {"task_already_exists", name, id, by} {"task_unknown_dependency", name, dependency} {"task_dependency_cycle", name, id, cycle}
-- with: request, agent, speak, head, stand, damage, audit, task, board
local heads, agents, meta, tasks, texts, links, ready, audits, idem, live = unpack(KEYS)
local channel, me, token, agent, keep, id, owner, priority, deps, title, branch, files, acceptance, bell = unpack(ARGV)

local what = asked_for(6)
local past = answered(idem, what)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local number, auto, written = (tonumber(redis.call("HGET", meta, "tasks")) or 0) + 1, tonumber(redis.call("HGET", meta, "task_ids")) or 0, id
if id == "" then
    repeat
        auto = auto + 1
        written = "T-" .. auto
    until redis.call("HEXISTS", tasks, string.lower(written)) == 0
end
local key, wanted, shown = string.lower(written), parted(deps), {}
local there = redis.call("HGET", tasks, key)
if there then return {"task_already_exists", name, string.match(there, "^%S+"), string.match(there, "^%S+ %S+ %S+ (%S+)") or "?"} end
for i, other in ipairs(wanted) do
    local record = redis.call("HGET", tasks, other)
    if other == key then return {"task_dependency_cycle", name, written, written .. " -> " .. written} end
    if not record then return {"task_unknown_dependency", name, other} end
    shown[i] = string.match(record, "^%S+")
end
local text = "created " .. written .. ": " .. title
if owner ~= "-" then text = text .. "; for " .. owner end
if #shown > 0 then text = text .. "; depends on " .. table.concat(shown, ", ") end
local _, failure = audit(audits, live, name, head, display, "task.created", written, text,
    {"task", written, "status", "open", "owner", owner, "priority", priority, "depends_on", table.concat(shown, ",")})
if failure then return failure end
bear(agents, me, display, NOW_MS)
redis.call("HSET", meta, "tasks", number, "task_ids", auto)
redis.call("HSET", texts, key .. " title", title, key .. " files", files, key .. " acceptance", acceptance)
if branch ~= "" then redis.call("HSET", texts, key .. " branch", branch) end
for _, other in ipairs(wanted) do link(links, other, key) end
local t = task_of(table.concat({written, "open", owner, display, priority, number, 1, 0, 0, 0, NOW_MS, NOW_MS, "-", #wanted > 0 and deps or "-", "-", 0, "-"}, " "))
local starts = keep_task(tasks, ready, key, t)
if starts then ring_owner(bell, channel, key, t) end
return keep_answer(idem, keep, what, {"ok", name, written, "open", starts and 1 or 0, unmet(tasks, wanted)})
