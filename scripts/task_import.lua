-- Put tasks from elsewhere on the board as they were, leases and all; what is there stays as it is. Numbers go on from the board's, fencing tokens are new.
-- It is history and rings nobody. One audit tells of the batch. `base` is where the numbers of a whole import begin: "" asks for `total` of them.
-- Replies: {"ok", name, base, stored, there (a,b: ids that the board has)} {"again", reply} {"not_you", ...} {"no_channel", channel} {"damaged", name}
-- {"task_unknown_dependency", name, dependency}
-- with: idem, agent, speak, head, stand, damage, audit, task, board
local world, heads, agents, meta, tasks, texts, links, ready, leases, leased, audits, idem, live = unpack(KEYS)
local channel, me, token, agent, keep, base, total = unpack(ARGV)
-- then ARGV: id status owner by priority number attempt fenced expires claimed created updated deps before before_expires finisher, then TEXTS, repeated
local FIRST, WORD = 8, 16
local TEXTS = {"title", "files", "acceptance", "branch", "reason", "result"}
local ROW = WORD + #TEXTS

local past = again(idem)
if past then return past end
local display, name, head = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local fresh, found, there = {}, {}, {}
for i = FIRST, #ARGV, ROW do
    local key = string.lower(ARGV[i])
    if redis.call("HEXISTS", tasks, key) == 1 then table.insert(there, ARGV[i])
    else table.insert(fresh, {at = i, key = key}) end
    found[key] = true
    for _, other in ipairs(parted(ARGV[i + 12])) do
        if not found[other] and redis.call("HEXISTS", tasks, other) == 0 then return {"task_unknown_dependency", name, other} end
    end
end
local last = tonumber(redis.call("HGET", meta, "tasks")) or 0
local from = base == "" and last or tonumber(base)
if #fresh == 0 then return remember(idem, keep, {"ok", name, from, 0, table.concat(there, ",")}) end

local shown = {}
for i, one in ipairs(fresh) do shown[i] = ARGV[one.at] end
local _, failure = audit(audits, live, name, head, display, "task.imported", "import", imported("task", shown), {"count", #fresh, "tasks", table.concat(shown, ",")})
if failure then return failure end
if base == "" then redis.call("HSET", meta, "tasks", last + total) end
bear(agents, me, display, NOW_MS)
local made = {}
for n, one in ipairs(fresh) do
    local id, status, owner, by, priority, number, attempt, fenced, expires, claimed, created, updated, deps, before, ended, finisher =
        unpack(ARGV, one.at, one.at + WORD - 1)
    local fence = fenced == "1" and redis.call("HINCRBY", world, "token", 1) or 0
    made[n] = task_of(table.concat({id, status, owner, by, priority, from + number, attempt, fence, expires, claimed, created, updated, "-", deps, before, ended,
                                    finisher}, " "))
    redis.call("HSET", tasks, one.key, task_text(made[n]))
    for i, what in ipairs(TEXTS) do
        local value = ARGV[one.at + WORD + i - 1]
        if value ~= "" or what == "title" then redis.call("HSET", texts, one.key .. " " .. what, value) end
    end
    for _, other in ipairs(parted(deps)) do link(links, other, one.key) end
    if made[n].expires > 0 then
        bear(agents, string.lower(owner), owner)
        redis.call("ZADD", leases, expires, one.key)
        redis.call("HSET", leased, channel .. " " .. one.key, string.lower(owner) .. " " .. expires)
    end
end
for n, one in ipairs(fresh) do keep_task(tasks, ready, one.key, made[n]) end -- only now all that they wait for is there
return remember(idem, keep, {"ok", name, from, #fresh, table.concat(there, ",")})
