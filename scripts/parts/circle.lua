-- Would waiting close a circle? Held locks, the line and tasks are facts (hard); `wait --from` is not: whoever is waited for may be answered by a hook,
-- or by a person. Before anybody is refused, whoever does not listen any more is struck out. Needs held.lua, way.lua, line.lua.

local function everyone(line, stuck, soft)
    local graph = {}
    for _, edges in pairs(stuck) do for _, e in pairs(edges) do edge(graph, e.from, e.to, e.why, e.request) end end
    for _, w in ipairs(line) do
        for _, e in ipairs(w.ahead) do edge(graph, w.owner, e.request.owner, "in line behind it for " .. show(e.path), w.request) end
    end
    local waits = redis.call("HGETALL", BOOK.waits)
    for i = 1, #waits, 2 do
        local agent, kind, target = string.match(waits[i + 1], "^(%S+) (%S+) (%S+)$")
        if kind == "from" and soft then edge(graph, agent, target, "wait --from", waits[i])
        elseif kind == "task" then
            local field = string.gsub(target, "/", " ", 1)
            local owner, ends = string.match(redis.call("HGET", BOOK.leased, field) or "", "^(%S+) (%d+)$")
            if owner and tonumber(ends) > NOW_MS then edge(graph, agent, string.lower(owner), "task " .. target, waits[i]) end
        end
    end
    return graph
end

local function told(edges)
    local rows = {}
    for i, e in ipairs(edges) do rows[i] = e.from .. " waits for " .. e.to .. " (" .. e.why .. ")" end
    return table.concat(rows, "; ")
end

-- The circle that `me` waiting closes, told; nil when there is none. `to` and `why`: only the one through this wait.
local function circle(line, stuck, me, soft, to, why)
    local graph = everyone(line, stuck, soft)
    local firsts = to and {[to] = {from = me, to = to, why = why}} or graph[me] or {}
    for other, first in pairs(firsts) do
        local rest = other ~= me and way(graph, other, me)
        if rest then
            table.insert(rest, 1, first)
            return told(rest)
        end
    end
end

-- Which of these requests have nobody at their door?
local function deaf(names)
    local found = {}
    for _, request in ipairs(names) do
        local door = BOOK.door .. request
        if tonumber(redis.call("PUBSUB", "SHARDNUMSUB", door)[2]) == 0 then table.insert(found, request) end
    end
    return found
end

-- Strike out who does not listen any more, `but` the one that asks: out of the line (`which` may choose), and out of the waits. Gives how many, nil for none.
local function strike_out(but, which)
    local standing, gone = {}, 0
    for _, request in ipairs(redis.call("ZRANGE", BOOK.line, 0, -1)) do
        if request ~= but and (not which or which(request)) then table.insert(standing, request) end
    end
    for _, request in ipairs(deaf(standing)) do leave_line(request) gone = gone + 1 end
    for _, request in ipairs(which and {} or deaf(redis.call("HKEYS", BOOK.waits))) do
        if request ~= but then gone = gone + redis.call("HDEL", BOOK.waits, request) end
    end
    return gone > 0 and gone or nil
end
