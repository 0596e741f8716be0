-- The waker of a host says of its sessions that they are there. Gives what is known of each.
-- Replies: {"ok", now_ms, records}: a record or "" each, in their order
-- with: presence
local presence, scratch = unpack(KEYS)
local host = unpack(ARGV)
-- then ARGV: sessions

redis.call("DEL", scratch) -- settles: must work when memory is full
local records = {}
for i = 2, #ARGV do
    local s = session_of(redis.call("HGET", presence, ARGV[i]))
    if s and s.host == host and s.state ~= "ended" then
        s.beat = NOW_MS
        redis.call("HSET", presence, ARGV[i], session_text(s))
    end
    table.insert(records, s and session_text(s) or "")
end
return {"ok", NOW_MS, records}
