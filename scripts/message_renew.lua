-- A reader that is still showing says so: what its delivery lease holds stays with it until lease_ms from now. A lease that lapsed and was taken over
-- by another reader is not won back.
-- Replies: {"ok", count}.
-- with: mark
local marks, scratch = unpack(KEYS)
local lease, lease_ms = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local count, all = 0, redis.call("HGETALL", marks)
for i = 1, #all, 2 do
    local mark = mark_of(all[i + 1])
    if mark.lease == lease then
        mark.ends = NOW_MS + tonumber(lease_ms)
        redis.call("HSET", marks, all[i], mark_text(mark))
        count = count + 1
    end
end
return {"ok", count}
