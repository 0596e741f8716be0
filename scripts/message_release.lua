-- Give back at once whatever a delivery lease still holds, by its id alone: a reader that was cancelled may not know what it was handed. Rings the
-- agent's bell then: another reader of its may be waiting for that.
-- Replies: {"ok", count}.
-- with: mark
local marks, scratch, bell = unpack(KEYS)
local lease = unpack(ARGV)

redis.call("DEL", scratch) -- settles: must work when memory is full
local count, all = 0, redis.call("HGETALL", marks)
for i = 1, #all, 2 do
    local mark = mark_of(all[i + 1])
    if mark.lease == lease then
        unlease(mark)
        redis.call("HSET", marks, all[i], mark_text(mark))
        count = count + 1
    end
end
if count > 0 then redis.call("SPUBLISH", bell, "settled") end
return {"ok", count}
