-- A mutation whose key does not name all that is asked for happens once, too: the request is kept before its reply. The same key with another request is
-- refused ("other"), or that one would be lost in silence.
local function asked_for(first) return table.concat(ARGV, "\31", first) .. "\30" end

local function answered(key, what)
    local past = redis.call("GET", key)
    if not past then return nil end
    return string.sub(past, 1, #what) == what and {"again", string.sub(past, #what + 1)} or {"other"}
end

local function keep_answer(key, seconds, what, reply)
    redis.call("SET", key, what .. table.concat(reply, "\31"), "EX", seconds)
    return reply
end
