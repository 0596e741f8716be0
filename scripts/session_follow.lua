-- An agent goes on in another session (its harness resumed, cleared or compacted it under a new id): the name, its token and what is known of its wakes go
-- along, and the earlier id stays an alias. `old`: the session it was ("" = whichever holds the name, if that one has ended). Twice is once.
-- Replies: {"ok", display, held (0|1)}: held = 0, nobody holds the name (any more): it must be bound anew. {"not_you", ...}
-- with: agent, speak, presence
local agents, sessions, presence = unpack(KEYS)
local me, token, session, host, old = unpack(ARGV)

local display, refusal = speak(agents, me, token)
if refusal then return refusal end
local a = agent_of(redis.call("HGET", agents, me))
if not a.token or a.token == "-" then return {"ok", display, 0} end
local before = old == "" and a.session or old
a.session, a.host, a.seen, a.state = session, host, NOW_MS, "live"
redis.call("HSET", agents, me, agent_text(a))
redis.call("HSET", sessions, session, me)
local s = session_of(redis.call("HGET", presence, before))
if s and before ~= session and string.lower(s.agent) == me and (old ~= "" or s.state == "ended") then
    redis.call("HDEL", presence, before)
    redis.call("HSETNX", presence, session, session_text(s))
end
return {"ok", display, 1}
