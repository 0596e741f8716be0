-- The counter of fencing tokens never stands below a token that a record bears, or it would be given out a second time.
local function raise_counter(meta, highest)
    if highest <= (tonumber(redis.call("HGET", meta, "token")) or 0) then return 0 end
    redis.call("HSET", meta, "token", highest)
    return 1
end
