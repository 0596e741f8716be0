-- What is locked. A path is "<digest of its repository>/<its steps>", a whole repository the digest alone. held: path -> a line for each lock on it, "owner
-- mode expires token id request": mode x or s (shared); request "-", or, while it is only an offer (serve.lua), whom it is made to. Ancestors are found
-- by one HMGET, descendants by one range of the order: the cost does not grow with what is held elsewhere.
local BOOK = {} -- the keys of locks and line by name, and the doors' prefix: each script fills it
local MOST_SEEN, PAGE = 64, 64

local function split(text)
    local found = {}
    for row in string.gmatch(text or "", "[^\n]+") do table.insert(found, row) end
    return found
end

local function above(path) -- the folders that a path lies in, nearest first
    local found = {}
    while true do
        path = string.match(path, "^(.*)/[^/]*$")
        if not path then return found end
        table.insert(found, path)
    end
end

local function clash(one, other) return one == "x" or other == "x" end

-- The locks on one path: one that ran out stays until it is recovered, an offer that ran out is none. A row that is none of ours is remembered in BOOK.
local function holders(path, text)
    local found = {}
    for _, row in ipairs(split(text or nil)) do
        local owner, mode, ends, token, id, request = string.match(row, "^(%S+) ([xs]) (%d+) (%d+) (%S+) (%S+)$")
        if not owner then BOOK.broken = BOOK.broken or path end
        if owner and (request == "-" or tonumber(ends) > NOW_MS) then
            table.insert(found, {owner = owner, mode = mode, ends = tonumber(ends), token = token, id = id, request = request, path = path})
        end
    end
    return found
end

local function keep(path, list)
    for _, row in ipairs(split(redis.call("HGET", BOOK.held, path) or nil)) do
        redis.call("ZREM", BOOK.owners, string.match(row, "^%S+") .. " " .. path)
    end
    if #list == 0 then
        redis.call("HDEL", BOOK.held, path)
        redis.call("ZREM", BOOK.order, path)
        return
    end
    local rows = {}
    for i, h in ipairs(list) do
        rows[i] = table.concat({h.owner, h.mode, h.ends, h.token, h.id, h.request}, " ")
        redis.call("ZADD", BOOK.owners, 0, h.owner .. " " .. path)
    end
    redis.call("HSET", BOOK.held, path, table.concat(rows, "\n"))
    redis.call("ZADD", BOOK.order, 0, path)
end

-- Whose locks overlap these paths and do not go with this mode, the owner's own apart. `which`: live, lapsed, or nil for both.
local function in_the_way(paths, mode, owner, which)
    local found, seen = {}, {}
    local function look(asked, places)
        for i, text in ipairs(redis.call("HMGET", BOOK.held, unpack(places))) do
            for _, h in ipairs(holders(places[i], text)) do
                local fits = not which or (h.ends <= NOW_MS) == (which == "lapsed")
                if fits and h.owner ~= owner and clash(mode, h.mode) and not seen[h.owner .. " " .. h.path] then
                    seen[h.owner .. " " .. h.path], h.asked = true, asked
                    table.insert(found, h)
                end
            end
        end
    end
    for _, path in ipairs(paths) do
        local chain = above(path)
        table.insert(chain, path)
        look(path, chain)
        local from, page = "[" .. path .. "/", nil
        repeat
            page = redis.call("ZRANGEBYLEX", BOOK.order, from, "(" .. path .. "0", "LIMIT", 0, PAGE)
            if #page > 0 then look(path, page) from = "(" .. page[#page] end
        until #page < PAGE or #found >= MOST_SEEN
    end
    return found
end
