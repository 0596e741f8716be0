-- A session has ended; where it is said when it was last active, only if it was not since. What it holds is let go later, when it is certain that nobody
-- took it up again. Twice is once.
-- Replies: {"ok", known and over (0|1)}
-- with: agent, presence
local presence, agents, scratch = unpack(KEYS)
local session, active = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local s = session_of(redis.call("HGET", presence, session))
if not s or (active ~= "" and tonumber(active) ~= s.active) then return {"ok", 0} end
s.state, s.active, s.asked = "ended", NOW_MS, 0
redis.call("HSET", presence, session, session_text(s))
local me = string.lower(s.agent)
local a = agent_of(redis.call("HGET", agents, me))
if a.session == session then
    a.state = "ended"
    redis.call("HSET", agents, me, agent_text(a))
end
return {"ok", 1}
