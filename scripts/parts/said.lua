-- A post that came again (idem.lua) is answered as before, or refused ("other") where its key stands for another text. Where what was said then went with a
-- channel that was deleted, in another one of its name, it did not come again. Needs idem.lua.
local function said_before(key, stream, body)
    local past = again(key)
    if not past then return nil end
    local number, at = string.match(past[2], "^ok\31(%d+)\31(%d+)")
    local entry = redis.call("XRANGE", stream, "0-" .. number, "0-" .. number)[1]
    if entry then -- entry.lua: its time is the fourth field, in microseconds, the body the sixth
        if string.sub(entry[2][8], 1, -4) ~= at then return nil end
        return entry[2][12] ~= body and {"other", number} or past
    end
    local last = redis.call("XREVRANGE", stream, "+", "-", "COUNT", 1)[1] -- else it was removed
    local ended = last and tonumber(string.match(last[1], "%d+$")) < tonumber(number)
    return not ended and redis.call("EXISTS", stream) == 1 and past or nil
end
