-- Give a name back: nobody holds it from then on, and whoever comes next may. What was said, its marks and its channels stay. Twice is once.
-- Replies: {"ok", held (0|1), display} {"not_you", ...}
local agents, sessions, scratch = unpack(KEYS)
local me, token = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local display, held, session, host, since, seen, _, project =
    string.match(redis.call("HGET", agents, me) or "", "^(%S+) (%S+) (%S+) (%S+) (%d+) (%d+) (%S+) (%S+)$")
if not display or held == "-" then return {"ok", 0, display or me} end
if held ~= token then return {"not_you", display, session, host, since, seen, project} end
redis.call("HSET", agents, me, table.concat({display, "-", "-", "-", 0, seen, "ended", "-"}, " "))
local bound = redis.call("HGETALL", sessions) -- a session that comes back is not this agent any more
for i = 1, #bound, 2 do if bound[i + 1] == me then redis.call("HDEL", sessions, bound[i]) end end
return {"ok", 1, display}
