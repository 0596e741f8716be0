-- A post that came again (idem.lua) is answered as before, or refused ("other") where its key stands for another text. Needs idem.lua.
local function said_before(key, stream, body)
    local past = again(key)
    if not past then return nil end
    local number = string.match(past[2], "^ok\31(%d+)") or "0"
    local entry = redis.call("XRANGE", stream, "0-" .. number, "0-" .. number)[1]
    return entry and entry[2][12] ~= body and {"other", number} or past -- entry.lua: the body is its sixth field
end
