-- Who in the line waits for whom: for held locks, and behind earlier requests. Needs held.lua, lock.lua, line.lua, way.lua.
local MOST_AHEAD = 16

-- One stands behind each earlier request that does not go with one's own, except one that is itself stuck on oneself: fairness would make a circle.
local function stand_behind(line, stuck)
    local at, below = {}, {} -- path -> earlier requests for it, or for something below it
    local function add(places, path, w)
        places[path] = places[path] or {}
        table.insert(places[path], w)
    end
    for _, w in ipairs(line) do
        w.ahead = {}
        local seen = {}
        local function meet(list, path)
            for i = #(list or {}), 1, -1 do
                local e = list[i]
                if not seen[e] and #w.ahead < MOST_AHEAD and e.owner ~= w.owner and clash(w.mode, e.mode) then
                    seen[e] = true
                    if not way(stuck, e.owner, w.owner) then table.insert(w.ahead, {request = e, path = path}) end
                end
            end
        end
        for _, path in ipairs(w.paths) do
            meet(at[path], path)
            meet(below[path], path)
            for _, up in ipairs(above(path)) do meet(at[up], path) end
        end
        for _, path in ipairs(w.paths) do
            add(at, path, w)
            for _, up in ipairs(above(path)) do add(below, up, w) end
        end
    end
end

-- The line, `extra` (who is not in it yet) included; each with who holds what it asks for and whom it stands behind. And who is stuck on whom by held locks.
local function survey(extra)
    local line, stuck, there = {}, {}, false
    for _, request in ipairs(redis.call("ZRANGE", BOOK.line, 0, -1)) do
        local own = extra and extra.request == request
        there = there or own
        table.insert(line, own and extra or request_of(request))
    end
    if extra and not there then table.insert(line, extra) end
    for _, w in ipairs(line) do
        w.held = in_the_way(w.paths, w.mode, w.owner, "live") -- who waits has agreed to take over what ran out
        for _, h in ipairs(w.held) do edge(stuck, w.owner, h.owner, "lock " .. show(h.path), w.request) end
    end
    stand_behind(line, stuck)
    return line, stuck
end
