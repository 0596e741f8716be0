-- Give a name back: nobody holds it from then on, and whoever comes next may. What was said, its marks and its channels stay. Twice is once.
-- Replies: {"ok", held (0|1), display} {"not_you", ...}
-- with: agent
local agents, sessions, scratch = unpack(KEYS)
local me, token = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local a = agent_of(redis.call("HGET", agents, me))
if not a.display or a.token == "-" then return {"ok", 0, a.display or me} end
if a.token ~= token then return {"not_you", a.display, a.session, a.host, a.since, a.seen, a.project} end
redis.call("HSET", agents, me, agent_text({display = a.display, token = "-", session = "-", host = "-", since = 0, seen = a.seen, state = "ended", project = "-"}))
local bound = redis.call("HGETALL", sessions) -- a session that comes back is not this agent any more
for i = 1, #bound, 2 do if bound[i + 1] == me then redis.call("HDEL", sessions, bound[i]) end end
return {"ok", 1, a.display}
