-- Make a channel's events whole: what redischat numbered (0-<n>) is copied to a new stream that takes the old one's place; what a stranger's raw XADD
-- put above ends. Numbers never change and go on behind the last one that is there or was read.
-- Replies: {"ok", name, kept, dropped} {"not_you", ...} {"no_channel", channel}
-- with: speak, head, stand
local stream, draft, marks, heads, agents = unpack(KEYS)
local channel, me, token, agent = unpack(ARGV)
local STEP = 1000

redis.call("DEL", draft) -- settles: must work when memory is full
local display, name = stand(agents, heads, channel, me, token, agent)
if not display then return name end
local _, epoch = head_of(heads, channel)
local kept, at, last, head = 0, "0-0", 0, 0
for _, mark in ipairs(redis.call("HVALS", marks)) do
    local n, of = string.match(mark, "^(%d+) (%S+)$")
    if of == epoch then head = math.max(head, tonumber(n)) end
end
repeat
    local step = redis.call("XRANGE", stream, "(" .. at, "0-" .. LAST_NUMBER, "COUNT", STEP)
    for _, row in ipairs(step) do
        at = row[1]
        redis.call("XADD", draft, at, unpack(row[2]))
        kept, last = kept + 1, tonumber(string.sub(at, 3))
    end
until #step < STEP
if last < head then -- the number goes on where it was
    redis.call("XADD", draft, "0-" .. head, "x", "")
    redis.call("XDEL", draft, "0-" .. head)
end
local dropped = redis.call("XLEN", stream) - kept
if redis.call("EXISTS", draft) == 1 then redis.call("RENAME", draft, stream) else redis.call("DEL", stream) end
return {"ok", name, kept, dropped}
