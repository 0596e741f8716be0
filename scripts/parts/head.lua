-- heads: channel -> "seq epoch name": where its messages end, which incarnation of the name this is, how it was first written.
local LAST_NUMBER = 999999999 -- of a message; what a stranger numbers beyond it would not survive as a number here

local function head_of(heads, channel)
    local record = redis.call("HGET", heads, channel)
    if not record then return nil end
    local seq, epoch, name = string.match(record, "^(%d+) (%S+) (%S+)$")
    return tonumber(seq), epoch, name
end

-- What to answer where XADD was refused: a number that cannot follow is a stranger's doing (his raw XADD above 0-n; Redis 7 calls what would follow the highest
-- one too large), and the stream is to be repaired; anything else (out of memory) is the server's own word.
local function not_added(answer, name)
    local why = tostring(answer.err) -- a table on real servers, an object of its own on the fake
    for _, sign in ipairs({"equal or smaller", "too large", "exhausted"}) do
        if string.find(why, sign, 1, true) then return {"damaged", name} end
    end
    return redis.error_reply(why)
end

local function set_head(heads, channel, seq, epoch, name)
    redis.call("HSET", heads, channel, table.concat({seq, epoch, name}, " "))
end
