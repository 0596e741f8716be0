-- Say in a channel, once a stretch of talk, that two agents do not wake each other any more. `since` is the message that the stretch began with.
-- Replies: {"ok", said (0|1)} {"no_channel", channel}
-- with: head, notice
local stream, heads, hinted, live = unpack(KEYS)
local channel, pair, since, from, text = unpack(ARGV)

local _, epoch = head_of(heads, channel)
if not epoch then return {"no_channel", channel} end
local field, mark = "brake " .. channel .. " " .. pair, epoch .. " " .. since
if redis.call("HGET", hinted, field) == mark then return {"ok", 0} end
redis.call("HSET", hinted, field, mark)
notice(stream, heads, live, channel, from, "brake", text)
return {"ok", 1}
