-- XADD 0-* numbers and appends in one command, so no gap is possible; an import brings its own number. Gives seq, or nil and what to answer: an id
-- above 0-n can only come from a stranger's raw XADD (Redis 7 calls what would follow the highest one too large) and ends the channel until it is
-- repaired; so does a number that no conversation reaches; anything else (out of memory) is the server's own word. Needs head.lua.
local function append(stream, number, name, fields)
    local id = redis.pcall("XADD", stream, number, unpack(fields))
    if type(id) == "string" then
        local seq = tonumber(string.sub(id, 3))
        if seq <= LAST_NUMBER then return seq end
        redis.call("XDEL", stream, id)
        return nil, {"damaged", name}
    end
    local why = tostring(id.err) -- a table on real servers, an object of its own on the fake
    if string.find(why, "equal or smaller", 1, true) or string.find(why, "too large", 1, true) or string.find(why, "exhausted", 1, true) then return nil, {"damaged", name} end
    return nil, redis.error_reply(why)
end
