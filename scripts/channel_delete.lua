-- Destroy a channel, all that was said in it and its board. Members only. Path locks are the workspace's and stay. Marks that a late joiner left behind are dead by their epoch.
-- Replies: {"ok", name, head} {"again", reply} {"not_you", ...} {"no_channel", channel} {"not_member", name, me}
-- with: idem, agent, speak, head, gate
local stream, audits, events, tasks, texts, links, ready, leases, claims, event_marks, meta, members, heads, agents, broadcasts, everyone, hinted, leased, scratch, idem, room, live = unpack(KEYS)
-- then KEYS: marks, debts and bell of each member
local channel, me, token, keep = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local past = again(idem)
if past then return past end
local display, name = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
local head = head_of(heads, channel)
for i = 23, #KEYS, 3 do
    redis.call("HDEL", KEYS[i], channel)
    redis.call("HDEL", KEYS[i + 1], channel)
    redis.call("SPUBLISH", KEYS[i + 2], "rooms")
end
for _, who in ipairs(redis.call("HKEYS", members)) do redis.call("HDEL", hinted, channel .. " " .. who) end
for _, id in ipairs(redis.call("ZRANGE", leases, 0, -1)) do redis.call("HDEL", leased, channel .. " " .. id) end
redis.call("DEL", stream, audits, events, tasks, texts, links, ready, leases, claims, event_marks, meta, members)
for _, index in ipairs({heads, broadcasts, everyone}) do redis.call("HDEL", index, channel) end
redis.call("SPUBLISH", room, "deleted")
redis.call("SPUBLISH", live, "deleted")
return remember(idem, keep, {"ok", name, head})
