-- What is known of waking a session: ask (it is asked for now, by this way; once until it landed or was given up, and only of one that is idle), miss (it
-- did not land within the grace; the next goes by this way), rest (a turn has ended with nothing to say), drop (nothing waits any more), told (of the last
-- miss). Whoever did not ask because a turn was just ending is rung when it has ended; a hook that died in it keeps nobody waiting for longer than 3 s.
-- Replies: {"ok", done (0|1), state, asked_ms, landed_ms, missed_ms, look_ms (ask again then; 0: no need)}
-- with: presence
local presence, scratch = unpack(KEYS)
local session, what, way, bell = unpack(ARGV)
local SETTLE_MS = 3000 -- longer than a hook may take (hooks/asking.py)

redis.call("DEL", scratch) -- settles: must work when memory is full
local s = session_of(redis.call("HGET", presence, session))
if not s then return {"ok", 0, "gone", 0, 0, 0, 0} end
local done, left, settling = 0, SETTLE_MS - (NOW_MS - s.active), s.state == "settling"
if what == "ask" and (s.state == "idle" or (settling and left <= 0)) and s.asked == 0 then
    s.state, s.asked, s.way, done = "idle", NOW_MS, way, 1
elseif what == "miss" and s.asked > 0 then
    s.missed, s.asked, s.way, done = NOW_MS, 0, way, 1
elseif what == "rest" and settling or what == "drop" and s.asked > 0 then
    s.state, s.asked, done = settling and "idle" or s.state, 0, 1
elseif what == "told" then
    s.told, done = NOW_MS, 1
end
if done == 1 then redis.call("HSET", presence, session, session_text(s)) end
if done == 1 and bell ~= "" then redis.call("SPUBLISH", bell, what) end
return {"ok", done, s.state, s.asked, s.landed, s.missed, s.state == "settling" and left > 0 and left or 0}
