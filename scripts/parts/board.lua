-- What can be started: `ready` holds the open tasks whose dependencies are all done, by priority, then age. `links` finds who depends on a task.
-- Needs task.lua.
local EDGES = {open = " in_progress blocked cancelled ", in_progress = " open blocked done cancelled ", blocked = " open in_progress cancelled ", done = " ", cancelled = " "}

local function goes(from, to) return string.find(EDGES[from], " " .. to .. " ", 1, true) ~= nil end

local function score(t) return t.priority * 1e9 + t.number end

-- What a task still waits for: "T-1 (cancelled), T-2 (open)"; "" when it waits for nothing.
local function unmet(tasks, deps)
    local found = {}
    for _, dep in ipairs(deps) do
        local other = task_of(redis.call("HGET", tasks, dep) or "")
        if not other or other.status ~= "done" then table.insert(found, (other and other.id or dep) .. " (" .. (other and other.status or "missing") .. ")") end
    end
    return table.concat(found, ", ")
end

-- Keep a task and its place among what can be started. Gives whether it can be, and could not be before.
local function keep_task(tasks, ready, id, t)
    redis.call("HSET", tasks, id, task_text(t))
    if t.status == "open" and unmet(tasks, parted(t.deps)) == "" then return redis.call("ZADD", ready, score(t), id) == 1 end
    redis.call("ZREM", ready, id)
    return false
end

-- Whoever a task is meant for is rung: it can be started.
local function ring_owner(bell, channel, id, t)
    if t.owner ~= "-" then redis.call("SPUBLISH", bell .. string.lower(t.owner), "task " .. channel .. " " .. id) end
end

local function link(links, dep, id) redis.call("HSET", links, dep, (redis.call("HGET", links, dep) or ",") .. id .. ",") end

-- A task's status changed: its dependents may be ready now, or not any more. Whoever one is meant for is rung, and whoever waits for it.
-- Gives those that became ready, those that are over or begun, and the others, as "a,b".
local function ripple(tasks, links, ready, id, channel, bell, live)
    local freed, begun, waiting = {}, {}, {}
    for _, other in ipairs(parted(redis.call("HGET", links, id) or "-")) do
        local t = task_of(redis.call("HGET", tasks, other) or "")
        if t and keep_task(tasks, ready, other, t) then
            table.insert(freed, t.id)
            ring_owner(bell, channel, other, t)
            redis.call("SPUBLISH", live, "audit " .. other)
        elseif t and (t.status == "in_progress" or t.status == "done") then table.insert(begun, t.id)
        elseif t and t.status ~= "cancelled" then table.insert(waiting, t.id) end
    end
    return table.concat(freed, ","), table.concat(begun, ","), table.concat(waiting, ",")
end
