-- Make a damaged channel whole: what redischat numbered (0-<seq>) is copied to a new stream that takes the old one's place; what a stranger's raw
-- XADD put above ends. Numbers never change and go on behind the last one, also when the newest were trimmed.
-- Replies: {"ok", name, kept, dropped} {"not_you", ...} {"no_channel", channel} {"not_member", name, me}
-- with: speak, head, gate
local stream, draft, meta, members, heads, agents = unpack(KEYS)
local channel, me, token = unpack(ARGV)
local STEP = 1000

redis.call("DEL", draft) -- settles: must work when memory is full
local display, name = gate(agents, meta, members, heads, channel, me, token)
if not display then return name end
local head, epoch = head_of(heads, channel)
local kept, at, last = 0, "0-0", 0
repeat
    local step = redis.call("XRANGE", stream, "(" .. at, "0-" .. LAST_NUMBER, "COUNT", STEP)
    for _, row in ipairs(step) do
        at = row[1]
        if row[2][1] == "f" and row[2][11] == "b" then
            redis.call("XADD", draft, at, unpack(row[2]))
            kept, last = kept + 1, tonumber(string.sub(at, 3))
        end
    end
until #step < STEP
head = math.max(head, last)
if last < head then -- the number goes on where it was
    redis.call("XADD", draft, "0-" .. head, "x", "")
    redis.call("XDEL", draft, "0-" .. head)
end
local dropped = redis.call("XLEN", stream) - kept
if redis.call("EXISTS", draft) == 1 then redis.call("RENAME", draft, stream) else redis.call("DEL", stream) end
set_head(heads, channel, head, epoch, name)
return {"ok", name, kept, dropped}
