-- Leave a channel: a notice says so, the marks are kept for a return, what is owed is forgiven; the last one out closes it.
-- Replies: {"ok", "left"|"already", name, closed (0|1), count} {"again", reply} {"not_you", ...} {"no_channel", channel} {"not_member", name, me}
-- with: idem, agent, speak, head, mark, notice, gate
local stream, meta, members, heads, agents, marks, owed, scratch, idem, room, live, bell = unpack(KEYS)
local channel, me, token, keep = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local past = again(idem)
if past then return past end
local display, name, state = gate(agents, meta, members, heads, channel, me, token)
if not display then
    local place = string.match(redis.call("HGET", members, me) or "", "^%S+ (%S+)")
    if place == "left" and name[1] == "not_member" then return {"ok", "already", name[2], 0, 0} end
    return name
end
local mark = load_mark(marks, channel) or new_mark("-", 0)
redis.call("HSET", members, me, table.concat({display, "left", NOW_MS, mark.heard, mark.read, math.max(mark.maybe, mark.hi)}, " "))
redis.call("HDEL", marks, channel)
redis.call("HDEL", owed, channel)
local count, closed = redis.call("HINCRBY", meta, "count", -1), 0
redis.call("SPUBLISH", bell, "rooms")
notice(stream, heads, live, channel, display, "left", display .. " left.")
if count <= 0 and state == "open" then
    closed = 1
    redis.call("HSET", meta, "state", "closed", "how", "left", "reason", "the last member left", "closed_at", NOW_MS)
    notice(stream, heads, live, channel, display, "closed", "closed: the last member left.")
    redis.call("SPUBLISH", room, "closed")
end
return remember(idem, keep, {"ok", "left", name, closed, count})
