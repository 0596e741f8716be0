-- heads: channel -> "seq epoch name": where its messages end, which incarnation of the name this is, how it was first written.
local LAST_NUMBER = 999999999 -- of a message; what a stranger numbers beyond it would not survive as a number here

local function head_of(heads, channel)
    local record = redis.call("HGET", heads, channel)
    if not record then return nil end
    local seq, epoch, name = string.match(record, "^(%d+) (%S+) (%S+)$")
    return tonumber(seq), epoch, name
end

local function set_head(heads, channel, seq, epoch, name)
    redis.call("HSET", heads, channel, table.concat({seq, epoch, name}, " "))
end
