-- Who waits for paths, in order. line:requests: request -> "ticket owner mode name channel since", its reason, and its paths, a line each; asked counts
-- the requests for each path: who asks for nothing that is asked for need not look at the line. Needs held.lua.
local function count_asked(paths, by)
    for _, path in ipairs(paths) do
        if redis.call("HINCRBY", BOOK.asked, path, by) > 0 then redis.call("ZADD", BOOK.asked_order, 0, path)
        else
            redis.call("HDEL", BOOK.asked, path)
            redis.call("ZREM", BOOK.asked_order, path)
        end
    end
end

local function is_asked(paths) -- does anybody wait for something that overlaps these?
    for _, path in ipairs(paths) do
        local chain = above(path)
        table.insert(chain, path)
        for _, count in ipairs(redis.call("HMGET", BOOK.asked, unpack(chain))) do if count then return true end end
        if #redis.call("ZRANGEBYLEX", BOOK.asked_order, "[" .. path .. "/", "(" .. path .. "0", "LIMIT", 0, 1) > 0 then return true end
    end
    return false
end

local function request_of(request)
    local words, reason, paths = string.match(redis.call("HGET", BOOK.requests, request) or "", "^([^\n]*)\n([^\n]*)\n(.*)$")
    local owner, mode, name = string.match(words or "", "^%d+ (%S+) ([xs]) (%S+) ")
    return {request = request, owner = owner or "-", mode = mode or "s", name = name or "-", reason = reason or "", paths = split(paths)}
end

local function leave_line(request)
    count_asked(request_of(request).paths, -1)
    redis.call("HDEL", BOOK.requests, request)
    redis.call("ZREM", BOOK.line, request)
end

-- Which of these requests have nobody at their door?
local function deaf(names)
    local found = {}
    for _, request in ipairs(names) do
        if listeners(BOOK.door .. request) == 0 then table.insert(found, request) end
    end
    return found
end

-- Strike out who does not listen any more, `but` the one that asks: out of the line (`which` may choose), and out of the waits.
local function strike_out(but, which)
    local standing, gone = {}, false
    for _, request in ipairs(redis.call("ZRANGE", BOOK.line, 0, -1)) do
        if request ~= but and (not which or which(request)) then table.insert(standing, request) end
    end
    for _, request in ipairs(deaf(standing)) do leave_line(request) gone = true end
    for _, request in ipairs(which and {} or deaf(redis.call("HKEYS", BOOK.waits))) do
        if request ~= but then redis.call("HDEL", BOOK.waits, request) gone = true end
    end
    return gone
end
