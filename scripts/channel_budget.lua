-- Bound how much may be said in a channel within a span of time: by all of them, or by one agent (`whose`). Members only; the others are told by a notice that
-- wakes nobody. What was said in the span so far still counts. No bound at all takes the budget off.
-- Replies: {"ok", "set"|"off"|"already", name, record, now_ms} {"again", reply} {"not_you", ...} {"no_channel", channel} {"not_member", name, me}
-- {"stranger", name, agent}: whose budget it would be is nobody who is or was in the channel
-- with: idem, agent, speak, head, notice, gate
local stream, meta, members, heads, agents, idem, live = unpack(KEYS)
local channel, me, token, keep, whose, messages, characters, per_ms, text = unpack(ARGV)

local past = again(idem)
if past then return past end
local display, name = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
if whose ~= "" and redis.call("HEXISTS", members, whose) == 0 then return {"stranger", name, whose} end
local field = whose == "" and "budget" or "budget " .. whose
local before = redis.call("HGET", meta, field)
if messages == "0" and characters == "0" then
    if not before then return remember(idem, keep, {"ok", "already", name, "", NOW_MS}) end
    redis.call("HDEL", meta, field)
    notice(stream, heads, live, channel, display, "budget", display .. " " .. text)
    return remember(idem, keep, {"ok", "off", name, "", NOW_MS})
end
local most, chars, per, since, said, used = string.match(before or "", "^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+)")
if most == messages and chars == characters and per == per_ms then return remember(idem, keep, {"ok", "already", name, before, NOW_MS}) end
local record = table.concat({messages, characters, per_ms, since or NOW_MS, said or 0, used or 0, display}, " ")
redis.call("HSET", meta, field, record)
notice(stream, heads, live, channel, display, "budget", display .. " " .. text)
return remember(idem, keep, {"ok", "set", name, record, NOW_MS})
