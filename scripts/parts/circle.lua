-- Would waiting close a circle? Held locks, the line and tasks are facts (hard); `wait --from` is not: whoever is waited for may be answered by a hook,
-- or by a person. Before anybody is refused, whoever does not listen any more is struck out (line.lua). Needs held.lua, way.lua, line.lua.

-- Who holds a task ("<channel>/<task>") under a lease that runs; nil for nobody.
local function holder_of(task)
    local field = string.gsub(task, "/", " ", 1)
    local owner, ends = string.match(redis.call("HGET", BOOK.leased, field) or "", "^(%S+) (%d+)$")
    return owner and tonumber(ends) > NOW_MS and string.lower(owner) or nil
end

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
            local owner = holder_of(target)
            if owner then edge(graph, agent, owner, "task " .. target, waits[i]) end
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
