-- Say up to which event an agent has read. The mark only rises; repeating it changes nothing; what was read of an earlier channel of that name is not
-- held against this one.
-- Replies: {"ok", "read"|"stale", name, where the mark stands} {"not_you", ...} {"no_channel", channel}
-- with: agent, speak, head, stand
local marks, heads, agents, scratch = unpack(KEYS)
local channel, me, token, agent, field, of, to = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local display, name = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local _, epoch = head_of(heads, channel)
local at, incarnation = string.match(redis.call("HGET", marks, field) or "", "^(%d+) (%S+)$")
at = incarnation == epoch and tonumber(at) or 0
if of ~= epoch then return {"ok", "stale", name, at} end
if tonumber(to) > at then
    at = tonumber(to)
    redis.call("HSET", marks, field, at .. " " .. epoch)
end
return {"ok", "read", name, at}
