-- A lock as it is kept: locks: id -> "owner channel repository mode locked updated before before_ends" as written, its reason, why it was recovered, and
-- its paths, a line each. Needs held.lua.
local SHOWN = 5 -- paths in a sentence

local function show(path) return string.match(path, "^[^/]*/(.*)$") or "." end

local function listed(paths)
    local found = {}
    for i = 1, math.min(#paths, SHOWN) do found[i] = show(paths[i]) end
    return table.concat(found, ", ") .. (#paths > SHOWN and " and " .. #paths - SHOWN .. " more" or "")
end

local function record_of(id)
    local words, reason, why, paths = string.match(redis.call("HGET", BOOK.locks, id) or "", "^([^\n]*)\n([^\n]*)\n([^\n]*)\n(.*)$")
    local owner, channel, repo, mode, locked, updated, before, ended = string.match(words or "", "^(%S+) (%S+) (%S+) ([xs]) (%d+) (%d+) (%S+) (%d+)$")
    if not owner then return nil end
    return {owner = owner, channel = channel, repo = repo, mode = mode, locked = locked, updated = updated, before = before, ended = ended,
            reason = reason, why = why, paths = split(paths)}
end

local function set_record(id, r)
    if #r.paths == 0 then return redis.call("HDEL", BOOK.locks, id) end
    local words = table.concat({r.owner, r.channel, r.repo, r.mode, r.locked, r.updated, r.before, r.ended}, " ")
    redis.call("HSET", BOOK.locks, id, table.concat({words, r.reason, r.why, table.concat(r.paths, "\n")}, "\n"))
end

local function mine_of(list, owner) -- the one lock of an owner on a path, offers apart
    for _, h in ipairs(list) do if h.owner == owner and h.request == "-" then return h end end
end

local function add_lock(reply, h) -- one path of a lock, as replies have it
    for _, word in ipairs({h.path, h.mode, h.token, h.id, h.ends}) do table.insert(reply, word) end
end

-- Put a lock on paths. Where its owner has one, that one keeps id and token and is raised in end, and in mode if it lives: an exclusive one that ran out
-- is no right any more, others may read there by now. An offer is a line beside it, until it is taken.
local function give(paths, lock)
    for _, path in ipairs(paths) do
        local list = {}
        for _, h in ipairs(holders(path, redis.call("HGET", BOOK.held, path))) do if h.request ~= lock.id then table.insert(list, h) end end
        local mine = lock.request == "-" and mine_of(list, lock.owner)
        if mine then
            local lives = mine.ends > NOW_MS
            mine.mode, mine.ends = lives and clash(mine.mode, lock.mode) and "x" or lock.mode, math.max(mine.ends, lock.ends)
        else
            table.insert(list, {owner = lock.owner, mode = lock.mode, ends = lock.ends, token = lock.token, id = lock.id, request = lock.request})
        end
        keep(path, list)
    end
end

-- Take those locks off a path that `goes(lock)` says; their records follow.
local function take_off(path, goes)
    local rest, off = {}, {}
    for _, h in ipairs(holders(path, redis.call("HGET", BOOK.held, path))) do table.insert(goes(h) and off or rest, h) end
    keep(path, rest)
    for _, h in ipairs(off) do
        local r = h.request == "-" and record_of(h.id)
        if r then
            local left = {}
            for _, one in ipairs(r.paths) do if one ~= path then table.insert(left, one) end end
            r.paths = left
            set_record(h.id, r)
        end
    end
    return off
end
