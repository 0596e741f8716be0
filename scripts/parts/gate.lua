-- What every change of a channel asks first: is this caller who it says, is there such a channel, is the caller in it? Gives the caller's name, the
-- channel's name, its state; or nil and the refusal. Needs speak.lua, head.lua.
local function gate(agents, meta, members, heads, channel, me, token)
    local display, refusal = speak(agents, me, token)
    if refusal then return nil, refusal end
    local _, _, name = head_of(heads, channel)
    local state = redis.call("HGET", meta, "state")
    if not name or not state then return nil, {"no_channel", channel} end
    local written, place = string.match(redis.call("HGET", members, me) or "", "^(%S+) (%S+)")
    if place ~= "in" then return nil, {"not_member", name, written or display} end
    return written, name, state
end
