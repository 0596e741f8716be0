-- What the waker knows of a wake: ask (it is asked for now, by this way; once until it landed or was given up), miss (it did not land within the grace),
-- land (it was seen to land). Only an idle session is woken.
-- Replies: {"ok", done (0|1), state, asked_ms, landed_ms, missed_ms}
-- with: presence
local presence, scratch = unpack(KEYS)
local session, what, way = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local s = session_of(redis.call("HGET", presence, session))
if not s then return {"ok", 0, "gone", 0, 0, 0} end
local done = 0
if what == "ask" and s.state == "idle" and s.asked == 0 then
    s.asked, s.way, done = NOW_MS, way, 1
elseif what == "miss" and s.asked > 0 then
    s.missed, s.asked, s.way, done = NOW_MS, 0, way, 1
elseif what == "land" then
    s.landed, s.asked, done = NOW_MS, 0, 1
end
if done == 1 then redis.call("HSET", presence, session, session_text(s)) end
return {"ok", done, s.state, s.asked, s.landed, s.missed}
