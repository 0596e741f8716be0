-- A session of a harness is there, as an agent. The same session again (resumed, compacted) keeps what is known of its wakes.
-- Replies: {"ok", new (0|1)}
-- with: presence
local presence = unpack(KEYS)
local session, agent, harness, host, pid, project, way, state = unpack(ARGV)

local s = session_of(redis.call("HGET", presence, session))
local new = s == nil
s = s or {started = NOW_MS, landed = 0, missed = 0, told = 0, worked = 0}
s.agent, s.harness, s.host, s.pid, s.project, s.way, s.state = agent, harness, host, pid, project, way, state
s.active, s.beat, s.asked = NOW_MS, NOW_MS, 0
redis.call("HSET", presence, session, session_text(s))
return {"ok", new and 1 or 0}
