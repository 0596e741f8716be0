-- A notice tells members what changed in the room. It is unread like talk, wakes nobody, is outside the cap and never blocks the act that it
-- tells of (a damaged stream costs the notice, not the act). Needs head.lua.
local function notice(stream, heads, live, channel, from, status, text)
    local _, epoch, name = head_of(heads, channel)
    local id = redis.pcall("XADD", stream, "0-*", "f", from, "k", "n", "w", "-", "t", now_us(), "x", "0", "b", text, "s", status)
    if type(id) ~= "string" then return 0 end
    local seq = string.sub(id, 3)
    if tonumber(seq) > LAST_NUMBER then return redis.call("XDEL", stream, id) end
    set_head(heads, channel, seq, epoch, name)
    redis.call("SPUBLISH", live, "notice " .. seq)
    return seq
end
