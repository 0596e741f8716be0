-- Forget the oldest messages of a channel, all but the newest `most`; numbers never change. In steps: an exact trim of a million blocks the server.
-- Replies: {"ok", name, removed, left} (call again while left > most) {"again", reply} {"not_you", ...} {"no_channel", channel} {"not_member", name, me}
-- with: idem, agent, speak, head, gate
local stream, audits, meta, members, heads, agents, scratch, idem = unpack(KEYS)
local channel, me, token, keep, most = unpack(ARGV)
local STEP = 50000

redis.call("DEL", scratch) -- settles: must work when memory is full
local past = again(idem)
if past then return past end
local display, name = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
local left = redis.call("XLEN", stream)
local stay = math.max(tonumber(most), left - STEP)
local removed = redis.call("XTRIM", stream, "MAXLEN", stay)
local first = redis.call("XRANGE", stream, "-", "+", "COUNT", 1)[1]
local head = head_of(heads, channel)
redis.call("XTRIM", audits, "MINID", (first and string.sub(first[1], 3) or head) .. "-0")
return remember(idem, keep, {"ok", name, removed, left - removed})
