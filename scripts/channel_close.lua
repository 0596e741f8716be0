-- Close a channel: a notice first, then nothing more can be said until it is reopened. Closing a closed one changes nothing.
-- Replies: {"ok", "closed"|"already", name, the reason it had} {"again", reply} {"not_you", ...} {"no_channel", channel} {"not_member", name, me}
-- with: idem, agent, speak, head, notice, gate
local stream, meta, members, heads, agents, scratch, idem, room, live = unpack(KEYS)
local channel, me, token, keep, reason = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local past = again(idem)
if past then return past end
local display, name, state = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
if state == "closed" then return {"ok", "already", name, redis.call("HGET", meta, "reason")} end
notice(stream, heads, live, channel, display, "closed", display .. " closed this channel: " .. reason)
redis.call("HSET", meta, "state", "closed", "how", "closed", "reason", reason, "closed_by", display, "closed_at", NOW_MS)
redis.call("SPUBLISH", room, "closed")
return remember(idem, keep, {"ok", "closed", name, ""})
