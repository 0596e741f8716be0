-- Say in a lock's channel, once for each lock and writer, that a command of somebody else wrote what it locks. A notice: it wakes nobody, and the holder sees it at its
-- next step.
-- Replies: {"ok", said (0|1)} {"no_channel", channel} {"not_you", ...}
-- with: agent, speak, head, notice
local stream, heads, agents, hinted, live = unpack(KEYS)
local channel, me, token, lock, text = unpack(ARGV)

local display, refusal = speak(agents, me, token)
if refusal then return refusal end
local _, epoch = head_of(heads, channel)
if not epoch then return {"no_channel", channel} end
local field = "overrun " .. channel .. " " .. me
if redis.call("HGET", hinted, field) == lock then return {"ok", 0} end
redis.call("HSET", hinted, field, lock)
notice(stream, heads, live, channel, display, "overrun", text)
return {"ok", 1}
