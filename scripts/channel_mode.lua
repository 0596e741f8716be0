-- Change whom an unaddressed message wakes (ordinary: all members; broadcast: nobody). The members are told by a notice that wakes nobody.
-- Replies: {"ok", "changed"|"already", name, mode, count} {"again", reply} {"not_you", ...} {"no_channel", channel} {"not_member", name, me}
-- with: idem, agent, speak, head, notice, gate
local stream, meta, members, heads, agents, broadcasts, idem, live = unpack(KEYS)
local channel, me, token, keep, mode, text = unpack(ARGV)

local past = again(idem)
if past then return past end
local display, name = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
local count = tonumber(redis.call("HGET", meta, "count"))
if redis.call("HGET", meta, "mode") == mode then return {"ok", "already", name, mode, count} end
redis.call("HSET", meta, "mode", mode)
if mode == "broadcast" then redis.call("HSET", broadcasts, channel, name) else redis.call("HDEL", broadcasts, channel) end
notice(stream, heads, live, channel, display, "mode", display .. " " .. text)
return remember(idem, keep, {"ok", "changed", name, mode, count})
