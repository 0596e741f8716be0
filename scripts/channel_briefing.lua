-- Set the house rules of a channel, with who wrote them and when. Members only; the others are told by a notice that wakes nobody.
-- Replies: {"ok", name, display, now_ms} {"again", reply} {"not_you", ...} {"no_channel", channel} {"not_member", name, me}
-- with: idem, agent, speak, head, notice, gate
local stream, meta, members, heads, agents, idem, live = unpack(KEYS)
local channel, me, token, keep, briefing, text = unpack(ARGV)

local past = again(idem)
if past then return past end
local display, name = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
redis.call("HSET", meta, "briefing", briefing, "briefing_by", display, "briefing_at", NOW_MS)
notice(stream, heads, live, channel, display, "briefing", display .. " " .. text)
return remember(idem, keep, {"ok", name, display, NOW_MS})
